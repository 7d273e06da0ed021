//! Names and secrets that nobody can guess, as an input.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Draws at random.
pub trait Ids: Send + Sync {
    /// 256 bits that nobody can guess.
    fn draw(&self) -> [u8; 32];
}

/// The randomness of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    fn draw(&self) -> [u8; 32] {
        // Of each, 32 bits are drawn anew even where several fall into one millisecond.
        let mut drawn = Sha256::new();
        for _ in 0..8 {
            drawn.update(Uuid::now_v7().as_bytes());
        }
        drawn.finalize().into()
    }
}

/// A UUIDv7 of that moment.
pub(crate) fn uuid_v7(ids: &dyn Ids, now_ms: u64) -> u128 {
    let drawn = ids.draw();
    let mut random = [0; 10];
    random.iter_mut().zip(drawn).for_each(|(to, from)| *to = from);
    uuid::Builder::from_unix_timestamp_millis(now_ms, &random).into_uuid().as_u128()
}
