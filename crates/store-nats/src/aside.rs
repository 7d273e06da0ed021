//! Jobs that are set aside: parked, or dead.

use async_nats::HeaderMap;
use bytes::Bytes;
use probity_core::{Code, RunId};
use probity_store::limits::MAX_PAGE_RUNS;
use probity_store::{Cause, DeadJob, Lease, LeaseError, ParkedJob, Pool, QueueError};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

use crate::link::{Failure, Pauses};
use crate::queue::header;
use crate::schema::StreamInfo;
use crate::space::{Mark, Part, Space};
use crate::stored::{self, Stored};
use crate::{NatsStore, bounded};

/// Requests of one page that are on their way at a time.
const AT_ONCE: usize = 32;
/// Answers about subjects that one list takes at most, of 100 000 subjects each.
const MAX_ANSWERS: u64 = 100;

impl NatsStore {
    /// Ends a lease with a mark: parked without a cause, dead with one.
    pub(crate) async fn set_aside(
        &self,
        lease: &Lease,
        cause: Option<Cause>,
    ) -> Result<(), LeaseError> {
        let until = self.held(lease)?;
        let mut headers = HeaderMap::new();
        headers.insert(header::POOL, lease.pool.as_str());
        headers.insert(header::FLOOR, lease.epoch.to_string());
        let (kind, other) = match cause {
            None => (Mark::Parked, Mark::Dead),
            Some(_) => (Mark::Dead, Mark::Parked),
        };
        let mut words = Bytes::new();
        if let Some(Cause { code, message }) = cause {
            headers.insert(header::CODE, code.as_str());
            // Cut to its bound.
            words = Cause::new(code, message).message.into();
        }
        let marked = async {
            self.publish_mark(kind, &lease.run, headers, words, until).await?;
            let stale = self.mark(other, &lease.run, until).await?;
            self.unmark(stale, until).await
        };
        marked.await.map_err(|failure| self.unless_lost(lease, &failure))?;
        // Until the token is gone, the job is queued and the mark does not count.
        self.remove_token(lease, until).await
    }

