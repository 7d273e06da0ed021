//! What tools do to their workspace: whole files, inside, and never a protected one.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use probity_script::{Host, Limits, Script, ScriptTool};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::tools::{Bench, call};

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_tool_changes_files_and_sees_what_it_did() {
    for bench in Bench::both() {
        let rows = [
            ("return fs.write('a.txt', 'one')", json!("wrote 3 bytes to a.txt")),
            ("return fs.read('a.txt')", json!("one")),
            ("return fs.write('a.txt', '')", json!("wrote 0 bytes to a.txt")),
            ("return fs.append('a.txt', 'ä')", json!("appended 2 bytes to a.txt")),
            ("return fs.append('a.txt', 'b\\n')", json!("appended 2 bytes to a.txt")),
            ("return fs.append('new.txt', 'n')", json!("appended 1 bytes to new.txt")),
            ("return fs.write('x/y/z.txt', 'deep')", json!("wrote 4 bytes to x/y/z.txt")),
            ("return fs.write('./x//w.txt', 'w')", json!("wrote 1 bytes to ./x//w.txt")),
            ("return fs.mkdir('m/n')", json!("made the folder m/n")),
            ("return fs.mkdir('m/n')", json!("made the folder m/n")),
            ("return fs.mkdir('.')", json!("made the folder .")),
            ("return fs.remove('m/n')", json!("removed m/n")),
            ("return fs.remove('new.txt')", json!("removed new.txt")),
            ("return [fs.exists('new.txt'), fs.list('x')]", json!([false, ["w.txt", "y"]])),
        ];
        for (body, expected) in rows {
            assert_eq!(bench.done(body).await, expected, "{body}");
        }
        assert_eq!(bench.read("a.txt"), "äb\n");
        assert_eq!(bench.read("x/y/z.txt"), "deep");
        let inside = bench.dir.path().join("abs.txt");
        bench.done(&format!("fs.write('{}', 'abs')", inside.display())).await;
        assert_eq!(bench.read("abs.txt"), "abs");
        assert_eq!(names(bench.dir.path()), ["a.txt", "abs.txt", "m", "x"]);
    }
}

#[tokio::test]
async fn what_cannot_be_changed_is_told_and_left_alone() {
    let bench = Bench::worker();
    let root = bench.dir.path();
    std::fs::write(root.join("file"), "kept").unwrap();
    std::fs::create_dir_all(root.join("full/inner")).unwrap();
    std::fs::write(root.join("locked"), "kept").unwrap();
    let locked = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(root.join("locked"), locked).unwrap();
    rustix::fs::mkfifoat(CWD, root.join("pipe"), 0o600.into()).unwrap();
    let rows = [
        ("fs.write('full', 'x')", "is a directory"),
        ("fs.write('.', 'x')", "is a directory"),
        ("fs.write('', 'x')", "the path is empty"),
        ("fs.write('a\\0b', 'x')", "NUL"),
        ("fs.write('pipe', 'x')", "is a special file"),
        ("fs.append('pipe', 'x')", "is a special file"),
        ("fs.write('locked', 'x')", "Permission denied"),
        ("fs.write('file/x', 'x')", "is a regular file, not a directory"),
        ("fs.mkdir('file')", "is a regular file, not a directory"),
        ("fs.mkdir('file/x')", "is a regular file, not a directory"),
        ("fs.remove('full')", "cannot be changed"),
        ("fs.remove('.')", "is a directory"),
        ("fs.remove('absent')", "does not exist"),
        ("fs.remove('absent/x')", "does not exist"),
        ("fs.write('a', 3)", "expected `str`"),
    ];
    for (body, expected) in rows {
        let error = bench.error(body).await;
        assert!(error.contains(expected), "{body}: {error}");
    }
    assert_eq!(names(root), ["file", "full", "locked", "pipe"]);
    assert_eq!((bench.read("file"), bench.read("locked")), ("kept".into(), "kept".into()));
}

