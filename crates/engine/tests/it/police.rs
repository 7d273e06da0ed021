//! Verification hooks: checks that operator policy brings, behind those of the request.

use std::sync::Arc;

use probity_core::{
    Claim, Code, Event, Fault, Finding, HookPoint, Outcome, Rewrite, ToolCall, ToolResult, Verdict,
};
use probity_delegate::{Answered, FunctionDelegate, Step};
use probity_engine::{Plan, Reply, VerifyEvent};
use probity_record::claim_candidate;
use serde_json::{Map, Value, json};

use crate::hand::Hand;
use crate::rig::{Eye, Rig, TASK, liar, writes};

const POST: VerifyEvent = VerifyEvent::PostVerify;

/// What a hook does to a member.
type Change = fn(&mut Map<String, Value>, &str);

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: json!({ "path": id }) }
}

fn result(id: &str, content: &str) -> ToolResult {
    let (call_id, content) = (id.to_owned(), content.to_owned());
    ToolResult { call_id, name: "shell".to_owned(), content, is_error: false }
}

/// Says that it made two calls.
fn caller() -> Arc<FunctionDelegate> {
    Arc::new(FunctionDelegate::new("caller", |_| async {
        Ok(Answered::of(Claim {
            tool_calls: vec![call("c-1", "shell"), call("c-2", "browser")],
            tool_results: vec![result("c-1", "ok"), result("c-2", "404")],
            ..Claim::text("All done!")
        }))
    }))
}

fn once(plan: Plan) -> Plan {
    let mut plan = plan;
    plan.policy.max_attempts = 1;
    plan.policy.max_verify_tries = 1;
    plan
}

async fn rewrites(rig: &Rig) -> Vec<Rewrite> {
    let log = rig.log().await;
    let rewrite = |event: &Event| match event {
        Event::CheckFinished { rewrite, .. } => *rewrite,
        _ => None,
    };
    log.entries.iter().filter_map(|entry| rewrite(&entry.event)).collect()
}

#[tokio::test]
async fn every_block_is_told_behind_the_reasons_of_the_checks() {
    let rig = Rig::new();
    let checks = [
        Eye::file(&rig, "out.txt").check("out"),
        Hand::blocks(&rig, "style: no header").check(POST, "style"),
        Hand::blocks(&rig, "legal: no licence").check(POST, "legal"),
    ];
    let delegate = rig.scripted([Step::claim("done"), Step::claim("again")]);
    let mut plan = rig.plan(delegate.clone(), checks);
    plan.policy.max_attempts = 2;
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "attempts"));
    assert_eq!(report.history[0].code.as_str(), "file_missing");
    let told = delegate.requests()[1].prompt.correction.clone().unwrap();
    let places = ["file `out.txt` does not exist", "style: no header", "legal: no licence"]
        .map(|reason| told.find(reason).unwrap_or_else(|| panic!("no `{reason}` in {told}")));
    assert!(places.is_sorted(), "{told}");
    assert_eq!(told.matches("code=\"hook_blocked\"").count(), 2);
}

#[tokio::test]
async fn a_hook_is_shown_the_claim_and_what_was_found_before_it() {
    let rig = Rig::new();
    let hand = Hand::allows(&rig);
    let checks = [
        Eye::then(&rig, Ok(Verdict::revise("no", "not yet"))).check("a"),
        Eye::then(&rig, Err(Fault::new("script_raise", "boom"))).check("b"),
        Hand::blocks(&rig, "never").check(POST, "c"),
        hand.check(POST, "d"),
        Hand::allows(&rig).check(POST, "e"),
    ];
    let mut plan = once(rig.plan(caller(), checks));
    plan.agent = "coder".into();
    plan.decision = Arc::new(json!({ "decisionType": "refund" }));
    rig.run(plan).await;
    let shown = hand.shown();
    assert_eq!(
        shown,
        json!({
            "run": "run-1", "task": TASK, "agent": "coder", "attempt": 1, "max_attempts": 1,
            "decision": { "decisionType": "refund" }, "changes": shown["changes"],
            "response": "All done!",
            "tool_calls": [call("c-1", "shell"), call("c-2", "browser")],
            "tool_results": [result("c-1", "ok"), result("c-2", "404")],
            "verdict": {
                "verified": false, "judgement": "fault",
                "checks": [
                    { "id": "a", "verdict": "revise", "code": "no", "reason": "not yet" },
                    { "id": "b", "verdict": "fault", "code": "script_raise", "reason": "" },
                    { "id": "c", "verdict": "revise", "code": "hook_blocked", "reason": "never" },
                ],
            },
        })
    );
    assert_eq!(hand.calls()[0].event, "delegation.post_verify");
}