    pub(crate) async fn list_parked(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<ParkedJob>, QueueError> {
        let marks = self.list_marks(Mark::Parked, after, limit).await;
        let marks = marks.map_err(|failure| failure.fault())?;
        let job = |(run, mark): (RunId, Stored)| {
            let pool = pool_of(&mark);
            ParkedJob { run, pool, since_ms: mark.at_ms }
        };
        Ok(marks.into_iter().map(job).collect())
    }

    pub(crate) async fn list_dead(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<DeadJob>, QueueError> {
        let marks = self.list_marks(Mark::Dead, after, limit).await;
        let marks = marks.map_err(|failure| failure.fault())?;
        let job = |(run, mark): (RunId, Stored)| {
            let (pool, cause) = (pool_of(&mark), cause(&mark));
            DeadJob { run, pool, cause, since_ms: mark.at_ms }
        };
        Ok(marks.into_iter().map(job).collect())
    }

    pub(crate) async fn revive_job(&self, run: &RunId) -> Result<bool, QueueError> {
        let end = self.shared.link.end();
        let revived = async {
            let Some(mark) = self.mark(Mark::Dead, run, end).await? else { return Ok(false) };
            let floor = mark.headers.number(header::FLOOR).unwrap_or_default();
            let pool = pool_of(&mark);
            if !self.publish_token(run, &pool, floor, Duration::ZERO, end).await? {
                return Ok(false);
            }
            self.unmark(Some(mark), end).await?;
            Ok::<bool, Failure>(true)
        };
        Ok(revived.await.map_err(|failure| failure.fault())?)
    }

    pub(crate) async fn discard_job(&self, run: &RunId) -> Result<bool, QueueError> {
        let end = self.shared.link.end();
        let discarded = async {
            let Some(mark) = self.mark(Mark::Dead, run, end).await? else { return Ok(false) };
            if self.token(run, end).await?.is_some() {
                return Ok(false);
            }
            self.unmark(Some(mark), end).await?;
            Ok::<bool, Failure>(true)
        };
        Ok(discarded.await.map_err(|failure| failure.fault())?)
    }

    /// The mark of a run, as the leader knows it.
    pub(crate) async fn mark(
        &self,
        mark: Mark,
        run: &RunId,
        end: Instant,
    ) -> Result<Option<Stored>, Failure> {
        let shared = &self.shared;
        let (stream, subject) = (shared.space.stream(Part::Aside), shared.space.mark(mark, run));
        stored::last(&shared.link, &stream, &subject, end).await
    }

    /// The newest mark of a run, of whatever kind.
    pub(crate) async fn any_mark(
        &self,
        run: &RunId,
        end: Instant,
    ) -> Result<Option<Stored>, Failure> {
        let shared = &self.shared;
        let (stream, subject) = (shared.space.stream(Part::Aside), shared.space.any_mark(run));
        stored::last(&shared.link, &stream, &subject, end).await
    }

    /// Removes that mark, if it is still the one.
    pub(crate) async fn unmark(&self, mark: Option<Stored>, end: Instant) -> Result<(), Failure> {
        let Some(mark) = mark else { return Ok(()) };
        let stream = self.shared.space.stream(Part::Aside);
        stored::delete(&self.shared.link, &stream, mark.seq, end).await.map(drop)
    }

    /// Removes every mark of a run.
    pub(crate) async fn unmark_all(&self, run: &RunId, end: Instant) -> Result<(), Failure> {
        for _ in 0..2 {
            let mark = self.any_mark(run, end).await?;
            if mark.is_none() {
                break;
            }
            self.unmark(mark, end).await?;
        }
        Ok(())
    }

    /// Writes a mark in the place of an older one of its kind.
    async fn publish_mark(
        &self,
        mark: Mark,
        run: &RunId,
        headers: HeaderMap,
        body: Bytes,
        end: Instant,
    ) -> Result<(), Failure> {
        let subject = self.shared.space.mark(mark, run);
        let mut pauses = Pauses::until(end);
        loop {
            let link = &self.shared.link;
            match stored::publish(link, &subject, headers.clone(), body.clone(), end).await {
                Ok(_) => return Ok(()),
                Err(failure) if failure.may_pass() && pauses.pause().await => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Marks of one kind by run, without those that have a token beside them.
    async fn list_marks(
        &self,
        kind: Mark,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<(RunId, Stored)>, Failure> {
        let limit = limit.min(MAX_PAGE_RUNS);
        let end = self.shared.link.end();
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut runs = self.marked(kind, end).await?.into_iter();
        let mut rest: Vec<RunId> = match after {
            Some(after) => runs.by_ref().filter(|run| run > after).collect(),
            None => runs.collect(),
        };
        let mut page = Vec::new();
        while page.len() < limit && !rest.is_empty() {
            let part: Vec<RunId> = rest.drain(..rest.len().min(limit - page.len())).collect();
            let look = |run: RunId| {
                let store = self.clone();
                async move {
                    let mark = store.mark(kind, &run, end).await?;
                    let is_queued = store.token(&run, end).await?.is_some();
                    Ok::<_, Failure>(mark.filter(|_| !is_queued).map(|mark| (run, mark)))
                }
            };
            let found: Vec<Option<(RunId, Stored)>> = bounded::all(part, AT_ONCE, look).await?;
            page.extend(found.into_iter().flatten());
        }
        Ok(page)
    }

    /// Every run with a mark of that kind.
    async fn marked(&self, kind: Mark, end: Instant) -> Result<BTreeSet<RunId>, Failure> {
        let shared = &self.shared;
        let name = format!("STREAM.INFO.{}", shared.space.stream(Part::Aside));
        let mut runs = BTreeSet::new();
        for _ in 0..MAX_ANSWERS {
            let filter = shared.space.marks(kind);
            let request = json!({ "subjects_filter": filter, "offset": runs.len() });
            let info: StreamInfo = shared.link.api(&name, &request, end).await?;
            let subjects = info.state.subjects.unwrap_or_default();
            let before = runs.len();
            runs.extend(subjects.keys().filter_map(|subject| Space::run_of(subject)));
            if runs.len() == before || subjects.len() < 100_000 {
                break;
            }
        }
        Ok(runs)
    }
}

/// Why the job of that mark is dead.
pub(crate) fn cause(mark: &Stored) -> Cause {
    let code = Code::slug(mark.headers.get(header::CODE).unwrap_or_default());
    Cause::new(code, String::from_utf8_lossy(&mark.body))
}

/// The pool that the job of that mark was in.
pub(crate) fn pool_of(mark: &Stored) -> Pool {
    mark.headers.get(header::POOL).and_then(|pool| pool.parse().ok()).unwrap_or_default()
}
