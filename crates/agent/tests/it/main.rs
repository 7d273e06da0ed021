//! Agents through their public face: the probes of the dossier on seed 003, its rules as golden
//! tests, crashes at every append, `kill -9`, a strict server, and what the compiler says.
//!
//! Tests named `pNN_…` are the probes that found defects in the system of the seed, with the result
//! that is right here:
//!
//! | Probe | Where | Right here |
//! |---|---|---|
//! | P1, P2, P25 | `counting` | a constant candidate ends as `no_progress`; work in between counts; A, B, A, B counts and is named; never above the maximum |
//! | P3, P4, P4b | `callables` | whatever returns a future is awaited; arguments by type in any order; what is missing is an error of `build` |
//! | P5 | `feedback` | escaped, bounded, the same for equal inputs |
//! | P6 | `events` | in order, with their times; everything is kept |
//! | P7, P10, P11 | – | not described in the dossier: nothing to repeat |
//! | P8, P23 | `children` | a child that is cancelled, fails or is early never hangs its parent |
//! | P9 | – | about a sweep that wakes forgotten parents. There is no sweep: a parent drives its child, and a crash takes both up by name (P8, P23) |
//! | P12, P12c, P12d, P12e, P17 | `outputs` | text beside an output; calls beside it are answered; text alone gets a nudge; no verifier; misfits have a budget |
//! | P13, P16, P24 | `faults` | a result without JSON form is a fault; the verifier alone is asked again; never two at once |
//! | P14, P15, P19 | `bounds` | cancelling stops the call; the overtaken driver is fenced; model calls are bounded |
//! | P18 | `flat` | a turn costs what it adds |
//! | P20 | `wire` | the protocol of a strict server |
//! | P21, P22 | `crash` | results of tools survive; one system prompt, no orphans |

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod bounds;
mod callables;
mod children;
mod compile;
mod counting;
mod crash;
mod deferred;
mod events;
mod example;
mod family;
mod faults;
mod feedback;
mod flat;
mod fleet;
mod golden;
mod kill;
mod outputs;
mod random;
mod stage;
mod team;
mod wire;
mod workers;
