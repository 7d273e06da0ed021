//! Bytes that are held while there is room: what was asked for lately stays longest.

use std::collections::{HashMap, VecDeque};

use crate::identity::Key;

/// What is counted for a piece besides its bytes.
const OVERHEAD_BYTES: usize = 128;

/// Bytes by id, up to a bound on them all.
#[derive(Debug)]
pub(crate) struct Cache {
    held: HashMap<Key, Held>,
    /// In the order in which they may go.
    queue: VecDeque<Key>,
    max_bytes: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Held {
    bytes: Box<[u8]>,
    /// Asked for since it was last next to go: it gets another round.
    is_wanted: bool,
}

impl Cache {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { held: HashMap::new(), queue: VecDeque::new(), max_bytes, bytes: 0 }
    }

    /// Whether a piece of so many bytes is held at all.
    pub(crate) const fn takes(&self, len: usize) -> bool {
        len.saturating_add(OVERHEAD_BYTES) <= self.max_bytes
    }

    /// Holds a piece whose id is not held yet.
    pub(crate) fn insert(&mut self, key: Key, bytes: &[u8]) {
        if !self.takes(bytes.len()) || self.held.contains_key(&key) {
            return;
        }
        self.bytes = self.bytes.saturating_add(cost(bytes));
        self.held.insert(key, Held { bytes: bytes.into(), is_wanted: false });
        self.queue.push_back(key);
        self.make_room();
    }

    /// Whether a piece is held.
    pub(crate) fn contains(&self, key: Key) -> bool {
        self.held.contains_key(&key)
    }

    /// The bytes of a piece, if they are held.
    pub(crate) fn get(&mut self, key: Key) -> Option<&[u8]> {
        let held = self.held.get_mut(&key)?;
        held.is_wanted = true;
        Some(&held.bytes)
    }

    /// Ends: a round takes away every wish, and what is not wished for goes.
    fn make_room(&mut self) {
        while self.bytes > self.max_bytes {
            let Some(key) = self.queue.pop_front() else { return };
            let Some(held) = self.held.get_mut(&key) else { continue };
            if held.is_wanted {
                held.is_wanted = false;
                self.queue.push_back(key);
            } else if let Some(gone) = self.held.remove(&key) {
                self.bytes = self.bytes.saturating_sub(cost(&gone.bytes));
            }
        }
    }
}

const fn cost(bytes: &[u8]) -> usize {
    bytes.len().saturating_add(OVERHEAD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Key {
        Key::of(&n.to_string())
    }

    #[test]
    fn what_is_asked_for_stays_and_the_bound_holds() {
        let mut cache = Cache::new(4 * (OVERHEAD_BYTES + 10));
        for n in 0..100 {
            cache.insert(key(n), &[0; 10]);
            assert!(cache.get(key(0)).is_some(), "{n}");
            assert!(cache.bytes <= cache.max_bytes);
            assert_eq!(cache.held.len(), cache.queue.len());
        }
        assert_eq!(cache.held.len(), 4);
        assert!(cache.get(key(1)).is_none());
        assert!(cache.get(key(99)).is_some());
    }

    #[test]
    fn what_is_too_large_is_not_held() {
        let mut cache = Cache::new(1000);
        cache.insert(key(1), &[0; 100]);
        cache.insert(key(2), &[0; 1000]);
        assert!(cache.get(key(1)).is_some());
        assert!(cache.get(key(2)).is_none());
    }
}
