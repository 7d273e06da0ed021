//! Eight kinds of damage to seven parts of a run: each is found, and named.

use probity_trace::{FileKind, TraceAuditor, Verdict};
use serde_json::Value;

use crate::mutation::{CLAIM, Run};

/// What is done to a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Drop,
    Truncate,
    Flip,
    Swap,
    Duplicate,
    Reorder,
    Retype,
    Overlong,
}

/// What it is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Header,
    Event,
    Evidence,
    Seal,
    Plan,
    Meta,
    Provenance,
}

use Damage::{Drop, Duplicate, Flip, Overlong, Reorder, Retype, Swap, Truncate};
use Part::{Event, Evidence, Header, Meta, Plan, Provenance, Seal};

/// Damage, part, and the code of what is found.
const TABLE: [(Damage, Part, &str); 56] = [
    (Drop, Header, "trace_header_missing"),
    (Drop, Event, "trace_idx"),
    (Drop, Evidence, "trace_evidence_missing"),
    (Drop, Seal, "trace_seal_missing"),
    (Drop, Plan, "trace_unreadable"),
    (Drop, Meta, "trace_seal_missing"),
    (Drop, Provenance, "trace_provenance_missing"),
    (Truncate, Header, "trace_syntax"),
    (Truncate, Event, "trace_syntax"),
    (Truncate, Evidence, "trace_evidence_length"),
    (Truncate, Seal, "trace_document_json"),
    (Truncate, Plan, "trace_plan_json"),
    (Truncate, Meta, "trace_document_json"),
    (Truncate, Provenance, "trace_chunk_left_out"),
    (Flip, Header, "trace_id_trace"),
    (Flip, Event, "trace_id_claim"),
    (Flip, Evidence, "trace_evidence_sha256"),
    (Flip, Seal, "trace_manifest_hash"),
    (Flip, Plan, "trace_id_plan"),
    (Flip, Meta, "trace_run_meta_differs"),
    (Flip, Provenance, "trace_provenance_sha256"),
    (Swap, Header, "trace_header_missing"),
    (Swap, Event, "trace_idx"),
    (Swap, Evidence, "trace_evidence_sha256"),
    (Swap, Seal, "trace_manifest_hash"),
    (Swap, Plan, "trace_header_plan_id"),
    (Swap, Meta, "trace_run_meta_differs"),
    (Swap, Provenance, "trace_chunk_order"),
    (Duplicate, Header, "trace_header_misplaced"),
    (Duplicate, Event, "trace_claim_twice"),
    (Duplicate, Evidence, "trace_file_unlisted"),
    (Duplicate, Seal, "trace_document_key_twice"),
    (Duplicate, Plan, "trace_plan_key_twice"),
    (Duplicate, Meta, "trace_document_key_twice"),
    (Duplicate, Provenance, "trace_chunk_order"),
    (Reorder, Header, "trace_not_canonical"),
    (Reorder, Event, "trace_not_canonical"),
    (Reorder, Evidence, "trace_evidence_sha256"),
    (Reorder, Seal, "trace_document_uncanonical"),
    (Reorder, Plan, "trace_plan_uncanonical"),
    (Reorder, Meta, "trace_document_uncanonical"),
    (Reorder, Provenance, "trace_document_uncanonical"),
    (Retype, Header, "trace_type"),
    (Retype, Event, "trace_type"),
    (Retype, Evidence, "trace_evidence_not_a_file"),
    (Retype, Seal, "trace_document_type"),
    (Retype, Plan, "trace_plan_type"),
    (Retype, Meta, "trace_document_type"),
    (Retype, Provenance, "trace_document_type"),
    (Overlong, Header, "trace_too_deep"),
    (Overlong, Event, "trace_number"),
    (Overlong, Evidence, "trace_evidence_length"),
    (Overlong, Seal, "trace_fingerprint"),
    (Overlong, Plan, "trace_plan_limit"),
    (Overlong, Meta, "trace_document_limit"),
    (Overlong, Provenance, "trace_document_limit"),
];

const DEEP: usize = 1000;
const CHUNKS: &str = "provenance/chunks.jsonl";

fn file_of(part: Part) -> &'static str {
    match part {
        Header | Event | Evidence => "trace.jsonl",
        Seal => "manifest.json",
        Plan => "plan.json",
        Meta => "run_meta.json",
        Provenance => CHUNKS,
    }
}

/// The line of its file that a part is.
fn line_of(part: Part) -> usize {
    if part == Event { CLAIM + 1 } else { 0 }
}

