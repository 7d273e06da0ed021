//! The verdict of a turn: which checks run, what they see, how it merges.

use probity_core::{Counting, Judgement, RedFirst, Subject};

use super::{End, Model};
use crate::script::{Point, Sight, Touch, rewritten};

/// What a check has come to in this turn.
#[derive(Clone, Copy)]
struct Look {
    sight: Sight,
    tries: u32,
    since_ms: u64,
    took_ms: u64,
    back_ms: u64,
    /// The judge's files were looked at afterwards.
    is_whole: bool,
    /// What it put in the place of the claim.
    wrote: Option<u8>,
}

pub(super) struct Ruling {
    pub(super) judgement: Judgement,
    pub(super) code: &'static str,
    pub(super) reused: Option<u32>,
}

impl Model<'_> {
    pub(super) fn rule(
        &mut self,
        turn: u32,
        candidate: u8,
        work: (u64, u64),
        touches: Option<Touch>,
    ) -> Result<Ruling, End> {
        let tampered = Ruling { judgement: Judgement::Fail, code: "judge_tampered", reused: None };
        if touches == Some(Touch::AtWork) {
            return Ok(tampered);
        }
        if let Counting::ByCandidate { reuse_rejection: true, .. } = self.script.policy.counting
            && let Some(last) = self.rejections.last()
            && last.candidate == candidate
            && last.work == work
        {
            let reused = Some(last.turn);
            return Ok(Ruling { judgement: Judgement::Revise, code: "reused", reused });
        }
        let mut looks = Vec::new();
        let Some((judgement, code)) = self.settle(turn, candidate, touches, &mut looks)? else {
            return Ok(tampered);
        };
        self.shown = Some(shown(candidate, &looks));
        Ok(Ruling { judgement, code, reused: None })
    }

    /// Looks until nothing is left to look at. `None` if someone touched the judge's files while a
    /// check ran. The looks stand in the order of the checks, so that the next check is the one
    /// behind them.
    fn settle(
        &mut self,
        turn: u32,
        candidate: u8,
        touches: Option<Touch>,
        looks: &mut Vec<Look>,
    ) -> Result<Option<(Judgement, &'static str)>, End> {
        loop {
            let next = looks.len();
            let decl = self.script.checks.get(next);
            let is_human = decl.is_some_and(|decl| decl.subject == Subject::Human);
            let is_hook = decl.is_some_and(|decl| decl.subject == Subject::Hook);
            // The end of the verify stage stops checks, not humans.
            let is_late = if is_human { self.is_over() } else { self.is_limited() };
            if decl.is_some() && is_late {
                looks.push(self.cut(1, self.clock_ms));
                return Ok(Some(self.merged(looks)));
            }
            // Hooks see what was found, so nothing before them is left to try again.
            let (judgement, code) = self.merged(looks);
            let is_open = judgement == Judgement::Inconclusive && !self.is_limited();
            let again = self.again(looks).filter(|_| is_open);
            if decl.is_some() && !is_human && (!is_hook || again.is_none()) {
                looks.push(self.try_check(
                    turn,
                    next,
                    1,
                    self.clock_ms,
                    shown(candidate, looks),
                )?);
                if touches == Some(Touch::During(next))
                    && looks.last().is_some_and(|it| it.is_whole)
                {
                    return Ok(None);
                }
                continue;
            }
            if is_human && matches!(judgement, Judgement::Pass | Judgement::Unverified) {
                let look = self.ask(turn, next)?;
                looks.push(look);
                continue;
            }
            let Some((check, due_ms)) = again else {
                return Ok(Some((judgement, code)));
            };
            if due_ms > self.clock_ms && self.limit_ms().is_some_and(|limit_ms| limit_ms <= due_ms)
            {
                self.clock_ms = self.clock_ms.max(self.limit_ms().unwrap_or(0));
                if decl.is_none() {
                    return Ok(Some((judgement, code)));
                }
                continue;
            }
            self.clock_ms = self.clock_ms.max(due_ms);
            let Some(old) = looks.get(check).copied() else { return Ok(Some((judgement, code))) };
            let seen = shown(candidate, looks.get(..check).unwrap_or_default());
            let new = self.try_check(turn, check, old.tries + 1, old.since_ms, seen)?;
            if new.wrote.is_some() {
                looks.truncate(check);
                looks.push(new);
            } else if let Some(place) = looks.get_mut(check) {
                *place = new;
            }
            if touches == Some(Touch::During(check)) && new.is_whole {
                return Ok(None);
            }
        }
    }

    fn try_check(
        &mut self,
        turn: u32,
        check: usize,
        tries: u32,
        since_ms: u64,
        seen: u8,
    ) -> Result<Look, End> {
        self.looked(turn, check, tries);
        if tries == 1 {
            self.cancelled(turn, Point::Checking(check))?;
        }
        let decl = self.script.checks.get(check);
        let whole_ms = decl.map_or(0, |decl| decl.timeout_ms);
        let left_ms = whole_ms.saturating_sub(self.clock_ms - since_ms).max(1);
        let Some(saw) = self.script.sight(turn, check, tries) else {
            return Ok(self.cut(tries, since_ms));
        };
        let Some(sight) = self.look(saw.sight, saw.took_ms, left_ms) else {
            return Ok(self.cut(tries, since_ms));
        };
        let is_whole = saw.took_ms < left_ms && saw.sight != Sight::Broken;
        let is_hook = decl.is_some_and(|decl| decl.subject == Subject::Hook);
        let writes = is_hook && saw.rewrites && sight == Sight::Good;
        let wrote = writes.then(|| rewritten(seen, check));
        let (took_ms, back_ms) = (saw.took_ms.min(left_ms), self.clock_ms);
        Ok(Look { sight, tries, since_ms, took_ms, back_ms, is_whole, wrote })
    }

    /// A human looks once, and all other time stands still.
    fn ask(&mut self, turn: u32, check: usize) -> Result<Look, End> {
        self.looked(turn, check, 1);
        self.cancelled(turn, Point::Checking(check))?;
        let since_ms = self.clock_ms;
        let whole_ms = self.script.checks.get(check).map_or(0, |decl| decl.timeout_ms);
        let (sight, took_ms) = match self.script.sight(turn, check, 1) {
            Some(saw) if saw.took_ms < whole_ms => (saw.sight, saw.took_ms),
            _ => (Sight::Silent, whole_ms),
        };
        self.clock_ms += took_ms;
        for end_ms in self.stop_ms.iter_mut().chain(&mut self.stage_ms) {
            *end_ms += took_ms;
        }
        let look = self.cut(1, since_ms);
        Ok(Look { sight, ..look })
    }

    fn looked(&mut self, turn: u32, check: usize, tries: u32) {
        let look = (Some(turn), check, tries);
        if !self.looks.contains(&look) {
            self.looks.push(look);
        }
    }

    /// The run's wall time or that of the stage has ended.
    fn is_limited(&self) -> bool {
        self.limit_ms().is_some_and(|limit_ms| limit_ms <= self.clock_ms)
    }

    /// What a check comes to that the end of a time cut off or kept from running.
    fn cut(&self, tries: u32, since_ms: u64) -> Look {
        let sight = if self.is_over() { Sight::Cut } else { Sight::Overrun };
        let back_ms = self.clock_ms;
        Look { sight, tries, since_ms, took_ms: 0, back_ms, is_whole: false, wrote: None }
    }

    /// The check whose next try is due first, where its tries and its time leave one. No human is
    /// asked twice.
    fn again(&self, looks: &[Look]) -> Option<(usize, u64)> {
        let policy = &self.script.policy;
        let mut first: Option<(usize, u64)> = None;
        for ((check, look), decl) in looks.iter().enumerate().zip(&self.script.checks) {
            let is_open = matches!(look.sight, Sight::Away | Sight::Late);
            let is_human = decl.subject == Subject::Human;
            if !is_open || is_human || look.tries >= policy.max_verify_tries {
                continue;
            }
            let mut wait_ms = policy.verify_backoff_ms;
            for _ in 1..look.tries {
                wait_ms = (wait_ms * 2).min(10_000);
            }
            let due_ms = look.back_ms + wait_ms.min(10_000);
            let is_enough = due_ms + look.took_ms < look.since_ms + decl.timeout_ms;
            if is_enough && first.is_none_or(|(_, ms)| due_ms < ms) {
                first = Some((check, due_ms));
            }
        }
        first
    }

    fn merged(&self, looks: &[Look]) -> (Judgement, &'static str) {
        let seen: Vec<Sight> = looks
            .iter()
            .zip(&self.blunt)
            .map(|(look, blunt)| match look.sight {
                Sight::Good if *blunt => Sight::Moot,
                sight => sight,
            })
            .collect();
        let out_of_reach = [Sight::Away, Sight::Late, Sight::Cut, Sight::Overrun, Sight::Silent];
        let ranks: [(&[Sight], Judgement); 5] = [
            (&[Sight::Broken], Judgement::Fault),
            (&[Sight::Wrong], Judgement::Fail),
            (&[Sight::Bad], Judgement::Revise),
            (&out_of_reach, Judgement::Inconclusive),
            (&[Sight::Good], Judgement::Pass),
        ];
        for (sights, judgement) in ranks {
            if let Some(sight) = seen.iter().find(|sight| sights.contains(sight)) {
                return (judgement, sight.code());
            }
        }
        let why = match self.script.policy.red_first {
            _ if self.script.checks.is_empty() => "no_checks",
            RedFirst::Require => "non_discriminating",
            RedFirst::Warn | RedFirst::Off => "not_applicable",
        };
        (Judgement::Unverified, why)
    }
}

/// The claim as these looks made it.
fn shown(candidate: u8, looks: &[Look]) -> u8 {
    looks.iter().filter_map(|look| look.wrote).next_back().unwrap_or(candidate)
}
