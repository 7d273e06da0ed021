//! The suite that makes a queue a queue.
//!
//! ```ignore
//! probity_store::queue_conformance_suite!(async |lease_ttl: Duration| {
//!     (MyStore::open(lease_ttl).await, guard)
//! });
//! ```
//!
//! The expression opens an empty queue whose leases last at least that long, and gives what must live
//! as long as it. Times are at least 1 s, so that a provider behind a network can keep them; the
//! cases go by what [`Queue::lease_ttl`] then says.

mod hand_out;
mod many;
mod rest;
mod run_out;

use std::time::Duration;

use probity_core::RunId;

use crate::{Ask, Cause, Job, Lease, Pool, Queue, Standing};

use super::run;

pub use hand_out::{
    a_call_for_nothing_is_refused, a_delay_is_kept, a_delay_may_be_cut_short,
    a_job_is_leased_and_settled, a_lease_is_no_larger_than_asked,
    a_second_job_for_a_run_changes_nothing, a_wait_for_a_job_ends_at_its_timeout,
    a_wait_wakes_when_a_job_comes, a_wait_wakes_when_a_job_is_due,
    jobs_come_in_the_order_in_which_they_were_due, pools_are_apart,
};
pub use many::{
    a_thousand_jobs_are_done_once_each, leases_of_many_workers_never_overlap,
    nobody_starves_behind_a_job_that_comes_back, one_job_wakes_one_worker,
};
pub use rest::{
    a_dead_letter_keeps_its_cause, a_job_that_is_enqueued_while_leased_is_not_given_twice,
    a_parked_job_wakes_when_it_is_enqueued, dead_letters_are_revived_or_discarded,
    lists_of_jobs_page_by_run, standings_tell_how_a_job_is_kept,
};
pub use run_out::{
    a_heartbeat_keeps_a_lease, a_lease_that_ended_is_lost, a_lost_lease_changes_nothing,
    a_released_job_comes_back_after_its_delay, deliveries_count_from_each_enqueue,
    epochs_begin_above_the_floor, epochs_rise_and_stay_above,
};

/// Stamps the whole suite on a provider: one `#[tokio::test]` per case. The argument is an async
/// closure that takes the time of a lease and gives an empty queue and a guard that is dropped after
/// the case.
#[macro_export]
macro_rules! queue_conformance_suite {
    ($open:expr) => {
        $crate::queue_conformance_suite!(@cases $open;
            a_job_is_leased_and_settled 60_000,
            a_second_job_for_a_run_changes_nothing 60_000,
            a_wait_for_a_job_ends_at_its_timeout 60_000,
            a_wait_wakes_when_a_job_comes 60_000,
            a_wait_wakes_when_a_job_is_due 60_000,
            a_lease_is_no_larger_than_asked 60_000,
            a_call_for_nothing_is_refused 60_000,
            pools_are_apart 60_000,
            jobs_come_in_the_order_in_which_they_were_due 60_000,
            a_delay_is_kept 60_000,
            a_delay_may_be_cut_short 60_000,
            a_released_job_comes_back_after_its_delay 60_000,
            a_heartbeat_keeps_a_lease 2_000,
            a_lease_that_ended_is_lost 60_000,
            a_lost_lease_changes_nothing 1_000,
            epochs_rise_and_stay_above 1_000,
            epochs_begin_above_the_floor 60_000,
            deliveries_count_from_each_enqueue 1_000,
            a_parked_job_wakes_when_it_is_enqueued 60_000,
            a_job_that_is_enqueued_while_leased_is_not_given_twice 60_000,
            a_dead_letter_keeps_its_cause 60_000,
            dead_letters_are_revived_or_discarded 60_000,
            lists_of_jobs_page_by_run 60_000,
            standings_tell_how_a_job_is_kept 1_000,
            leases_of_many_workers_never_overlap 60_000,
            nobody_starves_behind_a_job_that_comes_back 60_000,
            one_job_wakes_one_worker 60_000,
            a_thousand_jobs_are_done_once_each 60_000,
        );
    };
    (@cases $open:expr; $($case:ident $lease_ttl_ms:literal,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let open = $open;
                let lease_ttl = ::std::time::Duration::from_millis($lease_ttl_ms);
                let (queue, _guard) = open(lease_ttl).await;
                $crate::conformance::queue::$case(&queue).await;
            }
        )*
    };
}

/// What a case needs of a queue: shared by tasks.
pub trait QueueProvider: Queue + Clone + 'static {}

impl<T: Queue + Clone + 'static> QueueProvider for T {}

/// Longer than anything here may take.
const LONG: Duration = Duration::from_secs(60);

/// Far from what a wake takes, and far from [`LONG`].
const SOON: Duration = Duration::from_secs(20);

/// A wait that is expected to end without a job.
const SHORT: Duration = Duration::from_millis(100);

fn job(name: &str) -> Job {
    Job::now(run(name), Pool::default(), 0)
}

/// A call of the worker `w`, for the default pool.
fn ask(max: usize, wait: Duration) -> Ask {
    Ask { worker: "w".parse().unwrap(), pools: vec![Pool::default()], max, wait }
}

/// The next job, which must come.
async fn next(queue: &impl Queue) -> Lease {
    let mut leases = queue.lease(&ask(1, LONG)).await.unwrap();
    assert_eq!(leases.len(), 1, "nothing came within a minute");
    leases.remove(0)
}

/// That nothing is due.
async fn assert_idle(queue: &impl Queue) {
    assert_eq!(queue.lease(&ask(10, SHORT)).await, Ok(Vec::new()));
}

fn cause(message: &str) -> Cause {
    Cause::new("broken".parse().unwrap(), message)
}

fn queued() -> Option<Standing> {
    Some(Standing::Queued { pool: Pool::default() })
}

fn parked() -> Option<Standing> {
    Some(Standing::Parked { pool: Pool::default() })
}

fn dead(message: &str) -> Option<Standing> {
    Some(Standing::Dead { pool: Pool::default(), cause: cause(message) })
}

fn runs(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.run.as_str()).collect()
}

fn names(jobs: impl IntoIterator<Item = RunId>) -> Vec<String> {
    jobs.into_iter().map(String::from).collect()
}
