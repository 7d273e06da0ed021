//! What the caller and the helper say to each other. Both are the same build of this crate, so the
//! format is private; it is text so that a process listing can be read.

use std::os::fd::RawFd;
use std::time::Duration;

use crate::part::Enforcement;
use crate::spawn::{Limits, Status};

/// What the helper is told, as one argument: `stdin=0,linger_ms=100,…`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// Bytes of standard input that come first on the control socket.
    pub(crate) stdin_bytes: usize,
    pub(crate) linger: Duration,
    pub(crate) term_grace: Duration,
    pub(crate) limits: Limits,
    /// Standard output is a socket that is the command's standard input too, and the helper says
    /// [`STARTED`] before it waits.
    pub(crate) duplex: bool,
    /// How many of the following arguments are a confinement; 0 for none.
    pub(crate) confinement_len: usize,
    /// How many of the following arguments lead back to this helper. Only used with limits.
    pub(crate) prefix_len: usize,
}

impl Order {
    pub(crate) fn encode(&self) -> String {
        let ms = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
        format!(
            "stdin={},duplex={},linger_ms={},grace_ms={},confinement={},prefix={}{}",
            self.stdin_bytes,
            u8::from(self.duplex),
            ms(self.linger),
            ms(self.term_grace),
            self.confinement_len,
            self.prefix_len,
            encode_limits(&self.limits),
        )
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut order = Self::default();
        for part in text.split(',') {
            let (key, value) = part.split_once('=')?;
            let value: u64 = value.parse().ok()?;
            match key {
                "stdin" => order.stdin_bytes = usize::try_from(value).ok()?,
                "duplex" => order.duplex = value == 1,
                "linger_ms" => order.linger = Duration::from_millis(value),
                "grace_ms" => order.term_grace = Duration::from_millis(value),
                "confinement" => order.confinement_len = usize::try_from(value).ok()?,
                "prefix" => order.prefix_len = usize::try_from(value).ok()?,
                "as" => order.limits.address_space_bytes = Some(value),
                "cpu" => order.limits.cpu_seconds = Some(value),
                "fsize" => order.limits.file_size_bytes = Some(value),
                "nofile" => order.limits.open_files = Some(value),
                "nproc" => order.limits.processes = Some(value),
                "memory" => order.limits.memory_bytes = Some(value),
                _ => return None,
            }
        }
        Some(order)
    }
}

fn encode_limits(limits: &Limits) -> String {
    [
        ("as", limits.address_space_bytes),
        ("cpu", limits.cpu_seconds),
        ("fsize", limits.file_size_bytes),
        ("nofile", limits.open_files),
        ("nproc", limits.processes),
        ("memory", limits.memory_bytes),
    ]
    .into_iter()
    .filter_map(|(key, value)| value.map(|value| format!(",{key}={value}")))
    .collect()
}

/// What the helper of a duplex command says first, when the command has started.
pub(crate) const STARTED: &str = "started\n";

/// What the helper answers: one line, when everything is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command could not be started: the system's error number.
    NotStarted { errno: i32 },
    /// The helper cannot contain anything here: the system's error number.
    Unable { errno: i32 },
    /// Not everything that was required would hold, so nothing was started.
    Refused { enforcement: Enforcement },
    /// Everything is dead. `status` is `None` when the helper was told to end it.
    Done { status: Option<Status>, strays: u32, survivors: u32, enforcement: Enforcement },
}

impl Report {
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::NotStarted { errno } => format!("not_started {errno}\n"),
            Self::Unable { errno } => format!("unable {errno}\n"),
            Self::Refused { enforcement } => format!("refused {enforcement}\n"),
            Self::Done { status, strays, survivors, enforcement } => {
                let status = match status {
                    None => "stopped 0".to_owned(),
                    Some(Status::Code(code)) => format!("code {code}"),
                    Some(Status::Signal(signal)) => format!("signal {signal}"),
                };
                format!("done {status} {strays} {survivors} {enforcement}\n")
            }
        }
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        Some(match words.as_slice() {
            ["not_started", errno] => Self::NotStarted { errno: errno.parse().ok()? },
            ["unable", errno] => Self::Unable { errno: errno.parse().ok()? },
            ["refused", parts] => Self::Refused { enforcement: Enforcement::parse(parts)? },
            ["done", how, number, strays, survivors, parts] => Self::Done {
                status: match *how {
                    "stopped" => None,
                    "code" => Some(Status::Code(number.parse().ok()?)),
                    "signal" => Some(Status::Signal(number.parse().ok()?)),
                    _ => return None,
                },
                strays: strays.parse().ok()?,
                survivors: survivors.parse().ok()?,
                enforcement: Enforcement::parse(parts)?,
            },
            _ => return None,
        })
    }
}

/// Where a process finds another one's descriptor.
pub(crate) fn proc_fd(pid: u32, fd: RawFd) -> String {
    format!("/proc/{pid}/fd/{fd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_reports_survive_the_way() {
        let limits = Limits {
            address_space_bytes: Some(1),
            cpu_seconds: Some(2),
            file_size_bytes: None,
            open_files: Some(4),
            processes: Some(5),
            memory_bytes: Some(6),
        };
        for limits in [limits, Limits::default()] {
            let order = Order {
                stdin_bytes: 7,
                linger: Duration::from_millis(8),
                term_grace: Duration::from_millis(9),
                limits,
                duplex: !limits.is_empty(),
                confinement_len: 2,
                prefix_len: 3,
            };
            assert_eq!(Order::parse(&order.encode()), Some(order));
        }
        let parts = || Enforcement::parse("files,signals:kernel").unwrap_or_default();
        let done = |status| Report::Done { status, strays: 3, survivors: 4, enforcement: parts() };
        for report in [
            Report::NotStarted { errno: 2 },
            Report::Unable { errno: 38 },
            Report::Refused { enforcement: parts() },
            done(None),
            done(Some(Status::Code(255))),
            done(Some(Status::Signal(9))),
        ] {
            assert_eq!(Report::parse(report.encode().trim_end()), Some(report));
        }
        for line in
            ["", "done", "done code x 0 0 -", "done magic 0 0 0 -", "done code 0 0 0", "hello 1"]
        {
            assert_eq!(Report::parse(line), None, "{line}");
        }
        assert_eq!(Order::parse("stdin=1,unknown=2"), None);
    }
}
