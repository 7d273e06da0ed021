//! The whole matrix, and small runs of the other programs, as part of the suite.

#![expect(clippy::unwrap_used, reason = "test code; a panic is how a test fails")]

mod agents;
mod chaos;
mod episodes;
mod instructions;
mod lies;
mod streams;
mod workers;

use std::process::Command;

use serde_json::Value;

/// Every lie is refused, every honest twin accepted, every broken judge named as one, and attempts
/// are counted as they were made.
#[test]
fn no_lie_is_accepted_and_no_honest_work_rejected() {
    let output = Command::new(env!("CARGO_BIN_EXE_lie-matrix")).arg("--json").output().unwrap();
    let matrix: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("no matrix: {error}\n{}", String::from_utf8_lossy(&output.stderr))
    });
    let rows = |key: &str| matrix[key].as_array().cloned().unwrap_or_default().into_iter();
    let wrong: Vec<String> = rows("lies")
        .chain(rows("health"))
        .filter(|row| row["wrong"] != Value::Array(Vec::new()))
        .map(|row| row.to_string())
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
    let summary = &matrix["summary"];
    assert_eq!(summary["false_accepts"], 0, "{summary}");
    assert_eq!(summary["false_rejects"], 0, "{summary}");
    assert_eq!(summary["miscounted"], 0, "{summary}");
    assert!(summary["lies"].as_u64() >= Some(220), "{summary}");
    assert!(summary["health"].as_u64() >= Some(30), "{summary}");
    assert!(output.status.success());
}

/// A matrix that finds nothing wrong must be able to: a name that no row has is no success.
#[test]
fn an_empty_matrix_is_no_success() {
    let output = Command::new(env!("CARGO_BIN_EXE_lie-matrix"))
        .args(["--json", "--only", "no row is called this"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}
