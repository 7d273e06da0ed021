//! `citations:PATH`: every statement of an answer cites evidence that says so, to the byte. With the
//! target `-` the answer is the claim's response.
//!
//! | Situation | Result |
//! |---|---|
//! | the answer's file does not exist, or is none | revise `citation_answer_missing` |
//! | a statement without a marker, a marker that does not hold, too few pieces of evidence | fail, or revise with the key `revise`: the code of `probity_grounding::Fault` |
//! | neither a statement nor `INSUFFICIENT EVIDENCE` | the same, `citation_no_claim` |
//! | an answer or evidence beyond the bounds | inconclusive `citation_limit` |
//! | evidence that is known and cannot be read | inconclusive `citation_evidence_unreadable` |
//! | the evidence folder is sealed and does not exist | fault `citation_no_evidence` |
//!
//! It looks at the claim, so it takes no part in the red run. The evidence is sealed with the judge:
//! what a delegate could write, it could cite. The audit of a recorded trace holds citations against
//! their evidence by the same code.

use std::borrow::Cow;
use std::path::{Component, Path};
use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Verdict, VerdictKind};
use probity_grounding::{
    AnswerAudit, AnswerPolicy, EvidenceSource, Fault as Wrong, Found, MAX_ANSWER_BYTES,
    MAX_EVIDENCE_BYTES, NoEvidence, Quotes, audit_answer,
};

use super::{blocking, first_words, unanswered};
use crate::hash::digest_of;
use crate::spec::{CitationsSpec, QuoteRule};
use crate::workspace::{Kind, PathError, Workspace};
use crate::{CheckContext, Verifier};

/// Faults that a reason names; the rest is counted.
const MAX_NAMED: usize = 8;
/// Files of the evidence folder in which a misattributed text is looked for.
const MAX_FILES: usize = 10_000;
/// Folders below the evidence folder, one in the other.
const MAX_DEPTH: usize = 8;

/// Where the answer came from and its bytes, or what its absence comes to.
type Answer<'a> = Result<(String, Cow<'a, [u8]>), Verdict>;

/// The effect `citations`.
#[derive(Debug, Clone)]
pub struct Citations {
    spec: Arc<CitationsSpec>,
}

impl Citations {
    /// The effect of a spec.
    #[must_use]
    pub fn new(spec: CitationsSpec) -> Self {
        Self { spec: Arc::new(spec) }
    }

    fn judge(&self, ctx: &CheckContext) -> Result<Result<Verdict, Fault>, PathError> {
        let spec = &self.spec;
        let shelf = Shelf { workspace: &ctx.workspace, folder: &spec.evidence };
        if spec.may_change.is_empty() && !shelf.is_there()? {
            let text = format!("the evidence folder `{}` does not exist", spec.evidence);
            return Ok(Err(Fault::new("citation_no_evidence", text)));
        }
        let (source, bytes) = match self.answer(ctx)? {
            Ok(answer) => answer,
            Err(missing) => return Ok(Ok(missing)),
        };
        let saw = Evidence::new(source, format!("{} bytes", bytes.len()));
        let saw = saw.with_digest(digest_of(&bytes));
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Ok(Ok(self
                .shut("citation_not_utf8", "the answer is not UTF-8")
                .with_evidence(saw)));
        };
        let audit = audit_answer(text, &shelf, self.policy());
        Ok(Ok(self.verdict(text, &audit).with_evidence(saw)))
    }

    fn answer<'a>(&self, ctx: &'a CheckContext) -> Result<Answer<'a>, PathError> {
        let path = &self.spec.path;
        if path == "-" {
            let response = ctx.claim.response.as_bytes();
            return Ok(Ok(("citations:response".to_owned(), Cow::Borrowed(response))));
        }
        Ok(match ctx.workspace.read(path, MAX_ANSWER_BYTES as u64)? {
            Some(bytes) => Ok((format!("citations:{path}"), Cow::Owned(bytes))),
            None => {
                let reason = format!("the answer `{path}` does not exist");
                Err(Verdict::revise("citation_answer_missing", reason))
            }
        })
    }

    fn policy(&self) -> AnswerPolicy {
        AnswerPolicy {
            min_supports: self.spec.min_supports.unwrap_or(1),
            quotes: match self.spec.quotes {
                None | Some(QuoteRule::Exact) => Quotes::Exact,
                Some(QuoteRule::Any) => Quotes::Any,
            },
            allow_insufficient: true,
            allow_marked_insufficient: self.spec.allow_marked_insufficient,
        }
    }

    /// A fault of the answer outweighs what could not be told: it is there whatever the rest holds.
    fn verdict(&self, text: &str, audit: &AnswerAudit) -> Verdict {
        let cannot_tell = |found: &&Found| {
            matches!(found.fault, Wrong::Limit(_) | Wrong::EvidenceUnreadable { .. })
        };
        let wrong: Vec<&Found> = audit.faults.iter().filter(|found| !cannot_tell(found)).collect();
        if let Some(first) = wrong.first() {
            let named: Vec<String> =
                wrong.iter().take(MAX_NAMED).map(|found| told(text, found)).collect();
            let more = audit.faults_total.saturating_sub(named.len() as u64);
            let more = if more == 0 { String::new() } else { format!("; and {more} more") };
            return self.shut(first.fault.code(), &format!("{}{more}", named.join("; ")));
        }
        match audit.faults.first() {
            Some(found) => Verdict::inconclusive(found.fault.code(), told(text, found)),
            None if audit.is_grounded() => Verdict::pass(),
            // Counted and not kept: nothing says that all of them could not be told.
            None => self.shut("citation_limit", "more faults than are kept"),
        }
    }

    fn shut(&self, code: &str, reason: &str) -> Verdict {
        let kind = if self.spec.revise { VerdictKind::Revise } else { VerdictKind::Fail };
        Verdict { kind, ..Verdict::fail(code, reason) }
    }
}

