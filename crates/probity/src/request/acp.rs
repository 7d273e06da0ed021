//! An agent that speaks the Agent Client Protocol as the delegate.

use probity_acp::{AcpConfig, Permissions};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Millis, known_keys};

/// Keys of the map.
const KEYS: [&str; 6] = ["command", "permissions", "mode", "model", "auth_method", "start_timeout"];

/// `acp` of a request: an agent that is asked in one session for all attempts. It runs in the
/// workspace with the caller's environment, which holds its credentials.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, remote = "Self")]
pub struct Acp {
    /// Program and arguments.
    pub command: Vec<String>,
    /// What is answered when it asks for permission: `rules` in order, each with `kind`, `title`,
    /// `path` and a `decision`, and a `default`. Everything is refused where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Value>,
    /// Id of the session mode to work in; the agent's own where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Id of the model to work with; the agent's own where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Id of the way to authenticate, for agents that ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_method: Option<String>,
    /// Wall time for each step before the first prompt; 30 seconds where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timeout: Option<Millis>,
}

impl Acp {
    /// An agent of this command line, every permission refused.
    #[must_use]
    pub fn new(command: Vec<String>) -> Self {
        Self { command, ..Self::default() }
    }

    /// As the delegate takes it.
    ///
    /// # Errors
    /// What is wrong with the permissions.
    pub(crate) fn config(&self) -> Result<AcpConfig, serde_json::Error> {
        let mut config = AcpConfig::new(self.command.iter().cloned());
        if let Some(permissions) = &self.permissions {
            config.permissions = Permissions::deserialize(permissions)?;
        }
        config.mode.clone_from(&self.mode);
        config.model.clone_from(&self.model);
        config.auth_method.clone_from(&self.auth_method);
        if let Some(timeout) = self.start_timeout {
            config.start_timeout_ms = timeout.get();
        }
        Ok(config)
    }
}

impl Serialize for Acp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Acp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::<String, Value>::deserialize(deserializer)?;
        known_keys("acp", &map, &KEYS).map_err(D::Error::custom)?;
        let acp = Self::deserialize(Value::Object(map)).map_err(D::Error::custom)?;
        let config = acp.config().map_err(|error| {
            D::Error::custom(format!("`permissions` of `acp` cannot be used: {error}"))
        })?;
        config.validate().map_err(|error| D::Error::custom(format!("`acp`: {error}")))?;
        Ok(acp)
    }
}
