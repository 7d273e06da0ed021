//! A board on an index of the store, which is brought up to it as it is asked.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Held, PoisonError};

use async_trait::async_trait;
use probity_core::{Digest, RunId};
use probity_engine::Clock;
use probity_projection::{
    Checks, Claims, Counts, Drifts, Index, IndexError, Page, Place, Wanted, Words,
};
use probity_store::{Store, WorkStore};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::content::Content;
use super::step::{Step, Text};
use super::{Board, Story, story};
use crate::error::{Failure, Reason};

/// How long the words that runs can be picked by are told as they were, in milliseconds; and of how many.
const WORDS_MS: u64 = 10_000;
const MAX_WORDS_KEPT: usize = 256;
/// Logs that are read for one request, and at a time where nobody waits.
const RUNS_PER_REFRESH: usize = 64;
/// How long what was looked at is new, in milliseconds.
const FRESH_MS: u64 = 250;
/// Pieces that filling takes at most before somebody has to ask again.
const MAX_PIECES: usize = 1_000_000;
/// First words of tasks that are kept, so that lists need not read them again.
const MAX_TITLES: usize = 20_000;
/// How long these are, in characters.
const MAX_TITLE_CHARS: usize = 160;
/// Requests that one search reads.
const MAX_READ: usize = 1_000;
/// Tasks that one search can mean.
const MAX_MEANT: usize = 500;

/// A board on an index. What it knows of tasks is kept in memory alone.
pub struct IndexedBoard {
    shared: Arc<Shared>,
}

struct Shared {
    index: Arc<Mutex<Index>>,
    store: Arc<dyn WorkStore>,
    clock: Arc<dyn Clock>,
    /// Somebody fills the index already.
    is_filling: AtomicBool,
    looked: Held<Looked>,
    titles: Held<HashMap<String, String>>,
    /// Words by the marks of those runs, with when they were asked for.
    words: Held<HashMap<Vec<String>, (u64, Words)>>,
}

/// When the store was looked at last.
#[derive(Clone, Copy, Default)]
struct Looked {
    at_ms: Option<u64>,
    is_complete: bool,
}

/// The part of a request that is told.
#[derive(Default, Deserialize)]
struct Request {
    task: Option<String>,
}

impl IndexedBoard {
    /// A board on an index of that store.
    #[must_use]
    pub fn new(index: Index, store: Arc<dyn WorkStore>, clock: Arc<dyn Clock>) -> Self {
        let shared = Shared {
            index: Arc::new(Mutex::new(index)),
            store,
            clock,
            is_filling: AtomicBool::new(false),
            looked: Held::default(),
            titles: Held::default(),
            words: Held::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Asks the index where that keeps nobody else waiting.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Index) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Failure> {
        let index = Arc::clone(&self.shared.index).lock_owned().await;
        let asked = tokio::task::spawn_blocking(move || question(&index)).await;
        let broke = |_| Failure::new(Reason::Internal, "the host made a mistake");
        asked.map_err(broke)?.map_err(Failure::from)
    }
}

impl Shared {
    fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Looks at the store once more.
    async fn look(&self) -> Result<bool, Failure> {
        let mut index = self.index.lock().await;
        let looked = *self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ms = self.clock.now_ms();
        if looked.at_ms.is_some_and(|at_ms| now_ms.abs_diff(at_ms) < FRESH_MS) {
            return Ok(looked.is_complete);
        }
        self.read(&mut index).await
    }

    async fn read(&self, index: &mut Index) -> Result<bool, Failure> {
        let refreshed = index.refresh(self.store(), RUNS_PER_REFRESH).await?;
        let (at_ms, is_complete) = (Some(self.clock.now_ms()), refreshed.is_complete);
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Looked { at_ms, is_complete };
        Ok(is_complete)
    }

    /// Reads on until everything is known. Whoever asks meanwhile has its turn between two pieces.
    async fn fill(&self) {
        for _ in 0..MAX_PIECES {
            let mut index = self.index.lock().await;
            if !matches!(self.read(&mut index).await, Ok(false)) {
                break;
            }
            drop(index);
            tokio::task::yield_now().await;
        }
        self.is_filling.store(false, Ordering::Release);
    }

    /// The first words of a task, from a request that holds it.
    async fn title(&self, task: &str, request: &str) -> Result<Option<String>, Failure> {
        if let Some(title) = self.known(task) {
            return Ok(Some(title));
        }
        let Ok(digest) = request.parse::<Digest>() else { return Ok(None) };
        let content = Content { store: self.store(), is_wanted: true, told: 0 };
        let Some(bytes) = content.bytes(&digest).await? else { return Ok(None) };
        let request: Request = serde_json::from_slice(&bytes).unwrap_or_default();
        let Some(text) = request.task else { return Ok(None) };
        let title: String = text.trim_start().chars().take(MAX_TITLE_CHARS).collect();
        let mut titles = self.titles.lock().unwrap_or_else(PoisonError::into_inner);
        if titles.len() >= MAX_TITLES {
            titles.clear();
        }
        titles.insert(task.to_owned(), title.clone());
        Ok(Some(title))
    }

