//! Four runs as the machine would record them, time and content invented.

use probity_core::{
    CheckDecl, CheckIndex, Code, Digest, Discrimination, Drift, Entry, Event, Finding, Judgement,
    Outcome, Phase, Policy, RunId, Subject, Turn, Usage, VerdictKind,
};
use probity_record::{Chain, blob_digest, submission_id};

/// Every sample of the current version, by name.
pub(crate) const NAMES: [&str; 4] =
    ["exhausted", "faulted", "unsealed", "verified-after-two-attempts"];

/// The records of a sample, without newlines.
pub(crate) fn lines(name: &str) -> Vec<Vec<u8>> {
    let mut chain = Chain::new(run_id(name));
    let lines = entries(name).into_iter().map(|entry| chain.append(&entry).unwrap().into_bytes());
    lines.collect()
}

/// The sample as a file.
pub(crate) fn jsonl(name: &str) -> Vec<u8> {
    lines(name).into_iter().flat_map(|line| [line, b"\n".to_vec()]).flatten().collect()
}

/// What happens in a sample.
pub(crate) fn entries(name: &str) -> Vec<Entry> {
    let mut run = Run::open(run_id(name));
    match name {
        "verified-after-two-attempts" => {
            run.attempt(1, Judgement::Revise);
            run.attempt(2, Judgement::Pass);
            run.end(Outcome::Verified, "ok");
        }
        "exhausted" => {
            run.attempt(1, Judgement::Revise);
            run.attempt(2, Judgement::Revise);
            run.attempt(3, Judgement::Revise);
            run.end(Outcome::Exhausted, "attempts");
        }
        "faulted" => {
            run.attempt(1, Judgement::Fault);
            run.end(Outcome::Faulted, "script_runtime");
        }
        "unsealed" => {
            run.attempt(1, Judgement::Revise);
            run.dispatch(2);
            run.push(Event::RunResumed { interruptions: 1 });
            run.claim(2);
            run.push(started(Phase::After));
        }
        // For tests that try every byte: a header, two events, a seal.
        "smallest" => {
            run.entries.truncate(1);
            run.dispatch(1);
            run.claim(1);
            run.push(Event::Sealed { outcome: Outcome::Cancelled });
        }
        other => panic!("no sample `{other}`"),
    }
    run.entries
}

fn run_id(name: &str) -> RunId {
    format!("run-{name}").parse().unwrap()
}

fn code(text: &str) -> Code {
    text.parse().unwrap()
}

fn blob(text: &str) -> Digest {
    blob_digest(text.as_bytes())
}

fn started(phase: Phase) -> Event {
    Event::CheckStarted { phase, check: CheckIndex(0), tries: 1 }
}

fn missing() -> Finding {
    Finding::Verdict {
        verdict: VerdictKind::Revise,
        code: code("file_missing"),
        reason: Some(blob("`out.txt` does not exist")),
        criteria: vec![code("created")],
        confidence_bp: None,
        evidence: Some(blob(r#"[{"observed":"absent","source":"file:out.txt"}]"#)),
        output: None,
    }
}

fn finding(judgement: Judgement) -> Finding {
    match judgement {
        Judgement::Fault => {
            Finding::Fault { code: code("script_runtime"), detail: blob("verify.star:3: raised") }
        }
        Judgement::Pass => Finding::Verdict {
            verdict: VerdictKind::Pass,
            code: code("ok"),
            reason: None,
            criteria: vec![code("created"), code("contains")],
            confidence_bp: Some(10_000),
            evidence: Some(blob(r#"[{"observed":"6 bytes","source":"file:out.txt"}]"#)),
            output: None,
        },
        _ => missing(),
    }
}

struct Run {
    id: RunId,
    entries: Vec<Entry>,
    attempts: u32,
}

impl Run {
    fn open(id: RunId) -> Self {
        let mut run = Self { id: id.clone(), entries: Vec::new(), attempts: 0 };
        let check = CheckDecl { id: code("file-1"), subject: Subject::World, timeout_ms: 30_000 };
        let request = blob(r#"{"task":"write hello to out.txt"}"#);
        run.push(Event::RunOpened {
            run: id,
            request,
            policy: Policy::default(),
            checks: vec![check],
        });
        run.observe(Phase::Before);
        run.push(started(Phase::Before));
        run.push(Event::CheckRed {
            check: CheckIndex(0),
            discrimination: Discrimination::Discriminating,
            finding: missing(),
            elapsed_ms: 1,
        });
        run
    }

    fn push(&mut self, event: Event) {
        let at_ms = 1_764_000_000_000 + 250 * self.entries.len() as u64;
        self.entries.push(Entry { at_ms, event });
    }

    fn observe(&mut self, phase: Phase) {
        let manifest = blob(&format!("manifest {phase:?}"));
        self.push(Event::WorldObserved { phase, manifest, judge: blob("judge") });
    }

    fn turn(attempt: u32) -> Turn {
        Turn { epoch: 0, number: attempt - 1 }
    }

    fn dispatch(&mut self, attempt: u32) {
        self.push(Event::DelegateDispatched { turn: Self::turn(attempt), attempt });
    }

    fn claim(&mut self, attempt: u32) {
        let (turn, candidate) = (Self::turn(attempt), blob(&format!("candidate {attempt}")));
        self.push(Event::ClaimReceived {
            turn,
            submission: submission_id(&self.id, turn, &candidate),
            candidate,
            claim: blob(&format!("claim {attempt}")),
            work: u64::from(attempt),
            usage: Usage { tokens: 1200, tool_calls: 1 },
        });
    }

    fn attempt(&mut self, attempt: u32, judgement: Judgement) {
        self.dispatch(attempt);
        self.claim(attempt);
        self.observe(Phase::After);
        self.push(started(Phase::After));
        let finding = finding(judgement);
        let (deciding, drift) = match judgement {
            Judgement::Pass => ("ok", None),
            Judgement::Fault => ("script_runtime", Some(Drift::Red)),
            _ => ("file_missing", Some(Drift::Yellow)),
        };
        let (check, judge) = (CheckIndex(0), blob("judge"));
        self.push(Event::CheckFinished { check, finding, judge, elapsed_ms: 2 });
        let counted = judgement.counts_as_attempt();
        self.attempts += u32::from(counted);
        let (turn, candidate) = (Self::turn(attempt), blob(&format!("candidate {attempt}")));
        self.push(Event::VerdictMerged {
            turn,
            submission: submission_id(&self.id, turn, &candidate),
            candidate,
            judgement,
            code: code(deciding),
            counted,
            attempts: self.attempts,
            drift,
            repeat_of: None,
            reused: None,
            flaky: false,
        });
    }

    fn end(&mut self, outcome: Outcome, why: &str) {
        self.push(Event::OutcomeDecided { outcome, code: code(why), waived: false });
        self.push(Event::Sealed { outcome });
    }
}
