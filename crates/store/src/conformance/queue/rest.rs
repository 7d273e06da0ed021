//! Jobs that are not on their way to a worker: parked ones and dead letters.

use std::time::Duration;

use crate::{Enqueued, Job, LeaseError, Queue, Standing};

use super::super::run;
use super::{LONG, QueueProvider, ask, assert_idle, cause, dead, job, names, next, parked, queued};

/// Leases and parks or buries a job of that name.
async fn put_away(queue: &impl Queue, name: &str, dead: bool) {
    queue.enqueue(job(name)).await.unwrap();
    let lease = next(queue).await;
    assert_eq!(lease.run, run(name));
    if dead {
        queue.bury(&lease, cause(name)).await.unwrap();
    } else {
        queue.park(&lease).await.unwrap();
    }
}

/// Not due until somebody enqueues it, and then as if it were new.
pub async fn a_parked_job_wakes_when_it_is_enqueued(queue: &impl QueueProvider) {
    put_away(queue, "parked", false).await;
    assert_idle(queue).await;
    let page = queue.parked(None, 10).await.unwrap();
    assert_eq!(page.len(), 1);
    assert_eq!((page[0].run.as_str(), page[0].pool.as_str()), ("parked", "default"));
    assert!(page[0].since_ms > 1_600_000_000_000);

    let woken =
        Job { pool: "other".parse().unwrap(), delay: Duration::from_millis(300), ..job("parked") };
    assert_eq!(queue.enqueue(woken.clone()).await, Ok(Enqueued::Added));
    assert_eq!(queue.enqueue(woken.clone()).await, Ok(Enqueued::Present));
    assert_eq!(queue.parked(None, 10).await, Ok(Vec::new()));
    assert_idle(queue).await;
    let ask = crate::Ask { pools: vec![woken.pool.clone()], ..ask(1, LONG) };
    let leases = queue.lease(&ask).await.unwrap();
    assert_eq!((leases[0].run.as_str(), &leases[0].pool), ("parked", &woken.pool));
    queue.settle(&leases[0]).await.unwrap();
}

/// A job in somebody's hands stays there.
pub async fn a_job_that_is_enqueued_while_leased_is_not_given_twice(queue: &impl QueueProvider) {
    queue.enqueue(job("busy")).await.unwrap();
    let lease = next(queue).await;
    for _ in 0..3 {
        assert_eq!(queue.enqueue(job("busy")).await, Ok(Enqueued::Present));
    }
    assert_idle(queue).await;
    assert_eq!(queue.settle(&lease).await, Ok(()));
    assert_eq!(queue.standing(&run("busy")).await, Ok(None));
    assert_idle(queue).await;
}

/// Code, words, time; words are cut at their bound, between characters.
pub async fn a_dead_letter_keeps_its_cause(queue: &impl QueueProvider) {
    put_away(queue, "letter", true).await;
    assert_idle(queue).await;
    assert_eq!(queue.enqueue(job("letter")).await, Ok(Enqueued::Dead));
    assert_idle(queue).await;
    let page = queue.dead(None, 10).await.unwrap();
    assert_eq!(page.len(), 1);
    assert_eq!((page[0].run.as_str(), page[0].pool.as_str()), ("letter", "default"));
    assert_eq!(page[0].cause, cause("letter"));
    assert!(page[0].since_ms > 1_600_000_000_000);

    for (number, message) in
        ["", "two\nlines\0 and \"quotes\" \u{1f980}", &"x".repeat(5000), &"ä".repeat(3000)]
            .into_iter()
            .enumerate()
    {
        let name = format!("words-{number}");
        queue.enqueue(job(&name)).await.unwrap();
        let lease = next(queue).await;
        let mut long = cause("");
        // Past the bound, as nothing stops a caller from doing.
        message.clone_into(&mut long.message);
        queue.bury(&lease, long).await.unwrap();
        let kept = dead(message);
        assert_eq!(queue.standing(&run(&name)).await, Ok(kept), "{name}");
    }
}

