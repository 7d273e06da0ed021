//! Paths: what is inside, what is outside, what is answered.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use probity_verifier::{Kind, PathError, Workspace, key_of, path_of};

use super::{World, is_root, without_hanging};

const SECRET: &[u8] = b"secret of another folder";

/// Every way to ask about a path; the code of the error, or what was found.
fn ask_all(workspace: &Workspace, path: &Path) -> Vec<Result<bool, &'static str>> {
    let code = |error: PathError| error.code();
    vec![
        workspace.stat(path).map(|it| it.is_some()).map_err(code),
        workspace.read(path, 1000).map(|it| it.is_some()).map_err(code),
        workspace.open_file(path).map(|it| it.is_some()).map_err(code),
        workspace.digest(path, 1000).map(|it| it.is_some()).map_err(code),
        workspace.list(path, 1000).map(|it| it.is_some()).map_err(code),
    ]
}

#[test]
fn a_workspace_is_an_absolute_path_to_a_folder() {
    let world = World::new();
    world.write("file", "");
    for (path, code) in [
        (PathBuf::from("relative"), "workspace_not_absolute"),
        (PathBuf::new(), "workspace_not_absolute"),
        (world.path("absent"), "workspace_missing"),
        (world.path("file"), "workspace_not_a_directory"),
        (world.path("file/below"), "workspace_not_a_directory"),
    ] {
        assert_eq!(Workspace::open(&path).unwrap_err().code(), code, "{}", path.display());
    }
    let workspace = Workspace::open(world.path("../ws/.")).unwrap();
    assert_eq!(workspace.root(), world.root().canonicalize().unwrap());
}

#[test]
fn every_path_that_leads_out_is_an_error_and_never_absent() {
    let world = World::new();
    let workspace = world.open();
    fs::write(world.outside("secret"), SECRET).unwrap();
    fs::create_dir(world.outside("ws-sibling")).unwrap();
    fs::write(world.outside("ws-sibling/secret"), SECRET).unwrap();
    world.write("sub/file", "");
    world.link("../secret", "link");
    world.link("../nothing-there", "dangling");
    world.link("..", "up");
    world.link(world.outside("secret"), "absolute");
    world.link(world.path("sub"), "absolute-inside");
    world.link("link", "link-to-link");
    let root = workspace.root().display().to_string();
    for (path, code) in [
        ("..".to_owned(), "path_outside"),
        ("../secret".to_owned(), "path_outside"),
        ("../ws/sub/file".to_owned(), "path_outside"),
        ("sub/../../secret".to_owned(), "path_outside"),
        ("missing/../../secret".to_owned(), "path_outside"),
        ("../absent".to_owned(), "path_outside"),
        ("/etc/hostname".to_owned(), "path_outside"),
        ("/".to_owned(), "path_outside"),
        (format!("{root}-sibling/secret"), "path_outside"),
        (format!("{root}/../secret"), "path_outside"),
        ("link".to_owned(), "path_escapes"),
        ("link-to-link".to_owned(), "path_escapes"),
        ("dangling".to_owned(), "path_escapes"),
        ("up/secret".to_owned(), "path_escapes"),
        ("up/ws/sub/file".to_owned(), "path_escapes"),
        ("absolute".to_owned(), "path_escapes"),
        ("absolute-inside/file".to_owned(), "path_escapes"),
        (String::new(), "path_empty"),
        ("a\0b".to_owned(), "path_nul"),
    ] {
        for answer in ask_all(&workspace, Path::new(&path)) {
            assert_eq!(answer, Err(code), "{path}");
        }
    }
}

#[test]
fn an_absolute_path_inside_is_the_relative_one() {
    let world = World::new();
    world.write("sub/file", "x");
    std::os::unix::fs::symlink(world.root(), world.outside("alias")).unwrap();
    let workspace = Workspace::open(world.outside("alias")).unwrap();
    for path in [
        PathBuf::from("sub/file"),
        PathBuf::from("./sub//./file"),
        workspace.root().join("sub/file"),
        world.outside("alias").join("sub/file"),
    ] {
        assert_eq!(workspace.key(&path).unwrap(), "sub/file", "{}", path.display());
        assert_eq!(workspace.read(&path, 1).unwrap().unwrap(), b"x");
    }
    assert_eq!(workspace.key(workspace.root()).unwrap(), "");
    assert_eq!(workspace.key(".").unwrap(), "");
    assert_eq!(workspace.key("sub/../sub/file").unwrap_err().code(), "path_has_parent");
    // Only where one spelling is needed: reading may go up as long as it stays inside.
    assert_eq!(workspace.read("sub/../sub/file", 1).unwrap().unwrap(), b"x");
}

