//! Hooks that are called by themselves: before the run and each attempt, after each verdict, and
//! before a claim is handed on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use probity_core::{Code, Fault, HookDecision, HookPoint, Judgement, Outcome, Verdict};
use probity_delegate::{FunctionDelegate, Step};
use probity_engine::{Hook, Plan, Reply};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::hand::{Hand, decisions};
use crate::rig::{Eye, Hangs, Rig, TASK, Unwatched, When, bounded, late_worker, liar, writes};

fn hooked(plan: Plan, hooks: impl IntoIterator<Item = Hook>) -> Plan {
    Plan { hooks: hooks.into_iter().collect(), ..plan }
}

/// Works at once, under one check, with hooks.
fn honest(rig: &Rig, hooks: impl IntoIterator<Item = Hook>) -> Plan {
    let delegate = rig.scripted([writes("out.txt", "hello")]);
    hooked(rig.plan(delegate, [Eye::file(rig, "out.txt").check("out")]), hooks)
}

async fn text(rig: &Rig, digest: probity_core::Digest) -> String {
    let blob = rig.store.get(&digest, 1 << 20).await.unwrap().expect("the blob is there");
    String::from_utf8(blob).unwrap()
}

#[tokio::test]
async fn each_is_called_at_its_place_once() {
    let (rig, _) = Rig::watched();
    let hand = Hand::allows(&rig);
    let hooks = HookPoint::ALL.map(|point| hand.at(point, point.as_str()));
    let check = Eye::file(&rig, "out.txt").check("out");
    let ended = rig.run(hooked(rig.plan(late_worker(&rig), [check]), hooks)).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(
        rig.account.lines(),
        [
            "append run.opened",
            "read",
            "append world.observed check.started",
            "look before out",
            "append check.red",
            "read",
            "append world.observed hook.called",
            "call delegation.pre delegation.pre",
            "append hook.answered hook.called",
            "call attempt.start attempt.start",
            "append hook.answered delegate.dispatched",
            "ask 0",
            "append claim.received",
            "read",
            "append world.observed check.started",
            "look after out",
            "append check.finished verdict.merged hook.called",
            "call attempt.end attempt.end",
            "append hook.answered hook.called",
            "call attempt.start attempt.start",
            "append hook.answered delegate.dispatched",
            "ask 1",
            "append claim.received",
            "read",
            "append world.observed check.started",
            "look after out",
            "append check.finished verdict.merged hook.called",
            "call attempt.end attempt.end",
            "append hook.answered hook.called",
            "call delegation.post delegation.post",
            "append hook.answered outcome.decided run.sealed",
        ]
    );
    let attempts: Vec<_> = hand.calls().iter().map(|call| call.attempt).collect();
    assert_eq!(attempts, [0, 1, 1, 2, 2, 2]);
    for call in hand.calls() {
        assert_eq!(call.payload["attempt"], call.attempt, "{}", call.event);
        assert_eq!(call.payload["max_attempts"], 3);
        assert_eq!(call.payload["task"], TASK);
        assert!(!call.is_replay);
    }
    assert!(rig.report().await.hooks.is_empty());
}

#[tokio::test]
async fn before_the_run_a_hook_sees_the_task_and_the_names_of_the_checks() {
    let rig = Rig::new();
    let hand = Hand::allows(&rig);
    let mut plan = honest(&rig, [hand.at(HookPoint::DelegationPre, "pre")]);
    plan.agent = "coder".into();
    plan.decision = Arc::new(json!({ "decisionType": "refund" }));
    assert_eq!(rig.run(plan).await.outcome, Outcome::Verified);
    assert_eq!(
        hand.shown(),
        json!({
            "run": "run-1", "task": TASK, "agent": "coder", "attempt": 0, "max_attempts": 3,
            "changes": hand.shown()["changes"], "decision": { "decisionType": "refund" },
            "checks": ["out"],
        })
    );
    assert!(hand.shown()["changes"].is_object());
}