/// Both end it once; a run that is no dead letter is left as it is.
pub async fn dead_letters_are_revived_or_discarded(queue: &impl QueueProvider) {
    put_away(queue, "revived", true).await;
    put_away(queue, "discarded", true).await;
    put_away(queue, "resting", false).await;
    queue.enqueue(Job { delay: LONG, ..job("waiting") }).await.unwrap();
    for name in ["resting", "waiting", "nobody"] {
        let before = queue.standing(&run(name)).await;
        assert_eq!(queue.revive(&run(name)).await, Ok(false), "{name}");
        assert_eq!(queue.discard(&run(name)).await, Ok(false), "{name}");
        assert_eq!(queue.standing(&run(name)).await, before, "{name}");
    }
    assert_eq!(queue.discard(&run("discarded")).await, Ok(true));
    assert_eq!(queue.discard(&run("discarded")).await, Ok(false));
    assert_eq!(queue.standing(&run("discarded")).await, Ok(None));
    assert_eq!(queue.revive(&run("revived")).await, Ok(true));
    assert_eq!(queue.revive(&run("revived")).await, Ok(false));
    assert_eq!(queue.dead(None, 10).await, Ok(Vec::new()));
    let lease = next(queue).await;
    assert_eq!(lease.run, run("revived"));
    assert_eq!(queue.discard(&run("revived")).await, Ok(false));
    queue.settle(&lease).await.unwrap();
    assert_idle(queue).await;
}

/// Pages join without gap or overlap, by run, and hold nothing else.
pub async fn lists_of_jobs_page_by_run(queue: &impl QueueProvider) {
    for number in [3, 0, 6, 2, 5, 1, 4] {
        put_away(queue, &format!("p-{number}"), false).await;
        put_away(queue, &format!("d-{number}"), true).await;
    }
    queue.enqueue(Job { delay: LONG, ..job("p-not") }).await.unwrap();
    let (mut resting, mut letters) = (Vec::new(), Vec::new());
    loop {
        let page = queue.parked(resting.last(), 3).await.unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        resting.extend(page.into_iter().map(|job| job.run));
    }
    loop {
        let page = queue.dead(letters.last(), 3).await.unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        letters.extend(page.into_iter().map(|job| job.run));
    }
    let wanted = |letter: &str| (0..7).map(|n| format!("{letter}-{n}")).collect::<Vec<_>>();
    assert_eq!(names(resting), wanted("p"));
    assert_eq!(names(letters), wanted("d"));
    assert_eq!(queue.parked(None, 0).await, Ok(Vec::new()));
    assert_eq!(queue.dead(None, 0).await, Ok(Vec::new()));
    // Behind a run that is in no list.
    let behind = queue.dead(Some(&run("d-2x")), 2).await.unwrap();
    assert_eq!(names(behind.into_iter().map(|job| job.run)), ["d-3", "d-4"]);
}

/// Every way to keep a job and what is said of it.
pub async fn standings_tell_how_a_job_is_kept(queue: &impl QueueProvider) {
    let id = run("somehow");
    let is = async |wanted: Option<Standing>| {
        assert_eq!(queue.standing(&id).await, Ok(wanted));
    };
    is(None).await;
    queue.enqueue(Job { delay: Duration::from_millis(300), ..job("somehow") }).await.unwrap();
    // Not due, leased, run out, released, released for later.
    is(queued()).await;
    let lease = next(queue).await;
    is(queued()).await;
    tokio::time::sleep(queue.lease_ttl() + Duration::from_millis(300)).await;
    is(queued()).await;
    assert_eq!(queue.settle(&lease).await, Err(LeaseError::Lost));
    let lease = next(queue).await;
    queue.release(&lease, Duration::ZERO).await.unwrap();
    is(queued()).await;
    let lease = next(queue).await;
    queue.release(&lease, Duration::from_millis(300)).await.unwrap();
    is(queued()).await;
    let lease = next(queue).await;
    queue.park(&lease).await.unwrap();
    is(parked()).await;
    queue.enqueue(job("somehow")).await.unwrap();
    is(queued()).await;
    let lease = next(queue).await;
    queue.bury(&lease, cause("why")).await.unwrap();
    is(dead("why")).await;
    queue.revive(&id).await.unwrap();
    is(queued()).await;
    let lease = next(queue).await;
    queue.settle(&lease).await.unwrap();
    is(None).await;
}
