//! Snapshots: content decides, nothing is skipped in silence.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use probity_verifier::{Changes, IGNORED, Kind, SnapshotLimits, SnapshotRules, snapshot};
use tokio_util::sync::CancellationToken;

use super::{World, is_root, keys, without_hanging};

fn set_modified(world: &World, path: &str, time: SystemTime) {
    File::options().write(true).open(world.path(path)).unwrap().set_modified(time).unwrap();
}

fn set_mode(world: &World, path: &str, mode: u32) {
    fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn every_kind_of_entry_is_recorded_with_its_facts() {
    let world = World::new();
    world.write("sub/file", "12345");
    set_mode(&world, "sub/file", 0o640);
    set_mode(&world, "sub", 0o750);
    world.link("../anywhere", "link");
    world.fifo("fifo");
    set_mode(&world, "fifo", 0o600);
    let manifest = without_hanging({
        let workspace = world.open();
        move || snapshot(&workspace, &SnapshotRules::default(), &CancellationToken::new()).unwrap()
    });
    let facts: Vec<_> = manifest
        .iter()
        .map(|(key, it)| (key, it.kind, it.size, it.mode, it.digest.is_some()))
        .collect();
    assert_eq!(
        facts,
        [
            ("fifo", Kind::Other, 0, 0o600, false),
            ("link", Kind::Symlink, 11, 0o777, true),
            ("sub", Kind::Dir, 0, 0o750, false),
            ("sub/file", Kind::File, 5, 0o640, true),
        ]
    );
    // SHA-256 of `12345` and of the link's target text.
    for (key, digest) in [
        ("sub/file", "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5"),
        ("link", "d95268d6e92dcf61fc4b0f9bf0115bc9f55e34c1eaf5c27dbef816a22c213e9a"),
    ] {
        assert_eq!(manifest.get(key).unwrap().digest.unwrap().to_string(), digest);
    }
    assert!(manifest.iter().all(|(_, entry)| !entry.unreadable));
}

#[test]
fn an_empty_workspace_has_an_empty_manifest() {
    assert!(World::new().snapshot().is_empty());
}

#[test]
fn the_time_of_a_file_is_no_part_of_its_state() {
    let world = World::new();
    world.write("file", "same");
    let before = world.snapshot();
    set_modified(&world, "file", SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    let after = world.snapshot();
    assert_eq!(before, after);
    assert_eq!(before.digest(), after.digest());
}

#[test]
fn other_content_of_the_same_size_and_time_is_a_change() {
    let world = World::new();
    world.write("file", "12345");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    set_modified(&world, "file", time);
    let before = world.snapshot();
    world.write("file", "12354");
    set_modified(&world, "file", time);
    let changes = Changes::between(&before, &world.snapshot());
    assert_eq!(changes.modified, ["file"]);
    assert!(changes.changed("file") && !changes.created("file"));
}

#[test]
fn each_kind_of_change_lands_in_its_list() {
    let world = World::new();
    for path in ["edited", "deleted", "mode", "kind", "same", "gone/file"] {
        world.write(path, path);
    }
    world.link("same", "link");
    let before = world.snapshot();
    world.write("edited", "other");
    fs::remove_file(world.path("deleted")).unwrap();
    set_mode(&world, "mode", 0o600);
    fs::remove_file(world.path("kind")).unwrap();
    fs::create_dir(world.path("kind")).unwrap();
    fs::remove_dir_all(world.path("gone")).unwrap();
    fs::remove_file(world.path("link")).unwrap();
    world.link("edited", "link");
    world.write("new/file", "");
    let changes = Changes::between(&before, &world.snapshot());
    assert_eq!(changes.created, ["new", "new/file"]);
    assert_eq!(changes.modified, ["edited", "kind", "link"]);
    assert_eq!(changes.deleted, ["deleted", "gone", "gone/file"]);
    assert_eq!(changes.mode_changed, ["mode"]);
    assert!(changes.undecided.is_empty());
}

#[test]
fn nothing_in_the_workspace_can_lengthen_the_ignore_list() {
    let world = World::new();
    for path in
        [".gitignore", ".ignore", "sub/.gitignore", ".git/info/exclude", ".probity/probity.toml"]
    {
        world.write(path, "*\nignore = [\"**\"]\n");
    }
    world.write("sub/evil", "");
    world.write(".gitattributes", "* export-ignore");
    assert_eq!(
        keys(&world.snapshot()),
        [
            ".gitattributes",
            ".gitignore",
            ".ignore",
            ".probity",
            ".probity/probity.toml",
            "sub",
            "sub/.gitignore",
            "sub/evil",
        ]
    );
}

#[test]
fn ignored_folders_leave_no_entry_and_their_names_hide_nothing_else() {
    let world = World::new();
    for name in IGNORED {
        world.write(&format!("{name}/inside"), "");
        world.write(&format!("a/b/{name}/inside"), "");
        world.write(&format!("files/{name}"), "a file of that name");
    }
    world.link("..", "a/target-link");
    std::os::unix::fs::symlink("/", world.path("a/b/c")).unwrap();
    world.write(".probity/probity.db", "");
    world.write(".probity/probity.db-wal", "");
    let manifest = world.snapshot();
    let mut expected = vec![".probity", "a", "a/b", "a/b/c", "a/target-link", "files"];
    let files = IGNORED.map(|name| format!("files/{name}"));
    expected.extend(files.iter().map(String::as_str));
    expected.sort_unstable();
    assert_eq!(keys(&manifest), expected);
    let all = world.try_snapshot(&SnapshotRules::nothing_ignored()).unwrap();
    assert!(all.get("target/inside").is_some() && all.get(".probity/probity.db").is_some());
}

#[test]
fn a_path_that_a_check_looks_at_is_recorded_inside_an_ignored_folder() {
    let world = World::new();
    for path in [
        "target/report.txt",
        "target/other",
        "target/deep/wanted/a",
        "target/deep/wanted/node_modules/b",
        "target/deep/else",
        "node_modules/x",
    ] {
        world.write(path, "");
    }
    let workspace = world.open();
    let rules = SnapshotRules::default()
        .always(
            &workspace,
            ["target/report.txt", "target/deep/wanted", "target/absent", "./node_modules/x/y"],
        )
        .unwrap();
    let recorded = world.try_snapshot(&rules).unwrap();
    assert_eq!(
        keys(&recorded),
        [
            // Stands where a folder was asked for.
            "node_modules/x",
            "target/deep/wanted",
            "target/deep/wanted/a",
            "target/deep/wanted/node_modules",
            "target/deep/wanted/node_modules/b",
            "target/report.txt",
        ]
    );
    let error = SnapshotRules::default().always(&workspace, ["../out"]).unwrap_err();
    assert_eq!(error.code(), "path_outside");
}

#[test]
fn every_limit_ends_in_an_error_that_names_what_to_do() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.write(name, "12345");
    }
    let code = |limits| world.try_snapshot(&limited(limits)).map(|_| ()).map_err(|it| it.code());
    let fits = SnapshotLimits { max_files: 3, max_file_bytes: 5, max_total_bytes: 15 };
    assert_eq!(code(fits), Ok(()));
    assert_eq!(code(SnapshotLimits { max_files: 2, ..fits }), Err("snapshot_too_many_files"));
    assert_eq!(code(SnapshotLimits { max_file_bytes: 4, ..fits }), Err("snapshot_file_too_large"));
    assert_eq!(
        code(SnapshotLimits { max_total_bytes: 14, ..fits }),
        Err("snapshot_total_too_large")
    );
    let rules = limited(SnapshotLimits { max_files: 2, ..fits });
    let error = world.try_snapshot(&rules).unwrap_err();
    assert!(error.to_string().contains("raise `max_files`"), "{error}");
    assert_eq!(world.try_snapshot(&rules.ignore(["c"]).unwrap()).unwrap().len(), 2);
}

