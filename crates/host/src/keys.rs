//! Who may ask: API keys by their digests. No key is kept.

use std::fmt;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use crate::scope::Scope;

/// The tenant of a key that names none, and of runs that nobody began through a host.
pub const DEFAULT_TENANT: &str = "default";
/// Keys that one host takes. Each request is compared with all of them.
const MAX_KEYS: usize = 1_000;
/// Characters of a tenant's or a principal's name.
const MAX_NAME_CHARS: usize = 128;

/// The keys of a host. At least one.
#[derive(Clone)]
pub struct Keys {
    keys: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    digest: [u8; 32],
    caller: Caller,
}

/// Whoever asks, as its key says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whose runs it sees.
    pub tenant: String,
    /// Who it is, for records.
    pub principal: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
}

/// The keys cannot be used. No error repeats a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// There is none.
    #[error("no API key: set PROBITY_API_KEY or name a keys file")]
    None,
    /// The file is not understood.
    #[error("the keys file is not understood: {why}")]
    Unreadable {
        /// Where and why.
        why: String,
    },
    /// One of its keys is not right.
    #[error("key {number} of the keys file: {why}")]
    Key {
        /// 1-based.
        number: usize,
        /// What is wrong, and what to do.
        why: String,
    },
    /// More than are compared with.
    #[error("{count} keys, more than {max}")]
    TooMany {
        /// How many.
        count: usize,
        /// How many there may be.
        max: usize,
    },
}

impl Keys {
    /// One key with every scope, of the tenant `default`.
    ///
    /// # Errors
    /// The key is empty.
    pub fn single(key: &str) -> Result<Self, KeysError> {
        if key.trim().is_empty() {
            return Err(KeysError::None);
        }
        let caller = Caller {
            tenant: DEFAULT_TENANT.to_owned(),
            principal: DEFAULT_TENANT.to_owned(),
            scopes: Scope::ALL.to_vec(),
        };
        Ok(Self { keys: vec![Key { digest: digest(key), caller }] })
    }

    /// Reads a keys file: TOML with one `[[key]]` for each key, which is named by `sha256` (64 hex digits
    /// of the SHA-256 of the key) or by `key_env` (the variable that holds it), with a `tenant`, its
    /// `scopes` (all without them) and a `principal`. `env` looks variables up.
    ///
    /// # Errors
    /// The first thing in it that is wrong.
    pub fn parse(text: &str, env: impl Fn(&str) -> Option<String>) -> Result<Self, KeysError> {
        let file: File = toml::from_str(text)
            .map_err(|error| KeysError::Unreadable { why: error.message().to_owned() })?;
        if file.key.is_empty() {
            return Err(KeysError::None);
        }
        if file.key.len() > MAX_KEYS {
            return Err(KeysError::TooMany { count: file.key.len(), max: MAX_KEYS });
        }
        let mut keys: Vec<Key> = Vec::with_capacity(file.key.len());
        for (index, entry) in file.key.into_iter().enumerate() {
            let wrong = |why| KeysError::Key { number: index + 1, why };
            let key = entry.read(&env).map_err(wrong)?;
            if keys.iter().any(|other| other.digest == key.digest) {
                return Err(wrong("it is there twice".to_owned()));
            }
            keys.push(key);
        }
        Ok(Self { keys })
    }

    /// Whose key that is. It takes as long for a wrong key as for any right one.
    #[must_use]
    pub fn caller(&self, key: &str) -> Option<&Caller> {
        let digest = digest(key);
        let mut found = u64::MAX;
        for (place, known) in (0u64..).zip(&self.keys) {
            found.conditional_assign(&place, known.digest.ct_eq(&digest));
        }
        usize::try_from(found).ok().and_then(|place| self.keys.get(place)).map(|key| &key.caller)
    }

    /// The tenants of these keys, each once.
    #[must_use]
    pub fn tenants(&self) -> Vec<&str> {
        let mut tenants: Vec<&str> =
            self.keys.iter().map(|key| key.caller.tenant.as_str()).collect();
        tenants.sort_unstable();
        tenants.dedup();
        tenants
    }
}

impl Caller {
    /// Whether it may do that.
    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("count", &self.keys.len()).finish()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    key: Vec<FileKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileKey {
    sha256: Option<String>,
    key_env: Option<String>,
    tenant: Option<String>,
    scopes: Option<Vec<String>>,
    principal: Option<String>,
}

impl FileKey {
    fn read(self, env: impl Fn(&str) -> Option<String>) -> Result<Key, String> {
        let digest = match (self.sha256, self.key_env) {
            (Some(text), None) => {
                let mut digest = [0; 32];
                hex::decode_to_slice(&text, &mut digest)
                    .map_err(|_| "`sha256` must be 64 hex digits".to_owned())?;
                digest
            }
            (None, Some(name)) => match env(&name) {
                Some(key) if !key.trim().is_empty() => digest(&key),
                _ => return Err(format!("`key_env`: the variable `{name}` is not set")),
            },
            _ => return Err("give either `sha256` or `key_env`".to_owned()),
        };
        let tenant = self.tenant.unwrap_or_else(|| DEFAULT_TENANT.to_owned());
        let principal = self.principal.unwrap_or_else(|| tenant.clone());
        for (name, text) in [("tenant", &tenant), ("principal", &principal)] {
            if text.is_empty() || text.chars().count() > MAX_NAME_CHARS {
                return Err(format!("`{name}` must be 1 to {MAX_NAME_CHARS} characters"));
            }
        }
        let scopes = match self.scopes {
            None => Scope::ALL.to_vec(),
            Some(words) => words.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        };
        Ok(Key { digest, caller: Caller { tenant, principal, scopes } })
    }
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

impl KeysError {
    /// The machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::None => "host_keys_none",
            Self::Unreadable { .. } => "host_keys_unreadable",
            Self::Key { .. } => "host_key_invalid",
            Self::TooMany { .. } => "host_keys_too_many",
        }
    }
}
