//! Episodes, drift signals, envelopes and packs, in the one shape of a report.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use probity_audit::{Acceptance, DocumentKind, EpisodeReport, Finding, RULES};
use probity_report::{Class, Draft, Place, Rule, Severity, SubjectKind, VerificationReport};

/// The checks of a document, and the first rule of each in the order of all rules.
const CHECKS: [(&str, &str); 9] = [
    ("reading", "document_too_large"),
    ("shape", "other_vocabulary"),
    ("seal", "seal_mismatch"),
    ("times", "time_order"),
    ("freshness", "context_stale"),
    ("verification", "required_na"),
    ("actions", "tier_above_max"),
    ("fallback", "step_not_in_ladder"),
    ("references", "envelope_missing"),
];

/// What is no document at all.
const MALFORMED: [&str; 5] = [
    "document_not_utf8",
    "document_syntax",
    "document_number",
    "document_trailing",
    "document_unknown",
];
/// What is more than is read.
const LIMITS: [&str; 2] = ["document_too_large", "document_too_deep"];

/// The check of every rule.
static CHECK_OF: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut check = "reading";
    let of = |rule: &&'static probity_audit::Rule| {
        check = CHECKS.iter().find(|(_, first)| *first == rule.code).map_or(check, |(it, _)| it);
        (rule.code, check)
    };
    RULES.iter().map(of).collect()
});

/// An error that was found, and that the list has no room for.
const CUT: Rule = Rule::error("findings_cut", "reading", "errors beyond those that are listed");

/// What a document was held against.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Envelopes that were given.
    pub(super) envelopes: u64,
    /// Packs that were given.
    pub(super) packs: u64,
}

/// Whether a document is nothing that is known here, and nothing else is wrong with it.
pub(super) fn is_no_record(report: &EpisodeReport) -> bool {
    report.kind == DocumentKind::Unknown
        && report.findings.iter().all(|it| it.code == "document_unknown")
}

/// The report on a document, told as every record's is.
pub(super) fn told(report: EpisodeReport, held: Held) -> VerificationReport {
    let kind = match report.kind {
        DocumentKind::Unknown => SubjectKind::Unknown,
        _ => SubjectKind::Episode,
    };
    let all = CHECKS.map(|(check, _)| check);
    // Of the others only bytes and shape can be held against anything.
    let checks = match report.kind {
        DocumentKind::Episode => all.as_slice(),
        DocumentKind::Unknown => all.get(..1).unwrap_or_default(),
        _ => all.get(..2).unwrap_or_default(),
    };
    let mut draft = Draft::new(kind, &report.source, checks);
    let place = Place { line: report.line, ..Place::default() };
    let above = report.index.map_or_else(String::new, |index| format!("/{index}"));
    for finding in &report.findings {
        let rule = rule(finding, checks);
        let place = place.clone().pointer(format!("{above}{}", finding.pointer));
        draft.failures.add(&rule, place, finding.message.as_str());
    }
    if report.verdict == Acceptance::Rejected && draft.failures.is_clean() {
        draft.failures.add(&CUT, place, CUT.finds);
    }
    let numbers = [
        ("line", report.line),
        ("index", report.index),
        ("drift", Some(report.drift.len() as u64)),
        ("envelopes", Some(held.envelopes)),
        ("packs", Some(held.packs)),
    ];
    draft.metrics.extend(numbers.into_iter().filter_map(|(name, it)| Some((name, it?))));
    let words = [("name", report.episode_id), ("seal", report.seal.map(|seal| seal.found))];
    draft.binds.extend(words.into_iter().filter_map(|(name, it)| Some((name, it?))));
    draft.finish()
}

fn rule(finding: &Finding, checks: &[&'static str]) -> Rule {
    let found = finding.code;
    // What is not in the table was found by whoever reads envelopes and packs.
    let of = CHECK_OF.get(found).copied().filter(|check| checks.contains(check));
    let check = of.or(checks.last().copied()).unwrap_or("reading");
    let class = match found {
        _ if MALFORMED.contains(&found) => Class::Malformed,
        _ if LIMITS.contains(&found) => Class::Limit,
        _ => Class::Finding,
    };
    let severity = match finding.severity {
        probity_audit::Severity::Error => Severity::Error,
        probity_audit::Severity::Warning => Severity::Warning,
        probity_audit::Severity::Note => Severity::Note,
    };
    Rule { class, severity, ..Rule::error(found, check, "") }
}

#[cfg(test)]
mod tests {
    use probity_audit::EpisodeAuditor;
    use probity_report::Verdict;

    use super::*;

    fn audit(text: &str) -> VerificationReport {
        told(EpisodeAuditor::new().line(text.as_bytes(), "it", 7), Held::default())
    }

    #[test]
    fn every_rule_belongs_to_the_check_under_whose_heading_it_stands() {
        for (check, first) in CHECKS {
            assert_eq!(CHECK_OF.get(first), Some(&check));
        }
        let checks: Vec<&str> = RULES.iter().map(|rule| CHECK_OF[rule.code]).collect();
        let mut in_order = checks.clone();
        in_order.dedup();
        assert_eq!(in_order, CHECKS.map(|(check, _)| check), "each heading once");
    }

    #[test]
    fn what_cannot_be_read_is_malformed_and_what_is_too_much_is_a_limit() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for (text, verdict) in [
            ("{\"episodeId\":", Verdict::Malformed),
            ("{\"a\":1}", Verdict::Malformed),
            (&deep, Verdict::LimitExceeded),
            ("{\"episodeId\":\"e\"}", Verdict::Invalid),
            ("{\"driftId\":\"d\"}", Verdict::Invalid),
        ] {
            let report = audit(text);
            assert_eq!(report.verdict, verdict, "{report:#?}");
            assert_eq!(report.failures[0].place.line, Some(7));
            let errors: u64 = report.checks.iter().map(|check| check.errors).sum();
            assert!(errors > 0, "no error falls between the checks: {report:#?}");
        }
    }
}
