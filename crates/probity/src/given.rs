//! A claim that was made elsewhere, as a delegate that has already answered.

use async_trait::async_trait;
use probity_core::Claim;
use probity_delegate::{Answered, Conversation, Delegate, DelegateError, Request};
use probity_verifier::spec::CheckSpec;

/// A delegate that has already answered.
pub(crate) struct GivenClaim {
    pub(crate) claim: Claim,
}

#[async_trait]
impl Delegate for GivenClaim {
    async fn attempt(&self, _: &Request) -> Result<Answered, DelegateError> {
        Ok(Answered::of(self.claim.clone()))
    }

    fn conversation(&self) -> Conversation {
        Conversation::Fresh
    }

    fn describe(&self) -> String {
        "a claim that was given".to_owned()
    }
}

/// Whether a check compares with the workspace as it was before the work. Where nobody looked then, it would
/// always pass, or never.
pub(crate) fn compares(check: &CheckSpec) -> bool {
    check.compared_path().is_some() || check.kind() == "changes_only" || check.needs_git_baseline()
}
