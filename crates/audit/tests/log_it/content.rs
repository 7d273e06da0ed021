//! The content that a log names: there, taken out, gone, another.

use probity_audit::log::{LogPolicy, NoContent, audit_log};
use probity_core::{Claim, Digest, Event};
use probity_record::{claim_candidate, submission_id};
use probity_report::{CheckState, Verdict, VerificationReport};

use crate::forged::{change, event};
use crate::rig::{Rig, Shelf, jsonl};
use crate::run::{self, RUNS};
use crate::{ALONE, codes};

fn audit(rig: &Rig) -> VerificationReport {
    audit_log(&jsonl(&rig.log), "log", &rig.shelf, LogPolicy::default())
}

/// Every blob that a run names, by being without each of them.
fn named(rig: &Rig) -> Vec<Digest> {
    let is_named = |digest: &&Digest| {
        let mut without = rig.clone();
        without.shelf.blobs.remove(digest);
        audit(&without).has("log_blob_missing")
    };
    rig.shelf.blobs.keys().filter(is_named).copied().collect()
}

#[test]
fn every_blob_that_is_gone_or_another_is_named() {
    let mut blobs = 0;
    for (name, run) in RUNS {
        let rig = run();
        for digest in named(&rig) {
            let mut without = rig.clone();
            without.shelf.blobs.remove(&digest);
            let report = audit(&without);
            assert_eq!(
                (report.verdict, codes(&report)),
                (Verdict::Invalid, vec!["log_blob_missing"])
            );
            assert_eq!(report.failures.len(), 1, "{name}: told once");
            let mut changed = rig.clone();
            changed.shelf.blobs.get_mut(&digest).unwrap().push(b' ');
            let report = audit(&changed);
            assert_eq!(
                (report.verdict, codes(&report)),
                (Verdict::Invalid, vec!["log_blob_differs"])
            );
            assert_eq!(report.failures[0].expected, Some(digest.to_string()));
            blobs += 1;
        }
    }
    assert!(blobs > 100, "{blobs}");
}

#[test]
fn content_that_was_taken_out_is_told_once_and_leaves_integrity_alone() {
    let mut rig = run::twice();
    let digests = named(&rig);
    rig.shelf.withheld = digests.iter().copied().collect();
    let report = audit(&rig);
    assert_eq!(report.verdict, Verdict::IntegrityOnly);
    assert_eq!(codes(&report), ["log_content_withheld"]);
    assert_eq!(report.failures.len(), 1);
    let count = digests.len();
    assert_eq!(report.failures[0].message, format!("{count} of {count} blobs were taken out"));
    assert_eq!(report.summary_metrics["blobs_withheld"], count as u64);
}

#[test]
fn a_log_without_content_is_refused_unless_it_stands_alone() {
    let rig = run::twice();
    let bytes = jsonl(&rig.log);
    let report = audit_log(&bytes, "log", &NoContent, LogPolicy::default());
    assert_eq!((report.verdict, codes(&report)), (Verdict::Invalid, vec!["log_blob_missing"]));
    assert_eq!(report.failures.len(), named(&rig).len());

    let report = audit_log(&bytes, "log", &NoContent, ALONE);
    assert_eq!(report.verdict, Verdict::Valid);
    assert!(report.has("log_content_unseen"));
    assert!(report.checks.iter().all(|check| check.name != "content"));
    assert!(report.checks.iter().all(|check| check.state == CheckState::Passed));
}

/// The claim that the log names by its candidate is another one.
fn with_other_candidate() -> Rig {
    let mut rig = run::once();
    let other = claim_candidate(&Claim::text("something else"));
    let Event::RunOpened { run, .. } = rig.log[0].event.clone() else { panic!("no header") };
    let Event::ClaimReceived { turn, .. } = *event(&mut rig.log, "claim.received", 0) else {
        panic!("no claim")
    };
    let name = submission_id(&run, turn, &other);
    change!(&mut rig.log, "claim.received", 0, ClaimReceived { candidate, submission } => {
        (*candidate, *submission) = (other, name.clone());
    });
    change!(&mut rig.log, "verdict.merged", 0, VerdictMerged { candidate, submission } => {
        (*candidate, *submission) = (other, name);
    });
    rig
}

/// Nothing but the content can find this one: every name in the log fits every other.
#[test]
fn an_altered_candidate_is_found_in_the_claim() {
    let rig = with_other_candidate();
    let report = audit(&rig);
    assert_eq!((report.verdict, codes(&report)), (Verdict::Invalid, vec!["log_candidate_differs"]));
    let alone = audit_log(&jsonl(&rig.log), "log", &NoContent, ALONE);
    assert_eq!(alone.verdict, Verdict::Valid, "the log alone holds together");
}

#[test]
fn an_altered_candidate_of_a_rewrite_is_found_in_its_claim() {
    let mut rig = run::hooked();
    let rewrites = rig.log.iter().filter(|it| it.event.name() == "check.finished").count();
    let other = claim_candidate(&Claim::text("something else"));
    change!(&mut rig.log, "check.finished", rewrites - 1, CheckFinished { rewrite } => {
        rewrite.as_mut().unwrap().candidate = other;
    });
    let report = audit(&rig);
    assert_eq!((report.verdict, codes(&report)), (Verdict::Invalid, vec!["log_candidate_differs"]));
}

#[test]
fn content_that_is_no_claim_is_refused() {
    for text in ["not JSON", "{}", "[]", r#"{"claim":{},"more":1}"#, r#"{"claim":{"response":3}}"#]
    {
        let mut rig = run::once();
        let claim = rig.shelf.keep(text);
        change!(&mut rig.log, "claim.received", 0, ClaimReceived { claim: of } => *of = claim);
        let report = audit(&rig);
        assert_eq!(
            (report.verdict, codes(&report)),
            (Verdict::Invalid, vec!["log_claim_unreadable"]),
            "{text}"
        );
    }
}

#[test]
fn equal_logs_have_equal_reports_and_another_name_changes_nothing() {
    let rig = run::twice();
    let bytes = jsonl(&rig.log);
    let audit = |source| audit_log(&bytes, source, &rig.shelf, LogPolicy::default());
    assert_eq!(audit("here").bytes(), audit("here").bytes());
    assert_eq!(audit("here").id, audit("there").id);
    let other = Shelf::default();
    let refused = audit_log(&bytes, "here", &other, LogPolicy::default());
    assert_ne!(audit("here").id, refused.id);
}
