//! Every case of both suites against one cluster of three, while its servers are killed and come
//! back one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use probity_store::conformance;
use probity_store_nats::{NatsOptions, NatsStore};

use crate::cluster::Cluster;

/// Between two deaths, so that the cluster is whole in between.
const PAUSE: Duration = Duration::from_millis(1500);

async fn space(cluster: &Cluster, name: &str, lease_ttl_ms: u64) -> NatsStore {
    let (space, timeout_ms) = (name.to_owned(), 90_000);
    cluster.open(NatsOptions { space, lease_ttl_ms, timeout_ms, ..cluster.options() }).await
}

/// Runs the cases one after the other, each in a space of its own.
macro_rules! cases {
    ($cluster:expr, $prefix:literal, $suite:path; $($case:ident $lease_ttl_ms:literal,)*) => {
        $({
            use $suite as suite;
            let name = stringify!($case).to_ascii_uppercase();
            let name = format!("{}_{}", $prefix, &name[..name.len().min(28)]);
            let store = space(&$cluster, &name, $lease_ttl_ms).await;
            let started = Instant::now();
            suite::$case(&store).await;
            eprintln!("{} {:?}", stringify!($case), started.elapsed());
        })*
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn both_suites_hold_while_servers_die() {
    let cluster = Arc::new(Cluster::start(3).await);
    let (over, kills) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let chaos = tokio::spawn({
        let (cluster, over, kills) = (Arc::clone(&cluster), Arc::clone(&over), Arc::clone(&kills));
        async move {
            for node in (0..cluster.size()).cycle() {
                tokio::time::sleep(PAUSE).await;
                if over.load(Ordering::SeqCst) {
                    return;
                }
                cluster.kill(node);
                kills.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(300)).await;
                cluster.restart(node);
                assert!(cluster.healthy(node).await, "{}", cluster.log(node));
            }
        }
    });
    let logs = tokio::spawn({
        let cluster = Arc::clone(&cluster);
        async move { logs_and_blobs(&cluster).await }
    });
    let jobs = tokio::spawn({
        let cluster = Arc::clone(&cluster);
        async move { queues(&cluster).await }
    });
    let (logs, jobs) = tokio::join!(logs, jobs);
    over.store(true, Ordering::SeqCst);
    chaos.await.unwrap();
    eprintln!("{} servers were killed", kills.load(Ordering::SeqCst));
    logs.unwrap();
    jobs.unwrap();
    assert!(kills.load(Ordering::SeqCst) > 0);
}

async fn logs_and_blobs(cluster: &Cluster) {
    cases!(cluster, "L", conformance;
        appends_build_a_log 30_000,
        the_wrong_length_is_a_conflict 30_000,
        runs_do_not_touch_each_other 30_000,
        concurrent_writers_store_what_they_won 30_000,
        whole_batches_or_nothing_for_readers 30_000,
        a_seal_is_final 30_000,
        every_limit_is_refused_at_its_edge 30_000,
        reads_give_ranges 30_000,
        a_read_is_bounded_in_bytes 30_000,
        lists_are_newest_first 30_000,
        lists_page_by_cursor 30_000,
        a_follower_sees_each_append 30_000,
        a_blob_comes_back_by_its_digest 30_000,
        putting_a_blob_twice_is_putting_it_once 30_000,
        blobs_come_with_the_batch_that_names_them 30_000,
        blobs_have_limits 30_000,
    );
}

async fn queues(cluster: &Cluster) {
    cases!(cluster, "Q", conformance::queue;
        a_second_job_for_a_run_changes_nothing 120_000,
        a_parked_job_wakes_when_it_is_enqueued 120_000,
        a_dead_letter_keeps_its_cause 120_000,
        dead_letters_are_revived_or_discarded 120_000,
    );
}
