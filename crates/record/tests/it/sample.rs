//! Runs as the machine records them: a real delegation is driven, time and content invented.

use probity_core::{
    Answer, Charter, CheckDecl, CheckIndex, Code, Delegation, Digest, Effect, Entry, Feature,
    Finding, Handled, HookDecision, HookDecl, HookPoint, Input, NoteKind, OnFailure, Phase, Policy,
    RedFirst, Rewrite, RunId, Rung, Stage, StageBudgets, Step, Subject, Terms, Tier, Usage,
    VerdictKind,
};
use probity_record::{Chain, blob_digest, submission_id};

/// Every sample of the current version, by name.
pub(crate) const NAMES: [&str; 16] = [
    "asked-a-human",
    "budget-kept",
    "cancel-requested",
    "delegate-failed",
    "exhausted",
    "fallen-back",
    "faulted",
    "handed-over",
    "hook-blocked",
    "noted-and-parked",
    "parked",
    "released",
    "rewritten-by-hooks",
    "unreadable",
    "unsealed",
    "verified-after-two-attempts",
];

/// When every sample begins.
const OPENED_MS: u64 = 1_764_000_000_000;
/// Time between two inputs.
const STEP_MS: u64 = 250;

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
    let mut run = Run::open(run_id(name), charter(name));
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
        "asked-a-human" => {
            run.start().turn(created()).human(missing());
            run.turn(created()).timer().seal();
        }
        "delegate-failed" => {
            let (turn, detail) = (run.start().machine.turn(), blob("exit status 1"));
            run.feed(Input::DelegateFailed { turn, code: code("delegate_exit"), detail }).seal();
        }
        "unreadable" => {
            let (code, detail) = (code("snapshot_too_many_files"), blob("100001 files"));
            let phase = Phase::After;
            run.start().claim().feed(Input::Unreadable { phase, code, detail }).seal();
        }
        "hook-blocked" => {
            run.start().hook(HookDecision::Block { reason: blob("not on a Friday") }).seal();
        }
        "noted-and-parked" => noted_and_parked(&mut run),
        // Ends while it waits for an answer.
        "parked" => {
            run.start().note(NoteKind::Session).note(NoteKind::Model).park(None);
        }
        // The delegate keeps the budget and has none left.
        "budget-kept" => {
            run.start().note(NoteKind::Model).note(NoteKind::Model).note(NoteKind::Model);
            let (turn, detail) = (run.machine.turn(), blob("no tokens left for another call"));
            run.feed(Input::DelegateFailed { turn, code: code("budget_tokens"), detail }).seal();
        }
        // Left before anybody worked on it, and nobody took it up yet.
        "released" => {
            run.feed(Input::Release);
        }
        "handed-over" => handed_over(&mut run),
        // Somebody asks, and whoever drives the run ends it.
        "cancel-requested" => {
            run.feed(Input::Release).lease(1).start().feed(request("kim: no longer needed"));
            run.feed(Input::Cancel { code: code("requested") }).seal();
        }
        "rewritten-by-hooks" => rewritten_by_hooks(&mut run),
        "fallen-back" => fallen_back(&mut run),
        // For tests that try every byte: a header, two events, a seal.
        "smallest" => {
            run.feed(Input::Resume).feed(Input::Cancel { code: code("user") }).seal();
        }
        other => panic!("no sample `{other}`"),
    }
    run.entries
}