#[tokio::test]
async fn a_hook_sees_what_the_delegate_changed() {
    let rig = Rig::new();
    let hand = Hand::allows(&rig);
    let delegate = rig.scripted([writes("out.txt", "hello")]);
    let ended = rig.run(rig.plan(delegate, [hand.check(POST, "h")])).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Verified, "ok"));
    assert_eq!(hand.shown()["changes"]["created"], json!(["out.txt"]));
    let none = json!({ "verified": false, "judgement": "unverified", "checks": [] });
    assert_eq!(hand.shown()["verdict"], none);
}

/// One row per reply, alone and beside a check that passes.
#[tokio::test]
async fn what_a_hook_says_is_what_the_check_gives() {
    let code = Code::slug("no_route");
    let rows = [
        (Ok(Reply::Allow), Outcome::Verified, Outcome::Verified, "ok"),
        (Ok(Reply::NotApplicable), Outcome::Unverified, Outcome::Verified, "not_applicable"),
        (
            Ok(Reply::Block { reason: String::new() }),
            Outcome::Exhausted,
            Outcome::Exhausted,
            "attempts",
        ),
        (
            Ok(Reply::Inconclusive { code, reason: String::new() }),
            Outcome::Inconclusive,
            Outcome::Inconclusive,
            "no_route",
        ),
        (Err(Fault::new("script_raise", "")), Outcome::Faulted, Outcome::Faulted, "script_raise"),
    ];
    for (reply, alone, beside, code) in rows {
        let rig = Rig::new();
        let ended =
            rig.run(once(rig.plan(liar(), [Hand::says(&rig, reply.clone()).check(POST, "h")])));
        let ended = ended.await;
        assert_eq!((ended.outcome, ended.code.as_str()), (alone, code), "{reply:?}");
        let rig = Rig::new();
        let checks = [
            Eye::then(&rig, Ok(Verdict::pass())).check("c"),
            Hand::says(&rig, reply.clone()).check(POST, "h"),
        ];
        let ended = rig.run(once(rig.plan(liar(), checks))).await;
        assert_eq!(ended.outcome, beside, "{reply:?}");
    }
}

#[tokio::test]
async fn a_hook_that_breaks_is_a_fault_whatever_the_checks_say() {
    let hands: [fn(&Rig) -> Arc<Hand>; 3] = [
        |rig| Hand::new(rig, |_, _| async { panic!("broken") }),
        Hand::hangs,
        |rig| Hand::edits(rig, |payload| drop(payload.insert("attempt".into(), 9.into()))),
    ];
    let codes = ["verifier_panic", "verifier_overrun", "hook_modify_field"];
    for (hand, code) in hands.iter().zip(codes) {
        for answer in [Verdict::pass(), Verdict::fail("forged", ""), Verdict::revise("no", "")] {
            let rig = Rig::new();
            let checks = [Eye::then(&rig, Ok(answer)).check("c"), hand(&rig).checks(POST, "h", 50)];
            let (ended, report) = rig.whole(rig.plan(liar(), checks)).await;
            assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, code));
            assert_eq!((report.attempts, rig.account.count("ask")), (0, 1));
            assert_eq!(report.checks[1].verdict, "fault");
        }
    }
}

