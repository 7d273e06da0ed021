//! The hash of a pack.

use probity_record::blob_digest;
use serde_json::Value;

use crate::schema::PolicyFinding;
use crate::sorted_json::{SortedJsonError, python_canonical_without};

const MEMBER: &str = "policyPackHash";

/// The hash of a pack, by the rule of seed 001's system: lower-case hex SHA-256 of the pack's
/// [canonical bytes](crate::sorted_json) without `policyPackHash`.
///
/// # Errors
/// [`SortedJsonError`] when the value has no such bytes.
pub fn pack_hash(pack: &Value) -> Result<String, SortedJsonError> {
    python_canonical_without(pack, MEMBER).map(|bytes| blob_digest(&bytes).to_string())
}

/// Why the pack's hash does not vouch for it, if it does not.
pub(super) fn finding(pack: &Value) -> Option<PolicyFinding> {
    let pointer = "/policyPackHash";
    let Some(stated) = pack.get(MEMBER) else {
        let message = "the pack has no `policyPackHash`; take it from its issuer, with the hash";
        return Some(PolicyFinding::error("pack_hash_missing", pointer, message));
    };
    match pack_hash(pack) {
        Ok(hash) if stated == &Value::String(hash.clone()) => None,
        Ok(hash) => {
            let message = format!(
                "the pack's content has the hash {hash}, not the stated one; take the pack from its \
                 issuer again"
            );
            Some(PolicyFinding::error("pack_hash_mismatch", pointer, message))
        }
        Err(error) => Some(PolicyFinding::error("policy_value", "", error)),
    }
}
