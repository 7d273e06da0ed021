//! How a command is contained.

use std::ffi::OsString;
use std::path::PathBuf;

/// How commands are started and how far killing them reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Launcher {
    /// Through a helper process that outlives the caller and kills every descendant.
    Helper {
        /// A binary that calls [`crate::exec_main`].
        program: PathBuf,
        /// What comes before the helper's own arguments, for example `sandbox-exec`.
        prefix: Vec<OsString>,
    },
    /// From this process, in a process group of its own. Weaker: a descendant that starts its own
    /// session or group is not reached, nothing is killed when the caller is killed with SIGKILL,
    /// and [`crate::Limits`] are refused. For embedders without a helper binary.
    InProcess,
}

impl Launcher {
    /// The strong launcher: `program prefix…` must end up in [`crate::exec_main`] with the
    /// remaining arguments.
    pub fn helper<I, S>(program: impl Into<PathBuf>, prefix: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        Self::Helper {
            program: program.into(),
            prefix: prefix.into_iter().map(Into::into).collect(),
        }
    }

    /// How far killing reaches.
    #[must_use]
    pub const fn containment(&self) -> Containment {
        match self {
            Self::Helper { .. } => Containment::Tree,
            Self::InProcess => Containment::Group,
        }
    }
}

/// How far killing reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// Every descendant, whatever session or group it moved to.
    Tree,
    /// The process group of the command only.
    Group,
}

impl Containment {
    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Group => "group",
        }
    }
}
