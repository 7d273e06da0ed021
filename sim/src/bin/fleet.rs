//! Plays schedules of a fleet: `fleet [COUNT [FIRST]]`, 10,000 from 0 by default, on all processors.
//! Prints what they came to, and whatever did not hold.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use probity_sim::fleet::{FleetTally, play};

/// Failures that are printed whole.
const MAX_SHOWN: usize = 3;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).map_while(|arg| arg.parse::<u64>().ok());
    let (count, first) = (args.next().unwrap_or(10_000), args.next().unwrap_or(0));
    let next = AtomicU64::new(first);
    let sum = Mutex::new((FleetTally::default(), Vec::new()));
    let started = Instant::now();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first.saturating_add(count) {
                        return;
                    }
                    let report = play(seed);
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    sum.0.add(&report.tally);
                    if report.breaches.is_empty() {
                        continue;
                    }
                    if sum.1.len() < MAX_SHOWN {
                        println!("{report}");
                    } else if let Some(breach) = report.breaches.first() {
                        println!("seed {seed}: {breach}");
                    }
                    sum.1.push(seed);
                }
            });
        }
    });
    let (tally, mut failed) = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    let seconds = started.elapsed().as_secs_f64();
    print!("{tally}");
    println!(
        "{seconds:>12.1} seconds on {threads} threads: {:.0} a second",
        count as f64 / seconds
    );
    failed.sort_unstable();
    println!("{:>12} failed {failed:?}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
