//! The private copy: what comes along, what is put right, and what is never touched.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use probity_quality::{Bounds, Tree, TreeError, remove_folder};
use tempfile::TempDir;

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["from", "whole", "work", "outside"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn copies(&self) -> (Tree, Tree) {
        let whole = copy(&self.at("from"), &self.at("whole")).unwrap().0;
        let work = copy(&self.at("whole"), &self.at("work")).unwrap().0;
        (whole, work)
    }
}

fn copy(from: &Path, to: &Path) -> Result<(Tree, Vec<String>), TreeError> {
    let keep = |path: &str, _: bool| path != "ignored";
    let (tree, left) = Tree::copy(from, to, Bounds::default(), 2_000_000_000, &keep, &|| false)?;
    Ok((tree, left.into_iter().map(|it| it.path).collect()))
}

/// Every path with its kind, mode and content.
fn listing(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stat = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let content = if stat.is_dir() {
                folders.push(path);
                String::new()
            } else if stat.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .display()
                    .to_string()
                    .replace(root.to_str().unwrap(), "ROOT")
            } else {
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
            };
            found.push(format!("{name} {:o} {content}", stat.mode()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_copy_is_like_the_original_and_links_into_it_lead_into_the_copy() {
    let place = Place::new();
    place.write("from/a/b.txt", "b");
    place.write("from/ignored/c.txt", "c");
    place.write("outside/d.txt", "d");
    symlink(place.at("from/a/b.txt"), place.at("from/absolute")).unwrap();
    symlink("a/b.txt", place.at("from/relative")).unwrap();
    symlink(place.at("outside/d.txt"), place.at("from/out")).unwrap();
    symlink("nowhere", place.at("from/dangling")).unwrap();
    fs::set_permissions(place.at("from/a/b.txt"), fs::Permissions::from_mode(0o440)).unwrap();
    assert!(Command::new("mkfifo").arg(place.at("from/pipe")).status().unwrap().success());
    let (tree, left) = copy(&place.at("from"), &place.at("whole")).unwrap();
    assert_eq!(left, ["pipe"]);
    assert_eq!(tree.files().collect::<Vec<_>>(), ["a/b.txt"]);
    let root = place.at("whole");
    assert_eq!(fs::read_link(root.join("absolute")).unwrap(), tree.root().join("a/b.txt"));
    assert_eq!(fs::read_link(root.join("out")).unwrap(), place.at("outside/d.txt"));
    let mode = |path: &str| fs::metadata(place.at(path)).unwrap().mode() & 0o7777;
    assert_eq!(mode("whole/a/b.txt"), 0o440);
    let modified = |path: &str| fs::metadata(place.at(path)).unwrap().mtime();
    assert_eq!(modified("whole/a/b.txt"), modified("from/a/b.txt"));
}

#[test]
fn what_is_too_much_is_left_out_or_refused() {
    let place = Place::new();
    let large = fs::File::create(place.at("from/sparse")).unwrap();
    large.set_len(1 << 30).unwrap();
    place.write("from/a.txt", "a");
    let (tree, left) = copy(&place.at("from"), &place.at("whole")).unwrap();
    assert_eq!(
        (left, tree.files().collect::<Vec<_>>()),
        (vec!["sparse".to_owned()], vec!["a.txt"])
    );
    let few = Bounds { max_entries: 1, ..Bounds::default() };
    let small = Bounds { max_total_bytes: 0, ..Bounds::default() };
    for bounds in [few, small] {
        let refused =
            Tree::copy(&place.at("from"), &place.at("work"), bounds, 0, &|_, _| true, &|| false);
        assert_eq!(refused.unwrap_err().code(), "quality_too_large");
        remove_folder(&place.at("work")).unwrap();
        fs::create_dir(place.at("work")).unwrap();
    }
    let stopped = Tree::copy(
        &place.at("from"),
        &place.at("work"),
        Bounds::default(),
        0,
        &|_, _| true,
        &|| true,
    );
    assert!(matches!(stopped, Err(TreeError::Cancelled)));
}

#[test]
fn a_repository_that_lies_elsewhere_does_not_come_along() {
    for (path, text, stays_out) in [
        (".git", "gitdir: /somewhere/.git/worktrees/x\n", true),
        (".git", "gitdir: ../.git/worktrees/x\n", true),
        ("sub/.git", "gitdir: ../.git/modules/sub\n", false),
        (".git/config", "[core]\n\tworktree = /somewhere\n", true),
        (".git/config", "[core]\n\tbare = false\n", false),
    ] {
        let place = Place::new();
        place.write(&format!("from/{path}"), text);
        let (_, left) = copy(&place.at("from"), &place.at("whole")).unwrap();
        assert_eq!(!left.is_empty(), stays_out, "{path}: {text}");
    }
}

#[test]
fn whatever_is_done_to_a_copy_is_put_right() {
    let place = Place::new();
    place.write("from/a/b.txt", "b");
    place.write("from/c.txt", "c");
    place.write("from/d/e/f.txt", "f");
    symlink("c.txt", place.at("from/link")).unwrap();
    let (whole, mut work) = place.copies();
    let before = listing(&place.at("work"));
    let outside = listing(&place.at("outside"));
    let acts: [fn(&Tree, &Place); 10] = [
        |work, _| work.write("c.txt", b"C").unwrap(),
        |work, _| work.remove("d").unwrap(),
        |work, _| work.put_folder("c.txt").unwrap(),
        |work, _| work.put_link("a/b.txt").unwrap(),
        |work, _| assert!(work.rename_case("c.txt").unwrap()),
        |work, _| work.turn_mode("c.txt").unwrap(),
        |work, _| work.touch("c.txt").unwrap(),
        |_, place| place.write("work/new/deep/x", "x"),
        // A check that swaps a folder for a link out of the copy.
        |_, place| {
            fs::remove_dir_all(place.at("work/a")).unwrap();
            symlink(place.at("outside"), place.at("work/a")).unwrap();
        },
        |_, place| {
            fs::remove_file(place.at("work/link")).unwrap();
            fs::create_dir(place.at("work/link")).unwrap();
            fs::set_permissions(place.at("work/d/e"), fs::Permissions::from_mode(0o000)).unwrap();
        },
    ];
    for (number, act) in acts.iter().enumerate() {
        act(&work, &place);
        work.restore(&whole, &|_, _| false).unwrap();
        assert_eq!(listing(&place.at("work")), before, "act {number}");
        assert_eq!(listing(&place.at("outside")), outside, "act {number}");
    }
    // What is written is newer each time: no tool takes it for what it has compiled.
    work.write("c.txt", b"X").unwrap();
    let first = fs::metadata(place.at("work/c.txt")).unwrap().mtime();
    work.restore(&whole, &|_, _| false).unwrap();
    assert!(fs::metadata(place.at("work/c.txt")).unwrap().mtime() > first);
}

#[test]
fn writes_do_not_follow_a_link_that_a_check_left() {
    let place = Place::new();
    place.write("from/a/b.txt", "b");
    place.write("outside/b.txt", "theirs");
    let (whole, mut work) = place.copies();
    fs::remove_dir_all(place.at("work/a")).unwrap();
    symlink(place.at("outside"), place.at("work/a")).unwrap();
    assert!(work.write("a/b.txt", b"ours").is_err());
    work.remove("a/b.txt").unwrap();
    assert_eq!(fs::read_to_string(place.at("outside/b.txt")).unwrap(), "theirs");
    work.restore(&whole, &|_, _| false).unwrap();
    assert_eq!(fs::read_to_string(place.at("work/a/b.txt")).unwrap(), "b");
    remove_folder(&place.at("work")).unwrap();
    assert_eq!(fs::read_to_string(place.at("outside/b.txt")).unwrap(), "theirs");
}

#[test]
fn folders_that_tools_fill_may_stay() {
    let place = Place::new();
    place.write("from/a.txt", "a");
    let (whole, mut work) = place.copies();
    place.write("work/target/x", "x");
    work.restore(&whole, &|path, is_folder| is_folder && path == "target").unwrap();
    assert!(place.at("work/target/x").is_file());
    work.restore(&whole, &|_, _| false).unwrap();
    assert!(!place.at("work/target").exists());
}
