//! Episodes and drift of runs that the machine made: each projected episode is held against the very
//! envelope and pack that the run was opened under.

use probity_audit::project::{self, RunFacts};
use probity_audit::{Acceptance, DriftSignal, EpisodeReport, SealRule};
use probity_core::{
    Answer, Charter, CheckDecl, Code, Counting, Delegation, Digest, Effect, Entry, Event, Finding,
    Input, Outcome, Policy, RedFirst, Subject, Usage, VerdictKind,
};
use probity_policy::{Compiled, Decision, Envelope, Format, Pack, compile};
use serde_json::{Value, json};

use crate::{auditor, codes, value};

/// 2026-03-02T09:15:04Z.
const OPENED_AT_MS: u64 = 1_772_442_904_000;

/// What happens in a run, and how long it takes.
struct Script {
    decision: Value,
    /// What the verifier says, one per try.
    findings: Vec<Finding>,
    context_ms: u64,
    act_ms: u64,
    check_ms: u64,
    human: Answer,
    human_ms: u64,
    /// How long the run lies in a queue before the delegate is at work; 0 for a run that nobody leaves.
    queued_ms: u64,
    max_attempts: u32,
    /// Whether every claim is the same, so that its verdict is not reached again.
    is_stubborn: bool,
}

fn finding(verdict: VerdictKind, code: &str) -> Finding {
    Finding::Verdict {
        verdict,
        code: code.parse().unwrap(),
        reason: None,
        criteria: vec![],
        confidence_bp: None,
        evidence: None,
        metadata: None,
        output: None,
    }
}

fn pass() -> Finding {
    finding(VerdictKind::Pass, "ok")
}

fn script(findings: Vec<Finding>) -> Script {
    let episode = value("01_success.json");
    let mut action = episode["actions"][0].clone();
    action["execution"]["timeoutMs"] = json!(60);
    let decision = json!({
        "decisionType": "FreezeCard",
        "actor": { "type": "agent", "id": "card-agent" },
        "context": { "features": { "payments_1m": { "ageMs": 150 }, "device": { "ageMs": 3000 } } },
        "plan": { "planner": "hybrid", "summary": "Freeze é the card." },
        "actions": [action],
        "chain": { "hops": 2, "fanout": 3 },
    });
    Script {
        decision,
        findings,
        context_ms: 20,
        act_ms: 40,
        check_ms: 15,
        human: Answer::Reject,
        human_ms: 60_000,
        queued_ms: 0,
        max_attempts: 1,
        is_stubborn: false,
    }
}

/// A run that has ended.
struct Run {
    log: Vec<Entry>,
    decision: Decision,
    compiled: Compiled,
}

impl Script {
    fn run(self) -> Run {
        let decision = Decision::parse(&self.decision).unwrap();
        let envelope = value("envelope.json").to_string();
        let envelope = Envelope::parse(&envelope, Format::Json).unwrap();
        let pack = Pack::parse(&value("pack.json").to_string(), Format::Json).unwrap();
        let compiled =
            compile(&envelope, Some(&pack), &decision, OPENED_AT_MS, &[], |_| true).unwrap();
        let method = CheckDecl {
            id: Code::slug("read_after_write"),
            subject: Subject::World,
            timeout_ms: 40,
        };
        let policy = Policy {
            max_attempts: self.max_attempts,
            max_verify_tries: 1,
            wall_ms: Some(compiled.deadline_ms),
            red_first: RedFirst::Off,
            counting: if self.is_stubborn {
                Counting::ByCandidate {
                    count_after_work: true,
                    max_identical: 1,
                    max_rejections: 3,
                    reuse_rejection: true,
                }
            } else {
                Counting::EverySubmission
            },
            ..Policy::default()
        };
        let charter =
            Charter { terms: Some(compiled.terms.clone()), ..Charter::new(policy, vec![method]) };
        let log = self.drive(charter);
        Run { log, decision, compiled }
    }