#[tokio::test]
async fn before_the_run_a_block_keeps_the_delegate_from_the_task() {
    let rig = Rig::new();
    let late = Hand::allows(&rig);
    let hooks = [
        Hand::blocks(&rig, "not on a Friday").at(HookPoint::DelegationPre, "friday"),
        late.at(HookPoint::DelegationPre, "late"),
    ];
    let ended = rig.run(honest(&rig, hooks)).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "hook_blocked"));
    assert_eq!((rig.account.count("ask"), late.calls().len()), (0, 0));
    let report = rig.report().await;
    assert_eq!((report.attempts, report.hooks.len()), (0, 1));
    let hook = &report.hooks[0];
    assert_eq!((hook.id.as_str(), hook.event), ("friday", "delegation.pre"));
    assert_eq!((hook.action, hook.text.as_str()), ("block", "not on a Friday"));
    assert!(report.seal.is_some());
}

#[tokio::test]
async fn a_rewritten_task_is_what_the_delegate_gets_and_the_checks_see() {
    let rig = Rig::new();
    let hooks = [
        Hand::appends(&rig, "task", " One.").at(HookPoint::DelegationPre, "one"),
        Hand::appends(&rig, "task", " Two.").at(HookPoint::DelegationPre, "two"),
    ];
    let rewritten = "Write out.txt. One. Two.";
    let eye = Eye::new(&rig, move |ctx| {
        let is_rewritten = ctx.task.as_ref() == rewritten;
        std::future::ready(Ok(match is_rewritten {
            true => Verdict::pass(),
            false => Verdict::revise("task", ctx.task.as_ref()),
        }))
    });
    let delegate = rig.scripted([Step::claim("done")]);
    let plan = hooked(rig.plan(delegate.clone(), [eye.check("c")]), hooks);
    let (ended, report) = rig.whole(plan).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    let prompt = &delegate.requests()[0].prompt;
    assert_eq!((prompt.task.as_ref(), &prompt.rewritten), (rewritten, &None));
    let [_, HookDecision::Modify { to, delta }] = decisions(&rig).await[..] else {
        panic!("two modifications")
    };
    assert_eq!(text(&rig, to).await, rewritten);
    let delta: Value = serde_json::from_str(&text(&rig, delta).await).unwrap();
    let expected = json!({
        "hook": "two", "event": "delegation.pre",
        "changed": { "task": { "from": "Write out.txt. One.", "to": rewritten } },
    });
    assert_eq!(delta, expected);
    let actions: Vec<_> = report.hooks.iter().map(|hook| hook.action).collect();
    assert_eq!(actions, ["modify", "modify"]);
}

#[tokio::test]
async fn a_rewritten_task_outlives_the_driver_and_the_hook_is_not_asked_again() {
    let rig = Rig::new();
    let hand = Hand::appends(&rig, "task", " Twice.");
    let plan = |delegate| {
        let check = Eye::file(&rig, "out.txt").check("out");
        hooked(rig.plan(delegate, [check]), [hand.at(HookPoint::DelegationPre, "pre")])
    };
    let (engine, stop) = (rig.engine(), Notify::new());
    let watch = When("delegate.dispatched", || stop.notify_one());
    let hangs = Arc::new(Hangs(rig.account.clone()));
    tokio::select! {
        biased;
        () = stop.notified() => {}
        _ = engine.run(plan(hangs), &watch, CancellationToken::new()) => panic!("it ended"),
    }
    let delegate = rig.scripted([writes("out.txt", "hello")]);
    assert_eq!(rig.resume(plan(delegate.clone())).await.unwrap().outcome, Outcome::Verified);
    assert_eq!(delegate.requests()[0].prompt.task.as_ref(), "Write out.txt. Twice.");
    assert_eq!(hand.calls().len(), 1);
}

