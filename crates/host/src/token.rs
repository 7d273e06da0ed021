//! Tokens with which somebody without a key may answer one wait, once.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Characters of a token that is looked at.
const MAX_CHARS: usize = 2_048;

/// What a token is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The run.
    pub run: String,
    /// The node that waits.
    pub node: String,
    /// The wait. Once it is over the token is worth nothing.
    pub interrupt: String,
    /// For whom it was made out.
    pub principal: String,
    /// When it ends, in milliseconds since the Unix epoch.
    pub expires_ms: u64,
}

impl Grant {
    /// The token: what it is for in base64url, a dot, and the signature of that in hex.
    #[must_use]
    pub fn sign(&self, secret: &[u8; 32]) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        let text = URL_SAFE_NO_PAD.encode(json);
        let signature = signature(secret, text.as_bytes()).map(hex::encode).unwrap_or_default();
        format!("{text}.{signature}")
    }

    /// What a token is for, if it was signed with that secret.
    #[must_use]
    pub fn read(token: &str, secret: &[u8; 32]) -> Option<Self> {
        let (text, given) = token.rsplit_once('.').filter(|_| token.len() <= MAX_CHARS)?;
        let given = hex::decode(given).ok()?;
        keyed(secret, text.as_bytes())?.verify_slice(&given).ok()?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }
}

/// HMAC-SHA256.
pub(crate) fn signature(secret: &[u8], text: &[u8]) -> Option<[u8; 32]> {
    keyed(secret, text).map(|mac| mac.finalize().into_bytes().into())
}

/// A secret of any length is a key.
fn keyed(secret: &[u8], text: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(text);
    Some(mac)
}
