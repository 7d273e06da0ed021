//! What a delegation came to, and whether it may be merged.

use probity_core::{Outcome, RunId};
use probity_host::{Standing, Waiver, may_merge};
use serde_json::{Value, json};

use crate::desk::{ALL, BLIND, CANARY, Desk, OTHER, place, request};
use crate::face::holds;

/// Another candidate than any.
const NOBODYS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[tokio::test]
async fn only_what_is_verified_and_sealed_may_be_merged() {
    let desk = Desk::new().await;
    for outcome in Outcome::ALL {
        let run = desk.ended(outcome).await;
        let told = desk.may_merge(&run, "").await;
        let is_verified = outcome == Outcome::Verified;
        let why = match outcome {
            Outcome::Escalated => "not_sealed",
            outcome => outcome.as_str(),
        };
        assert_eq!(told["mayMerge"], is_verified, "{told}");
        assert_eq!(
            (&told["why"], &told["outcome"], &told["waived"]),
            (&json!(why), &json!(outcome.as_str()), &json!(false)),
        );
        assert_eq!(told["isSealed"], outcome != Outcome::Escalated, "{told}");
        assert_eq!(told["stale"], if is_verified { json!(false) } else { Value::Null });
        // Another candidate is never the one that was verified.
        let other = desk.may_merge(&run, &format!("?candidate={NOBODYS}")).await;
        assert_eq!(other["mayMerge"], false, "{other}");
        if let Some(candidate) = told["candidate"].as_str() {
            let same = desk.may_merge(&run, &format!("?candidate={candidate}")).await;
            assert_eq!((&same["mayMerge"], &same["why"]), (&told["mayMerge"], &told["why"]));
            assert!(outcome == Outcome::Escalated || other["why"] == "candidate_differs");
        }
        let verdict = desk.get(&place(&run, "/verdict")).await;
        holds("Verdict", &verdict.json);
        assert_eq!(verdict.json["outcome"], outcome.as_str());
    }
    let run = desk.ended(Outcome::Verified).await;
    let bad = desk.get(&place(&run, "/may-merge?candidate=abc")).await;
    bad.is_failure(400, "validation_error");
}

#[tokio::test]
async fn a_run_that_goes_on_may_not_be_merged() {
    let desk = Desk::new().await;
    let run = desk.submit(request(Outcome::Cancelled)).await;
    desk.to_event(&run, "delegate.dispatched").await;
    let told = desk.may_merge(&run, "").await;
    assert_eq!(
        (&told["mayMerge"], &told["why"], &told["outcome"]),
        (&json!(false), &json!("not_sealed"), &Value::Null)
    );
    let bundle = desk.get(&place(&run, "/bundle")).await;
    bundle.is_failure(409, "run_not_ended");
}

