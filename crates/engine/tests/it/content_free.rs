//! Content never enters a record: it is in blobs, under digests.

use std::sync::Arc;

use probity_core::{Claim, Code, Fault, HookPoint, ToolCall, ToolResult, Verdict};
use probity_delegate::{Answered, FunctionDelegate};
use probity_engine::{Plan, Reply, VerifyEvent};

use crate::hand::Hand;
use crate::ledger::Ledger;
use crate::rig::{Eye, Rig, liar};

const SECRET: &str = "hunter2-7f3a";

fn secret(place: &str) -> String {
    format!("{SECRET}-{place}")
}

fn talker() -> Arc<FunctionDelegate> {
    Arc::new(FunctionDelegate::new("talker", |_| async {
        let claim = Claim {
            response: secret("response"),
            tool_calls: vec![ToolCall {
                id: secret("call"),
                name: secret("tool"),
                arguments: serde_json::json!({ "x": secret("argument") }),
            }],
            tool_results: vec![ToolResult {
                call_id: secret("call"),
                name: secret("tool"),
                content: secret("result"),
                is_error: false,
            }],
            output: Some(secret("output").into()),
        };
        Ok(Answered { session: Some(secret("session")), ..Answered::of(claim) })
    }))
}

/// What was kept: the records as one text, the blobs as another.
async fn kept(rig: &Rig, store: &Ledger, plan: Plan) -> (String, String) {
    rig.run(plan).await;
    let batches = store.batches();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let records = batches.iter().flat_map(|it| &it.records).map(|it| text(it)).collect();
    let blobs = batches.iter().flat_map(|it| &it.blobs).map(|(_, it)| text(it)).collect();
    (records, blobs)
}

fn only_in_blobs(records: &str, blobs: &str, places: &[&str]) {
    for place in places {
        assert!(blobs.contains(&secret(place)), "`{place}` is nowhere");
    }
    assert!(!records.contains("hunter2"), "content in a record");
}

#[tokio::test]
async fn claims_reasons_and_paths() {
    let (rig, store) = Rig::watched();
    rig.write(&secret("path"), "");
    let eye = Eye::says(&rig, Ok(Verdict::revise("no", secret("reason"))));
    let mut plan = rig.plan(talker(), [eye.check("c")]);
    plan.task = secret("task").into();
    plan.request = secret("request").into_bytes();
    let (records, blobs) = kept(&rig, &store, plan).await;
    let places =
        ["path", "reason", "request", "response", "call", "tool", "argument", "result", "output"];
    only_in_blobs(&records, &blobs, &places);
    only_in_blobs(&records, &blobs, &["session"]);
}

#[tokio::test]
async fn evidence_and_replacements() {
    let (rig, store) = Rig::watched();
    let evidence = probity_core::Evidence::new(secret("source"), secret("observed"));
    let verdict = Verdict { output: Some(secret("new").into()), ..Verdict::pass() };
    let eye = Eye::says(&rig, Ok(verdict.with_evidence(evidence)));
    let (records, blobs) = kept(&rig, &store, rig.plan(talker(), [eye.check("c")])).await;
    only_in_blobs(&records, &blobs, &["source", "observed", "new"]);
}

#[tokio::test]
async fn faults_and_failures() {
    let (rig, store) = Rig::watched();
    let fault = Fault::new("script_raise", secret("message")).at(secret("location"));
    let plan = rig.plan(talker(), [Eye::says(&rig, Err(fault)).check("c")]);
    let (records, blobs) = kept(&rig, &store, plan).await;
    only_in_blobs(&records, &blobs, &["message", "location"]);

    let (rig, store) = Rig::watched();
    let plan = rig.plan(rig.scripted([probity_delegate::Step::fail(secret("failure"))]), []);
    let (records, blobs) = kept(&rig, &store, plan).await;
    only_in_blobs(&records, &blobs, &["failure"]);

    let (rig, store) = Rig::watched();
    rig.write(&secret("big"), "12345");
    let mut plan = rig.plan(liar(), []);
    plan.snapshot.limits.max_file_bytes = 4;
    let (records, blobs) = kept(&rig, &store, plan).await;
    only_in_blobs(&records, &blobs, &["big"]);
}

/// A hook that puts a secret behind a text of its payload.
fn spoils(rig: &Rig, key: &'static str) -> Arc<Hand> {
    Hand::edits(rig, move |payload| {
        let was = payload[key].as_str().unwrap().to_owned();
        payload.insert(key.to_owned(), format!("{was} {}", secret(&format!("new-{key}"))).into());
    })
}

