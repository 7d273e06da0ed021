//! The cases whose instructions are counted: each does what it says, once and again.

use std::process::Command;

#[test]
fn every_case_does_its_work_any_number_of_times() {
    let program = env!("CARGO_BIN_EXE_instructions");
    let listed = Command::new(program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split('\t').next()).collect();
    assert!(names.len() >= 10, "{listed}");
    for name in names {
        let output = Command::new(program).args([name, "2"]).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_case_that_is_none_fails() {
    let program = env!("CARGO_BIN_EXE_instructions");
    let output = Command::new(program).arg("nothing").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}
