//! `agent:MAP`: another delegate that is asked.
//!
//! | Situation | Result |
//! |---|---|
//! | the verifier is called | fault `agent_unasked` |
//!
//! No verifier of this crate knows a delegate: whoever prepares a run puts a critic in this place.
//! Whoever builds the check alone has nobody who could be asked.

use async_trait::async_trait;
use probity_core::{Fault, Verdict};

use crate::spec::AgentSpec;
use crate::{CheckContext, Verifier};

/// The check `agent`.
#[derive(Debug, Clone)]
pub struct Agent {
    spec: AgentSpec,
}

impl Agent {
    /// The check of a spec.
    #[must_use]
    pub const fn new(spec: AgentSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Verifier for Agent {
    async fn verify(&self, _: &CheckContext) -> Result<Verdict, Fault> {
        let message = format!(
            "`{}` was not asked: only a run can ask another delegate; take the check out here",
            self.spec.who()
        );
        Err(Fault::new("agent_unasked", message))
    }
}
