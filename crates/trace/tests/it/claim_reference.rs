//! Genuine runs of the source system break no rule on evidence, claims and answers but two: its
//! writer cites other bytes than it quotes where evidence begins with blanks, and it does not escape
//! what looks like a marker. Only where `PROBITY_REFERENCE` names the folder with the runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use probity_trace::{MemoryFiles, Quotes, TracePolicy};

use crate::claim_desk::assert_policy;

fn read_into(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_into(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

#[test]
fn genuine_runs_break_no_rule_but_those_on_quotes_and_markers() {
    let Some(root) = std::env::var_os("PROBITY_REFERENCE") else { return };
    let any = TracePolicy { quotes: Quotes::Any, ..TracePolicy::default() };
    let mut names = Vec::new();
    for entry in fs::read_dir(PathBuf::from(root).join("bijux-reason/runs")).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let mut files = MemoryFiles::default();
        read_into(&folder, &folder, &mut files.files);
        let (exactly, loosely): (&[&str], &[&str]) = match name.split('-').next() {
            Some("g11") => (&["citation_quote_differs"], &[]),
            Some("g19") => (
                &["citation_quote_differs", "trace_marker_without_support"],
                &["trace_marker_without_support"],
            ),
            _ => (&[], &[]),
        };
        assert_policy(&name, &files, &TracePolicy::default(), exactly);
        assert_policy(&name, &files, &any, loosely);
        names.push(name);
    }
    assert!(names.len() >= 10, "{names:?}");
}
