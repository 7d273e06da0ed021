//! One process as the world has it: alive, frozen, cut off, dead.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep_until};

/// A process. What it does goes through here, so that nothing of a dead one reaches the world.
#[derive(Debug)]
pub(crate) struct Life {
    /// Its place among all that ever lived in this world; 0 is the control plane.
    pub(crate) actor: usize,
    /// What it is called.
    pub(crate) name: String,
    /// How far its clock is off, in milliseconds.
    skew_ms: Mutex<i64>,
    state: Mutex<State>,
    died: Notify,
}

#[derive(Debug, Default)]
struct State {
    is_dead: bool,
    frozen_until: Option<Instant>,
    cut_until: Option<Instant>,
    steps: u64,
    dies_at: Option<u64>,
    /// When it was frozen, from and until.
    freezes: Vec<(Instant, Instant)>,
}

impl Life {
    pub(crate) fn new(actor: usize, name: String, skew_ms: i64, dies_at: Option<u64>) -> Self {
        let state = State { dies_at, ..State::default() };
        let (skew_ms, state) = (Mutex::new(skew_ms), Mutex::new(state));
        Self { actor, name, skew_ms, state, died: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far its clock is off now, in milliseconds.
    pub(crate) fn skew_ms(&self) -> i64 {
        *self.skew_ms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its clock jumps.
    pub(crate) fn jump(&self, by_ms: i64) {
        let mut skew_ms = self.skew_ms.lock().unwrap_or_else(PoisonError::into_inner);
        *skew_ms = skew_ms.saturating_add(by_ms);
    }

    /// One more operation or act. True if it is the one that it dies at.
    pub(crate) fn step(&self) -> bool {
        let mut state = self.lock();
        state.steps += 1;
        state.dies_at.is_some_and(|at| state.steps >= at)
    }

    pub(crate) fn die(&self) {
        self.lock().is_dead = true;
        self.died.notify_one();
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.lock().is_dead
    }

    /// It will not die any more.
    pub(crate) fn spare(&self) {
        self.lock().dies_at = None;
    }

    /// Waits until it is dead.
    pub(crate) async fn died(&self) {
        while !self.is_dead() {
            self.died.notified().await;
        }
    }

    pub(crate) fn freeze(&self, for_ms: u64) {
        let now = Instant::now();
        let until = now + Duration::from_millis(for_ms);
        let mut state = self.lock();
        if state.frozen_until.is_none_or(|at| at <= now) {
            state.frozen_until = Some(until);
            state.freezes.push((now, until));
        }
    }

    pub(crate) fn cut_off(&self, for_ms: u64) {
        self.lock().cut_until = Some(Instant::now() + Duration::from_millis(for_ms));
    }

    pub(crate) fn is_cut_off(&self) -> bool {
        self.lock().cut_until.is_some_and(|until| until > Instant::now())
    }

    fn frozen_until(&self) -> Option<Instant> {
        self.lock().frozen_until.filter(|until| *until > Instant::now())
    }

    /// How long it was frozen between two moments.
    pub(crate) fn frozen_between(&self, from: Instant, to: Instant) -> Duration {
        let freezes = self.lock().freezes.clone();
        freezes.iter().map(|(start, end)| end.min(&to).duration_since(*start.max(&from))).sum()
    }

    /// Comes back once it is not frozen; never, once it is dead.
    pub(crate) async fn pass(&self) {
        loop {
            if self.is_dead() {
                std::future::pending::<()>().await;
            }
            match self.frozen_until() {
                Some(until) => sleep_until(until).await,
                None => return,
            }
        }
    }
}

/// A future that stands still while its process is frozen.
pub(crate) struct Freezing<'a, F> {
    life: &'a Life,
    inner: Pin<Box<F>>,
    thaw: Option<Pin<Box<Sleep>>>,
}

impl<'a, F: Future> Freezing<'a, F> {
    pub(crate) fn new(life: &'a Life, inner: F) -> Self {
        Self { life, inner: Box::pin(inner), thaw: None }
    }
}

impl<F: Future> Future for Freezing<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        while let Some(until) = this.life.frozen_until() {
            let mut thaw = Box::pin(sleep_until(until));
            let polled = thaw.as_mut().poll(cx);
            this.thaw = Some(thaw);
            if polled.is_pending() {
                return Poll::Pending;
            }
        }
        this.inner.as_mut().poll(cx)
    }
}