#[tokio::test]
async fn what_hooks_rewrite() {
    let (rig, store) = Rig::watched();
    let style = spoils(&rig, "response").check(VerifyEvent::PostVerify, "style");
    let mut plan = rig.plan(talker(), [style]);
    plan.agent = secret("agent").into();
    plan.system_prompt = Some(secret("system").into());
    plan.decision = Arc::new(serde_json::json!({ "context": secret("decision") }));
    plan.hooks = vec![
        spoils(&rig, "task").at(HookPoint::DelegationPre, "pre"),
        spoils(&rig, "prompt").at(HookPoint::AttemptStart, "start"),
        spoils(&rig, "response").at(HookPoint::DelegationPost, "post"),
    ];
    let (records, blobs) = kept(&rig, &store, plan).await;
    only_in_blobs(&records, &blobs, &["new-task", "new-prompt", "new-response", "system"]);
}

#[tokio::test]
async fn what_hooks_say() {
    let replies = [
        Ok(Reply::Block { reason: secret("said") }),
        Ok(Reply::Inconclusive { code: Code::slug("no_route"), reason: secret("said") }),
        Err(Fault::new("script_raise", secret("said")).at(secret("location"))),
    ];
    for reply in replies {
        for point in HookPoint::ALL {
            let (rig, store) = Rig::watched();
            let mut plan = rig.plan(talker(), []);
            plan.hooks = vec![Hand::says(&rig, reply.clone()).at(point, "h")];
            let (records, blobs) = kept(&rig, &store, plan).await;
            only_in_blobs(&records, &blobs, &["said"]);
        }
        for event in [VerifyEvent::PostVerify, VerifyEvent::ToolPre, VerifyEvent::ToolPost] {
            let (rig, store) = Rig::watched();
            let plan = rig.plan(talker(), [Hand::says(&rig, reply.clone()).check(event, "h")]);
            let (records, blobs) = kept(&rig, &store, plan).await;
            only_in_blobs(&records, &blobs, &["said"]);
        }
    }
}

/// A member that may not be modified is named by a fault, whoever named it.
#[tokio::test]
async fn what_hooks_may_not_modify() {
    let (rig, store) = Rig::watched();
    let hand = Hand::edits(&rig, |payload| {
        payload.insert(secret("key"), secret("value").into());
    });
    let plan = rig.plan(talker(), [hand.check(VerifyEvent::PostVerify, "h")]);
    let (records, blobs) = kept(&rig, &store, plan).await;
    only_in_blobs(&records, &blobs, &["key"]);
}

/// Every digest that a record names is that of a blob that was stored no later.
#[tokio::test]
async fn what_a_record_names_is_there() {
    let (rig, store) = Rig::watched();
    rig.write("judge.star", "strict");
    let path = rig.path().join("judge.star");
    let eye = Eye::new(&rig, move |ctx| {
        if ctx.phase == probity_core::Phase::After {
            std::fs::remove_file(&path).unwrap();
        }
        std::future::ready(Ok(Verdict::revise("no", secret("reason"))))
    });
    let style = spoils(&rig, "response").check(VerifyEvent::PostVerify, "style");
    let mut plan = rig.plan(talker(), [eye.check("c"), style]);
    plan.hooks = vec![
        spoils(&rig, "task").at(HookPoint::DelegationPre, "pre"),
        spoils(&rig, "prompt").at(HookPoint::AttemptStart, "start"),
        Hand::blocks(&rig, &secret("said")).at(HookPoint::AttemptEnd, "end"),
    ];
    let judge = probity_verifier::JudgeFiles::new(Arc::clone(&rig.workspace));
    let judge = Arc::new(judge.file("judge.star").unwrap());
    rig.run(Plan { judge, ..plan }).await;
    let mut there = std::collections::BTreeSet::new();
    for batch in store.batches() {
        there.extend(batch.blobs.iter().map(|(digest, _)| digest.to_string()));
        for record in batch.records {
            let value: serde_json::Value = serde_json::from_slice(&record).unwrap();
            let mut named = Vec::new();
            digests(&value, "", &mut named);
            for (key, digest) in named {
                let is_blob = !matches!(key.as_str(), "candidate" | "prev" | "hash" | "head");
                assert!(!is_blob || there.contains(&digest), "{key} {digest} is not there");
            }
        }
    }
    assert!(there.len() > 5);
}

fn digests(value: &serde_json::Value, key: &str, into: &mut Vec<(String, String)>) {
    match value {
        serde_json::Value::String(text) => {
            let hex = text.strip_prefix("sha256:").unwrap_or(text);
            if hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                into.push((key.to_owned(), text.clone()));
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|it| digests(it, key, into)),
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(key, it)| digests(it, key, into));
        }
        _ => {}
    }
}