#[tokio::test]
async fn a_hook_in_flight_is_called_again_and_told_so() {
    let rig = Rig::new();
    let hand = Hand::allows(&rig);
    let plan = || honest(&rig, [hand.at(HookPoint::AttemptStart, "start")]);
    let (engine, stop) = (rig.engine(), Notify::new());
    let watch = When("hook.called", || stop.notify_one());
    tokio::select! {
        biased;
        () = stop.notified() => {}
        _ = engine.run(plan(), &watch, CancellationToken::new()) => panic!("it ended"),
    }
    assert_eq!(rig.resume(plan()).await.unwrap().outcome, Outcome::Verified);
    let last = hand.calls().last().unwrap().clone();
    assert!(last.is_replay);
    assert_eq!(decisions(&rig).await, [HookDecision::Allow]);
}

/// A hook that breaks is never read as "allow", wherever it stands.
#[tokio::test]
async fn a_hook_that_breaks_ends_the_run_as_faulted() {
    let broken = |rig: &Rig| {
        [
            (Hand::says(rig, Err(Fault::new("script_raise", "division by zero"))), "script_raise"),
            (Hand::new(rig, |_, _| async { panic!("broken") }), "verifier_panic"),
            (Hand::edits(rig, |payload| drop(payload.insert("run".into(), "x".into()))), FIELD),
            (Hand::edits(rig, |payload| drop(payload.remove("max_attempts"))), FIELD),
            (Hand::edits(rig, |payload| drop(payload.insert("new".into(), 1.into()))), FIELD),
        ]
    };
    const FIELD: &str = "hook_modify_field";
    for point in HookPoint::ALL {
        for nth in 0..5 {
            let rig = Rig::new();
            let (hand, code) = broken(&rig)[nth].clone();
            let ended = rig.run(honest(&rig, [hand.at(point, "h")])).await;
            assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, code), "{point:?}");
            assert_eq!(ended.delivered, None);
            let report = rig.report().await;
            assert_eq!((report.hooks[0].action, report.hooks.len()), ("fault", 1));
            assert_eq!(report.hooks[0].code.as_ref().map(Code::as_str), Some(code));
            assert_eq!(hand.calls().len(), 1, "{point:?}");
            assert!(report.seal.is_some());
        }
    }
}

#[tokio::test]
async fn what_is_put_in_the_place_of_a_text_is_a_text() {
    let points = [(HookPoint::DelegationPre, "task"), (HookPoint::AttemptStart, "prompt")];
    for (point, key) in points {
        for value in [json!(5), json!(null), json!(" \n"), json!(["x"])] {
            let rig = Rig::new();
            let hand = Hand::edits(&rig, move |payload| {
                payload.insert(key.to_owned(), value.clone());
            });
            let ended = rig.run(honest(&rig, [hand.at(point, "h")])).await;
            let code = ended.code.as_str();
            assert_eq!((ended.outcome, code), (Outcome::Faulted, "hook_modify_type"));
            assert_eq!(rig.account.count("ask"), 0);
        }
    }
    let rig = Rig::new();
    let hand = Hand::edits(&rig, |payload| drop(payload.insert("tool_calls".into(), "x".into())));
    let ended = rig.run(honest(&rig, [hand.at(HookPoint::DelegationPost, "h")])).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "hook_modify_type"));
}

#[tokio::test]
async fn a_hook_that_cannot_reach_what_it_looks_at_leaves_the_run_inconclusive() {
    for point in HookPoint::ALL {
        let rig = Rig::new();
        let code = Code::slug("http_unreachable");
        let reply = Reply::Inconclusive { code, reason: "no route".to_owned() };
        let ended = rig.run(honest(&rig, [Hand::says(&rig, Ok(reply)).at(point, "h")])).await;
        assert_eq!(
            (ended.outcome, &*ended.code.to_string()),
            (Outcome::Inconclusive, "http_unreachable")
        );
        assert_eq!(ended.delivered, None);
        let report = rig.report().await;
        let hook = &report.hooks[0];
        assert_eq!((hook.action, hook.text.as_str()), ("inconclusive", "no route"));
    }
}

