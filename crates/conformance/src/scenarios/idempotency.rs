//! Requests that are sent twice.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::http::{Answer, Ask};
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

const IDEMPOTENT: Need = Need::Fixture("conformance-idempotent");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "idempotency/same-request",
        Idempotency,
        "the same request with the same key is answered the same, and says so",
        "openwop v1: idempotency, layer 1",
        [IDEMPOTENT],
        same_request
    ),
    scenario!(
        "idempotency/other-body",
        Idempotency,
        "another request with the same key is refused and creates nothing",
        "openwop v1: idempotency_key_mismatch",
        [IDEMPOTENT],
        other_body
    ),
    scenario!(
        "idempotency/other-key",
        Idempotency,
        "the same request with another key, or with none, is another run",
        "openwop v1: idempotency, layer 1",
        [IDEMPOTENT],
        other_key
    ),
    scenario!(
        "idempotency/same-meaning",
        Idempotency,
        "a body is the same if it means the same",
        "openwop v1: idempotency, canonical body",
        [IDEMPOTENT],
        same_meaning
    ),
    scenario!(
        "idempotency/retries",
        Idempotency,
        "five tries in a row are one run",
        "openwop v1: idempotency, retries",
        [IDEMPOTENT],
        retries
    ),
    scenario!(
        "idempotency/at-once",
        Idempotency,
        "ten tries at once are one run",
        "openwop v1: idempotency, concurrent claims",
        [IDEMPOTENT],
        at_once
    ),
    scenario!(
        "idempotency/refusal-not-kept",
        Idempotency,
        "a refusal does not use up its key",
        "openwop v1: idempotency, what is kept",
        [IDEMPOTENT],
        refusal_not_kept
    ),
    scenario!(
        "idempotency/reads-ignore",
        Idempotency,
        "a key on a read means nothing",
        "openwop v1: idempotency, layer 1",
        [Need::Fixture("conformance-delay")],
        reads_ignore
    ),
];

const MISMATCH: [&str; 3] =
    ["idempotency_key_mismatch", "idempotency_key_conflict", "idempotency_key_replay_mismatch"];

async fn same_request(p: &mut Probe) -> Result<(), Stop> {
    let key = p.name();
    let ask = create("one", Some(&key));
    p.step("create a run");
    let first = p.ask(&ask).await?;
    let run = p.created(&ask, &first)?;
    p.holds(!is_replay(&first), "no mark of a repetition on the first answer", is_replay(&first))?;
    p.step("create it again");
    let second = p.ask(&ask).await?;
    let again = p.created(&ask, &second)?;
    p.holds(run == again, "the same run", again)?;
    p.holds(is_replay(&second), "openwop-Idempotent-Replay: true", "no such header")?;
    let (first, second) = (p.json(&first)?, p.json(&second)?);
    p.equal("the second answer", &first, Some(&second))
}

async fn other_body(p: &mut Probe) -> Result<(), Stop> {
    let key = p.name();
    p.step("create a run");
    let ask = create("one", Some(&key));
    let first = p.ask(&ask).await?;
    p.created(&ask, &first)?;
    p.step("create another with the same key");
    let refused = p.refused(&create("two", Some(&key)), &[409], &MISMATCH).await?;
    p.holds(!refused.to_string().contains("\"runId\""), "no runId in the refusal", &refused)
}

async fn other_key(p: &mut Probe) -> Result<(), Stop> {
    let keys = [Some(p.name()), Some(p.name()), None, None];
    let mut runs = BTreeSet::new();
    for key in &keys {
        p.step("create a run");
        let ask = create("one", key.as_deref());
        let answer = p.ask(&ask).await?;
        runs.insert(p.created(&ask, &answer)?);
    }
    p.holds(runs.len() == keys.len(), "four runs", runs.len())
}

async fn same_meaning(p: &mut Probe) -> Result<(), Stop> {
    let key = p.name();
    let spellings = [
        "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"A\"}}",
        "{ \"inputs\" : { \"nonce\" : \"\\u0041\" } ,\n \"workflowId\" : \"conformance-idempotent\" }",
    ];
    let mut runs = BTreeSet::new();
    for body in spellings {
        p.step(format!("create a run with the body {body}"));
        let ask = Ask::post_text("/v1/runs", body).header("idempotency-key", key.as_str());
        let answer = p.ask(&ask).await?;
        runs.insert(p.created(&ask, &answer)?);
    }
    p.holds(runs.len() == 1, "one run", runs.len())
}

async fn retries(p: &mut Probe) -> Result<(), Stop> {
    const TRIES: usize = 5;
    let key = p.name();
    let mut runs = BTreeSet::new();
    for attempt in 0..TRIES {
        p.step(format!("try {attempt}"));
        let ask = create("one", Some(&key));
        let answer = p.ask(&ask).await?;
        runs.insert(p.created(&ask, &answer)?);
        p.holds(is_replay(&answer) == (attempt > 0), "a mark on every try but the first", attempt)?;
    }
    p.holds(runs.len() == 1, "one run", runs.len())
}

async fn at_once(p: &mut Probe) -> Result<(), Stop> {
    const TOGETHER: usize = 10;
    let key = p.name();
    p.step("ten times the same request at once");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..TOGETHER {
        let (http, ask) = (p.shared().http().clone(), create("one", Some(&key)));
        tasks.spawn(async move { (http.send(&ask).await, ask) });
    }
    let mut runs = BTreeSet::new();
    while let Some(joined) = tasks.join_next().await {
        let (sent, ask) = joined.map_err(|error| p.failed("ten answers", error))?;
        let answer = sent.map_err(|error| p.failed("an answer", error))?;
        match answer.status {
            409 => {
                p.is_refusal(&ask, &answer, &[409], &["idempotency_in_flight"])?;
            }
            429 | 503 => {
                let wait = answer.header("retry-after").and_then(|text| text.parse::<u64>().ok());
                p.holds(wait.is_some(), "a numeric Retry-After", answer.excerpt())?;
            }
            _ => {
                runs.insert(p.created(&ask, &answer)?);
            }
        }
    }
    p.holds(runs.len() == 1, "one run", runs.len())
}

async fn refusal_not_kept(p: &mut Probe) -> Result<(), Stop> {
    let key = p.name();
    p.step("a request that is refused");
    let wrong =
        Ask::post("/v1/runs", &json!({"workflowId": 7})).header("idempotency-key", key.as_str());
    p.refused(&wrong, &[400, 422], &[]).await?;
    p.step("the right request with its key");
    let ask = create("one", Some(&key));
    let answer = p.ask(&ask).await?;
    let run = p.created(&ask, &answer)?;
    p.holds(!run.is_empty(), "a run", run.as_str())
}

async fn reads_ignore(p: &mut Probe) -> Result<(), Stop> {
    let key = p.name();
    p.step("begin a run that waits");
    let run = p.create("conformance-delay", json!({"inputs": {"delayMs": 100}})).await?;
    let ask = Ask::get(format!("/v1/runs/{run}")).header("idempotency-key", key);
    p.step("read it before and after its end with one key");
    p.get(&ask, &[200]).await?;
    p.reach(&run, "completed").await?;
    let after = p.get(&ask, &[200]).await?;
    p.equal("status", &json!("completed"), after.get("status"))
}

fn create(nonce: &str, key: Option<&str>) -> Ask {
    let body: Value = json!({"workflowId": "conformance-idempotent", "inputs": {"nonce": nonce}});
    let ask = Ask::post("/v1/runs", &body);
    match key {
        Some(key) => ask.header("idempotency-key", key),
        None => ask,
    }
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("openwop-idempotent-replay") == Some("true")
}
