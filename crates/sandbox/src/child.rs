//! A command that serves: started, talked to, and killed whole.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::ChildStderr;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::capture::{CHUNK_BYTES, Capture};
use crate::drive::{self, EOF_BOUND};
use crate::group;
use crate::launcher::{Containment, Launcher};
use crate::spawn::{Finished, MAX_TIMEOUT, SandboxError, Spawn};

/// A command that was started by [`Spawn::start`]. Dropping it kills everything, as
/// [`Child::kill`] does, shortly after.
///
/// Standard input and output of the command are the two directions of one socket.
#[derive(Debug)]
pub struct Child {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Arc<Mutex<Capture>>,
    stop: CancellationToken,
    end: watch::Receiver<Option<Result<Finished, SandboxError>>>,
    containment: Containment,
}

impl Child {
    pub(crate) async fn start(spawn: &Spawn, launcher: &Launcher) -> Result<Self, SandboxError> {
        let refused = |source| SandboxError::Watch { program: spawn.program_text(), source };
        let stop = spawn.cancel.child_token();
        let spawn = spawn.clone().stdin([]).timeout(MAX_TIMEOUT).cancel(stop.clone());
        if stop.is_cancelled() {
            let source = io::Error::new(io::ErrorKind::Interrupted, "it was cancelled before");
            return Err(spawn.start_error(source));
        }
        let (ours, theirs) = StdUnixStream::pair().map_err(refused)?;
        ours.set_nonblocking(true).map_err(refused)?;
        let (stdout, stdin) = UnixStream::from_std(ours).map_err(refused)?.into_split();
        let mut open = Open::start(&spawn, launcher, theirs.into()).await?;
        let stderr = Arc::new(Mutex::new(Capture::new(spawn.max_stderr_bytes)));
        let (told, end) = watch::channel(None);
        let pipe = open.take_stderr();
        let kept = Arc::clone(&stderr);
        // Ends with the command, which ends with this value at the latest. Should the runtime go
        // first, the task is dropped, and what it holds kills the command.
        tokio::spawn(async move {
            let finished = watch_over(&spawn, open, pipe, &kept).await;
            let _ = told.send(Some(finished));
        });
        Ok(Self {
            stdin: Some(ChildStdin(stdin)),
            stdout: Some(ChildStdout(stdout)),
            stderr,
            stop,
            end,
            containment: launcher.containment(),
        })
    }

    /// Where the command's standard input is written. `None` when it was taken before.
    pub const fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Where the command's standard output is read. `None` when it was taken before.
    pub const fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// The last of what the command wrote to standard error so far, `max_bytes` at most, for
    /// messages to people. All of it has arrived once [`Child::wait`] has returned.
    #[must_use]
    pub fn stderr_tail(&self, max_bytes: usize) -> String {
        let capture = lock(&self.stderr).clone();
        capture.finish().last_text(max_bytes)
    }

    /// How far killing reaches.
    #[must_use]
    pub const fn containment(&self) -> Containment {
        self.containment
    }

