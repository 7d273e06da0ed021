//! What is said of a run: an in-toto statement, version 1.

use std::collections::BTreeMap;

use probity_core::{Code, Digest, Entry, Event, Outcome, Policy, RunId};
use probity_record::RunRecords;
use serde::{Deserialize, Serialize};

/// The type of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The type of what is said: `docs/bundle-format.md` says what each member means.
pub const PREDICATE_TYPE: &str = "https://probity.dev/attestation/run/v1";

/// A statement about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// The log as a file, and the run by its head.
    pub subject: Vec<Subject>,
    /// [`PREDICATE_TYPE`].
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// What is said.
    pub predicate: Predicate,
}

/// What a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// Its digests, by algorithm.
    pub digest: BTreeMap<String, Digest>,
}

/// What is said of a run. Numbers, closed words, names and digests: no content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, in one word.
    pub code: Code,
    /// Whether a named human overrode a refusal.
    pub waived: bool,
    /// Attempts that were charged.
    pub attempts: u32,
    /// Checks that were declared.
    pub checks: u64,
    /// Records of the log, the sealing one included.
    pub events: u64,
    /// The hash of the last of them.
    pub head: Digest,
    /// SHA-256 of the manifest's `proof`, by algorithm.
    pub proof: BTreeMap<String, Digest>,
    /// The bounds that the run was opened with.
    pub policy: Policy,
}

impl Statement {
    /// What is to be said of a whole and sealed log. `None` where it lacks its opening or its end.
    #[must_use]
    pub fn of(records: &RunRecords, log: Digest, proof: Digest) -> Option<Self> {
        let (policy, checks) = records.entries.iter().find_map(|entry| match &entry.event {
            Event::RunOpened { policy, checks, .. } => Some((policy, checks.len())),
            _ => None,
        })?;
        let (outcome, code, waived) = records.entries.iter().rev().find_map(decided)?;
        let attempts = records.entries.iter().rev().find_map(|entry| match &entry.event {
            Event::VerdictMerged { attempts, .. } => Some(*attempts),
            _ => None,
        });
        let sha256 = |digest| BTreeMap::from([("sha256".to_owned(), digest)]);
        let run = records.run.clone();
        let subject = vec![
            Subject { name: "log.jsonl".to_owned(), digest: sha256(log) },
            Subject { name: format!("run/{run}"), digest: sha256(records.head) },
        ];
        let predicate = Predicate {
            run,
            outcome,
            code: code.clone(),
            waived,
            attempts: attempts.unwrap_or(0),
            checks: checks as u64,
            events: records.entries.len() as u64,
            head: records.head,
            proof: sha256(proof),
            policy: policy.clone(),
        };
        Some(Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject,
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate,
        })
    }
}

const fn decided(entry: &Entry) -> Option<(Outcome, &Code, bool)> {
    match &entry.event {
        Event::OutcomeDecided { outcome, code, waived } => Some((*outcome, code, *waived)),
        _ => None,
    }
}
