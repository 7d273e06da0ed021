//! The events of one run for all its readers. Whoever is slow reads the log.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use probity_conductor::ConductError;
use probity_core::RunId;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::frame::Frame;
use crate::runs::{Follow, Runs};

/// Frames that are kept for readers that are near the end.
const WINDOW: usize = 512;
/// Events that are read from the log at a time.
const PAGE: usize = 128;

/// The feeds that somebody reads.
#[derive(Default)]
pub(crate) struct Feeds(Mutex<HashMap<RunId, Weak<Feed>>>);

/// The events of a run as they come, as long as somebody reads.
pub(crate) struct Feed {
    shared: Arc<Shared>,
    /// Ends the task that reads the run.
    _stop: DropGuard,
}

struct Shared {
    window: Mutex<Window>,
    changed: watch::Sender<()>,
}

struct Window {
    frames: VecDeque<Arc<Frame>>,
    /// The sequence of the first one of them, or of the one that is to come.
    base: u64,
    /// Whether nothing more will come.
    is_over: bool,
}

/// Somebody who reads a run.
pub(crate) struct Reader {
    feed: Arc<Feed>,
    runs: Arc<dyn Runs>,
    run: RunId,
    at: u64,
    changed: watch::Receiver<()>,
    /// Read from the log, not told yet.
    ahead: VecDeque<Arc<Frame>>,
}

impl Feeds {
    /// Reads a run from a place on; `None` if there is no such run.
    pub(crate) async fn read(
        &self,
        runs: &Arc<dyn Runs>,
        run: &RunId,
        from: u64,
    ) -> Result<Option<Reader>, ConductError> {
        let feed = match self.living(run) {
            Some(feed) => feed,
            None => match runs.follow(run, from).await? {
                Some(follow) => self.added(run, from, follow),
                None => return Ok(None),
            },
        };
        let changed = feed.shared.changed.subscribe();
        Ok(Some(Reader {
            feed,
            runs: Arc::clone(runs),
            run: run.clone(),
            at: from,
            changed,
            ahead: VecDeque::new(),
        }))
    }

    fn living(&self, run: &RunId) -> Option<Arc<Feed>> {
        self.map().get(run).and_then(Weak::upgrade)
    }

    /// The feed of that run: this one, or that of who came first.
    fn added(&self, run: &RunId, from: u64, follow: Box<dyn Follow>) -> Arc<Feed> {
        let mut map = self.map();
        if let Some(feed) = map.get(run).and_then(Weak::upgrade) {
            return feed;
        }
        map.retain(|_, feed| feed.strong_count() > 0);
        let shared = Arc::new(Shared {
            window: Mutex::new(Window { frames: VecDeque::new(), base: from, is_over: false }),
            changed: watch::Sender::new(()),
        });
        let stop = CancellationToken::new();
        tokio::spawn(fill(Arc::clone(&shared), run.clone(), follow, stop.clone()));
        let feed = Arc::new(Feed { shared, _stop: stop.drop_guard() });
        map.insert(run.clone(), Arc::downgrade(&feed));
        feed
    }

    fn map(&self) -> MutexGuard<'_, HashMap<RunId, Weak<Feed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts a run's events into words, until its end or until nobody reads. Where the log cannot be read the
/// readers are let go: they come again and name their place.
async fn fill(
    shared: Arc<Shared>,
    run: RunId,
    mut follow: Box<dyn Follow>,
    stop: CancellationToken,
) {
    loop {
        let next = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            next = follow.next() => next,
        };
        let frame = match next {
            Ok(Some(entry)) => Some(Arc::new(Frame::new(&run, &entry))),
            Ok(None) | Err(_) => None,
        };
        let is_over = frame.as_ref().is_none_or(|frame| frame.is_terminal);
        shared.push(frame, is_over);
        if is_over {
            return;
        }
    }
}

impl Shared {
    fn push(&self, frame: Option<Arc<Frame>>, is_over: bool) {
        let mut window = self.window();
        if let Some(frame) = frame {
            if window.frames.is_empty() {
                window.base = frame.sequence;
            }
            window.frames.push_back(frame);
            if window.frames.len() > WINDOW {
                window.frames.pop_front();
                window.base += 1;
            }
        }
        window.is_over |= is_over;
        drop(window);
        self.changed.send_replace(());
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the next frame of a reader is.
enum Place {
    Here(Arc<Frame>),
    Log,
    Later,
    Nowhere,
}

impl Reader {
    /// The next event; `None` behind the last one. Dropping the call loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Arc<Frame>>, ConductError> {
        loop {
            if let Some(frame) = self.ahead.pop_front() {
                return Ok(Some(self.told(frame)));
            }
            // Seen before the look, so that what comes between them wakes.
            self.changed.mark_unchanged();
            match self.place() {
                Place::Here(frame) => return Ok(Some(self.told(frame))),
                Place::Nowhere => return Ok(None),
                Place::Log => {
                    let page = self.runs.entries(&self.run, self.at, PAGE).await?;
                    let entries = page.map(|page| page.entries).unwrap_or_default();
                    if entries.is_empty() {
                        return Ok(None);
                    }
                    let frames = entries.iter().map(|entry| Frame::new(&self.run, entry));
                    self.ahead.extend(frames.map(Arc::new));
                }
                Place::Later => {
                    if self.changed.changed().await.is_err() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn told(&mut self, frame: Arc<Frame>) -> Arc<Frame> {
        self.at = frame.sequence + 1;
        frame
    }

    fn place(&self) -> Place {
        let window = self.feed.shared.window();
        let Some(offset) = self.at.checked_sub(window.base) else { return Place::Log };
        let frame = usize::try_from(offset).ok().and_then(|offset| window.frames.get(offset));
        match frame {
            Some(frame) => Place::Here(Arc::clone(frame)),
            None if window.is_over => Place::Nowhere,
            None => Place::Later,
        }
    }
}
