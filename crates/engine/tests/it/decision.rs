//! Runs under the terms of a decision: stages with budgets, freshness, approval, the ladder.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use probity_core::{
    Answer, Claim, Code, Drift, Event, Feature, Outcome, Phase, Rung, StageBudgets, Step, Terms,
    Tier, Trigger, Verdict,
};
use probity_delegate::{
    Answered, Conversation, Delegate, FunctionDelegate, Request, ScriptedDelegate, Step as Scripted,
};
use probity_engine::{Clock, Ended, Engine, EngineError, Plan, SystemClock};
use probity_record::blob_digest;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::rig::{Eye, Hangs, Rig, TASK, Unwatched, When, bounded, late_worker, liar};

const ENVELOPE: &[u8] = b"{\"decisionType\":\"refund\"}";
const MINUTE_MS: u64 = 60_000;

/// Nothing in the way, a minute for each stage, no ladder.
fn terms() -> Terms {
    Terms {
        envelope: blob_digest(ENVELOPE),
        tier: Some(Tier::Small),
        is_required: true,
        stages: StageBudgets {
            context_ms: MINUTE_MS,
            plan_ms: MINUTE_MS,
            act_ms: MINUTE_MS,
            verify_ms: MINUTE_MS,
        },
        features: Vec::new(),
        is_stale_soft: false,
        ladder: Vec::new(),
        blocked: None,
        needs_approval: false,
    }
}

fn under(plan: Plan, terms: Terms) -> Plan {
    Plan { terms: Some(terms), envelope: ENVELOPE.to_vec(), ..plan }
}

const fn rung(step: Step, is_ready: bool) -> Rung {
    Rung { step, max_extra_ms: None, is_ready }
}

fn stale() -> Feature {
    Feature { captured_at_ms: SystemClock.now_ms() - 10_000, ttl_ms: 5_000 }
}

/// Writes the file and says who it is.
fn worker(rig: &Rig, name: &'static str) -> Arc<FunctionDelegate> {
    let path = rig.path().join("out.txt");
    Arc::new(FunctionDelegate::new(name, move |_| {
        std::fs::write(&path, name).unwrap();
        std::future::ready(Ok(Answered::of(Claim::text(name))))
    }))
}

/// The usual delegate under one check.
fn usual(rig: &Rig, terms: Terms) -> Plan {
    under(rig.plan(worker(rig, "usual"), [Eye::file(rig, "out.txt").check("out")]), terms)
}

async fn fell_back(rig: &Rig) -> Vec<(Trigger, Step)> {
    rig.report().await.degraded.iter().map(|it| (it.trigger, it.step)).collect()
}

async fn drifts(rig: &Rig) -> Vec<Option<Drift>> {
    let log = rig.log().await;
    let drift = |event: &Event| match event {
        Event::VerdictMerged { drift, .. } => Some(*drift),
        _ => None,
    };
    log.entries.iter().filter_map(|entry| drift(&entry.event)).collect()
}

async fn answer(rig: &Rig, plan: Plan, answer: Answer) -> Result<Ended, EngineError> {
    let engine = rig.engine();
    let cancel = CancellationToken::new();
    bounded(engine.answer(plan, "ada@example.org", answer, &Unwatched, cancel)).await
}

#[tokio::test]
async fn with_nothing_in_the_way_the_usual_delegate_acts() {
    let rig = Rig::new();
    let (ended, report) = rig.whole(usual(&rig, terms())).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Verified, "ok"));
    assert_eq!(ended.delivered.unwrap().response, "usual");
    assert!(report.degraded.is_empty());
    let kept = rig.store.get(&blob_digest(ENVELOPE), 1 << 10).await.unwrap();
    assert_eq!(kept.as_deref(), Some(ENVELOPE), "what the terms name is kept");
}

