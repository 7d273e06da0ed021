//! Envelopes and packs among the documents: the policy crate judges, this reports.

use std::borrow::Cow;

use probity_policy::{Envelope, Format, Pack, PolicyFinding};

use crate::auditor::shown;
use crate::document::{Member, Node, Without, sorted};
use crate::finding::{Finding, Findings, Severity};
use crate::report::{DocumentKind, EpisodeReport};
use crate::rule;
use crate::vocabulary::camel;

/// Members of a record that wraps an envelope, which an envelope does not have.
const WRAPPING: [&str; 2] = ["document_type", "title"];

/// Audits an envelope.
pub(crate) fn envelope(node: &Node, source: &str, mut findings: Findings) -> EpisodeReport {
    let is_wrapped = node.get("content").is_some();
    let inner = node.get("content").unwrap_or(node);
    let name = ["decisionType", "decision_type"].iter().find_map(|key| inner.get(key)?.text());
    if is_wrapped || inner.get("deadline_ms").is_some() {
        let outcome = match parse(&mapped(inner)) {
            Ok(_) => "with its names mapped it is a valid envelope".to_owned(),
            Err(refused) => {
                let first = refused.first().map_or_else(String::new, PolicyFinding::to_string);
                format!("with its names mapped it is no valid envelope: {first}")
            }
        };
        let place = if is_wrapped { "/content" } else { "" };
        let message = format!("an envelope in snake case; {outcome}");
        findings.add(&rule::OTHER_VOCABULARY, place, message);
    } else {
        match parse(inner) {
            Ok(envelope) => take(envelope.findings(None), &mut findings),
            Err(refused) => take(refused, &mut findings),
        }
    }
    let report = EpisodeReport::of(DocumentKind::Envelope, source, findings);
    EpisodeReport { episode_id: name.map(shown), ..report }
}

/// Audits a pack.
pub(crate) fn pack(node: &Node, source: &str, mut findings: Findings) -> EpisodeReport {
    match Pack::parse(&text(node), Format::Json) {
        Ok(pack) => take(pack.findings(), &mut findings),
        Err(refused) => take(refused.into_vec(), &mut findings),
    }
    let name = node.get("policyPackId").and_then(Node::text);
    let report = EpisodeReport::of(DocumentKind::Pack, source, findings);
    EpisodeReport { episode_id: name.map(shown), ..report }
}

fn parse(node: &Node) -> Result<Envelope, Vec<PolicyFinding>> {
    Envelope::parse(&text(node), Format::Json).map_err(probity_policy::PolicyFindings::into_vec)
}

fn text(node: &Node) -> String {
    String::from_utf8_lossy(&sorted(node, Without::Nothing)).into_owned()
}

fn take(found: Vec<PolicyFinding>, findings: &mut Findings) {
    for PolicyFinding { code, severity, pointer, message, .. } in found {
        let severity = match severity {
            probity_policy::Severity::Error => Severity::Error,
            probity_policy::Severity::Warning => Severity::Warning,
        };
        findings.push(Finding { code, severity, pointer, message });
    }
}

/// The envelope with its schema's names. Names of features are the author's and stay as they are.
fn mapped<'a>(node: &Node<'a>) -> Node<'a> {
    match node {
        Node::Object(members) => {
            let mut members: Vec<Member> = members
                .iter()
                .filter(|member| !WRAPPING.contains(&&*member.key))
                .map(|member| Member {
                    key: Cow::Owned(camel(&member.key)),
                    value: if member.key == "feature_ttls" {
                        member.value.clone()
                    } else {
                        mapped(&member.value)
                    },
                })
                .collect();
            members.sort_by(|one, other| one.key.cmp(&other.key));
            Node::Object(members)
        }
        Node::List(items) => Node::List(items.iter().map(mapped).collect()),
        node => node.clone(),
    }
}
