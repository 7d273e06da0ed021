//! The DSSE envelope: a payload, its type, and signatures over both.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use probity_core::Digest;
use serde::{Deserialize, Serialize};

use super::{PublicKey, SigningKey};

/// The type of an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// An envelope with at most one signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// The payload in standard base64 with padding.
    pub payload: String,
    /// What the payload is.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// None, or one.
    pub signatures: Vec<Signature>,
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// SHA-256 of the signer's raw public key in hex. A hint: what is trusted is the key itself.
    pub keyid: String,
    /// The 64 bytes in standard base64 with padding.
    pub sig: String,
}

/// The bytes that a DSSE signature is over: the pre-authentication encoding, version 1.
#[must_use]
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

impl Envelope {
    /// Puts a statement into an envelope, signed if there is a key.
    #[must_use]
    pub fn wrap(payload: &[u8], key: Option<&SigningKey>) -> Self {
        let sign = |key: &SigningKey| Signature {
            keyid: key.public().id().to_string(),
            sig: STANDARD.encode(key.sign(&pae(PAYLOAD_TYPE, payload))),
        };
        Self {
            payload: STANDARD.encode(payload),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: key.map(sign).into_iter().collect(),
        }
    }

    /// The payload's bytes, if the base64 is the one spelling of them.
    #[must_use]
    pub fn payload(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.payload).ok()
    }

    /// Whether the one signature is that key's, over this payload and type.
    #[must_use]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        let ([signature], Some(payload)) = (self.signatures.as_slice(), self.payload()) else {
            return false;
        };
        let bytes = signature.bytes();
        signature.keyid == key.id().to_string()
            && bytes.is_some_and(|bytes| key.verifies(&pae(&self.payload_type, &payload), &bytes))
    }

    /// Whether there is no signature, or one that is spelled as one: this says nothing of whose.
    #[must_use]
    pub fn is_spelled(&self) -> bool {
        let is_one = |signature: &Signature| {
            signature.bytes().is_some() && signature.keyid.parse::<Digest>().is_ok()
        };
        self.signatures.len() <= 1 && self.signatures.iter().all(is_one)
    }
}

impl Signature {
    fn bytes(&self) -> Option<[u8; 64]> {
        STANDARD.decode(&self.sig).ok()?.try_into().ok()
    }
}