#[tokio::test]
async fn a_plan_that_lacks_what_its_terms_ask_for_is_refused() {
    let rig = Rig::new();
    for step in [Step::CacheBundle, Step::SmallModel, Step::RulesOnly] {
        let ladder = vec![rung(step, true)];
        let plan = usual(&rig, Terms { ladder, ..terms() });
        let error = rig.try_run(plan).await.unwrap_err();
        assert_eq!(error.code(), "plan_incomplete");
        assert!(error.to_string().contains(step.as_str()), "{error}");
    }
    let other = Plan { envelope: b"{}".to_vec(), ..usual(&rig, terms()) };
    assert_eq!(rig.try_run(other).await.unwrap_err().code(), "plan_incomplete");
    assert!(rig.records().await.is_empty());
    // What is not ready needs nobody, and a human and nothing are always ready.
    let ladder = [Step::CacheBundle, Step::Hitl, Step::Abstain].map(|step| rung(step, false));
    let plan = usual(&rig, Terms { ladder: ladder.to_vec(), ..terms() });
    assert_eq!(rig.run(plan).await.outcome, Outcome::Verified);
}

#[tokio::test]
async fn another_envelope_is_another_run() {
    let rig = Rig::new();
    rig.run(usual(&rig, terms())).await;
    let envelope = b"{}".to_vec();
    let other = Terms { envelope: blob_digest(&envelope), ..terms() };
    let plan = Plan { envelope, ..usual(&rig, other) };
    assert_eq!(rig.resume(plan).await.unwrap_err().code(), "run_plan_differs");
    let none = Plan { terms: None, ..usual(&rig, terms()) };
    assert_eq!(rig.resume(none).await.unwrap_err().code(), "run_plan_differs");
}

/// Hangs on a claim, and heeds no token. Keeps when it was asked.
fn hanging(rig: &Rig) -> (Arc<Eye>, Arc<Mutex<Option<Instant>>>) {
    let asked = Arc::new(Mutex::new(None));
    let since = Arc::clone(&asked);
    let eye = Eye::new(rig, move |ctx| {
        let since = Arc::clone(&since);
        async move {
            match ctx.phase {
                Phase::Before => Ok(Verdict::revise("not_yet", "")),
                Phase::After => {
                    *since.lock().unwrap() = Some(Instant::now());
                    std::future::pending().await
                }
            }
        }
    });
    (eye, asked)
}

fn short_verify(ladder: &[Rung]) -> Terms {
    let stages = StageBudgets { verify_ms: 200, ..terms().stages };
    Terms { stages, ladder: ladder.to_vec(), ..terms() }
}

#[tokio::test]
async fn a_check_that_hangs_is_over_with_its_stage() {
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let rig = Rig::new();
        let (eye, asked) = hanging(&rig);
        let plan = under(rig.plan(liar(), [eye.timed("c", MINUTE_MS)]), short_verify(&[]));
        let ended = rig.run(plan).await;
        fastest = fastest.min(asked.lock().unwrap().unwrap().elapsed());
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Inconclusive, "verify_timeout"));
        assert_eq!((ended.delivered, rig.report().await.attempts), (None, 0));
        assert_eq!(drifts(&rig).await, [Some(Drift::Red)]);
        assert_eq!(fell_back(&rig).await, [(Trigger::Verification, Step::Abstain)]);
    }
    // The best of several, because a loaded machine is not the engine's doing.
    assert!(fastest <= Duration::from_millis(200 + 600 + 100), "{fastest:?}");
}

#[tokio::test]
async fn what_could_not_be_verified_goes_to_the_human_of_the_ladder() {
    let rig = Rig::new();
    let (eye, _) = hanging(&rig);
    let plan = || {
        let ladder = [rung(Step::Hitl, false), rung(Step::Abstain, false)];
        under(rig.plan(liar(), [eye.timed("c", MINUTE_MS)]), short_verify(&ladder))
    };
    let ended = rig.run(plan()).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Escalated, "inconclusive"));
    assert_eq!(fell_back(&rig).await, [(Trigger::Verification, Step::Hitl)]);
    let ended = answer(&rig, plan(), Answer::Reject).await.unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Inconclusive, "verify_timeout"));
    assert_eq!(ended.delivered, None);
}

