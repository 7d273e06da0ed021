//! Stock effects and the grammar in which they are written down.

mod expect;
mod grammar;
