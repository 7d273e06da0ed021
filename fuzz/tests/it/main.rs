//! Replays the corpus: what once reached new code reaches it again, without a panic.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that breaks should say so at once")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use probity_fuzz::Target;

/// What may be committed of one target.
const MAX_FILES: usize = 200;
const MAX_BYTES: usize = 300 * 1024;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn corpus(target: Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = folder().join(target.name());
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
    let mut inputs: Vec<_> = entries.map(|entry| read(entry.unwrap().path())).collect();
    inputs.sort();
    inputs
}

fn replay(name: &str) {
    let target = Target::named(name).unwrap();
    let inputs = corpus(target);
    let bytes: usize = inputs.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(inputs.len() >= 4, "{name}: a corpus of {}", inputs.len());
    assert!(inputs.len() <= MAX_FILES && bytes <= MAX_BYTES, "{name}: {} of {bytes}", inputs.len());
    for (path, bytes) in &inputs {
        let run = std::panic::catch_unwind(|| target.run(bytes));
        assert!(run.is_ok(), "{}", path.display());
    }
    target.seeds().iter().for_each(|seed| target.run(seed));
}

macro_rules! replays {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_replayed() {
            let replayed = BTreeSet::from([$(stringify!($name)),*]);
            let targets: BTreeSet<&str> = Target::all().map(|target| target.name()).collect();
            assert_eq!(replayed, targets);
        }
    };
}

replays! {
    trace, resealed, run_file, compat, answer,
    episode, run_log, bundle, signature,
    canonical, record, entries,
    machine, world, crash,
    definition, workflow,
    hook_file, profile, policy,
    expect, path, manifest,
    hook_event, settings, agent_output,
    address, url, token, keys, request, model,
    otlp, index, origin,
    feedback, words,
}

#[test]
fn every_target_has_a_name_seeds_and_a_line_in_the_readme() {
    let readme = std::fs::read_to_string(folder().with_file_name("README.md")).unwrap();
    for target in Target::all() {
        let name = target.name();
        assert_eq!(Target::named(name).map(|it| it.name()), Some(name));
        assert!(!target.seeds().is_empty(), "{name}");
        assert!(readme.contains(&format!("| `{name}` |")), "{name} is not in fuzz/README.md");
    }
    assert!(Target::named("other").is_none());
}

#[test]
fn nothing_is_kept_of_a_target_that_there_is_not() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(Target::named(&name).is_some(), "fuzz/corpus/{name}");
    }
}
