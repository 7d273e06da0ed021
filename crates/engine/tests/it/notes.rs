//! What a delegate writes down, waits for and is lost in: through the log and back.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use probity_core::{
    Claim, Event, NoteKind, OnFailure, Outcome, Policy, RedFirst, Turn, Usage, Verdict,
};
use probity_delegate::{
    Answer, Answered, Conversation, Delegate, DelegateError, Note, NoteError, Parked, Request,
};
use probity_engine::{Correction, EngineError, Plan, read_notes};
use probity_store::MemoryStore;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::rig::{Eye, Rig, Unwatched, When, bounded, run_id, timeless};

/// A delegate that is a script over its request.
struct Playing<F> {
    play: F,
    asked: Mutex<Vec<Request>>,
}

type Played = Result<Answered, DelegateError>;

impl<F, P> Playing<F>
where
    F: Fn(Request) -> P + Send + Sync,
    P: Future<Output = Played> + Send,
{
    fn new(play: F) -> Arc<Self> {
        Arc::new(Self { play, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl<F, P> Delegate for Playing<F>
where
    F: Fn(Request) -> P + Send + Sync,
    P: Future<Output = Played> + Send,
{
    async fn attempt(&self, request: &Request) -> Played {
        self.asked.lock().unwrap().push(request.clone());
        (self.play)(request.clone()).await
    }

    fn conversation(&self) -> Conversation {
        Conversation::Same
    }

    fn describe(&self) -> String {
        "playing".to_owned()
    }
}

fn note(text: &str, tokens: u64) -> Note {
    let usage = Usage { tokens, tool_calls: 0 };
    Note { kind: NoteKind::Model, content: text.as_bytes().to_vec(), usage }
}

fn texts(notes: &[probity_delegate::Kept]) -> Vec<(u32, String)> {
    let text = |kept: &probity_delegate::Kept| String::from_utf8(kept.content.clone()).unwrap();
    notes.iter().map(|kept| (kept.turn.number, text(kept))).collect()
}

/// Writes two notes a turn, unless they are there: one at once, one with the claim.
async fn diligent(request: Request) -> Played {
    let turn = request.turn;
    let kept = request.notes.read().await?;
    if kept.iter().all(|kept| kept.turn != turn) {
        request.notes.keep(note(&format!("early {}", turn.number), 10)).await?;
    }
    let claim = Claim::text(format!("round {}", turn.number));
    let late = note(&format!("late {}", turn.number), 1);
    Ok(Answered { notes: vec![late], ..Answered::of(claim) })
}

/// Refuses the first claim.
fn second_thoughts(rig: &Rig) -> Arc<Eye> {
    Eye::new(rig, |ctx| {
        let is_second = ctx.claim.response == "round 1";
        std::future::ready(Ok(match is_second {
            true => Verdict::pass(),
            false => Verdict::revise("not_yet", "once more"),
        }))
    })
}

fn calm(plan: Plan) -> Plan {
    Plan { policy: Policy { red_first: RedFirst::Off, ..plan.policy }, ..plan }
}

#[tokio::test]
async fn notes_are_kept_in_order_and_counted_once_and_given_back() {
    let rig = Rig::new();
    let delegate = Playing::new(diligent);
    let plan = calm(rig.plan(delegate.clone(), [second_thoughts(&rig).check("a")]));
    let ended = rig.run(plan).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    let kept = read_notes(rig.store.as_ref(), &run_id()).await.unwrap();
    let all = [(0, "early 0"), (0, "late 0"), (1, "early 1"), (1, "late 1")];
    assert_eq!(texts(&kept), all.map(|(turn, text)| (turn, text.to_owned())));
    // The second turn was shown those of the first.
    let shown = delegate.asked()[1].notes.read().await.unwrap();
    assert_eq!(shown, kept[..2]);
    let log = rig.log().await;
    let claims = log.entries.iter().filter_map(|entry| match &entry.event {
        Event::ClaimReceived { usage, .. } => Some(usage.tokens),
        _ => None,
    });
    assert_eq!(claims.collect::<Vec<_>>(), [0, 0], "what notes tell of is not told twice");
}

#[tokio::test]
async fn the_note_of_a_claim_is_durable_in_the_same_append() {
    let (rig, store) = Rig::watched();
    let plan = calm(rig.plan(Playing::new(diligent), [second_thoughts(&rig).check("a")]));
    rig.run(plan).await;
    let names = rig.names().await;
    let mut at = 0;
    for batch in store.batches() {
        let here = &names[at..at + batch.records.len()];
        let claim = here.iter().position(|name| *name == "claim.received");
        assert!(claim != Some(0), "a claim without its note before it: {here:?}");
        at += batch.records.len();
    }
}

#[tokio::test]
async fn every_prefix_gives_back_what_it_holds() {
    let (whole, store) = Rig::watched();
    whole.run(calm(whole.plan(Playing::new(diligent), [second_thoughts(&whole).check("a")]))).await;
    let events: Vec<_> = whole.log().await.entries.iter().map(timeless).collect();
    let batches = store.batches();
    for appends in 1..batches.len() {
        let rig = Rig::on(Arc::new(MemoryStore::new()));
        let mut len = 0;
        for batch in &batches[..appends] {
            len = rig.store.append(&run_id(), len, batch.clone()).await.unwrap();
        }
        let delegate = Playing::new(diligent);
        let plan = calm(rig.plan(delegate.clone(), [second_thoughts(&rig).check("a")]));
        assert_eq!(rig.resume(plan).await.unwrap().outcome, Outcome::Verified, "{appends}");
        let again = rig.log().await.entries.iter().map(timeless).collect::<Vec<_>>();
        let again = again.into_iter().filter(|event| !matches!(event, Event::RunResumed { .. }));
        assert_eq!(again.collect::<Vec<_>>(), events, "{appends}");
    }
}

#[tokio::test]
async fn a_budget_ends_the_delegate_and_exhausts_the_run() {
    let rig = Rig::new();
    let delegate = Playing::new(|request: Request| async move {
        request.notes.keep(note("dear", 60)).await?;
        match request.budget.tokens {
            Some(left) if left <= 60 => Err(DelegateError::Budget(probity_delegate::Spent::Tokens)),
            _ => Ok(Answered::of(Claim::text("round 0"))),
        }
    });
    let mut plan = calm(rig.plan(delegate.clone(), [second_thoughts(&rig).check("a")]));
    plan.policy.max_tokens = Some(100);
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_tokens"));
    assert_eq!(report.attempts, 1);
    let left: Vec<_> = delegate.asked().iter().map(|request| request.budget.tokens).collect();
    assert_eq!(left, [Some(100), Some(40)]);
}

#[tokio::test]
async fn a_lost_delegate_is_an_interruption_and_asked_for_the_same_turn() {
    let rig = Rig::new();
    let losses = AtomicU32::new(0);
    let delegate = Playing::new(move |request: Request| {
        let is_lost = losses.fetch_add(1, Ordering::Relaxed) < 2;
        async move {
            if is_lost {
                return Err(DelegateError::Lost { message: "signal 9".to_owned() });
            }
            diligent(request).await
        }
    });
    let plan = calm(rig.plan(delegate.clone(), [second_thoughts(&rig).check("a")]));
    let (ended, report) = rig.whole(plan).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!((report.interruptions, report.attempts), (2, 2));
    let asked: Vec<_> =
        delegate.asked().iter().map(|request| (request.turn.number, request.is_replay)).collect();
    assert_eq!(asked, [(0, false), (0, true), (0, true), (1, false)]);
}

#[tokio::test]
async fn notes_that_the_store_does_not_give_are_no_failure_of_their_delegate() {
    let rig = Rig::new();
    let asked = AtomicU32::new(0);
    let delegate = Playing::new(move |request: Request| {
        let is_dark = asked.fetch_add(1, Ordering::Relaxed) == 1;
        async move {
            if is_dark {
                let message = "the store does not answer".to_owned();
                return Err(NoteError::Unavailable { message }.into());
            }
            diligent(request).await
        }
    });
    let plan = calm(rig.plan(delegate.clone(), [second_thoughts(&rig).check("a")]));
    let (ended, report) = rig.whole(plan).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!((report.interruptions, report.attempts), (1, 2));
    let turns: Vec<_> = delegate.asked().iter().map(|request| request.turn.number).collect();
    assert_eq!(turns, [0, 1, 1]);
}

#[tokio::test]
async fn a_delegate_that_is_lost_for_ever_uses_the_interruptions_up() {
    let rig = Rig::new();
    let delegate = Playing::new(|_| async { Err(DelegateError::Lost { message: String::new() }) });
    let mut plan = calm(rig.plan(delegate.clone(), [second_thoughts(&rig).check("a")]));
    plan.policy.max_interruptions = 3;
    let (ended, report) = rig.whole(plan).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "interruptions"));
    assert_eq!((report.attempts, delegate.asked().len()), (0, 4));
}

/// Asks a question once, and claims what was answered.
async fn asking(request: Request) -> Played {
    match request.answer {
        Some(Answer { key, value }) if key == "q1" => {
            Ok(Answered::of(Claim::text(format!("answered {value}"))))
        }
        _ => Err(DelegateError::Parked(Parked {
            key: "q1".to_owned(),
            until_ms: None,
            question: "which colour?".to_owned(),
            children: Vec::new(),
        })),
    }
}

fn content(rig: &Rig) -> Arc<Eye> {
    Eye::new(rig, |_| std::future::ready(Ok(Verdict::pass())))
}

async fn wake(rig: &Rig, plan: Plan, value: Value) -> Result<probity_engine::Ended, EngineError> {
    wake_about(rig, plan, "q1", value).await
}

async fn wake_about(
    rig: &Rig,
    plan: Plan,
    about: &str,
    value: Value,
) -> Result<probity_engine::Ended, EngineError> {
    let engine = rig.engine();
    bounded(engine.wake(plan, about, "ana", value, &Unwatched, CancellationToken::new())).await
}

#[tokio::test]
async fn a_parked_run_waits_for_its_answer_in_any_process() {
    let rig = Rig::new();
    let plan = || calm(rig.plan(Playing::new(asking), [content(&rig).check("a")]));
    let (ended, report) = rig.whole(plan()).await;
    assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Escalated, "parked"));
    assert_eq!(report.outcome, Some(Outcome::Escalated));
    assert_eq!(report.question.as_deref(), Some("which colour?"));
    // Taking it up is no interruption, and asks the delegate nothing.
    let asked = rig.account.count("ask");
    assert_eq!(rig.resume(plan()).await.unwrap().outcome, Outcome::Escalated);
    assert_eq!((rig.report().await.interruptions, rig.account.count("ask")), (0, asked));

    // An answer to something else is not taken for one to this.
    let other = wake_about(&rig, plan(), "q0", json!("green")).await;
    assert!(matches!(other, Err(EngineError::NotParked { .. })), "{other:?}");
    let ended = wake(&rig, plan(), json!("red")).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(ended.delivered.unwrap().response, "answered \"red\"");
    assert_eq!(rig.report().await.question, None);
    // Nobody is asked any more.
    let again = wake(&rig, plan(), json!("blue")).await;
    assert!(matches!(again, Err(EngineError::NotParked { waits_for: None, .. })), "{again:?}");
}