    fn drive(self, charter: Charter) -> Vec<Entry> {
        let digest = Digest::from_bytes([7; 32]);
        let run = "run-1".parse().unwrap();
        let mut machine = Delegation::open(OPENED_AT_MS, run, digest, charter).unwrap();
        let (mut log, mut now_ms) = (Vec::new(), OPENED_AT_MS);
        let mut findings = self.findings.into_iter();
        let mut due = std::collections::VecDeque::new();
        loop {
            while let Some(effect) = machine.poll_effect() {
                due.push_back(effect);
            }
            let Some(effect) = due.pop_front() else { return log };
            let input = match effect {
                Effect::Append(entries) => {
                    log.extend(entries);
                    continue;
                }
                Effect::Snapshot { phase } => {
                    now_ms += self.context_ms;
                    Input::Observed { phase, manifest: digest, judge: digest }
                }
                Effect::RunCheck { check, .. } => {
                    now_ms += self.check_ms;
                    Input::CheckFinished {
                        check,
                        finding: findings.next().unwrap(),
                        judge: Some(digest),
                        elapsed_ms: self.check_ms,
                        rewrite: None,
                    }
                }
                Effect::Dispatch { .. } if self.queued_ms > 0 && machine.epoch() == 0 => {
                    machine.handle(now_ms, Input::Release).unwrap();
                    now_ms += self.queued_ms;
                    Input::Lease { epoch: 1, worker: "worker-1".parse().unwrap() }
                }
                Effect::Dispatch { turn, .. } => {
                    now_ms += self.act_ms;
                    let claim = if self.is_stubborn { 0 } else { turn.number };
                    Input::Claimed {
                        turn,
                        submission: format!("s-{}", turn.number).parse().unwrap(),
                        candidate: Digest::from_bytes([u8::try_from(claim).unwrap(); 32]),
                        claim: digest,
                        work: u64::from(claim),
                        usage: Usage::default(),
                    }
                }
                Effect::Escalate { .. } => {
                    now_ms += self.human_ms;
                    Input::Answered { by: digest, answer: self.human }
                }
                Effect::Seal(entry) => {
                    log.push(entry);
                    Input::Sealed
                }
                Effect::Commit { .. } | Effect::Reject { .. } => continue,
                effect => panic!("{effect:?}"),
            };
            machine.handle(now_ms, input).unwrap_or_else(|refusal| panic!("{refusal}"));
        }
    }
}

impl Run {
    fn outcome(&self) -> Outcome {
        Delegation::replay(&self.log).unwrap().ending().unwrap().outcome
    }

    fn facts(&self) -> RunFacts<'_> {
        RunFacts::new(&self.compiled)
    }

    fn episode(&self) -> (Value, EpisodeReport) {
        let episode = project::episode(&self.log, &self.decision, &self.facts()).unwrap();
        assert_eq!(episode.rule(), SealRule::Sorted);
        let report = auditor().episode(episode.bytes(), "run-1");
        (serde_json::from_slice(episode.bytes()).unwrap(), report)
    }

    fn drift(&self) -> Vec<String> {
        let signals = project::drift(&self.log, &self.decision, &self.facts()).unwrap();
        signals
            .iter()
            .enumerate()
            .map(|(at, signal)| {
                // Each has the published shape.
                let text = serde_json::to_vec(signal).unwrap();
                assert_eq!(&DriftSignal::parse(&text).unwrap(), signal);
                assert_eq!(signal.drift_id, format!("run-1-drift-{}", at + 1));
                assert_eq!(signal.episode_id, "run-1");
                let (severity, kind) = (signal.severity.as_str(), signal.drift_type.as_str());
                format!("{kind} {severity} {}", signal.fingerprint.key)
            })
            .collect()
    }
}