fn limited(limits: SnapshotLimits) -> SnapshotRules {
    let mut rules = SnapshotRules::default();
    rules.limits = limits;
    rules
}

#[test]
fn a_limit_is_found_by_every_thread() {
    let world = World::new();
    for folder in 0..40 {
        for file in 0..20 {
            world.write(&format!("{folder}/{file}"), "x");
        }
    }
    let fits = SnapshotLimits { max_files: 840, max_file_bytes: 1, max_total_bytes: 800 };
    assert_eq!(world.try_snapshot(&limited(fits)).unwrap().len(), 840);
    for (limits, code) in [
        (SnapshotLimits { max_files: 839, ..fits }, "snapshot_too_many_files"),
        (SnapshotLimits { max_total_bytes: 799, ..fits }, "snapshot_total_too_large"),
        (SnapshotLimits { max_file_bytes: 0, ..fits }, "snapshot_file_too_large"),
    ] {
        assert_eq!(world.try_snapshot(&limited(limits)).unwrap_err().code(), code);
    }
}

#[test]
fn folders_deeper_than_the_limit_are_an_error_not_a_crash() {
    let world = World::new();
    let deep = vec!["d"; 300].join("/");
    fs::create_dir_all(world.path(&deep)).unwrap();
    assert_eq!(
        world.try_snapshot(&SnapshotRules::default()).unwrap_err().code(),
        "snapshot_too_deep"
    );
    assert_eq!(world.open().glob("**/x", 1).unwrap_err().code(), "path_too_deep");
}

