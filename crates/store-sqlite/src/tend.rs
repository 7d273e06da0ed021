//! What the writer does between requests: it hears of other processes' commits, lets times run out,
//! and serves and ends the calls that wait.

use std::time::{Duration, Instant};

use crate::clock::Moment;
use crate::fault::fault;
use crate::jobs::{Glance, glance};
use crate::writer::Writer;

/// Transactions in a row before requests are looked at again.
const MAX_ROUNDS: usize = 4;

impl Writer {
    /// When to wake if nobody calls, at the latest then.
    pub(super) fn wake_at(&self, latest: Instant) -> Instant {
        if self.asks.is_empty() {
            return latest;
        }
        let deadlines = self.asks.iter().map(|asked| asked.deadline);
        deadlines.chain(self.look_at).fold(latest, Instant::min)
    }

    pub(super) fn tend(&mut self) {
        if self.listener.is_some() && self.has_other_commits() {
            self.committed.send_modify(|count| *count = count.wrapping_add(1));
            self.look_at = Some(Instant::now());
        }
        self.asks.retain(|asked| !asked.reply.is_closed());
        let now = Moment::now();
        let is_time = self.look_at.is_some_and(|at| at <= now.instant);
        if !self.unclaimed.is_empty() || (is_time && !self.asks.is_empty()) {
            self.look_at_queue();
        }
        self.end_waits();
    }

    fn look_at_queue(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let now = Moment::now();
            let pools = self.asks.iter().flat_map(|asked| &asked.ask.pools);
            match glance(&self.connection, pools, now.wall_ms) {
                Ok(Glance { is_due, next_ms }) => {
                    // Times in the file mean nothing until they are set right.
                    let is_set_back = now.wall_ms < self.latest_ms && next_ms.is_some();
                    if !is_due && !is_set_back && self.unclaimed.is_empty() {
                        self.look_at = next_ms.map(|next_ms| instant_of(next_ms, now));
                        return;
                    }
                }
                Err(error) => return self.fail_asks(&fault(&error)),
            }
            if !self.serve_asks() {
                return;
            }
        }
    }

    /// Whether another connection committed since the last time.
    fn has_other_commits(&mut self) -> bool {
        let version = self.connection.prepare_cached("PRAGMA data_version");
        let version = version.and_then(|mut query| query.query_row([], |row| row.get::<_, i64>(0)));
        // Who cannot tell looks.
        let Ok(version) = version else { return true };
        let before = std::mem::replace(&mut self.version, version);
        before != version
    }

    /// Answers the calls whose time is over.
    fn end_waits(&mut self) {
        let now = Instant::now();
        for asked in self.asks.extract_if(.., |asked| asked.deadline <= now) {
            drop(asked.reply.send(Ok(Vec::new())));
        }
    }
}

/// When the wall clock will show that, if nobody sets it.
fn instant_of(wall_ms: i64, now: Moment) -> Instant {
    let in_ms = u64::try_from(wall_ms.saturating_sub(now.wall_ms)).unwrap_or(0);
    now.instant + Duration::from_millis(in_ms.min(3_600_000))
}
