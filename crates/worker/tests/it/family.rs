//! Runs that wait for runs. However a child ends, and whenever, its parent goes on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_core::Code;
use probity_engine::Plan;
use probity_store::{MemoryStore, Pool, WorkStore};
use probity_worker::{How, PlanError, WorkerEvent};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::hooked::{Answer, Hooked, Op, now};
use crate::rig::{Rig, bounded, delegate, good, hangs, id, plan, says, takes, waits_for};

/// Waits for these, and says what came of them.
fn parent(run: &str, children: &'static [&'static str]) -> Plan {
    plan(
        run,
        delegate(move |request| async move {
            match request.answer {
                None => Err(waits_for(children)),
                Some(answer) => says(&format!("good {}", answer.value)),
            }
        }),
    )
}

fn child(plan: Plan) -> Plan {
    Plan { parent: Some(id("parent")), ..plan }
}

/// What the parent was told of its children.
async fn told(rig: &Rig, run: &str) -> Value {
    let report = rig.sealed(run).await;
    assert_eq!(report.outcome.unwrap().as_str(), "verified");
    let response = report.claim.unwrap().response;
    serde_json::from_str(response.strip_prefix("good ").unwrap()).unwrap()
}

fn outcomes(told: &Value) -> Vec<(&str, &str)> {
    let children = told.as_array().unwrap().iter();
    children.map(|it| (it["outcome"].as_str().unwrap(), it["code"].as_str().unwrap())).collect()
}

#[tokio::test(start_paused = true)]
async fn the_answer_is_what_the_children_came_to_in_their_order() {
    let rig = Rig::new();
    rig.submit(child(takes("slow", Duration::from_secs(5)))).await;
    rig.submit(child(good("fast"))).await;
    rig.submit(parent("parent", &["slow", "fast"])).await;
    let worker = rig.worker("w");
    let told = told(&rig, "parent").await;
    let code = rig.report("slow").await.code;
    let of = |run: &str| json!({ "run": run, "outcome": "verified", "code": code, "response": "good", "output": null });
    assert_eq!(told, json!([of("slow"), of("fast")]));
    assert!(rig.passed() < Duration::from_secs(8), "{:?}", rig.passed());
    for run in ["slow", "fast", "parent"] {
        rig.stands(run, "none").await;
    }
    assert_eq!(rig.report("parent").await.interruptions, 0);
    worker.drained().await;
}

/// Hang 1: a child that is cancelled.
#[tokio::test(start_paused = true)]
async fn a_parent_hears_of_a_cancelled_child_wherever_it_was_cancelled() {
    // Before any worker looks, while it runs, while it is parked.
    for when in ["queued", "running", "parked"] {
        let rig = Rig::new();
        let asks = plan("child", delegate(|_| async { Err(crate::waits::asks("why?")) }));
        let it = if when == "parked" { asks } else { hangs("child") };
        rig.submit(child(it)).await;
        rig.submit(parent("parent", &["child"])).await;
        if when == "queued" {
            rig.cancel("child").await;
        }
        let worker = rig.worker("w");
        if when != "queued" {
            rig.stands("parent", "parked").await;
            rig.until(|| rig.told.leases("child") == 1).await;
            if when == "parked" {
                rig.stands("child", "parked").await;
            }
            rig.cancel("child").await;
        }
        let told = told(&rig, "parent").await;
        assert_eq!(told[0]["outcome"], "cancelled", "{when}");
        assert!(rig.passed() < Duration::from_secs(20), "{when}: {:?}", rig.passed());
        worker.drained().await;
    }
}

