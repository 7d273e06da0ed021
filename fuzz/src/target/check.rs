//! What an operator writes about checks, and what the sealed judge is kept as.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use probity_verifier::spec::{format_duration_ms, parse_duration_ms, parse_long_duration_ms};
use probity_verifier::{JudgeManifest, Manifest, compile_glob, expect, key_of, path_of};

use super::Target;
use crate::seed;
use crate::tape::Tape;

pub(super) const TARGETS: [Target; 3] = [
    Target::new("expect", expected, || seed::texts(&EXPECTED)),
    Target::new("path", path, || seed::texts(&["src/**/*.rs\na/b\\x0a.txt", "{a,b}[!c]?\n../\\"])),
    Target::new("manifest", manifest, manifests),
];

const EXPECTED: [&str; 16] = [
    "file:out.txt,created,contains=hello",
    "file:a\\,b.txt,mode=0644,min_size=3,sha256=0000000000000000000000000000000000000000000000000000000000000000",
    "dir:out,exists,min_entries=1",
    "text:contains=hi,matches=^a+$",
    "json:out.json,at=/a/0,equals={\"b\":1.0}",
    "command:cargo test,timeout=10m,inputs=tests/**,inputs=Cargo.toml",
    "http:https://example.com/a,status=200|2xx,contains=ok",
    "git:refs/heads/release,created,pushed=origin",
    "sqlite:db.sqlite,query=select 1,equals=1",
    "port:127.0.0.1:80,open",
    "process:nginx,running",
    "changes_only:CHANGELOG.md,docs/**",
    "changes_only:none",
    "citations:answer.md,evidence=sources",
    "human:alice,timeout=2d",
    "external:./check.py --strict,id=mine",
];

/// The text of an `--expect`: written again and read, it is the same check; a duration is within its
/// bounds and keeps its length.
fn expected(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match expect::parse(text) {
        Ok(check) => {
            if let Some(written) = expect::to_expect_string(&check) {
                let again = expect::parse(&written);
                assert_eq!(again.as_ref(), Ok(&check), "{text:?} is written {written:?}");
                assert_eq!(expect::to_expect_string(&check), Some(written), "one check, two texts");
            }
        }
        Err(error) => {
            assert!(error.column >= 1 && error.column <= text.chars().count() + 2, "{error:?}");
        }
    }
    if let Some(millis) = parse_duration_ms(text) {
        assert!((1..=3_600_000).contains(&millis));
        assert_eq!(parse_duration_ms(&format_duration_ms(millis)), Some(millis));
        assert_eq!(parse_long_duration_ms(text), Some(millis));
    }
}

/// Two paths: their keys are one line each, stand for them alone and are read back. And a glob.
fn path(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let (one, other) = (tape.line(), tape.rest());
    let keys = [one, other].map(|bytes| {
        let path = Path::new(OsStr::from_bytes(bytes));
        let key = key_of(path);
        assert!(!key.contains(['\n', '\r', '\0']), "a key of more than one line");
        let read = path_of(&key);
        assert_eq!(read.as_deref().map(Path::as_os_str), Some(path.as_os_str()), "{key:?}");
        key
    });
    let [first, second] = &keys;
    assert_eq!(one == other, first == second, "two paths of one key");
    for text in [one, other].iter().filter_map(|bytes| std::str::from_utf8(bytes).ok()) {
        if let Some(path) = path_of(text) {
            assert_eq!(key_of(path), text, "a key that nobody writes");
        }
        if let Ok(glob) = compile_glob(text) {
            let matcher = glob.compile_matcher();
            // A pattern of plain letters is the path itself and nothing beside it.
            if text.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !text.is_empty() {
                assert!(matcher.is_match(text) && !matcher.is_match(format!("{text}x")));
            }
        }
    }
}

/// The manifest of a workspace, or of the judge: one state has one form, and a reading differs from
/// itself in nothing.
fn manifest(bytes: &[u8]) {
    if let Ok(manifest) = Manifest::from_bytes(bytes) {
        assert_eq!(manifest.to_bytes(), bytes, "a second form");
        for (key, _) in manifest.iter() {
            assert!(path_of(key).is_some(), "{key:?} is no path");
            assert!(!key.starts_with('/') && key.split('/').all(|part| part != ".."), "{key:?}");
        }
    }
    if let Ok(judge) = JudgeManifest::from_bytes(bytes) {
        assert_eq!(judge.to_bytes(), bytes, "a second form");
        assert!(judge.differences(&judge).is_empty(), "it differs from itself");
    }
}

fn manifests() -> Vec<Vec<u8>> {
    let empty = Manifest::default().to_bytes();
    let digest = "7d96658269ae138e5aa17d96658269ae138e5aa17d96658269ae138e5aa1abcd";
    let more = format!("d 0755 0 - src\nf 0644 3 {digest} src/a.rs\nl 0777 3 {digest} x\\x0a\n");
    let judge = format!(
        "{{\"files\":{{\"t.sh\":{{\"file\":{{\"digest\":\"{digest}\"}}}}}},\"texts\":{{}},\"patterns\":[]}}"
    );
    let nothing = b"{\"files\":{},\"texts\":{},\"patterns\":[]}".to_vec();
    vec![[empty.as_slice(), more.as_bytes()].concat(), empty, nothing, judge.into_bytes()]
}
