//! Honest runs, one for every way that a run can go.

use probity_core::{
    Answer, Charter, CheckDecl, Counting, Feature, HookDecision, HookPoint, Input, OnFailure,
    Policy, RedFirst, Rung, StageBudgets, Step, Subject, Terms, Tier,
};

use crate::rig::{OPENED_MS, Rig, check, code, hook};

/// A run that has ended.
pub(crate) type Run = fn() -> Rig;

/// Every run by name.
pub(crate) const RUNS: [(&str, Run); 31] = [
    ("twice", twice),
    ("once", once),
    ("exhausted", exhausted),
    ("rejected", rejected),
    ("faulted", faulted),
    ("retried", retried),
    ("inconclusive", inconclusive),
    ("unverified", unverified),
    ("tampered", tampered),
    ("reused", reused),
    ("flaky", flaky),
    ("interrupted", interrupted),
    ("too often interrupted", too_often),
    ("asked", asked),
    ("unanswered", unanswered),
    ("waived", waived),
    ("granted", granted),
    ("hooked", hooked),
    ("blocked by a hook", blocked),
    ("required red", required),
    ("fallen back", fallen_back),
    ("noted", noted),
    ("parked", parked),
    ("used up", used_up),
    ("asked for more", asked_for_more),
    ("used up under terms", used_up_under_terms),
    ("handed over", handed_over),
    ("handed over under terms", handed_over_under_terms),
    ("kept waiting", kept_waiting),
    ("asked to stop", asked_to_stop),
    ("lost too often", lost_too_often),
];

pub(crate) fn twice() -> Rig {
    let mut rig = Rig::new(Policy::default()).start();
    rig.turn("not yet", &["revise"]).turn("done", &["pass"]).sealed()
}

pub(crate) fn once() -> Rig {
    Rig::new(Policy::default()).start().turn("done", &["pass"]).sealed()
}

pub(crate) fn exhausted() -> Rig {
    let mut rig = Rig::new(Policy::default()).start();
    rig.turn("a", &["revise"]).turn("b", &["revise"]).turn("c", &["revise"]).sealed()
}

pub(crate) fn rejected() -> Rig {
    Rig::new(Policy::default()).start().turn("a", &["fail"]).sealed()
}

fn faulted() -> Rig {
    Rig::new(Policy::default()).start().turn("a", &["fault"]).sealed()
}

/// A check whose ground truth is out of reach at first.
pub(crate) fn retried() -> Rig {
    let mut rig = Rig::new(Policy::default()).start();
    rig.turn("a", &["timeout"]);
    rig.now_ms = rig.machine.poll_timeout().unwrap();
    rig.ok(Input::Timer).finish("pass").sealed()
}

fn inconclusive() -> Rig {
    let mut rig = Rig::new(Policy { max_verify_tries: 1, ..Policy::default() }).start();
    rig.turn("a", &["unread"]).sealed()
}

fn unverified() -> Rig {
    let mut rig = Rig::of(Charter::new(Policy::default(), vec![])).start();
    rig.claim("a").sealed()
}

pub(crate) fn tampered() -> Rig {
    let mut rig = Rig::new(Policy::default()).start();
    rig.claim("a");
    rig.judge = "another judge";
    rig.finish("pass").sealed()
}

fn by_candidate() -> Policy {
    Policy { max_attempts: 4, counting: Counting::by_candidate(4), ..Policy::default() }
}

/// The same claim again, with nothing done in between: answered from the log.
pub(crate) fn reused() -> Rig {
    let mut rig = Rig::new(by_candidate()).start();
    rig.turn("a", &["revise"]);
    rig.work -= 1;
    rig.claim("a").turn("b", &["pass"]).sealed()
}

fn flaky() -> Rig {
    let mut rig = Rig::new(Policy::default()).start();
    rig.turn("a", &["revise"]);
    rig.work -= 1;
    rig.turn("a", &["pass"]).sealed()
}

pub(crate) fn interrupted() -> Rig {
    let mut rig = Rig::new(Policy::default()).start();
    rig.ok(Input::Resume).claim("a").ok(Input::Resume).finish("pass").sealed()
}

pub(crate) fn too_often() -> Rig {
    let mut rig = Rig::new(Policy { max_interruptions: 1, ..Policy::default() }).start();
    rig.ok(Input::Resume).ok(Input::Resume).sealed()
}

