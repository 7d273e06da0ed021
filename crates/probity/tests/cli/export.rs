//! `probity export`, and what `probity audit` says of the bundles, logs and runs that it is given.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::audit::lines;
use crate::decision::{as_is, decide};
use crate::world::{HONEST, REPENTANT, Ran, World, alter};

const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/keys");

/// A world with one verified run, told once that it had not done the work.
fn ran() -> World {
    let world = World::new();
    assert_eq!(world.gate(&REPENTANT, &["--id", "it"]).code, 0);
    world
}

/// The same, exported as `out.probity`.
fn exported(more: &[&str]) -> World {
    let world = ran();
    let ran = export(&world, "it", "out.probity", more);
    assert_eq!(ran.code, 0, "{ran:?}");
    world
}

fn export(world: &World, run: &str, bundle: &str, more: &[&str]) -> Ran {
    world.probity(["export", run, "--bundle", bundle].iter().chain(more))
}

fn audit(world: &World, args: &[&str]) -> Ran {
    world.probity(["audit"].iter().chain(args))
}

/// The only report of an audit.
fn report(world: &World, path: &str) -> Value {
    let (mut reports, _) = lines(&audit(world, &[path, "--json"]));
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

fn key(name: &str) -> String {
    format!("{KEYS}/{name}")
}

/// Changes the byte behind a text in a file.
fn flip_behind(path: &Path, text: &str) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes());
    bytes[at.unwrap() + text.len()] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_run_is_audited_by_its_id_with_its_content() {
    let world = ran();
    for run in ["it", "last"] {
        let ran = audit(&world, &[run]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.starts_with("VALID  it  run log\n"), "{ran:?}");
    }
    let page = audit(&world, &["it", "--html", "run.html"]);
    assert_eq!(page.code, 0, "{page:?}");
    assert!(world.read("run.html").contains("Timeline"));
    let log = world.probity(["log", "export", "it"]);
    fs::write(world.at("run.jsonl"), &log.stdout).unwrap();
    let ran = audit(&world, &["run.jsonl"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let torn = &log.stdout[..log.stdout.len() - 1];
    fs::write(world.at("torn.jsonl"), torn).unwrap();
    assert_eq!(audit(&world, &["torn.jsonl"]).code, 1);
}

#[test]
fn a_run_whose_content_was_changed_in_the_store_is_not_valid() {
    let world = ran();
    let store = world.beside("state/probity/probity.db");
    assert!(alter(&store, "Done.", "Gone.") > 0);
    let ran = audit(&world, &["it", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let ran = export(&world, "it", "out.probity", &["--json"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(!world.at("out.probity").exists());
}

#[test]
fn a_bundle_needs_nothing_but_itself() {
    let world = exported(&[]);
    let elsewhere = tempfile::tempdir().unwrap();
    let bundle = elsewhere.path().join("b.probity");
    fs::copy(world.at("out.probity"), &bundle).unwrap();
    let ran: Ran = Command::new(env!("CARGO_BIN_EXE_probity"))
        .args(["audit", "b.probity"])
        .current_dir(elsewhere.path())
        .env_clear()
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("VALID  b.probity  bundle\n"), "{ran:?}");
    assert_eq!(ran.stderr, "");
    let names: Vec<_> = fs::read_dir(elsewhere.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "an audit leaves nothing behind");
    let piped = Command::new(env!("CARGO_BIN_EXE_probity"))
        .args(["audit", "-"])
        .env_clear()
        .stdin(fs::File::open(&bundle).unwrap())
        .output()
        .unwrap();
    assert_eq!(piped.status.code(), Some(0));
}

#[test]
fn an_export_says_what_it_wrote_and_how_to_check_it() {
    let world = ran();
    let ran = export(&world, "last", "out.probity", &["--json"]);
    let told = ran.json();
    assert_eq!(told["bundle"], "out.probity");
    assert_eq!(told["bytes"], fs::metadata(world.at("out.probity")).unwrap().len());
    assert_eq!(
        (&told["redacted"], &told["absent"], &told["verdict"]),
        (&0.into(), &0.into(), &"valid".into())
    );
    let sum = Command::new("sha256sum").arg(world.at("out.probity")).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    assert_eq!(sum.split(' ').next(), told["sha256"].as_str());
    let again = export(&world, "it", "out2.probity", &[]);
    assert!(again.stdout.contains("check it: probity audit out2.probity\n"), "{again:?}");
    let same =
        fs::read(world.at("out.probity")).unwrap() == fs::read(world.at("out2.probity")).unwrap();
    assert!(same, "equal runs give equal bundles");
}

#[test]
fn what_was_tampered_with_is_told_apart() {
    let world = exported(&[]);
    let whole = fs::read(world.at("out.probity")).unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(world.at(name), bytes).unwrap();
    put("cut.probity", &whole[..whole.len() / 2]);
    put("header.probity", &whole[..300]);
    put("empty.probity", b"");
    put("tail.probity", &[whole.as_slice(), b"x"].concat());
    put("changed.probity", &whole);
    flip_behind(&world.at("changed.probity"), "\"response\":\"D");
    put("log.probity", &whole);
    flip_behind(&world.at("log.probity"), "{\"body\":{\"at_ms\":");
    for (path, codes) in [
        ("cut.probity", &[3][..]),
        ("header.probity", &[3]),
        ("empty.probity", &[3]),
        ("tail.probity", &[3]),
        ("changed.probity", &[1]),
        ("log.probity", &[1, 3]),
        ("out.probity", &[0]),
    ] {
        let ran = audit(&world, &[path]);
        assert!(codes.contains(&ran.code), "{path}: {ran:?}");
    }
    assert_eq!(audit(&world, &["."]).code, 3, "all of them: the weightiest decides");
}

#[test]
fn redacted_content_is_told_and_may_be_allowed() {
    let world = exported(&["--redact"]);
    let ran = audit(&world, &["out.probity"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stdout.starts_with("INTEGRITY ONLY  out.probity  bundle; "), "{ran:?}");
    assert_eq!(audit(&world, &["out.probity", "--allow-redacted"]).code, 0);
    let text = fs::read(world.at("out.probity")).unwrap();
    let has = |word: &str| text.windows(word.len()).any(|window| window == word.as_bytes());
    assert!(!has("write hello to out.txt"), "the task is content");
    // A whole bundle becomes the same one when it is redacted.
    assert_eq!(export(&world, "it", "whole.probity", &[]).code, 0);
    assert_eq!(export(&world, "whole.probity", "again.probity", &["--redact"]).code, 0);
    assert_eq!(fs::read(world.at("again.probity")).unwrap(), text);
    let twice = export(&world, "whole.probity", "twice.probity", &[]);
    assert_eq!(twice.code, 64, "{twice:?}");
    let signed =
        export(&world, "whole.probity", "s.probity", &["--redact", "--sign", &key("signer.pem")]);
    assert_eq!(signed.code, 64, "{signed:?}");
}

#[test]
fn content_is_left_out_by_its_digest_and_a_misspelt_digest_leaves_nothing_behind() {
    let world = exported(&[]);
    let log = world.probity(["log", "export", "it"]).stdout;
    let event = |name: &str| -> Value {
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line["body"]["event"].clone()).find(|it| it["type"] == name).unwrap()
    };
    let claim = event("claim.received")["claim"].as_str().unwrap().to_owned();
    for (run, bundle) in [("it", "one.probity"), ("out.probity", "two.probity")] {
        let ran = export(&world, run, bundle, &["--omit", &claim, "--json"]);
        assert_eq!((ran.code, &ran.json()["redacted"]), (0, &1.into()), "{ran:?}");
        assert_eq!(audit(&world, &[bundle]).code, 5);
        let strange = "ab".repeat(32);
        let ran =
            export(&world, run, "no.probity", &["--omit", &claim, "--omit", &strange, "--json"]);
        assert_eq!((ran.code, ran.error_code()), (64, "bundle_not_omitted".to_owned()), "{ran:?}");
        let ran = export(&world, run, "no.probity", &["--omit", "12", "--json"]);
        assert_eq!((ran.code, ran.error_code()), (64, "usage".to_owned()), "{ran:?}");
    }
    let names = fs::read_dir(world.at("")).unwrap().map(|it| it.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["one.probity", "out.probity", "out.txt", "two.probity"]);
}

/// Keys that openssl made here, where there is one, else the ones that it made once.
fn keys(world: &World) -> (String, String) {
    let private = world.beside("key.pem").display().to_string();
    let public = world.beside("pub.pem").display().to_string();
    let openssl = |args: &[&str]| {
        let ran = Command::new("openssl").args(args).output();
        ran.is_ok_and(|ran| ran.status.success())
    };
    let is_made = openssl(&["genpkey", "-algorithm", "ed25519", "-out", &private])
        && openssl(&["pkey", "-in", &private, "-pubout", "-out", &public]);
    if is_made { (private, public) } else { (key("signer.pem"), key("signer.pub.pem")) }
}

#[test]
fn a_signature_is_checked_against_the_key_that_the_auditor_brings() {
    let world = ran();
    let (private, public) = keys(&world);
    let ran = export(&world, "it", "signed.probity", &["--sign", &private]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("--key PUB.pem --require-signature"), "{ran:?}");
    assert_eq!(export(&world, "it", "plain.probity", &[]).code, 0);
    let less = export(&world, "signed.probity", "less.probity", &["--redact"]);
    let check = "probity audit less.probity --key PUB.pem --require-signature --allow-redacted\n";
    assert!(less.stdout.contains(check) && less.stdout.contains("was kept"), "{less:?}");
    for (run, bundle, args, word) in [
        ("it", "a", &["--sign", private.as_str()][..], "made"),
        ("signed.probity", "b", &["--redact"], "kept"),
        ("plain.probity", "c", &["--redact"], "none"),
        ("it", "d", &[], "none"),
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        assert_eq!(export(&world, run, bundle, &args).json()["signature"], word, "{bundle}");
    }
    let other = key("other.pub.pem");
    for (bundle, args, code) in [
        ("signed.probity", &["--key", public.as_str(), "--require-signature"][..], 0),
        ("signed.probity", &["--key", &public], 0),
        ("signed.probity", &[], 0),
        ("signed.probity", &["--key", &other], 1),
        ("signed.probity", &["--key", &private], 2),
        ("plain.probity", &["--key", &public], 1),
        ("plain.probity", &["--key", &public, "--require-signature"], 1),
        ("less.probity", &["--key", &public], 5),
        ("less.probity", &["--key", &public, "--allow-redacted"], 0),
        ("less.probity", &["--key", &other, "--allow-redacted"], 1),
    ] {
        let args: Vec<&str> = [bundle].into_iter().chain(args.iter().copied()).collect();
        let ran = audit(&world, &args);
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
    }
    let with = |sign: &str| export(&world, "it", "no.probity", &["--sign", sign, "--json"]);
    assert_eq!((with(&public).code, with(&public).error_code()), (64, "key_private".to_owned()));
    assert_eq!((with("absent").code, with("absent").error_code()), (64, "file_read".to_owned()));
    assert!(!world.at("no.probity").exists());
}

/// Whoever may hand in a file may hand in a log in the place of a bundle.
#[test]
fn nothing_but_a_bundle_answers_where_a_signature_is_demanded() {
    let world = exported(&["--sign", &key("signer.pem")]);
    fs::write(world.at("it.jsonl"), world.probity(["log", "export", "it"]).stdout).unwrap();
    fs::copy(world.at("it.jsonl"), world.at("proof.bin")).unwrap();
    let public = key("signer.pub.pem");
    for (path, unsigned, signed) in [
        ("out.probity", 0, 0),
        ("it", 0, 1),
        ("it.jsonl", 0, 1),
        ("proof.bin", 0, 1),
        ("absent", 3, 3),
    ] {
        let args = [path, "--key", &public, "--require-signature", "--allow-redacted"];
        assert_eq!(audit(&world, &args[..3]).code, unsigned, "{path}");
        let ran = audit(&world, &args);
        assert_eq!(ran.code, signed, "{path}: {ran:?}");
        assert_eq!(ran.stdout.contains("[audit_unsigned]"), signed == 1, "{path}: {ran:?}");
    }
    let page = world.at("page.html");
    let html = page.display().to_string();
    audit(&world, &["it", "--key", &public, "--require-signature", "--html", &html]);
    assert!(fs::read_to_string(page).unwrap().contains("✗ invalid"), "the page says the same");
}

#[test]
fn nothing_is_overwritten_and_what_fails_leaves_no_file() {
    let world = ran();
    world.write("theirs", "theirs");
    std::os::unix::fs::symlink("nowhere", world.at("link")).unwrap();
    let absent = world.at("absent/out.probity").display().to_string();
    let before = fs::read_dir(world.at("")).unwrap().count();
    for (args, code, word) in [
        (&["it", "--bundle", "theirs"][..], 64, "usage"),
        (&["it", "--bundle", "link"], 64, "usage"),
        (&["it", "--bundle", "new", "--html", "theirs"], 64, "usage"),
        (&["it", "--bundle", &absent], 74, "file_write"),
        (&["no-such-run", "--bundle", "new"], 64, "run_missing"),
        (&["no-such.probity", "--bundle", "new"], 64, "usage"),
        (&["it", "--bundle", "new", "--store", "sqlite:absent.db"], 64, "file_read"),
    ] {
        let ran = world.probity(["export"].iter().chain(args).chain(&["--json"]));
        assert_eq!((ran.code, ran.error_code().as_str()), (code, word), "{args:?}: {ran:?}");
    }
    assert_eq!(fs::read_dir(world.at("")).unwrap().count(), before);
    assert_eq!(world.read("theirs"), "theirs");
}

#[test]
fn a_run_that_goes_on_is_no_proof_of_anything_yet() {
    let world = World::new();
    let asks = "human:Ada,question=Is it kind?";
    let head = ["run", "write", "--id", "it", "--expect", asks, "--"];
    assert_eq!(world.probity(head.iter().chain(&HONEST)).code, 7);
    let ran = export(&world, "it", "out.probity", &["--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "bundle_unsealed".to_owned()), "{ran:?}");
    assert!(!world.at("out.probity").exists());
    assert_eq!(audit(&world, &["it"]).code, 1);
    assert_eq!(audit(&world, &["it", "--allow-unsealed"]).code, 0);
    let log: PathBuf = world.at("it.jsonl");
    fs::write(&log, world.probity(["log", "export", "it"]).stdout).unwrap();
    assert_eq!(audit(&world, &["it.jsonl"]).code, 1);
    assert_eq!(audit(&world, &["it.jsonl", "--allow-unsealed"]).code, 0);
}

#[test]
fn a_decision_goes_into_its_bundle_with_its_episode_and_receipt() {
    let world = as_is();
    let run = decide(&world, "medium", "touch svc-demo", "").json()["run_id"].clone();
    let ran = export(&world, run.as_str().unwrap(), "out.probity", &["--html", "out.html"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = report(&world, "out.probity");
    assert_eq!((&told["kind"], &told["verdict"]), (&"bundle".into(), &"valid".into()), "{told}");
    let checks = told["checks"].as_array().unwrap();
    assert!(checks.iter().any(|it| it["name"] == "episode" && it["state"] == "passed"), "{told}");
    let page = world.read("out.html");
    assert!(page.contains("Timeline") && !page.contains("<script"), "{page}");
    let names = Command::new("tar").arg("tf").arg(world.at("out.probity")).output().unwrap();
    let names = String::from_utf8(names.stdout).unwrap();
    assert!(names.contains("episode.json\n") && names.contains("receipt.json\n"), "{names}");
}
