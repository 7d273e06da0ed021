//! Keys of NATS: Ed25519 keys in a text form that says whose they are.
//!
//! A key is written in base32 without padding: one byte for the kind of its owner, 32 bytes, and a
//! CRC16 of both, low byte first. A seed has two bytes before the 32: the mark of seeds, with the kind
//! shifted in behind it.
//!
//! Names and meanings are those of the published crate `nkeys` 0.4, whose place this one takes. Here
//! are the kinds that a chain of credentials is made of, and nothing of encryption.

use data_encoding::BASE32_NOPAD;
use ed25519_dalek::{Signer as _, SigningKey};
use zeroize::Zeroizing;

/// The mark of seeds: `S` as the first letter.
const SEED: u8 = 18 << 3;
/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// Bytes of a seed with its two marks and its checksum.
const SEED_BYTES: usize = 2 + KEY_BYTES + 2;

/// Whose key it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPairType {
    /// Who signs accounts.
    Operator,
    /// Who signs users.
    Account,
    /// Who logs in.
    User,
}

/// What is wrong with a key. Never holds any of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Characters that base32 does not have, or too few or too many.
    #[error("a seed is 58 characters of A-Z and 2-7")]
    Encoding,
    /// The checksum is of another key.
    #[error("the checksum of the seed is wrong: some of its characters were changed")]
    Checksum,
    /// A public key, or the seed of something that does not log in.
    #[error("it is not the seed of a user, an account or an operator")]
    Kind,
}

/// A key that signs. Its secret is overwritten when it is dropped.
pub struct KeyPair {
    kind: KeyPairType,
    key: SigningKey,
}

impl KeyPairType {
    const fn byte(self) -> u8 {
        match self {
            Self::Operator => 14 << 3,
            Self::Account => 0,
            Self::User => 20 << 3,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::Operator, Self::Account, Self::User].into_iter().find(|kind| kind.byte() == byte)
    }
}

/// The secret is left out.
impl std::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyPair").field("public_key", &self.public_key()).finish_non_exhaustive()
    }
}

impl KeyPair {
    /// The key with these 32 bytes for a secret.
    ///
    /// # Errors
    /// None; the published crate has some.
    pub fn new_from_raw(kind: KeyPairType, random_bytes: [u8; KEY_BYTES]) -> Result<Self, Error> {
        let bytes = Zeroizing::new(random_bytes);
        Ok(Self { kind, key: SigningKey::from_bytes(&bytes) })
    }

    /// Reads a seed.
    ///
    /// # Errors
    /// [`Error`]: it is none, or a damaged one.
    pub fn from_seed(source: &str) -> Result<Self, Error> {
        let bytes = BASE32_NOPAD.decode(source.as_bytes()).map_err(|_| Error::Encoding)?;
        let bytes = Zeroizing::new(bytes);
        let (body, sum) = bytes.split_last_chunk::<2>().ok_or(Error::Encoding)?;
        if bytes.len() != SEED_BYTES {
            return Err(if crc16(body) == u16::from_le_bytes(*sum) {
                Error::Kind
            } else {
                Error::Encoding
            });
        }
        if crc16(body) != u16::from_le_bytes(*sum) {
            return Err(Error::Checksum);
        }
        let ([first, second], key) = body.split_first_chunk::<2>().ok_or(Error::Encoding)?;
        // Five bits of each: the mark before, the kind across both.
        let kind = ((first & 0b111) << 5) | (second >> 3);
        let kind =
            KeyPairType::of(kind).filter(|_| first & 0b1111_1000 == SEED).ok_or(Error::Kind)?;
        let key: &[u8; KEY_BYTES] = key.try_into().map_err(|_| Error::Encoding)?;
        Ok(Self { kind, key: SigningKey::from_bytes(key) })
    }

    /// The seed, which is the secret.
    ///
    /// # Errors
    /// None; the published crate has some.
    pub fn seed(&self) -> Result<String, Error> {
        let kind = self.kind.byte();
        let mut bytes = Zeroizing::new(Vec::with_capacity(SEED_BYTES));
        bytes.extend([SEED | (kind >> 5), (kind & 0b1_1111) << 3]);
        bytes.extend(self.key.as_bytes());
        let sum = crc16(&bytes);
        bytes.extend(sum.to_le_bytes());
        Ok(BASE32_NOPAD.encode(&bytes))
    }

    /// Whose key it is.
    #[must_use]
    pub fn key_pair_type(&self) -> KeyPairType {
        self.kind
    }

    /// The name by which servers know it.
    #[must_use]
    pub fn public_key(&self) -> String {
        let mut bytes = vec![self.kind.byte()];
        bytes.extend(self.key.verifying_key().as_bytes());
        let sum = crc16(&bytes);
        bytes.extend(sum.to_le_bytes());
        BASE32_NOPAD.encode(&bytes)
    }

    /// The 64 bytes of an Ed25519 signature.
    ///
    /// # Errors
    /// None; the published crate has some.
    pub fn sign(&self, input: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.key.sign(input).to_bytes().to_vec())
    }
}

/// CRC16 as XMODEM has it: polynomial 0x1021, from 0, nothing reflected.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ (u16::from(*byte) << 8), |sum, _| {
            let shifted = sum << 1;
            if sum & 0x8000 == 0 { shifted } else { shifted ^ 0x1021 }
        })
    })
}
