//! The one connected trace, and that whoever reads the log gives the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use opentelemetry_proto::tonic::trace::v1::Span;
use probity_core::{Answer, OnFailure, Outcome, RunId};
use probity_engine::{Ended, Plan};
use probity_telemetry::{
    Origin, Projection, Signal, Source, SpanId, Together, TraceId, TraceParent, export_run,
};
use tokio_util::sync::CancellationToken;

use crate::receiver::{Got, attributes};
use crate::rig::{Hangs, Noting, PATIENCE, Rig, TellsOnce, liar, looks, run_id};

fn noting(rig: &Rig) -> Plan {
    let delegate = Noting { out: rig.path("out.txt"), secret: "s" };
    rig.plan(Arc::new(delegate), [looks()])
}

fn below<'a>(got: &'a Got, parent: &Span, name: &str) -> Vec<&'a Span> {
    let is_below = |span: &&&Span| span.parent_span_id == parent.span_id;
    got.named(name).iter().filter(is_below).copied().collect()
}

fn only<'a>(got: &'a Got, parent: &Span, name: &str) -> &'a Span {
    let spans = below(got, parent, name);
    assert_eq!(spans.len(), 1, "{name} below {}", parent.name);
    spans[0]
}

/// Original tool calls, verdict, retry prompt, corrective tool calls, acceptance.
#[tokio::test]
async fn a_verification_failure_is_one_connected_trace() {
    let rig = Rig::new().await;
    let (ended, got) = rig.watched(noting(&rig)).await;
    assert_eq!(ended.outcome, Outcome::Verified);

    let traces: BTreeSet<&[u8]> = got.spans.iter().map(|span| &*span.trace_id).collect();
    assert_eq!(traces.len(), 1);
    let ids: BTreeSet<&[u8]> = got.spans.iter().map(|span| &*span.span_id).collect();
    assert_eq!(ids.len(), got.spans.len(), "a span id stands twice");
    let root = got.one("delegation.execute");
    assert!(root.parent_span_id.is_empty());
    for span in got.spans.iter().filter(|span| span.span_id != root.span_id) {
        assert!(ids.contains(&*span.parent_span_id), "{} hangs in the air", span.name);
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{}", span.name);
    }

    let attempts = below(&got, root, "delegation.attempt");
    let [first, second] = attempts.as_slice() else { panic!("{} attempts", attempts.len()) };
    // What the delegate did at first.
    let work = only(&got, first, "invoke_agent");
    let (model, tool) = (only(&got, work, "chat"), only(&got, work, "execute_tool"));
    assert!(model.end_time_unix_nano <= tool.start_time_unix_nano);
    // What the verifier said of it.
    let check = only(&got, first, "delegation.check");
    assert!(work.end_time_unix_nano <= check.start_time_unix_nano);
    let verdict = attributes(&check.attributes);
    assert_eq!(
        (&*verdict["probity.verdict"], &*verdict["probity.code"]),
        ("revise", "file_missing")
    );
    let event = check.events.iter().find(|event| event.name == "gen_ai.evaluation.result");
    let event = attributes(&event.unwrap().attributes);
    assert_eq!(event["gen_ai.evaluation.name"], "out");
    assert_eq!(event["gen_ai.evaluation.score.label"], "revise");
    assert_eq!(event["gen_ai.evaluation.score.value"], "0");
    assert!(!event.contains_key("gen_ai.evaluation.explanation"));
    // What it was told: the reasons, by digest, of the attempt that the prompt links to.
    let retry = only(&got, second, "delegation.retry_prompt");
    assert_eq!(retry.links[0].span_id, first.span_id);
    let told = attributes(&retry.attributes);
    assert_eq!(told["probity.retry.reason_digests"].len(), 64);
    // What it did then, and what came of it.
    let corrective = only(&got, second, "invoke_agent");
    assert!(retry.end_time_unix_nano <= corrective.start_time_unix_nano);
    only(&got, corrective, "execute_tool");
    let check = only(&got, second, "delegation.check");
    assert_eq!(attributes(&check.attributes)["probity.verdict"], "pass");
    assert_eq!(attributes(&second.attributes)["probity.judgement"], "pass");
    let commit = only(&got, root, "delegation.commit");
    assert_eq!(commit.links[0].span_id, second.span_id);
    assert!(second.end_time_unix_nano <= commit.start_time_unix_nano);
    assert_eq!(attributes(&commit.attributes)["probity.outcome"], "verified");
}

