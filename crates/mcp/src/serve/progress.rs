//! Where a call has got to.

use tokio::sync::watch;

/// Where a call has got to. Steps that nobody read in time are passed over; the last one never is.
#[derive(Debug, Clone)]
pub struct Progress {
    sender: watch::Sender<String>,
}

impl Progress {
    /// Nothing has been done so far.
    #[must_use]
    pub fn new() -> Self {
        Self { sender: watch::Sender::new(String::new()) }
    }

    /// A step was made.
    pub fn step(&self, message: impl Into<String>) {
        self.sender.send_replace(message.into());
    }

    /// Reads every step from here on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<String> {
        self.sender.subscribe()
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}
