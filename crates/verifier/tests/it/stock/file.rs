//! `file:PATH`, key by key.

use std::time::{Duration, SystemTime};

use super::bed::Bed;

const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

#[test]
fn state_keys_pass_and_fail_each_in_its_own_way() {
    let mut bed = Bed::new();
    bed.start();
    bed.write("out.txt", "hello")
        .chmod("out.txt", 0o640)
        .write("deep/a,b.txt", "x\n1\n")
        .mkdir("d");
    let zeros = "0".repeat(64);
    bed.table(&[
        ("file:out.txt", "pass"),
        ("file:./out.txt", "pass"),
        (r"file:deep/a\,b.txt", "pass"),
        ("file:gone.txt", "revise file_missing"),
        ("file:out.txt/below", "revise file_missing"),
        ("file:d", "revise file_kind"),
        ("file:out.txt,contains=ell", "pass"),
        ("file:out.txt,contains=hell,contains=lo", "pass"),
        ("file:out.txt,contains=hell,contains=HELL", "revise file_content"),
        (r"file:deep/a\,b.txt,matches=\d", "pass"),
        (r"file:deep/a\,b.txt,matches=^1$", "revise file_content"),
        (r"file:deep/a\,b.txt,matches=(?m)^1$", "pass"),
        (&format!("file:out.txt,sha256={HELLO}"), "pass"),
        (&format!("file:out.txt,sha256={zeros}"), "revise file_digest"),
        ("file:out.txt,min_bytes=5,max_bytes=5", "pass"),
        ("file:out.txt,min_bytes=6", "revise file_size"),
        ("file:out.txt,max_bytes=4", "revise file_size"),
        ("file:out.txt,mode=0640", "pass"),
        ("file:out.txt,mode=0644", "revise file_mode"),
        ("file:gone.txt,absent", "pass"),
        ("file:out.txt,absent", "revise file_present"),
        ("file:d,absent", "revise file_present"),
        ("file:gone.txt,contains=x,min_bytes=1", "revise file_missing"),
    ]);
}

#[test]
fn an_empty_file_is_a_file_but_has_no_content() {
    let mut bed = Bed::new();
    bed.start();
    bed.write("out.txt", "");
    bed.table(&[
        ("file:out.txt,created", "pass"),
        ("file:out.txt,min_bytes=1", "revise file_size"),
        ("file:out.txt,contains=x", "revise file_content"),
    ]);
}

#[test]
fn created_and_changed_are_facts_of_the_snapshot() {
    let mut bed = Bed::new();
    bed.write("same.txt", "a").write("edited.txt", "a").write("remade.txt", "a").write("was/x", "");
    bed.start();
    bed.write("new.txt", "a").write("edited.txt", "b");
    bed.remove("remade.txt").write("remade.txt", "a");
    std::fs::remove_dir_all(bed.path("was")).unwrap();
    bed.write("was", "a file now");
    // A time in the future proves nothing.
    let later = SystemTime::now() + Duration::from_secs(3_600);
    let same = std::fs::File::options().write(true).open(bed.path("same.txt")).unwrap();
    same.set_modified(later).unwrap();
    // A time in the past hides nothing.
    let new = std::fs::File::options().write(true).open(bed.path("new.txt")).unwrap();
    new.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    bed.table(&[
        ("file:new.txt,created", "pass"),
        ("file:new.txt,changed", "pass"),
        ("file:new.txt,newer_than=run-start", "pass"),
        ("file:edited.txt,created", "revise file_not_created"),
        ("file:edited.txt,changed", "pass"),
        ("file:edited.txt,newer_than=run-start", "pass"),
        ("file:same.txt,created", "revise file_not_created"),
        ("file:same.txt,changed", "revise file_unchanged"),
        ("file:same.txt,newer_than=run-start", "revise file_unchanged"),
        ("file:remade.txt,created", "revise file_not_created"),
        ("file:remade.txt,changed", "revise file_unchanged"),
        ("file:was,created", "revise file_not_created"),
        ("file:was,changed", "pass"),
        ("file:gone.txt,created", "revise file_missing"),
        ("file:gone.txt,changed", "revise file_missing"),
    ]);
}

#[test]
fn before_the_delegate_the_state_counts_and_time_does_not_hold() {
    let mut bed = Bed::new();
    bed.write("there.txt", "hello");
    bed.start();
    for (check, expected) in [
        ("file:there.txt", "pass"),
        ("file:there.txt,created", "pass"),
        ("file:there.txt,created,contains=hello", "pass"),
        ("file:there.txt,created,contains=bye", "revise file_content"),
        ("file:there.txt,changed", "revise file_unchanged"),
        ("file:there.txt,newer_than=run-start", "revise file_unchanged"),
        ("file:gone.txt,created", "revise file_missing"),
        ("file:gone.txt,absent", "pass"),
    ] {
        assert_eq!(bed.red(check), expected, "{check}");
    }
}

