//! The protocol over a pair of streams: one client, from its first message to the end of what it says.

use std::io;

use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::desk::Desk;
use super::face::Face;
use super::intake::Intake;

impl Desk {
    /// Serves the one client at the other end of standard input and output, until either ends. Nothing
    /// else may write to standard output meanwhile.
    ///
    /// # Errors
    /// As [`Desk::serve_streams`].
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.serve_streams(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves one client until it says no more, or the desk is stopped. Calls under way are cancelled
    /// then, and waited for.
    ///
    /// # Errors
    /// The client's first message is not of the protocol, a message is too long, or calls do not end.
    pub async fn serve_streams<R, W>(&self, read: R, write: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let intake = Intake::new(read, self.stop.clone());
        let overrun = intake.overrun();
        let transport =
            AsyncRwTransport::new_server(intake, write).with_max_line_length(usize::MAX);
        let served = self.converse(transport).await;
        let is_over = self.end().await;
        if overrun.is_cancelled() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
        }
        served?;
        match is_over {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::TimedOut, "a call did not end in time")),
        }
    }

    async fn converse<R, W>(
        &self,
        transport: AsyncRwTransport<rmcp::service::RoleServer, R, W>,
    ) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let face = Face { desk: self.clone() };
        let started = tokio::select! {
            biased;
            started = Box::pin(serve_server(face, transport)) => started,
            // Also where the stream has ended, which the kit is told at the same time.
            () = self.stop.cancelled() => return Ok(()),
        };
        let running = match started {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error.to_string())),
        };
        let told = running.cancellation_token();
        let mut waiting = Box::pin(running.waiting());
        tokio::select! {
            biased;
            ended = &mut waiting => return ended.map(drop).map_err(io::Error::other),
            () = self.stop.cancelled() => {}
        }
        // Answers of what is under way still go out; then the conversation is over.
        self.end().await;
        told.cancel();
        waiting.await.map(drop).map_err(io::Error::other)
    }
}
