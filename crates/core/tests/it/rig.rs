//! A delegation with its log. After every input it checks what holds for all of them: the append
//! comes first and alone, a refusal changes nothing, and the log replays to the same value.

use probity_core::{
    Answer, Charter, CheckDecl, CheckIndex, Code, Delegation, Digest, Drift, Effect, Entry, Event,
    Finding, Handled, HookDecision, HookDecl, HookIndex, HookPoint, Input, Judgement, NoteKind,
    Outcome, Phase, Policy, Refusal, Rewrite, Stage, Subject, SubmissionId, Turn, Usage,
    VerdictKind,
};

/// The judge's files as they should be.
pub(crate) const JUDGE: u8 = 200;
/// The judge's files after someone touched them.
pub(crate) const TOUCHED: u8 = 201;

/// What a delegate waits for, and what it is answered.
pub(crate) const PARKED_FOR: u8 = 202;
pub(crate) const WOKEN_BY: u8 = 203;

pub(crate) fn d(n: u8) -> Digest {
    Digest::from_bytes([n; 32])
}

pub(crate) fn code(text: &str) -> Code {
    text.parse().unwrap()
}

pub(crate) fn turn(number: u32) -> Turn {
    Turn { epoch: 0, number }
}

pub(crate) fn submission(turn: Turn) -> SubmissionId {
    format!("s{}-{}", turn.epoch, turn.number).parse().unwrap()
}

pub(crate) fn verdict(kind: VerdictKind, word: &str) -> Finding {
    Finding::Verdict {
        verdict: kind,
        code: code(word),
        reason: None,
        criteria: vec![],
        confidence_bp: None,
        evidence: None,
        metadata: None,
        output: None,
    }
}

pub(crate) fn pass() -> Finding {
    verdict(VerdictKind::Pass, "ok")
}

pub(crate) fn revise() -> Finding {
    verdict(VerdictKind::Revise, "file_missing")
}

pub(crate) fn fail() -> Finding {
    verdict(VerdictKind::Fail, "forbidden")
}

pub(crate) fn inconclusive() -> Finding {
    verdict(VerdictKind::Inconclusive, "http_timeout")
}

pub(crate) fn fault() -> Finding {
    Finding::Fault { code: code("script_raised"), detail: d(99) }
}

pub(crate) fn world_check(id: &str) -> CheckDecl {
    CheckDecl { id: code(id), subject: Subject::World, timeout_ms: 10_000 }
}

pub(crate) fn claim_check(id: &str) -> CheckDecl {
    CheckDecl { subject: Subject::Claim, ..world_check(id) }
}

/// A verification hook.
pub(crate) fn hook_check(id: &str) -> CheckDecl {
    CheckDecl { subject: Subject::Hook, ..world_check(id) }
}

pub(crate) fn human_check(id: &str) -> CheckDecl {
    CheckDecl { subject: Subject::Human, ..world_check(id) }
}

/// A hook that is called by itself.
pub(crate) fn hook(id: &str, point: HookPoint) -> HookDecl {
    HookDecl { id: code(id), point, timeout_ms: 10_000 }
}

pub(crate) fn rewrite(n: u8) -> Rewrite {
    Rewrite { candidate: d(n), claim: d(n.wrapping_add(100)), delta: d(n.wrapping_add(1)) }
}

/// `n` checks of the claim, so that there is no red run.
pub(crate) fn claim_checks(n: usize) -> Vec<CheckDecl> {
    (0..n).map(|n| claim_check(&format!("c{n}"))).collect()
}

#[derive(Clone)]
pub(crate) struct Rig {
    pub(crate) machine: Delegation,
    /// What is durable.
    pub(crate) log: Vec<Entry>,
    pub(crate) now_ms: u64,
    /// The effects of the last input, without the append.
    pub(crate) due: Vec<Effect>,
    /// How many entries the log held after each append.
    pub(crate) boundaries: Vec<usize>,
    /// The workspace, as the next reading finds it.
    pub(crate) tree: u8,
    /// The judge's files, as the next reading finds them.
    pub(crate) judge: u8,
    /// Completed tool calls, as the next claim reports them.
    pub(crate) work: u64,
    /// How long the next check takes, as it reports.
    pub(crate) elapsed_ms: u64,
    /// What the next claim spent.
    pub(crate) usage: Usage,
    /// How a turn names its submission.
    pub(crate) seal: Option<Entry>,
}

