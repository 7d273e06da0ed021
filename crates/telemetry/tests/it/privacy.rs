//! What is told and what is not: a canary in every place where content is.

use std::sync::Arc;

use probity_core::{Fault, Outcome, Verdict};
use probity_engine::Plan;
use probity_telemetry::{Capture, export_run};

use crate::receiver::{Got, attributes};
use crate::rig::{Eye, Noting, Rig, check, run_id};

const CANARY: &str = "canary-7f3a";

fn plan(rig: &Rig) -> Plan {
    let delegate = Noting { out: rig.path("out.txt"), secret: CANARY };
    let reason = format!("no {CANARY}");
    let missing = check("out", Eye(Ok(Verdict::revise("file_missing", reason))));
    let mut plan = rig.plan(Arc::new(delegate), [missing]);
    plan.task = format!("Write {CANARY}.").into();
    plan.request = format!(r#"{{"task":"Write {CANARY}.","kind":"coder"}}"#).into_bytes();
    plan
}

async fn captured(capture: Capture) -> (Rig, Got) {
    let rig = Rig::new().await;
    let mut options = rig.options();
    options.capture = capture;
    let (ended, got, _) = rig.watched_with(plan(&rig), options).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    (rig, got)
}

fn tells(got: &Got) -> bool {
    let canary = CANARY.as_bytes();
    got.bytes.windows(canary.len()).any(|window| window == canary)
}

#[tokio::test]
async fn nothing_of_the_content_is_told_by_default() {
    let (rig, got) = captured(Capture::Nothing).await;
    assert!(!got.bytes.is_empty() && !got.metrics.is_empty());
    assert!(!tells(&got));
    assert!(!got.bytes.windows(10).any(|window| window == b"write_file"), "not even of tools");
    export_run(rig.store.as_ref(), &run_id(), &rig.options()).await.unwrap();
    assert!(!tells(&rig.receiver.got()), "nor later");
}

#[tokio::test]
async fn names_are_told_where_they_are_asked_for() {
    let (_, got) = captured(Capture::Names).await;
    assert!(!tells(&got));
    let tools: Vec<_> =
        got.named("execute_tool").iter().map(|span| attributes(&span.attributes)).collect();
    assert_eq!(tools[0]["gen_ai.tool.name"], "write_file");
    assert_eq!(tools[1]["gen_ai.tool.call.id"], "call-1");
    let chat = attributes(&got.named("chat")[0].attributes);
    assert_eq!(chat["gen_ai.usage.input_tokens"], "40");
    assert_eq!(chat["gen_ai.usage.output_tokens"], "2");
}

#[tokio::test]
async fn content_is_told_where_it_is_asked_for() {
    let (_, got) = captured(Capture::Content).await;
    assert!(tells(&got));
    let tool = attributes(&got.named("execute_tool")[0].attributes);
    assert_eq!(tool["gen_ai.tool.call.arguments"], CANARY);
    assert_eq!(tool["gen_ai.tool.call.result"], CANARY);
    let evaluation = got.logs.iter().find(|log| log.event_name == "gen_ai.evaluation.result");
    let evaluation = attributes(&evaluation.unwrap().attributes);
    assert_eq!(evaluation["gen_ai.evaluation.explanation"], format!("no {CANARY}"));
    let work = attributes(&got.named("invoke_agent")[0].attributes);
    assert_eq!(work["probity.response"], format!("done {CANARY}"));
    let retry = attributes(&got.one("delegation.retry_prompt").attributes);
    assert!(retry.values().all(|value| !value.contains(CANARY)), "by digest alone");
}

#[tokio::test]
async fn a_fault_says_why_only_where_that_is_asked_for() {
    for (capture, expected) in [(Capture::Names, None), (Capture::Content, Some(CANARY))] {
        let rig = Rig::new().await;
        let broken = check("out", Eye(Err(Fault::new("script_raise", CANARY))));
        let mut options = rig.options();
        options.capture = capture;
        let plan = rig.plan(crate::rig::liar(), [broken]);
        let (_, got, _) = rig.watched_with(plan, options).await;
        let event = got.logs.iter().find(|log| log.event_name == "gen_ai.evaluation.result");
        let event = attributes(&event.unwrap().attributes);
        let explanation = event.get("gen_ai.evaluation.explanation").map(String::as_str);
        assert_eq!((explanation, &*event["error.type"]), (expected, "script_raise"));
    }
}

#[tokio::test]
async fn long_content_is_cut() {
    let rig = Rig::new().await;
    let long = "é".repeat(100_000);
    let missing = check("out", Eye(Ok(Verdict::fail("long", long))));
    let mut options = rig.options();
    options.capture = Capture::Content;
    let (_, got, _) = rig.watched_with(rig.plan(crate::rig::liar(), [missing]), options).await;
    let event = got.logs.iter().find(|log| log.event_name == "gen_ai.evaluation.result");
    let event = attributes(&event.unwrap().attributes);
    assert_eq!(event["gen_ai.evaluation.explanation"].len(), 4096);
}
