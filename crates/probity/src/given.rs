//! A claim that was made elsewhere, as a delegate that has already answered.

use async_trait::async_trait;
use probity_core::Claim;
use probity_delegate::{Answered, Conversation, Delegate, DelegateError, Request};

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
