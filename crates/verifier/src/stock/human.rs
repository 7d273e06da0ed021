//! `human:WHO`: a person who is asked.
//!
//! | Situation | Result |
//! |---|---|
//! | the verifier is called | fault `human_unasked` |
//!
//! A run asks people by itself, once everything else has passed, and waits for the answer; it never
//! calls the verifier. Whoever does has nobody who could ask.

use async_trait::async_trait;
use probity_core::{Fault, Verdict};

use crate::spec::HumanSpec;
use crate::{CheckContext, Verifier};

/// The check `human`.
#[derive(Debug, Clone)]
pub struct Human {
    spec: HumanSpec,
}

impl Human {
    /// The check of a spec.
    #[must_use]
    pub const fn new(spec: HumanSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Verifier for Human {
    async fn verify(&self, _: &CheckContext) -> Result<Verdict, Fault> {
        let message = format!(
            "`{}` was not asked: only a run can ask a person; take the check out here",
            self.spec.who
        );
        Err(Fault::new("human_unasked", message))
    }
}
