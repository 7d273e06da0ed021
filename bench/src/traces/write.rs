//! The run directories that are audited.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use probity_trace::sample::SampleRun;
use serde::Serialize;
use serde_json::Value;

use crate::error::BenchError;

/// How much there is to audit.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Size {
    pub(super) events: u64,
    pub(super) trace_bytes: u64,
    pub(super) files: u64,
    /// All files together, the trace included.
    pub(super) bytes: u64,
}

/// Writes a run with so many pairs of a gather and a derive step.
pub(super) fn pairs(folder: &Path, pairs: u64) -> Result<(), BenchError> {
    write(folder, &SampleRun { pairs, ..SampleRun::default() })
}

/// Writes a run whose trace has at least so many megabytes.
pub(super) fn big(folder: &Path, megabytes: u64, text_bytes: usize) -> Result<(), BenchError> {
    let one = trace_bytes(&SampleRun { pairs: 2, text_bytes, ..SampleRun::default() });
    let two = trace_bytes(&SampleRun { pairs: 4, text_bytes, ..SampleRun::default() });
    let each = two.saturating_sub(one).max(2) / 2;
    let pairs = (megabytes * 1_000_000).div_ceil(each);
    write(folder, &SampleRun { pairs, text_bytes, ..SampleRun::default() })
}

fn trace_bytes(run: &SampleRun) -> u64 {
    let mut bytes = 0;
    run.write_to(&mut |path, piece| {
        bytes += if path == "trace.jsonl" { piece.len() as u64 } else { 0 };
    });
    bytes
}

fn write(folder: &Path, run: &SampleRun) -> Result<(), BenchError> {
    let mut failed = None;
    let mut open: BTreeMap<String, BufWriter<File>> = BTreeMap::new();
    let mut put = |path: &str, bytes: &[u8]| -> std::io::Result<()> {
        if !open.contains_key(path) {
            // Pieces of one file follow each other.
            for (_, mut file) in std::mem::take(&mut open) {
                file.flush()?;
            }
            let at = folder.join(path);
            fs::create_dir_all(at.parent().unwrap_or(folder))?;
            open.insert(path.to_owned(), BufWriter::new(File::create(at)?));
        }
        open.get_mut(path).map_or(Ok(()), |file| file.write_all(bytes))
    };
    run.write_to(&mut |path, bytes| {
        if failed.is_none() {
            failed = put(path, bytes).err();
        }
    });
    for (_, mut file) in open {
        failed = failed.or_else(|| file.flush().err());
    }
    failed.map_or(Ok(()), |error| Err(BenchError::io("write a run")(error)))
}

/// What a run was asked for, as a name for it.
pub(super) fn constraints(folder: &Path) -> Result<String, BenchError> {
    let text = fs::read(folder.join("spec.json")).map_err(BenchError::io("read a run"))?;
    let spec: Value = serde_json::from_slice(&text).unwrap_or_default();
    let description = spec.get("description").and_then(Value::as_str).unwrap_or_default();
    let top = spec.pointer("/constraints/top_k").and_then(Value::as_u64).unwrap_or_default();
    Ok(format!("{description}, {top}"))
}

impl Size {
    /// Of a run directory.
    pub(super) fn of(folder: &Path) -> Result<Self, BenchError> {
        let failed = BenchError::io("read a run");
        let trace = fs::read(folder.join("trace.jsonl")).map_err(&failed)?;
        let lines = trace.iter().filter(|byte| **byte == b'\n').count() as u64;
        let trace_bytes = trace.len() as u64;
        let mut size = Self { events: lines.saturating_sub(1), trace_bytes, files: 0, bytes: 0 };
        let mut open = vec![folder.to_path_buf()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).map_err(&failed)? {
                let entry = entry.map_err(&failed)?;
                let about = entry.metadata().map_err(&failed)?;
                if about.is_dir() {
                    open.push(entry.path());
                } else {
                    size.files += 1;
                    size.bytes += about.len();
                }
            }
        }
        Ok(size)
    }
}
