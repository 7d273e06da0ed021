//! What happens in the world when an effect is performed.

use std::collections::BTreeMap;

use probity_core::{
    Answer, CheckIndex, Code, Delegation, Digest, Entry, Event, HookIndex, Input, Judgement, Phase,
    Rewrite, Step, Subject, Turn,
};

use super::{Act, Violation, World, broken, number};
use crate::prediction::Order;
use crate::report::rows;
use crate::script::{
    CancelAt, HookSays, Point, SEALED, Sight, TOUCHED, Touch, WRITTEN, digest, rewritten,
    submission,
};

impl World<'_> {
    pub(super) fn resumed_last(&self) -> bool {
        matches!(self.log.last(), Some(Entry { event: Event::RunResumed { .. }, .. }))
    }

    /// The last entry, resumptions aside, is the one that announces what is about to be done.
    pub(super) fn announced(&self, is_it: impl Fn(&Event) -> bool) -> Result<(), Violation> {
        let last = self.last_step();
        match last {
            Some(event) if is_it(event) => Ok(()),
            _ => broken(format!("done without being announced, behind {last:?}")),
        }
    }

    fn last_step(&self) -> Option<&Event> {
        let mut events = self.log.iter().rev().map(|entry| &entry.event);
        events.find(|event| !matches!(event, Event::RunResumed { .. }))
    }

    pub(super) fn read(&self, turn: Turn, phase: Phase) -> Result<Act, Violation> {
        self.announced(|event| match phase {
            Phase::Before => matches!(event, Event::RunOpened { .. } | Event::CheckRed { .. }),
            Phase::After => matches!(event, Event::ClaimReceived { turn: of, .. } if *of == turn),
        })?;
        let happens = self.script.turn(turn.number);
        let is_after = phase == Phase::After;
        if is_after && self.stops(turn, Point::Reading) {
            return Ok(self.cancel());
        }
        let unreadable = match phase {
            Phase::Before if self.has_red() => self.script.red_unreadable,
            Phase::Before => self.script.starts_unreadable,
            Phase::After => happens.is_some_and(|happens| happens.unreadable),
        };
        let done_ms = self.clock_ms + self.script.reading_ms;
        if unreadable {
            let (code, detail) = (Code::slug("unreadable"), digest(0, 98));
            return Ok(Act { done_ms, input: Input::Unreadable { phase, code, detail } });
        }
        let touches = happens.and_then(|happens| happens.touches).filter(|_| is_after);
        let judge = if touches == Some(Touch::AtWork) { TOUCHED } else { self.judge() };
        let edits = if is_after { self.script.edits_until(turn.number) } else { 0 };
        let input = Input::Observed { phase, manifest: digest(edits, 10), judge: digest(0, judge) };
        Ok(Act { done_ms, input })
    }

    /// A check has come back before the delegate started.
    fn has_red(&self) -> bool {
        self.log.iter().any(|entry| matches!(entry.event, Event::CheckRed { .. }))
    }

    /// The judge's files as nobody touched them.
    fn judge(&self) -> u8 {
        if self.script.red_writes && self.has_red() { WRITTEN } else { SEALED }
    }

    pub(super) fn look(
        &mut self,
        machine: &Delegation,
        phase: Phase,
        check: CheckIndex,
        tries: u32,
        timeout_ms: u64,
    ) -> Result<Act, Violation> {
        let (turn, index) = (machine.turn(), check.as_usize());
        let of = (phase == Phase::After).then_some(turn.number);
        if of.is_some() && self.is_judged(turn) {
            return broken("a judged turn is checked again");
        }
        if !self.looks.contains(&(of, index, tries)) {
            self.looks.push((of, index, tries));
        }
        if of.is_some() && tries == 1 && self.stops(turn, Point::Checking(index)) {
            return Ok(self.cancel());
        }
        let saw = match of {
            None => self.script.red.get(index).copied(),
            Some(turn) => self.script.sight(turn, index, tries),
        };
        let (sight, took_ms) = match saw {
            Some(saw) if saw.took_ms < timeout_ms => (saw.sight, saw.took_ms),
            Some(_) => (Sight::Late, timeout_ms),
            None => (Sight::Moot, 0),
        };
        let touches = self.script.turn(turn.number).and_then(|happens| happens.touches);
        let is_touched = of.is_some() && touches == Some(Touch::During(index));
        // A driver does not look at the judge's files behind a check that broke or was cut off.
        let is_whole = saw.is_some_and(|saw| saw.took_ms < timeout_ms && sight != Sight::Broken);
        let judge = is_whole.then(|| digest(0, if is_touched { TOUCHED } else { self.judge() }));
        let finding = sight.finding();
        let is_hook =
            self.script.checks.get(index).is_some_and(|decl| decl.subject == Subject::Hook);
        let writes = is_hook && sight == Sight::Good && saw.is_some_and(|saw| saw.rewrites);
        let rewrite = machine.seen_by(check).filter(|_| writes).map(|seen| {
            let new = u64::from(rewritten(number(&seen.candidate), index));
            Rewrite { candidate: digest(new, 2), claim: digest(new, 5), delta: digest(new, 6) }
        });
        let input = Input::CheckFinished { check, finding, judge, elapsed_ms: took_ms, rewrite };
        Ok(Act { done_ms: self.clock_ms + took_ms, input })
    }

    pub(super) fn ask(
        &mut self,
        turn: Turn,
        attempt: u32,
        correction: Option<Turn>,
    ) -> Result<Act, Violation> {
        let is_claim = |entry: &Entry| matches!(entry.event, Event::ClaimReceived { turn: of, .. } if of == turn);
        if self.log.iter().any(is_claim) {
            return broken("a recorded claim was asked for again");
        }
        if attempt != self.counted() + 1 {
            return broken(format!("attempt {attempt} after {} counted ones", self.counted()));
        }
        if correction != self.last_judged() {
            return broken("the correction does not quote the last verdict");
        }
        self.asked += 1;
        if !self.dispatched.contains(&turn.number) {
            self.dispatched.push(turn.number);
        }
        if self.stops(turn, Point::AtWork) {
            return Ok(self.cancel());
        }
        self.work(turn)
    }

    pub(super) fn call(&mut self, turn: Turn) -> Result<Act, Violation> {
        let is_call = |entry: &&Entry| matches!(entry.event, Event::Escalated { .. });
        let is_answer = |entry: &&Entry| matches!(entry.event, Event::Answered { .. });
        self.calls = u32::try_from(self.log.iter().filter(is_call).count()).unwrap_or(0);
        self.answers = self.log.iter().filter(is_answer).count();
        if self.stops(turn, Point::Waiting) {
            return Ok(self.cancel());
        }
        let answer = self.script.human.get(self.answers).copied().unwrap_or(Answer::Reject);
        let input = Input::Answered { by: digest(0, 96), answer };
        Ok(Act { done_ms: self.clock_ms + self.script.human_ms, input })
    }

    pub(super) fn call_hook(
        &mut self,
        hook: HookIndex,
        turn: Turn,
        timeout_ms: u64,
    ) -> Result<Act, Violation> {
        let index = hook.as_usize();
        let is_called = |entry: &Entry| matches!(entry.event, Event::HookCalled { hook: of, turn: at } if (of, at) == (hook, turn));
        let is_fallen = |entry: &Entry| matches!(entry.event, Event::DegradeChosen { turn: at, .. } if at == turn);
        let more = self.log.iter().filter(|entry| is_fallen(entry)).count();
        let called = self.log.iter().filter(|entry| is_called(entry)).count();
        if called > 1 + more && !self.has_humans() {
            return broken("a hook is announced twice for a turn");
        }
        if !self.hooks.contains(&(index, turn.number)) {
            self.hooks.push((index, turn.number));
        }
        let happens = self.script.turn(turn.number);
        let spoke = happens.and_then(|happens| happens.spoken.get(index)).copied();
        let (says, elapsed_ms) = match spoke {
            Some(spoke) if spoke.took_ms < timeout_ms => (spoke.says, spoke.took_ms),
            Some(_) => (HookSays::Late, timeout_ms),
            None => return broken("no such hook"),
        };
        let decision = says.decision(index);
        let done_ms = self.clock_ms + elapsed_ms;
        Ok(Act { done_ms, input: Input::HookAnswered { hook, decision, elapsed_ms } })
    }

    /// A human let the run go on: a hook that was cut off is called once more.
    fn has_humans(&self) -> bool {
        self.log.iter().any(|entry| matches!(entry.event, Event::Answered { .. }))
    }

    pub(super) fn ask_human(&mut self, turn: Turn, check: CheckIndex) -> Result<Act, Violation> {
        let index = check.as_usize();
        if !self.looks.contains(&(Some(turn.number), index, 1)) {
            self.looks.push((Some(turn.number), index, 1));
        }
        if self.stops(turn, Point::Checking(index)) {
            return Ok(self.cancel());
        }
        let Some(saw) = self.script.sight(turn.number, index, 1) else { return broken("no human") };
        let (finding, by) = (saw.sight.finding(), digest(0, 95));
        let Some(submission) = submission(turn) else { return broken("no submission id") };
        let judge = digest(0, self.judge());
        let input = Input::CheckAnswered { check, submission, finding, by, judge };
        Ok(Act { done_ms: self.clock_ms + saw.took_ms, input })
    }

    /// What the delegate is given.
    pub(super) fn order(&mut self, machine: &Delegation, turn: Turn, step: Option<Step>) {
        let order = Order {
            turn: turn.number,
            step,
            task: machine.rewritten_task().map(|digest| number(&digest)),
            prompt: machine.rewritten_prompt(turn).map(|digest| number(&digest)),
        };
        if !self.orders.contains(&order) {
            self.orders.push(order);
        }
    }

    pub(super) fn commit(&mut self, candidate: Digest, claim: Digest) -> Result<(), Violation> {
        self.commits += 1;
        self.announced(
            |event| matches!(event, Event::OutcomeDecided { outcome, .. } if outcome.delivers()),
        )?;
        let judged = self.log.iter().rev().find_map(|entry| match &entry.event {
            Event::VerdictMerged { judgement, .. } => Some(*judgement),
            _ => None,
        });
        let shown = self.shown();
        match judged {
            Some(Judgement::Pass | Judgement::Unverified) if shown == Some((candidate, claim)) => {
                Ok(())
            }
            _ => broken(format!("committed {candidate} behind {judged:?} of {shown:?}")),
        }
    }

    /// The last claim with the rewrites that the log holds: a later one of a check clears those of
    /// the checks behind it.
    fn shown(&self) -> Option<(Digest, Digest)> {
        let mut claimed = None;
        let mut rewrites = BTreeMap::new();
        for entry in &self.log {
            match &entry.event {
                Event::ClaimReceived { candidate, claim, .. } => {
                    claimed = Some((*candidate, *claim));
                    rewrites.clear();
                }
                Event::CheckFinished { check, rewrite: Some(rewrite), .. } => {
                    rewrites.retain(|of, _| of < check);
                    rewrites.insert(*check, (rewrite.candidate, rewrite.claim));
                }
                _ => {}
            }
        }
        rewrites.last_key_value().map(|(_, shown)| *shown).or(claimed)
    }

    fn stops(&self, turn: Turn, point: Point) -> bool {
        self.script.cancel == Some(CancelAt { turn: turn.number, point })
    }

    fn cancel(&self) -> Act {
        Act { done_ms: self.clock_ms, input: Input::Cancel { code: Code::slug("user") } }
    }

    fn is_judged(&self, turn: Turn) -> bool {
        rows(&self.log).iter().any(|row| row.turn == turn.number)
    }

    pub(super) fn counted(&self) -> u32 {
        let counted = rows(&self.log).iter().filter(|row| row.counted).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    }

    pub(super) fn last_judged(&self) -> Option<Turn> {
        let last = rows(&self.log).last()?.turn;
        Some(Turn { epoch: 0, number: last })
    }
}
