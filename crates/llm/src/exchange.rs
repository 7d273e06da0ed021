//! One request and its answer, read up to a bound.

use std::time::Duration;

use probity_chat::ModelError;
use probity_egress::{Answer, EgressError};
use serde_json::Value;

use crate::draft::{Draft, unreadable};
use crate::sse::{Event, Reader};
use crate::words;

/// Bytes that are read of a refusal.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// Time for the end of a stream to follow its last event: then the connection is kept.
const LINGER: Duration = Duration::from_millis(20);

/// Puts an answer together from the events of a stream.
pub(crate) trait Assemble: Send {
    /// Takes an event in; `true` behind the last one.
    fn event(&mut self, event: &Event) -> Result<bool, ModelError>;

    /// The answer.
    fn finish(self: Box<Self>) -> Result<Draft, ModelError>;
}

/// Reads a body that is sent in one piece.
pub(crate) async fn whole(answer: &mut Answer, max_bytes: usize) -> Result<Vec<u8>, ModelError> {
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(unreached)? {
        if piece.len() > max_bytes - body.len() {
            return Err(too_large(max_bytes));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// Reads a stream of events, up to the last one.
pub(crate) async fn stream(
    answer: &mut Answer,
    max_bytes: usize,
    mut assembly: Box<dyn Assemble>,
) -> Result<Draft, ModelError> {
    let mut reader = Reader::default();
    let mut room = max_bytes;
    while let Some(piece) = answer.chunk().await.map_err(unreached)? {
        room = room.checked_sub(piece.len()).ok_or_else(|| too_large(max_bytes))?;
        for event in reader.push(&piece) {
            if assembly.event(&event.map_err(|_| not_text())?)? {
                // Whether it ends or not: the answer is here.
                let _ = tokio::time::timeout(LINGER, answer.chunk()).await;
                return assembly.finish();
            }
        }
    }
    if let Some(event) = reader.finish().map_err(|_| not_text())? {
        assembly.event(&event)?;
    }
    assembly.finish()
}

/// What a status other than success means.
pub(crate) async fn refusal(answer: &mut Answer) -> ModelError {
    let status = answer.status();
    let retry_after_ms = retry_after_ms(answer);
    let mut body = Vec::new();
    // A refusal that breaks off is a refusal still.
    while let Ok(Some(piece)) = answer.chunk().await {
        let room = MAX_REFUSAL_BYTES - body.len();
        body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if body.len() >= MAX_REFUSAL_BYTES {
            break;
        }
    }
    let message = if (300..400).contains(&status) {
        "it redirects, which is not followed; correct the base URL".to_owned()
    } else {
        words::of_body(&body)
    };
    of_status(status, message, retry_after_ms)
}

/// An error that is sent as an answer, or in the middle of one.
pub(crate) fn in_band(error: &Value) -> ModelError {
    let message = error.get("message").or(Some(error)).map(shown).unwrap_or_default();
    let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| code.try_into().ok());
    match (status, kind) {
        (Some(status @ 400..600), _) => of_status(status, message, None),
        (
            _,
            "invalid_request_error"
            | "authentication_error"
            | "permission_error"
            | "not_found_error"
            | "request_too_large"
            | "billing_error",
        ) => ModelError::Refused { status: None, message },
        _ => ModelError::Transient { status: None, message, retry_after_ms: None },
    }
}

/// The connection failed. Only a URL that cannot be asked stays so.
pub(crate) fn unreached(error: EgressError) -> ModelError {
    let message = error.to_string();
    match error {
        EgressError::BadUrl { .. } | EgressError::Denied { .. } => {
            ModelError::Refused { status: None, message }
        }
        _ => ModelError::Transient { status: None, message, retry_after_ms: None },
    }
}

/// The stream ended, the answer did not.
pub(crate) fn cut_short() -> ModelError {
    let message = "the stream ended before the answer did".to_owned();
    ModelError::Transient { status: None, message, retry_after_ms: None }
}

fn of_status(status: u16, message: String, retry_after_ms: Option<u64>) -> ModelError {
    match status {
        408 | 409 | 425 | 429 | 500.. => {
            ModelError::Transient { status: Some(status), message, retry_after_ms }
        }
        _ => ModelError::Refused { status: Some(status), message },
    }
}

/// A date, the third form of it, would need a clock; the caller waits by its own measure then.
fn retry_after_ms(answer: &Answer) -> Option<u64> {
    let number = |name| answer.header(name)?.trim().parse::<f64>().ok();
    let wait = match number("retry-after-ms") {
        Some(ms) => Duration::try_from_secs_f64(ms / 1000.0),
        None => Duration::try_from_secs_f64(number("retry-after")?),
    };
    u64::try_from(wait.ok()?.as_millis()).ok()
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn too_large(max_bytes: usize) -> ModelError {
    unreadable(format!("it is larger than the {max_bytes} bytes that are read of one"))
}

fn not_text() -> ModelError {
    unreadable("the stream is not UTF-8")
}