#[test]
fn a_verified_run_is_a_success_without_a_finding() {
    let run = script(vec![pass()]).run();
    assert_eq!(run.outcome(), Outcome::Verified);
    let (episode, report) = run.episode();
    assert_eq!((codes(&report), report.verdict), (vec![], Acceptance::Accepted));
    assert_eq!(report.drift, []);
    assert_eq!(run.drift(), [""; 0]);
    assert_eq!(episode["episodeId"], "run-1");
    assert_eq!(episode["startedAt"], "2026-03-02T09:15:04Z");
    assert_eq!(episode["endedAt"], "2026-03-02T09:15:04.095Z");
    assert_eq!(episode["decisionWindowMs"], 200);
    assert_eq!(episode["outcome"], json!({ "code": "success", "reason": "ok", "effects": {} }));
    let stages = json!({ "context": 20, "plan": 0, "act": 40, "verify": 35 });
    assert_eq!(episode["telemetry"]["stageMs"], stages);
    assert_eq!(episode["telemetry"]["endToEndMs"], 95);
    // The oldest feature, with its own time to live.
    assert_eq!(episode["context"]["ttlMs"], 5000);
    assert_eq!(episode["context"]["maxFeatureAgeMs"], 3020);
    assert_eq!(episode["context"]["evidenceRefs"], json!(["device", "payments_1m"]));
    assert_eq!(
        episode["verification"],
        json!({
            "required": true,
            "result": "pass",
            "method": "read_after_write",
            "details": {
                "reason": "ok",
                "checks": [{
                    "method": "read_after_write",
                    "result": "pass",
                    "reason": "ok",
                    "startedAt": "2026-03-02T09:15:04.08Z",
                    "elapsedMs": 15,
                    "attempts": 1,
                }],
            },
        })
    );
    assert_eq!(episode["policy"]["policyPackHash"], value("pack.json")["policyPackHash"]);
}

/// A run that lies in a queue for longer than it has time is a success all the same, and each stage took
/// what somebody worked on it.
#[test]
fn the_time_in_a_queue_is_of_no_stage() {
    let mut queued = script(vec![pass()]);
    queued.queued_ms = 60_000;
    let (episode, report) = queued.run().episode();
    assert_eq!((codes(&report), report.verdict), (vec![], Acceptance::Accepted));
    let stages = json!({ "context": 20, "plan": 0, "act": 40, "verify": 35 });
    assert_eq!(episode["telemetry"]["stageMs"], stages);
    assert_eq!(episode["outcome"]["code"], "success");
}

#[test]
fn equal_logs_give_equal_bytes() {
    let bytes = |run: Run| project::episode(&run.log, &run.decision, &run.facts()).unwrap();
    assert_eq!(bytes(script(vec![pass()]).run()), bytes(script(vec![pass()]).run()));
}

/// Not verified is `fail`, never part of a success, and an auditor agrees.
#[test]
fn what_was_not_verified_is_a_failure() {
    let cases = [
        (finding(VerdictKind::Revise, "mismatch"), "fail", "verify yellow", "mismatch"),
        (finding(VerdictKind::Fail, "mismatch"), "fail", "verify yellow", "mismatch"),
        (
            finding(VerdictKind::Inconclusive, "read_timeout"),
            "inconclusive",
            "verify red",
            "timeout",
        ),
        (finding(VerdictKind::Inconclusive, "io"), "inconclusive", "verify yellow", "io"),
    ];
    for (finding, result, drift, reason) in cases {
        let run = script(vec![finding]).run();
        let (episode, report) = run.episode();
        assert_eq!(episode["verification"]["result"], result);
        assert_eq!(episode["verification"]["details"]["reason"], reason);
        assert_eq!(episode["outcome"]["code"], "fail");
        assert_eq!(report.verdict, Acceptance::Accepted, "{:?}", codes(&report));
        assert_eq!(report.reads_as, None);
        let key = format!("FreezeCard::verify::read_after_write::{reason}");
        assert!(run.drift().contains(&format!("{drift} {key}")), "{:?}", run.drift());
        // The auditor derives the same from the episode alone.
        let derived = crate::drifts(&report);
        assert!(derived.contains(&format!("{drift} {key}")), "{derived:?}");
        assert_eq!(episode["degrade"]["step"], "hitl");
        assert!(run.drift().contains(&"fallback yellow FreezeCard::fallback::hitl".to_owned()));
        // The minute in which a human was asked is not the decision's.
        assert_eq!(episode["telemetry"]["endToEndMs"], 95);
    }
}