/// The rule by itself, in every case of its inputs.
#[test]
fn the_rule_of_merging() {
    let candidate = NOBODYS.parse().unwrap();
    let other = "11".repeat(32).parse().unwrap();
    let waiver =
        Waiver { by: "grace".to_owned(), principal: None, reason: None, at_ms: 0, log: None };
    let mut seen = 0;
    for outcome in Outcome::ALL.map(Some).into_iter().chain([None]) {
        for is_sealed in [true, false] {
            for waiver in [None, Some(waiver.clone())] {
                for of_run in [None, Some(candidate)] {
                    let standing = Standing {
                        run: "r".parse::<RunId>().unwrap(),
                        delegate: "liar".to_owned(),
                        outcome,
                        code: None,
                        is_sealed,
                        candidate: of_run,
                        is_edited: false,
                        attempts: 1,
                        max_attempts: 1,
                        head: other,
                        opened_ms: 0,
                        changed_ms: 0,
                        waiver: waiver.clone(),
                    };
                    for asked in [None, Some(candidate), Some(other)] {
                        for stale in [None, Some(false), Some(true)] {
                            let merge = may_merge(&standing, asked, stale);
                            let answers_for =
                                outcome == Some(Outcome::Verified) || waiver.is_some();
                            let may = is_sealed
                                && outcome.is_some()
                                && answers_for
                                && of_run.is_some()
                                && asked != Some(other)
                                && stale != Some(true);
                            assert_eq!(merge.may, may, "{standing:?} {asked:?} {stale:?}");
                            let says_so = ["verified", "waived"].contains(&merge.why);
                            assert_eq!(merge.may, says_so, "{merge:?}");
                            let is_verified = merge.why == "verified";
                            assert_eq!(is_verified, may && outcome == Some(Outcome::Verified));
                            seen += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(seen, 10 * 2 * 2 * 2 * 3 * 3);
}

#[tokio::test]
async fn a_report_is_in_words_only_for_who_may_read_them() {
    let desk = Desk::new().await;
    for outcome in Outcome::ALL {
        let run = desk.ended(outcome).await;
        let whole = desk.get(&place(&run, "")).await.json;
        holds("Delegation", &whole);
        assert_eq!((&whole["hasContent"], &whole["report"]["run_id"]), (&json!(true), &json!(run)));
        let blind = desk.get_as(BLIND, &place(&run, "")).await.json;
        holds("Delegation", &blind);
        assert_eq!(blind["hasContent"], false);
        for member in ["outcome", "code", "attempts", "seal"] {
            assert_eq!(blind["report"][member], whole["report"][member], "{member}");
        }
        let (blind, whole) = (&blind["report"]["checks"][0], &whole["report"]["checks"][0]);
        assert_eq!((&blind["verdict"], &blind["code"]), (&whole["verdict"], &whole["code"]));
    }
    let run = desk.ended(Outcome::Exhausted).await;
    let whole = desk.get(&place(&run, "")).await.json;
    assert!(whole["report"]["checks"][0]["reason"].as_str().unwrap().contains(CANARY));
    assert_eq!(whole["report"]["history"].as_array().unwrap().len(), 2, "a lie is told twice");
}

/// Whatever is read without the scope for content, and whatever is read by others, holds none.
#[tokio::test]
async fn content_never_leaves_without_its_scope() {
    let desk = Desk::new().await;
    for outcome in Outcome::ALL {
        let run = desk.ended(outcome).await;
        if outcome == Outcome::Exhausted {
            let body = json!({"by": "grace", "reason": CANARY});
            assert_eq!(desk.post(&place(&run, "/waive"), &body).await.status, 201);
        }
        let events = desk.get(&place(&run, "/events")).await.json;
        let digest = events["events"][0]["event"]["request"].as_str().unwrap().to_owned();
        let content = format!("/evidence/{digest}");
        let waiver = format!("waiver-{run}");
        let paths = [
            place(&run, ""),
            place(&run, "/verdict"),
            place(&run, "/may-merge"),
            place(&run, "/events"),
            place(&run, &content),
            place(&run, "/bundle"),
            place(&waiver, ""),
            place(&waiver, "/events"),
            "/api/v1/delegations".to_owned(),
            "/api/v1/outcomes".to_owned(),
            format!("/v1/runs/{run}"),
            format!("/v1/runs/{run}/events"),
            format!("/v1/runs/{waiver}"),
            format!("/v1/runs/{waiver}/events"),
            "/v1/runs".to_owned(),
        ];
        for path in paths {
            for key in [BLIND, OTHER, crate::desk::DEFAULT] {
                let asked = desk.ask(key, reqwest::Method::GET, &path);
                let asked = asked.header("accept", "application/json").send().await.unwrap();
                let (status, text) = (asked.status(), asked.text().await.unwrap());
                assert!(!text.contains(CANARY), "{key} {path}: {status} {text}");
            }
        }
        let told = desk.ask(BLIND, reqwest::Method::GET, &place(&run, &content));
        crate::face::done(told).await.is_failure(403, "forbidden");
        let told = desk.ask(ALL, reqwest::Method::GET, &place(&run, &content));
        assert!(told.send().await.unwrap().text().await.unwrap().contains(CANARY));
    }
}

#[tokio::test]
async fn only_what_a_run_names_is_its_evidence() {
    let desk = Desk::new().await;
    let (run, other) = (desk.ended(Outcome::Verified).await, desk.ended(Outcome::Exhausted).await);
    let events = desk.get(&place(&run, "/events")).await.json;
    let claim = |events: &Value| {
        let events = events["events"].as_array().unwrap();
        let received = events.iter().find(|event| event["type"] == "claim.received").unwrap();
        (
            received["event"]["claim"].as_str().unwrap().to_owned(),
            received["event"]["candidate"].as_str().unwrap().to_owned(),
        )
    };
    let (blob, candidate) = claim(&events);
    let told = desk.ask(ALL, reqwest::Method::GET, &place(&run, &format!("/evidence/{blob}")));
    let told = told.send().await.unwrap();
    assert_eq!(told.headers()["content-type"], "application/octet-stream");
    assert_eq!(told.headers()["x-content-type-options"], "nosniff");
    assert!(told.text().await.unwrap().contains("good"));
    for (run, digest) in [(&other, &blob), (&run, &candidate), (&run, &NOBODYS.to_owned())] {
        let answer = desk.get(&place(run, &format!("/evidence/{digest}"))).await;
        answer.is_failure(404, "not_found");
    }
    desk.get(&place(&run, "/evidence/zz")).await.is_failure(400, "validation_error");
    let bundle = desk.ask(ALL, reqwest::Method::GET, &place(&run, "/bundle")).send().await.unwrap();
    assert!(bundle.headers()["content-disposition"].to_str().unwrap().contains(&run));
    assert_eq!(bundle.text().await.unwrap(), format!("bundle of {run}"));
}