impl Rig {
    pub(crate) fn open(policy: Policy, checks: Vec<CheckDecl>) -> Self {
        Self::of(Charter::new(policy, checks))
    }

    pub(crate) fn of(charter: Charter) -> Self {
        let machine = Delegation::open(1_000, "run-1".parse().unwrap(), d(1), charter).unwrap();
        let mut rig = Self {
            machine,
            log: vec![],
            now_ms: 1_000,
            due: vec![],
            boundaries: vec![],
            tree: 10,
            judge: JUDGE,
            work: 0,
            elapsed_ms: 5,
            usage: Usage::default(),
            seal: None,
        };
        rig.drain();
        assert_eq!(rig.log.len(), 1);
        rig
    }

    /// With no checks before the delegate: `Delegated` after the first reading.
    pub(crate) fn delegated(policy: Policy, checks: usize) -> Self {
        let mut rig = Self::open(policy, claim_checks(checks));
        rig.observe(Phase::Before);
        rig
    }

    pub(crate) fn feed(&mut self, input: Input) -> Result<Handled, Refusal> {
        let before = self.machine.clone();
        let is_seal = input == Input::Sealed;
        let result = self.machine.handle(self.now_ms, input);
        match &result {
            Ok(Handled::Accepted) => {
                if is_seal {
                    self.log.extend(self.seal.take());
                    self.boundaries.push(self.log.len());
                }
                let length = self.log.len();
                self.drain();
                assert_eq!(self.log.len() == length, is_seal, "an append per input");
            }
            Ok(Handled::Unchanged | Handled::Replay(_)) | Err(_) => {
                let length = self.log.len();
                self.drain();
                assert_eq!(self.log.len(), length, "nothing happened, yet it is recorded");
                assert_eq!(self.machine, before, "nothing happened, yet something changed");
            }
        }
        let replayed = Delegation::replay(&self.log);
        assert_eq!(replayed.as_ref(), Ok(&self.machine), "{:#?}", self.log);
        assert_eq!(self.machine.entries(), self.log.len() as u64);
        result
    }

    /// Feeds an input that must be accepted.
    pub(crate) fn ok(&mut self, input: Input) -> &mut Self {
        let stage = self.machine.stage();
        let name = input.name();
        let result = self.feed(input);
        assert_eq!(result, Ok(Handled::Accepted), "{name} in {stage:?}");
        self
    }

    pub(crate) fn observe(&mut self, phase: Phase) -> &mut Self {
        let input = self.observed(phase);
        self.ok(input)
    }

    pub(crate) fn observed(&self, phase: Phase) -> Input {
        Input::Observed { phase, manifest: d(self.tree), judge: d(self.judge) }
    }

    pub(crate) fn claimed(&self, turn: Turn, candidate: u8) -> Input {
        Input::Claimed {
            turn,
            submission: submission(turn),
            candidate: d(candidate),
            claim: d(candidate.wrapping_add(100)),
            work: self.work,
            usage: self.usage,
        }
    }

    pub(crate) fn claim(&mut self, candidate: u8) -> &mut Self {
        let input = self.claimed(self.machine.turn(), candidate);
        self.ok(input)
    }

    /// A note of what `usage` was spent on.
    pub(crate) fn noted(turn: Turn, content: u8, usage: Usage) -> Input {
        Input::Noted { turn, kind: NoteKind::Model, content: d(content), usage }
    }

    /// A note of the turn at work.
    pub(crate) fn note(&mut self, content: u8, usage: Usage) -> &mut Self {
        let input = Self::noted(self.machine.turn(), content, usage);
        self.ok(input)
    }

    pub(crate) fn leased(epoch: u64) -> Input {
        Input::Lease { epoch, worker: format!("w-{epoch}").parse().unwrap() }
    }