fn damage(run: &mut Run, damage: Damage, part: Part) {
    let file = file_of(part);
    match (damage, part) {
        (_, Evidence) => damage_evidence(run, damage),
        (Drop, Header | Event) => lines(run, file, |lines| drop(lines.remove(line_of(part)))),
        (Drop, _) => drop(run.files.files.remove(file)),
        (Truncate, Header | Event) => lines(run, file, |lines| {
            let line = &mut lines[line_of(part)];
            line.truncate(line.len() / 2);
        }),
        (Truncate, _) => run.rewrite(file, |text| text[..text.len() / 2].to_owned()),
        (Flip, _) => flip(run, part),
        (Swap, Header | Event | Provenance) => {
            let at = line_of(part);
            lines(run, file, |lines| lines.swap(at, at + 1));
        }
        (Swap, _) => swap(run, part),
        (Duplicate, Header | Event | Provenance) => {
            let at = line_of(part);
            lines(run, file, |lines| lines.insert(at, lines[at].clone()));
        }
        (Duplicate, _) => run.rewrite(file, |text| {
            let end = text.find(',').expect("members");
            format!("{{{},{}", &text[1..end], &text[1..])
        }),
        (Reorder, _) => lines(run, file, |lines| {
            let line = &mut lines[line_of(part)];
            *line = line.replacen(':', ": ", 1);
        }),
        (Retype, Header | Event) => {
            lines(run, file, |lines| lines[line_of(part)] = "[]".to_owned())
        }
        (Retype, Provenance) => lines(run, file, |lines| lines[0] = "[]".to_owned()),
        (Retype, _) => run.put(file, "[]\n"),
        (Overlong, Event) => run.swap("\"confidence\":0.7", "\"confidence\":1e999"),
        (Overlong, Seal) => run.put("fingerprint.txt", "0".repeat(65)),
        (Overlong, _) => lines(run, file, |lines| {
            let deep = format!("{{\"a\":{}{},", "[".repeat(DEEP), "]".repeat(DEEP));
            lines[0] = lines[0].replacen('{', &deep, 1);
        }),
    }
}

fn damage_evidence(run: &mut Run, damage: Damage) {
    let path = run.evidence_path();
    let bytes = run.files.files[&path].clone();
    match damage {
        Drop => drop(run.files.files.remove(&path)),
        Truncate => run.put(&path, &bytes[..bytes.len() / 2]),
        Flip => run.put(&path, [&[bytes[0] ^ 1], &bytes[1..]].concat()),
        Swap => {
            let other =
                run.files.files.keys().find(|file| file.starts_with("evidence/") && **file != path);
            let other = other.expect("two pieces").clone();
            let theirs = run.files.files[&other].clone();
            run.put(&other, bytes);
            run.put(&path, theirs);
        }
        Duplicate => run.put("evidence/again.txt", bytes),
        Reorder => run.put(&path, bytes.iter().rev().copied().collect::<Vec<u8>>()),
        Retype => {
            run.files.files.remove(&path);
            run.files.others.insert(path, FileKind::Special);
        }
        Overlong => run.put(&path, bytes.repeat(3)),
    }
}

/// One letter of a text, so that it is another one that may stand there.
fn flip(run: &mut Run, part: Part) {
    match part {
        Header => run.header(|header| {
            header["metadata"]["reasoning_trace"]["question"] = "Does basalt float!".into();
        }),
        Event => run.claim(|claim| claim["confidence"] = 0.75.into()),
        Seal => run.json("manifest.json", |manifest| {
            let digest = manifest["plan.json"].as_str().expect("a hash");
            let first = if digest.starts_with('0') { "1" } else { "0" };
            manifest["plan.json"] = format!("{first}{}", &digest[1..]).into();
        }),
        Plan => run.json("plan.json", |plan| plan["problem"] = "Does basalt float!".into()),
        Meta => run.json("run_meta.json", |meta| meta["runtime"]["mode"] = "lire".into()),
        _ => run.rewrite("provenance/corpus.jsonl", |text| text.replacen("stones", "stanes", 1)),
    }
}

/// The file of another run.
fn swap(run: &mut Run, part: Part) {
    let other = Run::of(&probity_trace::sample::SampleRun::default());
    let file = file_of(part);
    run.put(file, other.text(file));
}

fn lines(run: &mut Run, file: &str, change: impl FnOnce(&mut Vec<String>)) {
    run.rewrite(file, |text| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        lines.iter().map(|line| format!("{line}\n")).collect()
    });
}

