//! Names of what belongs to a run. They follow from it, so that a child is never begun twice.

use probity_core::RunId;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::effect::Kin;

/// The namespace of these names: fixed for good.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f0a_4b0e_52c1_5e0e_9b61_1f2d_7c3a_9d04);
/// Characters of a UUID as text.
const UUID_CHARS: usize = 36;

/// The name of the `n`-th run of that kind that a node of `parent` begins: a UUIDv5, behind whatever
/// stands before the last 36 characters of the parent's name (a tenant's mark).
#[must_use]
pub fn child_id(parent: &RunId, node: &str, kind: Kin, n: u64) -> RunId {
    let mut name = Sha256::new();
    for part in [parent.as_str(), node, word(kind)] {
        name.update(part.len().to_be_bytes());
        name.update(part.as_bytes());
    }
    name.update(n.to_be_bytes());
    let id = RunId::from_uuid(Uuid::new_v5(&NAMESPACE, &name.finalize()).as_u128());
    let text = parent.as_str();
    let mark = text.get(..text.len().saturating_sub(UUID_CHARS)).unwrap_or_default();
    format!("{mark}{id}").parse().unwrap_or(id)
}

const fn word(kind: Kin) -> &'static str {
    match kind {
        Kin::Child => "child",
        Kin::Delegation => "delegation",
        Kin::Verification => "verification",
    }
}
