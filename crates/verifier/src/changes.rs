//! What differs between two manifests.

use std::cmp::Ordering;

use globset::GlobSet;
use serde::{Deserialize, Serialize};

use crate::manifest::{Entry, Manifest};
use crate::workspace::Kind;

/// The difference between two manifests of one workspace, as five lists of keys, each sorted, no key
/// in two of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// There now, not before.
    pub created: Vec<String>,
    /// Another content, another link target, or another kind of thing under the same name.
    pub modified: Vec<String>,
    /// There before, not now.
    pub deleted: Vec<String>,
    /// The same content with other permission bits.
    pub mode_changed: Vec<String>,
    /// The same on the outside, but unreadable before or now: whether the content changed cannot be
    /// told. For a directory that goes for everything below it.
    pub undecided: Vec<String>,
}

impl Changes {
    /// The way from `before` to `after`.
    #[must_use]
    pub fn between(before: &Manifest, after: &Manifest) -> Self {
        let mut changes = Self::default();
        let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return changes,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((was, _)), Some((is, _))) => was.cmp(is),
            };
            let was = if order.is_le() { old.next() } else { None };
            let is = if order.is_ge() { new.next() } else { None };
            match (was, is) {
                (Some((key, _)), None) => changes.deleted.push(key.to_owned()),
                (None, Some((key, _))) => changes.created.push(key.to_owned()),
                (Some((key, was)), Some((_, is))) => changes.compare(key, was, is),
                (None, None) => {}
            }
        }
    }

    /// Whether nothing differs and nothing is undecided.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.touched().next().is_none()
    }

    /// Whether `key` is there now and was not before.
    #[must_use]
    pub fn created(&self, key: &str) -> bool {
        holds(&self.created, key)
    }

    /// Whether content or kind at `key` is another than before, it having been there.
    #[must_use]
    pub fn modified(&self, key: &str) -> bool {
        holds(&self.modified, key)
    }

    /// Whether `key` was there before and is not now.
    #[must_use]
    pub fn deleted(&self, key: &str) -> bool {
        holds(&self.deleted, key)
    }

    /// Whether `key` is there now with content it did not have before: created or modified. Other
    /// permission bits alone are no change of content.
    #[must_use]
    pub fn changed(&self, key: &str) -> bool {
        self.created(key) || self.modified(key)
    }

    /// Whether everything that differs, permission bits included, and everything undecided matches
    /// `allowed`. A created or deleted directory needs no match of its own when something created
    /// or deleted below it has one.
    #[must_use]
    pub fn only(&self, allowed: &GlobSet) -> bool {
        self.outside(allowed).is_empty()
    }

    /// The keys that stand in the way of [`Changes::only`], sorted.
    #[must_use]
    pub fn outside(&self, allowed: &GlobSet) -> Vec<&str> {
        let mut keys: Vec<&str> = self
            .touched()
            .filter(|key| !allowed.is_match(key))
            .filter(|key| !leads_to_allowed(&self.created, key, allowed))
            .filter(|key| !leads_to_allowed(&self.deleted, key, allowed))
            .collect();
        keys.sort_unstable();
        keys
    }

    /// Every key in any of the lists, list by list.
    pub fn touched(&self) -> impl Iterator<Item = &str> {
        [&self.created, &self.modified, &self.deleted, &self.mode_changed, &self.undecided]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    fn compare(&mut self, key: &str, was: &Entry, is: &Entry) {
        let list = if was.kind != is.kind {
            &mut self.modified
        } else if was.unreadable || is.unreadable {
            // A size is told without reading.
            match was.kind {
                Kind::File if was.size != is.size => &mut self.modified,
                _ => &mut self.undecided,
            }
        } else if (was.digest, was.size) != (is.digest, is.size) {
            &mut self.modified
        } else if was.mode != is.mode {
            &mut self.mode_changed
        } else {
            return;
        };
        list.push(key.to_owned());
    }
}

fn holds(sorted: &[String], key: &str) -> bool {
    sorted.binary_search_by(|entry| entry.as_str().cmp(key)).is_ok()
}

/// Whether `key` stands in `sorted` as a folder on the way to an allowed entry of the same list.
fn leads_to_allowed(sorted: &[String], key: &str, allowed: &GlobSet) -> bool {
    let prefix = format!("{key}/");
    holds(sorted, key) && {
        let from = sorted.partition_point(|entry| entry.as_str() < prefix.as_str());
        sorted
            .iter()
            .skip(from)
            .take_while(|entry| entry.starts_with(&prefix))
            .any(|entry| allowed.is_match(entry))
    }
}