#[async_trait]
impl Verifier for Citations {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let this = self.clone();
        blocking(ctx, move |ctx| match this.judge(ctx) {
            Ok(verdict) => verdict,
            Err(error) => unanswered(&error),
        })
        .await
    }
}

/// A fault as the delegate is told: where, the text there, what is wrong.
fn told(text: &str, found: &Found) -> String {
    let at = &found.at;
    let there = first_words(text.get(at.clone()).unwrap_or_default(), 60);
    format!("bytes {}-{} (`{there}`): {} ({})", at.start, at.end, found.fault, found.fault.code())
}

/// The evidence folder of a workspace.
struct Shelf<'a> {
    workspace: &'a Workspace,
    folder: &'a str,
}

impl Shelf<'_> {
    fn is_there(&self) -> Result<bool, PathError> {
        Ok(self.workspace.stat(self.folder)?.is_some_and(|stat| stat.kind == Kind::Dir))
    }

    /// The path of an id, with `.txt` where only that is there. `None` for an id that is no plain
    /// path below the folder, or names nothing.
    fn path(&self, id: &str) -> Result<Option<String>, PathError> {
        let is_plain = |part: Component| matches!(part, Component::Normal(_));
        if id.is_empty() || id.contains('\0') || !Path::new(id).components().all(is_plain) {
            return Ok(None);
        }
        for path in [format!("{}/{id}", self.folder), format!("{}/{id}.txt", self.folder)] {
            if self.workspace.stat_link(&path)?.is_some_and(|stat| stat.kind == Kind::File) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    fn collect(&self, below: &str, depth: usize, ids: &mut Vec<String>) -> Result<(), PathError> {
        let folder = format!("{}{below}", self.folder);
        for listed in self.workspace.list(&folder, MAX_FILES)?.unwrap_or_default() {
            if ids.len() >= MAX_FILES {
                return Ok(());
            }
            let inside = format!("{below}/{}", listed.name);
            match listed.kind {
                Kind::File => {
                    let id = inside.trim_start_matches('/');
                    ids.push(id.strip_suffix(".txt").unwrap_or(id).to_owned());
                }
                Kind::Dir if depth < MAX_DEPTH => self.collect(&inside, depth + 1, ids)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl EvidenceSource for Shelf<'_> {
    fn content(&self, id: &str) -> Result<Cow<'_, [u8]>, NoEvidence> {
        let unread = |error: PathError| match error {
            PathError::TooLarge { .. } => NoEvidence::TooLarge,
            PathError::Escapes { .. } | PathError::Loop { .. } => NoEvidence::Unknown,
            error => NoEvidence::Unreadable(error.to_string()),
        };
        let path = self.path(id).map_err(unread)?.ok_or(NoEvidence::Unknown)?;
        let bytes = self.workspace.read(&path, MAX_EVIDENCE_BYTES as u64).map_err(unread)?;
        bytes.map(Cow::Owned).ok_or(NoEvidence::Missing)
    }

    fn ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        // What cannot be listed only narrows the search for whom a text should be attributed to.
        let _ = self.collect("", 0, &mut ids);
        ids
    }
}