    /// Another worker takes the run up.
    pub(crate) fn lease(&mut self) -> &mut Self {
        self.ok(Self::leased(self.machine.epoch() + 1))
    }

    pub(crate) fn release(&mut self) -> &mut Self {
        self.ok(Input::Release)
    }

    /// Somebody who does not drive the run appends; the driver hears of it.
    pub(crate) fn beside(&mut self, input: Input) -> Result<Handled, Refusal> {
        let mut other = Delegation::replay(&self.log).unwrap();
        let handled = other.handle(self.now_ms, input)?;
        while let Some(effect) = other.poll_effect() {
            let Effect::Append(entries) = effect else {
                panic!("who stands beside does nothing: {effect:?}");
            };
            for entry in entries {
                assert!(entry.event.is_beside());
                self.machine.overhear(&entry).unwrap();
                self.log.push(entry);
                self.boundaries.push(self.log.len());
            }
        }
        assert_eq!(self.machine.poll_effect(), None, "what is in flight goes on");
        assert_eq!(self.machine, other);
        Ok(handled)
    }

    pub(crate) fn parked(turn: Turn, until_ms: Option<u64>) -> Input {
        Input::Parked { turn, until_ms, detail: d(PARKED_FOR) }
    }

    /// The delegate at work waits, for so long or for an answer.
    pub(crate) fn park(&mut self, for_ms: Option<u64>) -> &mut Self {
        let until_ms = for_ms.map(|for_ms| self.now_ms + for_ms);
        self.ok(Self::parked(self.machine.turn(), until_ms))
    }

    pub(crate) fn wake(&mut self) -> &mut Self {
        self.ok(Input::Woken { answer: d(WOKEN_BY) })
    }

    pub(crate) fn finished(&self, check: u32, finding: Finding) -> Input {
        Input::CheckFinished {
            check: CheckIndex(check),
            finding,
            judge: Some(d(self.judge)),
            elapsed_ms: self.elapsed_ms,
            rewrite: None,
        }
    }

    /// A check that passes what it put in the place of the claim.
    pub(crate) fn rewritten(&self, check: u32, finding: Finding, to: u8) -> Input {
        let mut input = self.finished(check, finding);
        if let Input::CheckFinished { rewrite: place, .. } = &mut input {
            *place = Some(rewrite(to));
        }
        input
    }

    pub(crate) fn hooked(hook: u32, decision: HookDecision) -> Input {
        Input::HookAnswered { hook: HookIndex(hook), decision, elapsed_ms: 3 }
    }

    /// What a human says of the claim at work.
    pub(crate) fn said(&self, check: u32, finding: Finding) -> Input {
        let submission =
            self.machine.submission().cloned().unwrap_or_else(|| submission(self.machine.turn()));
        let (check, judge) = (CheckIndex(check), d(self.judge));
        Input::CheckAnswered { check, submission, finding, by: d(76), judge }
    }

    /// Answers the hook in flight.
    pub(crate) fn hook(&mut self, decision: HookDecision) -> &mut Self {
        let Stage::Hooking { hook, .. } = self.machine.stage() else {
            panic!("no hook in flight: {:?}", self.machine.stage());
        };
        self.ok(Self::hooked(hook.0, decision))
    }

    /// Answers as the human who is asked.
    pub(crate) fn human(&mut self, finding: Finding) -> &mut Self {
        let Stage::Awaiting { check, .. } = self.machine.stage() else {
            panic!("no human is asked: {:?}", self.machine.stage());
        };
        let said = self.said(check.0, finding);
        self.ok(said)
    }

    /// Answers the check in flight.
    pub(crate) fn finish(&mut self, finding: Finding) -> &mut Self {
        let (Stage::RedChecking { check, .. } | Stage::Checking { check, .. }) =
            self.machine.stage()
        else {
            panic!("no check in flight: {:?}", self.machine.stage());
        };
        let input = self.finished(check.0, finding);
        self.ok(input)
    }

