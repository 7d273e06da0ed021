//! Trust by hash: exactly this content, and no more than was said.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use probity_core::Digest;
use probity_verifier::{
    JudgeFiles, JudgeManifest, TrustError, TrustKind, TrustStore, command_digest,
};

use super::World;

fn digest(byte: u8) -> Digest {
    Digest::from_bytes([byte; 32])
}

fn no_files(world: &World) -> JudgeManifest {
    JudgeFiles::new(world.open()).seal().unwrap()
}

#[test]
fn trust_is_kept_in_a_private_file_and_read_back() {
    let world = World::new();
    let path = world.outside("config/deep/trusted");
    let mut store = TrustStore::open(&path).unwrap();
    assert!(!store.is_trusted(TrustKind::Command, &digest(1)));
    store.trust(TrustKind::Command, digest(1), "make check").unwrap();
    store.trust(TrustKind::Script, digest(2), "  .probity/verifiers/a b.star ").unwrap();
    assert!(store.is_trusted(TrustKind::Command, &digest(1)));

    let read = TrustStore::open(&path).unwrap();
    let entries: Vec<_> = read.iter().map(|it| (it.kind, it.label.as_str())).collect();
    assert_eq!(
        entries,
        [(TrustKind::Command, "make check"), (TrustKind::Script, ".probity/verifiers/a b.star")]
    );
    assert!(read.is_trusted(TrustKind::Command, &digest(1)));
    // The same hash as something else is not what was trusted.
    assert!(!read.is_trusted(TrustKind::Script, &digest(1)));
    assert!(!read.is_trusted(TrustKind::Config, &digest(2)));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        format!(
            "# What probity may run from repositories: sha256  kind  label\n\
             {}  command  make check\n{}  script  .probity/verifiers/a b.star\n",
            digest(1),
            digest(2)
        )
    );
}

#[test]
fn an_edit_of_the_command_or_of_a_declared_file_takes_the_trust_away() {
    let world = World::new();
    world.write("verify.sh", "exit 1");
    let judge = JudgeFiles::new(world.open()).file("verify.sh").unwrap();
    let argv = ["sh", "verify.sh"];
    let mut store = TrustStore::open(world.outside("trusted")).unwrap();
    store
        .trust(TrustKind::Command, command_digest(&argv, &judge.seal().unwrap()), "sh verify.sh")
        .unwrap();
    let trusted = |argv: &[&str]| {
        store.is_trusted(TrustKind::Command, &command_digest(argv, &judge.seal().unwrap()))
    };
    assert!(trusted(&argv));
    assert!(!trusted(&["sh", "verify.sh", "--quick"]));
    assert!(!trusted(&["sh verify.sh"]));
    world.write("verify.sh", "exit 0");
    assert!(!trusted(&argv));
    world.write("verify.sh", "exit 1");
    assert!(trusted(&argv));
    fs::rename(world.path("verify.sh"), world.path("moved.sh")).unwrap();
    world.link("moved.sh", "verify.sh");
    assert!(!trusted(&argv));
}

#[test]
fn no_two_splits_of_a_command_share_a_digest() {
    let files = no_files(&World::new());
    let argvs: [&[&str]; 7] =
        [&[], &[""], &["", ""], &["ab"], &["a", "b"], &["a", "", "b"], &["a b"]];
    let mut digests: Vec<Digest> = argvs.iter().map(|argv| command_digest(argv, &files)).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), argvs.len());
}

#[test]
fn a_malformed_line_is_named_and_nothing_is_trusted() {
    let world = World::new();
    let path = world.outside("trusted");
    let hex = "ab".repeat(32);
    for (line, why) in [
        ("nonsense".to_owned(), "64 lower-case hex digits"),
        (format!("{}  command  x", "AB".repeat(32)), "64 lower-case hex digits"),
        (format!(" {hex}  command  x"), "64 lower-case hex digits"),
        (hex.clone(), "kind is missing"),
        (format!("{hex} command  x"), "64 lower-case hex digits"),
        (format!("{hex}  anything  x"), "none of `command`"),
        (format!("{hex}  command"), "label is missing"),
    ] {
        fs::write(&path, format!("# remark\n\n{hex}  command  good\n{line}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let error = TrustStore::open(&path).unwrap_err();
        assert!(
            matches!(&error, TrustError::Line { number: 4, why: it, .. } if it.contains(why)),
            "{line}: {error}"
        );
        assert_eq!(error.code(), "trust_line_invalid");
        assert!(error.to_string().starts_with("line 4 of "), "{error}");
    }
}

#[test]
fn a_file_that_others_may_write_is_refused() {
    let world = World::new();
    let path = world.outside("trusted");
    fs::write(&path, "").unwrap();
    for (mode, refused) in [
        (0o600, false),
        (0o644, false),
        (0o400, false),
        (0o620, true),
        (0o602, true),
        (0o666, true),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let code = TrustStore::open(&path).map(|_| ()).map_err(|it| it.code());
        assert_eq!(code, if refused { Err("trust_file_writable") } else { Ok(()) }, "{mode:o}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, b"\xff").unwrap();
    assert_eq!(TrustStore::open(&path).unwrap_err().code(), "trust_file_invalid");
    assert_eq!(TrustStore::open(world.root()).unwrap_err().code(), "trust_file_unreadable");
}

#[test]
fn two_processes_do_not_lose_each_others_entries() {
    let world = World::new();
    let path = world.outside("trusted");
    std::thread::scope(|scope| {
        for byte in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let mut store = TrustStore::open(path).unwrap();
                store.trust(TrustKind::Config, digest(byte), "each its own").unwrap();
            });
        }
    });
    assert_eq!(TrustStore::open(&path).unwrap().iter().count(), 8);
}

#[test]
fn remarks_stay_labels_stay_on_their_line_and_entries_come_once() {
    let world = World::new();
    let path = world.outside("trusted");
    fs::write(&path, "# mine\n\n").unwrap();
    // What a write left that was cut off.
    fs::write(world.outside("trusted.new"), "rest").unwrap();
    let mut store = TrustStore::open(&path).unwrap();
    let forged = format!("x\n{}  command  forged", digest(9));
    store.trust(TrustKind::Command, digest(1), &forged).unwrap();
    store.trust(TrustKind::Command, digest(1), &"é".repeat(500)).unwrap();
    store.trust(TrustKind::Command, digest(2), &forged).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# mine\n\n"), "{text}");
    assert_eq!(text.lines().count(), 4);
    let read = TrustStore::open(&path).unwrap();
    assert!(!read.is_trusted(TrustKind::Command, &digest(9)));
    assert_eq!(read.iter().next().unwrap().label, "é".repeat(200));
    assert!(!world.outside("trusted.new").exists());
}

#[test]
fn trust_can_be_taken_back() {
    let world = World::new();
    let path = world.outside("trusted");
    let mut store = TrustStore::open(&path).unwrap();
    store.trust(TrustKind::Command, digest(1), "a").unwrap();
    store.trust(TrustKind::Script, digest(2), "b").unwrap();
    assert!(store.revoke(&digest(1)).unwrap());
    assert!(!store.revoke(&digest(1)).unwrap());
    assert!(!store.is_trusted(TrustKind::Command, &digest(1)));
    let read = TrustStore::open(&path).unwrap();
    assert_eq!(read.iter().map(|it| it.digest).collect::<Vec<_>>(), [digest(2)]);
}
