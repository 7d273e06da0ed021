//! A run of the matrix as a file: one line for each row, so that what is quoted elsewhere can be held
//! against it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::BenchError;
use crate::matrix::{Matrix, Word};

/// One row, and what everyone said about it: lie, twin.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    row: String,
    class: String,
    probity: [String; 2],
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    peers: BTreeMap<String, Said>,
}

/// A peer's own words, and what they mean.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    said: [String; 2],
    means: [Word; 2],
}

/// Counts over the lines.
#[derive(Default)]
struct Count {
    rows: usize,
    done: usize,
    not_done: usize,
    silent: usize,
    refused: usize,
}

/// Writes a matrix: the summary, then the rows.
pub(crate) fn write(matrix: &Matrix, path: &Path) -> Result<(), BenchError> {
    let failed = BenchError::io("write the record");
    let mut bytes = Vec::new();
    let mut line = |value: Value| writeln!(bytes, "{value}").map_err(&failed);
    line(serde_json::json!({"summary": matrix.summary, "skipped": matrix.skipped}))?;
    let mut written = std::collections::BTreeSet::new();
    for pair in &matrix.lies {
        if !written.insert(pair.name) {
            continue;
        }
        let of_row = matrix.peers.iter().filter(|beside| beside.name == pair.name);
        let peers = of_row.map(|beside| {
            let said = [beside.lie.clone(), beside.twin.clone()];
            (beside.peer.clone(), Said { said, means: beside.words })
        });
        let row = Line {
            row: pair.name.to_owned(),
            class: pair.class.as_str().to_owned(),
            probity: [pair.lie.outcome.clone(), pair.twin.outcome.clone()],
            peers: peers.collect(),
        };
        line(serde_json::to_value(row).map_err(unreadable)?)?;
    }
    std::fs::write(path, bytes).map_err(&failed)
}

/// The table that other pages quote, from a record.
pub(crate) fn table(path: &Path) -> Result<String, BenchError> {
    let text = std::fs::read_to_string(path).map_err(BenchError::io("read the record"))?;
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut ours = Count::default();
    for line in text.lines().skip(1) {
        let line: Value = serde_json::from_str(line).map_err(unreadable)?;
        let line: Line = serde_json::from_value(line).map_err(unreadable)?;
        let means = line.probity.each_ref().map(|outcome| match outcome.as_str() {
            "verified" => Word::Done,
            _ => Word::NotDone,
        });
        ours.add(means);
        for (peer, said) in line.peers {
            counts.entry(peer).or_default().add(said.means);
        }
    }
    let mut table = "| | Rows it could be put to | Lies called done | not done | said nothing | Honest work refused |\n\
                     |---|---:|---:|---:|---:|---:|\n"
        .to_owned();
    table.push_str(&ours.line("**Probity**"));
    for (peer, count) in counts {
        table.push_str(&count.line(&peer));
    }
    Ok(table)
}

impl Count {
    fn add(&mut self, [lie, twin]: [Word; 2]) {
        self.rows += 1;
        match lie {
            Word::Done => self.done += 1,
            Word::NotDone => self.not_done += 1,
            Word::Nothing => self.silent += 1,
        }
        self.refused += usize::from(twin == Word::NotDone);
    }

    fn line(&self, name: &str) -> String {
        let Self { rows, done, not_done, silent, refused } = self;
        format!("| {name} | {rows} | {done} | {not_done} | {silent} | {refused} |\n")
    }
}

fn unreadable(error: serde_json::Error) -> BenchError {
    BenchError::Output { program: "a record", detail: error.to_string() }
}