#[tokio::test]
async fn all_that_is_not_the_claim_stays_as_it_is() {
    for key in ["run", "task", "agent", "attempt", "max_attempts", "changes", "decision", "verdict"]
    {
        let changes: [Change; 2] = [
            |payload, key| drop(payload.insert(key.to_owned(), "forged".into())),
            |payload, key| drop(payload.remove(key)),
        ];
        for change in changes {
            let rig = Rig::new();
            let hand = Hand::edits(&rig, move |payload| change(payload, key));
            let (ended, report) = rig.whole(rig.plan(liar(), [hand.check(POST, "h")])).await;
            let code = ended.code.as_str();
            assert_eq!((ended.outcome, code), (Outcome::Faulted, "hook_modify_field"), "{key}");
            assert!(report.checks[0].reason.contains(&format!("`{key}`")));
        }
    }
    let wrong = [
        ("response", json!(5)),
        ("tool_calls", json!({})),
        ("tool_calls", json!([{ "name": 1 }])),
        ("tool_results", json!("none")),
    ];
    for (key, value) in wrong {
        let rig = Rig::new();
        let hand = Hand::edits(&rig, move |payload| {
            payload.insert(key.to_owned(), value.clone());
        });
        let ended = rig.run(rig.plan(liar(), [hand.check(POST, "h")])).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "hook_modify_type"));
    }
}

#[tokio::test]
async fn a_rewritten_claim_is_what_the_next_hook_sees_and_what_is_delivered() {
    let rig = Rig::new();
    let last = Hand::allows(&rig);
    let checks = [
        Eye::file(&rig, "out.txt").check("out"),
        Hand::appends(&rig, "response", " one").check(POST, "one"),
        Hand::appends(&rig, "response", " two").check(POST, "two"),
        last.check(POST, "last"),
    ];
    let plan = |checks| {
        let answered =
            Answered { session: Some("s-1".to_owned()), ..Answered::of(Claim::text("")) };
        let step = Step::answer(answered).does(|dir| std::fs::write(dir.join("out.txt"), "x"));
        rig.plan(rig.scripted([step]), checks)
    };
    let (ended, report) = rig.whole(plan(checks.clone().to_vec())).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Verified, "ok"));
    assert_eq!(last.shown()["response"], " one two");
    assert_eq!(ended.delivered.as_ref().unwrap().response, " one two");
    // It is what was verified: no edit behind the verdict.
    assert_eq!((ended.is_edited, report.edited, &report.delivered), (false, false, &None));
    assert_eq!(report.claim.as_ref().unwrap().response, " one two");
    // The history is the delegate's own words, under the hash of its own claim.
    assert_eq!(report.history[0].response, "");
    assert_eq!(report.history[0].candidate, claim_candidate(&Claim::text("")));
    let codes: Vec<_> =
        report.checks.iter().map(|check| check.code.as_ref().unwrap().as_str()).collect();
    assert_eq!(codes, ["ok", "rewritten", "rewritten", "ok"]);
    assert_eq!(report.history[0].verified_response.as_deref(), Some(" one two"));

    let rewrites = rewrites(&rig).await;
    let candidates: Vec<_> = rewrites.iter().map(|rewrite| rewrite.candidate).collect();
    assert_eq!(candidates, [" one", " one two"].map(|text| claim_candidate(&Claim::text(text))));
    let delta = rig.store.get(&rewrites[1].delta, 1 << 20).await.unwrap().unwrap();
    let delta: Value = serde_json::from_slice(&delta).unwrap();
    let expected = json!({
        "hook": "two", "event": "delegation.post_verify",
        "changed": { "response": { "from": " one", "to": " one two" } },
    });
    assert_eq!(delta, expected);
    // Each check that rewrote says so, with what it changed; the others do not.
    let told: Vec<_> = report.checks.iter().map(|check| check.rewrite.as_ref()).collect();
    let [None, Some(one), Some(two), None] = told[..] else { panic!("{told:?}") };
    assert_eq!([one.candidate, two.candidate], candidates[..]);
    assert_eq!((&two.delta, one.delta["hook"].as_str()), (&expected, Some("one")));
    assert_eq!(report.history[0].checks, report.checks);
    assert_eq!(rig.resume(plan(checks.to_vec())).await.unwrap(), ended);
}

#[tokio::test]
async fn the_same_claim_is_no_rewrite() {
    let edits: [fn(&mut Map<String, Value>); 3] = [
        |_| (),
        |payload| drop(payload.remove("tool_results")),
        |payload| drop(payload.insert("output".to_owned(), Value::Null)),
    ];
    for edit in edits {
        let rig = Rig::new();
        let ended = rig.run(rig.plan(liar(), [Hand::edits(&rig, edit).check(POST, "h")])).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Verified, "ok"));
        assert!(rewrites(&rig).await.is_empty());
        let report = rig.report().await;
        assert!(report.checks[0].rewrite.is_none());
        assert!(report.history[0].verified_response.is_none());
    }
}

