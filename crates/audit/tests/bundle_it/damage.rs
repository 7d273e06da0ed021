//! Every kind of damage to every part: never valid, never a panic, always a code.

use probity_report::Verdict;

use crate::container::{BLOCK, Entry, repack, unpack};
use crate::{audit, bundle, codes, sample};

/// What happens to an entry.
const KINDS: [&str; 8] =
    ["drop", "truncate", "flip", "swap", "duplicate", "reorder", "retype", "overlong"];

const PARTS: [&str; 6] = ["manifest", "log", "blob", "schema", "episode", "statement"];

fn place(entries: &[Entry], part: &str) -> usize {
    let is_part = |entry: &Entry| match part {
        "manifest" => entry.name == "manifest.json",
        "log" => entry.name == "log.jsonl",
        "blob" => entry.name.starts_with("blobs/"),
        "schema" => entry.name.starts_with("schemas/"),
        "episode" => entry.name == "episode.json",
        "statement" => entry.name == "statement.dsse.json",
        other => panic!("{other}"),
    };
    entries.iter().position(is_part).unwrap()
}

fn damaged(entries: &[Entry], part: &str, kind: &str) -> Vec<u8> {
    let mut entries = entries.to_vec();
    let at = place(&entries, part);
    let next = (at + 1) % entries.len();
    match kind {
        "drop" => drop(entries.remove(at)),
        "truncate" => {
            let half = entries[at].bytes.len() / 2;
            entries[at].bytes.truncate(half);
        }
        "flip" => {
            let half = entries[at].bytes.len() / 2;
            entries[at].bytes[half] ^= 1;
        }
        // The content of another entry under this one's name, and the reverse.
        "swap" => {
            let other = entries[next].bytes.clone();
            entries[next].bytes = std::mem::replace(&mut entries[at].bytes, other);
        }
        "duplicate" => entries.insert(at, entries[at].clone()),
        "reorder" => entries.swap(at, next),
        "retype" => entries[at].kind = b'2',
        "overlong" => entries[at].bytes.push(b' '),
        other => panic!("{other}"),
    }
    repack(&entries)
}

/// The code that each damage to each part is told by.
const TABLE: [(&str, [&str; 8]); 6] = [
    (
        "manifest",
        [
            "bundle_entry_unlisted",
            "bundle_manifest",
            "bundle_manifest",
            "bundle_manifest",
            "bundle_entry_twice",
            "bundle_entry_unlisted",
            "bundle_entry_type",
            "bundle_manifest",
        ],
    ),
    (
        "log",
        [
            "bundle_entry_order",
            "bundle_entry_size",
            "bundle_entry_digest",
            "bundle_entry_size",
            "bundle_entry_twice",
            "bundle_entry_order",
            "bundle_entry_type",
            "bundle_entry_size",
        ],
    ),
    (
        "blob",
        [
            "bundle_entry_order",
            "bundle_entry_size",
            "bundle_entry_digest",
            "bundle_entry_size",
            "bundle_entry_twice",
            "bundle_entry_order",
            "bundle_entry_type",
            "bundle_entry_size",
        ],
    ),
    (
        "schema",
        [
            "bundle_entry_order",
            "bundle_entry_size",
            "bundle_entry_digest",
            "bundle_entry_size",
            "bundle_entry_twice",
            "bundle_entry_order",
            "bundle_entry_type",
            "bundle_entry_size",
        ],
    ),
    (
        "episode",
        [
            "bundle_entry_order",
            "bundle_entry_size",
            "bundle_entry_digest",
            "bundle_entry_size",
            "bundle_entry_twice",
            "bundle_entry_order",
            "bundle_entry_type",
            "bundle_entry_size",
        ],
    ),
    (
        "statement",
        [
            "bundle_entry_missing",
            "bundle_entry_size",
            "bundle_entry_digest",
            "bundle_manifest",
            "bundle_entry_twice",
            "bundle_entry_unlisted",
            "bundle_entry_type",
            "bundle_entry_size",
        ],
    ),
];

#[test]
fn every_damage_to_every_part_has_its_code() {
    assert!(TABLE.iter().map(|(part, _)| *part).eq(PARTS));
    let whole = bundle(&sample::decision(), None);
    let entries = unpack(&whole);
    for (part, expected) in TABLE {
        for (kind, code) in KINDS.into_iter().zip(expected) {
            let bytes = damaged(&entries, part, kind);
            assert_ne!(bytes, whole, "{kind} of {part} changes something");
            let report = audit(&bytes);
            assert!(report.has(code), "{kind} of {part}: {:?}, not {code}", codes(&report));
            assert!(
                matches!(report.verdict, Verdict::Invalid | Verdict::Malformed),
                "{kind} of {part}: {:?}",
                report.verdict
            );
        }
    }
}

/// The same damage to a header alone.
#[test]
fn every_damage_to_every_header_is_malformed() {
    let whole = bundle(&sample::decision(), None);
    let entries = unpack(&whole);
    for part in PARTS {
        let name = entries[place(&entries, part)].name.clone();
        let start = (0..whole.len())
            .step_by(BLOCK)
            .find(|at| whole[*at..].starts_with(format!("{name}\0").as_bytes()))
            .unwrap();
        let end = start + BLOCK;
        for kind in KINDS {
            let mut bytes = whole.clone();
            match kind {
                "drop" => drop(bytes.drain(start..end)),
                "truncate" => bytes.truncate(start + BLOCK / 2),
                "flip" => bytes[start + 300] ^= 1,
                "swap" => {
                    let (one, two) = bytes.split_at_mut(end);
                    one[start..].swap_with_slice(&mut two[..BLOCK]);
                }
                "duplicate" => drop(bytes.splice(start..start, whole[start..end].to_vec())),
                "reorder" => {
                    bytes.drain(start..end);
                    bytes.extend(&whole[start..end]);
                }
                "retype" => bytes[start + 156] = b'1',
                "overlong" => bytes[start..start + 100].fill(b'a'),
                other => panic!("{other}"),
            }
            let report = audit(&bytes);
            assert_eq!(report.verdict, Verdict::Malformed, "{kind} of the header of {part}");
        }
    }
}