/// What is known when the stage ends decides; what is not is inconclusive.
#[tokio::test]
async fn a_contradiction_in_time_outlives_the_stage() {
    let rig = Rig::new();
    let (eye, _) = hanging(&rig);
    let known = Eye::then(&rig, Ok(Verdict::fail("forged", "")));
    let checks = [known.check("a"), eye.timed("b", MINUTE_MS)];
    let ended = rig.run(under(rig.plan(liar(), checks), short_verify(&[]))).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "forged"));
}

#[tokio::test]
async fn what_need_not_be_verified_may_stay_unverified() {
    let rig = Rig::new();
    let tiny = Terms { tier: Some(Tier::Tiny), is_required: false, ..terms() };
    let (ended, report) = rig.whole(under(rig.plan(liar(), []), tiny)).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Unverified, "no_checks"));
    assert!(ended.delivered.is_some() && report.degraded.is_empty());

    let rig = Rig::new();
    let (ended, report) = rig.whole(under(rig.plan(liar(), []), terms())).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Inconclusive, "no_method"));
    assert_eq!((ended.delivered, report.attempts), (None, 0));
    assert_eq!(fell_back(&rig).await, [(Trigger::Verification, Step::Abstain)]);
}

#[tokio::test]
async fn on_what_is_too_old_nothing_is_done() {
    let rig = Rig::new();
    let ladder = vec![rung(Step::CacheBundle, false), rung(Step::SmallModel, false)];
    let plan = usual(&rig, Terms { features: vec![stale()], ladder, ..terms() });
    let ended = rig.run(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "stale_context"));
    assert_eq!(rig.account.count("ask"), 0);
    assert_eq!(fell_back(&rig).await, [(Trigger::Freshness, Step::Abstain)]);

    let rig = Rig::new();
    let plan = usual(&rig, Terms { features: vec![stale()], is_stale_soft: true, ..terms() });
    assert_eq!(rig.run(plan).await.outcome, Outcome::Verified);
}

#[tokio::test]
async fn a_cached_bundle_acts_in_the_place_of_the_usual_delegate() {
    let rig = Rig::new();
    let ladder = vec![rung(Step::CacheBundle, true)];
    let mut plan = usual(&rig, Terms { features: vec![stale()], ladder, ..terms() });
    plan.rungs = vec![
        (Step::SmallModel, worker(&rig, "small") as Arc<dyn Delegate>),
        (Step::CacheBundle, worker(&rig, "cache")),
    ];
    let ended = rig.run(plan).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(ended.delivered.unwrap().response, "cache");
    assert_eq!(rig.account.count("ask"), 0, "the usual delegate is not asked");
    assert_eq!(fell_back(&rig).await, [(Trigger::Freshness, Step::CacheBundle)]);
    let log = rig.log().await;
    let step = log.entries.iter().find_map(|entry| match entry.event {
        Event::DelegateDispatched { step, .. } => Some(step),
        _ => None,
    });
    assert_eq!(step, Some(Some(Step::CacheBundle)));
}

#[tokio::test]
async fn an_action_that_breaks_a_rule_is_never_dispatched() {
    let rig = Rig::new();
    let blocked = Some(Code::slug("blast_radius"));
    let mut plan = usual(&rig, Terms { blocked, needs_approval: true, ..terms() });
    let hand = crate::hand::Hand::allows(&rig);
    plan.hooks = vec![hand.at(probity_core::HookPoint::DelegationPre, "pre")];
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "blast_radius"));
    assert_eq!((rig.account.count("ask"), hand.calls().len(), report.attempts), (0, 0, 0));
    assert!(report.seal.is_some());
}

fn needs_approval(ladder: &[Rung]) -> Terms {
    Terms { needs_approval: true, ladder: ladder.to_vec(), ..terms() }
}