#[tokio::test]
async fn a_hook_that_never_answers_is_given_up() {
    for point in HookPoint::ALL {
        let rig = Rig::new();
        let started = Instant::now();
        let ended = rig.run(honest(&rig, [Hand::hangs(&rig).timed(point, "h", 50)])).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "verifier_overrun"));
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hook_that_blocks_its_thread_is_given_up_too() {
    let rig = Rig::new();
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(std::sync::Mutex::new(blocked));
    let hand = Hand::new(&rig, move |_, _| {
        let blocked = Arc::clone(&blocked);
        async move {
            let _ = blocked.lock().unwrap().recv();
            Ok(Reply::Allow)
        }
    });
    let engine = rig.engine();
    let plan = honest(&rig, [hand.timed(HookPoint::DelegationPre, "h", 50)]);
    let run = engine.run(plan, &Unwatched, CancellationToken::new());
    let ended = tokio::time::timeout(Duration::from_secs(20), run).await;
    drop(release);
    let ended = ended.expect("the run waits for the hook").unwrap();
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "verifier_overrun"));
}

#[tokio::test]
async fn a_cancelled_run_does_not_wait_for_a_hook() {
    let told = Arc::new(Notify::new());
    for heeds in [true, false] {
        let rig = Rig::new();
        let told = Arc::clone(&told);
        let hand = Hand::new(&rig, move |ctx, _| {
            let told = Arc::clone(&told);
            async move {
                if heeds {
                    ctx.cancel.cancelled().await;
                    told.notify_one();
                }
                std::future::pending().await
            }
        });
        let cancel = CancellationToken::new();
        let watch = When("hook.called", || cancel.cancel());
        let engine = rig.engine();
        let plan = honest(&rig, [hand.timed(HookPoint::DelegationPre, "h", 100)]);
        let ended = bounded(engine.run(plan, &watch, cancel.clone())).await.unwrap();
        assert_eq!((ended.outcome, rig.account.count("ask")), (Outcome::Cancelled, 0));
    }
    bounded(told.notified()).await;
}

#[tokio::test]
async fn a_rewritten_prompt_is_told_to_the_letter_and_for_one_attempt() {
    let rig = Rig::new();
    let first = Hand::new(&rig, |ctx, mut payload| {
        let is_first = ctx.attempt == 1;
        payload.insert("prompt".to_owned(), "Only this".into());
        let edited = Reply::Modify { payload };
        std::future::ready(Ok(if is_first { edited } else { Reply::NotApplicable }))
    });
    let second = Hand::new(&rig, |ctx, mut payload| {
        let is_first = ctx.attempt == 1;
        let was = payload["prompt"].as_str().unwrap().to_owned();
        payload.insert("prompt".to_owned(), format!("{was}, please.").into());
        let edited = Reply::Modify { payload };
        std::future::ready(Ok(if is_first { edited } else { Reply::Allow }))
    });
    let delegate = rig.scripted([Step::claim("done"), writes("out.txt", "hello")]);
    let check = Eye::file(&rig, "out.txt").check("out");
    let hooks =
        [first.at(HookPoint::AttemptStart, "first"), second.at(HookPoint::AttemptStart, "second")];
    let plan = hooked(rig.plan(delegate.clone(), [check]), hooks);
    assert_eq!(rig.run(plan).await.outcome, Outcome::Verified);
    let told: Vec<_> = delegate
        .requests()
        .iter()
        .map(|request| request.prompt.render(probity_delegate::Conversation::Same))
        .collect();
    assert_eq!(told[0], "Only this, please.");
    assert!(told[1].contains("file `out.txt` does not exist"), "{}", told[1]);
    // What the hook saw the second time is what the delegate was then told.
    assert_eq!(first.shown()["prompt"], told[1]);
    assert_eq!(second.calls()[0].payload["prompt"], "Only this");
    assert_eq!(delegate.requests()[0].prompt.task.as_ref(), TASK);
}

