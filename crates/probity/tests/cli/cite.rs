//! Cited answers: markers that are written, runs that are gated by them.

use crate::world::World;

const SUN: &str = "The Sun adds a smaller pull.";

fn world() -> World {
    let world = World::new();
    world.write("sources/sun.txt", SUN);
    world.write("sources/twice.txt", "tide, tide");
    world
}

#[test]
fn a_marker_is_printed_for_words_that_stand_there() {
    let world = world();
    let ran = world.probity(["cite", "sources/sun.txt", SUN]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let page = include_str!("../../../../docs/citations.md");
    assert!(page.contains(ran.stdout.trim_end()), "the page shows another marker: {}", ran.stdout);
    let absent = world.probity(["cite", "sources/sun.txt", "The Sun adds a larger pull."]);
    assert_eq!((absent.code, absent.stdout.as_str()), (1, ""), "{absent:?}");
    assert_eq!(world.probity(["cite", "sources/sun.txt", ""]).code, 64);
    assert_eq!(world.probity(["cite", "sources/none.txt", "x"]).code, 64);
}

#[test]
fn words_that_stand_twice_are_told_apart() {
    let world = world();
    let first = world.probity(["cite", "sources/twice.txt", "tide", "--json"]);
    assert!(first.stdout.contains("\"start\":0"), "{first:?}");
    assert!(first.stderr.contains("2 places"), "{first:?}");
    let second = world.probity(["cite", "sources/twice.txt", "tide", "--nth", "2", "--json"]);
    assert!(second.stdout.contains("\"start\":6"), "{second:?}");
    assert_eq!(world.probity(["cite", "sources/twice.txt", "tide", "--nth", "3"]).code, 1);
}

#[test]
fn a_run_is_gated_by_its_citations() {
    let world = world();
    let marker = world.probity(["cite", "sources/sun.txt", SUN]).stdout;
    world.write("good.md", &marker);
    world.write("bad.md", &marker.replace("smaller", "larger"));
    let gated = |answer: &str, check: &str| {
        let script = format!("cat > /dev/null; cp {answer} answer.md; echo Done.");
        world.probity([
            "run",
            "what does the Sun do?",
            "--expect",
            check,
            "--",
            "sh",
            "-c",
            &script,
        ])
    };
    let check = "citations:answer.md,evidence=sources";
    assert_eq!(gated("good.md", check).code, 0);
    let refused = gated("bad.md", check);
    assert_eq!(refused.code, 1, "{refused:?}");
    let text = format!("{}{}", refused.stdout, refused.stderr);
    assert!(text.contains("citation_quote_differs"), "{text}");
    // A delegate that writes the evidence it then cites has touched the judge.
    let forged = "cat > /dev/null; echo 'The Sun is cold.' > sources/sun.txt; cp good.md answer.md";
    let forged = world.probity([
        "run",
        "what does the Sun do?",
        "--expect",
        check,
        "--",
        "sh",
        "-c",
        forged,
    ]);
    assert_eq!(forged.code, 1, "{forged:?}");
    assert!(format!("{}{}", forged.stdout, forged.stderr).contains("judge_tampered"), "{forged:?}");
}
