//! Key files: PKCS#8 PEM for signing, SPKI PEM for checking.

use std::fmt;

use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey};
use ed25519_dalek::{Signer as _, VerifyingKey};
use probity_core::Digest;
use probity_record::blob_digest;

/// The most bytes of a key file that are read. A key takes about 120.
pub const MAX_KEY_BYTES: usize = 4096;

/// A private key. Its bytes are wiped when it is dropped, and never shown.
pub struct SigningKey(ed25519_dalek::SigningKey);

/// A public key: what a signature is checked against. It comes from whoever checks, never from the
/// bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// A text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Longer than a key file.
    #[error("{bytes} bytes; a key file has at most {MAX_KEY_BYTES}")]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// Not a private ed25519 key.
    #[error(
        "not an ed25519 private key in PKCS#8 PEM, as `openssl genpkey -algorithm ed25519` writes it"
    )]
    Private,
    /// Not a public ed25519 key.
    #[error("not an ed25519 public key in SPKI PEM, as `openssl pkey -pubout` writes it")]
    Public,
}

impl KeyError {
    /// Stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "key_too_large",
            Self::Private => "key_private",
            Self::Public => "key_public",
        }
    }
}

impl SigningKey {
    /// Reads `-----BEGIN PRIVATE KEY-----`. An encrypted key is refused.
    ///
    /// # Errors
    /// [`KeyError::Private`], [`KeyError::TooLarge`].
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        check_size(pem)?;
        ed25519_dalek::SigningKey::from_pkcs8_pem(pem).map(Self).map_err(|_| KeyError::Private)
    }

    /// The key of a 32-byte seed (RFC 8032).
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// The key that checks what this one signs.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs bytes. Equal bytes get equal signatures.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public().id())
    }
}

impl PublicKey {
    /// Reads `-----BEGIN PUBLIC KEY-----`. A key of small order, which would let anyone sign, is
    /// refused.
    ///
    /// # Errors
    /// [`KeyError::Public`], [`KeyError::TooLarge`].
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        check_size(pem)?;
        let key = VerifyingKey::from_public_key_pem(pem).map_err(|_| KeyError::Public)?;
        if key.is_weak() { Err(KeyError::Public) } else { Ok(Self(key)) }
    }

    /// The raw 32 bytes (RFC 8032).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The key's name: SHA-256 of its raw 32 bytes.
    #[must_use]
    pub fn id(&self) -> Digest {
        blob_digest(self.as_bytes())
    }

    /// Whether a signature over these bytes is this key's. Strict: none of the signatures that
    /// differ in spelling alone.
    #[must_use]
    pub fn verifies(&self, bytes: &[u8], signature: &[u8; 64]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.0.verify_strict(bytes, &signature).is_ok()
    }
}

const fn check_size(pem: &str) -> Result<(), KeyError> {
    if pem.len() > MAX_KEY_BYTES {
        return Err(KeyError::TooLarge { bytes: pem.len() });
    }
    Ok(())
}
