//! The parts of a confinement, and how far each of them holds.

use std::fmt;

/// One thing that a confined command is kept from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Part {
    /// It gains no right by starting a program: neither by set-user-id nor by file capabilities. In a
    /// closed confinement, root has no capability left but those over files, users and low ports.
    Privileges,
    /// It reads and writes the memory of no process outside, and traces none.
    Tracing,
    /// It signals no process outside.
    Signals,
    /// It connects to no abstract socket outside.
    Sockets,
    /// It makes no system call that changes mounts or namespaces, or reaches into the kernel.
    Calls,
    /// It writes below the named folders only.
    Files,
    /// Inside of those, the named paths stay as they are.
    Protected,
    /// What lies at the named paths is not there.
    Hidden,
    /// The sockets of daemons that would act in its place are not there.
    Daemons,
    /// It has no network, loopback included.
    Network,
    /// It and all it starts are this many processes at most.
    Processes,
    /// It and all it starts hold this many bytes of memory at most.
    Memory,
}

/// How far a part holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The kernel took it.
    Enforced,
    /// It does not hold here.
    Unavailable(Lack),
}

/// Why a part does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lack {
    /// The kernel cannot do it, or was told at boot not to.
    Kernel,
    /// The machine does not let this user do it.
    Denied,
    /// A path to protect is a link, which no mount can hold in its place.
    Link,
    /// There are more paths than are protected one by one.
    Many,
    /// No control group of version 2 is delegated to this process with the controller that it takes.
    Controller,
    /// The command was not started through the helper.
    Helper,
    /// It failed in a way that says nothing more.
    Failed,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 12] = [
        Self::Privileges,
        Self::Tracing,
        Self::Signals,
        Self::Sockets,
        Self::Calls,
        Self::Files,
        Self::Protected,
        Self::Hidden,
        Self::Daemons,
        Self::Network,
        Self::Processes,
        Self::Memory,
    ];

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Privileges => "privileges",
            Self::Tracing => "tracing",
            Self::Signals => "signals",
            Self::Sockets => "sockets",
            Self::Calls => "calls",
            Self::Files => "files",
            Self::Protected => "protected",
            Self::Hidden => "hidden",
            Self::Daemons => "daemons",
            Self::Network => "network",
            Self::Processes => "processes",
            Self::Memory => "memory",
        }
    }
}

impl Lack {
    const ALL: [Self; 7] = [
        Self::Kernel,
        Self::Denied,
        Self::Link,
        Self::Many,
        Self::Controller,
        Self::Helper,
        Self::Failed,
    ];

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Denied => "denied",
            Self::Link => "link",
            Self::Many => "many",
            Self::Controller => "controller",
            Self::Helper => "helper",
            Self::Failed => "failed",
        }
    }

    /// What it means, for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Kernel => "this kernel cannot do it, or was started without it",
            Self::Denied => "this machine does not let this user do it",
            Self::Link => "a path to protect is a symbolic link; name what it leads to",
            Self::Many => "there are too many paths to protect; name their folder",
            Self::Controller => "no control group of version 2 is delegated that could do it",
            Self::Helper => "the command was not started through the helper",
            Self::Failed => "the kernel refused it for a reason that is not known",
        }
    }
}

/// What held of a confinement: every part that was asked for, with its level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Enforcement(Vec<(Part, Level)>);

impl Enforcement {
    /// Every part that was asked for.
    pub fn parts(&self) -> impl Iterator<Item = (Part, Level)> + '_ {
        self.0.iter().copied()
    }

    /// The parts that hold.
    pub fn enforced(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts().filter_map(|(part, level)| (level == Level::Enforced).then_some(part))
    }

    /// The parts that do not hold, with the reason.
    pub fn missing(&self) -> impl Iterator<Item = (Part, Lack)> + '_ {
        self.parts().filter_map(|(part, level)| match level {
            Level::Enforced => None,
            Level::Unavailable(lack) => Some((part, lack)),
        })
    }

    /// Whether nothing was asked for.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every part that was asked for holds.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missing().next().is_none()
    }

    pub(crate) fn set(&mut self, part: Part, level: Level) {
        self.0.retain(|(known, _)| *known != part);
        self.0.push((part, level));
        self.0.sort_unstable_by_key(|(part, _)| *part);
    }

    pub(crate) fn join(&mut self, other: &Self) {
        other.parts().for_each(|(part, level)| self.set(part, level));
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut read = Self::default();
        for word in text.split(',').filter(|word| !matches!(*word, "" | "-")) {
            let (part, lack) = match word.split_once(':') {
                Some((part, lack)) => (part, Some(lack)),
                None => (word, None),
            };
            let part = Part::ALL.into_iter().find(|known| known.as_str() == part)?;
            let level = match lack {
                None => Level::Enforced,
                Some(lack) => {
                    let lack = Lack::ALL.into_iter().find(|known| known.as_str() == lack)?;
                    Level::Unavailable(lack)
                }
            };
            read.set(part, level);
        }
        Some(read)
    }
}

impl FromIterator<(Part, Level)> for Enforcement {
    fn from_iter<I: IntoIterator<Item = (Part, Level)>>(parts: I) -> Self {
        let mut all = Self::default();
        parts.into_iter().for_each(|(part, level)| all.set(part, level));
        all
    }
}

/// `files,signals:kernel`: the parts that hold by name, the others with the reason. `-` for none.
impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("-");
        }
        for (place, (part, level)) in self.parts().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            f.write_str(part.as_str())?;
            if let Level::Unavailable(lack) = level {
                write!(f, ":{}", lack.as_str())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enforcement_survives_the_way() {
        let mut all = Enforcement::default();
        assert_eq!(all.to_string(), "-");
        for (place, part) in Part::ALL.into_iter().enumerate() {
            let lack = Lack::ALL.get(place).copied();
            all.set(part, lack.map_or(Level::Enforced, Level::Unavailable));
            assert_eq!(Enforcement::parse(&all.to_string()).as_ref(), Some(&all));
        }
        for wrong in ["file", "files:", "files:why", "files;calls"] {
            assert_eq!(Enforcement::parse(wrong), None, "{wrong}");
        }
    }
}
