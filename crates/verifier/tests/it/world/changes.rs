//! What differs between two manifests: the laws, and the predicates.

use std::collections::BTreeMap;

use globset::{GlobSet, GlobSetBuilder};
use probity_core::Digest;
use probity_verifier::{Changes, Entry, Kind, Manifest, compile_glob};
use proptest::prelude::*;

use super::manifest::manifest;

fn globs(patterns: &[&str]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(compile_glob(pattern).unwrap());
    }
    set.build().unwrap()
}

fn file(content: u8) -> Entry {
    let digest = Some(Digest::from_bytes([content; 32]));
    Entry { kind: Kind::File, size: 1, mode: 0o644, digest, unreadable: false }
}

fn unreadable(kind: Kind, size: u64) -> Entry {
    Entry { kind, size, mode: 0o644, digest: None, unreadable: true }
}

fn dir() -> Entry {
    Entry { kind: Kind::Dir, size: 0, mode: 0o755, digest: None, unreadable: false }
}

fn of(entries: &[(&str, Entry)]) -> Manifest {
    Manifest::from_entries(entries.iter().map(|(key, it)| ((*key).to_owned(), it.clone()))).unwrap()
}

proptest! {
    #[test]
    fn between_equal_manifests_only_the_unreadable_is_left_open(manifest in manifest()) {
        let changes = Changes::between(&manifest, &manifest);
        let unreadable: Vec<&str> =
            manifest.iter().filter(|(_, it)| it.unreadable).map(|(key, _)| key).collect();
        prop_assert_eq!(changes.touched().collect::<Vec<_>>(), unreadable.clone());
        prop_assert_eq!(&changes.undecided, &unreadable);
        prop_assert_eq!(changes.is_empty(), unreadable.is_empty());
    }

    #[test]
    fn applied_to_before_they_give_after(before in manifest(), after in manifest()) {
        let changes = Changes::between(&before, &after);
        let mut applied: BTreeMap<String, Entry> =
            before.iter().map(|(key, it)| (key.to_owned(), it.clone())).collect();
        for key in &changes.deleted {
            prop_assert!(applied.remove(key).is_some());
        }
        for key in changes.created.iter() {
            prop_assert!(applied.insert(key.clone(), after.get(key).unwrap().clone()).is_none());
        }
        for key in changes.modified.iter().chain(&changes.mode_changed).chain(&changes.undecided) {
            prop_assert!(applied.insert(key.clone(), after.get(key).unwrap().clone()).is_some());
        }
        prop_assert_eq!(Manifest::from_entries(applied).unwrap(), after);
    }

    #[test]
    fn the_way_back_is_the_mirror_image(before in manifest(), after in manifest()) {
        let there = Changes::between(&before, &after);
        let back = Changes::between(&after, &before);
        prop_assert_eq!(there.created, back.deleted);
        prop_assert_eq!(there.deleted, back.created);
        prop_assert_eq!(there.modified, back.modified);
        prop_assert_eq!(there.mode_changed, back.mode_changed);
        prop_assert_eq!(there.undecided, back.undecided);
    }

    #[test]
    fn every_key_is_in_one_list_at_most_and_the_lists_are_sorted(before in manifest(), after in manifest()) {
        let changes = Changes::between(&before, &after);
        let mut all: Vec<&str> = changes.touched().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), count);
        for list in [&changes.created, &changes.modified, &changes.deleted, &changes.undecided] {
            prop_assert!(list.is_sorted());
        }
        // Everything is allowed, or nothing.
        prop_assert!(changes.only(&globs(&["**"])));
        prop_assert_eq!(changes.only(&GlobSet::empty()), changes.is_empty());
    }
}

#[test]
fn what_cannot_be_read_is_undecided_unless_its_outside_differs() {
    use Kind::{Dir, File, Symlink};
    let locked = Entry { mode: 0, ..unreadable(File, 1) };
    for (was, is, expected) in [
        (unreadable(File, 1), unreadable(File, 1), "undecided"),
        (unreadable(File, 1), file(1), "undecided"),
        (file(1), locked, "undecided"),
        (file(1), unreadable(File, 2), "modified"),
        (unreadable(Dir, 0), dir(), "undecided"),
        (unreadable(File, 1), dir(), "modified"),
        (unreadable(Symlink, 3), unreadable(Symlink, 3), "undecided"),
    ] {
        let changes = Changes::between(&of(&[("a", was.clone())]), &of(&[("a", is.clone())]));
        let list = if expected == "undecided" { &changes.undecided } else { &changes.modified };
        assert_eq!(list, &["a"], "{was:?} {is:?}");
        assert!(!changes.only(&GlobSet::empty()));
    }
}

#[test]
fn only_allows_the_folders_on_the_way() {
    let before = of(&[("old", dir()), ("old/a", file(1)), ("x", file(1))]);
    let after =
        of(&[("out", dir()), ("out/sub", dir()), ("out/sub/b.txt", file(2)), ("x", file(1))]);
    let changes = Changes::between(&before, &after);
    assert!(changes.only(&globs(&["out/**/*.txt", "old/a"])));
    assert_eq!(changes.outside(&globs(&["out/**/*.txt"])), ["old", "old/a"]);
    assert_eq!(changes.outside(&globs(&["old", "old/**"])), ["out", "out/sub", "out/sub/b.txt"]);
    // An empty folder leads to nothing that is allowed.
    let changes = Changes::between(&of(&[]), &of(&[("out", dir()), ("outer.txt", file(1))]));
    assert_eq!(changes.outside(&globs(&["out/*", "outer.txt"])), ["out"]);
}

#[test]
fn only_sees_permission_bits() {
    let executable = Entry { mode: 0o755, ..file(1) };
    let changes = Changes::between(&of(&[("a", file(1))]), &of(&[("a", executable)]));
    assert_eq!(changes.mode_changed, ["a"]);
    assert!(!changes.changed("a") && !changes.is_empty());
    assert_eq!(changes.outside(&globs(&["b"])), ["a"]);
}

#[test]
fn they_survive_serialisation() {
    let changes = Changes::between(&of(&[("a", file(1))]), &of(&[("a", file(2)), ("b", file(1))]));
    let json = serde_json::to_string(&changes).unwrap();
    assert_eq!(serde_json::from_str::<Changes>(&json).unwrap(), changes);
}