#[tokio::test]
async fn a_block_before_an_attempt_ends_the_run() {
    let rig = Rig::new();
    let hand = Hand::new(&rig, |ctx, _| {
        let block = Reply::Block { reason: "enough".to_owned() };
        std::future::ready(Ok(if ctx.attempt == 2 { block } else { Reply::Allow }))
    });
    let check = Eye::file(&rig, "out.txt").check("out");
    let plan = hooked(rig.plan(liar(), [check]), [hand.at(HookPoint::AttemptStart, "h")]);
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "hook_blocked"));
    assert_eq!((report.attempts, rig.account.count("ask")), (1, 1));
}

#[tokio::test]
async fn after_a_verdict_a_hook_sees_it_with_its_reasons() {
    let rig = Rig::new();
    let hand = Hand::allows(&rig);
    let check = Eye::file(&rig, "out.txt").check("out");
    let plan =
        hooked(rig.plan(late_worker(&rig), [check]), [hand.at(HookPoint::AttemptEnd, "end")]);
    rig.run(plan).await;
    let seen: Vec<_> = hand.calls().iter().map(|call| call.payload["verdict"].clone()).collect();
    let revised = json!({
        "verified": false, "judgement": "revise", "code": "file_missing", "counted": true,
        "checks": [{
            "id": "out", "verdict": "revise", "code": "file_missing",
            "reason": "file `out.txt` does not exist",
        }],
    });
    let passed = json!({
        "verified": true, "judgement": "pass", "code": "ok", "counted": true,
        "checks": [{ "id": "out", "verdict": "pass", "code": "ok", "reason": "" }],
    });
    assert_eq!(seen, [revised, passed]);
    assert_eq!(hand.calls()[0].payload["response"], "done, round 0");
    assert_eq!(hand.calls()[1].payload["changes"]["created"], json!(["out.txt"]));
}

#[tokio::test]
async fn after_a_verdict_that_was_not_charged_the_attempt_is_still_the_first() {
    let answers = [
        (Err(Fault::new("script_raise", "boom")), "fault", Outcome::Faulted),
        (Ok(Verdict::inconclusive("no_route", "")), "inconclusive", Outcome::Inconclusive),
    ];
    for (answer, judgement, outcome) in answers {
        let rig = Rig::new();
        let hand = Hand::allows(&rig);
        let mut plan = hooked(
            rig.plan(liar(), [Eye::then(&rig, answer).check("c")]),
            [hand.at(HookPoint::AttemptEnd, "end")],
        );
        plan.policy.max_verify_tries = 1;
        assert_eq!(rig.run(plan).await.outcome, outcome);
        assert_eq!((hand.calls().len(), hand.shown()["attempt"].as_u64()), (1, Some(1)));
        let verdict = hand.shown()["verdict"].clone();
        assert_eq!(
            (verdict["judgement"].as_str(), &verdict["counted"]),
            (Some(judgement), &json!(false))
        );
    }
}

#[tokio::test]
async fn after_a_verdict_a_block_ends_the_run_whatever_the_verdict() {
    for (delegate, judgement) in [(true, Judgement::Pass), (false, Judgement::Revise)] {
        let rig = Rig::new();
        let step = if delegate { writes("out.txt", "x") } else { Step::claim("done") };
        let check = Eye::file(&rig, "out.txt").check("out");
        let post = Hand::allows(&rig);
        let hooks = [
            Hand::blocks(&rig, "stop").at(HookPoint::AttemptEnd, "end"),
            post.at(HookPoint::DelegationPost, "post"),
        ];
        let (ended, report) =
            rig.whole(hooked(rig.plan(rig.scripted([step]), [check]), hooks)).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "hook_blocked"));
        assert_eq!((ended.delivered, report.history[0].verdict), (None, judgement));
        assert!(post.calls().is_empty());
        assert_eq!(rig.account.count("ask"), 1);
    }
}