#[tokio::test]
async fn a_time_that_is_waited_for_ends_the_wait_by_itself() {
    let rig = Rig::new();
    let started_ms = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map(|since| u64::try_from(since.as_millis()).unwrap())
        .unwrap();
    let delegate = Playing::new(move |request: Request| async move {
        match request.answer {
            Some(Answer { value: Value::Null, .. }) => Ok(Answered::of(Claim::text("rested"))),
            _ => Err(DelegateError::Parked(Parked {
                key: "t".to_owned(),
                until_ms: Some(started_ms + 20),
                question: String::new(),
                children: Vec::new(),
            })),
        }
    });
    let plan = calm(rig.plan(delegate, [content(&rig).check("a")]));
    let ended = rig.run(plan).await;
    assert_eq!(ended.delivered.unwrap().response, "rested");
    let names = rig.names().await;
    assert!(names.contains(&"delegate.parked") && names.contains(&"delegate.woken"), "{names:?}");
}

#[tokio::test]
async fn an_answer_to_another_turn_is_not_given() {
    let rig = Rig::new();
    let delegate = Playing::new(|request: Request| async move {
        match (request.turn, &request.answer) {
            (Turn { number: 0, .. }, None) => asking(request).await,
            (Turn { number: 0, .. }, Some(_)) => Ok(Answered::of(Claim::text("round 0"))),
            (_, Some(_)) => Err(DelegateError::Failed { message: "a stale answer".to_owned() }),
            (_, None) => Ok(Answered::of(Claim::text("round 1"))),
        }
    });
    let plan = || calm(rig.plan(delegate.clone(), [second_thoughts(&rig).check("a")]));
    rig.run(plan()).await;
    let ended = wake(&rig, plan(), json!(1)).await.unwrap();
    assert_eq!((ended.outcome, rig.report().await.attempts), (Outcome::Verified, 2));
}

