//! What is said to runs, by whom, and where that is shown.

use std::io::Write as _;
use std::process::Stdio;

use crate::fleet::{events, submit, work_off};
use crate::world::{HONEST, Ran, World};

/// Runs a command that is given its standard input.
fn fed(world: &World, args: &[&str], input: &[u8]) -> Ran {
    let mut child = world
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that refuses what is too long does not read it to its end.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().unwrap().into()
}

#[test]
fn a_text_for_the_delegate_is_read_from_standard_input() {
    let world = World::new();
    submit(&world, "it", &[], &["sh", "-c", "cat > ../prompt; echo hello > out.txt"]);
    let told =
        fed(&world, &["steer", "it", "-", "--by", "Ada"], "softly,\nplease: größe".as_bytes());
    assert_eq!((told.code, told.stdout.as_str()), (0, "run it was told\n"), "{told:?}");
    assert_eq!(work_off(&world, &[]).code, 0);
    let prompt = std::fs::read_to_string(world.beside("prompt")).unwrap();
    assert!(prompt.contains("please: größe"), "{prompt}");
}

#[test]
fn a_text_that_would_not_be_kept_whole_is_refused() {
    let world = World::new();
    submit(&world, "it", &[], &HONEST);
    let before = events(&world, "it");
    let most = 64 * 1024;
    let long = "x".repeat(most + 1);
    for (args, input) in [
        (&["steer", "it", "-", "--by", "Ada", "--json"][..], long.as_bytes()),
        (&["steer", "it", "-", "--by", "Ada", "--json"], b"\xff"),
        (&["steer", "it", "-", "--by", "Ada", "--json"], b" \n"),
        (&["steer", "it", &long, "--by", "Ada", "--json"], b""),
        (&["cancel", "it", "--reason", &long, "--by", "Ada", "--json"], b""),
    ] {
        let ran = fed(&world, args, input);
        assert_eq!((ran.code, ran.error_code().as_str()), (64, "usage"), "{ran:?}");
    }
    assert_eq!(events(&world, "it"), before);
    let whole = fed(&world, &["steer", "it", "-", "--by", "Ada"], "x".repeat(most).as_bytes());
    assert_eq!(whole.code, 0, "{whole:?}");
}

#[test]
fn a_name_that_hides_something_is_no_name() {
    let world = World::new();
    submit(&world, "it", &[], &HONEST);
    let before = events(&world, "it");
    let long = "x".repeat(129);
    for by in
        ["", " ", "Ada\nBob", "\u{1b}[31mAda", "\u{202e}adA", "A\u{200b}da", "Ada\u{2028}", &long]
    {
        for head in [
            &["cancel", "it"][..],
            &["steer", "it", "softly"],
            &["resume", "it", "--approve"],
            &["resume", "it", "--wake", "1", "--about", "x"],
            &["log", "answer", "it", "--approve"],
            &["run", "--resume", "it", "--answer", "waive"],
        ] {
            let ran = world.probity(head.iter().copied().chain(["--json", "--by", by]));
            assert_eq!((ran.code, ran.error_code().as_str()), (64, "usage"), "{by:?} {head:?}");
            assert!(ran.stderr.contains("--by must name who says this"), "{ran:?}");
            let shown = ran.stderr.trim_end_matches('\n');
            assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{ran:?}");
        }
    }
    assert_eq!(events(&world, "it"), before);
}

#[test]
fn a_run_that_was_stopped_says_who_asked_and_why() {
    let world = World::new();
    submit(&world, "it", &[], &HONEST);
    let asked = world.probity(["cancel", "it", "--by", "Ada B.", "--reason", "too late\u{1b}[2J"]);
    assert_eq!(asked.code, 0, "{asked:?}");
    // Nobody heard of it yet.
    let shown = world.probity(["log", "show", "it"]);
    let goes_on = "NOT FINISHED: to be stopped by Ada B.: too late\\u{1b}[2J\n";
    assert!(shown.stdout.starts_with(goes_on), "{shown:?}");
    let again = world.probity(["cancel", "it", "--by", "Bob", "--json"]);
    assert_eq!(again.json()["new"], false, "it was Ada who asked: {again:?}");
    assert_eq!(work_off(&world, &[]).code, 0);
    for args in [&["watch", "it"][..], &["log", "show", "it"], &["run", "--resume", "it"]] {
        let ran = world.probity(args);
        let said = "CANCELLED: by Ada B.: too late\\u{1b}[2J";
        assert!(ran.stdout.starts_with(said), "{args:?}: {ran:?}");
        let ran = world.probity(args.iter().copied().chain(["--json"])).json();
        assert_eq!(ran["cancel_requested"]["by"], "Ada B.", "{args:?}: {ran}");
        assert_eq!(ran["cancel_requested"]["reason"], "too late\u{1b}[2J", "{args:?}: {ran}");
    }
}

#[test]
fn a_run_that_nobody_asked_to_stop_names_nobody() {
    let world = World::new();
    let ran = world.gate(&HONEST, &["--json"]);
    assert_eq!(ran.json().get("cancel_requested"), None, "{ran:?}");
}
