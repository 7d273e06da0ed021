//! Where runs are kept, and what an acknowledgement means there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity::store::{MemoryStore, WorkStore};
use probity_store_nats::{NatsOptions, NatsStore};
use probity_store_sqlite::{Durability, Options, SqliteStore};
use serde::{Deserialize, Serialize};

use super::wrong;
use crate::cluster::Cluster;
use crate::error::BenchError;

/// A provider and its durability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Gone with the process.
    Memory,
    /// One file; a commit is on the disk.
    SqliteFull,
    /// One file; a commit survives the process.
    SqliteNormal,
    /// Three servers on loopback; a commit is on the disks of two of them.
    Jetstream,
}

/// A store that a process can open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    /// The file, or the URL.
    pub(crate) at: String,
    /// How long its leases last.
    pub(crate) lease_ttl_ms: u32,
    /// Processes whose CPU time is counted beside: the servers.
    pub(crate) servers: Vec<u32>,
}

/// A place as long as a measurement lasts, with what runs there.
pub(crate) struct Ground {
    pub(crate) place: Place,
    pub(crate) cluster: Option<Cluster>,
    home: tempfile::TempDir,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] =
        [Self::Memory, Self::SqliteFull, Self::SqliteNormal, Self::Jetstream];

    /// The word of tables.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::SqliteFull => "sqlite FULL",
            Self::SqliteNormal => "sqlite NORMAL",
            Self::Jetstream => "jetstream, 3 nodes",
        }
    }

    /// What the peer's server must be told to be as durable; `None` where it cannot be.
    pub(crate) const fn peer(self) -> Option<&'static str> {
        match self {
            Self::Memory => Some("none"),
            Self::SqliteFull => Some("always"),
            Self::SqliteNormal => Some("everysec"),
            Self::Jetstream => None,
        }
    }
}

impl Place {
    /// Opens it.
    pub(crate) async fn open(&self) -> Result<Arc<dyn WorkStore>, BenchError> {
        Ok(match self.kind {
            Kind::Memory => Arc::new(MemoryStore::new()),
            Kind::SqliteFull => Arc::new(self.sqlite(Durability::Full)?),
            Kind::SqliteNormal => Arc::new(self.sqlite(Durability::Normal)?),
            Kind::Jetstream => {
                let options = NatsOptions::parse(&self.at).map_err(wrong)?;
                Arc::new(NatsStore::connect(options).await.map_err(wrong)?)
            }
        })
    }

    /// CPU time of its servers so far, in seconds.
    pub(crate) fn servers_cpu_s(&self) -> f64 {
        self.servers.iter().map(|process| crate::cost::cpu_s_of(*process)).sum()
    }

    fn sqlite(&self, durability: Durability) -> Result<SqliteStore, BenchError> {
        let lease_ttl_ms = self.lease_ttl_ms;
        let options = Options { durability, lease_ttl_ms, ..Options::default() };
        SqliteStore::open(&self.at, options).map_err(wrong)
    }
}

impl Ground {
    /// A fresh one. A cluster needs the server's program.
    pub(crate) fn new(
        kind: Kind,
        folder: &Path,
        nats: Option<&PathBuf>,
        lease_ttl_ms: u32,
    ) -> Result<Self, BenchError> {
        let home = tempfile::tempdir_in(folder).map_err(BenchError::io("make a folder"))?;
        let cluster = match (kind, nats) {
            (Kind::Jetstream, Some(program)) => Some(Cluster::start(program, home.path())?),
            (Kind::Jetstream, None) => return Err(wrong("jetstream needs --nats-server")),
            _ => None,
        };
        let at = match &cluster {
            Some(cluster) => cluster.url(lease_ttl_ms),
            None => home.path().join("runs.db").display().to_string(),
        };
        let servers = cluster.as_ref().map(Cluster::processes).unwrap_or_default();
        Ok(Self { place: Place { kind, at, lease_ttl_ms, servers }, cluster, home })
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        self.home.path()
    }

    /// Bytes on disk: of the file with its log, or of one of the servers.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.cluster {
            Some(cluster) => cluster.bytes_of_one(),
            None => crate::cost::bytes_below(self.home.path()),
        }
    }
}