#[test]
fn ten_thousand_files_are_each_recorded_once_whatever_thread_reads_them() {
    let world = World::new();
    for folder in 0..50 {
        fs::create_dir(world.path(&format!("{folder:02}"))).unwrap();
        for file in 0..200 {
            let path = format!("{folder:02}/{file:03}");
            fs::write(world.path(&path), &path).unwrap();
        }
    }
    let before = world.snapshot();
    assert_eq!(before.len(), 50 + 10_000);
    assert_eq!(before.digest(), world.snapshot().digest());
    world.write("33/133", "33/134");
    assert_eq!(Changes::between(&before, &world.snapshot()).modified, ["33/133"]);
}

#[test]
fn a_cancelled_snapshot_ends() {
    let world = World::new();
    world.write("file", "");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = snapshot(&world.open(), &SnapshotRules::default(), &cancel).unwrap_err();
    assert_eq!(error.code(), "cancelled");
}

#[test]
fn a_workspace_that_was_replaced_is_not_read() {
    let world = World::new();
    let workspace = world.open();
    fs::rename(world.root(), world.outside("moved")).unwrap();
    fs::create_dir(world.root()).unwrap();
    let error = snapshot(&workspace, &SnapshotRules::default(), &CancellationToken::new());
    assert_eq!(error.unwrap_err().code(), "workspace_moved");
}

#[test]
fn what_may_not_be_read_is_recorded_as_such() {
    let world = World::new();
    world.write("file", "12345");
    world.write("folder/file", "");
    set_mode(&world, "file", 0o200);
    set_mode(&world, "folder", 0o300);
    let manifest = world.snapshot();
    set_mode(&world, "folder", 0o700);
    let (file, folder) = (manifest.get("file").unwrap(), manifest.get("folder").unwrap());
    assert_eq!((file.kind, file.size, file.mode), (Kind::File, 5, 0o200));
    assert_eq!((folder.kind, folder.mode), (Kind::Dir, 0o300));
    // Root reads them all the same.
    assert_eq!(file.unreadable, !is_root());
    assert_eq!(file.digest.is_some(), is_root());
    assert_eq!(folder.unreadable, !is_root());
    assert_eq!(manifest.get("folder/file").is_some(), is_root());
}

#[test]
fn a_folder_that_hides_a_named_path_is_recorded_as_unreadable() {
    let world = World::new();
    world.write("target/deep/report.txt", "x");
    let rules = SnapshotRules::default().always(&world.open(), ["target/deep/report.txt"]).unwrap();
    for hidden in ["target/deep", "target"] {
        for mode in [0o300, 0o100, 0o000] {
            set_mode(&world, hidden, mode);
            let manifest = world.try_snapshot(&rules).unwrap();
            set_mode(&world, hidden, 0o700);
            let expected = if is_root() { "target/deep/report.txt" } else { hidden };
            assert_eq!(keys(&manifest), [expected], "{hidden} {mode:o}");
            assert_eq!(manifest.get(expected).unwrap().unreadable, !is_root());
        }
    }
}

/// Files, folders and links come and go while they are read: every snapshot succeeds.
#[test]
fn entries_that_vanish_meanwhile_are_left_out() {
    let world = World::new();
    for file in 0..300 {
        world.write(&format!("still/{file}"), "x");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let restless = world.path("restless");
    let mover = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let mut rounds = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                fs::create_dir_all(restless.join("a/b")).unwrap();
                fs::write(restless.join("a/b/file"), "x").unwrap();
                fs::write(restless.join("x"), "x").unwrap();
                std::os::unix::fs::symlink("x", restless.join("a/link")).unwrap();
                fs::remove_file(restless.join("x")).unwrap();
                fs::create_dir(restless.join("x")).unwrap();
                fs::remove_dir(restless.join("x")).unwrap();
                std::os::unix::fs::symlink("/etc", restless.join("x")).unwrap();
                fs::remove_dir_all(&restless).unwrap();
                rounds += 1;
            }
            rounds
        }
    });
    for _ in 0..50 {
        let manifest = world.snapshot();
        assert_eq!(manifest.below("still").count(), 301);
    }
    stop.store(true, Ordering::Relaxed);
    assert!(mover.join().unwrap() > 0);
}
