//! What is kept of a webhook that nobody else shall read: where it goes to, and its secret. The store holds
//! it encrypted and authenticated under a key that follows from the secret of the host, bound to the name of
//! the webhook: HMAC-SHA256 in counter mode, and HMAC-SHA256 over what came of it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

use crate::token::signature;

const NONCE_BYTES: usize = 32;
const TAG_BYTES: usize = 32;

/// Wraps a text. A nonce is used once.
pub(super) fn wrap(secret: &[u8; 32], nonce: [u8; 32], name: &str, text: &str) -> Option<String> {
    let mut bytes = nonce.to_vec();
    bytes.extend(masked(secret, &nonce, text.as_bytes())?);
    bytes.extend(tag(secret, name, &bytes)?);
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

/// What was wrapped under that name, if it was wrapped with that secret.
pub(super) fn unwrap(secret: &[u8; 32], name: &str, wrapped: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(wrapped).ok()?;
    let (bytes, given) = bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES)?)?;
    if !bool::from(tag(secret, name, bytes)?.ct_eq(given)) {
        return None;
    }
    let (nonce, text) = bytes.split_at_checked(NONCE_BYTES)?;
    String::from_utf8(masked(secret, nonce, text)?).ok()
}

/// The text under a mask that nobody can guess; masked again it is the text.
fn masked(secret: &[u8; 32], nonce: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let key = signature(secret, b"probity host: webhooks, encrypt, 1")?;
    let mut masked = Vec::with_capacity(text.len());
    for (number, piece) in (0_u64..).zip(text.chunks(32)) {
        let mut place = nonce.to_vec();
        place.extend(number.to_be_bytes());
        let mask = signature(&key, &place)?;
        masked.extend(piece.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
    }
    Some(masked)
}

fn tag(secret: &[u8; 32], name: &str, bytes: &[u8]) -> Option<[u8; 32]> {
    let key = signature(secret, b"probity host: webhooks, authenticate, 1")?;
    let mut text = (name.len() as u64).to_be_bytes().to_vec();
    text.extend(name.as_bytes());
    text.extend(bytes);
    signature(&key, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_wrapped_reads_back_with_its_secret_and_name_alone() {
        for text in ["", "hush", &"x".repeat(5_000)] {
            let wrapped = wrap(&[1; 32], [7; 32], "w", text).unwrap();
            assert_eq!(unwrap(&[1; 32], "w", &wrapped).as_deref(), Some(text));
            assert_eq!(unwrap(&[2; 32], "w", &wrapped), None);
            assert_eq!(unwrap(&[1; 32], "v", &wrapped), None);
            assert!(!wrapped.contains("hush"));
            let bytes = URL_SAFE_NO_PAD.decode(&wrapped).unwrap();
            for place in (0..bytes.len()).step_by(7) {
                let mut changed = bytes.clone();
                changed[place] ^= 1;
                assert_eq!(unwrap(&[1; 32], "w", &URL_SAFE_NO_PAD.encode(&changed)), None);
            }
        }
        for short in ["", "AAAA", "!"] {
            assert_eq!(unwrap(&[1; 32], "w", short), None);
        }
    }

    #[test]
    fn the_same_text_is_never_wrapped_the_same_way() {
        let wrapped = |nonce| wrap(&[1; 32], nonce, "w", "hush").unwrap();
        assert_ne!(wrapped([1; 32]), wrapped([2; 32]));
    }
}
