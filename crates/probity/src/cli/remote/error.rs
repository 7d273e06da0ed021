//! Why a host did not do what was asked.

use crate::cli::{EXIT_STOPPED, EXIT_USAGE};

/// A host could not be asked, or refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The address is none that a key may go to.
    #[error("--host names no host: {why}")]
    Address {
        /// What is wrong with it.
        why: String,
    },
    /// It does not answer.
    #[error("the host cannot be reached: {why}")]
    Unreachable {
        /// In the words of the transport.
        why: String,
    },
    /// It said no.
    #[error("the host refuses ({status}, {code}): {message}")]
    Refused {
        /// The status of its answer.
        status: u16,
        /// Its own word for the reason.
        code: String,
        /// In its own words.
        message: String,
    },
    /// What it says cannot be used.
    #[error("what the host answers cannot be used: {why}")]
    Answer {
        /// What is wrong with it.
        why: String,
    },
    /// The records that it tells do not form the log that they claim to be.
    #[error(
        "record {seq} of the run is not what its hash says: the host, or whoever is between, does not \
         tell the log as it is, or a newer build wrote it"
    )]
    LogDiffers {
        /// The record.
        seq: u64,
    },
}

impl RemoteError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "remote_address",
            Self::Unreachable { .. } => "remote_unreachable",
            Self::Refused { .. } => "remote_refused",
            Self::Answer { .. } => "remote_answer",
            Self::LogDiffers { .. } => "remote_log_differs",
        }
    }

    /// The process exit code.
    pub(in crate::cli) const fn exit_code(&self) -> u8 {
        match self {
            Self::Address { .. } | Self::Refused { status: 400..=428 | 430..=499, .. } => {
                EXIT_USAGE
            }
            _ => EXIT_STOPPED,
        }
    }
}
