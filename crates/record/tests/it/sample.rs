//! Four runs as the machine records them: a real delegation is driven, time and content invented.

use probity_core::{
    Charter, CheckDecl, CheckIndex, Code, Delegation, Digest, Effect, Entry, Finding, Handled,
    Input, Phase, Policy, RunId, Stage, Subject, Usage, VerdictKind,
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
            run.start().turn(missing()).turn(created()).seal();
        }
        "exhausted" => {
            run.start().turn(missing()).turn(missing()).turn(missing()).seal();
        }
        "faulted" => {
            let detail = blob("verify.star:3: raised");
            run.start().turn(Finding::Fault { code: code("script_runtime"), detail }).seal();
        }
        // Interrupted while the delegate is at work; ends while a check runs.
        "unsealed" => {
            run.start().turn(missing()).feed(Input::Resume).claim().observe(Phase::After);
        }
        // For tests that try every byte: a header, two events, a seal.
        "smallest" => {
            run.feed(Input::Resume).feed(Input::Cancel { code: code("user") }).seal();
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

fn created() -> Finding {
    Finding::Verdict {
        verdict: VerdictKind::Pass,
        code: code("ok"),
        reason: None,
        criteria: vec![code("created"), code("contains")],
        confidence_bp: Some(10_000),
        evidence: Some(blob(r#"[{"observed":"6 bytes","source":"file:out.txt"}]"#)),
        output: None,
    }
}

struct Run {
    machine: Delegation,
    entries: Vec<Entry>,
    seal: Option<Entry>,
    now_ms: u64,
}

impl Run {
    fn open(id: RunId) -> Self {
        let check = CheckDecl { id: code("file-1"), subject: Subject::World, timeout_ms: 30_000 };
        let request = blob(r#"{"task":"write hello to out.txt"}"#);
        let now_ms = 1_764_000_000_000;
        let machine =
            Delegation::open(now_ms, id, request, Charter::new(Policy::default(), vec![check]))
                .unwrap();
        let mut run = Self { machine, entries: Vec::new(), seal: None, now_ms };
        run.drain();
        run
    }

    /// Up to the first dispatch: the file is missing, as it should be.
    fn start(&mut self) -> &mut Self {
        self.observe(Phase::Before).check(missing()).observe(Phase::Before)
    }

    /// A claim and its check.
    fn turn(&mut self, finding: Finding) -> &mut Self {
        self.claim().observe(Phase::After).check(finding)
    }

    fn observe(&mut self, phase: Phase) -> &mut Self {
        let manifest = blob(&format!("manifest {phase:?}"));
        self.feed(Input::Observed { phase, manifest, judge: blob("judge") })
    }

    fn check(&mut self, finding: Finding) -> &mut Self {
        let is_red = matches!(self.machine.stage(), Stage::RedChecking { .. });
        // Nobody looks at the judge's files behind a check that broke.
        let is_whole = !matches!(finding, Finding::Fault { .. });
        let judge = is_whole.then(|| blob("judge"));
        let elapsed_ms = if is_red { 1 } else { 2 };
        self.feed(Input::CheckFinished {
            check: CheckIndex(0),
            finding,
            judge,
            elapsed_ms,
            rewrite: None,
        })
    }

    fn claim(&mut self) -> &mut Self {
        let turn = self.machine.turn();
        let attempt = turn.number + 1;
        let candidate = blob(&format!("candidate {attempt}"));
        self.feed(Input::Claimed {
            turn,
            submission: submission_id(self.machine.run(), turn, &candidate),
            candidate,
            claim: blob(&format!("claim {attempt}")),
            work: u64::from(attempt),
            usage: Usage { tokens: 1200, tool_calls: 1 },
        })
    }

    fn seal(&mut self) {
        self.entries.extend(self.seal.take());
        self.feed(Input::Sealed);
    }

    fn feed(&mut self, input: Input) -> &mut Self {
        self.now_ms += 250;
        let handled = self.machine.handle(self.now_ms, input);
        assert_eq!(handled, Ok(Handled::Accepted));
        self.drain();
        self
    }

    fn drain(&mut self) {
        while let Some(effect) = self.machine.poll_effect() {
            match effect {
                Effect::Append(entries) => self.entries.extend(entries),
                Effect::Seal(entry) => self.seal = Some(entry),
                _ => {}
            }
        }
    }
}
