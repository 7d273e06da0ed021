//! What the commands of a request are kept from.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What commands are kept from. Absent means: those of checks are guarded, the delegate is not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sandbox {
    /// Commands that checks start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Sandboxing>,
    /// The delegate, and servers of its tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate: Option<Sandboxing>,
    /// What a closed one may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Reach>,
    /// What a closed one may write to, beside the workspace and a temporary folder of its own. `~/` is
    /// the home of the user. Relative as `workspace` is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
    /// What a closed one does not see. As `writable`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<PathBuf>,
    /// What a closed one does not change, beside all that decides. As `writable`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<PathBuf>,
    /// Processes that a closed one may be, with all that it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_processes: Option<u64>,
    /// Bytes of memory that a closed one may hold, with all that it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_memory_bytes: Option<u64>,
    /// What held when the run was prepared. Set then, whatever a request says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

/// How far commands are kept from things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandboxing {
    /// Not at all.
    Off,
    /// From other processes, and from gaining rights; as far as the machine can.
    Guard,
    /// From everything, as far as the machine can.
    BestEffort,
    /// From everything, or nothing is started.
    On,
}

/// What may be reached over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// What the user may.
    Allow,
    /// Nothing, loopback included.
    Deny,
}

/// What held of what was asked: `files,signals:kernel`, the parts that hold by name, the others with the
/// reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Held {
    /// Of the commands of checks.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub checks: String,
    /// Of the delegate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub delegate: String,
}

impl Sandboxing {
    /// Whether files are kept, and not only processes.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::BestEffort | Self::On)
    }
}

impl Sandbox {
    /// How commands of checks are kept.
    #[must_use]
    pub fn of_checks(&self) -> Sandboxing {
        self.checks.unwrap_or(Sandboxing::Guard)
    }

    /// How the delegate is kept.
    #[must_use]
    pub fn of_delegate(&self) -> Sandboxing {
        self.delegate.unwrap_or(Sandboxing::Off)
    }

    /// Fills in what this leaves open from another, of the same caller.
    pub(super) fn over(self, defaults: Self) -> Self {
        let joined = |mut first: Vec<PathBuf>, second: Vec<PathBuf>| {
            first.extend(second);
            first
        };
        Self {
            checks: self.checks.or(defaults.checks),
            delegate: self.delegate.or(defaults.delegate),
            network: self.network.or(defaults.network),
            writable: joined(defaults.writable, self.writable),
            hidden: joined(defaults.hidden, self.hidden),
            protected: joined(defaults.protected, self.protected),
            max_processes: self.max_processes.or(defaults.max_processes),
            max_memory_bytes: self.max_memory_bytes.or(defaults.max_memory_bytes),
            held: None,
        }
    }

    /// What a caller asks for under an operator: of two words the stricter holds, of two bounds the
    /// lower, and only the operator opens folders.
    pub(super) fn under(self, operator: Self) -> Self {
        let lower = |one: Option<u64>, two: Option<u64>| one.into_iter().chain(two).min();
        let writable = operator.writable.clone();
        Self {
            checks: self.checks.max(operator.checks),
            delegate: self.delegate.max(operator.delegate),
            network: self.network.max(operator.network),
            max_processes: lower(self.max_processes, operator.max_processes),
            max_memory_bytes: lower(self.max_memory_bytes, operator.max_memory_bytes),
            writable,
            ..self.over(operator)
        }
    }

    /// What a caller asks for under an operator who says nothing: never less than what holds then.
    pub(super) fn floored(self) -> Self {
        let checks = self.checks.map(|how| how.max(Self::default().of_checks()));
        Self { checks, ..self }
    }

    /// The paths that are named, to be made absolute.
    pub(crate) fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.writable.iter_mut().chain(&mut self.hidden).chain(&mut self.protected)
    }
}

/// A path of a sandbox, from the root: `~/` is the home of the user.
pub(crate) fn rooted(path: &Path, folder: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(below), Some(home)) => PathBuf::from(home).join(below),
        _ => folder.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_makes_an_operators_sandbox_stricter_and_never_wider() {
        let of = |checks, network: Option<Reach>, writable: &str| Sandbox {
            checks,
            network,
            writable: vec![writable.into()],
            ..Sandbox::default()
        };
        let operator = of(Some(Sandboxing::On), Some(Reach::Deny), "/operators");
        let caller = of(Some(Sandboxing::Off), Some(Reach::Allow), "/callers");
        let under = caller.under(operator.clone());
        assert_eq!(under, operator);
        let none = Sandbox::default();
        let caller = Sandbox { delegate: Some(Sandboxing::On), ..Sandbox::default() };
        assert_eq!(caller.clone().under(none).of_delegate(), Sandboxing::On);
        let bound = |most| Sandbox { max_processes: most, ..Sandbox::default() };
        assert_eq!(bound(Some(9)).under(bound(Some(4))).max_processes, Some(4));
        assert_eq!(bound(None).under(bound(Some(4))).max_processes, Some(4));
    }
}
