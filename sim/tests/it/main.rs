//! The machine in the simulated world against the reference model.

#![expect(clippy::panic, reason = "a test that breaks should say so at once")]

mod breadth;
mod broken;
mod crashes;
mod fleet;
mod kill;
