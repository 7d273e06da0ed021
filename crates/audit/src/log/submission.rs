//! The claim whose checks are at work.

use probity_core::{CheckDecl, CheckIndex, Digest, Finding, Rewrite, Subject, SubmissionId, Turn};

use super::charge::Work;

pub(super) struct Submission {
    pub(super) turn: Turn,
    pub(super) id: SubmissionId,
    pub(super) candidate: Digest,
    pub(super) work: Work,
    /// Somebody changed the judge's files.
    pub(super) is_tampered: bool,
    pub(super) checks: Vec<Progress>,
}

/// How far one check is.
#[derive(Clone, Default)]
pub(super) struct Progress {
    pub(super) tries: u32,
    pub(super) finding: Option<Finding>,
    /// When a human was asked, in milliseconds since the Unix epoch.
    pub(super) asked_ms: u64,
}

impl Submission {
    pub(super) fn check(&mut self, check: CheckIndex) -> Option<&mut Progress> {
        self.checks.get_mut(check.as_usize())
    }

    /// Takes a finding in. Hooks and humans behind the check saw a claim and findings that are no
    /// longer so, unless the check only said again what it had said.
    pub(super) fn found(
        &mut self,
        decls: &[CheckDecl],
        check: CheckIndex,
        finding: &Finding,
        rewrite: Option<&Rewrite>,
    ) {
        let Some(progress) = self.check(check) else { return };
        let is_news = rewrite.is_some() || progress.finding.as_ref() != Some(finding);
        progress.finding = Some(finding.clone());
        if !is_news {
            return;
        }
        let behind = self.checks.iter_mut().zip(decls).skip(check.as_usize().saturating_add(1));
        for (progress, decl) in behind {
            if matches!(decl.subject, Subject::Hook | Subject::Human) {
                *progress = Progress::default();
            }
        }
    }

    /// Takes in what a human said.
    pub(super) fn said(&mut self, check: CheckIndex, finding: &Finding) {
        if let Some(progress) = self.check(check) {
            progress.finding = Some(finding.clone());
        }
    }
}