#[tokio::test]
async fn nothing_outside_is_reached() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("file"), "kept").unwrap();
    for bench in Bench::both() {
        let root = bench.dir.path();
        std::fs::create_dir(root.join("in")).unwrap();
        symlink(outside.path(), root.join("out")).unwrap();
        symlink(outside.path().join("file"), root.join("link")).unwrap();
        symlink("../..", root.join("in/up")).unwrap();
        symlink(outside.path().join("new"), root.join("dangling_out")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let absolute = outside.path().join("file").display().to_string();
        for path in [
            "../file",
            "in/../../file",
            "in/../file",
            absolute.as_str(),
            "out/file",
            "out/new",
            "out/sub/new",
            "in/up/file",
            "in/up/new/deep",
            "dangling_out",
            "dangling",
            "loop",
            "loop/x",
        ] {
            bench.error(&format!("fs.write('{path}', 'x')")).await;
            bench.error(&format!("fs.append('{path}', 'x')")).await;
            bench.error(&format!("fs.mkdir('{path}')")).await;
        }
        bench.error("fs.write('link', 'x')").await;
        bench.error("fs.remove('out/file')").await;
        bench.error(&format!("fs.remove('{absolute}')")).await;
        assert_eq!(names(outside.path()), ["file"]);
        assert_eq!(std::fs::read_to_string(outside.path().join("file")).unwrap(), "kept");
        let parent = names(root.parent().unwrap());
        assert!(!parent.iter().any(|name| name == "file" || name == "new"));
        // A link is removed itself, wherever it leads.
        bench.done("fs.remove('out')").await;
        bench.done("fs.remove('dangling')").await;
        assert_eq!(names(outside.path()), ["file"]);
    }
}

#[tokio::test]
async fn links_inside_are_followed_and_stay() {
    for bench in Bench::both() {
        let root = bench.dir.path();
        std::fs::create_dir(root.join("v2")).unwrap();
        symlink("v2", root.join("latest")).unwrap();
        std::fs::write(root.join("v2/a.txt"), "old").unwrap();
        symlink("v2/a.txt", root.join("alias")).unwrap();
        bench.done("fs.write('latest/b.txt', 'b')").await;
        bench.done("fs.append('alias', '+new')").await;
        assert_eq!(bench.read("v2/b.txt"), "b");
        assert_eq!(bench.read("v2/a.txt"), "old+new");
        assert!(root.join("alias").is_symlink() && root.join("latest").is_symlink());
        bench.done("fs.remove('alias')").await;
        assert_eq!(names(root), ["latest", "v2"]);
    }
}

#[tokio::test]
async fn a_folder_swapped_for_a_link_between_two_calls_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    for bench in Bench::both() {
        let tool = bench.tool("def run(args):\n    return fs.write('d/x.txt', 'x')\n");
        assert!(!call(&tool, json!({})).await.unwrap().is_error);
        let folder = bench.dir.path().join("d");
        std::fs::remove_dir_all(&folder).unwrap();
        symlink(outside.path(), &folder).unwrap();
        assert!(call(&tool, json!({})).await.unwrap().is_error);
        assert!(names(outside.path()).is_empty());
    }
}

#[tokio::test]
async fn a_folder_that_is_swapped_all_the_time_never_leads_out() {
    let outside = tempfile::tempdir().unwrap();
    let bench = Bench::worker();
    let (folder, link) = (bench.dir.path().join("d"), bench.dir.path().join("link"));
    std::fs::create_dir(&folder).unwrap();
    symlink(outside.path(), &link).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        })
    };
    let source = "def run(args):\n    return fs.write('d/f%d.txt' % args['n'], 'x')\n";
    let tool = bench.tool(source);
    let mut refused = 0;
    for n in 0..300 {
        refused += u32::from(call(&tool, json!({"n": n})).await.unwrap().is_error);
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert!((1..300).contains(&refused), "{refused} of 300: nothing was swapped meanwhile");
    assert!(names(outside.path()).is_empty());
}

#[tokio::test]
async fn what_is_protected_stays_by_every_name() {
    for mut bench in Bench::both() {
        let root = bench.dir.path().to_owned();
        for folder in [".git/hooks", ".probity", "tests/sealed", "sub/.git", "gitdir"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["tests/sealed/a.py", "judge.star", "tests/b.py", ".git/config"] {
            std::fs::write(root.join(file), "kept").unwrap();
        }
        symlink("tests/sealed", root.join("way")).unwrap();
        symlink("judge.star", root.join("alias")).unwrap();
        symlink("gitdir", root.join("named")).unwrap();
        symlink("../.git", root.join("sub/up")).unwrap();
        let judge = root.join("judge.star").display().to_string();
        let protected = ["tests/sealed", judge.as_str(), "named", "later/made.txt", "/etc/passwd"];
        bench.host = Host { protected: protected.map(str::to_owned).into(), ..Host::default() };
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            ".GIT/hooks/pre-commit",
            ".git",
            "./.git/x",
            "sub/.git/config",
            "sub/up/config",
            ".probity/probity.toml",
            ".probity",
            "tests/sealed/a.py",
            "tests/sealed/new.py",
            "TESTS/sealed/a.py",
            "tests/sealed",
            "judge.star",
            judge.as_str(),
            "way/a.py",
            "way/new.py",
            "alias",
            "named/hooks/x",
            "gitdir/hooks/x",
            "later/made.txt",
            "later",
        ] {
            let told = bench.error(&format!("fs.write('{path}', 'x')")).await;
            assert!(told.contains("protected"), "{path}: {told}");
            let told = bench.error(&format!("fs.append('{path}', 'x')")).await;
            assert!(told.contains("protected"), "{path}: {told}");
        }
        for path in [".git/hooks", ".probity", "tests/sealed/a.py", "way/a.py", "named", "tests"] {
            let told = bench.error(&format!("fs.remove('{path}')")).await;
            assert!(told.contains("protected"), "{path}: {told}");
        }
        for path in [".git/x", "tests/sealed/x", "new/.git", "named/x"] {
            let told = bench.error(&format!("fs.mkdir('{path}')")).await;
            assert!(told.contains("protected"), "{path}: {told}");
        }
        for file in ["tests/sealed/a.py", "judge.star", ".git/config"] {
            assert_eq!(bench.read(file), "kept");
        }
        for path in ["tests/b.py", "tests/sealed2/x", ".gitignore", "later/other.txt", "judge"] {
            bench.done(&format!("fs.write('{path}', 'x')")).await;
        }
        bench.done("fs.mkdir('later')").await;
    }
}

