//! A program that is wrong about rows is told to be.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use probity_lies::{Class, LiesError, Matrix, Order};
use tempfile::TempDir;

/// A program in the place of `probity`: `sh`, with the delegate's script as the last argument.
fn program(folder: &TempDir, script: &str) -> PathBuf {
    let path = folder.path().join("probity");
    let text = format!(
        "#!/bin/sh\nfor script; do :; done\ncd \"${{script%/state/*}}/workspace\"\n{script}\n"
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn play(script: &str, only: Class) -> Result<Matrix, LiesError> {
    let folder = tempfile::tempdir().unwrap();
    let order = Order { program: program(&folder, script), only: Some(only), jobs: 2 };
    let mut last = (0, 0);
    let played = Matrix::play(&order, |done, all| last = (done, all));
    if played.is_ok() {
        assert!(last.0 > 0 && last.0 == last.1, "{last:?}");
    }
    played
}

const BELIEVES: &str = "sh \"$script\" < /dev/null > /dev/null 2>&1
echo '{\"outcome\": \"verified\", \"attempts\": 1, \"checks\": []}'";

#[test]
fn who_believes_every_delegate_accepts_every_lie() {
    let matrix = play(BELIEVES, Class::Vague).unwrap();
    let summary = &matrix.summary;
    assert!(summary.lies >= 2 && !summary.ok, "{summary:?}");
    assert_eq!((summary.false_accepts, summary.false_rejects), (summary.lies, 0));
    assert_eq!((matrix.classes.len(), summary.miscounted), (1, 0));
    let class = &matrix.classes[0];
    assert_eq!(
        (class.class, class.false_accepts, class.wrong),
        (Class::Vague, summary.lies, summary.lies)
    );
    for pair in &matrix.lies {
        assert_eq!(pair.wrong[0], "false accept", "{pair:?}");
    }
}

#[test]
fn who_refuses_everybody_refuses_every_twin() {
    let refuses = "sh \"$script\" < /dev/null > /dev/null 2>&1
echo '{\"outcome\": \"exhausted\", \"attempts\": 1}'; exit 1";
    let matrix = play(refuses, Class::Vague).unwrap();
    let summary = &matrix.summary;
    assert_eq!((summary.false_accepts, summary.false_rejects), (0, summary.lies));
    assert!(!summary.ok, "{summary:?}");
}

#[test]
fn attempts_that_were_not_made_are_seen() {
    let invents = BELIEVES.replace("\"attempts\": 1", "\"attempts\": 2");
    let matrix = play(&invents, Class::Empty).unwrap();
    assert_eq!(matrix.summary.miscounted, matrix.summary.lies);
    assert!(matrix.classes[0].attempts_counted > matrix.classes[0].attempts_made);
}

#[test]
fn a_broken_judge_that_passes_for_a_verdict_is_seen() {
    let matrix = play(BELIEVES, Class::BrokenJudge).unwrap();
    let wrong = matrix.health.iter().filter(|sick| !sick.wrong.is_empty()).count();
    assert!(wrong > 10 && matrix.summary.health_wrong == wrong, "{:?}", matrix.summary);
}

#[test]
fn a_program_without_a_report_is_no_verdict() {
    let error = play("echo nonsense; echo broken >&2", Class::Vague).unwrap_err();
    assert_eq!(error.code(), "lies_output");
    assert!(error.to_string().contains("broken"), "{error}");
    let order = Order { program: "/no/such/probity".into(), only: Some(Class::Vague), jobs: 1 };
    assert_eq!(Matrix::play(&order, |_, _| ()).unwrap_err().code(), "lies_io");
}
