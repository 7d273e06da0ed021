//! Every value of a valid document removed, retyped and made huge, the episode sealed anew so that
//! the seal is not what catches it, with envelope and pack given. What is accepted must stand on the
//! list, with its reason and with the finding that tells of it; all else must be refused by a code.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use probity_audit::{
    Acceptance, EpisodeAuditor, EpisodeReport, MAX_FINDINGS, OpenEpisode, RULES, SealedEpisode,
    Severity,
};
use serde_json::{Map, Value, json};

use crate::mutation_legal::{LEGAL_OF_ENVELOPES, LEGAL_OF_EPISODES, LEGAL_OF_SIGNALS, Legal};
use crate::{auditor, codes, sealed, value};

/// One change.
struct Change {
    line: String,
    document: Value,
}

/// What a run of changes came to.
#[derive(Debug, Default)]
struct Run {
    changes: usize,
    /// Accepted ones, with what was told of each.
    accepted: BTreeMap<String, Vec<String>>,
    /// How often each code refused.
    codes: BTreeMap<&'static str, usize>,
}

/// An episode in which nothing is found, with every member that the shape knows.
fn episode() -> Value {
    let mut episode = value("01_success.json");
    episode["policy"]["policyPackHash"] = value("pack.json")["policyPackHash"].clone();
    episode["actions"][0]["execution"]["timeoutMs"] = json!(60);
    sealed(episode)
}

/// Pointers of all values but the whole.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, place: &str, found: &mut Vec<String>) {
        let mut member = |key: &str, item: &Value| {
            let pointer = format!("{place}/{key}");
            found.push(pointer.clone());
            walk(item, &pointer, found);
        };
        match value {
            Value::Object(map) => map.iter().for_each(|(key, item)| member(key, item)),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| member(&at.to_string(), item));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

