//! The list of runs, newest first.

use probity_core::RunId;
use probity_store::limits::MAX_PAGE_RUNS;
use probity_store::{Cursor, RunSummary};
use serde_json::json;
use tokio::time::Instant;

use crate::link::Failure;
use crate::space::{Part, Space};
use crate::stored::{self, Stored};
use crate::{NatsStore, bounded, schema};

/// Leader requests of one page that are on their way at a time.
const AT_ONCE: usize = 32;

impl NatsStore {
    pub(crate) async fn list_runs(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, Failure> {
        let limit = limit.min(MAX_PAGE_RUNS);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let shared = &self.shared;
        let end = shared.link.end();
        let stream = shared.space.stream(Part::Runs);
        let Some(info) = schema::info(&shared.link, &stream, end).await? else {
            return Err(Failure::Unreadable(format!("stream {stream} is gone")));
        };
        let first = info.state.first_seq.max(1);
        let mut last = info.state.last_seq.min(after.map_or(u64::MAX, |it| it.0.saturating_sub(1)));
        let mut page = Vec::new();
        // A run that was announced and never began takes no place on the page.
        while page.len() < limit && last >= first {
            let want = (limit - page.len()) as u64;
            let from = first.max((last + 1).saturating_sub(want));
            let mut runs = self.created(from, last, end).await?;
            runs.reverse();
            page.extend(self.summaries(runs, end).await?);
            last = from - 1;
        }
        Ok(page)
    }

    /// The creations with these numbers, in order.
    async fn created(&self, from: u64, last: u64, end: Instant) -> Result<Vec<Stored>, Failure> {
        let shared = &self.shared;
        let stream = shared.space.stream(Part::Runs);
        let count = last - from + 1;
        let request = json!({
            "seq": from,
            "next_by_subj": shared.space.subjects(Part::Runs),
            "batch": count,
        });
        let patience = end.min(Instant::now() + std::time::Duration::from_secs(2));
        let found = stored::direct(&shared.link, &stream, &request, patience).await;
        let found: Vec<Stored> = found.unwrap_or_default();
        if found.len() as u64 == count && found.last().is_some_and(|it| it.seq == last) {
            return Ok(found);
        }
        // That replica is behind.
        let get = |seq: u64| {
            let (store, stream) = (self.clone(), stream.clone());
            async move {
                let subject = store.shared.space.subjects(Part::Runs);
                stored::next(&store.shared.link, &stream, &subject, seq, end).await
            }
        };
        let found = bounded::all(from..=last, AT_ONCE, get).await?;
        let mut found: Vec<Stored> =
            found.into_iter().flatten().filter(|it| it.seq <= last).collect();
        found.dedup_by_key(|it| it.seq);
        Ok(found)
    }

    async fn summaries(&self, runs: Vec<Stored>, end: Instant) -> Result<Vec<RunSummary>, Failure> {
        let named = runs.into_iter().filter_map(|message| {
            let run: RunId = Space::run_of(&message.subject)?;
            Some((run, message.at_ms, message.seq))
        });
        let look = |(run, created_at_ms, seq): (RunId, u64, u64)| {
            let store = self.clone();
            async move {
                let state = store.tail(&run, end).await?.state();
                let cursor = Cursor(seq);
                Ok(state.map(|state| RunSummary { run, state, created_at_ms, cursor }))
            }
        };
        let named: Vec<(RunId, u64, u64)> = named.collect();
        let found: Vec<Option<RunSummary>> = bounded::all(named, AT_ONCE, look).await?;
        Ok(found.into_iter().flatten().collect())
    }
}
