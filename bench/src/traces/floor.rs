//! The least that any audit of a run does: every file read and hashed once, every line of the trace
//! parsed. On one thread, with the crates that everybody uses.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde::de::IgnoredAny;
use sha2::{Digest as _, Sha256};

use crate::error::BenchError;

/// Reads, hashes and parses a run. Gives a digest over all digests, so that no work can be left out.
pub(super) fn walk(folder: &Path) -> Result<String, BenchError> {
    let mut sum = Sha256::new();
    let mut open = vec![folder.to_path_buf()];
    let mut bytes = Vec::new();
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).map_err(BenchError::io("read a folder"))?;
        for entry in entries {
            let entry = entry.map_err(BenchError::io("read a folder"))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(BenchError::io("read a folder"))?;
            if kind.is_dir() {
                open.push(path);
            } else if entry.file_name() == "trace.jsonl" {
                sum.update(trace(&path)?);
            } else {
                bytes.clear();
                let file = File::open(&path);
                file.and_then(|mut file| file.read_to_end(&mut bytes))
                    .map_err(BenchError::io("read a file"))?;
                sum.update(Sha256::digest(&bytes));
            }
        }
    }
    Ok(hex::encode(sum.finalize()))
}

fn trace(path: &Path) -> Result<[u8; 32], BenchError> {
    let file = File::open(path).map_err(BenchError::io("read the trace"))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut hash = Sha256::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(BenchError::io("read the trace"))?;
        if read == 0 {
            return Ok(hash.finalize().into());
        }
        hash.update(&line);
        let _: IgnoredAny = serde_json::from_slice(&line).map_err(|error| BenchError::Measure {
            what: "the floor",
            detail: error.to_string(),
        })?;
    }
}
