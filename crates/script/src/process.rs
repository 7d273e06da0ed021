//! One worker process as its parent sees it.

use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::fault::{self, FaultFrame};
use crate::frame::{self, FromWorker, ToWorker};
use crate::pool::WorkerProgram;

/// Last bytes of standard error that are kept.
const MAX_STDERR_BYTES: usize = 4096;
/// How long a worker that closed its output may take to be gone.
const EXIT_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct WorkerProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    stderr: Option<JoinHandle<String>>,
}

impl WorkerProcess {
    pub(crate) async fn start(program: &WorkerProgram, memory_bytes: u64) -> io::Result<Self> {
        let mut child = Command::new(&program.program)
            .args(&program.args)
            .env_clear()
            // A Ctrl-C at the terminal is for the parent, which then decides.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let closed = || io::Error::other("a pipe to the worker is missing");
        let mut input = child.stdin.take().ok_or_else(closed)?;
        let output = child.stdout.take().ok_or_else(closed)?;
        let stderr = child.stderr.take().ok_or_else(closed)?;
        frame::write(&mut input, &frame::encode(&ToWorker::Hello { memory_bytes })?).await?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
            stderr: Some(tokio::spawn(tail(stderr))),
        })
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) async fn send(&mut self, frame: &impl Serialize) -> io::Result<()> {
        frame::write(&mut self.input, &frame::encode(frame)?).await
    }

    pub(crate) async fn receive(&mut self) -> io::Result<FromWorker> {
        frame::read(&mut self.output).await
    }

    /// Ends the process, whatever it does, and collects it.
    pub(crate) async fn kill(&mut self) {
        // An error means that it is gone already.
        drop(self.child.kill().await);
    }

    /// Why the process ended, as a fault. It is killed first if it has not.
    pub(crate) async fn autopsy(&mut self) -> FaultFrame {
        let status = match tokio::time::timeout(EXIT_WAIT, self.child.wait()).await {
            Ok(status) => status.ok(),
            Err(_) => {
                self.kill().await;
                None
            }
        };
        let stderr = match self.stderr.take() {
            Some(task) => tokio::time::timeout(EXIT_WAIT, task).await,
            None => Ok(Ok(String::new())),
        };
        cause(status, stderr.ok().and_then(Result::ok).unwrap_or_default().trim())
    }
}

fn cause(status: Option<ExitStatus>, stderr: &str) -> FaultFrame {
    const SIGXCPU: i32 = 24;
    let signal = status.and_then(|status| status.signal());
    // The texts are those of the Rust runtime; without them the cause stays a plain crash.
    if stderr.contains("memory allocation of") || stderr.contains("out of memory") {
        let message = "the script asked for more memory than its worker may have";
        return FaultFrame::new(fault::HEAP, message);
    }
    if stderr.contains("has overflowed its stack") {
        let message = "calls or values were nested so deeply that the worker's stack overflowed";
        return FaultFrame::new(fault::DEPTH, message);
    }
    if signal == Some(SIGXCPU) {
        return FaultFrame::new(
            fault::TIMEOUT,
            "the script used more processor time than its limit",
        );
    }
    let how = match (signal, status) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(status)) => format!("ended with {status}"),
        (None, None) => "stopped answering".to_owned(),
    };
    let said = if stderr.is_empty() { String::new() } else { format!(": {stderr}") };
    FaultFrame::new(fault::CRASH, format!("the worker process {how}{said}"))
}

/// Reads to the end and keeps the last bytes.
async fn tail(mut from: impl AsyncRead + Unpin) -> String {
    let mut kept: VecDeque<u8> = VecDeque::new();
    let mut buffer = [0; 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        if count == 0 {
            break;
        }
        kept.extend(buffer.iter().take(count));
        let excess = kept.len().saturating_sub(MAX_STDERR_BYTES);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}
