//! How telemetry can fail. A run never does because of it.

use probity_engine::EngineError;

/// Telemetry could not be set up, or an old run could not be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// A variable of the environment has a value that means nothing.
    #[error("`{variable}` is `{value}`: {why}")]
    Config {
        /// The variable.
        variable: String,
        /// Its value; of a variable that holds secrets, nothing.
        value: String,
        /// What is wrong.
        why: String,
    },
    /// What sends cannot be built.
    #[error("telemetry cannot be sent to `{endpoint}`: {why}")]
    Exporter {
        /// Where to.
        endpoint: String,
        /// What is wrong.
        why: String,
    },
    /// There is nowhere to send to.
    #[error("no receiver is configured; set `OTEL_EXPORTER_OTLP_ENDPOINT`")]
    NoEndpoint,
    /// The receiver did not take it.
    #[error("{lost} of {all} spans and log events were not taken: {why}")]
    Unsent {
        /// What was not taken.
        lost: u64,
        /// What was to be sent.
        all: u64,
        /// What the last try said.
        why: String,
    },
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] EngineError),
}

impl TelemetryError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Config { .. } => "telemetry_config",
            Self::Exporter { .. } => "telemetry_exporter",
            Self::NoEndpoint => "telemetry_no_endpoint",
            Self::Unsent { .. } => "telemetry_unsent",
            Self::Run(error) => error.code(),
        }
    }
}
