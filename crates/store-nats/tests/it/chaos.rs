//! The suites and a fleet of workers against one cluster of three, while its servers are killed and
//! come back one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use probity_core::RunId;
use probity_store::conformance::{self, queue};
use probity_store::{Ask, Job, Pool, Queue as _};
use probity_store_nats::{NatsOptions, NatsStore};

use crate::cluster::Cluster;

/// Between two deaths, so that the cluster is whole in between.
const PAUSE: Duration = Duration::from_millis(1500);

/// Longer than a cluster of which servers die one after the other is ever without a leader.
const TIMEOUT_MS: u64 = 90_000;

async fn space(cluster: &Cluster, name: &str, lease_ttl_ms: u64) -> NatsStore {
    let (space, timeout_ms) = (name.to_owned(), TIMEOUT_MS);
    cluster.open(NatsOptions { space, lease_ttl_ms, timeout_ms, ..cluster.options() }).await
}

/// Runs cases one after the other on one store.
macro_rules! cases {
    ($store:expr; $($suite:ident::$case:ident,)*) => {
        $({
            let started = Instant::now();
            $suite::$case($store).await;
            eprintln!("{} {:?}", stringify!($case), started.elapsed());
        })*
    };
}

/// Kills and starts servers, one after the other, until the work is done; never a second one before
/// the first is whole again. Gives how many died.
async fn kill_while<W: Future>(cluster: &Cluster, work: W) -> (usize, W::Output) {
    let over = AtomicBool::new(false);
    let chaos = async {
        let mut kills = 0;
        for node in (0..cluster.size()).cycle() {
            tokio::time::sleep(PAUSE).await;
            if over.load(Ordering::SeqCst) {
                break;
            }
            cluster.kill(node);
            kills += 1;
            tokio::time::sleep(Duration::from_millis(300)).await;
            cluster.restart(node);
            assert!(cluster.healthy(node).await, "server {node} does not come back");
        }
        kills
    };
    let work = async {
        let done = work.await;
        over.store(true, Ordering::SeqCst);
        done
    };
    tokio::join!(chaos, work)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suites_hold_while_servers_die() {
    let cluster = Cluster::start(3).await;
    let lease_ttl_ms = 20_000;
    let mut spaces = Vec::new();
    for n in 0..9 {
        spaces.push(space(&cluster, &format!("S{n}"), lease_ttl_ms).await);
    }
    let logs = async {
        cases!(&spaces[0]; conformance::lists_are_newest_first,);
        cases!(&spaces[1]; conformance::lists_page_by_cursor,);
        cases!(&spaces[2];
            conformance::unknown_runs_read_as_empty,
            conformance::appends_build_a_log,
            conformance::the_wrong_length_is_a_conflict,
            conformance::runs_do_not_touch_each_other,
            conformance::concurrent_writers_store_what_they_won,
            conformance::whole_batches_or_nothing_for_readers,
            conformance::a_seal_is_final,
            conformance::a_batch_with_one_bad_member_stores_nothing,
            conformance::every_limit_is_refused_at_its_edge,
            conformance::reads_give_ranges,
            conformance::a_read_is_bounded_in_bytes,
            conformance::a_wait_ends_at_once_when_there_is_more,
            conformance::a_wait_ends_at_its_timeout,
            conformance::a_follower_sees_each_append,
            conformance::a_blob_comes_back_by_its_digest,
            conformance::putting_a_blob_twice_is_putting_it_once,
            conformance::blobs_come_with_the_batch_that_names_them,
            conformance::blobs_have_limits,
        );
    };
    // Those that do not count deliveries: what was on its way to a worker when a server died comes
    // again, and that is one more.
    let queues = async {
        cases!(&spaces[3]; queue::a_second_job_for_a_run_changes_nothing,);
        cases!(&spaces[4]; queue::a_parked_job_wakes_when_it_is_enqueued,);
        cases!(&spaces[5]; queue::a_dead_letter_keeps_its_cause,);
        cases!(&spaces[6]; queue::dead_letters_are_revived_or_discarded,);
        cases!(&spaces[7]; queue::lists_of_jobs_page_by_run,);
        cases!(&spaces[8]; queue::a_job_that_is_enqueued_while_leased_is_not_given_twice,);
    };
    let (kills, ((), ())) = kill_while(&cluster, async { tokio::join!(logs, queues) }).await;
    eprintln!("{kills} servers were killed");
    assert!(kills > 0);
}

/// A lease that a worker was given, with the moments between which that happened, by one clock of
/// all workers that only counts.
struct Given {
    asked: u64,
    came: u64,
    epoch: u64,
}

/// Workers that go on whatever they are told: each job ends, none is lost, and who asks when another
/// one has its lease is given no lower epoch. Of two that were given at the same time, either may be
/// told first.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_job_is_done_while_servers_die() {
    const JOBS: usize = 120;
    let cluster = Cluster::start(3).await;
    let store = space(&cluster, "JOBS", 3000).await;
    let given: Mutex<BTreeMap<RunId, Vec<Given>>> = Mutex::default();
    let clock = AtomicU64::new(0);
    let now = || clock.fetch_add(1, Ordering::SeqCst);
    let done: Mutex<BTreeSet<RunId>> = Mutex::default();
    let enqueue = async {
        for n in 0..JOBS {
            let job = Job::now(format!("job-{n}").parse().unwrap(), Pool::default(), 0);
            store.enqueue(job).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let worker = || async {
        let call = Ask {
            worker: "w".parse().unwrap(),
            pools: vec![Pool::default()],
            max: 4,
            wait: Duration::from_millis(500),
        };
        while done.lock().unwrap().len() < JOBS {
            let asked = now();
            let leases = store.lease(&call).await.unwrap();
            let came = now();
            for lease in leases {
                let one = Given { asked, came, epoch: lease.epoch };
                given.lock().unwrap().entry(lease.run.clone()).or_default().push(one);
                // Every job comes back once before it ends.
                let ended = if lease.epoch == 1 {
                    store.release(&lease, Duration::from_millis(200)).await.map(|()| false)
                } else {
                    store.settle(&lease).await.map(|()| true)
                };
                // Lost or unknown: whoever has it next goes on.
                let is_gone =
                    ended == Ok(true) || store.standing(&lease.run).await.unwrap().is_none();
                if is_gone {
                    done.lock().unwrap().insert(lease.run.clone());
                }
            }
        }
    };
    let work = async { tokio::join!(enqueue, worker(), worker(), worker()) };
    let (kills, _) = kill_while(&cluster, work).await;
    let given = given.into_inner().unwrap();
    let again: usize = given.values().map(|all| all.len().saturating_sub(2)).sum();
    eprintln!("{kills} servers were killed, {again} leases came again");
    assert!(kills > 0);
    for (run, all) in &given {
        for early in all {
            let late = all.iter().filter(|late| late.asked > early.came);
            for late in late {
                assert!(late.epoch >= early.epoch, "{run}: {} after {}", late.epoch, early.epoch);
            }
        }
    }
    assert_eq!(done.lock().unwrap().len(), JOBS);
}