/// A block says that the claim is not good enough. It cannot say so where nobody knows.
#[tokio::test]
async fn a_broken_check_stays_broken_behind_a_hook() {
    let code = Code::slug("no_route");
    let replies = [
        Reply::Block { reason: "stop".to_owned() },
        Reply::Inconclusive { code, reason: String::new() },
        Reply::Allow,
    ];
    for reply in replies {
        let rig = Rig::new();
        let eye = Eye::then(&rig, Err(Fault::new("script_raise", "boom")));
        let end = Hand::says(&rig, Ok(reply)).at(HookPoint::AttemptEnd, "end");
        let ended = rig.run(hooked(rig.plan(liar(), [eye.check("c")]), [end])).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "script_raise"));
    }
}

#[tokio::test]
async fn after_a_verdict_nothing_may_be_modified() {
    let rig = Rig::new();
    let hand = Hand::appends(&rig, "response", "!");
    let ended = rig.run(honest(&rig, [hand.at(HookPoint::AttemptEnd, "end")])).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "hook_modify_field"));
    let rig = Rig::new();
    let same = Hand::edits(&rig, |_| ());
    let ended = rig.run(honest(&rig, [same.at(HookPoint::AttemptEnd, "end")])).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(decisions(&rig).await, [HookDecision::Allow]);
}

#[tokio::test]
async fn an_edit_behind_the_verdict_is_delivered_and_labelled() {
    let rig = Rig::new();
    let hooks = [
        Hand::appends(&rig, "response", " [signed").at(HookPoint::DelegationPost, "sign"),
        Hand::appends(&rig, "response", "]").at(HookPoint::DelegationPost, "close"),
    ];
    let plan = || honest(&rig, hooks.clone());
    let (ended, report) = rig.whole(plan()).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Verified, "ok"));
    assert!(ended.is_edited);
    assert_eq!(ended.delivered.as_ref().unwrap().response, "wrote it [signed]");
    assert!(report.edited);
    assert_eq!(report.claim.unwrap().response, "wrote it");
    assert_eq!(report.delivered.unwrap().response, "wrote it [signed]");
    assert_eq!(report.history[0].response, "wrote it");
    let deltas: Vec<Value> =
        report.hooks.iter().map(|hook| serde_json::from_str(&hook.text).unwrap()).collect();
    let expected = json!({ "response": { "from": "wrote it [signed", "to": "wrote it [signed]" } });
    assert_eq!((&deltas[1]["changed"], &deltas[1]["hook"]), (&expected, &json!("close")));
    assert_eq!(rig.resume(plan()).await.unwrap(), ended);
}

#[tokio::test]
async fn the_same_claim_in_another_spelling_is_no_edit() {
    type Edit = fn(&mut serde_json::Map<String, Value>);
    let edits: [Edit; 3] = [
        |_| (),
        |payload| drop(payload.remove("tool_calls")),
        |payload| drop(payload.insert("output".to_owned(), Value::Null)),
    ];
    for edit in edits {
        let rig = Rig::new();
        let hand = Hand::edits(&rig, edit);
        let (ended, report) =
            rig.whole(honest(&rig, [hand.at(HookPoint::DelegationPost, "post")])).await;
        assert_eq!((ended.outcome, ended.is_edited), (Outcome::Verified, false));
        assert_eq!((report.edited, report.delivered), (false, None));
        assert_eq!(decisions(&rig).await, [HookDecision::Allow]);
    }
}

#[tokio::test]
async fn what_an_edit_leaves_out_is_in_its_delta() {
    let rig = Rig::new();
    let hand = Hand::edits(&rig, |payload| drop(payload.remove("response")));
    let (ended, report) =
        rig.whole(honest(&rig, [hand.at(HookPoint::DelegationPost, "post")])).await;
    assert_eq!(ended.delivered.unwrap().response, "");
    let delta: Value = serde_json::from_str(&report.hooks[0].text).unwrap();
    assert_eq!(delta["changed"], json!({ "response": { "from": "wrote it", "to": null } }));
}

