//! Hooks of coding agents: their events, their answers, their settings.
//!
//! Everything here is a function of its arguments. What [`read`] makes of an event, the caller acts upon;
//! what came of it is an [`Answer`], and [`speak`] says it as the tool expects. [`install`] and [`uninstall`]
//! turn the text of a settings file into another one.

mod answer;
mod command;
mod diff;
mod event;
mod guard;
mod json_text;
mod settings;
mod tool;
mod wording;

pub use answer::{Answer, MAX_ANSWER_BYTES, Spoken, speak};
pub use command::{Unchecked, Wiring};
pub use diff::diff;
pub use event::{Event, EventError, MAX_EVENT_BYTES, read};
pub use guard::guarded;
pub use json_text::JsonTextError;
pub use settings::{Installed, install, installed, switched_off, uninstall};
pub use tool::{Role, Scope, Tool, UnknownTool};
pub use wording::{
    Tally, ended_without_claim, exhausted, not_accepted, nothing_checked, overridden, refused,
    unchecked, unchecked_and_released, unseen, waits_for_human,
};
