//! Replays the corpus: what once reached new code reaches it again, without a panic.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that breaks should say so at once")]

use std::path::PathBuf;

use probity_fuzz::Target;

fn corpus(target: Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name());
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
    let mut inputs: Vec<_> = entries.map(|entry| read(entry.unwrap().path())).collect();
    inputs.sort();
    inputs
}

fn replay(target: Target) {
    let inputs = corpus(target);
    assert!(inputs.len() >= 10, "{}: a corpus of {}", target.name(), inputs.len());
    for (path, bytes) in &inputs {
        let run = std::panic::catch_unwind(|| target.run(bytes));
        assert!(run.is_ok(), "{}", path.display());
    }
    target.seeds().iter().for_each(|seed| target.run(seed));
}

macro_rules! replays {
    ($($name:ident: $target:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            replay(Target::$target);
        })*
    };
}

replays! {
    traces: Trace,
    resealed_runs: Resealed,
    files_of_a_run: RunFile,
    traces_as_the_source_system_reads_them: Compat,
    answers: Answer,
    episodes: Episode,
    run_logs: RunLog,
    bundles: Bundle,
}

#[test]
fn every_target_has_a_name_and_seeds() {
    for target in Target::ALL {
        assert_eq!(Target::named(target.name()), Some(target));
        assert!(!target.seeds().is_empty(), "{}", target.name());
    }
    assert_eq!(Target::named("other"), None);
}
