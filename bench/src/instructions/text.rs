//! What is told to a delegate, and what is seen of its work.

use std::hint::black_box;

use probity::core::{Code, Digest, Told, VerdictKind, feedback};
use probity::grounding::{AnswerPolicy, MemoryEvidence, audit_answer, cite};
use probity::verifier::{Changes, Entry, Kind, Manifest};

use super::{Work, wrong};
use crate::error::BenchError;

const FILES: u32 = 1000;

pub(super) fn correction() -> Result<Work, BenchError> {
    let checks: Vec<Code> = (0..5).map(|n| Code::slug(&format!("check_{n}"))).collect();
    let word = Code::slug("file_missing");
    let reason =
        "file `out.txt` does not exist; <b>said</b> the \u{1b}[1mtest\u{1b}[0m\n".repeat(4);
    Ok(Box::new(move || {
        let told = |check| Told {
            check,
            verdict: VerdictKind::Revise,
            code: &word,
            reason: black_box(&reason),
        };
        let told: Vec<Told<'_>> = checks.iter().map(told).collect();
        if black_box(feedback(2, 3, &told)).is_empty() { Err(wrong("no text")) } else { Ok(()) }
    }))
}

/// Eight claims, each the words of another place of one of four sources of 4 KiB.
pub(super) fn citations() -> Result<Work, BenchError> {
    let mut source = MemoryEvidence::default();
    let mut answer = String::new();
    for number in 0..8_usize {
        let id = format!("source-{}", number % 4);
        let line = format!("The tide of day {} rose by more than was told. ", number % 4);
        let text = line.repeat(4096 / line.len()).into_bytes();
        let start = number * line.len();
        let bytes = start..start + line.len() - 1;
        answer.push_str(&cite(&id, &text, bytes).map_err(wrong)?);
        answer.push('\n');
        source.contents.insert(id, Some(text));
    }
    Ok(Box::new(move || {
        let audit = audit_answer(black_box(&answer), &source, AnswerPolicy::default());
        match audit.is_grounded() && audit.markers == 8 {
            true => Ok(()),
            false => Err(wrong(format!("the answer is {audit:?}"))),
        }
    }))
}

pub(super) fn manifest() -> Result<Work, BenchError> {
    let manifest = snapshot(0)?;
    Ok(Box::new(move || {
        black_box(black_box(&manifest).digest());
        Ok(())
    }))
}

pub(super) fn changes() -> Result<Work, BenchError> {
    let (before, after) = (snapshot(0)?, snapshot(10)?);
    Ok(Box::new(move || {
        let changes = Changes::between(black_box(&before), black_box(&after));
        if changes.modified.len() == 100 { Ok(()) } else { Err(wrong("other changes")) }
    }))
}

/// Every so many-th file is another one.
fn snapshot(every: u32) -> Result<Manifest, BenchError> {
    let entry = |number: u32| {
        let is_other = number.checked_rem(every) == Some(0);
        let low = u8::try_from(number % 251).unwrap_or_default();
        let entry = Entry {
            kind: Kind::File,
            size: u64::from(number) + u64::from(is_other),
            mode: 0o644,
            digest: Some(Digest::from_bytes([if is_other { 255 } else { low }; 32])),
            unreadable: false,
        };
        (format!("src/module_{}/file_{number}.rs", number % 17), entry)
    };
    Manifest::from_entries((0..FILES).map(entry)).map_err(wrong)
}