/// Hang 2: a child that nobody can work on any more.
#[tokio::test(start_paused = true)]
async fn a_parent_hears_of_a_child_that_became_a_dead_letter() {
    for pieces in [1, 2] {
        let rig = Rig::new();
        rig.submit(child(good("child"))).await;
        let message = "its image is gone".to_owned();
        rig.unplanned("child", PlanError::Never { code: Code::slug("image_gone"), message });
        // With two, the parent is parked long before its child is buried.
        rig.submit(parent("parent", if pieces == 1 { &["child"] } else { &["other", "child"] }))
            .await;
        if pieces == 2 {
            rig.submit(child(takes("other", Duration::from_secs(30)))).await;
        }
        let worker = rig.worker("w");
        let told = told(&rig, "parent").await;
        assert_eq!(outcomes(&told).last().unwrap(), &("dead_lettered", "image_gone"));
        let none = json!({
            "run": "child", "outcome": "dead_lettered", "code": "image_gone",
            "response": null, "output": null
        });
        assert_eq!(told.as_array().unwrap().last().unwrap(), &none);
        worker.drained().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_parent_hears_of_a_child_that_was_interrupted_too_often() {
    let rig = Rig::on(Arc::new(MemoryStore::with_lease_ttl(Duration::from_secs(3))));
    let mut it = hangs("child");
    it.policy.max_interruptions = 2;
    let mut options = rig.options("w");
    options.concurrency = 1;
    rig.submit(child(it)).await;
    for life in 1..=4 {
        let worker = rig.working(options.clone());
        let leased = || rig.told.leases("child") == life;
        rig.until(leased).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        worker.killed().await;
    }
    rig.submit(parent("parent", &["child"])).await;
    let worker = rig.worker("w-last");
    let told = told(&rig, "parent").await;
    assert_eq!(outcomes(&told), [("exhausted", "interruptions")]);
    worker.drained().await;
}

/// Stops at one operation until it is let go on.
fn gated(
    inner: &Arc<dyn WorkStore>,
    at: impl Fn(&Op) -> bool + Send + Sync + 'static,
    reached: &Arc<Notify>,
    go: &Arc<Notify>,
) -> Arc<dyn WorkStore> {
    let (reached, go) = (Arc::clone(reached), Arc::clone(go));
    let passed = Arc::new(Mutex::new(BTreeSet::new()));
    Hooked::over(Arc::clone(inner), move |op| {
        // Only the first time.
        let is_first = at(&op) && passed.lock().unwrap().insert(op.name);
        let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
        let answer: Answer = Box::pin(async move {
            if is_first {
                reached.notify_one();
                go.notified().await;
            }
            false
        });
        answer
    })
}

/// Hang 3: a child that ends before its parent is parked, at every step of the parking: before the
/// parent's log says that it waits, before the queue parks its job, before it is looked at once more.
#[tokio::test(start_paused = true)]
async fn a_parent_hears_of_a_child_that_ended_while_it_was_being_parked() {
    for (step, ends) in ["asked", "parked in the log", "parked in the queue"]
        .iter()
        .flat_map(|step| ["sealed", "cancelled", "buried"].map(|ends| (*step, ends)))
    {
        let base = Rig::new();
        let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let at = move |op: &Op| match step {
            "asked" => false,
            "parked in the log" => op.is("park", "parent", false),
            _ => op.is("park", "parent", true),
        };
        let store = gated(&base.store, at, &reached, &go);
        let parents = base.through(store);
        let mut options = base.options("parents");
        options.pools = vec!["parents".parse().unwrap()];
        options.sweep_every = Duration::from_secs(7200);
        let delegate = {
            let (go, reached) = (go.clone(), reached.clone());
            delegate(move |request| {
                let (go, reached) = (go.clone(), reached.clone());
                async move {
                    match request.answer {
                        None => {
                            if step == "asked" {
                                reached.notify_one();
                                go.notified().await;
                            }
                            Err(waits_for(&["child"]))
                        }
                        Some(answer) => says(&format!("good {}", answer.value)),
                    }
                }
            })
        };
        let pool: Pool = "parents".parse().unwrap();
        let it = base.plan(plan("parent", delegate));
        base.fleet.submit(&it, &pool, Duration::ZERO).await.unwrap();
        let _parents = parents.working(options);
        bounded(reached.notified()).await;

        let mut options = base.options("children");
        options.sweep_every = Duration::from_secs(7200);
        let _children = base.working(options);
        let (outcome, standing) = match ends {
            "sealed" => {
                base.submit(child(good("child"))).await;
                ("verified", "none")
            }
            "cancelled" => {
                base.submit(child(hangs("child"))).await;
                base.cancel("child").await;
                ("cancelled", "none")
            }
            _ => {
                base.unplanned(
                    "child",
                    PlanError::Never { code: Code::slug("x"), message: String::new() },
                );
                let it = child(good("child"));
                base.fleet.submit(&it, &Pool::default(), Duration::ZERO).await.unwrap();
                ("dead_lettered", "dead")
            }
        };
        if ends == "buried" {
            base.stands("child", standing).await;
        } else {
            base.sealed("child").await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        go.notify_one();
        let told = told(&base, "parent").await;
        assert_eq!(told[0]["outcome"], outcome, "{step}, {ends}");
        assert!(base.passed() < Duration::from_secs(60), "{step}, {ends}: {:?}", base.passed());
        base.stands("child", standing).await;
        base.stands("parent", "none").await;
    }
}

/// The one that parks the parent dies between the parking and the last look. The child that ended
/// before cannot know.
#[tokio::test(start_paused = true)]
async fn a_parent_whose_holder_died_behind_the_parking_is_brought_in_by_the_sweep() {
    let base = Rig::new();
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let store = gated(&base.store, |op| op.is("park", "parent", false), &reached, &go);
    let after = Hooked::over(store, |op| {
        Box::pin(async move {
            if op.is("park", "parent", true) {
                std::future::pending::<()>().await;
            }
            false
        })
    });
    let parents = base.through(after);
    base.submit(parent("parent", &["child"])).await;
    let worker = parents.worker("w-1");
    bounded(reached.notified()).await;
    // The child ends while the parent's job is held, so that its word finds the job there.
    base.submit(child(good("child"))).await;
    let other = base.worker("w-2");
    base.sealed("child").await;
    go.notify_one();
    base.stands("parent", "parked").await;
    worker.killed().await;
    let told = told(&base, "parent").await;
    assert_eq!(told[0]["outcome"], "verified");
    base.stands("child", "none").await;
    other.drained().await;
}

/// A child whose word finds the parent's job there keeps its own until the parent goes on.
#[tokio::test(start_paused = true)]
async fn a_child_says_it_again_until_it_was_heard() {
    let base = Rig::on(Arc::new(MemoryStore::with_lease_ttl(Duration::from_secs(100))));
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let store = gated(&base.store, |op| op.is("park", "parent", false), &reached, &go);
    base.submit(parent("parent", &["child"])).await;
    let mut options = base.options("w-1");
    options.concurrency = 1;
    let first = base.through(store).working(options);
    bounded(reached.notified()).await;
    base.submit(child(good("child"))).await;
    let second = base.worker("w-2");
    base.sealed("child").await;
    tokio::time::sleep(Duration::from_secs(200)).await;
    let again = base.told.all().into_iter().filter_map(|event| match event {
        WorkerEvent::Rested { how: How::Unheard { again_in_ms }, .. } => Some(again_in_ms),
        _ => None,
    });
    let again: Vec<u64> = again.collect();
    assert_eq!((again.first(), again.last()), (Some(&200), Some(&30_000)), "{again:?}");
    assert!(again.is_sorted() && again.len() < 25, "{again:?}");
    go.notify_one();
    told(&base, "parent").await;
    base.stands("child", "none").await;
    base.stands("parent", "none").await;
    first.drained().await;
    second.drained().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_nobody_opens_counts_as_missing_after_a_minute() {
    let rig = Rig::new();
    rig.submit(parent("parent", &["child", "nobody"])).await;
    rig.submit(child(good("child"))).await;
    let _worker = rig.worker("w");
    let told = told(&rig, "parent").await;
    assert_eq!(told[1]["outcome"], "missing");
    assert_eq!(told[1]["code"], "run_missing");
    let passed = rig.passed();
    assert!(passed >= Duration::from_secs(60) && passed < Duration::from_secs(180), "{passed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_itself_is_told_that_there_is_none() {
    let rig = Rig::new();
    rig.submit(parent("parent", &["parent"])).await;
    let _worker = rig.worker("w");
    assert_eq!(told(&rig, "parent").await[0]["outcome"], "missing");
}

#[tokio::test(start_paused = true)]
async fn a_child_whose_dead_letter_was_discarded_is_not_waited_for() {
    let rig = Rig::new();
    rig.submit(child(takes("long", Duration::from_secs(300)))).await;
    rig.submit(child(good("dead"))).await;
    rig.unplanned("dead", PlanError::Never { code: Code::slug("x"), message: String::new() });
    rig.submit(parent("parent", &["long", "dead"])).await;
    let _worker = rig.worker("w");
    rig.stands("dead", "dead").await;
    rig.stands("parent", "parked").await;
    assert!(rig.store.discard(&id("dead")).await.unwrap());
    let told = told(&rig, "parent").await;
    assert_eq!(told[1]["outcome"], "discarded");
}

#[tokio::test(start_paused = true)]
async fn what_children_say_is_cut() {
    let rig = Rig::new();
    let long = delegate(|_| async {
        let mut claim = probity_core::Claim::text(format!("good {}", "é".repeat(20_000)));
        claim.output = Some(json!({ "text": "y".repeat(50_000) }));
        Ok(probity_delegate::Answered::of(claim))
    });
    rig.submit(child(plan("child", long))).await;
    rig.submit(parent("parent", &["child"])).await;
    let _worker = rig.worker("w");
    let told = told(&rig, "parent").await;
    let response = told[0]["response"].as_str().unwrap();
    assert!(response.len() <= 16 * 1024 && response.len() > 16 * 1024 - 4);
    let output = told[0]["output"].as_str().unwrap();
    assert_eq!(output.len(), 16 * 1024);
    assert!(output.starts_with("{\"text\":\"yy"));
}

/// However a parent ends, what it waited for is asked to stop.
#[tokio::test(start_paused = true)]
async fn a_parent_that_ends_stops_its_children() {
    let rig = Rig::new();
    rig.submit(child(hangs("running"))).await;
    rig.submit(child(plan("parked", delegate(|_| async { Err(crate::waits::asks("why?")) }))))
        .await;
    rig.submit(child(good("ended"))).await;
    rig.submit(parent("parent", &["ended", "running", "nobody", "parked"])).await;
    let worker = rig.worker("w");
    rig.stands("parent", "parked").await;
    rig.stands("parked", "parked").await;
    rig.sealed("ended").await;
    rig.cancel("parent").await;
    for (run, outcome) in [
        ("parent", "cancelled"),
        ("running", "cancelled"),
        ("parked", "cancelled"),
        ("ended", "verified"),
    ] {
        assert_eq!(rig.outcome(run).await, outcome, "{run}");
        rig.stands(run, "none").await;
    }
    assert!(rig.passed() < Duration::from_secs(20), "{:?}", rig.passed());
    worker.drained().await;
}

/// A child of a child: the end of the first stops the last.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_grandparent_stops_its_grandchildren() {
    let rig = Rig::new();
    let mut middle = parent("middle", &["leaf"]);
    middle.parent = Some(id("top"));
    let mut leaf = hangs("leaf");
    leaf.parent = Some(id("middle"));
    rig.submit(leaf).await;
    rig.submit(middle).await;
    rig.submit(parent("top", &["middle"])).await;
    let _worker = rig.worker("w");
    rig.stands("top", "parked").await;
    rig.stands("middle", "parked").await;
    rig.cancel("top").await;
    for run in ["top", "middle", "leaf"] {
        assert_eq!(rig.outcome(run).await, "cancelled", "{run}");
    }
}

/// A parent that is gone, or has ended, keeps nobody.
#[tokio::test(start_paused = true)]
async fn a_child_without_a_living_parent_just_ends() {
    let rig = Rig::new();
    rig.submit(good("over")).await;
    let worker = rig.worker("w");
    rig.stands("over", "none").await;
    for (run, of) in [("orphan", "nobody"), ("late", "over")] {
        let it = Plan { parent: Some(id(of)), ..good(run) };
        rig.submit(it).await;
        assert_eq!(rig.outcome(run).await, "verified");
        rig.stands(run, "none").await;
    }
    worker.drained().await;
}

/// The store fails whenever the parent is to be told, for a while.
#[tokio::test(start_paused = true)]
async fn a_word_that_could_not_be_said_is_said_at_the_next_delivery() {
    let base = Rig::new();
    let fails = Arc::new(Mutex::new(5_u32));
    let store = {
        let fails = Arc::clone(&fails);
        Hooked::over(Arc::clone(&base.store), move |op| {
            let is_word = op.is("enqueue", "parent", false);
            let mut left = fails.lock().unwrap();
            let breaks = is_word && *left > 0;
            *left -= u32::from(breaks);
            now(breaks)
        })
    };
    base.submit(parent("parent", &["child"])).await;
    let first = base.worker("w-1");
    base.stands("parent", "parked").await;
    first.drained().await;
    base.submit(child(good("child"))).await;
    let rig = base.through(store);
    let mut options = rig.options("w-2");
    options.sweep_every = Duration::from_secs(3600);
    let worker = rig.working(options);
    told(&rig, "parent").await;
    rig.stands("child", "none").await;
    assert_eq!(rig.told.retries("child").len(), 1);
    worker.drained().await;
}
