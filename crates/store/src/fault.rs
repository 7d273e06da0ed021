//! What can be wrong with the storage itself, in words that say what to do.

/// The closed set of storage faults. Each has a stable code and a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// No room left.
    Full,
    /// The storage may not be written.
    ReadOnly,
    /// The storage is damaged.
    Corrupt,
    /// Another process holds it for longer than the provider waits.
    Busy,
    /// It cannot be opened: wrong path, missing permission, not a store.
    CannotOpen,
    /// A newer build has written it.
    Newer,
    /// The provider was closed.
    Closed,
    /// Reading or writing failed in another way.
    Io,
}

impl FaultKind {
    /// All kinds, for tables and tests.
    pub const ALL: [Self; 8] = [
        Self::Full,
        Self::ReadOnly,
        Self::Corrupt,
        Self::Busy,
        Self::CannotOpen,
        Self::Newer,
        Self::Closed,
        Self::Io,
    ];

    /// The stable machine word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Full => "store_full",
            Self::ReadOnly => "store_read_only",
            Self::Corrupt => "store_corrupt",
            Self::Busy => "store_busy",
            Self::CannotOpen => "store_cannot_open",
            Self::Newer => "store_newer",
            Self::Closed => "store_closed",
            Self::Io => "store_io",
        }
    }

    /// What is wrong and what to do about it, in one sentence.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Full => "the storage is full; free space, then resume the run",
            Self::ReadOnly => {
                "the storage is read-only; give this user write permission on file and folder"
            }
            Self::Corrupt => "the storage is damaged; keep a copy and restore the last backup",
            Self::Busy => {
                "another process holds the storage; wait for it or stop it, then resume the run"
            }
            Self::CannotOpen => "the storage cannot be opened; check path and permissions",
            Self::Newer => "a newer build has written the storage; use a build at least as new",
            Self::Closed => "the storage was closed; open it again",
            Self::Io => {
                "the storage could not be read or written; check the device, then resume the run"
            }
        }
    }
}

/// The storage cannot do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", .kind.advice())]
pub struct StoreFault {
    /// Which of the closed set.
    pub kind: FaultKind,
    /// What the provider said.
    pub detail: String,
}

impl StoreFault {
    /// A fault with the provider's own words.
    #[must_use]
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }
}
