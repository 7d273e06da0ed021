//! Webhooks of the host of these tests.

use std::collections::BTreeMap;
use std::sync::Mutex;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::lie::Lie;

/// Who is told, by the name of the webhook: address and secret.
#[derive(Default)]
pub(crate) struct Hooks(Mutex<BTreeMap<String, (String, String)>>);

impl Hooks {
    /// Takes a webhook in; the word of the refusal where it is none.
    pub(crate) fn add(&self, body: &Value, lie: Option<Lie>) -> Result<String, &'static str> {
        let url = body["url"].as_str().ok_or("validation_error")?;
        let here = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/hook"));
        let is_ours = here.is_some_and(|address| address.starts_with("127.0.0.1:"));
        if !is_ours && lie != Some(Lie::HookAnywhere) {
            return Err("webhook_url_rejected");
        }
        let mut hooks = self.0.lock().unwrap();
        let id = format!("hook-{}", hooks.len());
        hooks.insert(
            id.clone(),
            (here.unwrap_or_default().to_owned(), body["secret"].as_str().unwrap().to_owned()),
        );
        Ok(id)
    }

    pub(crate) fn remove(&self, id: &str) -> bool {
        self.0.lock().unwrap().remove(id).is_some()
    }

    /// Sends an event to everybody, in the background.
    pub(crate) fn send(&self, event: &Value, lie: Option<Lie>) {
        for (id, (address, secret)) in &*self.0.lock().unwrap() {
            let body = json!({"event": event}).to_string();
            let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
            mac.update(format!("77.{body}").as_bytes());
            let mut signature = hex::encode(mac.finalize().into_bytes());
            if lie == Some(Lie::HookUnsigned) {
                signature = "0".repeat(64);
            }
            let text = format!(
                "POST /hook HTTP/1.1\r\nhost: kit\r\ncontent-length: {}\r\nX-openwop-Signature: {signature}\r\n\
                 X-openwop-Timestamp: 77\r\nX-openwop-Algorithm: v1\r\nX-openwop-Subscription-Id: {id}\r\n\r\n{body}",
                body.len()
            );
            tokio::spawn(deliver(address.clone(), text));
        }
    }
}

/// Nobody there is nobody's fault here.
async fn deliver(address: String, text: String) {
    let Ok(mut socket) = TcpStream::connect(address).await else { return };
    if socket.write_all(text.as_bytes()).await.is_ok() {
        let _ = socket.read(&mut [0; 64]).await;
    }
}
