//! The Lie Matrix: scripted delegates that lie, each with an honest twin.
//!
//! `rows` has them, [`Class`] says what each lies about, a [`Site`] is where one is played, and
//! [`Matrix::play`] puts them to a `probity` program and says what is wrong with what it said.

mod case;
mod class;
mod error;
mod judge;
mod player;
mod rows;
mod service;
mod site;
mod summary;

pub use case::{Case, Health, Row, Told};
pub use class::{Class, ClassError};
pub use error::LiesError;
pub use judge::{Pair, Sick};
pub use player::{Matrix, Order, Played, command_line};
pub use rows::{health, lies};
pub use site::{Extras, Site};
pub use summary::{OfClass, Summary};
