//! How a command is contained.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use crate::confinement::Confinement;
use crate::spawn::Limits;

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
    /// As `by`, and every command is confined that does not say itself how.
    Confined {
        /// How commands are started.
        by: Box<Self>,
        /// What they are kept from.
        confinement: Arc<Confinement>,
        /// Their limits, where they name none themselves.
        limits: Limits,
    },
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

    /// The same, with every command confined that does not say itself how.
    #[must_use]
    pub fn confined(&self, confinement: Confinement, limits: Limits) -> Self {
        Self::Confined { by: Box::new(self.clone()), confinement: Arc::new(confinement), limits }
    }

    /// How far killing reaches.
    #[must_use]
    pub fn containment(&self) -> Containment {
        match self {
            Self::Helper { .. } => Containment::Tree,
            Self::InProcess => Containment::Group,
            Self::Confined { by, .. } => by.containment(),
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
