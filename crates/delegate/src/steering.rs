//! What people say to a delegate while it works.

use std::sync::Arc;

use probity_core::Turn;
use tokio::sync::watch;

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The round at work when it was said, or the last one before.
    pub turn: Turn,
    /// Who said it.
    pub by: Arc<str>,
    /// What.
    pub text: Arc<str>,
}

/// Everything that was said in a run so far, oldest first. It only grows.
#[derive(Debug, Clone)]
pub struct Steering {
    said: watch::Receiver<Vec<Said>>,
}

impl Steering {
    /// Over a channel that the driver fills.
    #[must_use]
    pub const fn new(said: watch::Receiver<Vec<Said>>) -> Self {
        Self { said }
    }

    /// Nothing, ever.
    #[must_use]
    pub fn none() -> Self {
        Self { said: watch::channel(Vec::new()).1 }
    }

    /// How much was said so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.said.borrow().len()
    }

    /// Whether nothing was said so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was said behind the first so many.
    #[must_use]
    pub fn behind(&self, count: usize) -> Vec<Said> {
        self.said.borrow().iter().skip(count).cloned().collect()
    }
}