#[tokio::test]
async fn log_events_hang_in_the_trace() {
    let rig = Rig::new().await;
    let (_, got) = rig.watched(noting(&rig)).await;
    let of = |name: &str| got.logs.iter().filter(|log| log.event_name == name).collect::<Vec<_>>();
    assert_eq!(of("probity.verdict").len(), 2);
    assert_eq!(of("gen_ai.evaluation.result").len(), 2);
    let outcome = of("probity.delegation.outcome");
    assert_eq!(outcome.len(), 1);
    assert_eq!(outcome[0].span_id, got.one("delegation.execute").span_id);
    assert_eq!(attributes(&outcome[0].attributes)["delegation.verify_outcome"], "passed");
    let works: BTreeSet<_> =
        got.named("invoke_agent").iter().map(|it| it.span_id.clone()).collect();
    for log in of("gen_ai.evaluation.result") {
        assert!(works.contains(&log.span_id), "hangs below what was evaluated");
    }
    let trace = &got.one("delegation.execute").trace_id;
    assert!(got.logs.iter().all(|log| log.trace_id == *trace && log.time_unix_nano > 0));
}

fn by_id(spans: &[Span]) -> BTreeMap<Vec<u8>, Span> {
    spans.iter().map(|span| (span.span_id.clone(), span.clone())).collect()
}