    /// Whether the command is over with everything it had started.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.end.borrow().is_some() || self.end.has_changed().is_err()
    }

    /// Waits for the end of the command and of everything it had started. May be called again, and
    /// dropped: nothing is killed by that. `stdout` of the result is empty: its bytes are its
    /// reader's.
    ///
    /// # Errors
    /// [`SandboxError`] when the command could not be watched to its end.
    pub async fn wait(&self) -> Result<Finished, SandboxError> {
        let mut end = self.end.clone();
        let told = end.wait_for(Option::is_some).await;
        match told.as_deref() {
            Ok(Some(Ok(finished))) => Ok(finished.clone()),
            Ok(Some(Err(error))) => Err(again(error)),
            Ok(None) | Err(_) => {
                Err(SandboxError::Helper { detail: "the runtime went down before it".to_owned() })
            }
        }
    }

    /// Kills the command with everything it has started, and waits until that is done: SIGTERM,
    /// [`Spawn::term_grace`], SIGKILL. A command that has ended is left at that.
    ///
    /// # Errors
    /// As [`Child::wait`].
    pub async fn kill(&self) -> Result<Finished, SandboxError> {
        self.stop.cancel();
        self.wait().await
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The command's standard input. Dropped or shut down, the command reads the end of it.
#[derive(Debug)]
pub struct ChildStdin(OwnedWriteHalf);

impl AsyncWrite for ChildStdin {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// The command's standard output. Ends when the command is over with everything it had started.
#[derive(Debug)]
pub struct ChildStdout(OwnedReadHalf);

impl AsyncRead for ChildStdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.0).poll_read(cx, into) {
            // How a socket tells that the command left some of its input unread. What it wrote has
            // been read before this comes.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => {
                Poll::Ready(Ok(()))
            }
            read => read,
        }
    }
}

enum Open {
    Tree(drive::Open),
    Group(group::Open),
}

impl Open {
    async fn start(
        spawn: &Spawn,
        launcher: &Launcher,
        socket: OwnedFd,
    ) -> Result<Self, SandboxError> {
        match launcher {
            Launcher::Helper { program, prefix } => {
                drive::Open::start(spawn, program, prefix, socket).await.map(Self::Tree)
            }
            Launcher::InProcess => group::Open::start(spawn, socket).map(Self::Group),
            // Taken off by whoever starts a child.
            Launcher::Confined { by, .. } => Box::pin(Self::start(spawn, by, socket)).await,
        }
    }

    fn take_stderr(&mut self) -> Option<ChildStderr> {
        match self {
            Self::Tree(open) => open.take_stderr(),
            Self::Group(open) => open.take_stderr(),
        }
    }

    async fn end(self, spawn: &Spawn) -> Result<Finished, SandboxError> {
        match self {
            Self::Tree(open) => open.end(spawn).await,
            Self::Group(open) => open.end(spawn).await,
        }
    }
}

async fn watch_over(
    spawn: &Spawn,
    open: Open,
    pipe: Option<ChildStderr>,
    stderr: &Mutex<Capture>,
) -> Result<Finished, SandboxError> {
    let reading = read_on(pipe, stderr);
    tokio::pin!(reading);
    let finished = {
        let end = open.end(spawn);
        tokio::pin!(end);
        tokio::select! {
            finished = &mut end => {
                let _ = timeout(EOF_BOUND, &mut reading).await;
                finished
            }
            () = &mut reading => end.await,
        }
    }?;
    Ok(Finished { stderr: lock(stderr).clone().finish(), ..finished })
}

async fn read_on(pipe: Option<ChildStderr>, stderr: &Mutex<Capture>) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(n) = pipe.read(&mut chunk).await {
        match chunk.get(..n) {
            Some([]) | None => return,
            Some(bytes) => lock(stderr).push(bytes),
        }
    }
}

fn lock(stderr: &Mutex<Capture>) -> MutexGuard<'_, Capture> {
    stderr.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error once more, for the next who waits: an error of the system can't be copied.
fn again(error: &SandboxError) -> SandboxError {
    let copy = |source: &io::Error| match source.raw_os_error() {
        Some(errno) => io::Error::from_raw_os_error(errno),
        None => io::Error::new(source.kind(), source.to_string()),
    };
    match error {
        SandboxError::Start { program, source } => {
            SandboxError::Start { program: program.clone(), source: copy(source) }
        }
        SandboxError::Watch { program, source } => {
            SandboxError::Watch { program: program.clone(), source: copy(source) }
        }
        SandboxError::Helper { detail } => SandboxError::Helper { detail: detail.clone() },
        SandboxError::Unenforced { enforcement } => {
            SandboxError::Unenforced { enforcement: enforcement.clone() }
        }
        other => SandboxError::Helper { detail: other.to_string() },
    }
}