#[tokio::test]
async fn what_cannot_be_protected_is_refused_at_once() {
    let bench = Bench::worker();
    for (path, code) in [
        ("", "path_empty"),
        (".", "path_not_a_file"),
        ("a/../b", "path_has_parent"),
        ("a\0", "path_nul"),
    ] {
        let host = Host { protected: vec![path.to_owned()], ..Host::default() };
        let script = Script::new("tool.star", "def run(args):\n    pass\n").unwrap();
        let (limits, execution) = (Limits::default(), bench.execution.clone());
        let made = ScriptTool::new(script, host, limits, execution, Arc::clone(&bench.workspace));
        assert_eq!(made.unwrap_err().code.as_str(), code, "{path}");
    }
}

#[tokio::test]
async fn a_file_keeps_its_mode_and_other_names_their_content() {
    let bench = Bench::worker();
    let root = bench.dir.path();
    std::fs::write(root.join("run.sh"), "old").unwrap();
    std::fs::set_permissions(root.join("run.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
    std::fs::hard_link(root.join("run.sh"), root.join("other")).unwrap();
    bench.done("fs.write('run.sh', 'new')").await;
    bench.done("fs.append('run.sh', 'er')").await;
    let mode = std::fs::metadata(root.join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o750);
    assert_eq!((bench.read("run.sh"), bench.read("other")), ("newer".into(), "old".into()));
}

#[tokio::test]
async fn a_reader_sees_the_old_content_or_the_new() {
    let bench = Bench::worker();
    let (a, b) = ("a".repeat(100_000), "b".repeat(100_000));
    std::fs::write(bench.dir.path().join("f"), &a).unwrap();
    let source = "def run(args):\n    return fs.write('f', args['c'] * 100000)\n";
    let tool = bench.tool(source);
    let path = bench.dir.path().join("f");
    let stop = Arc::new(AtomicBool::new(false));
    let reading = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let mut torn = 0;
            while !stop.load(Ordering::Relaxed) {
                let text = std::fs::read_to_string(&path).unwrap();
                torn += u32::from(text != a && text != b);
            }
            torn
        })
    };
    for n in 0..50 {
        let letter = if n % 2 == 0 { "b" } else { "a" };
        assert!(!call(&tool, json!({"c": letter})).await.unwrap().is_error);
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(reading.join().unwrap(), 0);
    assert_eq!(names(bench.dir.path()), ["f"]);
}

#[tokio::test]
async fn files_and_calls_are_bounded() {
    for bench in Bench::both() {
        let most = 16 << 20;
        let full = bench.done(&format!("return fs.write('full', 'a' * {most})")).await;
        assert_eq!(full, format!("wrote {most} bytes to full"));
        for body in
            [format!("fs.write('more', 'a' * {})", most + 1), "fs.append('full', 'a')".to_owned()]
        {
            let told = bench.error(&body).await;
            assert!(told.contains("the limit is 16777216"), "{body}: {told}");
        }
        assert_eq!(std::fs::metadata(bench.dir.path().join("full")).unwrap().len(), most);
        assert_eq!(names(bench.dir.path()), ["full"]);
        // What is written counts, not what is given.
        bench.done("fs.write('full', 'a' * 16000000)").await;
        let body = "[fs.append('full', 'a') for i in range(40)]";
        let told = bench.error(body).await;
        assert!(told.contains("bytes at most"), "{told}");
        let told = bench.error("[fs.mkdir('d') for i in range(10001)]").await;
        assert!(told.contains("10000 changes at most"), "{told}");
        // The next call starts anew.
        bench.done("fs.write('full', 'a')").await;
    }
}
