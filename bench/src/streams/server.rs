//! The server that is measured, as a process of its own.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::floor::Script;
use super::wire::{KEY, Wire};
use super::wrong;
use crate::cost::cpu_s_of;
use crate::error::BenchError;
use crate::machine::kilobytes;

/// A server. It goes with the value.
pub(super) struct Server {
    child: Child,
    address: SocketAddr,
    /// Held, because a server that cannot say anything any more might end.
    _told: BufReader<ChildStdout>,
}

/// Where a host keeps things.
#[derive(Debug, Clone)]
pub(super) struct Home {
    pub(super) folder: PathBuf,
    /// The program; absent is this one, which is `probity` by that name.
    pub(super) program: Option<PathBuf>,
}

impl Server {
    /// `probity serve` on a file of its own, or on that of the host before it.
    pub(super) fn host(home: &Home, address: Option<SocketAddr>) -> Result<Self, BenchError> {
        let own = Path::new("/proc/self/exe");
        let mut command = Command::new(home.program.as_deref().unwrap_or(own));
        let address = address.map_or_else(|| "127.0.0.1:0".to_owned(), |it| it.to_string());
        let store = format!("sqlite:{}", home.folder.join("host.db").display());
        command.arg0("probity").args(["serve", "--addr", &address, "--store", &store]);
        command.arg("--workflows").arg(home.folder.join("workflows"));
        command.env("PROBITY_API_KEY", KEY).current_dir(&home.folder);
        let mut log = std::fs::OpenOptions::new();
        let log = log.create(true).append(true).open(home.folder.join("host.log"));
        let log = log.map_err(BenchError::io("open a log"))?;
        command.stderr(log);
        Self::start(command)
    }

    /// The floor.
    pub(super) fn floor(script: &Script) -> Result<Self, BenchError> {
        let mut command = Command::new("/proc/self/exe");
        command.args(["--floor", &serde_json::to_string(script).map_err(wrong)?]);
        Self::start(command)
    }

    fn start(mut command: Command) -> Result<Self, BenchError> {
        let failed = BenchError::io("start a server");
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(&failed)?;
        let stdout = child.stdout.take().ok_or_else(|| wrong("no pipe"))?;
        let mut told = BufReader::new(stdout);
        let mut line = String::new();
        told.read_line(&mut line).map_err(&failed)?;
        let address = line.trim().strip_prefix("http://").and_then(|it| it.parse().ok());
        let address =
            address.ok_or_else(|| wrong(format!("the server did not start: {line:?}")))?;
        Ok(Self { child, address, _told: told })
    }

    pub(super) fn wire(&self) -> Wire {
        Wire(self.address)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// CPU time it has had so far.
    pub(super) fn cpu_s(&self) -> f64 {
        cpu_s_of(self.child.id())
    }

    /// The most memory it has had.
    pub(super) fn peak_rss_bytes(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        kilobytes(&status, "VmHWM").unwrap_or(0) * 1024
    }

    /// `kill -9`.
    pub(super) fn kill(&mut self) -> Result<(), BenchError> {
        self.child.kill().map_err(BenchError::io("kill a server"))?;
        self.child.wait().map(drop).map_err(BenchError::io("wait for a server"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Whoever is dropped alive is done with, and one that was killed cannot be again.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
