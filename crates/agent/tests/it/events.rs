//! What is told of verification while it happens, and what is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use probity_agent::{Reject, VerificationEvent};
use probity_core::Outcome;
use probity_engine::Clock;
use probity_store::{MemoryStore, Store};
use serde_json::json;

use crate::stage::{
    Output, Told, agent, bounded, hand_in, model, never, not_done, only_good, verdict,
};

/// A clock that goes on by a second whenever it is read.
#[derive(Default)]
struct Steps(AtomicU64);

impl Clock for Steps {
    fn now_ms(&self) -> u64 {
        1_000 * (1 + self.0.fetch_add(1, Ordering::SeqCst))
    }
}

#[tokio::test]
async fn p06_an_exhausted_run_is_told_in_order_and_keeps_everything() {
    let told = Told::default();
    let model = model(["a", "b", "c"].map(hand_in));
    let agent = agent(&model)
        .on_verification(told.sink())
        .clock(Arc::new(Steps::default()))
        .output::<Output>()
        .verifier(never)
        .build()
        .unwrap();
    let end = not_done(bounded(agent.run("Fix it.")).await);
    let expected = ["rejected", "rejected", "rejected", "exhausted"];
    assert_eq!(told.names(), expected.map(|name| format!("verification_{name}")));
    let used: Vec<u32> = told.events().iter().map(|it| verdict(it).attempts_used).collect();
    assert_eq!(used, [1, 2, 3, 3]);
    let turns: Vec<u32> = told.events().iter().map(|it| verdict(it).turn.number).collect();
    assert_eq!(turns, [0, 1, 2, 2]);

    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Exhausted, "attempts"));
    assert_eq!(end.verification.attempts_used, 3);
    assert_eq!(end.reasons, ["a", "b", "c"].map(|it| format!("`{it}` is not good enough.")));
    let claim = end.last_claim.clone().unwrap();
    assert_eq!(claim.output.unwrap(), json!({ "summary": "c", "profile": "fast" }));
    assert!(end.to_string().contains("exhausted (attempts) after 3 of 3 attempts"), "{end}");

    // Every moment has its own time: in the system of the seed all had that of the import.
    let times: Vec<u64> =
        end.ledger.iter().flat_map(|it| [it.submitted_at_ms, it.judged_at_ms]).collect();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");

    assert_eq!(agent.history(&end.run).await.unwrap(), told.events(), "from the log alone");
    let again = not_done(bounded(agent.resume(&end.run)).await);
    assert_eq!(again, end, "read again");
    assert_eq!(model.asked().len(), 3);
}

/// The fields of seed 003, by their names on the wire.
#[tokio::test]
async fn events_have_at_least_the_fields_of_the_seed() {
    let told = Told::default();
    let model = model([hand_in("a"), hand_in("b"), hand_in("good")]);
    let agent = agent(&model)
        .on_verification(told.sink())
        .output::<Output>()
        .verifier(|output: Output| match output.summary.as_str() {
            "good" => Ok(()),
            _ => Err(Reject::revise("No.").code("bad").metadata(json!({ "n": 1 }))),
        })
        .build()
        .unwrap();
    bounded(agent.run("Fix it.")).await.unwrap();
    let events: Vec<_> =
        told.events().iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    for (event, (name, used)) in events.iter().zip([
        ("verification_rejected", 1),
        ("verification_rejected", 2),
        ("verification_passed", 2),
    ]) {
        assert_eq!(event["event_type"], name);
        assert_eq!((&event["attempts_used"], &event["max_attempts"]), (&json!(used), &json!(3)));
    }
    let rejected = &events[1];
    assert_eq!(rejected["attempt_counted"], true);
    assert_eq!((&rejected["message"], &rejected["code"]), (&json!("No."), &json!("bad")));
    assert_eq!(rejected["metadata"], json!({ "n": 1 }));
}

/// A pass is told once it is durable, not before: here it never is.
#[tokio::test]
async fn what_is_not_durable_is_not_told() {
    let behind: Arc<MemoryStore> = Arc::new(MemoryStore::new());
    let count = probity_testkit::CrashStore::new(behind, probity_testkit::CrashPoint::Never);
    let whole = Arc::new(count);
    let script = || model([hand_in("bad"), hand_in("good")]);
    let run = async |store: Arc<dyn Store>| {
        let told = Told::default();
        let agent = agent(&script()).store(store).on_verification(told.sink());
        let agent = agent.output::<Output>().verifier(only_good).build().unwrap();
        let ended = bounded(agent.run("Fix it.")).await;
        (ended.is_ok(), told.names())
    };
    let (is_ok, all) = run(whole.clone()).await;
    assert!(is_ok);
    assert_eq!(all, ["verification_rejected", "verification_passed"]);
    for point in probity_testkit::CrashPoint::all(whole.appends()) {
        let behind = Arc::new(MemoryStore::new());
        let store = probity_testkit::CrashStore::new(behind.clone(), point);
        let (_, told) = run(Arc::new(store)).await;
        let Some(run) = probity_store::RunLog::list(behind.as_ref(), None, 1).await.unwrap().pop()
        else {
            assert!(told.is_empty());
            continue;
        };
        let reader = agent(&script()).store(behind).build().unwrap();
        let kept = reader.history(&run.run).await.unwrap();
        let kept: Vec<_> = kept.iter().map(VerificationEvent::name).collect();
        assert!(kept.starts_with(&told), "{point:?}: told {told:?}, kept {kept:?}");
    }
}
