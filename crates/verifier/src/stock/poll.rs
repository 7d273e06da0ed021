//! Reading a source again and again, until it is as it should be or time is up.

use std::time::{Duration, Instant};

use probity_core::{Code, Digest, Evidence, Fault, Phase, Verdict};

use super::source::{Look, Reader, Reading};
use super::{cancelled, first_words, late};
use crate::CheckContext;

/// The pause after the first read; each next one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_millis(500);
/// The least time in which another read is begun.
const MIN_READ: Duration = Duration::from_millis(10);
/// Distinct observations that are kept: the first ones and the last.
const MAX_OBSERVATIONS: usize = 8;
/// Characters of an error, in an observation.
const MAX_WORDS: usize = 60;

/// The codes of a check that polls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    /// It is as it should be.
    pub(super) right: &'static str,
    /// The last read that was completed says that it is not.
    pub(super) wrong: &'static str,
}

/// Reads until `judge` is content; its error is why it is not. Before the delegate there is one read
/// only: nothing is to be waited for then.
///
/// # Errors
/// A fault when the source cannot be read as it is written down.
pub(super) async fn poll(
    reader: &Reader,
    ctx: &CheckContext,
    words: Words,
    judge: impl Fn(&Reading) -> Result<(), String> + Send + Sync,
) -> Result<Verdict, Fault> {
    let aim = reader.aim(ctx)?;
    let started = Instant::now();
    let mut seen = Seen::default();
    let mut pause = FIRST_PAUSE;
    loop {
        let begun = started.elapsed();
        let mut turn = ctx.clone();
        turn.timeout = ctx.timeout.saturating_sub(begun);
        let look = reader.look(&aim, &turn).await?;
        if ctx.cancel.is_cancelled() {
            return Ok(cancelled());
        }
        let took = started.elapsed().saturating_sub(begun);
        seen.take(look, took, &judge);
        // What is left at the end goes to one more read, if it is enough for one.
        let reserve = took.saturating_mul(2).max(MIN_READ);
        let left = ctx.timeout.saturating_sub(started.elapsed());
        if seen.is_right || ctx.phase == Phase::Before || left <= reserve {
            return Ok(seen.verdict(words, &aim.shown, ctx.timeout));
        }
        tokio::select! {
            biased;
            () = ctx.cancel.cancelled() => return Ok(cancelled()),
            () = tokio::time::sleep(pause.min(left.saturating_sub(reserve))) => {}
        }
        pause = pause.saturating_mul(2).min(MAX_PAUSE);
    }
}

/// What is known so far.
#[derive(Default)]
struct Seen {
    reads: u32,
    is_right: bool,
    /// Why the last completed read was not right.
    wrong: Option<String>,
    /// What there was instead of something to read.
    missing: Option<String>,
    /// Why the last read failed.
    failed: Option<String>,
    /// Time spent on reads that failed, and on those that did not answer.
    failing: Duration,
    hanging: Duration,
    observations: Vec<Observation>,
}

/// Reads that saw the same.
struct Observation {
    words: String,
    digest: Option<Digest>,
    reads: u32,
}

impl Seen {
    fn take(
        &mut self,
        look: Look,
        took: Duration,
        judge: &impl Fn(&Reading) -> Result<(), String>,
    ) {
        self.reads = self.reads.saturating_add(1);
        match look {
            Look::Found(reading) => {
                self.wrong = judge(&reading).err();
                self.is_right = self.wrong.is_none();
                self.observe(reading.observed, Some(reading.digest));
            }
            Look::Unfit(why) => {
                self.observe(first_words(&why, MAX_WORDS), None);
                self.wrong = Some(why);
            }
            Look::Missing(words) => {
                self.observe(words.clone(), None);
                self.missing = Some(words);
            }
            Look::Failed(why) => {
                self.observe(format!("not read: {}", first_words(&why, MAX_WORDS)), None);
                self.failing = self.failing.saturating_add(took);
                self.failed = Some(why);
            }
            Look::Late => {
                self.observe("no answer".to_owned(), None);
                self.hanging = self.hanging.saturating_add(took);
            }
        }
    }

    fn observe(&mut self, words: String, digest: Option<Digest>) {
        let is_same = |it: &&mut Observation| it.words == words && it.digest == digest;
        if let Some(known) = self.observations.iter_mut().find(is_same) {
            known.reads = known.reads.saturating_add(1);
            return;
        }
        if self.observations.len() >= MAX_OBSERVATIONS {
            self.observations.pop();
        }
        self.observations.push(Observation { words, digest, reads: 1 });
    }

    fn verdict(self, codes: Words, source: &str, limit: Duration) -> Verdict {
        let evidence = self.evidence(source);
        let mut verdict = if self.is_right {
            Verdict { code: Code::slug(codes.right), ..Verdict::pass() }
        } else if let Some(why) = self.wrong {
            Verdict::revise(codes.wrong, format!("`{source}`: {why}"))
        } else if let Some(words) = self.missing {
            let reason = format!("`{source}` has nothing to compare with: {words}");
            Verdict::inconclusive("missing_data", reason)
        } else {
            // A read that the end cut off among many that failed says nothing of its own.
            match self.failed.filter(|_| self.hanging <= self.failing) {
                Some(why) => {
                    let reason =
                        format!("`{source}` could not be read: {}", first_words(&why, 200));
                    Verdict::inconclusive("read_error", reason)
                }
                None => {
                    Verdict::inconclusive("verify_timeout", late(&format!("`{source}`"), limit))
                }
            }
        };
        verdict.evidence = evidence;
        verdict
    }

    fn evidence(&self, source: &str) -> Vec<Evidence> {
        let entry = |it: &Observation| Evidence {
            source: source.to_owned(),
            observed: format!("{}, {} of {} reads", it.words, it.reads, self.reads),
            digest: it.digest,
            span: None,
        };
        self.observations.iter().map(entry).collect()
    }
}
