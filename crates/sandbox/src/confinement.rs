//! What a command is kept from, besides what [`crate::Limits`] say.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::part::Part;

/// The most paths that are protected or hidden one by one.
pub const MAX_CONFINED_PATHS: usize = 512;

/// What a command is kept from. It is set in the command's own process before the command starts, and
/// everything that it starts inherits it; nothing of it can be taken back from inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    pub(crate) demand: Demand,
    pub(crate) is_closed: bool,
    pub(crate) network: Network,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
}

/// What follows when a part of a confinement does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// The command is not started.
    Required,
    /// It is started without that part, and the result says so.
    BestEffort,
}

/// What a confined command may reach over sockets that are none of the file system's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// As without a confinement.
    Open,
    /// Nothing, loopback included. Sockets in the file system stay.
    Denied,
}

impl Confinement {
    /// Keeps the command off other processes and from gaining rights, and leaves files and network as
    /// they are. Best effort, unless [`Confinement::demand`] says otherwise.
    #[must_use]
    pub const fn guard() -> Self {
        Self {
            demand: Demand::BestEffort,
            is_closed: false,
            network: Network::Open,
            writable: Vec::new(),
            protected: Vec::new(),
            hidden: Vec::new(),
        }
    }

    /// Keeps the command from everything that a [`Part`] names. Without [`Confinement::writable`] it
    /// may write nowhere but to a temporary folder of its own, which `TMPDIR` names and which is gone
    /// when it is over. It reads and starts what the user may. All of it is required.
    #[must_use]
    pub fn closed() -> Self {
        Self { demand: Demand::Required, is_closed: true, ..Self::guard() }
    }

    /// What follows when a part does not hold.
    #[must_use]
    pub const fn demand(mut self, demand: Demand) -> Self {
        self.demand = demand;
        self
    }

    /// What it may reach over the network. Only a closed confinement can deny it.
    #[must_use]
    pub const fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// A folder or file that a closed confinement may write to; nothing where there is none.
    #[must_use]
    pub fn writable(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }

    /// A folder or file inside of a writable one that stays as it is: nothing of it is written,
    /// removed, moved or replaced. One that is not there when the command starts is not protected.
    #[must_use]
    pub fn protected(mut self, path: impl Into<PathBuf>) -> Self {
        self.protected.push(path.into());
        self
    }

    /// A folder or file in the place of which the command finds an empty one.
    #[must_use]
    pub fn hidden(mut self, path: impl Into<PathBuf>) -> Self {
        self.hidden.push(path.into());
        self
    }

    /// Whether it keeps files, and not only processes.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether nothing is started where a part does not hold.
    #[must_use]
    pub const fn is_required(&self) -> bool {
        matches!(self.demand, Demand::Required)
    }

    /// The folders and files that may be written to.
    #[must_use]
    pub fn writable_paths(&self) -> &[PathBuf] {
        &self.writable
    }

    /// The parts that it asks for.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = vec![Part::Privileges, Part::Tracing, Part::Signals];
        if self.is_closed {
            parts.extend([Part::Sockets, Part::Calls, Part::Files, Part::Daemons]);
        }
        let more = [
            (Part::Protected, !self.protected.is_empty()),
            (Part::Hidden, !self.hidden.is_empty()),
            (Part::Network, self.denies_network()),
        ];
        parts.extend(more.into_iter().filter_map(|(part, is_asked)| is_asked.then_some(part)));
        parts
    }

    pub(crate) fn denies_network(&self) -> bool {
        self.is_closed && self.network == Network::Denied
    }

    /// The words that [`Confinement::parse`] reads, one argument each.
    pub(crate) fn encode(&self) -> Vec<OsString> {
        let flags = format!(
            "{}{}{}",
            if self.demand == Demand::Required { 'r' } else { 'b' },
            if self.is_closed { 'c' } else { 'g' },
            if self.network == Network::Denied { 'd' } else { 'o' },
        );
        let mut words = vec![OsString::from(flags)];
        let lists = [("w:", &self.writable), ("p:", &self.protected), ("h:", &self.hidden)];
        for (mark, paths) in lists {
            words.extend(paths.iter().map(|path| marked(mark, path)));
        }
        words
    }

    pub(crate) fn parse(words: &[OsString]) -> Option<Self> {
        let (flags, paths) = words.split_first()?;
        let &[demand, reach, network] = flags.as_bytes() else { return None };
        let mut read = Self {
            demand: if demand == b'r' { Demand::Required } else { Demand::BestEffort },
            is_closed: reach == b'c',
            network: if network == b'd' { Network::Denied } else { Network::Open },
            ..Self::guard()
        };
        for word in paths {
            let (mark, path) = word.as_bytes().split_at_checked(2)?;
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            match mark {
                b"w:" => read.writable.push(path),
                b"p:" => read.protected.push(path),
                b"h:" => read.hidden.push(path),
                _ => return None,
            }
        }
        Some(read)
    }

    /// A path that no argument can hold.
    pub(crate) fn unfit_path(&self) -> Option<&Path> {
        let all = self.writable.iter().chain(&self.protected).chain(&self.hidden);
        let mut all = all.map(PathBuf::as_path);
        all.find(|path| !path.is_absolute() || path.as_os_str().as_bytes().contains(&0))
    }
}

fn marked(mark: &str, path: &Path) -> OsString {
    let mut word = OsString::from(mark);
    word.push::<&OsStr>(path.as_ref());
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confinement_survives_the_way() {
        let odd = PathBuf::from(OsString::from_vec(b"/a,b\n\xff".to_vec()));
        for confinement in [
            Confinement::guard(),
            Confinement::guard().demand(Demand::Required),
            Confinement::closed(),
            Confinement::closed()
                .demand(Demand::BestEffort)
                .network(Network::Denied)
                .writable(&odd)
                .writable("/w")
                .protected("/w/p")
                .hidden("/h"),
        ] {
            assert_eq!(Confinement::parse(&confinement.encode()), Some(confinement));
        }
        for wrong in [&[][..], &["r".into()], &["rcd".into(), "x:/a".into()]] {
            assert_eq!(Confinement::parse(wrong), None, "{wrong:?}");
        }
    }
}
