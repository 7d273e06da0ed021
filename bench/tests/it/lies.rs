//! What pages quote of a run beside other tools is what was recorded.

use std::process::Command;

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/results/lies.jsonl");
const README: &str = include_str!("../../../README.md");

#[test]
fn the_table_of_the_readme_is_what_the_record_says() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_lie-matrix")).args(["--table", RECORD]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.lines().count() > 5, "{table}");
    let (_, rest) = README.split_once("<!-- lies: ").unwrap();
    let (_, rest) = rest.split_once("-->\n").unwrap();
    let (shown, _) = rest.split_once("<!-- /lies -->").unwrap();
    assert_eq!(shown, table);
}

#[test]
fn a_record_that_is_none_has_no_table() {
    let output = Command::new(env!("CARGO_BIN_EXE_lie-matrix"))
        .args(["--table", concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")])
        .output()
        .unwrap();
    assert!(!output.status.success(), "{output:?}");
}