    /// A whole turn: claim, reading, one finding per check that the machine asks for. Findings that
    /// are left over fail the test.
    pub(crate) fn turn(&mut self, candidate: u8, findings: &[Finding]) -> &mut Self {
        self.claim(candidate).observe(Phase::After);
        for finding in findings {
            self.finish(finding.clone());
        }
        self
    }

    pub(crate) fn cancel(&mut self) -> &mut Self {
        self.ok(Input::Cancel { code: code("user") })
    }

    pub(crate) fn answered(answer: Answer) -> Input {
        Input::Answered { by: d(77), answer }
    }

    pub(crate) fn answer(&mut self, answer: Answer) -> &mut Self {
        self.ok(Self::answered(answer))
    }

    pub(crate) fn wait(&mut self, ms: u64) -> &mut Self {
        self.now_ms += ms;
        self
    }

    /// Jumps to the next timeout and hands the timer in.
    pub(crate) fn timer(&mut self) -> Result<Handled, Refusal> {
        self.now_ms = self.machine.poll_timeout().expect("a timer is set");
        self.feed(Input::Timer)
    }

    /// Forgets the live value, reads the log back and resumes.
    pub(crate) fn crash(&mut self) -> &mut Self {
        self.machine = Delegation::replay(&self.log).unwrap();
        self.seal = None;
        self.due.clear();
        self.ok(Input::Resume)
    }

    /// The outcome and its code; the effects of the decision are checked against the outcome.
    pub(crate) fn ended(&self) -> (Outcome, &str) {
        let ending = self.machine.ending().expect("the run has ended");
        assert_eq!(self.machine.stage(), Stage::Decided { outcome: ending.outcome });
        let commits = matches!(self.due.first(), Some(Effect::Commit { .. }));
        assert_eq!(commits, ending.outcome.delivers(), "{:?}", self.due);
        assert!(matches!(self.due.last(), Some(Effect::Seal(_))));
        assert_eq!(self.due.len(), 2);
        (ending.outcome, ending.code.as_str())
    }

    /// Judgement and `counted` of every verdict so far, in one word each.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        self.merged()
            .into_iter()
            .map(|merged| {
                format!(
                    "{}{}{}{}{}",
                    merged.judgement.as_str(),
                    if merged.counted { " counted" } else { "" },
                    merged
                        .repeat_of
                        .map_or(String::new(), |turn| format!(" repeat_of={}", turn.number)),
                    merged.reused.map_or(String::new(), |turn| format!(" reused={}", turn.number)),
                    if merged.flaky { " flaky" } else { "" },
                )
            })
            .collect()
    }

    pub(crate) fn merged(&self) -> Vec<Merged> {
        self.log
            .iter()
            .filter_map(|entry| match &entry.event {
                Event::VerdictMerged {
                    judgement,
                    code,
                    counted,
                    attempts,
                    drift,
                    repeat_of,
                    reused,
                    flaky,
                    ..
                } => Some(Merged {
                    judgement: *judgement,
                    code: code.to_string(),
                    counted: *counted,
                    attempts: *attempts,
                    drift: *drift,
                    repeat_of: *repeat_of,
                    reused: *reused,
                    flaky: *flaky,
                }),
                _ => None,
            })
            .collect()
    }

    fn drain(&mut self) {
        self.due.clear();
        let mut is_first = true;
        while let Some(effect) = self.machine.poll_effect() {
            match effect {
                Effect::Append(entries) => {
                    assert!(is_first, "an append comes before everything else");
                    assert!(!entries.is_empty());
                    self.log.extend(entries);
                    self.boundaries.push(self.log.len());
                }
                effect => {
                    if let Effect::Seal(entry) = &effect {
                        self.seal = Some(entry.clone());
                    }
                    self.due.push(effect);
                }
            }
            is_first = false;
        }
    }
}

/// A verdict as the log holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    pub(crate) judgement: Judgement,
    pub(crate) code: String,
    pub(crate) counted: bool,
    pub(crate) attempts: u32,
    pub(crate) drift: Option<Drift>,
    pub(crate) repeat_of: Option<Turn>,
    pub(crate) reused: Option<Turn>,
    pub(crate) flaky: bool,
}