#[test]
fn a_broken_verifier_is_inconclusive_and_red() {
    let fault = Finding::Fault {
        code: "script_raise".parse().unwrap(),
        detail: Digest::from_bytes([9; 32]),
    };
    let run = script(vec![fault]).run();
    assert_eq!(run.outcome(), Outcome::Faulted);
    let (episode, report) = run.episode();
    assert_eq!(episode["verification"]["result"], "inconclusive");
    assert_eq!(episode["outcome"]["code"], "fail");
    assert_eq!(report.verdict, Acceptance::Accepted, "{:?}", codes(&report));
    assert_eq!(run.drift(), ["verify red FreezeCard::verify::read_after_write::script_raise"]);
}

#[test]
fn each_round_has_its_own_stages_and_its_own_drift() {
    let mut script = script(vec![finding(VerdictKind::Revise, "mismatch"), pass()]);
    (script.max_attempts, script.context_ms, script.check_ms, script.act_ms) = (2, 5, 10, 30);
    let run = script.run();
    assert_eq!(run.outcome(), Outcome::Verified);
    let (episode, report) = run.episode();
    assert_eq!((codes(&report), report.verdict), (vec![], Acceptance::Accepted));
    assert_eq!(episode["outcome"]["code"], "success");
    assert_eq!(episode["telemetry"]["stageMs"]["act"], 30);
    assert_eq!(episode["telemetry"]["endToEndMs"], 95);
    assert_eq!(run.drift(), ["verify yellow FreezeCard::verify::read_after_write::mismatch"]);
}

/// A claim that was judged before is not checked again: its verdict stands on the earlier findings.
#[test]
fn a_verdict_that_was_taken_over_names_the_checks_it_stands_on() {
    let mut script = script(vec![finding(VerdictKind::Revise, "mismatch")]);
    (script.max_attempts, script.is_stubborn) = (2, true);
    (script.context_ms, script.check_ms, script.act_ms) = (5, 10, 30);
    let run = script.run();
    let taken_over =
        |entry: &Entry| matches!(entry.event, Event::VerdictMerged { reused: Some(_), .. });
    assert!(run.log.iter().any(taken_over), "{:#?}", run.log);
    let (episode, report) = run.episode();
    assert_eq!(episode["verification"]["method"], "read_after_write");
    assert_eq!(episode["verification"]["result"], "fail");
    assert_eq!(report.verdict, Acceptance::Accepted, "{:?}", codes(&report));
    let key = "verify yellow FreezeCard::verify::read_after_write::mismatch".to_owned();
    assert!(run.drift().iter().filter(|drift| **drift == key).count() > 1, "{:?}", run.drift());
}

#[test]
fn nothing_is_done_on_what_is_stale() {
    let mut script = script(vec![]);
    script.decision["context"]["features"]["payments_1m"]["ageMs"] = json!(390);
    let run = script.run();
    let (episode, report) = run.episode();
    assert_eq!(episode["actions"], json!([]));
    assert_eq!(episode["outcome"]["code"], "abstain");
    assert_eq!(episode["verification"], json!({ "required": false, "result": "na" }));
    assert_eq!(episode["context"]["ttlBreachesCount"], 1);
    assert_eq!(episode["degrade"]["step"], "abstain");
    assert_eq!(codes(&report), [".context_stale"]);
    assert_eq!(
        run.drift(),
        [
            "freshness yellow FreezeCard::freshness::stale",
            "fallback yellow FreezeCard::fallback::abstain",
        ]
    );
}

