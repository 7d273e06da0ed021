//! The canonical form of a manifest.

use std::collections::BTreeMap;

use probity_core::Digest;
use probity_verifier::{Entry, Kind, Manifest, ManifestError};
use proptest::prelude::*;

use super::World;

pub(super) fn entry() -> impl Strategy<Value = Entry> {
    let digest = any::<u8>().prop_map(|byte| Digest::from_bytes([byte % 4; 32]));
    let kind =
        prop_oneof![Just(Kind::File), Just(Kind::Dir), Just(Kind::Symlink), Just(Kind::Other)];
    (kind, 0_u64..4, prop_oneof![Just(0o644), Just(0o755)], digest, prop::bool::weighted(0.2))
        .prop_map(|(kind, size, mode, digest, unreadable)| {
            let has_content = matches!(kind, Kind::File | Kind::Symlink);
            let unreadable = unreadable && kind != Kind::Other;
            Entry {
                kind,
                size: if has_content { size } else { 0 },
                mode,
                digest: (has_content && !unreadable).then_some(digest),
                unreadable,
            }
        })
}

pub(super) fn manifest() -> impl Strategy<Value = Manifest> {
    let key = prop_oneof![
        "[abc]",
        "[ab]/[abc]",
        "[a-c ]{1,3}",
        Just("\\x0a".to_owned()),
        Just("é".to_owned())
    ];
    prop::collection::btree_map(key, entry(), 0..12)
        .prop_map(|entries: BTreeMap<_, _>| Manifest::from_entries(entries).unwrap())
}

proptest! {
    #[test]
    fn bytes_and_json_read_back_as_they_were(manifest in manifest()) {
        prop_assert_eq!(&Manifest::from_bytes(&manifest.to_bytes()).unwrap(), &manifest);
        let json = serde_json::to_string(&manifest).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Manifest>(&json).unwrap(), &manifest);
    }

    #[test]
    fn equal_manifests_and_only_they_have_equal_digests(a in manifest(), b in manifest()) {
        prop_assert_eq!(a == b, a.digest() == b.digest());
    }

    #[test]
    fn damaged_bytes_never_read_as_another_spelling(
        manifest in manifest(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = manifest.to_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(read) = Manifest::from_bytes(&bytes) {
            prop_assert_eq!(read.to_bytes(), bytes);
        }
    }
}

/// The form that is published: a change here is a change of the format.
#[test]
fn the_canonical_form_is_this_text() {
    let world = World::new();
    world.write("a b", "12345");
    world.link("a b", "l");
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    std::fs::set_permissions(world.path("a b"), mode(0o644)).unwrap();
    std::fs::create_dir(world.path("d")).unwrap();
    std::fs::set_permissions(world.path("d"), mode(0o4755)).unwrap();
    let manifest = world.snapshot();
    let text = "probity manifest 1\n\
        f 0644 5 5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5 a b\n\
        d 4755 0 - d\n\
        l 0777 3 c8687a08aa5d6ed2044328fa6a697ab8e96dc34291e8c2034ae8c38e6fcc6d65 l\n";
    assert_eq!(String::from_utf8(manifest.to_bytes()).unwrap(), text);
    let below: Vec<&str> = manifest.below("d").map(|(key, _)| key).collect();
    assert_eq!(below, ["d"]);
}

#[test]
fn facts_come_first_in_their_own_lines() {
    let facts = [("b", "2"), ("a", "1\t\n\\"), ("empty", "")];
    let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let plain = Manifest::from_bytes(b"probity manifest 1\nd 0755 0 - =\n").unwrap();
    let manifest = plain.clone().with_facts(facts);
    let text = "probity manifest 1\n= a\t1\\x09\\x0a\\\\\n= b\t2\n= empty\t\nd 0755 0 - =\n";
    assert_eq!(String::from_utf8(manifest.to_bytes()).unwrap(), text);
    assert_eq!(Manifest::from_bytes(text.as_bytes()).unwrap(), manifest);
    assert_ne!(manifest.digest(), plain.digest());
    for other in [
        text.replace("= b\t2\n", "= b\t2\n= b\t2\n"),
        text.replace("= a\t1\\x09\\x0a\\\\\n= b\t2\n", "= b\t2\n= a\t1\\x09\\x0a\\\\\n"),
        text.replace("= b\t2\n", "= b 2\n"),
        format!("{text}= c\t3\n"),
    ] {
        assert!(Manifest::from_bytes(other.as_bytes()).is_err(), "{other:?}");
    }
}

#[test]
fn every_other_spelling_is_refused() {
    let digest = "ab".repeat(32);
    let good = format!("probity manifest 1\nf 0644 5 {digest} a\nd 0755 0 - b\n");
    assert!(Manifest::from_bytes(good.as_bytes()).is_ok());
    assert!(Manifest::from_bytes(b"probity manifest 1\n").unwrap().is_empty());
    let line = |line: &str| format!("probity manifest 1\n{line}\n");
    use ManifestError as E;
    for (text, error) in [
        (String::new(), E::Header),
        (good.replace(" 1\n", " 2\n"), E::Header),
        (good.trim_end().to_owned(), E::Truncated),
        ("probity manifest 1".to_owned(), E::Truncated),
        (format!("{good}\n"), E::NotCanonical),
        (good.replace("0644", "644"), E::NotCanonical),
        (good.replace(" 5 ", " 05 "), E::NotCanonical),
        (good.replace(" 5 ", " +5 "), E::NotCanonical),
        (good.replace(&digest, &"AB".repeat(32)), E::Line { number: 2 }),
        (good.replace(&digest, "-"), E::Line { number: 2 }),
        (good.replace("0644", "10644"), E::Line { number: 2 }),
        (good.replace("d 0755", "x 0755"), E::Line { number: 3 }),
        (good.replace("d 0755 0", "d 0755 1"), E::Line { number: 3 }),
        (good.replace(" - b", &format!(" {digest} b")), E::Line { number: 3 }),
        (good.replace(" b\n", " a\n"), E::Order { key: "a".into() }),
        (good.replace(" b\n", " A\n"), E::Order { key: "A".into() }),
        (line("d 0755 0 - "), E::Line { number: 2 }),
        (line("d 0755 0 -"), E::Line { number: 2 }),
        (line("d 0755 0 - /a"), E::Line { number: 2 }),
        (line("d 0755 0 - a/"), E::Line { number: 2 }),
        (line("d 0755 0 - a//b"), E::Line { number: 2 }),
        (line("d 0755 0 - a/../b"), E::Line { number: 2 }),
        (line("d 0755 0 - ."), E::Line { number: 2 }),
        (line("d 0755 0 - a\\"), E::Line { number: 2 }),
        (line("d 0755 0 - \\x41"), E::Line { number: 2 }),
        (line("o 0755 0 ! a"), E::Line { number: 2 }),
    ] {
        assert_eq!(Manifest::from_bytes(text.as_bytes()).unwrap_err(), error, "{text:?}");
    }
    assert_eq!(Manifest::from_bytes(b"\xff").unwrap_err(), E::NotText);
    assert!(
        serde_json::from_str::<Manifest>(r#"{"../a":{"kind":"dir","size":0,"mode":0}}"#).is_err()
    );
    assert!(
        serde_json::from_str::<Manifest>(r#"{"a":{"kind":"file","size":0,"mode":0}}"#).is_err()
    );
}