#[tokio::test]
async fn what_a_human_must_approve_is_done_once_they_did() {
    let ladder = [rung(Step::Hitl, false)];
    let rig = Rig::new();
    let plan = || usual(&rig, needs_approval(&ladder));
    let ended = rig.run(plan()).await;
    assert_eq!((ended.outcome, rig.account.count("ask")), (Outcome::Escalated, 0));
    assert_eq!(fell_back(&rig).await, [(Trigger::Approval, Step::Hitl)]);
    assert_eq!(rig.resume(plan()).await.unwrap(), ended);
    let ended = answer(&rig, plan(), Answer::Continue { attempts: 1 }).await.unwrap();
    assert_eq!((ended.outcome, rig.account.count("ask")), (Outcome::Verified, 1));

    for (given, waived) in [(Answer::Reject, false), (Answer::Waive, true)] {
        let rig = Rig::new();
        let plan = || usual(&rig, needs_approval(&ladder));
        rig.run(plan()).await;
        let ended = answer(&rig, plan(), given).await.unwrap();
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "approval_required"));
        assert_eq!((rig.account.count("ask"), rig.report().await.waived), (0, waived));
    }
}

#[tokio::test]
async fn without_a_human_on_the_ladder_nothing_is_approved() {
    let rig = Rig::new();
    let ended = rig.run(usual(&rig, needs_approval(&[rung(Step::CacheBundle, false)]))).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "approval_required"));
    assert_eq!(rig.account.count("ask"), 0);
    assert_eq!(fell_back(&rig).await, [(Trigger::Approval, Step::Abstain)]);
}

#[tokio::test]
async fn the_act_stage_stops_a_delegate_that_hangs() {
    let short = || Terms { stages: StageBudgets { act_ms: 100, ..terms().stages }, ..terms() };
    let (rig, _) = Rig::watched();
    let account = rig.account.clone();
    let (ended, report) =
        rig.whole(under(rig.plan(Arc::new(Hangs(account.clone())), []), short())).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_act"));
    assert_eq!(report.attempts, 0);
    assert!(account.place("stopped") < account.place("append outcome.decided"));

    // One that heeds no token is dropped with what it holds.
    let rig = Rig::new();
    let (held, mut dropped) = tokio::sync::mpsc::channel::<()>(1);
    let delegate = FunctionDelegate::new("deaf", move |_| {
        let held = held.clone();
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let ended = rig.run(under(rig.plan(Arc::new(delegate), []), short())).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_act"));
    assert_eq!(bounded(dropped.recv()).await, None);
}

#[tokio::test]
async fn without_time_for_the_act_something_smaller_acts_or_nobody() {
    let pressed = |plan: Plan| {
        let mut plan = plan;
        plan.policy.wall_ms = Some(MINUTE_MS);
        plan
    };
    let rig = Rig::new();
    let ended = rig.run(pressed(usual(&rig, terms()))).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "time_pressure"));
    assert_eq!(rig.account.count("ask"), 0);
    assert_eq!(fell_back(&rig).await, [(Trigger::Time, Step::Abstain)]);

    for step in [Step::SmallModel, Step::RulesOnly] {
        let rig = Rig::new();
        let ladder = vec![rung(step, true)];
        let mut plan = pressed(usual(&rig, Terms { ladder, ..terms() }));
        plan.rungs = vec![(step, worker(&rig, "small") as Arc<dyn Delegate>)];
        let ended = rig.run(plan).await;
        assert_eq!(ended.delivered.unwrap().response, "small");
        assert_eq!(fell_back(&rig).await, [(Trigger::Time, step)]);
    }
}

/// A clock that is set forward.
#[derive(Default)]
struct Ahead(AtomicU64);

impl Clock for Ahead {
    fn now_ms(&self) -> u64 {
        SystemClock.now_ms() + self.0.load(Ordering::SeqCst)
    }
}

/// Runs until the second round has to make do with a smaller model.
struct Pressed {
    rig: Rig,
    clock: Arc<Ahead>,
    small: Arc<ScriptedDelegate>,
}

impl Pressed {
    fn new() -> Self {
        let rig = Rig::new();
        let steps = [Scripted::claim("All done!"), crate::rig::writes("out.txt", "small")];
        let small = Arc::new(ScriptedDelegate::new(rig.path(), steps).allow_repeats());
        Self { rig, clock: Arc::default(), small }
    }