/// What a hook makes of a claim is not judged again, so it cannot turn a refusal into a pass.
#[tokio::test]
async fn a_rewrite_does_not_launder_what_a_check_refused() {
    let answers = [
        (Ok(Verdict::revise("no", "not there")), Outcome::Exhausted),
        (Ok(Verdict::fail("forged", "")), Outcome::Rejected),
        (Ok(Verdict::inconclusive("no_route", "")), Outcome::Inconclusive),
        (Err(Fault::new("script_raise", "")), Outcome::Faulted),
    ];
    for (answer, outcome) in answers {
        let rig = Rig::new();
        let checks = [
            Eye::then(&rig, answer).check("c"),
            Hand::appends(&rig, "response", " Verified.").check(POST, "launder"),
        ];
        let (ended, report) = rig.whole(once(rig.plan(liar(), checks))).await;
        assert_eq!((ended.outcome, ended.delivered), (outcome, None));
        assert_eq!(report.history[0].response, "All done!");
    }
}

/// What was rewritten in an attempt that was refused is gone with it.
#[tokio::test]
async fn a_rewrite_ends_with_its_attempt() {
    let rig = Rig::new();
    let block = Hand::new(&rig, |ctx, _| {
        let reason = "once more".to_owned();
        let is_first = ctx.attempt == 1;
        std::future::ready(Ok(if is_first { Reply::Block { reason } } else { Reply::Allow }))
    });
    let checks =
        [Hand::appends(&rig, "response", "!").check(POST, "loud"), block.check(POST, "block")];
    let delegate = rig.scripted([Step::claim("one"), Step::claim("two")]);
    let (ended, report) = rig.whole(rig.plan(delegate.clone(), checks)).await;
    assert_eq!(delegate.violations(), Vec::<String>::new());
    assert_eq!(ended.delivered.unwrap().response, "two!");
    // Each attempt has the rewrite of its own claim, the refused one too.
    for (attempt, said) in report.history.iter().zip(["one", "two"]) {
        let loud = format!("{said}!");
        assert_eq!(attempt.response, said);
        assert_eq!(attempt.verified_response.as_ref(), Some(&loud));
        let rewrite = attempt.checks[0].rewrite.as_ref().unwrap();
        assert_eq!(rewrite.candidate, claim_candidate(&Claim::text(loud.as_str())));
        let changed = json!({ "response": { "from": said, "to": loud } });
        assert_eq!(rewrite.delta["changed"], changed);
        assert!(attempt.checks[1].rewrite.is_none());
    }
    assert_eq!(report.history.len(), 2);
}

#[tokio::test]
async fn a_claim_that_a_hook_made_too_large_is_a_fault() {
    let rig = Rig::new();
    let large = "x".repeat(probity_store::limits::MAX_BLOB_BYTES);
    let hand = Hand::edits(&rig, move |payload| {
        payload.insert("response".to_owned(), large.clone().into());
    });
    let ended = rig.run(rig.plan(liar(), [hand.check(POST, "h")])).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "claim_too_large"));
}

#[tokio::test]
async fn every_hook_not_applicable_is_unverified() {
    let rig = Rig::new();
    let absent = || Hand::says(&rig, Ok(Reply::NotApplicable));
    let checks = [
        absent().check(POST, "a"),
        absent().check(VerifyEvent::ToolPre, "b"),
        absent().check(VerifyEvent::ToolPost, "c"),
    ];
    let (ended, report) = rig.whole(rig.plan(caller(), checks)).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Unverified, "not_applicable"));
    assert!(report.checks.iter().all(|check| check.verdict == "not_applicable"));
}

/// Verification comes first, then what follows of the verdict, then what may edit the claim.
#[tokio::test]
async fn it_runs_before_all_that_follows_the_verdict() {
    let (rig, _) = Rig::watched();
    let hand = Hand::allows(&rig);
    let checks = [hand.check(POST, "verify"), Eye::file(&rig, "out.txt").check("out")];
    let [verify, out] = checks;
    let mut plan = rig.plan(rig.scripted([writes("out.txt", "x")]), [out, verify]);
    plan.hooks =
        vec![hand.at(HookPoint::DelegationPost, "post"), hand.at(HookPoint::AttemptEnd, "end")];
    assert_eq!(rig.run(plan).await.outcome, Outcome::Verified);
    let order = [
        "look after out",
        "call delegation.post_verify verify",
        "call attempt.end end",
        "call delegation.post post",
    ];
    assert!(order.map(|line| rig.account.place(line)).is_sorted());
}

