//! What is served.

mod artifacts;
mod control;
mod delegations;
pub(crate) mod discovery;
mod document;
mod events;
mod forks;
mod interrupts;
mod log;
mod metrics;
mod outcomes;
mod runs;
mod seams;
mod steering;
mod verdicts;
mod webhooks;
mod workflows;

use crate::board;
use crate::config::HostConfig;
use crate::route::Route;

/// Every route there is. Nothing else is served, and nothing else is documented.
pub(crate) static ROUTES: &[Route] = &[
    discovery::DISCOVERY,
    document::OPENAPI,
    document::ASYNCAPI,
    workflows::READ,
    workflows::REGISTER,
    runs::CREATE,
    runs::LIST,
    runs::READ,
    events::READ,
    events::POLL,
    control::CANCEL,
    control::BULK_CANCEL,
    control::PAUSE,
    control::RESUME,
    forks::FORK,
    forks::ANCESTRY,
    forks::DIFF,
    interrupts::LIST,
    interrupts::RESOLVE,
    interrupts::READ_TOKEN,
    interrupts::RESOLVE_TOKEN,
    artifacts::LIST,
    artifacts::READ,
    webhooks::REGISTER,
    webhooks::REMOVE,
    delegations::SUBMIT,
    delegations::LIST,
    delegations::READ,
    log::READ,
    log::EVIDENCE,
    log::BUNDLE,
    verdicts::READ,
    verdicts::MAY_MERGE,
    verdicts::WAIVE,
    steering::CANCEL,
    steering::STEER,
    outcomes::READ,
    board::RUNS,
    board::RUN,
    board::CLAIMS,
    board::DRIFT,
    board::CHECKS,
    board::PAGE,
    board::SLASH,
    board::FILE,
    metrics::READ,
    seams::VERIFY_RUN,
    seams::CACHE_KEY,
    seams::LOOP,
    seams::ATTEST,
    seams::MOCK_AI,
    seams::SPANS,
];

/// Where delegations are taken.
const fn delegating(config: &HostConfig) -> bool {
    config.has_delegations
}

const fn always(_: &HostConfig) -> bool {
    true
}
