//! The container: what another program makes of it, and what no other program may make it.

use probity_audit::bundle::MAX_ENTRIES;
use probity_report::Verdict;
use serde_json::json;

use crate::{audit, bundle, codes, sample};

/// The size of a block.
pub(crate) const BLOCK: usize = 512;

/// An entry as another program sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: u8,
    pub(crate) bytes: Vec<u8>,
}

/// The entries of a container, by another reader than the one under test.
pub(crate) fn unpack(bundle: &[u8]) -> Vec<Entry> {
    let mut archive = tar::Archive::new(bundle);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        Entry { name, kind: entry.header().entry_type().as_byte(), bytes }
    });
    entries.collect()
}

/// A container by another writer.
pub(crate) fn repack(entries: &[Entry]) -> Vec<u8> {
    let mut bundle = Vec::new();
    for entry in entries {
        bundle.extend(header(&entry.name, entry.kind, entry.bytes.len()));
        bundle.extend(&entry.bytes);
        bundle.resize(bundle.len().next_multiple_of(BLOCK), 0);
    }
    bundle.resize(bundle.len() + 2 * BLOCK, 0);
    bundle
}

/// A header with a right checksum, whatever the name.
fn header(name: &str, kind: u8, len: usize) -> [u8; BLOCK] {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..name.len().min(100)]
        .copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    header.as_ustar_mut().unwrap().typeflag = [kind];
    header.set_size(len as u64);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_device_major(0).unwrap();
    header.set_device_minor(0).unwrap();
    spelled(*header.as_bytes())
}

/// The checksum as POSIX has it: six digits, a zero, a blank.
pub(crate) fn spelled(mut block: [u8; BLOCK]) -> [u8; BLOCK] {
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

#[test]
fn another_program_reads_and_writes_the_same_container() {
    let bytes = bundle(&sample::decision(), None);
    let entries = unpack(&bytes);
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names.first(), Some(&"manifest.json"));
    assert_eq!(names.get(1), Some(&"log.jsonl"));
    assert_eq!(names.last(), Some(&"statement.dsse.json"));
    assert!(names.contains(&"episode.json") && names.contains(&"receipt.json"));
    assert!(entries.iter().all(|entry| entry.kind == b'0'));
    let (files, content): (Vec<&str>, Vec<&str>) = names[1..names.len() - 1]
        .iter()
        .partition(|name| **name == "log.jsonl" || name.starts_with("schemas/"));
    assert!(files.is_sorted() && content.is_sorted());
    assert_eq!([files, content].concat(), names[1..names.len() - 1]);
    assert_eq!(repack(&entries), bytes);
}

/// Every way in which a header can be another one than the format prescribes.
#[test]
fn every_stray_header_is_refused_by_its_own_code() {
    let bytes = bundle(&sample::plain(), None);
    let entries = unpack(&bytes);
    let at = entries.iter().position(|entry| entry.name == "log.jsonl").unwrap();
    let stray = |change: &dyn Fn(&mut Entry)| {
        let mut entries = entries.clone();
        change(&mut entries[at]);
        repack(&entries)
    };
    let kinds = b"123456700xgLKSDMNVA\0";
    for kind in kinds.iter().filter(|kind| **kind != b'0') {
        let report = audit(&stray(&|entry| entry.kind = *kind));
        assert_eq!(codes(&report), ["bundle_entry_type"], "{}", kind.escape_ascii());
        assert_eq!(report.verdict, Verdict::Malformed);
    }
    let names = [
        ("/log.jsonl", "bundle_entry_name"),
        ("../log.jsonl", "bundle_entry_name"),
        ("a/../../log.jsonl", "bundle_entry_name"),
        ("./log.jsonl", "bundle_entry_name"),
        ("log.jsonl/", "bundle_entry_name"),
        ("C:\\log.jsonl", "bundle_entry_name"),
        ("log\u{202e}.jsonl", "bundle_entry_name"),
        ("", "bundle_entry_name"),
        ("log.json", "bundle_entry_unlisted"),
        ("blobs/00", "bundle_entry_unlisted"),
        ("manifest.json", "bundle_entry_twice"),
        ("statement.dsse.json", "bundle_entry_order"),
    ];
    for (name, code) in names {
        let report = audit(&stray(&|entry| name.clone_into(&mut entry.name)));
        assert_eq!(codes(&report), [code], "{name}");
    }
    let report = audit(&stray(&|entry| entry.name = "x".repeat(101)));
    assert_eq!(codes(&report), ["bundle_entry_unlisted"]);
    let report = audit(&stray(&|entry| entry.bytes.push(b'\n')));
    assert_eq!(codes(&report), ["bundle_entry_size"]);
}