#[tokio::test]
async fn every_call_and_every_result_is_shown() {
    let rig = Rig::new();
    let (pre, post) = (Hand::allows(&rig), Hand::allows(&rig));
    let checks =
        [pre.check(VerifyEvent::ToolPre, "pre"), post.check(VerifyEvent::ToolPost, "post")];
    let ended = rig.run(rig.plan(caller(), checks)).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Unverified, "not_applicable"));
    let payloads = |hand: &Hand| hand.calls().into_iter().map(|it| it.payload).collect::<Vec<_>>();
    let calls = payloads(&pre);
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|shown| shown.get("changes").is_none()));
    for (shown, call) in calls.iter().zip([call("c-1", "shell"), call("c-2", "browser")]) {
        assert_eq!(shown["id"], call.id);
        assert_eq!((&shown["name"], &shown["arguments"]), (&json!(call.name), &call.arguments));
        assert_eq!((&shown["task"], &shown["attempt"]), (&json!(TASK), &json!(1)));
    }
    let results = payloads(&post);
    let seen: Vec<_> = results.iter().map(|it| (&it["call_id"], &it["content"])).collect();
    assert_eq!(seen, [(&json!("c-1"), &json!("ok")), (&json!("c-2"), &json!("404"))]);
    assert_eq!(
        (results[0]["is_error"].clone(), pre.calls()[0].event.as_str()),
        (json!(false), "tool.pre")
    );
    assert_eq!(post.calls()[0].event, "tool.post");
}

/// Says something else of each call.
fn by_name(rig: &Rig, shell: Reply, browser: Reply) -> Arc<Hand> {
    Hand::new(rig, move |_, payload| {
        let is_shell = payload["name"] == "shell";
        std::future::ready(Ok(if is_shell { shell.clone() } else { browser.clone() }))
    })
}

/// The same order of weight as between checks, whichever call comes first.
#[tokio::test]
async fn of_several_calls_the_worst_answer_decides() {
    let block = |reason: &str| Reply::Block { reason: reason.to_owned() };
    let open = || Reply::Inconclusive { code: Code::slug("no_route"), reason: "dead".to_owned() };
    let rows = [
        (block("a"), block("b"), "revise", "hook_blocked", "a; b"),
        (block("a"), Reply::Allow, "revise", "hook_blocked", "a"),
        (Reply::NotApplicable, block("b"), "revise", "hook_blocked", "b"),
        (block("a"), open(), "revise", "hook_blocked", "a"),
        (open(), block("b"), "revise", "hook_blocked", "b"),
        (open(), Reply::Allow, "inconclusive", "no_route", "dead"),
        (Reply::NotApplicable, open(), "inconclusive", "no_route", "dead"),
        (Reply::NotApplicable, Reply::Allow, "not_applicable", "not_applicable", ""),
        (Reply::Allow, Reply::Allow, "not_applicable", "not_applicable", ""),
    ];
    for (shell, browser, verdict, code, reason) in rows {
        let rig = Rig::new();
        let hand = by_name(&rig, shell.clone(), browser.clone());
        let plan = once(rig.plan(caller(), [hand.check(VerifyEvent::ToolPre, "h")]));
        let (_, report) = rig.whole(plan).await;
        let check = &report.checks[0];
        assert_eq!(
            (check.verdict, check.code.as_ref().map_or("not_applicable", Code::as_str)),
            (verdict, code),
            "{shell:?} {browser:?}"
        );
        assert_eq!(check.reason, reason, "{shell:?} {browser:?}");
        assert_eq!(hand.calls().len(), 2, "every call is seen");
    }
}

