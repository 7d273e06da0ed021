//! A sealed run log, read once: when each stage ended and what each round came to.

use std::collections::BTreeMap;

use probity_core::{
    CheckDecl, CheckIndex, Code, Digest, Drift, Entry, Event, Finding, Judgement, Outcome, Phase,
    RunId, Step, Terms, Trigger, Turn,
};

use super::ProjectError;

/// What a projection takes from a log.
#[derive(Debug)]
pub(super) struct Log<'e> {
    pub(super) run: &'e RunId,
    pub(super) checks: &'e [CheckDecl],
    pub(super) terms: &'e Terms,
    pub(super) deadline_ms: Option<u64>,
    pub(super) opened_at_ms: u64,
    /// When the work before the delegate was done.
    pub(super) context_at_ms: u64,
    /// The first reading of the workspace.
    pub(super) manifest: Option<(u64, Digest)>,
    /// The first dispatch: from there on something was acted on.
    pub(super) acted_at_ms: Option<u64>,
    pub(super) rounds: Vec<Round<'e>>,
    pub(super) steps: Vec<(u64, Trigger, Step)>,
    pub(super) outcome: Outcome,
    pub(super) code: &'e Code,
    pub(super) is_waived: bool,
    pub(super) ended_at_ms: u64,
    pub(super) sealed_at_ms: u64,
    /// When the run waited, for a human, at its delegate's wish, or for a worker: from and to.
    waits: Vec<(u64, u64)>,
}

/// What is not over yet.
#[derive(Debug, Default)]
struct Waiting {
    /// Since when somebody else is waited for.
    from_ms: Option<u64>,
    /// Since when nobody drives a run that waits for nobody else.
    left_ms: Option<u64>,
}

/// One round: dispatch, claim, verdict.
#[derive(Debug)]
pub(super) struct Round<'e> {
    pub(super) turn: Turn,
    /// The last dispatch of the round: one that was interrupted is made again.
    pub(super) dispatched_at_ms: u64,
    /// When the delegate answered or failed.
    pub(super) answered_at_ms: Option<u64>,
    pub(super) verdict: Option<Merged<'e>>,
    pub(super) checks: BTreeMap<CheckIndex, Ran<'e>>,
}

/// What a round came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Merged<'e> {
    pub(super) at_ms: u64,
    pub(super) judgement: Judgement,
    pub(super) code: &'e Code,
    pub(super) drift: Option<Drift>,
    pub(super) reused: Option<Turn>,
}

/// What a check of a round came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ran<'e> {
    pub(super) started_at_ms: u64,
    /// The wall time of all tries, without the waits between them.
    pub(super) elapsed_ms: u64,
    pub(super) tries: u32,
    pub(super) finding: Option<&'e Finding>,
}

impl<'e> Log<'e> {
    /// Reads a log that replays.
    pub(super) fn read(entries: &'e [Entry]) -> Result<Self, ProjectError> {
        let Some((Entry { at_ms, event }, rest)) = entries.split_first() else {
            return Err(ProjectError::Log { message: "it is empty".to_owned() });
        };
        let Event::RunOpened { run, policy, checks, terms, .. } = event else {
            return Err(ProjectError::Log { message: "it does not begin with its opening".into() });
        };
        let terms = terms.as_ref().ok_or(ProjectError::NoTerms)?;
        let sealed = match entries.last() {
            Some(Entry { at_ms, event: Event::Sealed { .. } }) => *at_ms,
            _ => return Err(ProjectError::Unsealed),
        };
        let end = rest.iter().rev().find_map(|entry| match &entry.event {
            Event::OutcomeDecided { outcome, code, waived } => {
                Some((entry.at_ms, *outcome, code, *waived))
            }
            _ => None,
        });
        let (ended_at_ms, outcome, code, is_waived) = end.ok_or(ProjectError::Unsealed)?;
        let mut log = Self {
            run,
            checks,
            terms,
            deadline_ms: policy.wall_ms,
            opened_at_ms: *at_ms,
            context_at_ms: *at_ms,
            manifest: None,
            acted_at_ms: None,
            rounds: Vec::new(),
            steps: Vec::new(),
            outcome,
            code,
            is_waived,
            ended_at_ms,
            sealed_at_ms: sealed,
            waits: Vec::new(),
        };
        let mut waiting = Waiting::default();
        for entry in rest {
            log.take(entry, &mut waiting);
        }
        log.waits.extend(waiting.from_ms.map(|from| (from, ended_at_ms)));
        Ok(log)
    }

