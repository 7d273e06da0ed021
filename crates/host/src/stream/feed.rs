//! The events of one run for all its readers. Whoever is slow reads the log.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;

use probity_conductor::ConductError;
use probity_core::RunId;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::frame::Frame;
use crate::runs::{Follow, Runs};

/// Bytes that are kept for readers that are near the end; one frame at least.
const WINDOW_BYTES: usize = 1024 * 1024;
/// Events that are told of at once where so many came at once.
const MAX_BURST: usize = 256;

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
    /// Of all of them.
    bytes: usize,
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
    /// Reads what the window has no more, until it has what is next.
    behind: Option<Box<dyn Follow>>,
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
            behind: None,
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
            window: Mutex::new(Window {
                frames: VecDeque::new(),
                bytes: 0,
                base: from,
                is_over: false,
            }),
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
    let mut frames = Vec::new();
    loop {
        let mut next = pin!(follow.next());
        let found = match at_once(next.as_mut()).await {
            Some(found) => found,
            None => {
                // Whoever waits is woken once for what came at once.
                shared.push(std::mem::take(&mut frames), false);
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    found = next => found,
                }
            }
        };
        let frame = match found {
            Ok(Some(entry)) => Some(Arc::new(Frame::new(&run, &entry))),
            Ok(None) | Err(_) => None,
        };
        let is_over = frame.as_ref().is_none_or(|frame| frame.is_terminal);
        frames.extend(frame);
        if is_over || frames.len() >= MAX_BURST {
            shared.push(std::mem::take(&mut frames), is_over);
        }
        if is_over || stop.is_cancelled() {
            return;
        }
    }
}

/// What a future comes to without waiting.
async fn at_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

impl Shared {
    fn push(&self, frames: Vec<Arc<Frame>>, is_over: bool) {
        if frames.is_empty() && !is_over {
            return;
        }
        let mut window = self.window();
        for frame in frames {
            if window.frames.is_empty() {
                window.base = frame.sequence;
            }
            window.bytes += frame.sse.len();
            window.frames.push_back(frame);
        }
        while window.bytes > WINDOW_BYTES && window.frames.len() > 1 {
            let oldest = window.frames.pop_front();
            window.bytes -= oldest.map_or(0, |frame| frame.sse.len());
            window.base += 1;
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
            // Seen before the look, so that what comes between them wakes.
            self.changed.mark_unchanged();
            match self.place() {
                Place::Here(frame) => {
                    self.behind = None;
                    return Ok(Some(self.told(frame)));
                }
                Place::Nowhere => return Ok(None),
                Place::Log => {
                    let frame = self.read_on().await?;
                    return Ok(frame.map(|frame| self.told(frame)));
                }
                Place::Later => {
                    self.behind = None;
                    if self.changed.changed().await.is_err() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The next event, if it is at hand.
    pub(crate) fn at_hand(&mut self) -> Option<Arc<Frame>> {
        match self.place() {
            Place::Here(frame) => Some(self.told(frame)),
            Place::Log | Place::Later | Place::Nowhere => None,
        }
    }

    /// The next event, out of the log, which is read once however long this reader stays behind.
    async fn read_on(&mut self) -> Result<Option<Arc<Frame>>, ConductError> {
        let mut behind = match self.behind.take() {
            Some(behind) => behind,
            None => match self.runs.follow(&self.run, self.at).await? {
                Some(behind) => behind,
                None => return Ok(None),
            },
        };
        let entry = behind.next().await?;
        self.behind = Some(behind);
        Ok(entry.map(|entry| Arc::new(Frame::new(&self.run, &entry))))
    }

    fn told(&mut self, frame: Arc<Frame>) -> Arc<Frame> {
        self.at = frame.sequence.saturating_add(1);
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
