//! Work on several threads whose results come out in the order in which the work went in.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Pieces of work that are under way or wait for an earlier one, at most.
const WINDOW: usize = 64;

/// Runs `work` on what `feed` gives, and hands the results to `take` in that order. Each piece of work
/// gives any number of results, and waits with the second until its turn has come. `feed` and `work`
/// are told by false that nobody wants more.
pub(in crate::cli) fn run<J: Send, R: Send>(
    threads: usize,
    feed: impl FnOnce(&mut dyn FnMut(J) -> bool) + Send,
    work: impl Fn(J, &mut dyn FnMut(R) -> bool) + Sync,
    mut take: impl FnMut(R) -> bool,
) {
    type Job<J, R> = (J, SyncSender<R>);
    let (jobs, queue) = sync_channel::<Job<J, R>>(WINDOW);
    // Each result has a channel of its own, and those channels stand in the order of the work.
    let (promises, results) = sync_channel::<Receiver<R>>(WINDOW);
    let (queue, work) = (Mutex::new(queue), &work);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
    thread::scope(|scope| {
        scope.spawn(move || {
            feed(&mut |job| {
                let (result, promise) = sync_channel(1);
                promises.send(promise).is_ok() && jobs.send((job, result)).is_ok()
            });
        });
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Ok((job, result)) = next() {
                    // Nobody waits for it once `take` has had enough.
                    work(job, &mut |made| result.send(made).is_ok());
                }
            });
        }
        for promise in results {
            // A thread that broke is reported when the scope ends.
            if !promise.into_iter().all(&mut take) {
                break;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_work_however_long_each_takes() {
        let mut seen = Vec::new();
        let feed = |give: &mut dyn FnMut(u64) -> bool| {
            (0..2_000).for_each(|number| assert!(give(number)));
        };
        // The first of every ten has the most to do.
        let work = |number: u64, give: &mut dyn FnMut(u64) -> bool| {
            let turns = if number.is_multiple_of(10) { 20_000 } else { 1 };
            give((0..turns).fold(number, |sum, _| std::hint::black_box(sum)));
        };
        run(4, feed, work, |number| {
            seen.push(number);
            true
        });
        assert_eq!(seen, (0..2_000).collect::<Vec<_>>());
    }

    #[test]
    fn work_gives_none_or_many_results_and_they_stay_together() {
        let mut seen = Vec::new();
        let feed = |give: &mut dyn FnMut(u64) -> bool| {
            (0..300).for_each(|number| assert!(give(number)));
        };
        let work = |number: u64, give: &mut dyn FnMut((u64, u64)) -> bool| {
            (0..number % 7).for_each(|part| assert!(give((number, part))));
        };
        run(4, feed, work, |result| {
            seen.push(result);
            true
        });
        let all = (0..300).flat_map(|number| (0..number % 7).map(move |part| (number, part)));
        assert_eq!(seen, all.collect::<Vec<_>>());
    }

    #[test]
    fn whoever_has_enough_ends_the_work() {
        let (mut given, mut taken) = (0_u64, 0_u64);
        let feed = |give: &mut dyn FnMut(u64) -> bool| {
            while give(given) {
                given += 1;
            }
        };
        run(
            2,
            feed,
            |number, give| {
                give(number);
            },
            |_| {
                taken += 1;
                taken < 10
            },
        );
        assert_eq!(taken, 10);
        assert!(given < 10 + 4 * WINDOW as u64, "{given}");
    }
}
