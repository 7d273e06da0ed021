//! `text:`: the claim's response.
//!
//! | Situation | Result |
//! |---|---|
//! | a text does not occur, a pattern does not match | revise `text_content` |
//!
//! It looks at the claim, not at the world, so it takes no part in the red run.

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Verdict};

use super::content::{Content, Words};
use super::tally::Tally;
use crate::hash::digest_of;
use crate::spec::{SpecError, TextSpec};
use crate::{CheckContext, Verifier};

const WORDS: Words = Words { contains: "contains", matches: "matches", code: "text_content" };

/// The effect `text`.
#[derive(Debug)]
pub struct Text {
    content: Content,
}

impl Text {
    /// The effect of a spec.
    ///
    /// # Errors
    /// [`SpecError::Regex`] when a pattern does not compile.
    pub fn new(spec: TextSpec) -> Result<Self, SpecError> {
        Ok(Self { content: Content::new(WORDS, &spec.contains, &spec.matches)? })
    }
}

#[async_trait]
impl Verifier for Text {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let response = ctx.claim.response.as_bytes();
        let mut tally = Tally::default();
        self.content.judge("the response", &[response], true, &mut tally);
        let evidence = Evidence::new("text:response", format!("{} bytes", response.len()));
        tally.saw(evidence.with_digest(digest_of(response)));
        Ok(tally.verdict())
    }
}
