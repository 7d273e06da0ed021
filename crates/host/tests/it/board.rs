//! What the board tells, to whom.

use std::collections::BTreeSet;
use std::sync::Arc;

use probity_core::{Delegation, Outcome, RunId};
use probity_record::read_records;
use probity_store::{Batch, MemoryStore, RunLog as _, read_run};
use serde_json::{Value, json};

use crate::desk::{BLIND, CANARY, DEFAULT, Desk, OTHER, SUBMITTER, place, request};
use crate::face::holds;

const RUNS: &str = "/api/v1/board/runs";
const FIGURES: [(&str, &str); 3] = [
    ("/api/v1/board/claims", "BoardClaims"),
    ("/api/v1/board/drift", "BoardDrift"),
    ("/api/v1/board/checks", "BoardChecks"),
];
const ENDS: [Outcome; 8] = [
    Outcome::Verified,
    Outcome::Exhausted,
    Outcome::Rejected,
    Outcome::Inconclusive,
    Outcome::Unverified,
    Outcome::Faulted,
    Outcome::DelegateFailed,
    Outcome::Escalated,
];

/// A desk with one run of each outcome.
async fn full() -> (Desk, Vec<String>) {
    let desk = Desk::new().await;
    let mut runs = Vec::new();
    for outcome in ENDS {
        runs.push(desk.ended(outcome).await);
    }
    (desk, runs)
}

