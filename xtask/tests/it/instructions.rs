//! The gate of hot paths, with a tool in the place of valgrind whose counts are known.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use xtask::instructions::{BASELINES, Baselines, Instructions, InstructionsError};

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A start costs a million, a round of `one` so much, and one of `two` twice as much.
fn gate(folder: &Path, each: u64) -> Instructions {
    std::fs::create_dir_all(folder.join("bench")).unwrap();
    let counts = format!(
        "[ \"$1\" = --version ] && echo valgrind-0 && exit\n\
         case $4 in one) each={each};; *) each=$(({each} * 2));; esac\n\
         echo \"==1== Collected : $((1000000 + $5 * each))\" >&2"
    );
    Instructions {
        root: folder.to_path_buf(),
        program: Some(script(folder, "program", "printf 'one\\tthe first\\ntwo\\tthe second\\n'")),
        valgrind: Some(script(folder, "valgrind", &counts)),
        ..Instructions::default()
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_longer_path_fails_and_a_shorter_one_does_not() {
    let folder = folder("gate");
    let first = gate(&folder, 50_000);
    assert!(matches!(first.run(), Err(InstructionsError::Above { count: 2 })), "no baselines yet");
    Instructions { update: true, ..gate(&folder, 50_000) }.run().unwrap();
    let kept = std::fs::read_to_string(folder.join(BASELINES)).unwrap();
    let kept = Baselines::parse(&kept).unwrap();
    assert_eq!(kept.cases["one"].instructions, 50_000);
    assert_eq!(kept.cases["two"].instructions, 100_000);
    // Three percent are allowed, and no more.
    gate(&folder, 51_400).run().unwrap();
    assert!(matches!(gate(&folder, 51_600).run(), Err(InstructionsError::Above { count: 2 })));
    let only = Instructions { only: vec!["two".to_owned()], ..gate(&folder, 60_000) };
    assert!(matches!(only.run(), Err(InstructionsError::Above { count: 1 })));
    gate(&folder, 20_000).run().unwrap();
}

#[test]
fn a_tolerance_that_was_written_by_hand_is_kept() {
    let folder = folder("tolerance");
    Instructions { update: true, ..gate(&folder, 1000) }.run().unwrap();
    let path = folder.join(BASELINES);
    let text = std::fs::read_to_string(&path).unwrap().replace("= 3.0", "= 50.0");
    std::fs::write(&path, text).unwrap();
    gate(&folder, 1400).run().unwrap();
    Instructions { update: true, ..gate(&folder, 1400) }.run().unwrap();
    let kept = Baselines::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept.cases["one"].instructions, 1400);
    assert!((kept.cases["one"].tolerance_percent - 50.0).abs() < 1e-9);
    assert_eq!(Baselines::parse(&kept.text()).unwrap(), kept);
}

#[test]
fn without_valgrind_it_says_so_and_does_not_pass() {
    let folder = folder("without");
    let asked = Instructions { valgrind: Some(folder.join("none")), ..gate(&folder, 1000) };
    let error = asked.run().unwrap_err();
    assert!(error.to_string().starts_with("NOTHING WAS COUNTED"), "{error}");
}

#[test]
fn the_baselines_of_this_repository_can_be_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let kept = Baselines::parse(&std::fs::read_to_string(root.join(BASELINES)).unwrap()).unwrap();
    assert!(kept.cases.len() >= 10, "{kept:?}");
    assert!(kept.rustc.starts_with("rustc 1."), "{kept:?}");
}
