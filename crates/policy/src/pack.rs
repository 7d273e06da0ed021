//! The policy pack: rules by decision type, under a hash.

mod hash;
mod rules;

use std::collections::BTreeMap;

use probity_core::{Step, Tier};
use serde::{Deserialize, Serialize};

use crate::schema::{Format, PolicyFinding, PolicyFindings, Schema, read};

pub use hash::pack_hash;

/// A pack whose hash was checked. [`Pack::parse`] is the only way to get one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Pack {
    /// Its name. 1 to 200 characters.
    pub policy_pack_id: String,
    /// Its version. 1 to 100 characters.
    pub version: String,
    /// When it was issued, RFC 3339.
    pub issued_at: String,
    /// Who issued it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Detached signature in base64. Never checked here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Rules by decision type. 1 to 1000.
    pub rules: BTreeMap<String, PackRules>,
    /// Hash of the pack without this member: see [`pack_hash`].
    pub policy_pack_hash: String,
}

/// How a pack is read. Not an implementation of [`Deserialize`] on [`Pack`], which would let one
/// past the check of its hash.
#[derive(Deserialize)]
#[serde(remote = "Pack", rename_all = "camelCase", deny_unknown_fields)]
struct PackText {
    policy_pack_id: String,
    version: String,
    issued_at: String,
    #[serde(default)]
    issuer: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    rules: BTreeMap<String, PackRules>,
    policy_pack_hash: String,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Unchecked(#[serde(with = "PackText")] Pack);

/// What a pack says about one decision type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackRules {
    /// Numbers for envelopes that state none. Every envelope states its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dte_defaults: Option<PackDefaults>,
    /// The only steps that an envelope's ladder may use; empty means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degrade_ladder: Vec<Step>,
    /// What an action of a tier needs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blast_radius_requirements: BTreeMap<Tier, TierRules>,
    /// Verifiers that must run and pass whenever something is acted on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_verifiers: Vec<String>,
    /// The only tools that may be called; absent means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_allowlist: Option<Vec<String>>,
    /// Tools that may not be called, allowed or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_denylist: Vec<String>,
}

/// Numbers for envelopes that state none, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackDefaults {
    /// The deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_window_ms: Option<u64>,
    /// Time to live of features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The oldest feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_feature_age_ms: Option<u64>,
}

/// What an action of a tier needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TierRules {
    /// The result must be verified.
    #[serde(default)]
    pub verification_required: bool,
    /// Who must agree; absent leaves it to the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_mode: Option<AuthorizationMode>,
    /// Two humans must agree. Not supported: such an action is blocked.
    #[serde(default)]
    pub two_person: bool,
}

/// Who must agree to an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorizationMode {
    /// Nobody.
    Auto,
    /// A human.
    Hitl,
    /// It is not done.
    Blocked,
}

impl Pack {
    /// Reads a pack: strict text, the schema, then its hash and rules. There is no way to take a
    /// pack whose hash is missing or wrong.
    ///
    /// # Errors
    /// [`PolicyFindings`] with everything that was found; `pack_hash_missing` and
    /// `pack_hash_mismatch` are the codes of the hash.
    pub fn parse(text: &str, format: Format) -> Result<Self, PolicyFindings> {
        let document = read(text, format)?;
        let mut findings: Vec<PolicyFinding> =
            hash::finding(document.value()).into_iter().collect();
        match document.typed::<Unchecked>(Schema::Pack) {
            Ok(Unchecked(pack)) => {
                findings.extend(pack.findings());
                PolicyFindings::refuse(findings).map(|_| pack)
            }
            Err(refused) => {
                let is_told = |finding: &PolicyFinding| {
                    finding.code == "policy_missing_member" && finding.pointer == "/policyPackHash"
                };
                findings.extend(refused.into_vec().into_iter().filter(|found| !is_told(found)));
                Err(PolicyFindings::refused(findings))
            }
        }
    }

    /// What the rules across fields find: only warnings after [`Pack::parse`].
    #[must_use]
    pub fn findings(&self) -> Vec<PolicyFinding> {
        rules::findings(self)
    }

    /// The rules for a decision type. A type that the pack does not name has no rules to fall back
    /// to: that is an error of the request, never "no rules".
    ///
    /// # Errors
    /// [`PolicyFindings`] with `decision_type_unknown`.
    pub fn rules_for(&self, decision_type: &str) -> Result<&PackRules, PolicyFindings> {
        self.rules.get(decision_type).ok_or_else(|| rules::unknown(self, decision_type).into())
    }
}
