//! How a store is opened.

/// What an acknowledged append survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Loss of power, as far as the disk keeps what it acknowledged: every commit is flushed
    /// (`synchronous=FULL`). The default.
    #[default]
    Full,
    /// A crash of the process, `kill -9` included, but not loss of power or a crash of the
    /// operating system: those may take the last commits, never a part of one
    /// (`synchronous=NORMAL`).
    Normal,
}

impl Durability {
    /// The word of configuration files and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }

    pub(crate) const fn pragma(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
        }
    }
}

/// How long whoever opens a store means to keep it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stay {
    /// As long as there is work. Reads are made on threads of their own, and the last one to close the
    /// file merges the write-ahead log into it. The default.
    #[default]
    Long,
    /// For one answer that somebody waits for. Reads are made on the caller's thread, and a write-ahead
    /// log of up to 1 MiB is left beside the file for the next one to read: merging it would take four
    /// flushes of the disk. What it holds is as durable as it was.
    Brief,
}

/// How a store is opened. `Options::default()` suits everyone who does not know better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What an acknowledged append survives.
    pub durability: Durability,
    /// How long a write waits for another process that is writing, in milliseconds. 5000 by
    /// default; at most 60 000.
    pub busy_timeout_ms: u32,
    /// A bound on the size of the file in bytes, rounded down to pages of 4 KiB; a write that would
    /// pass it fails as on a full disk. `None`: the disk is the bound. The write-ahead log beside
    /// the file is not counted.
    pub max_bytes: Option<u64>,
    /// How long a lease of the queue lasts without a heartbeat, in milliseconds. 10 000 by default;
    /// from 1000 to 600 000. Of several processes on one file, each goes by its own.
    pub lease_ttl_ms: u32,
    /// How long whoever opens it means to stay.
    pub stay: Stay,
}

impl Options {
    /// The longest wait for another process.
    pub const MAX_BUSY_TIMEOUT_MS: u32 = 60_000;

    /// The shortest time of a lease.
    pub const MIN_LEASE_TTL_MS: u32 = 1000;

    /// The longest time of a lease.
    pub const MAX_LEASE_TTL_MS: u32 = 600_000;

    pub(crate) fn busy_timeout(&self) -> std::time::Duration {
        let bounded_ms = self.busy_timeout_ms.min(Self::MAX_BUSY_TIMEOUT_MS);
        std::time::Duration::from_millis(bounded_ms.into())
    }

    pub(crate) fn lease_ttl(&self) -> std::time::Duration {
        let bounded_ms = self.lease_ttl_ms.clamp(Self::MIN_LEASE_TTL_MS, Self::MAX_LEASE_TTL_MS);
        std::time::Duration::from_millis(bounded_ms.into())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            busy_timeout_ms: 5000,
            max_bytes: None,
            lease_ttl_ms: 10_000,
            stay: Stay::Long,
        }
    }
}