#[tokio::test]
async fn rejections_reach_the_delegate_as_elements() {
    let rig = Rig::new();
    let delegate = Playing::new(diligent);
    let eye = Eye::new(&rig, |ctx| {
        let refused = Verdict {
            metadata: Some(json!({ "failed": ["t1", "t2"] })),
            ..Verdict::revise("tests_failed", "2 tests failed.")
        };
        let passes = ctx.claim.response == "round 1";
        std::future::ready(Ok(if passes { Verdict::pass() } else { refused }))
    });
    let mut plan = calm(rig.plan(delegate.clone(), [eye.check("a")]));
    plan.correction = Correction::Rejections;
    rig.run(plan).await;
    let told = delegate.asked()[1].prompt.correction.clone().unwrap();
    assert_eq!(
        told.as_ref(),
        "<verification_rejected code=\"tests_failed\" attempt=\"1\" max=\"3\">\n\
         Summary: 2 tests failed.\nTop failures:\n- t1\n- t2\n</verification_rejected>"
    );
}

#[tokio::test]
async fn the_value_that_a_check_put_in_place_is_handed_on_by_every_process() {
    let rig = Rig::new();
    let eye = Eye::new(&rig, |_| {
        std::future::ready(Ok(Verdict { output: Some(json!({ "n": 1 })), ..Verdict::pass() }))
    });
    let plan = || calm(rig.plan(Playing::new(diligent), [eye.check("a")]));
    assert_eq!(rig.run(plan()).await.result, Some(json!({ "n": 1 })));
    assert_eq!(rig.resume(plan()).await.unwrap().result, Some(json!({ "n": 1 })));
}

