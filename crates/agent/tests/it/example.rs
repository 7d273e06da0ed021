//! The seed's own example, run as a user runs it.

use std::path::PathBuf;
use std::process::Command;

/// Where cargo puts the examples that it builds beside the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    profile.join("examples").join(name)
}

#[test]
fn the_example_prints_the_richer_result_and_the_attempts_used() {
    let output = Command::new(example("verified_agent")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        printed,
        "verification_rejected\n\
         verification_rejected\n\
         verification_passed\n\
         {\n\
         \x20 \"summary\": \"All tests pass now, edit 2.\",\n\
         \x20 \"verification\": {\n\
         \x20   \"duration_ms\": 1840,\n\
         \x20   \"tests_run\": 412,\n\
         \x20   \"failed\": 0\n\
         \x20 }\n\
         }\n\
         attempts used: 2\n"
    );
}
