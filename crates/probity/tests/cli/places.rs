//! Stores at places that take no more: full, or not to be written.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fleet::submit;
use crate::world::{HONEST, Ran, World};

/// A file system of its own, of one megabyte.
struct Mount(PathBuf);

impl Mount {
    /// `None`, said aloud, for whoever may not mount.
    fn at(path: PathBuf) -> Option<Self> {
        std::fs::create_dir(&path).unwrap();
        let args = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
        match mount(&args, &path) {
            true => Some(Self(path)),
            false => {
                eprintln!("skipped: this user may not mount a file system of one megabyte");
                None
            }
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn mount(args: &[&str], path: &Path) -> bool {
    Command::new("mount").args(args).arg(path).output().is_ok_and(|ran| ran.status.success())
}

/// What each command that writes says of such a store.
fn told(world: &World, store: &str) -> Vec<(String, Ran)> {
    let commands = [
        &["cancel", "it", "--by", "Ada"][..],
        &["steer", "it", "softly", "--by", "Ada"],
        &["resume", "it"],
        &["dlq", "retry", "it"],
        &["worker", "--once"],
    ];
    let mut told =
        vec![("submit".to_owned(), submit(world, "new", &["--store", store, "--json"], &HONEST))];
    for args in commands {
        let ran = world.probity(args.iter().copied().chain(["--store", store, "--json"]));
        told.push((args.join(" "), ran));
    }
    told
}

#[test]
fn a_store_that_may_not_be_written_is_said_to_be_so() {
    let world = World::new();
    let Some(mount_point) = Mount::at(world.beside("fixed")) else { return };
    let store = format!("sqlite:{}", mount_point.0.join("runs.db").display());
    assert_eq!(submit(&world, "it", &["--store", &store], &HONEST).code, 0);
    assert!(mount(&["-o", "remount,ro"], &mount_point.0));
    for (command, ran) in told(&world, &store) {
        assert_eq!(
            (ran.code, ran.error_code().as_str()),
            (74, "store_read_only"),
            "{command}: {ran:?}"
        );
        assert!(ran.stderr.contains("read-only"), "{command}: {ran:?}");
    }
    let ran = world.probity(["doctor", "--store", store.as_str()]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("store_read_only"), "{ran:?}");
    let new = format!("sqlite:{}", mount_point.0.join("new.db").display());
    let ran = submit(&world, "new", &["--store", &new, "--json"], &HONEST);
    assert_eq!((ran.code, ran.error_code().as_str()), (74, "store_read_only"), "{ran:?}");
}

#[test]
fn a_store_that_is_full_is_said_to_be_so() {
    let world = World::new();
    let Some(mount_point) = Mount::at(world.beside("full")) else { return };
    let store = format!("sqlite:{}", mount_point.0.join("runs.db").display());
    assert_eq!(submit(&world, "it", &["--store", &store], &HONEST).code, 0);
    let filled = std::fs::write(mount_point.0.join("filled"), vec![0_u8; 1 << 20]);
    assert!(filled.is_err(), "one megabyte is all there is");
    for (command, ran) in told(&world, &store) {
        assert_eq!((ran.code, ran.error_code().as_str()), (74, "store_full"), "{command}: {ran:?}");
    }
    let ran = world.probity(["doctor", "--store", store.as_str()]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("store_full"), "{ran:?}");
    std::fs::remove_file(mount_point.0.join("filled")).unwrap();
    assert_eq!(submit(&world, "new", &["--store", &store], &HONEST).code, 0, "and goes on after");
}