    fn take(&mut self, entry: &'e Entry, waiting: &mut Waiting) {
        let at_ms = entry.at_ms;
        if !entry.event.is_beside() {
            let left_ms = waiting.left_ms.take();
            let is_taken = matches!(entry.event, Event::LeaseTaken { .. });
            self.waits.extend(left_ms.filter(|_| is_taken).map(|from| (from, at_ms)));
        }
        match &entry.event {
            Event::WorldObserved { phase: Phase::Before, manifest, .. } => {
                self.context_at_ms = at_ms;
                let _ = self.manifest.get_or_insert((at_ms, *manifest));
            }
            Event::CheckRed { .. } | Event::WorldUnreadable { phase: Phase::Before, .. } => {
                self.context_at_ms = at_ms;
            }
            Event::DegradeChosen { trigger, step, .. } => self.steps.push((at_ms, *trigger, *step)),
            Event::CheckAwaits { .. } | Event::Escalated { .. } | Event::DelegateParked { .. } => {
                let _ = waiting.from_ms.get_or_insert(at_ms);
            }
            Event::RunReleased => {
                waiting.left_ms = waiting.from_ms.is_none().then_some(at_ms);
            }
            Event::CheckAnswered { check, finding, .. } => {
                self.waits.extend(waiting.from_ms.take().map(|from| (from, at_ms)));
                self.ran(*check, |ran| ran.finding = Some(finding));
            }
            Event::Answered { .. } | Event::DelegateWoken { .. } => {
                self.waits.extend(waiting.from_ms.take().map(|from| (from, at_ms)));
            }
            _ => self.round(entry),
        }
    }

    /// What happens within a round.
    fn round(&mut self, entry: &'e Entry) {
        let at_ms = entry.at_ms;
        match &entry.event {
            Event::DelegateDispatched { turn, .. } => {
                let _ = self.acted_at_ms.get_or_insert(at_ms);
                match self.rounds.last_mut().filter(|round| round.turn == *turn) {
                    Some(round) => round.dispatched_at_ms = at_ms,
                    None => self.rounds.push(Round {
                        turn: *turn,
                        dispatched_at_ms: at_ms,
                        answered_at_ms: None,
                        verdict: None,
                        checks: BTreeMap::new(),
                    }),
                }
            }
            Event::ClaimReceived { .. } | Event::DelegateFailed { .. } => {
                if let Some(round) = self.rounds.last_mut() {
                    round.answered_at_ms = Some(at_ms);
                }
            }
            Event::CheckStarted { phase: Phase::After, check, tries } => {
                if let Some(round) = self.rounds.last_mut() {
                    let new =
                        Ran { started_at_ms: at_ms, elapsed_ms: 0, tries: *tries, finding: None };
                    round.checks.entry(*check).or_insert(new).tries = *tries;
                }
            }
            Event::CheckFinished { check, finding, elapsed_ms, .. } => {
                self.ran(*check, |ran| {
                    ran.elapsed_ms = ran.elapsed_ms.saturating_add(*elapsed_ms);
                    ran.finding = Some(finding);
                });
            }
            Event::VerdictMerged { judgement, code, drift, reused, .. } => {
                if let Some(round) = self.rounds.last_mut() {
                    let (judgement, drift, reused) = (*judgement, *drift, *reused);
                    round.verdict = Some(Merged { at_ms, judgement, code, drift, reused });
                }
            }
            _ => {}
        }
    }

    fn ran(&mut self, check: CheckIndex, change: impl FnOnce(&mut Ran<'e>)) {
        if let Some(ran) = self.rounds.last_mut().and_then(|round| round.checks.get_mut(&check)) {
            change(ran);
        }
    }

    /// Whether anything was acted on.
    pub(super) const fn has_acted(&self) -> bool {
        self.acted_at_ms.is_some()
    }

    /// The round that decided.
    pub(super) fn last(&self) -> Option<&Round<'e>> {
        self.rounds.last()
    }

    /// The checks that a round's verdict stands on: those of the round whose findings it took over,
    /// where it did.
    pub(super) fn checks_of<'l>(
        &'l self,
        round: &'l Round<'e>,
    ) -> &'l BTreeMap<CheckIndex, Ran<'e>> {
        let reused = round.verdict.and_then(|verdict| verdict.reused);
        let earlier = reused.and_then(|turn| self.rounds.iter().find(|round| round.turn == turn));
        &earlier.unwrap_or(round).checks
    }

    /// Time between two moments, without what the run waited.
    pub(super) fn worked_ms(&self, from_ms: u64, to_ms: u64) -> u64 {
        let waited = self
            .waits
            .iter()
            .map(|(from, to)| (*to).min(to_ms).saturating_sub((*from).max(from_ms)));
        to_ms.saturating_sub(from_ms).saturating_sub(waited.fold(0, u64::saturating_add))
    }

    /// When the context was used: at the last act, or when it was decided that there is none.
    pub(super) fn used_at_ms(&self) -> u64 {
        let acted = self.last().map(|round| round.dispatched_at_ms);
        let stepped = self.steps.last().map(|(at_ms, ..)| *at_ms);
        acted.or(stepped).unwrap_or(self.ended_at_ms)
    }
}