#[test]
fn a_missing_path_is_an_answer() {
    let world = World::new();
    world.write("file", "");
    world.link("nowhere", "dangling");
    for path in ["absent", "absent/below", "file/below", "dangling", "dangling/below"] {
        for answer in ask_all(&world.open(), Path::new(path)) {
            assert_eq!(answer, Ok(false), "{path}");
        }
    }
}

#[test]
fn links_inside_are_followed_unless_asked() {
    let world = World::new();
    world.write("sub/file", "content");
    world.link("sub", "folder");
    world.link("folder/file", "file");
    let workspace = world.open();
    let stat = workspace.stat("file").unwrap().unwrap();
    assert_eq!((stat.kind, stat.size), (Kind::File, 7));
    assert_eq!(workspace.stat_link("file").unwrap().unwrap().kind, Kind::Symlink);
    assert_eq!(workspace.read_link("file").unwrap().unwrap(), Path::new("folder/file"));
    assert_eq!(workspace.read_link("sub/file").unwrap(), None);
    assert_eq!(workspace.read_link("absent").unwrap(), None);
    assert_eq!(workspace.read("file", 100).unwrap().unwrap(), b"content");
    let listed = workspace.list("folder", 10).unwrap().unwrap();
    assert_eq!(listed.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["file"]);
    // A circle is neither there nor absent.
    world.link("b", "a");
    world.link("a", "b");
    assert_eq!(workspace.stat("a").unwrap_err().code(), "path_loop");
}

#[test]
fn content_is_whole_or_an_error() {
    let world = World::new();
    world.write("five", "12345");
    world.write("empty", "");
    world.write("sub/a", "");
    let workspace = world.open();
    assert_eq!(workspace.read("five", 5).unwrap().unwrap(), b"12345");
    assert_eq!(workspace.read("five", 4).unwrap_err().code(), "path_too_large");
    assert_eq!(workspace.digest("five", 4).unwrap_err().code(), "path_too_large");
    assert_eq!(workspace.read("empty", 0).unwrap().unwrap(), b"");
    let (digest, size) = workspace.digest("five", 5).unwrap().unwrap();
    assert_eq!(size, 5);
    assert_eq!(
        digest.to_string(),
        "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5"
    );
    assert_eq!(workspace.read("sub", 5).unwrap_err().code(), "path_not_a_file");
    assert_eq!(workspace.list("five", 5).unwrap_err().code(), "path_not_a_directory");
    assert_eq!(workspace.list(".", 3).unwrap().unwrap().len(), 3);
    assert_eq!(workspace.list(".", 2).unwrap_err().code(), "path_too_many");
}

#[test]
fn special_files_are_named_and_never_opened() {
    let world = World::new();
    world.fifo("fifo");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    world.link("fifo", "link");
    without_hanging(move || {
        let workspace = world.open();
        for path in ["fifo", "socket", "link"] {
            assert_eq!(workspace.stat(path).unwrap().unwrap().kind, Kind::Other);
            assert_eq!(workspace.read(path, 10).unwrap_err().code(), "path_not_a_file");
            assert_eq!(workspace.digest(path, 10).unwrap_err().code(), "path_not_a_file");
        }
    });
}

#[test]
fn a_name_that_is_not_text_is_found_by_its_key() {
    let world = World::new();
    let name = OsStr::from_bytes(b"caf\xe9\n\\");
    fs::write(world.root().join(name), "x").unwrap();
    let workspace = world.open();
    let listed = workspace.list(".", 10).unwrap().unwrap();
    assert_eq!(listed[0].name, "caf\\xe9\\x0a\\\\");
    let path = path_of(&listed[0].name).unwrap();
    assert_eq!(path, Path::new(name));
    assert_eq!(workspace.read(&path, 10).unwrap().unwrap(), b"x");
    assert_eq!(workspace.glob("caf*", 10).unwrap(), [key_of(name)]);
    assert_eq!(super::keys(&world.snapshot()), [key_of(name)]);
}