fn removed(document: &Value, pointer: &str) -> Value {
    let mut document = document.clone();
    let (above, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(above).unwrap() {
        Value::Object(map) => drop(map.remove(name)),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        _ => panic!("{pointer}"),
    }
    document
}

fn replaced(document: &Value, pointer: &str, other: &Value) -> Value {
    let mut document = document.clone();
    *document.pointer_mut(pointer).unwrap() = other.clone();
    document
}

fn removals(document: &Value) -> Vec<Change> {
    let change = |pointer: String| Change {
        document: removed(document, &pointer),
        line: format!("remove {pointer}"),
    };
    pointers(document).into_iter().map(change).collect()
}

/// Every value as one of each other kind.
fn retypings(document: &Value) -> Vec<Change> {
    let kinds = [
        ("string", json!("x")),
        ("number", json!(7)),
        ("bool", json!(true)),
        ("null", Value::Null),
        ("list", json!([])),
        ("object", json!({})),
    ];
    let mut changes = Vec::new();
    for pointer in pointers(document) {
        let kind = std::mem::discriminant(document.pointer(&pointer).unwrap());
        for (name, other) in kinds.iter().filter(|(_, it)| std::mem::discriminant(it) != kind) {
            let document = replaced(document, &pointer, other);
            changes.push(Change { line: format!("{name} {pointer}"), document });
        }
    }
    changes
}

/// Every value as something huge, of its own kind or not. Built one at a time: each is large.
fn enlargements(document: &Value) -> impl Iterator<Item = Change> {
    let deep = (0..200).fold(json!([]), |inner, _| json!([inner]));
    let many: Map<String, Value> = (0..10_000).map(|n| (format!("k{n}"), json!(n))).collect();
    let huge = [
        ("1 MB", json!("x".repeat(1_000_000))),
        ("10^18", json!(1_000_000_000_000_000_000_u64)),
        ("depth 200", deep),
        ("10,000 members", Value::Object(many)),
    ];
    let document = document.clone();
    pointers(&document).into_iter().flat_map(move |pointer| {
        let first = document.pointer(&pointer).unwrap().as_array().and_then(|items| items.first());
        let item = first.cloned().unwrap_or_else(|| json!("x"));
        let list = ("10,000 items", Value::Array(vec![item; 10_000]));
        let all = huge.iter().cloned().chain([list]);
        let change = |(name, other): (&str, Value)| Change {
            line: format!("{name} {pointer}"),
            document: replaced(&document, &pointer, &other),
        };
        all.map(change).collect::<Vec<_>>()
    })
}

/// Audits every change and looks at each report.
fn run(changes: impl IntoIterator<Item = Change>, audit: impl Fn(&str) -> EpisodeReport) -> Run {
    let known: BTreeSet<&str> = RULES.iter().map(|rule| rule.code).collect();
    let mut run = Run::default();
    for Change { line, document } in changes {
        let text = document.to_string();
        let report = catch_unwind(AssertUnwindSafe(|| audit(&text)))
            .unwrap_or_else(|_| panic!("{line}: the audit panicked"));
        run.changes += 1;
        assert!(report.findings.len() <= MAX_FINDINGS + 1, "{line}");
        for finding in &report.findings {
            assert!(!finding.code.is_empty() && !finding.message.is_empty(), "{line}");
            assert!(finding.pointer.is_empty() || finding.pointer.starts_with('/'), "{line}");
            assert!(finding.message.len() < 4_000, "{line}: {}", finding.message.len());
        }
        let refusing = report.findings.iter().find(|found| found.severity == Severity::Error);
        match (report.verdict, refusing) {
            (Acceptance::Accepted, None) => drop(run.accepted.insert(line, codes(&report))),
            (Acceptance::Rejected, Some(found)) => {
                let is_of_policy = found.code.starts_with("policy_")
                    || found.code.starts_with("envelope_")
                    || found.code.starts_with("pack_");
                assert!(known.contains(found.code) || is_of_policy, "{line}: {}", found.code);
                *run.codes.entry(found.code).or_default() += 1;
            }
            odd => panic!("{line}: {odd:?}"),
        }
    }
    run
}

/// Every accepted change is on the list with what is told of it, and the list has no other.
fn compare(name: &str, run: &Run, legal: &[Legal], of: impl Fn(&str) -> bool) {
    let mut expected = BTreeMap::new();
    for Legal { why, told, changes } in legal {
        assert!(!why.is_empty());
        for line in changes.lines().map(str::trim).filter(|line| !line.is_empty() && of(line)) {
            let told: Vec<String> = told.iter().map(|&code| code.to_owned()).collect();
            assert!(expected.insert(line.to_owned(), told).is_none(), "{line} stands twice");
        }
    }
    let refused = run.changes - run.accepted.len();
    println!("{name}: {} changes, {refused} refused, {} legal", run.changes, run.accepted.len());
    println!("  {:?}", run.codes);
    assert_eq!(run.accepted, expected);
}

/// An episode with a new seal, unless the seal is what was changed.
fn resealed(change: Change) -> Change {
    let is_seal = change.line.contains(" /seal");
    let document = if is_seal { change.document } else { sealed(change.document) };
    Change { document, ..change }
}

/// Audits an episode through every public face; all must agree.
fn audit_episode(auditor: &EpisodeAuditor, text: &str) -> EpisodeReport {
    let bytes = text.as_bytes();
    let report = auditor.episode(bytes, "x");
    let has_error = |error: &probity_audit::SealError| {
        matches!(error, probity_audit::SealError::Invalid { findings }
            if findings.iter().any(|found| found.severity == Severity::Error))
    };
    // What is accepted can be read as sealed; what cannot is refused with its reason.
    match SealedEpisode::parse(bytes) {
        Ok(sealed) => assert_eq!(report.seal.as_ref().unwrap().found, sealed.seal_hash()),
        Err(error) => {
            assert!(has_error(&error), "{error:?}");
            assert_eq!(report.verdict, Acceptance::Rejected, "{error}");
        }
    }
    if let Ok(Value::Object(mut open)) = serde_json::from_slice(bytes) {
        open.remove("seal");
        if let Err(error) = OpenEpisode::parse(Value::Object(open).to_string().as_bytes()) {
            assert!(has_error(&error), "{error:?}");
        }
    }
    report
}

fn run_episodes(changes: impl IntoIterator<Item = Change>) -> Run {
    let auditor = auditor();
    let whole = auditor.episode(episode().to_string().as_bytes(), "x");
    assert_eq!((whole.verdict, codes(&whole)), (Acceptance::Accepted, Vec::new()));
    run(changes.into_iter().map(resealed), |text| audit_episode(&auditor, text))
}

#[test]
fn every_member_of_an_episode_removed() {
    let run = run_episodes(removals(&episode()));
    assert_eq!(run.changes, 98);
    compare("episode, removed", &run, LEGAL_OF_EPISODES, |line| line.starts_with("remove "));
}

#[test]
fn every_member_of_an_episode_retyped() {
    let run = run_episodes(retypings(&episode()));
    assert_eq!(run.changes, 490);
    let of = ["string ", "number ", "bool ", "null ", "list ", "object "];
    compare("episode, retyped", &run, LEGAL_OF_EPISODES, |line| {
        of.iter().any(|kind| line.starts_with(kind))
    });
}

#[test]
fn every_member_of_an_episode_made_huge() {
    let run = run_episodes(enlargements(&episode()));
    assert_eq!(run.changes, 490);
    compare("episode, huge", &run, LEGAL_OF_EPISODES, |line| line.starts_with(['1', 'd']));
}

fn all(document: &Value) -> impl Iterator<Item = Change> {
    removals(document).into_iter().chain(retypings(document)).chain(enlargements(document))
}

fn run_others(document: &Value) -> Run {
    let auditor = auditor();
    let whole = auditor.episode(document.to_string().as_bytes(), "x");
    assert_eq!((whole.verdict, codes(&whole)), (Acceptance::Accepted, Vec::new()));
    run(all(document), |text| auditor.episode(text.as_bytes(), "x"))
}

#[test]
fn every_member_of_a_drift_signal() {
    let run = run_others(&value("drift_time.json"));
    assert!(run.changes > 100, "{}", run.changes);
    compare("drift signal", &run, LEGAL_OF_SIGNALS, |_| true);
}

#[test]
fn every_member_of_an_envelope() {
    let run = run_others(&value("envelope.json"));
    assert!(run.changes > 400, "{}", run.changes);
    compare("envelope", &run, LEGAL_OF_ENVELOPES, |_| true);
}

#[test]
fn every_member_of_a_pack_under_its_hash() {
    let run = run_others(&value("pack.json"));
    assert!(run.changes > 200, "{}", run.changes);
    compare("pack", &run, &[], |_| true);
}
