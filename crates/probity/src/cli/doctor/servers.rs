//! What is found at NATS servers.

use probity_store_nats::{self as nats, NatsOptions};

use super::{Finding, Level};

/// Everything that the store's own inspection says, in its words.
pub(super) async fn findings(options: &NatsOptions) -> Vec<Finding> {
    nats::inspect(options).await.into_iter().map(Finding::from).collect()
}

impl From<nats::Finding> for Finding {
    fn from(finding: nats::Finding) -> Self {
        let level = match finding.level {
            nats::Level::Ok => Level::Ok,
            nats::Level::Warn => Level::Warn,
            nats::Level::Fail => Level::Fail,
        };
        let code = finding.code.map(str::to_owned);
        Self { level, subject: finding.subject, code, text: finding.text }
    }
}