    fn known_words(&self, marks: &[String], now_ms: u64) -> Option<Words> {
        let kept = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let (at_ms, words) = kept.get(marks)?;
        (now_ms.abs_diff(*at_ms) < WORDS_MS).then(|| words.clone())
    }

    fn known(&self, task: &str) -> Option<String> {
        self.titles.lock().unwrap_or_else(PoisonError::into_inner).get(task).cloned()
    }
}

#[async_trait]
impl Board for IndexedBoard {
    async fn freshen(&self) -> Result<bool, Failure> {
        let is_complete = self.shared.look().await?;
        if !is_complete && !self.shared.is_filling.swap(true, Ordering::AcqRel) {
            let shared = Arc::clone(&self.shared);
            tokio::spawn(async move { shared.fill().await });
        }
        Ok(is_complete)
    }

    async fn page(
        &self,
        wanted: Wanted,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Page, Failure> {
        self.ask(move |index| index.page(&wanted, after.as_ref(), limit)).await
    }

    async fn counts(&self, wanted: Wanted, all: Wanted) -> Result<(Counts, Words), Failure> {
        let (now_ms, marks) = (self.shared.clock.now_ms(), all.marks.clone());
        if let Some(words) = self.shared.known_words(&marks, now_ms) {
            return Ok((self.ask(move |index| index.counts(&wanted)).await?, words));
        }
        let both = move |index: &Index| Ok((index.counts(&wanted)?, index.words(&all)?));
        let (counts, words) = self.ask(both).await?;
        let mut kept = self.shared.words.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_WORDS_KEPT {
            kept.clear();
        }
        kept.insert(marks, (now_ms, words.clone()));
        Ok((counts, words))
    }

    async fn claims(&self, wanted: Wanted, bucket_ms: u64) -> Result<Claims, Failure> {
        self.ask(move |index| index.claims(&wanted, bucket_ms)).await
    }

    async fn drifts(&self, wanted: Wanted) -> Result<Drifts, Failure> {
        self.ask(move |index| index.drifts(&wanted)).await
    }

    async fn checks(&self, wanted: Wanted) -> Result<Checks, Failure> {
        self.ask(move |index| index.checks(&wanted)).await
    }

    async fn story(&self, run: &RunId, has_content: bool) -> Result<Option<Story>, Failure> {
        story::story(self.shared.store(), run, has_content).await
    }

    async fn titles(
        &self,
        tasks: &[(String, String)],
    ) -> Result<BTreeMap<String, String>, Failure> {
        let mut titles = BTreeMap::new();
        for (task, request) in tasks {
            if titles.contains_key(task) {
                continue;
            }
            if let Some(title) = self.shared.title(task, request).await? {
                titles.insert(task.clone(), title);
            }
        }
        Ok(titles)
    }

    async fn tasks_with(&self, wanted: Wanted, text: &str) -> Result<(Vec<String>, bool), Failure> {
        let tasks = self.ask(move |index| index.tasks(&wanted, MAX_TITLES)).await?;
        let text = text.to_lowercase();
        let mut is_all = tasks.len() < MAX_TITLES;
        let (mut meant, mut read) = (Vec::new(), 0);
        for (task, request) in tasks {
            let is_known = self.shared.known(&task).is_some();
            if (!is_known && read == MAX_READ) || meant.len() == MAX_MEANT {
                is_all = false;
                break;
            }
            read += usize::from(!is_known);
            let title = self.shared.title(&task, &request).await?;
            if title.is_some_and(|title| title.to_lowercase().contains(&text)) {
                meant.push(task);
            }
        }
        Ok((meant, is_all))
    }

    async fn words(&self, digest: &str) -> Result<Option<Text>, Failure> {
        let mut content = Content { store: self.shared.store(), is_wanted: true, told: 0 };
        let mut step = Step::new(0, 0, "");
        // A fault's words stand in a member, those of a verdict alone.
        let digest = digest.parse::<Digest>().ok();
        content.add(&mut step, "reason", digest, &["message"]).await?;
        if step.texts.is_empty() {
            content.add(&mut step, "reason", digest, &[]).await?;
        }
        Ok(step.texts.pop())
    }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        let word = error.code();
        let message = "the index of runs cannot be used now: come again later";
        Self::new(Reason::Unavailable, message).detail("code", word)
    }
}
