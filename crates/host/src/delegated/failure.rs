//! What a caller is told where a run could not be read or told something. What a store says of itself is
//! not the caller's business.

use probity_engine::EngineError;
use probity_store::{AppendError, BlobError, ReadError};
use probity_worker::{FleetError, PlanError};

use crate::error::{Failure, Reason};

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let word = error.code();
        let said = |reason| Self::new(reason, error.to_string());
        let failure = match &error {
            EngineError::Missing { .. } => said(Reason::NotFound),
            EngineError::Exists { .. } => {
                let message = "a run of that name has another request: choose another key";
                Self::new(Reason::IdempotencyKeyMismatch, message)
            }
            EngineError::Open(_) | EngineError::PlanIncomplete { .. } => said(Reason::Validation),
            EngineError::Answer(_) => said(Reason::RunTerminal),
            EngineError::NotAsked { .. } => {
                Self::new(Reason::Forbidden, "the run waits for the answer of somebody else")
            }
            EngineError::NotParked { .. } => said(Reason::NotWaiting),
            EngineError::Fenced { .. }
            | EngineError::StaleLease { .. }
            | EngineError::Append(_)
            | EngineError::Log(_)
            | EngineError::Blob(_) => unavailable(),
            _ => Self::new(Reason::Internal, "the run cannot be used: its log has to be looked at"),
        };
        failure.detail("code", word)
    }
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        let word = error.code();
        match error {
            FleetError::Engine(error) => error.into(),
            FleetError::Buried { .. } => {
                Self::new(Reason::RunTerminal, error.to_string()).detail("code", word)
            }
            _ => unavailable().detail("code", word),
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let word = error.code().to_string();
        let failure = match error {
            PlanError::Later { .. } => unavailable(),
            PlanError::Never { .. } => {
                Self::new(Reason::Internal, "the run cannot be planned again as it was recorded")
            }
        };
        failure.detail("code", word)
    }
}

impl From<ReadError> for Failure {
    fn from(_: ReadError) -> Self {
        unavailable()
    }
}

impl From<BlobError> for Failure {
    fn from(_: BlobError) -> Self {
        unavailable()
    }
}

impl From<AppendError> for Failure {
    fn from(_: AppendError) -> Self {
        unavailable()
    }
}

pub(super) fn unavailable() -> Failure {
    Failure::new(Reason::Unavailable, "the store cannot be asked now: come again later")
}
