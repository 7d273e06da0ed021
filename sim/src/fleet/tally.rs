//! What schedules came to together.

use std::fmt;

macro_rules! tally {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// Counts over schedules.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names say it")]
        pub struct FleetTally {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl FleetTally {
            /// Adds what other schedules came to.
            pub const fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
        }

        impl fmt::Display for FleetTally {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(writeln!(f, "{:>12} {}", self.$field, stringify!($field).replace('_', " "))?;)*
                Ok(())
            }
        }
    };
}

tally! {
    schedules, lives, crashes, drains, freezes, partitions, clock_jumps,
    operations, lost_replies, refusals, delays, early_expiries, duplicates, plan_failures,
    runs, children, leases, taken_over, interruptions, turns, attempts, dispatches, checks_run,
    model_calls, waits, answers, cancels, steers, dead_letters, verified, exhausted, rejected,
    cancelled, other_outcomes, stale_acts, records, virtual_ms,
}