/// Keeps a note and claims, with these notes beside the claim.
async fn bringing(rig: &Rig, notes: Vec<Note>) -> (probity_engine::Ended, usize) {
    let delegate = Playing::new(move |_| {
        let notes = notes.clone();
        async move { Ok(Answered { notes, ..Answered::of(Claim::text("round 0")) }) }
    });
    let ended = rig.run(calm(rig.plan(delegate, [content(rig).check("a")]))).await;
    let kept = read_notes(rig.store.as_ref(), &run_id()).await.unwrap();
    (ended, kept.len())
}

#[tokio::test]
async fn notes_that_do_not_fit_into_one_append_are_the_failure_of_their_delegate() {
    let many = |count: usize| vec![note("n", 1); count];
    let large = |mib: usize| Note { content: vec![0; mib << 20], ..note("", 1) };
    for (notes, kept) in [
        (many(255), Some(255)),
        (many(256), None),
        (vec![large(16)], Some(1)),
        (vec![large(17)], None),
        (vec![large(15); 5], None),
    ] {
        let (ended, count) = bringing(&Rig::new(), notes).await;
        assert_eq!(count, kept.unwrap_or(0));
        match kept {
            Some(_) => assert_eq!(ended.outcome, Outcome::Verified),
            None => assert_eq!(
                (ended.outcome, ended.code.as_str()),
                (Outcome::DelegateFailed, "delegate_notes")
            ),
        }
    }
}

#[tokio::test]
async fn a_note_that_is_too_long_is_refused_at_once() {
    let rig = Rig::new();
    let delegate = Playing::new(|request: Request| async move {
        let large = Note { content: vec![0; (16 << 20) + 1], ..note("", 1) };
        request.notes.keep(large).await?;
        Ok(Answered::of(Claim::text("round 0")))
    });
    let ended = rig.run(calm(rig.plan(delegate, [content(&rig).check("a")]))).await;
    assert_eq!(ended.code.as_str(), "delegate_notes");
}

fn waiting(key: String, question: String) -> Arc<Playing<impl Fn(Request) -> Asked + Send + Sync>> {
    Playing::new(move |_| {
        let (key, question) = (key.clone(), question.clone());
        std::future::ready(Err(DelegateError::Parked(Parked {
            key,
            until_ms: None,
            question,
            children: Vec::new(),
        })))
    })
}

type Asked = std::future::Ready<Played>;

#[tokio::test]
async fn a_wait_that_cannot_be_held_is_the_failure_of_its_delegate() {
    let rig = Rig::new();
    let delegate = waiting("k".repeat(257), String::new());
    let ended = rig.run(calm(rig.plan(delegate, [content(&rig).check("a")]))).await;
    let (outcome, code) = (ended.outcome, ended.code);
    assert_eq!((outcome, code.as_str()), (Outcome::DelegateFailed, "delegate_waits"));

    let rig = Rig::new();
    let delegate = waiting("k".repeat(256), "é".repeat(65 << 20 >> 1));
    let (ended, report) = rig.whole(calm(rig.plan(delegate, [content(&rig).check("a")]))).await;
    assert_eq!(ended.code.as_str(), "parked");
    assert_eq!(report.question.unwrap().len(), 64 * 1024);
}