/// The list, once the index has everything.
async fn list(desk: &Desk, key: &str, query: &str) -> Value {
    for _ in 0..1_000 {
        let answer = desk.get_as(key, &format!("{RUNS}{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.json);
        holds("BoardRuns", &answer.json);
        if answer.json["isComplete"] == true
            && answer.json["counts"]["outcomes"].get("open").is_none()
        {
            return answer.json;
        }
        tokio::task::yield_now().await;
    }
    unreachable!("the index does not become complete")
}

fn names(page: &Value) -> BTreeSet<String> {
    let runs = page["runs"].as_array().unwrap();
    runs.iter().map(|run| run["runId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_run_is_listed_and_counted_as_what_it_came_to() {
    let (desk, runs) = full().await;
    let page = list(&desk, crate::desk::ALL, "").await;
    assert_eq!(names(&page), runs.iter().cloned().collect());
    assert_eq!(page["counts"]["total"], runs.len());
    for (outcome, run) in ENDS.iter().zip(&runs) {
        let word = outcome.as_str();
        assert_eq!(page["counts"]["outcomes"][word], 1, "{word}");
        let only = list(&desk, crate::desk::ALL, &format!("?outcome={word}")).await;
        assert_eq!(names(&only), BTreeSet::from([run.clone()]), "{word}");
    }
    let not = list(&desk, crate::desk::ALL, "?outcome=not_verified").await;
    assert_eq!(names(&not), runs[1..].iter().cloned().collect());
    let liars = list(&desk, crate::desk::ALL, "?delegate=liar").await;
    assert_eq!(names(&liars), BTreeSet::from([runs[1].clone()]));
    let code = list(&desk, crate::desk::ALL, "?code=scripted_fail").await;
    assert_eq!(names(&code), BTreeSet::from([runs[2].clone()]));
    let stage = list(&desk, crate::desk::ALL, "?stage=escalated").await;
    assert_eq!(names(&stage), BTreeSet::from([runs[7].clone()]));
    let name = list(&desk, crate::desk::ALL, &format!("?q={}", &runs[3][20..])).await;
    assert_eq!(names(&name), BTreeSet::from([runs[3].clone()]));
    let none = list(&desk, crate::desk::ALL, "?until=1").await;
    assert_eq!((names(&none).len(), &none["counts"]["total"]), (0, &json!(0)));
}

#[tokio::test]
async fn pages_follow_each_other_and_count_once() {
    let (desk, runs) = full().await;
    list(&desk, crate::desk::ALL, "").await;
    let (mut seen, mut query) = (Vec::new(), "?limit=3".to_owned());
    for number in 0..4 {
        let page = desk.get(&format!("{RUNS}{query}")).await.json;
        holds("BoardRuns", &page);
        assert_eq!(page.get("counts").is_some(), number == 0);
        let rows = page["runs"].as_array().unwrap();
        seen.extend(rows.iter().map(|run| run["runId"].as_str().unwrap().to_owned()));
        let Some(next) = page["nextCursor"].as_str() else { break };
        assert_eq!(rows.len(), 3);
        query = format!("?limit=3&cursor={next}");
    }
    assert_eq!(seen.len(), runs.len());
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), runs.into_iter().collect());
}

#[tokio::test]
async fn what_cannot_be_asked_is_said() {
    let desk = Desk::new().await;
    for query in [
        "?outcome=good",
        "?limit=0",
        "?limit=201",
        "?since=then",
        "?cursor=3",
        "?cursor=x.y z",
        "?waived=perhaps",
        "?code=no%20code",
    ] {
        desk.get(&format!("{RUNS}{query}")).await.is_failure(400, "validation_error");
    }
    let long = "x".repeat(201);
    desk.get(&format!("{RUNS}?q={long}")).await.is_failure(400, "validation_error");
    desk.get("/api/v1/board/claims?by=week").await.is_failure(400, "validation_error");
    desk.get(&format!("{RUNS}/nobody")).await.is_failure(404, "not_found");
}

#[tokio::test]
async fn only_who_may_read_is_told_and_content_only_to_who_may_read_that() {
    let (desk, runs) = full().await;
    let mut paths = vec![RUNS.to_owned(), format!("{RUNS}?q=be+good")];
    paths.extend(FIGURES.map(|(path, _)| path.to_owned()));
    paths.extend(runs.iter().map(|run| format!("{RUNS}/{run}")));
    list(&desk, crate::desk::ALL, "").await;
    for path in &paths {
        let answer = desk.get_as("nobody", path).await;
        answer.is_failure(401, "unauthenticated");
        let answer = desk.get_as(SUBMITTER, path).await;
        answer.is_failure(403, "forbidden");
        let blind = desk.get_as(BLIND, path).await;
        assert_eq!((blind.status, &blind.json["hasContent"]), (200, &json!(false)), "{path}");
        assert!(!blind.json.to_string().contains(CANARY), "{path}: {}", blind.json);
    }
    let page = list(&desk, crate::desk::ALL, "").await;
    assert_eq!(page["hasContent"], true);
    assert!(
        page["runs"].as_array().unwrap().iter().all(|run| run["title"] == "be good CANARY-4711")
    );
    // The task is searched for who may read it, and for nobody else.
    let found = list(&desk, crate::desk::ALL, "?q=GOOD%20canary").await;
    assert_eq!(names(&found).len(), runs.len());
    let found = list(&desk, BLIND, "?q=GOOD%20canary").await;
    assert_eq!(names(&found).len(), 0);
    let claims = desk.get("/api/v1/board/claims").await.json;
    let reasons = claims["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|it| it["text"] == format!("it is not: {CANARY}")), "{reasons:?}");
}

#[tokio::test]
async fn another_tenants_runs_are_neither_there_nor_counted() {
    let (desk, runs) = full().await;
    list(&desk, crate::desk::ALL, "").await;
    for key in [OTHER, DEFAULT] {
        let page = list(&desk, key, "").await;
        assert_eq!((names(&page).len(), &page["counts"]["total"]), (0, &json!(0)), "{key}");
        assert_eq!(page["words"], json!({"delegates": [], "stages": [], "codes": []}));
        for (path, shape) in FIGURES {
            let answer = desk.get_as(key, path).await;
            holds(shape, &answer.json);
            for list in ["delegates", "refusals", "reasons", "overTime", "drifts", "checks"] {
                let is_empty = answer.json.get(list).is_none_or(|it| it == &json!([]));
                assert!(is_empty, "{key} {path}: {}", answer.json);
            }
        }
        for run in &runs {
            desk.get_as(key, &format!("{RUNS}/{run}")).await.is_failure(404, "not_found");
            let named = list(&desk, key, &format!("?q={run}")).await;
            assert_eq!(names(&named).len(), 0);
        }
    }
    // Each sees its own, and the tenant's `default` what carries no mark.
    let answer = desk.post_as(OTHER, "/api/v1/delegations", &request(Outcome::Verified)).await;
    let theirs = answer.text("runId");
    let seen = loop {
        let page = desk.get_as(OTHER, RUNS).await.json;
        if page["runs"].as_array().is_some_and(|runs| !runs.is_empty()) {
            break names(&page);
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(seen, BTreeSet::from([theirs]));
}

#[tokio::test]
async fn a_run_is_told_from_its_first_record_to_its_seal() {
    let (desk, runs) = full().await;
    for (outcome, run) in ENDS.iter().zip(&runs) {
        let told = desk.get(&format!("{RUNS}/{run}")).await.json;
        holds("BoardRun", &told);
        assert_eq!(told["run"]["outcome"], outcome.as_str());
        assert_eq!(told["mayMerge"]["may"], *outcome == Outcome::Verified);
    }
    let told = desk.get(&format!("{RUNS}/{}", runs[1])).await.json;
    let steps = told["run"]["steps"].as_array().unwrap();
    let kinds: Vec<&str> = steps.iter().map(|step| step["kind"].as_str().unwrap()).collect();
    let main = |kind: &&str| !matches!(*kind, "lease" | "red");
    let main: Vec<&str> = kinds.iter().copied().filter(main).collect();
    let attempt = ["claim", "check", "verdict"];
    let expected: Vec<&str> = ["opened", "prompt"]
        .into_iter()
        .chain(attempt)
        .chain(["correction"])
        .chain(attempt)
        .chain(["outcome", "seal"])
        .collect();
    assert_eq!(main, expected);
    let of = |kind: &str| steps.iter().find(|step| step["kind"] == kind).unwrap();
    assert_eq!(of("prompt")["texts"][0]["text"], format!("be good {CANARY}"));
    assert_eq!(of("claim")["texts"][0]["text"], format!("done {CANARY}"));
    assert_eq!(of("check")["texts"][0]["text"], format!("it is not: {CANARY}"));
    assert_eq!(of("correction")["facts"]["checks"], json!(["good"]));
    assert_eq!(of("verdict")["facts"]["judgement"], "revise");
    let events = desk.get(&place(&runs[1], "/events")).await.json;
    assert_eq!(told["run"]["records"], events["events"].as_array().unwrap().len());
}

#[tokio::test]
async fn an_outcome_that_is_not_sealed_is_told_as_such() {
    let desk = Desk::new().await;
    let name = desk.ended(Outcome::Verified).await;
    let run: RunId = name.parse().unwrap();
    let sealed = desk.get(&format!("{RUNS}/{name}")).await.json;
    assert_eq!(decided(&sealed)["isSealed"], true);

    // The same run on another store, up to the record before the seal.
    let lines = read_run(&*desk.store, &run).await.unwrap();
    let machine = Delegation::replay(&read_records(&lines).unwrap().entries).unwrap();
    let request = desk.store.get(&machine.request(), 1 << 20).await.unwrap().unwrap();
    let (_, open) = lines.split_last().unwrap();
    let other = Arc::new(MemoryStore::new());
    let mut batch = Batch::of(open.to_vec());
    batch.add_blob(request);
    other.append(&run, 0, batch).await.unwrap();
    let told = Desk::on(other).await.get_as(BLIND, &format!("{RUNS}/{name}")).await.json;
    holds("BoardRun", &told);
    assert_eq!(told["run"]["isSealed"], false);
    assert_eq!(told["run"]["outcome"], Value::Null);
    assert_eq!(told["mayMerge"]["may"], false);
    let step = decided(&told);
    assert_eq!((&step["outcome"], &step["isSealed"]), (&json!("verified"), &json!(false)));
}

/// The facts of the step that says what was decided.
fn decided(told: &Value) -> Value {
    let steps = told["run"]["steps"].as_array().unwrap();
    steps.iter().find(|step| step["kind"] == "outcome").unwrap()["facts"].clone()
}

#[tokio::test]
async fn a_waiver_is_shown_and_makes_nothing_verified() {
    let desk = Desk::new().await;
    let run = desk.ended(Outcome::Exhausted).await;
    let body = json!({"by": "ada", "reason": "we know"});
    assert_eq!(desk.post(&place(&run, "/waive"), &body).await.status, 201);
    let page = loop {
        let page = list(&desk, crate::desk::ALL, "?waived=true").await;
        if page["counts"]["total"] == 1 {
            break page;
        }
        tokio::task::yield_now().await;
    };
    let row = &page["runs"][0];
    assert_eq!((&row["outcome"], &row["waived"]), (&json!("exhausted"), &json!(true)));
    let told = desk.get_as(BLIND, &format!("{RUNS}/{run}")).await.json;
    assert_eq!(
        (&told["waiver"]["by"], &told["mayMerge"]["why"]),
        (&json!("ada"), &json!("waived"))
    );
    assert!(!told.to_string().contains("we know"));
}

#[tokio::test]
async fn figures_add_up() {
    let (desk, runs) = full().await;
    list(&desk, crate::desk::ALL, "").await;
    for (path, shape) in FIGURES {
        let answer = desk.get(path).await;
        assert_eq!(answer.status, 200);
        holds(shape, &answer.json);
    }
    let claims = desk.get("/api/v1/board/claims?by=hour").await.json;
    let sum = |list: &str, member: &str| -> u64 {
        let items = claims[list].as_array().unwrap();
        items.iter().map(|it| it[member].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("delegates", "runs"), runs.len() as u64);
    for word in ["passed", "refused", "unsettled", "unchecked"] {
        assert_eq!(sum("delegates", word), sum("overTime", word), "{word}");
    }
    // Two claims each of the liar and of the one that waits, one of the one that was rejected.
    assert_eq!((sum("delegates", "passed"), sum("delegates", "refused")), (1, 5));
    let checks = desk.get("/api/v1/board/checks").await.json;
    assert_eq!(checks["checks"][0]["check"], "good");
    assert_eq!(checks["checks"][0]["results"]["fault"], 1);
}
