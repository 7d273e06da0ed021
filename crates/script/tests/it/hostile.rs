//! Scripts that try to take the engine down: each ends in a fault, and the pool serves the next.

use std::time::{Duration, Instant};

use probity_core::VerdictKind;
use probity_script::{Limits, Script};
use probity_verifier::Verifier as _;

use crate::support::{Setup, World, testdata};

/// The faults each may end in besides `script_timeout`: which wall it hits first can depend on the
/// machine, and on a busy one the clock can be faster than every other.
const SCRIPTS: &[(&str, &[&str])] = &[
    ("nested_loops", &["script_ticks"]),
    ("long_range", &["script_ticks", "script_heap"]),
    ("recursion", &["script_depth"]),
    ("comprehension", &["script_ticks", "script_heap"]),
    ("cyclic_json", &["script_depth"]),
    ("cyclic_return", &["script_depth"]),
    ("deep_equal", &["script_depth", "script_raise"]),
    ("deep_json", &["script_depth"]),
    ("deep_return", &["script_depth"]),
    ("deep_str", &["script_depth", "script_crash"]),
    ("repeat_text", &["script_heap"]),
    ("replace_blow_up", &["script_heap"]),
    ("join_blow_up", &["script_heap"]),
    ("sorted_range", &["script_heap"]),
    ("many_keys", &["script_ticks", "script_heap"]),
    ("text_doubling", &["script_heap"]),
    ("list_of_range", &["script_heap"]),
    ("repeat_list", &["script_heap"]),
    ("big_integers", &["script_heap"]),
    ("print_bomb", &["script_output"]),
    ("return_bomb", &["script_output"]),
    ("text_bomb", &["script_output"]),
    ("top_level_list", &["script_heap"]),
    ("top_level_comprehension", &["script_ticks", "script_heap"]),
    ("pattern_bomb", &["script_raise"]),
    ("format_width", &["script_raise"]),
];

#[tokio::test]
async fn every_hostile_script_ends_in_a_fault() {
    let mut setup = Setup::worker();
    setup.limits = Limits { wall_ms: 2_000, ..Limits::default() };
    let world = World::new(&[]);
    for (name, codes) in SCRIPTS {
        let path = testdata(&format!("hostile/{name}.star"));
        let verifier = setup.of(Script::from_file(&path).unwrap());
        let started = Instant::now();
        let fault = verifier.verify(&world.ctx).await.expect_err(name);
        let elapsed = started.elapsed();
        let code = fault.code.as_str();
        assert!(code == "script_timeout" || codes.contains(&code), "{name}: {fault}");
        assert!(fault.location.unwrap().contains(".star"), "{name}");
        assert!(elapsed < Duration::from_secs(30), "{name} took {elapsed:?}");
        let next = setup.run("def run(result):\n    return True\n", &world).await.unwrap();
        assert_eq!(next.kind, VerdictKind::Pass, "after {name}");
    }
}

#[tokio::test]
async fn every_hostile_file_is_in_the_table() {
    let mut files: Vec<String> = std::fs::read_dir(testdata("hostile"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort_unstable();
    let mut names: Vec<&str> = SCRIPTS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(files, names);
}