/// A manifest that was made to fit the damage: the digests no longer help, the meaning must.
#[test]
fn a_manifest_made_to_fit_does_not_hide_a_change() {
    let entries = unpack(&bundle(&sample::decision(), None));
    let at = place(&entries, "log");
    let cut = {
        let log = &entries[at].bytes;
        let end = log[..log.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
        log[..=end].to_vec()
    };
    let report = audit(&refitted(&entries, "log.jsonl", &cut));
    assert_ne!(report.verdict, Verdict::Valid);
    assert!(report.has("bundle_manifest_differs"), "{:?}", codes(&report));
    let text = String::from_utf8(entries[place(&entries, "episode")].bytes.clone()).unwrap();
    let other = text.replace("run-card", "run-cart");
    let report = audit(&refitted(&entries, "episode.json", other.as_bytes()));
    for code in ["seal_mismatch", "receipt_differs", "bundle_episode_differs"] {
        assert!(report.has(code), "{code}: {:?}", codes(&report));
    }
    assert!(report.has("bundle_statement_differs"), "{:?}", codes(&report));
    let report = audit(&refitted(&entries, "receipt.json", b"{}"));
    assert!(report.has("bundle_receipt"), "{:?}", codes(&report));
    let report = audit(&refitted(&entries, "statement.dsse.json", b"{}"));
    assert!(report.has("bundle_statement"), "{:?}", codes(&report));
    assert_eq!(report.verdict, Verdict::Malformed);
}

/// Other bytes for an entry, and a manifest that lists them.
pub(crate) fn refitted(entries: &[Entry], name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut entries = entries.to_vec();
    let at = entries.iter().position(|entry| entry.name == name).unwrap();
    entries[at].bytes = bytes.to_vec();
    let mut manifest: serde_json::Value = serde_json::from_slice(&entries[0].bytes).unwrap();
    let digest = probity_record::blob_digest(bytes).to_string();
    let fit = |listed: &mut serde_json::Value| {
        if listed["name"] == name {
            if listed.get("bytes").is_some() {
                listed["bytes"] = bytes.len().into();
            }
            if listed.get("sha256").is_some() {
                listed["sha256"] = digest.clone().into();
            }
        }
    };
    for pointer in ["/proof/files", "/proof/content", "/content"] {
        manifest.pointer_mut(pointer).unwrap().as_array_mut().unwrap().iter_mut().for_each(fit);
    }
    fit(&mut manifest["statement"]);
    entries[0].bytes = probity_record::canonical::to_canonical(&manifest).unwrap();
    repack(&entries)
}

/// Every member of the manifest, left out, nulled, or another.
#[test]
fn every_member_of_the_manifest_counts() {
    let entries = unpack(&bundle(&sample::decision(), None));
    let manifest: serde_json::Value = serde_json::from_slice(&entries[0].bytes).unwrap();
    let mut pointers = Vec::new();
    collect(&manifest, "", &mut pointers);
    assert!(pointers.len() > 60, "{}", pointers.len());
    for pointer in pointers {
        let (above, key) = pointer.rsplit_once('/').unwrap();
        for change in ["drop", "null", "other"] {
            let mut changed = manifest.clone();
            let value = changed.pointer_mut(&pointer).unwrap();
            match change {
                "drop" => match changed.pointer_mut(above).unwrap() {
                    serde_json::Value::Object(object) => drop(object.remove(key)),
                    serde_json::Value::Array(list) => drop(list.remove(key.parse().unwrap())),
                    _ => panic!("{pointer}"),
                },
                "null" => *value = serde_json::Value::Null,
                _ => *value = other(value),
            }
            let mut entries = entries.clone();
            entries[0].bytes = probity_record::canonical::to_canonical(&changed).unwrap();
            let report = audit(&repack(&entries));
            assert_ne!(report.verdict, Verdict::Valid, "{change} of {pointer}");
        }
    }
    let mut changed = manifest;
    changed["extra"] = 1.into();
    let mut entries = entries;
    entries[0].bytes = probity_record::canonical::to_canonical(&changed).unwrap();
    assert!(audit(&repack(&entries)).has("bundle_manifest"));
    changed["format"] = "1.1".into();
    entries[0].bytes = probity_record::canonical::to_canonical(&changed).unwrap();
    assert_eq!(codes(&audit(&repack(&entries))), ["bundle_version"]);
}

fn collect(value: &serde_json::Value, path: &str, pointers: &mut Vec<String>) {
    let children: Vec<(String, &serde_json::Value)> = match value {
        serde_json::Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        serde_json::Value::Array(list) => {
            list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
        }
        _ => vec![],
    };
    for (key, value) in children {
        let path = format!("{path}/{key}");
        collect(value, &path, pointers);
        pointers.push(path);
    }
}

/// Another value of the same kind: as near as can be.
fn other(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Number(number) => (number.as_u64().unwrap() + 1).into(),
        serde_json::Value::String(text) => {
            let last = text.chars().last().unwrap();
            let next = if last == '0' { '1' } else { '0' };
            format!("{}{next}", &text[..text.len() - last.len_utf8()]).into()
        }
        serde_json::Value::Array(_) => serde_json::json!([]),
        _ => serde_json::json!({}),
    }
}