/// Fields that a reader of bundles has no use for must still be as prescribed.
#[test]
fn every_field_of_a_header_is_fixed() {
    let bytes = bundle(&sample::plain(), None);
    let start = crate::find(&bytes, "log.jsonl\0").unwrap();
    let fields: [(usize, &[u8], &str); 10] = [
        (100, b"0000755\0", "bundle_header"),
        (108, b"0001750\0", "bundle_header"),
        (116, b"0001750\0", "bundle_header"),
        (136, b"14712345670\0", "bundle_header"),
        (157, b"elsewhere", "bundle_header"),
        (257, b"ustar  \0", "bundle_header"),
        (265, b"root", "bundle_header"),
        (297, b"root", "bundle_header"),
        (345, b"prefix", "bundle_header"),
        (500, b"junk", "bundle_header"),
    ];
    for (at, value, code) in fields {
        let mut changed = bytes.clone();
        let block = &mut changed[start..start + BLOCK];
        block[at..at + value.len()].copy_from_slice(value);
        let right: [u8; BLOCK] = spelled((&*block).try_into().unwrap());
        block.copy_from_slice(&right);
        assert_eq!(codes(&audit(&changed)), [code], "field at {at}");
    }
    // A size in base 256, as GNU writes large ones.
    let mut changed = bytes.clone();
    changed[start + 124] = 0x80;
    assert_eq!(codes(&audit(&changed)), ["bundle_header"]);
}

/// A claim of many bytes costs nothing: the reader takes what is there.
#[test]
fn a_large_claim_is_refused_before_it_is_read() {
    let mut huge = header("manifest.json", b'0', 0);
    huge[124..136].copy_from_slice(b"77777777777\0");
    let report = audit(&spelled(huge));
    assert_eq!(codes(&report), ["bundle_too_large"]);
    assert_eq!(report.verdict, Verdict::LimitExceeded);
    let mut large = header("manifest.json", b'0', 0);
    large[124..136].copy_from_slice(b"00040000000\0");
    assert_eq!(codes(&audit(&spelled(large))), ["bundle_truncated"]);
}

/// One item more than the bound, left out or not.
#[test]
fn too_many_entries_are_not_read() {
    let mut entries = unpack(&bundle(&sample::plain(), None));
    let whole: serde_json::Value = serde_json::from_slice(&entries[0].bytes).unwrap();
    let listed = whole["proof"]["files"].as_array().unwrap().len() + 2;
    let most = MAX_ENTRIES - listed;
    // The blobs of the log are then not those that are listed.
    for (count, code) in [(most, "bundle_entry_unlisted"), (most + 1, "bundle_too_large")] {
        let digests: Vec<String> = (0..count).map(|at| format!("{at:064x}")).collect();
        let mut manifest = whole.clone();
        manifest["proof"]["content"] = digests
            .iter()
            .map(|sha256| json!({ "name": format!("blobs/{sha256}"), "sha256": sha256 }))
            .collect();
        manifest["content"] = digests
            .iter()
            .map(|sha256| json!({ "name": format!("blobs/{sha256}"), "state": "included", "bytes": 0 }))
            .collect();
        entries[0].bytes = probity_record::canonical::to_canonical(&manifest).unwrap();
        let report = audit(&repack(&entries));
        assert_eq!(codes(&report), [code]);
    }
}

#[test]
fn what_is_no_container_is_malformed() {
    for bytes in [&b""[..], b"\0", b"{}", &[0; 512], &[0; 1024], &[0xff; 1024], b"ustar"] {
        let report = audit(bytes);
        assert_eq!(report.verdict, Verdict::Malformed, "{bytes:?}");
    }
}
