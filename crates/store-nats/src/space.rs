//! Names: the streams of one space, and the subjects in them.

use probity_core::{Digest, RunId};
use probity_store::Pool;

/// The names of one space. Several spaces share a cluster without seeing each other.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    name: String,
    /// The same in lower case, before every subject.
    prefix: String,
}

/// The streams of a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Batches of records, one subject for a run.
    Log,
    /// One message for each run, in the order of creation.
    Runs,
    /// Blobs and their chunks.
    Blob,
    /// Tokens of jobs, one at most for a run.
    Work,
    /// Marks of jobs that are parked or dead.
    Aside,
}

/// The two kinds of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Parked,
    Dead,
}

impl Part {
    pub(crate) const ALL: [Self; 5] = [Self::Log, Self::Runs, Self::Blob, Self::Work, Self::Aside];
}

impl Mark {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Parked => "parked",
            Self::Dead => "dead",
        }
    }
}

impl Space {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), prefix: name.to_ascii_lowercase() }
    }

    /// The name of a stream.
    pub(crate) fn stream(&self, part: Part) -> String {
        let part = match part {
            Part::Log => "LOG",
            Part::Runs => "RUNS",
            Part::Blob => "BLOB",
            Part::Work => "WORK",
            Part::Aside => "ASIDE",
        };
        format!("{}_{part}", self.name)
    }

    /// Every subject of a stream.
    pub(crate) fn subjects(&self, part: Part) -> String {
        let rest = match part {
            Part::Log => "run.*",
            Part::Runs => "runs.*",
            Part::Blob => "blob.>",
            Part::Work => "work.*.*",
            Part::Aside => "aside.*.*",
        };
        format!("{}.{rest}", self.prefix)
    }

    /// The batches of a run.
    pub(crate) fn run(&self, run: &RunId) -> String {
        format!("{}.run.{run}", self.prefix)
    }

    /// Where it is told that a run has grown, once the batch is stored.
    pub(crate) fn grown(&self, run: &str) -> String {
        format!("{}.grown.{run}", self.prefix)
    }

    /// The creation of a run.
    pub(crate) fn created(&self, run: &RunId) -> String {
        format!("{}.runs.{run}", self.prefix)
    }

    pub(crate) fn blob(&self, digest: &Digest) -> String {
        format!("{}.blob.{digest}", self.prefix)
    }

    /// A piece of a large blob. The length of pieces is part of the name, so that two processes that
    /// cut differently do not take each other's.
    pub(crate) fn chunk(&self, digest: &Digest, chunk_bytes: usize, index: usize) -> String {
        format!("{}.blob.{digest}.{chunk_bytes}.{index}", self.prefix)
    }

    pub(crate) fn token(&self, pool: &Pool, run: &RunId) -> String {
        format!("{}.work.{pool}.{run}", self.prefix)
    }

    /// The token of a run in whatever pool.
    pub(crate) fn any_token(&self, run: &RunId) -> String {
        format!("{}.work.*.{run}", self.prefix)
    }

    /// The tokens of a pool.
    pub(crate) fn pool(&self, pool: &Pool) -> String {
        format!("{}.work.{pool}.*", self.prefix)
    }

    pub(crate) fn mark(&self, mark: Mark, run: &RunId) -> String {
        format!("{}.aside.{}.{run}", self.prefix, mark.as_str())
    }

    /// Marks of a run, of whatever kind.
    pub(crate) fn any_mark(&self, run: &RunId) -> String {
        format!("{}.aside.*.{run}", self.prefix)
    }

    /// Marks of one kind.
    pub(crate) fn marks(&self, mark: Mark) -> String {
        format!("{}.aside.{}.*", self.prefix, mark.as_str())
    }

    /// The run that a subject ends with.
    pub(crate) fn run_of(subject: &str) -> Option<RunId> {
        subject.rsplit('.').next()?.parse().ok()
    }

    /// The pool of a token.
    pub(crate) fn pool_of(token: &str) -> Option<Pool> {
        token.rsplit('.').nth(1)?.parse().ok()
    }
}
