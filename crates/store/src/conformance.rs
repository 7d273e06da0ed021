//! The suite that makes a provider a provider.
//!
//! Stamp it on a provider in its tests:
//!
//! ```ignore
//! probity_store::conformance_suite!(async || (MyStore::open().await, guard));
//! ```
//!
//! The expression opens an empty store and gives what must live as long as it, such as a temporary
//! folder; each case opens its own. The cases see only the two traits. The suite of queues is in
//! [`queue`].

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "test code that providers link into their tests; a panic is how a case fails"
)]

mod appends;
mod blobs;
mod follow;
mod lists;
pub mod queue;
mod reads;

use probity_core::RunId;

use crate::{Batch, Store};

pub use appends::{
    a_batch_with_one_bad_member_stores_nothing, a_seal_is_final, appends_build_a_log,
    concurrent_writers_store_what_they_won, every_limit_is_refused_at_its_edge,
    runs_do_not_touch_each_other, the_wrong_length_is_a_conflict,
    whole_batches_or_nothing_for_readers,
};
pub use blobs::{
    a_blob_comes_back_by_its_digest, blobs_come_with_the_batch_that_names_them, blobs_have_limits,
    putting_a_blob_twice_is_putting_it_once,
};
pub use follow::{
    a_follower_sees_each_append, a_wait_ends_at_its_timeout, a_wait_ends_at_once_when_there_is_more,
};
pub use lists::{lists_are_newest_first, lists_page_by_cursor};
pub use reads::{a_read_is_bounded_in_bytes, reads_give_ranges, unknown_runs_read_as_empty};

/// Stamps the whole suite on a provider: one `#[tokio::test]` per case. The argument is an async
/// closure without parameters that gives an empty store and a guard that is dropped after the case.
#[macro_export]
macro_rules! conformance_suite {
    ($open:expr) => {
        $crate::conformance_suite!(@cases $open;
            appends_build_a_log
            the_wrong_length_is_a_conflict
            runs_do_not_touch_each_other
            concurrent_writers_store_what_they_won
            whole_batches_or_nothing_for_readers
            a_seal_is_final
            a_batch_with_one_bad_member_stores_nothing
            every_limit_is_refused_at_its_edge
            reads_give_ranges
            a_read_is_bounded_in_bytes
            unknown_runs_read_as_empty
            lists_are_newest_first
            lists_page_by_cursor
            a_wait_ends_at_once_when_there_is_more
            a_wait_ends_at_its_timeout
            a_follower_sees_each_append
            a_blob_comes_back_by_its_digest
            putting_a_blob_twice_is_putting_it_once
            blobs_come_with_the_batch_that_names_them
            blobs_have_limits
        );
    };
    (@cases $open:expr; $($case:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let open = $open;
                let (store, _guard) = open().await;
                $crate::conformance::$case(&store).await;
            }
        )*
    };
}

/// What a case needs of a store: shared by tasks.
pub trait Provider: Store + Clone + 'static {}

impl<T: Store + Clone + 'static> Provider for T {}

fn run(name: &str) -> RunId {
    name.parse().unwrap()
}

fn records(texts: &[&str]) -> Batch {
    Batch::of(texts.iter().map(|text| text.as_bytes().to_vec()).collect())
}

fn sealing(texts: &[&str]) -> Batch {
    Batch { seal: true, ..records(texts) }
}

fn texts(records: &[Vec<u8>]) -> Vec<&str> {
    records.iter().map(|record| std::str::from_utf8(record).unwrap()).collect()
}
