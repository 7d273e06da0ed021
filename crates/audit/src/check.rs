//! The rules of one episode: by itself, and under its envelope and pack.

mod action;
mod fallback;
mod fresh;
mod reference;
mod timing;
mod verification;

use probity_policy::{Envelope, Pack, PackRules};

use crate::facts::Facts;
use crate::finding::Findings;

/// An episode with what it is held against.
#[derive(Clone, Copy)]
pub(crate) struct Case<'c> {
    pub(crate) facts: Facts<'c>,
    pub(crate) envelope: Option<&'c Envelope>,
    pub(crate) pack: Option<&'c Pack>,
    pub(crate) rules: Option<&'c PackRules>,
}

impl Case<'_> {
    /// Every rule, in a fixed order.
    pub(crate) fn check(&self, findings: &mut Findings) {
        self.references(findings);
        self.times(findings);
        self.budgets(findings);
        self.freshness(findings);
        self.verification(findings);
        self.methods(findings);
        self.actions(findings);
        self.limits(findings);
        self.fallback(findings);
        self.bypass(findings);
    }
}
