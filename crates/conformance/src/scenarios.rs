//! The table of scenarios, by what they are about.

/// One row: name, level, what must hold, where it says so, what it needs, what it does.
macro_rules! scenario {
    ($id:literal, $level:ident, $title:literal, $spec:literal, [$($need:expr),* $(,)?], $body:path) => {
        $crate::scenario::Scenario {
            id: $id,
            title: $title,
            spec: $spec,
            level: $crate::scenario::Level::$level,
            needs: &[$($need),*],
            body: |p| Box::pin($body(p)),
        }
    };
}

mod artifacts;
mod auth;
mod beyond;
mod bounds;
mod cancel;
mod confidence;
mod content;
mod discovery;
mod errors;
mod events;
mod gating;
mod handoff;
mod idempotency;
mod interrupts;
mod mapping;
mod refusal;
mod replay;
mod revision;
mod runs;
mod seam;
mod streams;
mod subrun;
mod supervisor;
mod turns;
mod webhooks;

use crate::scenario::Scenario;

/// All of them, in order.
pub(crate) fn all() -> Vec<Scenario> {
    [
        discovery::TABLE,
        auth::TABLE,
        errors::TABLE,
        runs::TABLE,
        events::TABLE,
        cancel::TABLE,
        bounds::TABLE,
        artifacts::TABLE,
        interrupts::TABLE,
        streams::TABLE,
        idempotency::TABLE,
        supervisor::TABLE,
        handoff::TABLE,
        confidence::TABLE,
        mapping::TABLE,
        subrun::TABLE,
        replay::TABLE,
        refusal::TABLE,
        turns::TABLE,
        seam::TABLE,
        gating::TABLE,
        revision::TABLE,
        webhooks::TABLE,
        beyond::TABLE,
        content::TABLE,
    ]
    .concat()
}