#[tokio::test]
async fn a_claim_that_was_edited_and_then_refused_was_not_delivered() {
    let rig = Rig::new();
    let hooks = [
        Hand::appends(&rig, "response", "!").at(HookPoint::DelegationPost, "edit"),
        Hand::blocks(&rig, "no").at(HookPoint::DelegationPost, "no"),
    ];
    let (ended, report) = rig.whole(honest(&rig, hooks)).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Rejected, "hook_blocked"));
    assert_eq!((ended.delivered, ended.is_edited), (None, false));
    assert_eq!((report.delivered, report.edited), (None, false));
}

/// Every ending but a claim that is handed on.
#[tokio::test]
async fn behind_the_verdict_a_hook_is_called_only_where_the_claim_is_handed_on() {
    let launder = |rig: &Rig| {
        Hand::edits(rig, |payload| {
            payload.insert("response".to_owned(), "verified, really".into());
        })
    };
    let answers = [
        (Ok(Verdict::revise("no", "not there")), Outcome::Exhausted),
        (Ok(Verdict::fail("forged", "")), Outcome::Rejected),
        (Ok(Verdict::inconclusive("no_route", "")), Outcome::Inconclusive),
        (Err(Fault::new("script_raise", "")), Outcome::Faulted),
    ];
    for (answer, outcome) in answers {
        let rig = Rig::new();
        let hand = launder(&rig);
        let mut plan = hooked(
            rig.plan(liar(), [Eye::then(&rig, answer).check("c")]),
            [hand.at(HookPoint::DelegationPost, "post")],
        );
        plan.policy.max_verify_tries = 1;
        let (ended, report) = rig.whole(plan).await;
        assert_eq!((ended.outcome, ended.delivered), (outcome, None));
        assert_eq!((hand.calls().len(), report.edited), (0, false));
        assert_eq!(report.claim.unwrap().response, "All done!");
    }
    let failed = FunctionDelegate::new("f", |_| async {
        Err(probity_delegate::DelegateError::Failed { message: "no".to_owned() })
    });
    let rig = Rig::new();
    let hand = launder(&rig);
    let plan = hooked(rig.plan(Arc::new(failed), []), [hand.at(HookPoint::DelegationPost, "post")]);
    assert_eq!(rig.run(plan).await.outcome, Outcome::DelegateFailed);
    assert!(hand.calls().is_empty());
    // A claim that nothing checked is handed on with its label, and no hook takes that label off.
    let rig = Rig::new();
    let hand = launder(&rig);
    let plan = hooked(rig.plan(liar(), []), [hand.at(HookPoint::DelegationPost, "post")]);
    let ended = rig.run(plan).await;
    assert_eq!((ended.outcome, ended.is_edited), (Outcome::Unverified, true));
}

#[tokio::test]
async fn what_a_hook_says_is_bounded() {
    let rig = Rig::new();
    let long = "ä".repeat(100_000);
    rig.run(honest(&rig, [Hand::blocks(&rig, &long).at(HookPoint::AttemptEnd, "h")])).await;
    assert_eq!(rig.report().await.hooks[0].text.len(), 64 * 1024);

    let large = "x".repeat(probity_store::limits::MAX_BLOB_BYTES);
    for (point, key) in [
        (HookPoint::DelegationPre, "task"),
        (HookPoint::AttemptStart, "prompt"),
        (HookPoint::DelegationPost, "response"),
    ] {
        let rig = Rig::new();
        let large = large.clone();
        let hand = Hand::edits(&rig, move |payload| {
            payload.insert(key.to_owned(), large.clone().into());
        });
        let ended = rig.run(honest(&rig, [hand.at(point, "h")])).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "claim_too_large"));
    }
}
