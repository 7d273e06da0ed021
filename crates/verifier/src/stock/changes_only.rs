//! `changes_only:GLOB[,GLOB]...`: nothing differs from before the run but what a glob matches.
//!
//! | Situation | Result |
//! |---|---|
//! | a path outside the globs was created, deleted, or got other content, kind or permission bits | revise `changes_outside` |
//! | the only paths outside could not be read, so a change cannot be told | inconclusive `changes_undecided` |
//! | no globs (`changes_only:none`), and anything differs | revise `changes_outside` |
//!
//! It looks at the two snapshots: what they leave out is not seen. Before the delegate nothing
//! differs, so the check passes there and is reported as one that proves nothing by itself, which is
//! so: a delegate that does nothing passes it.

use async_trait::async_trait;
use globset::{GlobSet, GlobSetBuilder};
use probity_core::{Evidence, Fault, Verdict};

use super::first_words;
use super::tally::Tally;
use crate::spec::{ChangesOnlySpec, SpecError};
use crate::workspace::compile_glob;
use crate::{CheckContext, Verifier};

/// Paths that a reason names.
const MAX_NAMED: usize = 10;

/// The effect `changes_only`.
#[derive(Debug)]
pub struct ChangesOnly {
    allowed: GlobSet,
}

impl ChangesOnly {
    /// The effect of a spec.
    ///
    /// # Errors
    /// [`SpecError::Glob`] when a glob does not compile.
    pub fn new(spec: &ChangesOnlySpec) -> Result<Self, SpecError> {
        let bad = |detail: String| SpecError::Glob { key: "changes_only", detail };
        let mut set = GlobSetBuilder::new();
        for glob in &spec.globs {
            set.add(compile_glob(glob).map_err(|error| bad(error.to_string()))?);
        }
        let allowed = set.build().map_err(|error| bad(error.to_string()))?;
        Ok(Self { allowed })
    }
}

#[async_trait]
impl Verifier for ChangesOnly {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let changes = ctx.changes();
        let outside = changes.outside(&self.allowed);
        let (open, certain): (Vec<&str>, Vec<&str>) = outside
            .into_iter()
            .partition(|key| changes.undecided.binary_search_by(|it| it.as_str().cmp(key)).is_ok());
        let mut tally = Tally::default();
        let touched = changes.touched().count();
        tally.saw(
            Evidence::new(
                "changes:workspace",
                format!("{touched} touched, {} outside", certain.len()),
            )
            .with_digest(ctx.after.digest()),
        );
        if !certain.is_empty() {
            let reason = format!("changed outside what may change: {}", named(&certain));
            tally.miss("changes_outside", reason);
        }
        if !open.is_empty() {
            let reason = format!("not readable, so a change cannot be told: {}", named(&open));
            tally.cannot_tell("changes_undecided", reason);
        }
        Ok(tally.verdict())
    }
}

fn named(keys: &[&str]) -> String {
    let mut text = keys
        .iter()
        .take(MAX_NAMED)
        .map(|key| format!("`{}`", first_words(key, 120)))
        .collect::<Vec<_>>()
        .join(", ");
    if let Some(more) = keys.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
