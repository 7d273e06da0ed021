//! Whose a run is, by its name: a tenant's runs carry its mark, so that no look-up is needed to keep
//! tenants apart.

use probity_core::RunId;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::keys::DEFAULT_TENANT;

/// Hex digits of a mark.
const MARK_CHARS: usize = 12;
/// Characters of a UUID as text.
const UUID_CHARS: usize = 36;
/// The namespace of run ids that follow from an idempotency key: fixed for good.
const KEYED: Uuid = Uuid::from_u128(0x2d5b_8f0c_9a64_5d1e_8c37_40e6_b1a9_5f72);

/// The name of a tenant's run: its mark in front of a UUID.
#[must_use]
pub fn run_id(tenant: &str, uuid: u128) -> RunId {
    let id = RunId::from_uuid(uuid);
    format!("{}-{id}", mark(tenant)).parse().unwrap_or(id)
}

/// The name of the run that a tenant's idempotency key makes at an endpoint: always the same.
#[must_use]
pub fn keyed_run_id(tenant: &str, endpoint: &str, key: &str) -> RunId {
    let mut name = Sha256::new();
    for part in [tenant, endpoint, key] {
        name.update(part.len().to_be_bytes());
        name.update(part.as_bytes());
    }
    run_id(tenant, Uuid::new_v5(&KEYED, &name.finalize()).as_u128())
}

/// Whether a run is that tenant's. One without a mark is the tenant's `default`.
#[must_use]
pub fn owns(tenant: &str, run: &RunId) -> bool {
    marked(run).map_or(tenant == DEFAULT_TENANT, |found| found == mark(tenant))
}

fn mark(tenant: &str) -> String {
    let mut text = hex::encode(Sha256::digest(tenant.as_bytes()));
    text.truncate(MARK_CHARS);
    text
}

fn marked(run: &RunId) -> Option<&str> {
    let text = run.as_str();
    let (mark, id) = text.split_once('-')?;
    let is_mark = mark.len() == MARK_CHARS
        && mark.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    (is_mark && id.len() == UUID_CHARS && Uuid::try_parse(id).is_ok()).then_some(mark)
}