#[test]
fn links_inside_count_as_what_they_lead_to_only_when_they_were_there_before() {
    let mut bed = Bed::new();
    bed.write("old/a.txt", "hello").link("current", "old").link("a", "old/a.txt");
    bed.write("target.txt", "x").link("moved", "target.txt");
    bed.start();
    bed.write("old/b.txt", "new").link("fake.txt", "old/a.txt").link("folder", "old");
    bed.remove("moved").link("moved", "old/a.txt").link("dangling", "nowhere");
    bed.table(&[
        ("file:current/a.txt,contains=hello", "pass"),
        ("file:a,contains=hello", "pass"),
        ("file:a,changed", "revise file_unchanged"),
        ("file:current/b.txt,created", "pass"),
        ("file:fake.txt", "revise file_link"),
        ("file:fake.txt,created,contains=hello", "revise file_link"),
        ("file:folder/a.txt", "revise file_link"),
        ("file:moved", "revise file_link"),
        ("file:dangling", "revise file_missing"),
        ("file:dangling,absent", "revise file_present"),
    ]);
    let reason = bed.reason("file:fake.txt");
    assert!(reason.contains("`fake.txt` leads to `old/a.txt`"), "{reason}");
}

#[test]
fn nothing_outside_is_read() {
    let mut bed = Bed::new();
    std::fs::write(bed.outside().join("secret.txt"), "hello").unwrap();
    let absolute = bed.outside().join("secret.txt");
    bed.start();
    bed.link("out.txt", "../secret.txt").link("abs.txt", &absolute).link("up", "..");
    bed.link("one", "two").link("two", "one");
    bed.table(&[
        ("file:out.txt,contains=hello", "revise path_escapes"),
        ("file:abs.txt", "revise path_escapes"),
        ("file:up/secret.txt", "revise path_escapes"),
        ("file:one", "revise path_loop"),
    ]);
    assert!(bed.reason("file:out.txt").contains("out.txt"));
}

#[test]
fn a_fifo_and_a_socket_are_named_and_never_opened() {
    let mut bed = Bed::new();
    bed.start();
    let status = std::process::Command::new("mkfifo").arg(bed.path("pipe")).status().unwrap();
    assert!(status.success());
    let _socket = std::os::unix::net::UnixListener::bind(bed.path("socket")).unwrap();
    bed.table(&[
        ("file:pipe,contains=x", "revise file_kind"),
        ("file:socket", "revise file_kind"),
        ("json:pipe", "revise json_kind"),
        ("sqlite:pipe,query=select 1,equals=1", "revise sqlite_kind"),
    ]);
}

#[test]
fn what_the_snapshot_leaves_out_cannot_be_called_new() {
    let mut bed = Bed::new();
    bed.start();
    bed.write("target/app", "x");
    bed.table(&[
        ("file:target/app", "pass"),
        ("file:target/app,contains=x", "pass"),
        ("file:target/app,created", "fault snapshot_not_covered"),
        ("file:target/app,changed", "fault snapshot_not_covered"),
        ("dir:target,created", "fault snapshot_not_covered"),
    ]);
}

#[test]
fn what_a_check_makes_after_the_snapshot_was_not_created_by_the_delegate() {
    let mut bed = Bed::new();
    bed.write("out/kept.txt", "x");
    bed.start();
    let mut ctx = bed.context(probity_core::Phase::After);
    bed.write("new.txt", "x").write("out/new.txt", "x").write("out/new.log", "x");
    for path in ["new.txt", "out/new.txt"] {
        let verdict = bed.judge(&format!("file:{path},created"), &ctx).unwrap();
        assert_eq!(verdict.code.as_str(), "file_not_created");
        assert!(verdict.reason.ends_with("was made after the claim, by a check"), "{verdict:?}");
    }
    // What the rules leave out could have been there all along.
    let rules = probity_verifier::SnapshotRules::default().ignore(["**/*.log"]).unwrap();
    ctx.rules = std::sync::Arc::new(rules);
    let verdict = bed.judge("file:out/new.log,created", &ctx);
    assert_eq!(super::bed::brief(&verdict), "fault snapshot_not_covered");
}

#[test]
fn what_is_too_large_to_read_is_not_called_wrong() {
    let mut bed = Bed::new();
    bed.start();
    let file = std::fs::File::create(bed.path("big")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    bed.table(&[
        ("file:big,contains=x", "inconclusive path_too_large"),
        ("json:big", "inconclusive path_too_large"),
        ("file:big,min_bytes=1000", "pass"),
    ]);
}

#[test]
fn every_difference_is_told_the_first_one_names_the_code() {
    let mut bed = Bed::new();
    bed.write("out.txt", "hello");
    bed.start();
    let verdict = bed.verify("file:out.txt,created,min_bytes=9,contains=bye").unwrap();
    assert_eq!(verdict.code.as_str(), "file_not_created");
    assert_eq!(
        verdict.reason,
        "file `out.txt` was there before the run; expected a new one; \
         file `out.txt` holds 5 bytes, expected at least 9; \
         file `out.txt` does not contain `bye`"
    );
    let keys: Vec<&str> = verdict.criteria.iter().map(|key| key.as_str()).collect();
    assert_eq!(keys, ["created", "min_bytes", "contains"]);
    let [evidence] = verdict.evidence.as_slice() else { panic!("{verdict:?}") };
    assert_eq!(evidence.source, "file:out.txt");
    assert!(evidence.observed.starts_with("5 bytes, mode 0"), "{evidence:?}");
    assert_eq!(evidence.digest.unwrap().to_string(), HELLO);
    assert_eq!(bed.reason("file:gone.txt"), "file `gone.txt` does not exist");
}

#[test]
fn a_cancelled_check_is_not_judged() {
    let mut bed = Bed::new();
    bed.start();
    let ctx = bed.context(probity_core::Phase::After);
    ctx.cancel.cancel();
    assert_eq!(super::bed::brief(&bed.judge("file:gone.txt", &ctx)), "inconclusive cancelled");
}