/// Calls that nobody objects to say nothing about the task: only another check can pass it.
#[tokio::test]
async fn allowed_calls_never_verify() {
    for event in [VerifyEvent::ToolPre, VerifyEvent::ToolPost] {
        for (file, outcome) in [("out.txt", Outcome::Verified), ("none", Outcome::Exhausted)] {
            let rig = Rig::new();
            let delegate = FunctionDelegate::new("f", {
                let path = rig.path().join("out.txt");
                move |_| {
                    std::fs::write(&path, "x").unwrap();
                    std::future::ready(Ok(Answered::of(Claim {
                        tool_calls: vec![call("c-1", "shell")],
                        tool_results: vec![result("c-1", "ok")],
                        ..Claim::text("done")
                    })))
                }
            });
            let checks = [Eye::file(&rig, file).check("out"), Hand::allows(&rig).check(event, "h")];
            let (ended, report) = rig.whole(once(rig.plan(Arc::new(delegate), checks))).await;
            assert_eq!((ended.outcome, report.checks[1].verdict), (outcome, "not_applicable"));
        }
    }
}

#[tokio::test]
async fn without_a_call_there_is_nothing_to_say() {
    for event in [VerifyEvent::ToolPre, VerifyEvent::ToolPost] {
        let rig = Rig::new();
        let hand = Hand::blocks(&rig, "never");
        let ended = rig.run(rig.plan(liar(), [hand.check(event, "h")])).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Unverified, "not_applicable"));
        assert!(hand.calls().is_empty());
    }
}

#[tokio::test]
async fn calls_that_were_made_cannot_be_modified() {
    for event in [VerifyEvent::ToolPre, VerifyEvent::ToolPost] {
        let rig = Rig::new();
        let hand = Hand::edits(&rig, |_| ());
        let ended = rig.run(rig.plan(caller(), [hand.check(event, "h")])).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "hook_modify_field"));
    }
}

/// The delegate reported them, so the hook is not to blame.
#[tokio::test]
async fn more_calls_than_can_be_shown_refuse_the_claim() {
    let big = || ToolCall { arguments: json!("x".repeat(5 << 20)), ..call("c", "shell") };
    for (calls, is_refused) in [
        (vec![call("c", "shell"); 1_000], false),
        (vec![call("c", "shell"); 1_001], true),
        (vec![big()], false),
        (vec![big(), big()], true),
    ] {
        let rig = Rig::new();
        let many = FunctionDelegate::new("f", move |_| {
            let tool_calls = calls.clone();
            std::future::ready(Ok(Answered::of(Claim { tool_calls, ..Claim::text("done") })))
        });
        let hand = Hand::allows(&rig);
        let check = hand.check(VerifyEvent::ToolPre, "h");
        let (ended, report) = rig.whole(once(rig.plan(Arc::new(many), [check]))).await;
        let expected = if is_refused { Outcome::Exhausted } else { Outcome::Unverified };
        assert_eq!((ended.outcome, hand.calls().is_empty()), (expected, is_refused));
        if is_refused {
            assert_eq!(report.checks[0].code, Some(Code::slug("tool_calls_too_many")));
        }
    }
}

/// Every call has the hook's whole time; one that takes longer is the hook's fault.
#[tokio::test]
async fn each_call_has_the_time_of_the_hook() {
    let took = std::time::Duration::from_millis;
    let rig = Rig::new();
    let slow = Hand::new(&rig, move |_, _| async move {
        tokio::time::sleep(took(600)).await;
        Ok(Reply::Allow)
    });
    let check = slow.checks(VerifyEvent::ToolPre, "h", 700);
    let ended = rig.run(once(rig.plan(caller(), [check]))).await;
    assert_eq!((ended.outcome, slow.calls().len()), (Outcome::Unverified, 2));
    let rig = Rig::new();
    let hangs = Hand::hangs(&rig).checks(VerifyEvent::ToolPre, "h", 50);
    let ended = rig.run(once(rig.plan(caller(), [hangs]))).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Faulted, "verifier_overrun"));
}

/// A hook that is quick enough for each of many calls is not to blame for their number.
#[tokio::test]
async fn calls_that_take_longer_together_than_a_hook_may_refuse_the_claim() {
    let rig = Rig::new();
    let many = FunctionDelegate::new("f", |_| {
        let tool_calls = vec![call("c", "shell"); 1_000];
        std::future::ready(Ok(Answered::of(Claim { tool_calls, ..Claim::text("done") })))
    });
    let slow = Hand::new(&rig, |_, _| async {
        tokio::time::sleep(std::time::Duration::from_millis(15)).await;
        Ok(Reply::Allow)
    });
    let check = slow.checks(VerifyEvent::ToolPre, "h", 10);
    let (ended, report) = rig.whole(once(rig.plan(Arc::new(many), [check]))).await;
    assert_eq!(ended.outcome, Outcome::Exhausted);
    assert_eq!(report.checks[0].code, Some(Code::slug("tool_calls_too_many")));
    assert!(slow.calls().len() < 1_000);
}

