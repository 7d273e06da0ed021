//! The release archive.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::{Dist, DistError};

const BINARY: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'probity 1.2.3' || echo \"$*\"\n";

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("man")).unwrap();
    fs::write(folder.join("man/probity.1"), ".TH probity 1\n").unwrap();
    folder
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

fn dist(folder: &Path, out: &str) -> Dist {
    Dist {
        root: Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf(),
        out: Some(folder.join(out)),
        binary: Some(folder.join("probity")),
        man: Some(folder.join("man")),
        target: Some("test-linux".to_owned()),
    }
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_same_inputs_are_the_same_archive_and_its_sum_holds() {
    let folder = folder("dist_same");
    executable(&folder.join("probity"), BINARY);
    let first = dist(&folder, "first").pack().unwrap();
    // Another time, another mode of what is packed: the same archive.
    executable(&folder.join("probity"), BINARY);
    fs::set_permissions(folder.join("man/probity.1"), fs::Permissions::from_mode(0o600)).unwrap();
    let second = dist(&folder, "second").pack().unwrap();
    assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
    assert_eq!(first.file_name().unwrap(), "probity-1.2.3-test-linux.tar.gz");
    let sums = folder.join("first");
    said(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&sums));
    let list = said(Command::new("tar").arg("-tzf").arg(&first));
    let names: Vec<_> = list.lines().filter(|name| !name.ends_with('/')).collect();
    let names: Vec<_> =
        names.iter().map(|name| name.strip_prefix("probity-1.2.3-test-linux/").unwrap()).collect();
    assert_eq!(
        names,
        [
            "CHANGELOG.md",
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "README.md",
            "bin/probity",
            "completions/bash/probity",
            "completions/fish/probity.fish",
            "completions/zsh/_probity",
            "man/man1/probity.1"
        ]
    );
    let long = said(Command::new("tar").args(["--numeric-owner", "-tvzf"]).arg(&first));
    let binary = long.lines().find(|line| line.ends_with("bin/probity")).unwrap();
    assert!(binary.starts_with("-rwxr-xr-x 0/0 "), "{binary}");
}

#[test]
fn what_is_no_probity_is_not_packed() {
    let folder = folder("dist_other");
    executable(&folder.join("probity"), "#!/bin/sh\necho 'other ../1'\n");
    let refused = dist(&folder, "out").pack().unwrap_err();
    assert!(matches!(refused, DistError::Version { .. }), "{refused}");
    assert!(!folder.join("out").exists());
}

#[test]
fn words_that_it_does_not_take_are_refused() {
    for words in [&["--binary"][..], &["--colour", "red"], &["x"]] {
        assert!(matches!(Dist::parse(Path::new("."), words), Err(DistError::Usage)), "{words:?}");
    }
    let dist = Dist::parse(Path::new("."), &["--binary", "p", "--target", "t"]).unwrap();
    assert_eq!((dist.binary, dist.target), (Some("p".into()), Some("t".to_owned())));
}
