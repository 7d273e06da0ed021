//! Each rule on small fixtures, and all of them on this repository.

#![expect(clippy::unwrap_used, reason = "tests")]

mod bench;
mod book;
mod code;
mod dist;
mod edge;
mod instructions;
mod source;
mod text;

use std::path::Path;

use xtask::{Finding, Source, Tree};

#[test]
fn this_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let findings: Vec<String> =
        xtask::tidy(root).unwrap().iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn an_unknown_command_is_a_usage_error() {
    for args in [&[][..], &["nonsense"], &["tidy", "--fix"]] {
        let output =
            std::process::Command::new(env!("CARGO_BIN_EXE_xtask")).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage"));
    }
}

fn sources(files: &[(&str, &str)]) -> Vec<Source> {
    let (sources, findings) = Source::all(&Tree::of(files));
    assert_eq!(findings, []);
    sources
}

/// `path:line` of each finding.
fn places(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
}