#[tokio::test]
async fn hooks_are_not_asked_before_the_delegate() {
    let rig = Rig::new();
    let hand = Hand::allows(&rig);
    let (_, report) = rig.whole(rig.plan(liar(), [hand.check(POST, "h")])).await;
    assert_eq!((hand.calls().len(), report.checks[0].discriminating), (1, None));
    let log = rig.log().await;
    let red = log.entries.iter().any(|entry| matches!(entry.event, Event::CheckRed { .. }));
    assert!(!red);
}

/// A hook that is out of reach is asked again within its time, as any check is.
#[tokio::test]
async fn an_open_answer_is_asked_for_again() {
    let rig = Rig::new();
    let asked = std::sync::atomic::AtomicU32::new(0);
    let hand = Hand::new(&rig, move |_, _| {
        let nth = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let code = Code::slug("no_route");
        let open = Reply::Inconclusive { code, reason: String::new() };
        std::future::ready(Ok(if nth < 2 { open } else { Reply::Allow }))
    });
    let mut plan = rig.plan(liar(), [hand.check(POST, "h")]);
    plan.policy.verify_backoff_ms = 1;
    assert_eq!(rig.run(plan).await.outcome, Outcome::Verified);
    assert_eq!((hand.calls().len(), rig.account.count("ask")), (3, 1));
    let findings: Vec<_> = rig
        .log()
        .await
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::CheckFinished { finding: Finding::Verdict { code, .. }, .. } => {
                Some(code.clone())
            }
            _ => None,
        })
        .collect();
    assert_eq!(findings, ["no_route", "no_route", "ok"].map(Code::slug));
}

/// A hook judges the verdict that stands, not one that another try is about to change.
#[tokio::test]
async fn a_hook_is_shown_the_verdict_that_stands() {
    let rig = Rig::new();
    let looked = std::sync::atomic::AtomicU32::new(0);
    let shaky = Eye::new(&rig, move |ctx| {
        let nth = looked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        std::future::ready(Ok(match (ctx.phase, nth) {
            (probity_core::Phase::Before, _) => Verdict::revise("not_yet", "nothing yet"),
            (_, 0..3) => Verdict::inconclusive("no_route", "dead"),
            _ => Verdict::pass(),
        }))
    });
    let hand = Hand::allows(&rig);
    let mut plan = rig.plan(liar(), [shaky.check("shaky"), hand.check(POST, "h")]);
    plan.policy.verify_backoff_ms = 1;
    assert_eq!(rig.run(plan).await.outcome, Outcome::Verified);
    assert_eq!((hand.calls().len(), shaky.after().len()), (1, 3));
    assert_eq!(hand.shown()["verdict"]["verified"], json!(true));
    assert_eq!(hand.shown()["verdict"]["judgement"], json!("pass"));
}

/// What passed before the delegate started is no check where red-first is required.
#[tokio::test]
async fn a_hook_is_not_shown_a_pass_that_proves_nothing() {
    let rig = Rig::new();
    let hand = Hand::allows(&rig);
    let blunt = Eye::says(&rig, Ok(Verdict::pass()));
    let mut plan = rig.plan(liar(), [blunt.check("blunt"), hand.check(POST, "h")]);
    plan.policy.red_first = probity_core::RedFirst::Require;
    rig.run(plan).await;
    assert_eq!(hand.shown()["verdict"]["verified"], json!(false));
    assert_eq!(hand.shown()["verdict"]["judgement"], json!("unverified"));
}

/// A check that its decider does not fit is refused before anything is done.
#[tokio::test]
async fn a_hook_that_is_declared_as_something_else_is_refused() {
    let rig = Rig::new();
    let mut check = Hand::allows(&rig).check(POST, "h");
    check.decl.subject = probity_core::Subject::World;
    let error = rig.try_run(rig.plan(liar(), [check])).await.unwrap_err();
    assert_eq!(error.code(), "plan_incomplete");
    assert!(rig.records().await.is_empty());
}