    /// The usual delegate takes fifty seconds for nothing, and begins a conversation.
    fn plan(&self, small: Arc<dyn Delegate>) -> Plan {
        let clock = Arc::clone(&self.clock);
        let slow = FunctionDelegate::new("slow", move |_: Request| {
            clock.0.fetch_add(50_000, Ordering::SeqCst);
            let claim = Answered::of(Claim::text("All done!"));
            std::future::ready(Ok(Answered { session: Some("s-slow".to_owned()), ..claim }))
        });
        let stages = StageBudgets { act_ms: 55_000, verify_ms: 5_000, ..terms().stages };
        let ladder = vec![rung(Step::SmallModel, true)];
        let check = Eye::file(&self.rig, "out.txt").check("out");
        let plan = self.rig.plan(Arc::new(slow.same_conversation()), [check]);
        let mut plan = under(plan, Terms { stages, ladder, ..terms() });
        plan.policy.wall_ms = Some(100_000);
        plan.rungs = vec![(Step::SmallModel, small)];
        plan
    }

    fn engine(&self) -> Engine {
        Engine::new(Arc::clone(&self.rig.store), Arc::clone(&self.clock) as Arc<dyn Clock>)
    }

    /// A delegate that was not there before is told everything, and is given nobody else's
    /// conversation.
    fn holds(&self, ended: &Ended) {
        assert_eq!(ended.outcome, Outcome::Verified);
        let request = &self.small.requests()[0];
        assert_eq!((request.attempt, &request.session), (2, &None));
        let told = request.prompt.render(self.small.conversation());
        for part in [TASK, "All done!", "file `out.txt` does not exist"] {
            assert!(told.contains(part), "no `{part}` in {told}");
        }
        assert_eq!(self.small.conversation(), Conversation::Same);
        assert_eq!(self.small.violations(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_delegate_that_takes_over_is_told_the_task_and_starts_a_conversation_of_its_own() {
    let pressed = Pressed::new();
    let engine = pressed.engine();
    let plan = pressed.plan(pressed.small.clone());
    let ended = bounded(engine.run(plan, &Unwatched, CancellationToken::new())).await.unwrap();
    pressed.holds(&ended);
    assert_eq!(fell_back(&pressed.rig).await, [(Trigger::Time, Step::SmallModel)]);
}

#[tokio::test]
async fn so_it_is_when_the_driver_dies_in_between() {
    let pressed = Pressed::new();
    let (engine, stop) = (pressed.engine(), Notify::new());
    let watch = When("degrade.chosen", || stop.notify_one());
    let hangs = Arc::new(Hangs(pressed.rig.account.clone()));
    tokio::select! {
        biased;
        () = stop.notified() => {}
        _ = engine.run(pressed.plan(hangs), &watch, CancellationToken::new()) => panic!("it ended"),
    }
    let plan = pressed.plan(pressed.small.clone());
    let resumed = engine.resume(plan, &Unwatched, CancellationToken::new());
    let ended = bounded(resumed).await.unwrap();
    pressed.holds(&ended);
}

/// The ladder replaces the policy's own word on who is called.
#[tokio::test]
async fn an_exhausted_decision_goes_to_its_ladder() {
    let rig = Rig::new();
    let ladder = vec![rung(Step::Hitl, false)];
    let plan = || {
        let check = Eye::file(&rig, "out.txt").check("out");
        let mut plan = under(
            rig.plan(late_worker(&rig), [check]),
            Terms { ladder: ladder.clone(), ..terms() },
        );
        plan.policy.max_attempts = 1;
        plan
    };
    let ended = rig.run(plan()).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Escalated, "exhausted"));
    let ended = answer(&rig, plan(), Answer::Continue { attempts: 1 }).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(drifts(&rig).await, [Some(Drift::Yellow), None]);
}

/// A hook on the prompt sees the prompt of the delegate that the ladder chose, not of the usual one.
#[tokio::test]
async fn a_hook_on_the_prompt_is_called_for_the_delegate_that_acts() {
    let rig = Rig::new();
    let small = rig.scripted([probity_delegate::Step::claim("done")]);
    let hand = crate::hand::Hand::appends(&rig, "prompt", " Be brief.");
    let ladder = vec![rung(Step::CacheBundle, true)];
    let mut plan = usual(&rig, Terms { features: vec![stale()], ladder, ..terms() });
    plan.policy.max_attempts = 1;
    plan.rungs = vec![(Step::CacheBundle, small.clone() as Arc<dyn Delegate>)];
    plan.hooks = vec![hand.at(probity_core::HookPoint::AttemptStart, "brief")];
    rig.run(plan).await;
    let names = rig.names().await;
    let place = |name: &str| names.iter().position(|it| *it == name).unwrap();
    assert!(place("degrade.chosen") < place("hook.called"), "{names:?}");
    assert_eq!(hand.calls().len(), 1);
    let told = small.requests()[0].prompt.rewritten.clone().unwrap();
    assert!(told.ends_with(" Be brief."), "{told}");
}

/// Where an envelope names who approves, nobody else's answer lets the decision act.
#[tokio::test]
async fn only_the_approver_approves() {
    let rig = Rig::new();
    let needs = || Terms { needs_approval: true, ladder: vec![rung(Step::Hitl, false)], ..terms() };
    let plan = |approver: &str| {
        let approver = Some(approver.to_owned());
        Plan { approver, ..usual(&rig, needs()) }
    };
    assert_eq!(rig.run(plan("kim")).await.outcome, Outcome::Escalated);
    let records = rig.records().await;
    for given in [Answer::Continue { attempts: 1 }, Answer::Waive, Answer::Reject] {
        let error = answer(&rig, plan("kim"), given).await.unwrap_err();
        assert_eq!(error.code(), "answer_not_asked");
        assert!(error.to_string().contains("kim"), "{error}");
    }
    assert_eq!((rig.records().await, rig.account.count("ask")), (records, 0));
    let given = Answer::Continue { attempts: 1 };
    let ended = answer(&rig, plan("ada@example.org"), given).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
}

/// The approver of an action is not asked about a refusal: that is for whoever runs it.
#[tokio::test]
async fn the_approver_is_asked_about_the_approval_alone() {
    let rig = Rig::new();
    let needs = || Terms { ladder: vec![rung(Step::Hitl, false)], ..terms() };
    let plan = || {
        let checks = [Eye::file(&rig, "none").check("none")];
        let mut plan = under(rig.plan(worker(&rig, "w"), checks), needs());
        (plan.approver, plan.policy.max_attempts) = (Some("kim".to_owned()), 1);
        plan
    };
    assert_eq!(rig.run(plan()).await.outcome, Outcome::Escalated);
    assert_eq!(answer(&rig, plan(), Answer::Reject).await.unwrap().outcome, Outcome::Exhausted);
}

/// What the log does not tell apart must be in the request.
#[tokio::test]
async fn a_plan_with_more_than_checks_must_state_its_request() {
    let rig = Rig::new();
    let none = |plan: Plan| Plan { request: b"{}".to_vec(), ..plan };
    let plain = || rig.plan(worker(&rig, "w"), [Eye::file(&rig, "out.txt").check("out")]);
    let hand = crate::hand::Hand::allows(&rig);
    let hooks = vec![hand.at(probity_core::HookPoint::AttemptEnd, "h")];
    let policed = [hand.check(probity_engine::VerifyEvent::PostVerify, "v")];
    let rungs = vec![(Step::SmallModel, worker(&rig, "small") as Arc<dyn Delegate>)];
    for plan in [
        Plan { hooks, ..plain() },
        Plan { rungs, ..plain() },
        rig.plan(worker(&rig, "w"), policed),
        usual(&rig, terms()),
    ] {
        let error = rig.try_run(none(plan)).await.unwrap_err();
        assert_eq!(error.code(), "plan_incomplete");
        assert!(error.to_string().contains("`request`"), "{error}");
    }
    assert!(rig.records().await.is_empty());
    assert_eq!(rig.run(none(plain())).await.outcome, Outcome::Verified);
}
