//! `probity verify`: a claim from elsewhere.

use std::io::Write as _;
use std::process::Stdio;

use crate::world::World;

#[test]
fn a_claim_is_judged_by_the_world_and_by_its_words() {
    let world = World::new();
    world.write("claim.json", r#"{"response": "wrote out.txt"}"#);
    let args = ["verify", "--result", "claim.json", "--expect", "file:out.txt"];
    let ran = world.probity(args);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("EXHAUSTED after 1 attempt: file_out.txt: "), "{ran:?}");
    world.write("out.txt", "");
    assert_eq!(world.probity(args).code, 0);
    let words = ["verify", "--result", "claim.json", "--expect", "text:contains=wrote"];
    assert_eq!(world.probity(words).code, 0);
    let words = ["verify", "--result", "claim.json", "--expect", "text:contains=red"];
    assert_eq!(world.probity(words).code, 1);
}

#[test]
fn a_claim_may_come_from_a_pipe_and_must_be_one() {
    let world = World::new();
    let args = ["verify", "--result", "-", "--expect", "text:contains=hello", "--json"];
    let mut child = world
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"hello there\n").unwrap();
    let ran: crate::world::Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}");
    world.write("claim.json", r#"{"answer": 1"#);
    for (file, code) in [("claim.json", "usage"), ("absent.json", "file_read")] {
        let ran = world.probity(["verify", "--result", file, "--json"]);
        assert_eq!((ran.code, ran.error_code().as_str()), (64, code));
    }
}

#[test]
fn nobody_is_said_to_work_where_a_claim_was_made_elsewhere() {
    let world = World::new();
    world.write("claim.txt", "done");
    let ran = world.probity(["verify", "--result", "claim.txt", "--expect", "file:claim.txt"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("claim received"), "{ran:?}");
    assert!(!ran.stderr.contains("the delegate works"), "{ran:?}");
}
