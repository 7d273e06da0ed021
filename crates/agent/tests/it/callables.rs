//! What may be a verifier, and what it may ask for.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;

use probity_agent::{
    AgentContext, BuildError, Changes, ExecutionContext, Reject, State, Submission, VerifierFn,
};
use probity_core::Outcome;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::stage::{Output, agent, bounded, edit, editor, hand_in, model, not_done, only_good};

type Boxed = Pin<Box<dyn Future<Output = Result<u32, Reject>> + Send>>;

/// Runs an agent whose first output is bad and whose second is good.
async fn judged<A, F>(verifier: F) -> (Value, u32)
where
    F: VerifierFn<A, Output>,
    F::Result: Serialize + DeserializeOwned + std::fmt::Debug,
{
    let model = model([hand_in("bad"), hand_in("good")]);
    let agent = agent(&model).output::<Output>().verifier(verifier).build().unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    (serde_json::to_value(done.result).unwrap(), done.verification.attempts_used)
}

fn look(output: &Output) -> Result<u32, Reject> {
    match output.summary.as_str() {
        "good" => Ok(7),
        _ => Err(Reject::revise("No.")),
    }
}

async fn free_async(output: Output) -> Result<u32, Reject> {
    look(&output)
}

fn free(output: Output) -> Result<u32, Reject> {
    look(&output)
}

fn returns_a_box(output: Output) -> Boxed {
    Box::pin(async move { look(&output) })
}

fn returns_a_ready_future(output: Output) -> Ready<Result<u32, Reject>> {
    ready(look(&output))
}

/// An object with a method that is async.
#[derive(Clone)]
struct Judge {
    good: &'static str,
}

impl Judge {
    async fn verify(&self, output: Output) -> Result<u32, Reject> {
        tokio::task::yield_now().await;
        if output.summary == self.good { Ok(7) } else { Err(Reject::revise("No.")) }
    }
}

/// In the system of the seed a coroutine that nobody awaited was a pass.
#[tokio::test]
async fn p03_whatever_returns_a_future_is_awaited() {
    let judge = Arc::new(Judge { good: "good" });
    let object = move |output| {
        let judge = judge.clone();
        async move { judge.verify(output).await }
    };
    let shared: Arc<dyn Fn(Output) -> Boxed + Send + Sync> = Arc::new(returns_a_box);
    let passed = [
        judged(free_async).await,
        judged(free).await,
        judged(returns_a_box).await,
        judged(returns_a_ready_future).await,
        judged(object).await,
        judged(async |output: Output| look(&output)).await,
        judged(|output: Output| async move { look(&output) }).await,
        judged(|output: Output| look(&output)).await,
        judged(move |output: Output| shared(output)).await,
    ];
    for (index, passed) in passed.into_iter().enumerate() {
        assert_eq!(passed, (json!(7), 1), "verifier {index}");
    }
}

#[tokio::test]
async fn p03_any_error_is_one_of_the_verifier_alone() {
    async fn broken(_: Output) -> Result<(), std::io::Error> {
        Err(std::io::Error::other("no disk"))
    }
    let model = model([hand_in("a")]);
    let agent = agent(&model)
        .output::<Output>()
        .verifier(broken)
        .verifier_max_system_errors(1, std::time::Duration::from_millis(1))
        .build()
        .unwrap();
    let end = not_done(bounded(agent.run("Fix it.")).await);
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Inconclusive, "verifier_error"));
    assert!(end.reasons[0].contains("no disk"), "{:?}", end.reasons);
}

#[derive(Debug)]
struct Limit(u32);

/// Everything that a verifier can ask for, as it arrives.
fn seen(
    run: AgentContext,
    bounds: ExecutionContext,
    submission: Submission,
    limit: State<Limit>,
    name: State<String>,
) -> Value {
    json!({
        "run": run.run == bounds.run,
        "query": run.query.as_ref(),
        "attempt": [run.attempt, submission.attempt],
        "calls": run.claim.tool_calls.iter().map(|call| &call.name).collect::<Vec<_>>(),
        "results": run.claim.tool_results.iter().map(|it| &it.content).collect::<Vec<_>>(),
        "replay": [bounds.is_replay, submission.is_replay],
        "cancelled": bounds.cancel.is_cancelled(),
        "max": run.verification.max_attempts,
        "limit": limit.0.0,
        "name": name.as_str(),
    })
}

