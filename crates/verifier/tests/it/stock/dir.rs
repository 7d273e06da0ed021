//! `dir:PATH`, key by key.

use super::bed::Bed;

#[test]
fn state_keys_pass_and_fail_each_in_its_own_way() {
    let mut bed = Bed::new();
    bed.start();
    bed.mkdir("empty").write("full/a", "").write("full/.hidden", "").write("full/sub/x", "");
    bed.chmod("full", 0o750).write("plain", "");
    bed.table(&[
        ("dir:full", "pass"),
        ("dir:.", "pass"),
        ("dir:gone", "revise dir_missing"),
        ("dir:plain", "revise dir_kind"),
        ("dir:full,mode=0750", "pass"),
        ("dir:full,mode=0700", "revise dir_mode"),
        ("dir:full,entries=3", "pass"),
        ("dir:full,entries=2", "revise dir_entries"),
        ("dir:empty,entries=0", "pass"),
        ("dir:full,min_entries=3", "pass"),
        ("dir:full,min_entries=4", "revise dir_entries"),
        ("dir:empty,min_entries=1", "revise dir_entries"),
        ("dir:gone,absent", "pass"),
        ("dir:full,absent", "revise dir_present"),
    ]);
    assert!(bed.reason("dir:full,entries=2").contains("has 3 entries, expected 2"));
}

#[test]
fn created_and_changed_look_at_everything_below() {
    let mut bed = Bed::new();
    bed.write("same/a", "1").write("edited/deep/a", "1").write("thinned/a", "1").write("b", "1");
    bed.write("edited-not/a", "1").write("was-file", "1");
    bed.start();
    bed.remove("was-file").mkdir("was-file");
    bed.write("new/a", "1").write("edited/deep/a", "2").remove("thinned/a");
    bed.table(&[
        ("dir:new,created", "pass"),
        ("dir:new,changed", "pass"),
        ("dir:new,newer_than=run-start", "pass"),
        ("dir:same,created", "revise dir_not_created"),
        ("dir:same,changed", "revise dir_unchanged"),
        ("dir:same,newer_than=run-start", "revise dir_unchanged"),
        ("dir:edited,changed", "pass"),
        ("dir:edited-not,changed", "revise dir_unchanged"),
        ("dir:thinned,changed", "pass"),
        ("dir:.,changed", "pass"),
        ("dir:.,created", "revise dir_not_created"),
        ("dir:gone,created", "revise dir_missing"),
        ("dir:was-file,created", "revise dir_not_created"),
        ("dir:was-file,changed", "pass"),
    ]);
    assert_eq!(bed.red("dir:same,created"), "pass");
    assert_eq!(bed.red("dir:same,changed"), "revise dir_unchanged");
    assert_eq!(bed.red("dir:.,changed"), "revise dir_unchanged");
    assert_eq!(bed.red("dir:new,entries=1"), "pass");
}

#[test]
fn a_new_link_is_not_a_new_directory() {
    let mut bed = Bed::new();
    bed.write("old/a", "").link("kept", "old");
    bed.start();
    bed.link("fake", "old").link("out", "..");
    bed.table(&[
        ("dir:kept,entries=1", "pass"),
        ("dir:fake", "revise dir_link"),
        ("dir:fake,created", "revise dir_link"),
        ("dir:out", "revise path_escapes"),
    ]);
}
