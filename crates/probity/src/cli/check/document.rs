//! Envelopes, packs, episodes and drift signals, by their shape.

use std::path::{Path, PathBuf};

use probity_audit::{EpisodeAuditor, EpisodeReport, Severity};
use probity_policy::{Envelope, Format, MAX_DOCUMENT_BYTES, Pack, PolicyFinding};
use serde_json::Value;

use super::Checker;
use crate::cli::documents::{self, Audited, Input};
use crate::cli::source::{format_of, read_text};
use crate::request::yaml;

/// What a JSON or YAML file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// An envelope.
    Envelope,
    /// A policy pack.
    Pack,
    /// An episode or a drift signal, or a list of them.
    Audited,
    /// A request, as everything else.
    Request,
}

impl Shape {
    /// What a file is, by the members that only such a document has.
    pub(super) fn of_file(path: &Path) -> Self {
        let text = read_text(path, MAX_DOCUMENT_BYTES).unwrap_or_default();
        let value: Option<Value> = match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => serde_json::from_str(&text).ok(),
            Some("yaml" | "yml") => yaml(&text).ok(),
            _ => None,
        };
        value.as_ref().map_or(Self::Request, Self::of)
    }

    fn of(value: &Value) -> Self {
        let has = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
        if value.is_array() || has(&["episodeId", "driftId", "driftType"]) {
            Self::Audited
        } else if has(&["policyPackId"]) {
            Self::Pack
        } else if has(&["deadlineMs", "deadline_ms", "stageBudgetsMs", "degradeLadder"]) {
            Self::Envelope
        } else {
            Self::Request
        }
    }
}

impl Checker<'_> {
    /// An envelope or a pack: everything that is wrong with it, each with its place.
    pub(super) fn policy_document(&mut self, path: &Path) {
        let text = match read_text(path, MAX_DOCUMENT_BYTES) {
            Ok(text) => text,
            Err(error) => {
                let name = self.name(path, "");
                return self.checked.error(name, error.code(), error.to_string());
            }
        };
        let format = format_of(path);
        let found = match Shape::of_file(path) {
            Shape::Pack => pack(&text, format),
            Shape::Envelope | Shape::Audited | Shape::Request => envelope(&text, format),
        };
        let (what, findings) = match found {
            Ok((what, warnings)) => (Some(what), warnings),
            Err(findings) => (None, findings),
        };
        for finding in findings {
            let name = self.name(path, &finding.pointer);
            match finding.is_error() {
                true => self.checked.error(name, finding.code, finding.message),
                false => self.checked.warning(name, finding.code, finding.message),
            }
        }
        if let Some(what) = what {
            self.checked.ok(self.name(path, ""), what);
        }
    }

    /// Episodes and drift signals, as `episode verify` audits them, without an envelope.
    pub(super) fn documents(&mut self, path: &Path) {
        let auditor = EpisodeAuditor::new();
        let inputs: [Input; 1] = [Input::Path(PathBuf::from(path))];
        documents::audit(
            &inputs,
            &auditor,
            |audited| audited,
            |audited| {
                match audited {
                    Audited::Reports(reports) => {
                        reports.iter().for_each(|report| self.report(report))
                    }
                    Audited::Unread { error, .. } => {
                        self.checked.error(self.name(path, ""), "file_read", error.to_string());
                    }
                }
                true
            },
        );
    }

    fn report(&mut self, report: &EpisodeReport) {
        let mut path = report.source.clone();
        if let Some(place) = report.line.or(report.index) {
            path.push_str(&format!(":{place}"));
        }
        let path = PathBuf::from(path);
        let mut is_ok = true;
        for finding in &report.findings {
            let name = self.name(&path, &finding.pointer);
            match finding.severity {
                Severity::Error => {
                    is_ok = false;
                    self.checked.error(name, finding.code, finding.message.as_str());
                }
                Severity::Warning => {
                    self.checked.warning(name, finding.code, finding.message.as_str());
                }
                Severity::Note => {}
            }
        }
        if is_ok {
            let kind = serde_json::to_value(report.kind).unwrap_or_default();
            let kind = kind.as_str().unwrap_or_default().to_owned();
            self.checked.ok(self.name(&path, ""), kind);
        }
    }
}

/// What is odd with an envelope, or what is wrong with it.
fn envelope(
    text: &str,
    format: Format,
) -> Result<(String, Vec<PolicyFinding>), Vec<PolicyFinding>> {
    let envelope = Envelope::parse(text, format).map_err(|findings| findings.into_vec())?;
    let what = format!("the envelope of {}, version {}", envelope.decision_type, envelope.version);
    Ok((what, envelope.findings(None)))
}

fn pack(text: &str, format: Format) -> Result<(String, Vec<PolicyFinding>), Vec<PolicyFinding>> {
    let pack = Pack::parse(text, format).map_err(|findings| findings.into_vec())?;
    let what = format!("the pack {}, version {}", pack.policy_pack_id, pack.version);
    Ok((what, pack.findings()))
}