#[tokio::test]
async fn a_parked_run_can_be_cancelled() {
    let rig = Rig::new();
    let plan = || calm(rig.plan(Playing::new(asking), [content(&rig).check("a")]));
    rig.run(plan()).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ended = bounded(rig.engine().resume(plan(), &Unwatched, cancel)).await.unwrap();
    assert_eq!(ended.outcome, Outcome::Cancelled);
    let report = rig.report().await;
    assert_eq!((report.outcome, report.parked_for), (Some(Outcome::Cancelled), None));
    assert_eq!(rig.resume(plan()).await.unwrap().outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn a_failure_that_a_human_let_pass_is_not_reported_of_the_run_behind_it() {
    let rig = Rig::new();
    let delegate = Playing::new(|request: Request| async move {
        match request.turn.number {
            0 => Err(DelegateError::Budget(probity_delegate::Spent::ModelCalls)),
            _ => Ok(Answered::of(Claim::text("round 1"))),
        }
    });
    let mut plan = calm(rig.plan(delegate, [content(&rig).check("a")]));
    plan.policy.on_exhausted = OnFailure::Escalate;
    let (ended, report) = rig.whole(plan.clone()).await;
    assert_eq!(ended.outcome, Outcome::Escalated);
    assert!(report.failure.unwrap().contains("model calls"));
    let answer = probity_core::Answer::Continue { attempts: 1 };
    let engine = rig.engine();
    let go_on = engine.answer(plan, "ana", answer, &Unwatched, CancellationToken::new());
    assert_eq!(bounded(go_on).await.unwrap().outcome, Outcome::Verified);
    assert_eq!(rig.report().await.failure, None);
}

/// Polled in place by the driver.
struct Yielding(Arc<dyn Delegate>);

#[async_trait]
impl Delegate for Yielding {
    async fn attempt(&self, request: &Request) -> Played {
        self.0.attempt(request).await
    }

    fn conversation(&self) -> Conversation {
        self.0.conversation()
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn yields(&self) -> bool {
        true
    }
}

fn in_place(plan: Plan) -> Plan {
    Plan { delegate: Arc::new(Yielding(plan.delegate)), ..plan }
}

async fn notes_without_end(request: Request) -> Played {
    loop {
        // Heeds nothing but the end of its notebook.
        request.notes.keep(note("more", 1)).await?;
    }
}

#[tokio::test]
async fn a_delegate_that_only_writes_notes_is_cancelled_and_held_to_its_time() {
    for is_in_place in [false, true] {
        let how = |plan| if is_in_place { in_place(plan) } else { plan };
        let rig = Rig::new();
        let plan = calm(rig.plan(Playing::new(notes_without_end), [content(&rig).check("a")]));
        let cancel = CancellationToken::new();
        let watch = When("delegate.noted", || cancel.cancel());
        let (engine, since) = (rig.engine(), std::time::Instant::now());
        let ended = bounded(engine.run(how(plan), &watch, cancel.clone())).await.unwrap();
        assert_eq!(ended.outcome, Outcome::Cancelled, "{is_in_place}");

        let rig = Rig::new();
        let mut plan = calm(rig.plan(Playing::new(notes_without_end), [content(&rig).check("a")]));
        plan.policy.wall_ms = Some(100);
        let ended = rig.run(how(plan)).await;
        assert_eq!((ended.outcome, ended.code.as_str()), (Outcome::Exhausted, "budget_wall"));
        // Nobody waited for one that waits for its note.
        assert!(since.elapsed() < std::time::Duration::from_secs(8), "{is_in_place}");
    }
}

#[tokio::test]
async fn a_delegate_that_panics_in_place_fails_and_takes_nothing_along() {
    let rig = Rig::new();
    let delegate = Playing::new(|request: Request| async move {
        request.notes.keep(note("before", 1)).await?;
        assert!(request.turn.number > 0, "a panic in a delegate");
        Ok(Answered::default())
    });
    let plan = in_place(calm(rig.plan(delegate, [content(&rig).check("a")])));
    let (ended, report) = rig.whole(plan).await;
    assert_eq!(ended.outcome, Outcome::DelegateFailed);
    assert!(report.failure.unwrap().contains("panicked"));
}