#[test]
fn a_pattern_matches_names_and_follows_no_link() {
    let world = World::new();
    fs::create_dir(world.outside("elsewhere")).unwrap();
    fs::write(world.outside("elsewhere/x.rs"), "").unwrap();
    for path in
        ["a.rs", "src/b.rs", "src/deep/c.rs", "src/deep/d.txt", ".hidden/e.rs", "node_modules/f.rs"]
    {
        world.write(path, "");
    }
    world.link("../elsewhere", "link");
    let workspace = world.open();
    for (pattern, found) in [
        ("*.rs", &["a.rs"][..]),
        ("./*.rs", &["a.rs"]),
        ("src/*.rs", &["src/b.rs"]),
        ("src/*", &["src/b.rs", "src/deep"]),
        ("src/**", &["src/b.rs", "src/deep", "src/deep/c.rs", "src/deep/d.txt"]),
        ("**/*.rs", &[".hidden/e.rs", "a.rs", "node_modules/f.rs", "src/b.rs", "src/deep/c.rs"]),
        ("src/{b,deep/c}.rs", &["src/b.rs", "src/deep/c.rs"]),
        ("s?c/d*p/[a-c].rs", &["src/deep/c.rs"]),
        ("src/deep/c.rs", &["src/deep/c.rs"]),
        ("link", &["link"]),
        ("link/*", &[]),
        ("absent/**", &[]),
    ] {
        assert_eq!(workspace.glob(pattern, 100).unwrap(), found, "{pattern}");
    }
    for pattern in ["", "/etc/*", "../*", "a/../*", "a[", "{a"] {
        assert_eq!(
            workspace.glob(pattern, 100).unwrap_err().code(),
            "pattern_invalid",
            "{pattern}"
        );
    }
    assert_eq!(workspace.glob("**/*.rs", 4).unwrap_err().code(), "path_too_many");
}

#[test]
fn what_may_not_be_read_is_denied_and_not_absent() {
    let world = World::new();
    world.write("locked/file", "x");
    world.write("file", "x");
    let lock = |path: &str| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o0);
        fs::set_permissions(world.path(path), mode).unwrap();
    };
    lock("locked");
    lock("file");
    let workspace = world.open();
    let expected = if is_root() { Ok(true) } else { Err("path_denied") };
    let code = |error: PathError| error.code();
    assert_eq!(workspace.stat("locked/file").map(|it| it.is_some()).map_err(code), expected);
    assert_eq!(workspace.read("file", 9).map(|it| it.is_some()).map_err(code), expected);
    assert_eq!(workspace.list("locked", 9).map(|it| it.is_some()).map_err(code), expected);
    assert_eq!(workspace.glob("**/file", 9).map(|it| it.len() == 2).map_err(code), expected);
    let unlock = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(world.path("locked"), unlock).unwrap();
}

#[test]
fn a_workspace_that_was_replaced_is_noticed() {
    let world = World::new();
    world.write("file", "x");
    let workspace = world.open();
    workspace.check_root().unwrap();
    fs::rename(world.root(), world.outside("moved")).unwrap();
    assert_eq!(workspace.check_root().unwrap_err().code(), "workspace_moved");
    fs::create_dir(world.root()).unwrap();
    assert_eq!(workspace.check_root().unwrap_err().code(), "workspace_moved");
    fs::remove_dir(world.root()).unwrap();
    std::os::unix::fs::symlink(world.outside("moved"), world.root()).unwrap();
    assert_eq!(workspace.check_root().unwrap_err().code(), "workspace_moved");
}

/// A folder and a link that leads out change places as fast as they can; nothing from outside is
/// ever read.
#[test]
fn a_folder_swapped_for_a_link_never_leads_out() {
    let world = World::new();
    world.write("folder/file", "inside");
    fs::create_dir(world.outside("elsewhere")).unwrap();
    fs::write(world.outside("elsewhere/file"), SECRET).unwrap();
    world.link("../elsewhere", "link");
    let (folder, link) = (world.path("folder"), world.path("link"));
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let here = rustix::fs::CWD;
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            let mut swaps = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(here, &folder, here, &link, flags).unwrap();
                swaps += 1;
            }
            swaps
        }
    });
    let workspace = world.open();
    // Enough of both to have met the swap in the middle, within a bound for a machine that will not.
    let (mut inside, mut refused, mut rounds) = (0, 0, 0);
    while (inside < 100 || refused < 100) && rounds < 5000 {
        rounds += 1;
        match workspace.read("folder/file", 1000) {
            Ok(Some(content)) => {
                assert_eq!(content, b"inside");
                inside += 1;
            }
            Ok(None) => {}
            Err(error) => {
                assert!(matches!(error, PathError::Escapes { .. }), "{error}");
                refused += 1;
            }
        }
        for (key, entry) in world.snapshot().iter() {
            assert_ne!(entry.size, SECRET.len() as u64, "{key}");
        }
    }
    stop.store(true, Ordering::Relaxed);
    assert!(swapper.join().unwrap() > 0 && inside + refused > 0);
}