/// A model and a tool, a wait for a time and one for an answer, an interruption between a note and the
/// claim, and a refusal with more to say.
fn noted_and_parked(run: &mut Run) {
    run.start().note(NoteKind::Session).note(NoteKind::Model).note(NoteKind::Tool);
    run.park(Some(60_000)).timer().note(NoteKind::Model).feed(Input::Resume);
    let mut refused = missing();
    if let Finding::Verdict { metadata, .. } = &mut refused {
        *metadata = Some(blob(r#"{"failed_tests":["test_parser_generics"]}"#));
    }
    run.turn(refused).note(NoteKind::Model).park(None);
    run.feed(Input::Woken { answer: blob(r#"{"by":"kim","value":"the blue one"}"#) });
    run.note(NoteKind::Model).turn(created()).seal();
}

/// A child that three workers drive one after the other: the first leaves it in the midst of a round, the
/// second is lost while a check runs, the third is taken over by itself behind the outcome.
fn handed_over(run: &mut Run) {
    run.feed(Input::Release).pause(60_000).lease(1).start().note(NoteKind::Session);
    run.feed(steer("kim: mind the newline")).feed(Input::Release);
    run.feed(steer("kim: and the encoding")).pause(3_600_000).lease(2);
    run.note(NoteKind::Model).claim().observe(Phase::After).pause(30_000).lease(5);
    run.check(missing()).feed(request("kim: enough")).turn(created());
    run.lease(6).seal();
}

fn steer(text: &str) -> Input {
    Input::Steer { content: blob(text) }
}

fn request(text: &str) -> Input {
    Input::RequestCancel { by: blob(text) }
}

/// Every point of a hook, and a claim that two verification hooks see one after the other.
fn rewritten_by_hooks(run: &mut Run) {
    run.start().hook(modified("task")).hook(HookDecision::NotApplicable);
    run.turn(created()).rewriting(1).check(missing()).hook(HookDecision::Allow);
    run.hook(modified("prompt"));
    run.turn(created()).rewriting(1).rewriting(2).hook(HookDecision::Allow);
    run.hook(modified("claim")).seal();
}

/// A human approves; what the decision is based on has become old, so that the cached bundle acts; its
/// result is refused, and a human is asked once more.
fn fallen_back(run: &mut Run) {
    let answer = |answer| Input::Answered { by: blob("kim: see ticket 7"), answer };
    run.start().feed(answer(Answer::Continue { attempts: 2 }));
    let mut forbidden = missing();
    if let Finding::Verdict { verdict, .. } = &mut forbidden {
        *verdict = VerdictKind::Fail;
    }
    run.turn(forbidden).feed(answer(Answer::Waive)).seal();
}

fn charter(name: &str) -> Charter {
    let check = |id: &str, subject, timeout_ms| CheckDecl { id: code(id), subject, timeout_ms };
    let hook = |id: &str, point| HookDecl { id: code(id), point, timeout_ms: 5_000 };
    let mut charter =
        Charter::new(Policy::default(), vec![check("file-1", Subject::World, 30_000)]);
    match name {
        "asked-a-human" => charter.checks.push(check("approval", Subject::Human, 3_600_000)),
        "budget-kept" => charter.policy.max_tokens = Some(1_500),
        "handed-over" => {
            charter.policy.wall_ms = Some(60_000);
            charter.parent = Some(run_id("parent"));
        }
        "hook-blocked" => charter.hooks.push(hook("calendar", HookPoint::AttemptStart)),
        "rewritten-by-hooks" => {
            charter.checks.push(check("redact", Subject::Hook, 30_000));
            charter.checks.push(check("sign", Subject::Hook, 30_000));
            charter.hooks = vec![
                hook("task", HookPoint::DelegationPre),
                hook("prompt", HookPoint::AttemptStart),
                hook("watch", HookPoint::AttemptEnd),
                hook("edit", HookPoint::DelegationPost),
            ];
        }
        "fallen-back" => {
            charter.policy.wall_ms = Some(600_000);
            charter.policy.max_tokens = Some(100_000);
            charter.policy.max_tool_calls = Some(100);
            charter.policy.red_first = RedFirst::Warn;
            charter.policy.on_fail = OnFailure::Reject;
            charter.terms = Some(terms());
        }
        _ => {}
    }
    charter
}

fn terms() -> Terms {
    let rung = |step, max_extra_ms, is_ready| Rung { step, max_extra_ms, is_ready };
    Terms {
        envelope: blob("envelope and pack"),
        tier: Some(Tier::Medium),
        is_required: true,
        stages: StageBudgets {
            context_ms: 10_000,
            plan_ms: 10_000,
            act_ms: 60_000,
            verify_ms: 60_000,
        },
        features: vec![
            Feature { captured_at_ms: OPENED_MS - 60_000, ttl_ms: 3_600_000 },
            Feature { captured_at_ms: OPENED_MS - 60_000, ttl_ms: 60_000 },
        ],
        is_stale_soft: false,
        ladder: vec![
            rung(Step::SmallModel, None, false),
            rung(Step::CacheBundle, Some(1_000), true),
            rung(Step::Hitl, None, false),
            rung(Step::Abstain, None, true),
        ],
        blocked: None,
        needs_approval: true,
    }
}

fn modified(what: &str) -> HookDecision {
    let (to, delta) = (blob(&format!("another {what}")), blob(&format!("delta of the {what}")));
    HookDecision::Modify { to, delta }
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
        metadata: None,
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
        metadata: None,
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
    fn open(id: RunId, charter: Charter) -> Self {
        let request = blob(r#"{"task":"write hello to out.txt"}"#);
        let now_ms = OPENED_MS;
        let machine = Delegation::open(now_ms, id, request, charter).unwrap();
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
        self.finished(finding, None)
    }

    /// A verification hook that passes what it put in the place of the claim.
    fn rewriting(&mut self, by: u32) -> &mut Self {
        let what = |what: &str| blob(&format!("{what} of hook {by}"));
        let rewrite =
            Rewrite { candidate: what("candidate"), claim: what("claim"), delta: what("delta") };
        self.finished(created(), Some(rewrite))
    }

    fn finished(&mut self, finding: Finding, rewrite: Option<Rewrite>) -> &mut Self {
        let (check, elapsed_ms) = match self.machine.stage() {
            Stage::RedChecking { check, .. } => (check, 1),
            Stage::Checking { check, .. } => (check, 2),
            other => panic!("no check in flight: {other:?}"),
        };
        // Nobody looks at the judge's files behind a check that broke.
        let is_whole = !matches!(finding, Finding::Fault { .. });
        let judge = is_whole.then(|| blob("judge"));
        self.feed(Input::CheckFinished { check, finding, judge, elapsed_ms, rewrite })
    }

    fn hook(&mut self, decision: HookDecision) -> &mut Self {
        let Stage::Hooking { hook, .. } = self.machine.stage() else {
            panic!("no hook in flight: {:?}", self.machine.stage());
        };
        self.feed(Input::HookAnswered { hook, decision, elapsed_ms: 4 })
    }

    fn human(&mut self, finding: Finding) -> &mut Self {
        let (check, judge, by) = (CheckIndex(1), blob("judge"), blob("kim: not yet"));
        let submission = self.machine.submission().unwrap().clone();
        self.feed(Input::CheckAnswered { check, submission, finding, by, judge })
    }

    fn note(&mut self, kind: NoteKind) -> &mut Self {
        let content = blob(&format!("note {}", self.machine.notes().len()));
        let usage = match kind {
            NoteKind::Model => Usage { tokens: 400, tool_calls: 0 },
            NoteKind::Tool => Usage { tokens: 0, tool_calls: 1 },
            NoteKind::Session => Usage::default(),
        };
        self.feed(Input::Noted { turn: self.machine.turn(), kind, content, usage })
    }

    /// The delegate waits: for so long, or for an answer.
    fn park(&mut self, for_ms: Option<u64>) -> &mut Self {
        let detail = blob(r#"{"key":"which","question":"Which one?"}"#);
        let until_ms = for_ms.map(|for_ms| self.now_ms + for_ms);
        self.feed(Input::Parked { turn: self.machine.turn(), until_ms, detail })
    }

    /// Another worker takes the run up.
    fn lease(&mut self, epoch: u64) -> &mut Self {
        let worker = format!("worker-{epoch}").parse().unwrap();
        self.feed(Input::Lease { epoch, worker })
    }

    fn pause(&mut self, ms: u64) -> &mut Self {
        self.now_ms += ms;
        self
    }

    fn timer(&mut self) -> &mut Self {
        self.now_ms = self.machine.poll_timeout().unwrap() - STEP_MS;
        self.feed(Input::Timer)
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
        self.now_ms += STEP_MS;
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
