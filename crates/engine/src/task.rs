//! How work is polled: in a task of its own, or in place by the driver.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use tokio::task::JoinHandle;

use crate::work::Done;

/// Work on its way.
pub(crate) type Running = Pin<Box<dyn Future<Output = Done> + Send>>;

/// Work in flight.
pub(crate) enum Task {
    /// In a task of its own: it may block its thread or panic and takes nothing else along.
    Spawned(JoinHandle<Done>),
    /// Polled by the driver: what yields need not change the thread. Behind a lock that nobody takes,
    /// because the future of a run is shared between threads.
    InPlace(Mutex<Running>),
}

impl Task {
    /// In a task of its own.
    pub(crate) fn spawned(work: Running) -> Self {
        Self::Spawned(tokio::spawn(work))
    }

    /// In place.
    pub(crate) fn in_place(work: Running) -> Self {
        Self::InPlace(Mutex::new(work))
    }

    /// Waits for the end; `None` if it panicked. Dropping the future leaves the work in flight; it is
    /// not to be asked again behind its end.
    pub(crate) async fn done(&mut self) -> Option<Done> {
        match self {
            Self::Spawned(task) => task.await.ok(),
            Self::InPlace(work) => {
                let work = work.get_mut().unwrap_or_else(PoisonError::into_inner);
                std::future::poll_fn(|cx| {
                    let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
                    match polled {
                        Ok(Poll::Pending) => Poll::Pending,
                        Ok(Poll::Ready(done)) => Poll::Ready(Some(done)),
                        Err(_) => Poll::Ready(None),
                    }
                })
                .await
            }
        }
    }

    /// Gives it up.
    pub(crate) fn abort(self) {
        match self {
            Self::Spawned(task) => task.abort(),
            Self::InPlace(work) => drop(work),
        }
    }
}