#[tokio::test]
async fn p04_arguments_come_by_type_in_any_order() {
    let expected = json!({
        "run": true, "query": "Fix it.", "attempt": [1, 1], "calls": ["edit"],
        "results": ["edited"], "replay": [false, false], "cancelled": false, "max": 3,
        "limit": 4, "name": "ana",
    });
    macro_rules! order {
        ($verifier:expr) => {{
            let model = model([edit(), hand_in("a")]);
            let agent = agent(&model)
                .tool(editor())
                .state(Limit(4))
                .state("ana".to_owned())
                .output::<Output>()
                .verifier($verifier)
                .build()
                .unwrap();
            assert_eq!(bounded(agent.run("Fix it.")).await.unwrap().result, expected);
        }};
    }
    order!(async |_: Output,
                  a: AgentContext,
                  e: ExecutionContext,
                  s: Submission,
                  l: State<Limit>,
                  n: State<String>| Ok::<_, Reject>(seen(a, e, s, l, n)));
    order!(|_: Output,
            n: State<String>,
            s: Submission,
            l: State<Limit>,
            e: ExecutionContext,
            a: AgentContext| Ok::<_, Reject>(seen(a, e, s, l, n)));
}

#[tokio::test]
async fn p04_changes_are_those_of_the_workspace() {
    let dir = tempfile::TempDir::new().unwrap();
    let workspace = probity_verifier::Workspace::open(dir.path()).unwrap();
    let path = dir.path().join("new.txt");
    let model = Arc::new(probity_testkit::ScriptedModel::new().with(move |_| {
        std::fs::write(&path, "x").unwrap();
        hand_in("a")
    }));
    let agent = agent(&model)
        .workspace(workspace)
        .output::<Output>()
        .verifier(async |_: Output, changes: Changes| Ok::<_, Reject>(format!("{changes:?}")))
        .build()
        .unwrap();
    let result = bounded(agent.run("Fix it.")).await.unwrap().result;
    assert!(result.contains("new.txt"), "{result}");
}

/// In the system of the seed a wrong signature burned a budget at run time.
#[test]
fn p04b_what_the_agent_lacks_is_an_error_of_build() {
    let plain = || agent(&model([])).output::<Output>();
    let no_state = plain().verifier(async |_: Output, _: State<Limit>| Ok::<_, Reject>(()));
    let no_folder = plain().verifier(async |_: Output, _: Changes| Ok::<_, Reject>(()));
    let second = plain()
        .state(Limit(1))
        .verifier(async |_: Output, _: State<Limit>, _: State<u8>| Ok::<_, Reject>(()));
    for (built, words) in [
        (no_state.build(), "callables::Limit"),
        (no_folder.build(), "`workspace`"),
        (second.build(), "`state` of type `u8`"),
    ] {
        let error = built.unwrap_err();
        assert!(matches!(error, BuildError::Requirement { .. }), "{error:?}");
        assert_eq!(error.code(), "agent_requirement");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn p04b_bounds_are_looked_at_by_build() {
    let plain = || agent(&model([])).output::<Output>().verifier(only_good);
    for (builder, code) in [
        (plain().verifier_max_attempts(0), "policy_bound"),
        (plain().verifier_max_attempts(101), "policy_bound"),
        (plain().verifier_max_system_errors(0, std::time::Duration::from_secs(1)), "policy_bound"),
        (plain().tool(editor()).tool(editor()), "tool_name_taken"),
    ] {
        assert_eq!(builder.build().unwrap_err().code(), code);
    }
    let error = probity_agent::Agent::builder("x").build().unwrap_err();
    assert_eq!(error.code(), "agent_no_model");
    let error = agent(&model([])).output::<String>().build().unwrap_err();
    assert_eq!(error.code(), "output_schema");
}
