//! Run logs and bundles.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use probity_audit::attest::{MAX_KEY_BYTES, PublicKey};
use probity_audit::bundle::{BundlePolicy, MAX_BUNDLE_BYTES, audit_bundle};
use probity_audit::log::{Content, LogPolicy, MAX_LOG_BYTES, NoContent, audit_log};
use probity_audit::page::{Timeline, bundle_timeline, render_page};
use probity_core::RunId;
use probity_engine::EngineError;
use probity_report::VerificationReport;
use probity_store::Store;
use tokio::runtime::Handle;

use super::kept;
use super::rule::{self, unread};
use super::waiver::{self, Beside};
use super::work::unread_bytes;
use super::workflow;
use crate::cli::CliError;
use crate::cli::args::AuditArgs;
use crate::cli::kept_list::KeptList;
use crate::cli::source::{read_bytes, read_text};
use crate::cli::waiver_log::WaiverLog;
use crate::cli::workflow_log::{self, chained};
use crate::stored::{StoredContent, log_of};

/// Records of a waiver's log that are read: one is right.
const MAX_WAIVER_RECORDS: usize = 2;

/// What is demanded of logs and bundles.
pub(super) struct Proof {
    bundles: BundlePolicy,
    logs: LogPolicy,
    wants_page: bool,
    /// Where the store is read.
    runtime: Handle,
}

/// A report, and the page of it where one is wanted.
pub(super) type Told = (VerificationReport, Option<String>);

impl Proof {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// [`CliError`] if the key cannot be used.
    pub(super) fn of(args: &AuditArgs) -> Result<Self, CliError> {
        let key = args.key.as_deref().map(public_key).transpose()?;
        let bundles = BundlePolicy {
            public_key: key,
            require_signature: args.require_signature,
            // What was taken out is told as what it is; the exit code is for the tally.
            allow_redacted: true,
        };
        let logs = LogPolicy { allow_unsealed: args.allow_unsealed, stands_alone: false };
        Ok(Self { bundles, logs, wants_page: args.html.is_some(), runtime: Handle::current() })
    }

    /// Audits a bundle.
    pub(super) fn bundle(&self, reader: &mut dyn Read, source: &str) -> Told {
        if !self.wants_page {
            return (audit_bundle(reader, source, &self.bundles), None);
        }
        // Read twice, so it must be the same bytes.
        let max_bytes = usize::try_from(MAX_BUNDLE_BYTES).unwrap_or(usize::MAX);
        match read_bytes(&mut &mut *reader, max_bytes.saturating_mul(2)) {
            Ok(bytes) => {
                let report = audit_bundle(&mut Cursor::new(&bytes), source, &self.bundles);
                let timeline = bundle_timeline(&mut Cursor::new(&bytes));
                let page = render_page(&report, timeline.as_ref());
                (report, Some(page))
            }
            Err(error) => (unread_bytes(source, &error), None),
        }
    }

    /// Audits a run log without its content.
    pub(super) fn log(&self, reader: &mut dyn Read, source: &str) -> Told {
        let policy = LogPolicy { stands_alone: true, ..self.logs };
        match read_bytes(&mut &mut *reader, MAX_LOG_BYTES) {
            Ok(log) => {
                let lines: Vec<&[u8]> = lines_of(&log);
                if let Some(waiver) = lines.first().and_then(|line| WaiverLog::parse(line)) {
                    let records: Vec<Vec<u8>> = lines.iter().map(|line| line.to_vec()).collect();
                    return self.paged(waiver::audit(&records, &waiver, None, None, source));
                }
                if let Some(list) = lines.first().and_then(|line| KeptList::parse(line)) {
                    return self.paged(kept::audit(&log, &list, chained(&lines), source, true));
                }
                match lines.first().is_some_and(|line| workflow::is_first(line)) {
                    true => self.workflow(&log, chained(&lines), source, true),
                    false => self.told(&log, source, &NoContent, policy),
                }
            }
            Err(error) => (unread_bytes(source, &error), None),
        }
    }

    /// Audits a run of a store, with its content.
    pub(super) fn stored(&self, store: &Arc<dyn Store>, run: &RunId) -> Told {
        let source = run.as_str();
        match self.waiver(store.as_ref(), run) {
            Ok(None) => {}
            Ok(Some(report)) => return self.paged(report),
            Err(error) => {
                return (unread(source, &rule::UNREADABLE, &error.to_string()), None);
            }
        }
        match workflow_log::find_waiting(&self.runtime, store, run) {
            Ok(None) => {}
            Ok(Some(found)) => {
                let mut log = found.records.join(&b'\n');
                log.push(b'\n');
                if let Some(list) = found.records.first().and_then(|line| KeptList::parse(line)) {
                    return self.paged(kept::audit(&log, &list, found.chained, source, false));
                }
                return self.workflow(&log, found.chained, source, false);
            }
            Err(error) => {
                return (unread(source, &rule::UNREADABLE, &error.to_string()), None);
            }
        }
        let content = StoredContent::new(Arc::clone(store), self.runtime.clone());
        let log = self.runtime.block_on(log_of(store.as_ref(), run));
        let told = log.and_then(|log| {
            let told = self.told(&log, source, &content, self.logs);
            content.refuse_failed().map(|()| told)
        });
        told.unwrap_or_else(|error| (unread(source, &rule::UNREADABLE, &error.to_string()), None))
    }

    fn workflow(
        &self,
        log: &[u8],
        chained: Result<workflow_log::Chained, workflow_log::WorkflowLogError>,
        source: &str,
        stands_alone: bool,
    ) -> Told {
        let allow_unsealed = self.logs.allow_unsealed;
        self.paged(workflow::audit(log, chained, source, stands_alone, allow_unsealed))
    }

    /// Audits a waiver with the run that it is about; `None` for what is none.
    fn waiver(
        &self,
        store: &dyn Store,
        run: &RunId,
    ) -> Result<Option<VerificationReport>, EngineError> {
        self.runtime.block_on(async {
            let records = store.read(run, 0, MAX_WAIVER_RECORDS).await?;
            let Some(log) = records.first().and_then(|line| WaiverLog::parse(line)) else {
                return Ok(None);
            };
            let beside = Beside::read(store, &log).await?;
            Ok(Some(waiver::audit(&records, &log, Some(run), Some(&beside), run.as_str())))
        })
    }

    fn paged(&self, report: VerificationReport) -> Told {
        let page = self.wants_page.then(|| render_page(&report, None));
        (report, page)
    }

    fn told(&self, log: &[u8], source: &str, content: &dyn Content, policy: LogPolicy) -> Told {
        let report = audit_log(log, source, content, policy);
        let page = self.wants_page.then(|| {
            let timeline = Timeline::of(log, content);
            render_page(&report, timeline.as_ref())
        });
        (report, page)
    }
}

fn lines_of(log: &[u8]) -> Vec<&[u8]> {
    log.strip_suffix(b"\n").unwrap_or(log).split(|byte| *byte == b'\n').collect()
}

fn public_key(path: &Path) -> Result<PublicKey, CliError> {
    let text = read_text(path, MAX_KEY_BYTES)?;
    PublicKey::from_pem(&text).map_err(|source| CliError::Key { path: path.to_path_buf(), source })
}
