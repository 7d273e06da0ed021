//! The machine in the simulated world against the reference model.

#![expect(clippy::panic, reason = "a test that breaks should say so at once")]

mod breadth;
mod crashes;
mod kill;
