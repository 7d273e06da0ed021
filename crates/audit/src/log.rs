//! A run log, proved from its bytes alone.
//!
//! The log is read twice, by two readers that share no rule: a fold of its own goes through the
//! events and names everything that breaks a rule of a run, and the machine replays them and stops
//! at the first that it would not have written. `docs/record-format.md` is the format.
//!
//! - [`LogAuditor`], [`audit_log`]: a log in, a [`VerificationReport`] out.
//! - [`Content`]: where the content that the log names comes from.
//! - [`LogPolicy`]: what the caller allows. Nothing of it is taken from the log under audit.

mod charge;
mod checks;
mod clock;
mod content;
mod dispatch;
mod ending;
mod flight;
mod hooks;
mod lease;
mod notes;
mod read;
mod replay;
mod rule;
mod ruling;
mod submission;
mod verdict;
mod walk;

use std::borrow::Cow;

use probity_core::Digest;
use probity_record::blob_digest;
use probity_report::{Draft, Place, SubjectKind, VerificationReport};

pub use rule::LOG_RULES;

use read::Log;

/// The most bytes of a log: 512 MiB. What is longer is not looked at.
pub const MAX_LOG_BYTES: usize = 512 * 1024 * 1024;

/// Where the content that a log names comes from.
pub trait Content {
    /// What there is under a digest. Bytes that do not have it are handed on all the same: the
    /// auditor says so.
    fn blob(&self, digest: &Digest) -> Blob<'_>;
}

/// What there is of one piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blob<'a> {
    /// Its bytes.
    Bytes(Cow<'a, [u8]>),
    /// It was taken out on purpose.
    Withheld,
    /// It is not there.
    Absent,
}

/// No content at all: every blob is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoContent;

impl Content for NoContent {
    fn blob(&self, _digest: &Digest) -> Blob<'_> {
        Blob::Absent
    }
}

/// What the caller of an audit allows. The default allows nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogPolicy {
    /// The run may be going on: a log without a seal is warned about and not refused. Bytes alone do
    /// not tell such a log from one whose end was cut off.
    pub allow_unsealed: bool,
    /// The log stands alone: content is not looked at, and the check of it is not listed. The report
    /// says so in a note. Without it a blob that is not there is an error.
    pub stands_alone: bool,
}

impl LogPolicy {
    /// The checks of a log under this policy, in the order in which a report lists them. One that
    /// nobody asked for is not listed: it did not pass.
    #[must_use]
    pub fn checks(&self) -> Vec<&'static str> {
        let mut checks = rule::CHECKS.to_vec();
        if !self.stands_alone {
            checks.push(rule::CONTENT);
        }
        checks
    }
}

/// Audits run logs, all under one policy and with the content of one source.
#[derive(Clone, Copy)]
pub struct LogAuditor<'a> {
    content: &'a dyn Content,
    policy: LogPolicy,
}

impl<'a> LogAuditor<'a> {
    /// An auditor with the default policy.
    #[must_use]
    pub fn new(content: &'a dyn Content) -> Self {
        Self { content, policy: LogPolicy::default() }
    }

    /// The same with another policy.
    #[must_use]
    pub const fn with_policy(mut self, policy: LogPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Audits an exported log: records, each followed by a newline.
    #[must_use]
    pub fn jsonl(&self, bytes: &[u8], source: &str) -> VerificationReport {
        let mut draft = Draft::new(SubjectKind::RunLog, source, &self.policy.checks());
        audit_within(bytes, "", self.content, &self.policy, &mut draft);
        draft.finish()
    }

    /// Audits records as a store holds them: one line each, without newlines. Places are those of the
    /// log as an export of these records would have them.
    #[must_use]
    pub fn records<R: AsRef<[u8]>>(&self, records: &[R], source: &str) -> VerificationReport {
        let mut export = Vec::new();
        for record in records {
            // One byte too many is enough to be refused.
            if export.len() > MAX_LOG_BYTES {
                break;
            }
            export.extend_from_slice(record.as_ref());
            export.push(b'\n');
        }
        self.jsonl(&export, source)
    }
}

/// Audits an exported log: [`LogAuditor::jsonl`].
#[must_use]
pub fn audit_log(
    bytes: &[u8],
    source: &str,
    content: &dyn Content,
    policy: LogPolicy,
) -> VerificationReport {
    LogAuditor::new(content).with_policy(policy).jsonl(bytes, source)
}

/// Audits the log of a greater record into its report. `file` is the log's path within the record;
/// the draft lists [`LogPolicy::checks`].
pub(crate) fn audit_within(
    bytes: &[u8],
    file: &str,
    content: &dyn Content,
    policy: &LogPolicy,
    draft: &mut Draft,
) {
    draft.binds.insert("allow_unsealed", policy.allow_unsealed.to_string());
    draft.binds.insert("stands_alone", policy.stands_alone.to_string());
    if bytes.len() > MAX_LOG_BYTES {
        let message = format!("{} bytes, more than the {MAX_LOG_BYTES} looked at", bytes.len());
        draft.failures.add(&rule::TOO_LONG, Place::file(file), message);
        skip_meaning(policy, draft);
        draft.skip(rule::CHAIN);
        draft.skip(rule::SEAL);
        return;
    }
    draft.binds.insert("log", blob_digest(bytes).to_string());
    draft.metrics.insert("log_bytes", bytes.len() as u64);
    let Some(log) = Log::read(bytes, file, policy, draft) else {
        skip_meaning(policy, draft);
        return;
    };
    walk::check(&log, draft);
    replay::check(&log, &mut draft.failures);
    if policy.stands_alone {
        let message = "the content that the log names was not looked at";
        draft.failures.add(&rule::CONTENT_UNSEEN, Place::file(file), message);
    } else {
        content::check(&log, content, draft);
    }
}

/// What a broken log says is not read for its meaning: nothing shows that it was recorded.
fn skip_meaning(policy: &LogPolicy, draft: &mut Draft) {
    for check in
        policy.checks().into_iter().filter(|check| ![rule::CHAIN, rule::SEAL].contains(check))
    {
        draft.skip(check);
    }
}
