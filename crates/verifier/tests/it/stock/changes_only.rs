//! `changes_only:GLOB[,GLOB]...`.

use super::bed::Bed;

#[test]
fn what_differs_is_inside_the_globs_or_named() {
    let mut bed = Bed::new();
    bed.write("src/a.rs", "1").write("README.md", "1").write("run.sh", "1").chmod("run.sh", 0o644);
    bed.start();
    assert_eq!(bed.says("changes_only:none"), "pass");
    bed.write("src/a.rs", "2").write("src/deep/b.rs", "1");
    bed.table(&[
        ("changes_only:src/**", "pass"),
        ("changes_only:**/*.rs", "pass"),
        ("changes_only:src/*", "revise changes_outside"),
        ("changes_only:src/a.rs,src/deep/*", "pass"),
        ("changes_only:none", "revise changes_outside"),
        ("changes_only:docs/**", "revise changes_outside"),
    ]);
    bed.chmod("run.sh", 0o755);
    assert_eq!(bed.says("changes_only:src/**"), "revise changes_outside");
    assert_eq!(bed.says("changes_only:src/**,run.sh"), "pass");
    bed.remove("README.md");
    assert_eq!(
        bed.reason("changes_only:src/**"),
        "changed outside what may change: `README.md`, `run.sh`"
    );
    assert_eq!(bed.red("changes_only:none"), "pass");
}

#[test]
fn a_reason_names_ten_paths_at_most() {
    let mut bed = Bed::new();
    bed.start();
    for number in 0..30 {
        bed.write(&format!("file-{number:02}"), "");
    }
    let reason = bed.reason("changes_only:none");
    assert!(reason.ends_with("`file-09` and 20 more"), "{reason}");
}