#[test]
fn every_damage_is_found_and_named() {
    let mut misses = Vec::new();
    for (kind, part, code) in TABLE {
        let mut run = Run::new();
        damage(&mut run, kind, part);
        let report = run.audit();
        if report.verdict == Verdict::Valid || !report.has(code) {
            let codes: Vec<&str> = report.failures.iter().map(|failure| failure.code).collect();
            misses.push(format!("{kind:?} {part:?}: not {code}: {:?} {codes:?}", report.verdict));
        }
    }
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

#[test]
fn the_table_is_whole() {
    let damages = [Drop, Truncate, Flip, Swap, Duplicate, Reorder, Retype, Overlong];
    let parts = [Header, Event, Evidence, Seal, Plan, Meta, Provenance];
    for damage in damages {
        for part in parts {
            let rows = TABLE.iter().filter(|(kind, of, _)| (*kind, *of) == (damage, part));
            assert_eq!(rows.count(), 1, "{damage:?} {part:?}");
        }
    }
}

/// One bit at a time, in every file: no byte of a sealed run is free.
#[test]
fn no_bit_is_free() {
    let run = Run::new();
    let auditor = TraceAuditor::default();
    let mut misses = Vec::new();
    for (path, bytes) in &run.files.files {
        // Every byte of a small file, and a spread over a large one.
        let step = (bytes.len() / 97).max(1);
        for at in (0..bytes.len()).step_by(step) {
            let mut files = run.files.clone();
            files.files.get_mut(path).expect("a file")[at] ^= 1 << (at % 8);
            if auditor.audit(&files, "a run").verdict == Verdict::Valid {
                misses.push(format!("{path} {at}"));
            }
        }
    }
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

/// What was written behind the seal is told and accepted; everything else is not.
#[test]
fn what_comes_behind_the_seal_is_told() {
    for (path, verdict, code) in [
        ("verify.verify.json", Verdict::Valid, "trace_file_after_seal"),
        ("replay/trace.jsonl", Verdict::Valid, "trace_file_after_seal"),
        ("replay.txt", Verdict::Invalid, "trace_file_unlisted"),
        ("manifest.json.bak", Verdict::Invalid, "trace_file_unlisted"),
        ("evidence/x/y.txt", Verdict::Invalid, "trace_file_unlisted"),
    ] {
        let mut run = Run::new();
        run.put(path, "{}\n");
        let report = run.audit();
        assert_eq!(report.verdict, verdict, "{path}");
        assert!(report.has(code), "{path}");
    }
    for (path, kind, verdict) in [
        ("replay", FileKind::Link, Verdict::Invalid),
        ("else", FileKind::Link, Verdict::Invalid),
        ("else", FileKind::Special, Verdict::Invalid),
        ("else", FileKind::Folder, Verdict::Invalid),
        ("evidence", FileKind::Folder, Verdict::Valid),
        ("provenance/index", FileKind::Folder, Verdict::Valid),
        ("replay/a", FileKind::Folder, Verdict::Valid),
    ] {
        let mut run = Run::new();
        run.files.others.insert(path.to_owned(), kind);
        assert_eq!(run.audit().verdict, verdict, "{path} {kind:?}");
    }
}

/// A run without the report of the source system is a run; one that says it failed is told.
#[test]
fn the_report_of_the_source_system_proves_nothing() {
    let mut run = Run::new();
    run.files.files.remove("verify.json");
    probity_trace::sample::reseal(&mut run.files);
    assert_eq!(run.audit().verdict, Verdict::Valid);
    let mut run = Run::new();
    run.json("verify.json", |report| {
        report["checks"][9]["passed"] = false.into();
        report["failures"] = serde_json::json!([
            {"invariant_id": null, "message": "m", "severity": "error"}
        ]);
        report["summary_metrics"] =
            serde_json::json!({"checks_failed": 1.0, "checks_total": 10.0, "failures": 1.0});
        let named: Value =
            serde_json::json!({"checks": report["checks"], "failures": report["failures"]});
        let text = probity_trace::sample::canonical(&named);
        report["id"] = probity_trace::sample::sha256(text.as_bytes()).into();
    });
    probity_trace::sample::reseal(&mut run.files);
    let report = run.audit();
    assert_eq!(report.verdict, Verdict::Valid, "{:?}", report.failures);
    assert!(report.has("trace_report_failed"));
}