fn humans() -> Vec<CheckDecl> {
    vec![check("file-1", Subject::World), check("approval", Subject::Human)]
}

pub(crate) fn asked() -> Rig {
    let mut rig = Rig::of(Charter::new(Policy::default(), humans())).start();
    rig.turn("a", &["pass"]).human("revise").turn("b", &["pass"]).human("pass").sealed()
}

pub(crate) fn unanswered() -> Rig {
    let mut rig = Rig::of(Charter::new(Policy::default(), humans())).start();
    rig.turn("a", &["pass"]);
    rig.now_ms = rig.machine.poll_timeout().unwrap();
    rig.ok(Input::Timer).sealed()
}

pub(crate) fn calls_human() -> Policy {
    Policy {
        max_attempts: 1,
        on_fail: OnFailure::Escalate,
        on_exhausted: OnFailure::Escalate,
        ..Policy::default()
    }
}

pub(crate) fn waived() -> Rig {
    let mut rig = Rig::new(calls_human()).start();
    rig.turn("a", &["revise"]).answer(Answer::Waive).sealed()
}

pub(crate) fn granted() -> Rig {
    let mut rig = Rig::new(calls_human()).start();
    rig.turn("a", &["revise"]).answer(Answer::Continue { attempts: 2 });
    rig.turn("b", &["revise"]).turn("c", &["pass"]).sealed()
}

/// Every point of a hook, and a claim that a verification hook rewrites.
pub(crate) fn hooked() -> Rig {
    let checks = vec![check("file-1", Subject::World), check("redact", Subject::Hook)];
    let mut rig = Rig::of(Charter {
        hooks: vec![
            hook("task", HookPoint::DelegationPre),
            hook("prompt", HookPoint::AttemptStart),
            hook("watch", HookPoint::AttemptEnd),
            hook("edit", HookPoint::DelegationPost),
        ],
        ..Charter::new(Policy::default(), checks)
    })
    .start();
    let (to, delta) = (rig.shelf.keep("another"), rig.shelf.keep("a delta"));
    let modify = HookDecision::Modify { to, delta };
    rig.hooked(modify.clone()).hooked(modify.clone());
    rig.turn("a", &["pass"]).finish("revise").hooked(HookDecision::Allow);
    rig.hooked(HookDecision::NotApplicable);
    rig.turn("b", &["pass"]).rewriting("c").hooked(HookDecision::Allow);
    rig.hooked(modify).sealed()
}

pub(crate) fn blocked() -> Rig {
    let mut rig = Rig::of(Charter {
        hooks: vec![hook("task", HookPoint::DelegationPre)],
        ..Charter::new(Policy::default(), vec![check("file-1", Subject::World)])
    })
    .start();
    let reason = rig.shelf.keep("not on a Friday");
    rig.hooked(HookDecision::Block { reason }).sealed()
}

/// A check that passes before the delegate proves nothing.
pub(crate) fn required() -> Rig {
    let mut rig = Rig::new(Policy { red_first: RedFirst::Require, ..Policy::default() });
    rig.observe(probity_core::Phase::Before).finish("pass");
    rig.observe(probity_core::Phase::Before).turn("a", &["pass"]).sealed()
}

pub(crate) fn terms() -> Terms {
    let rung = |step| Rung { step, max_extra_ms: None, is_ready: true };
    let budget_ms = 60_000;
    Terms {
        envelope: probity_record::blob_digest(b"the envelope"),
        tier: Some(Tier::Medium),
        is_required: true,
        stages: StageBudgets {
            context_ms: budget_ms,
            plan_ms: budget_ms,
            act_ms: budget_ms,
            verify_ms: budget_ms,
        },
        features: vec![Feature { captured_at_ms: OPENED_MS, ttl_ms: 1 }],
        is_stale_soft: false,
        ladder: vec![rung(Step::CacheBundle), rung(Step::Hitl)],
        blocked: None,
        needs_approval: true,
    }
}

/// Notes of two rounds, the last of which uses the tokens up.
pub(crate) fn noted() -> Rig {
    let policy = Policy { max_tokens: Some(50), ..Policy::default() };
    let mut rig = Rig::new(policy).start();
    rig.note().note().turn("a", &["revise"]).note().turn("b", &["revise"]).sealed()
}