#[test]
fn a_blocked_action_is_not_done_and_not_called_a_bypass() {
    let mut script = script(vec![]);
    script.decision["actions"][0].as_object_mut().unwrap().remove("idempotencyKey");
    let run = script.run();
    assert_eq!(run.outcome(), Outcome::Rejected);
    let (episode, report) = run.episode();
    assert_eq!(episode["outcome"]["code"], "abstain");
    assert_eq!(episode["actions"], json!([]));
    assert_eq!((codes(&report), report.verdict), (vec![], Acceptance::Accepted));
    let code = run.compiled.terms.blocked.as_ref().unwrap();
    assert_eq!(run.drift(), [format!("bypass red FreezeCard::bypass::{code}")]);
}

fn wide(script: &mut Script) {
    script.decision["actions"][0]["blastRadiusTier"] = json!("medium");
    script.decision["actions"][0]["authorization"] = json!({ "mode": "hitl", "approver": "ana" });
}

/// A name in a request is no approval: the episode names only who agreed.
#[test]
fn a_human_who_agreed_is_named_by_the_facts_alone() {
    let mut script = script(vec![pass()]);
    wide(&mut script);
    script.human = Answer::Continue { attempts: 1 };
    // A minute would leave the context stale.
    script.human_ms = 100;
    let run = script.run();
    assert_eq!(run.outcome(), Outcome::Verified);
    let (episode, report) = run.episode();
    assert_eq!(episode["actions"][0]["authorization"], json!({ "mode": "hitl" }));
    assert!(report.has("approver_missing"));

    let mut facts = run.facts();
    facts.approver = Some("berta".to_owned());
    let named = project::episode(&run.log, &run.decision, &facts).unwrap();
    let report = auditor().episode(named.bytes(), "x");
    assert_eq!((codes(&report), report.verdict), (vec![], Acceptance::Accepted));
    let episode: Value = serde_json::from_slice(named.bytes()).unwrap();
    assert_eq!(episode["actions"][0]["authorization"]["approver"], "berta");
    assert_eq!(episode["outcome"]["code"], "partial");
}

#[test]
fn nobody_agreed_and_nothing_is_done() {
    let mut script = script(vec![]);
    wide(&mut script);
    let run = script.run();
    let (episode, report) = run.episode();
    assert_eq!((episode["outcome"]["code"].as_str(), codes(&report)), (Some("abstain"), vec![]));
    assert_eq!(run.drift(), ["fallback green FreezeCard::fallback::hitl"]);
}

/// A human who overrides a refusal does not make a success of it, and it is told.
#[test]
fn a_waived_refusal_stays_a_failure_and_is_a_bypass() {
    let mut script = script(vec![finding(VerdictKind::Fail, "mismatch")]);
    script.human = Answer::Waive;
    let run = script.run();
    let (episode, _) = run.episode();
    assert_eq!(episode["outcome"]["code"], "fail");
    assert!(run.drift().contains(&"bypass red FreezeCard::bypass::waived".to_owned()));
}

#[test]
fn what_is_no_sealed_run_under_these_terms_is_refused() {
    let run = script(vec![pass()]).run();
    let facts = run.facts();
    let code = |log: &[Entry], decision: &Decision, facts: &RunFacts| {
        let refused = project::episode(log, decision, facts).unwrap_err();
        assert_eq!(project::drift(log, decision, facts).unwrap_err(), refused);
        refused.code()
    };
    let open = &run.log[..run.log.len() - 1];
    assert_eq!(code(open, &run.decision, &facts), "projection_unsealed");
    assert_eq!(code(&[], &run.decision, &facts), "projection_log");
    let mut reordered = run.log.clone();
    reordered.swap(2, 3);
    assert_eq!(code(&reordered, &run.decision, &facts), "projection_log");

    let mut other = run.compiled.clone();
    other.terms.stages.act_ms += 1;
    assert_eq!(code(&run.log, &run.decision, &RunFacts::new(&other)), "projection_other_terms");

    let mut plain = run.log.clone();
    if let Event::RunOpened { terms, .. } = &mut plain[0].event {
        *terms = None;
    }
    assert_eq!(code(&plain, &run.decision, &facts), "projection_no_terms");
}