#[tokio::test]
async fn an_old_run_sent_again_is_the_same_trace() {
    let rig = Rig::new().await;
    let (_, live) = rig.watched(noting(&rig)).await;
    let sent = export_run(rig.store.as_ref(), &run_id(), &rig.options()).await.unwrap();
    let all = rig.receiver.got();
    let again = &all.spans[live.spans.len()..];
    assert_eq!(usize::try_from(sent.spans).unwrap(), again.len());
    assert_eq!(by_id(&live.spans), by_id(again));
    assert_eq!(sent.trace.to_string(), hex(&again[0].trace_id));
    assert_eq!(all.metrics.len(), live.metrics.len(), "metrics are not counted twice");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_projection_is_a_function_of_the_log() {
    let rig = Rig::new().await;
    rig.watched(noting(&rig)).await;
    let entries = probity_engine::read_entries(rig.store.as_ref(), &run_id()).await.unwrap();
    let source = Source::of_request(b"{}");
    let origin = Origin::of(&run_id(), None);
    let whole = Projection::whole(run_id(), source.clone(), origin.clone(), &entries);
    assert_eq!(Projection::whole(run_id(), source.clone(), origin.clone(), &entries), whole);
    let mut projection = Projection::new(run_id(), source, origin);
    let pieces: Vec<Signal> = entries.iter().flat_map(|entry| projection.apply(entry)).collect();
    assert_eq!(pieces, whole);
    assert!(projection.is_sealed());
    assert_eq!(projection.seq(), u64::try_from(entries.len()).unwrap());
    assert!(projection.left("interrupted").is_empty(), "a run that is over was not left");
}

async fn answered(rig: &Rig, plan: Plan, answer: Answer) -> (Ended, Got) {
    let telemetry = rig.telemetry();
    let watch = telemetry.watch(&plan.run);
    let cancel = CancellationToken::new();
    let ended = rig.engine().answer(plan, "ada", answer, &watch, cancel).await.unwrap();
    telemetry.shutdown(PATIENCE).await;
    (ended, rig.receiver.got())
}

/// A run that waits for a human: one span for each leg, in one trace, told by different processes.
#[tokio::test]
async fn a_run_that_waited_goes_on_in_the_same_trace() {
    let rig = Rig::new().await;
    let mut plan = rig.plan(liar(), [looks()]);
    plan.policy.on_exhausted = OnFailure::Escalate;
    let (ended, before) = rig.watched(plan.clone()).await;
    assert_eq!(ended.outcome, Outcome::Escalated);
    let (ended, after) = answered(&rig, plan, Answer::Reject).await;
    assert_eq!(ended.outcome, Outcome::Exhausted);
    let legs = after.named("delegation.execute");
    let [first, second] = legs.as_slice() else { panic!("{} legs", legs.len()) };
    assert_eq!(**first, *before.one("delegation.execute"));
    assert_eq!((&second.trace_id, &second.parent_span_id), (&first.trace_id, &first.span_id));
    assert_eq!(second.links[0].span_id, first.span_id);
    let outcome = |span: &Span| attributes(&span.attributes)["probity.outcome"].clone();
    assert_eq!([outcome(first), outcome(second)], ["escalated", "exhausted"]);
    let second = attributes(&second.attributes);
    assert_eq!((&*second["delegation.verify_attempts"], &*second["probity.leg"]), ("2", "1"));
    assert_eq!(after.named("delegation.attempt").len(), 2, "nothing is told twice");
    let wait = after.one("delegation.wait");
    assert_eq!(wait.parent_span_id, first.span_id);
}

/// Whoever drove it is gone in the midst of an attempt, and somebody else drives it on.
#[tokio::test]
async fn a_run_that_was_left_goes_on_in_the_same_trace() {
    let rig = Rig::new().await;
    let telemetry = rig.telemetry();
    {
        let watch = telemetry.watch(&run_id());
        let (began, begun) = tokio::sync::oneshot::channel();
        let tells = TellsOnce(std::sync::Mutex::new(Some(began)));
        let both = Together(&tells, &watch);
        let engine = rig.engine();
        let plan = rig.plan(Arc::new(Hangs), [looks()]);
        let run = engine.run(plan, &both, CancellationToken::new());
        tokio::select! {
            _ = run => panic!("the run ended"),
            _ = begun => {}
        }
    }
    telemetry.shutdown(PATIENCE).await;
    let before = rig.receiver.got();

    let telemetry = rig.telemetry();
    let watch = telemetry.watch(&run_id());
    let delegate = Noting { out: rig.path("out.txt"), secret: "s" };
    let plan = rig.plan(Arc::new(delegate), [looks()]);
    let engine = rig.engine();
    let resumed = engine.resume(plan, &watch, CancellationToken::new()).await;
    assert_eq!(resumed.unwrap().outcome, Outcome::Verified);
    telemetry.shutdown(PATIENCE).await;
    let got = rig.receiver.got();
    let executes = got.named("delegation.execute");
    let [left, whole] = executes.as_slice() else { panic!("{} spans", executes.len()) };
    assert_eq!(**left, *before.one("delegation.execute"));
    assert_eq!((&left.trace_id, &left.parent_span_id), (&whole.trace_id, &whole.span_id));
    assert_eq!(attributes(&left.attributes)["probity.outcome"], "interrupted");
    let whole = attributes(&whole.attributes);
    assert_eq!((&*whole["probity.outcome"], &*whole["probity.interruptions"]), ("verified", "1"));
    let ids: BTreeSet<&[u8]> = got.spans.iter().map(|span| &*span.span_id).collect();
    assert_eq!(ids.len(), got.spans.len(), "nothing is told twice");
    // Sent whole, the log says no more than both told.
    export_run(rig.store.as_ref(), &run_id(), &rig.options()).await.unwrap();
    let again = rig.receiver.got();
    let again = by_id(&again.spans[got.spans.len()..]);
    assert!(again.keys().all(|id| ids.contains(&**id)));
    assert_eq!(again.len() + 1, ids.len());
}

#[tokio::test]
async fn a_waived_run_has_not_passed() {
    let rig = Rig::new().await;
    let mut plan = rig.plan(liar(), [looks()]);
    plan.policy.on_exhausted = OnFailure::Escalate;
    rig.watched(plan.clone()).await;
    let (_, got) = answered(&rig, plan, Answer::Waive).await;
    let last = attributes(&got.named("delegation.execute")[1].attributes);
    assert_eq!((&*last["probity.waived"], &*last["delegation.verify_passed"]), ("true", "false"));
}

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn a_run_is_part_of_its_callers_trace() {
    let rig = Rig::new().await;
    let mut plan = rig.plan(liar(), []);
    plan.request = format!(r#"{{"task":"t","traceparent":"{CALLER}"}}"#).into_bytes();
    let (_, got) = rig.watched(plan).await;
    let root = got.one("delegation.execute");
    assert_eq!(hex(&root.trace_id), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(hex(&root.parent_span_id), "b7ad6b7169203331");
}

#[tokio::test]
async fn the_environment_names_the_caller_where_the_request_does_not() {
    let rig = Rig::new().await;
    let mut options = rig.options();
    options.caller = Some(CALLER.parse().unwrap());
    let (_, got, _) = rig.watched_with(rig.plan(liar(), []), options).await;
    assert_eq!(hex(&got.one("delegation.execute").parent_span_id), "b7ad6b7169203331");
}

/// Three runs, each waited for by the one before: one trace, whoever drives which.
#[tokio::test]
async fn children_continue_the_trace_of_their_parents() {
    let rig = Rig::new().await;
    let runs: Vec<RunId> = ["top", "middle", "low"].iter().map(|it| it.parse().unwrap()).collect();
    for (place, run) in runs.iter().enumerate() {
        let mut plan = rig.plan(liar(), []);
        plan.run = run.clone();
        plan.parent = place.checked_sub(1).map(|above| runs[above].clone());
        rig.watched(plan).await;
    }
    let got = rig.receiver.got();
    let spans = got.named("delegation.execute");
    let trace = TraceId::of(&runs[0]).to_bytes().to_vec();
    assert!(spans.iter().all(|span| span.trace_id == trace));
    for (above, below) in spans.iter().zip(&spans[1..]) {
        assert_eq!(below.parent_span_id, above.span_id);
    }
    assert_eq!(attributes(&spans[2].attributes)["delegation.parent_id"], "middle");
}

#[test]
fn names_of_traces_and_spans_stand() {
    let run: RunId = "run-1".parse().unwrap();
    // Published: a build that draws them otherwise would tear old and new traces of a run apart.
    assert_eq!(TraceId::of(&run).to_string(), "355a059209120707601cf8d76c400029");
    assert_eq!(SpanId::of(&run, "execute", 0).to_string(), "ddc9b856a05d2e1a");
    assert_ne!(SpanId::of(&run, "execute", 0), SpanId::of(&run, "execute", 1));
    assert_ne!(SpanId::of(&run, "execute", 0), SpanId::of(&run, "attempt", 0));
}

#[test]
fn a_traceparent_is_read_as_the_standard_says() {
    let parent: TraceParent = CALLER.parse().unwrap();
    assert!(parent.is_sampled);
    assert_eq!(parent.to_string(), CALLER);
    let later = format!("01{}-what-comes-later", &CALLER[2..]);
    assert_eq!(later.parse::<TraceParent>().unwrap(), parent);
    let wrong = [
        "",
        "00",
        &format!("ff{}", &CALLER[2..]),
        &format!("{CALLER}-more"),
        &CALLER.to_uppercase(),
        &CALLER.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
        &CALLER.replace("b7ad6b7169203331", &"0".repeat(16)),
        &CALLER.replace("b7ad6b7169203331", "b7ad6b716920333é"),
    ];
    for text in wrong {
        assert!(text.parse::<TraceParent>().is_err(), "{text:?}");
    }
}

#[test]
fn who_works_is_read_from_the_request() {
    let rows = [
        ("{}", "unknown"),
        ("not JSON", "unknown"),
        (r#"{"kind":"coder","command":["x"]}"#, "coder"),
        (r#"{"kind":"No Word","command":["x"]}"#, "command"),
        (r#"{"command":[],"chat":{"model":"m"}}"#, "chat"),
        (r#"{"acp":{"command":["x"]}}"#, "acp"),
        (r#"{"job":"verify"}"#, "critic"),
        (r#"{"job":"work","request":{"command":["x"]}}"#, "command"),
    ];
    for (request, kind) in rows {
        assert_eq!(Source::of_request(request.as_bytes()).kind, kind, "{request}");
    }
    let chat = br#"{"chat":{"api":"anthropic","model":"m"},"agent":"ada"}"#;
    let source = Source::of_request(chat);
    assert_eq!((source.provider, source.model.as_deref()), (Some("anthropic"), Some("m")));
    assert_eq!(source.agent.as_deref(), Some("ada"));
}