/// A wait for a time and one for an answer, each longer than the run has time; between them a crash.
pub(crate) fn parked() -> Rig {
    let mut rig = Rig::new(Policy { wall_ms: Some(400), ..Policy::default() }).start();
    rig.note().park(Some(1_000));
    rig.now_ms += 1_000;
    rig.ok(Input::Timer).note().ok(Input::Resume).park(None);
    rig.now_ms += 1_000;
    rig.wake().note().turn("a", &["pass"]).sealed()
}

pub(crate) fn used_up() -> Rig {
    let mut rig = Rig::new(Policy::default()).start();
    rig.note().spent("budget_model_calls").sealed()
}

pub(crate) fn asked_for_more() -> Rig {
    let policy = Policy { on_exhausted: OnFailure::Escalate, ..Policy::default() };
    let mut rig = Rig::new(policy).start();
    rig.note().spent("budget_tokens").answer(Answer::Continue { attempts: 1 });
    rig.note().turn("a", &["pass"]).sealed()
}

fn used_up_under_terms() -> Rig {
    let policy = Policy { wall_ms: Some(600_000), ..Policy::default() };
    let rung = |step| Rung { step, max_extra_ms: None, is_ready: true };
    let terms = Terms {
        features: vec![],
        needs_approval: false,
        ladder: vec![rung(Step::Hitl)],
        ..terms()
    };
    let checks = vec![check("file-1", Subject::World)];
    let mut rig = Rig::of(Charter { terms: Some(terms), ..Charter::new(policy, checks) }).start();
    rig.spent("budget_tool_calls").answer(Answer::Reject).sealed()
}

fn file() -> Vec<CheckDecl> {
    vec![check("file-1", Subject::World)]
}

/// A child that lies longer in the queue than it has time, is left in the midst of a round, is lost while
/// a check runs and once more behind the outcome.
pub(crate) fn handed_over() -> Rig {
    let policy = Policy { wall_ms: Some(400), ..Policy::default() };
    let parent = Some("run-0".parse().unwrap());
    let mut rig = Rig::of(Charter { parent, ..Charter::new(policy, file()) });
    rig.release().wait(1_000).lease(1);
    let mut rig = rig.start();
    rig.steer("mind the newline").note().release().steer("and the encoding").wait(1_000).lease(2);
    rig.note().claim("a").lease(4).finish("pass").lease(7).sealed()
}

/// Each stage has less time than the queue takes in the midst of it.
pub(crate) fn handed_over_under_terms() -> Rig {
    let policy = Policy { wall_ms: Some(1_000), ..Policy::default() };
    let stages = StageBudgets { context_ms: 100, plan_ms: 100, act_ms: 100, verify_ms: 100 };
    let terms =
        Terms { features: vec![], needs_approval: false, stages, ladder: vec![], ..terms() };
    let mut rig = Rig::of(Charter { terms: Some(terms), ..Charter::new(policy, file()) }).start();
    rig.release().wait(2_000).lease(1).claim("a").release().wait(2_000).lease(2);
    rig.finish("pass").sealed()
}

/// Workers come and go while the delegate waits: nobody is interrupted, and the wait is counted once.
pub(crate) fn kept_waiting() -> Rig {
    let policy = Policy { wall_ms: Some(400), ..Policy::default() };
    let mut rig = Rig::of(Charter::new(policy, file()));
    rig.release().lease(1);
    let mut rig = rig.start();
    rig.park(None).release().wait(1_000).lease(2).wait(1_000).lease(3).wake();
    rig.turn("a", &["pass"]).sealed()
}

/// Somebody asks, and whoever drives the run ends it.
pub(crate) fn asked_to_stop() -> Rig {
    let mut rig = Rig::new(Policy::default()).start();
    rig.request("kim: no longer needed").steer("never mind");
    rig.ok(Input::Cancel { code: code("requested") }).sealed()
}

pub(crate) fn lost_too_often() -> Rig {
    let mut rig = Rig::new(Policy { max_interruptions: 1, ..Policy::default() }).start();
    rig.lease(1).lease(2).sealed()
}

/// A human approves, the cached bundle acts, a human is asked once more.
pub(crate) fn fallen_back() -> Rig {
    let policy = Policy { wall_ms: Some(600_000), ..Policy::default() };
    let checks = vec![check("file-1", Subject::World)];
    let mut rig = Rig::of(Charter { terms: Some(terms()), ..Charter::new(policy, checks) }).start();
    rig.answer(Answer::Continue { attempts: 2 });
    rig.turn("a", &["fail"]).answer(Answer::Reject).sealed()
}
