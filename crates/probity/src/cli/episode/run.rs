//! A run in the place of a document: its records, and its episode.

use probity_audit::{Acceptance, EpisodeReport};
use probity_core::RunId;
use probity_engine::EngineError;
use probity_record::{RecordFinding, verify_records};
use probity_store::{Store, read_run};
use serde::Serialize;

use super::text;
use crate::RunEpisode;
use crate::cli::CliError;
use crate::cli::present::{Style, Tone, line};

/// What a run came to.
#[derive(Debug, Serialize)]
pub(super) struct RunAudit {
    run_id: RunId,
    /// Records, the seal included.
    records: u64,
    /// Hash of the last of them.
    head: String,
    /// What is wrong with the chain of records; empty where it is whole.
    chain: Vec<Fault>,
    /// The audit of the episode; absent where the records are damaged.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    episode: Option<EpisodeReport>,
}

#[derive(Debug, Serialize)]
struct Fault {
    line: u64,
    code: &'static str,
    message: String,
}

/// Audits a run: that no record was changed, and that its episode keeps to its envelope.
///
/// # Errors
/// [`CliError`] if there is no such run, it is not sealed, or made no decision.
pub(super) async fn audit(store: &dyn Store, run: &RunId) -> Result<RunAudit, CliError> {
    let records = read_run(store, run).await.map_err(EngineError::from)?;
    if records.is_empty() {
        return Err(EngineError::Missing { run: run.clone() }.into());
    }
    let proof = verify_records(&records);
    let fault = |RecordFinding { line, fault }: &RecordFinding| Fault {
        line: *line,
        code: fault.code(),
        message: fault.to_string(),
    };
    let chain: Vec<Fault> = proof.findings.iter().map(fault).collect();
    let episode = match proof.is_whole() {
        true => Some(RunEpisode::read(store, run).await?.audit(run.as_str())),
        false => None,
    };
    let head = proof.head.to_string();
    Ok(RunAudit { run_id: run.clone(), records: proof.lines, head, chain, episode })
}

impl RunAudit {
    /// Whether records and episode can be relied on.
    pub(super) fn is_accepted(&self) -> bool {
        let is_accepted = |report: &EpisodeReport| report.verdict == Acceptance::Accepted;
        self.chain.is_empty() && self.episode.as_ref().is_some_and(is_accepted)
    }

    /// The audit, each line ended.
    pub(super) fn render(&self, style: Style) -> String {
        let (run, records) = (&self.run_id, self.records);
        let mut text = match &self.episode {
            Some(report) => text::render(report, style),
            None => format!("{}  run {run}\n", style.paint(Tone::Bad, "rejected")),
        };
        match self.chain.is_empty() {
            true => {
                let head = self.head.get(..12).unwrap_or_default();
                text.push_str(&format!("  chain    {records} records, whole, head {head}…\n"));
            }
            false => self.chain.iter().for_each(|fault| {
                let (number, code) = (fault.line, fault.code);
                let message = line(&fault.message);
                text.push_str(&format!("  error    record {number}: {message}  [{code}]\n"));
            }),
        }
        text
    }
}
