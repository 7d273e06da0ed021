//! Runs that are stopped half way: killed, asked to stop, taken up again.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::world::{CREATED, World};

/// Starts a run whose delegate waits forever the first time, and gives it once the delegate works.
fn waiting(world: &World) -> Child {
    let made = Command::new("mkfifo").arg(world.beside("never")).status().unwrap();
    assert!(made.success());
    let delegate =
        "if [ -e ../second ]; then echo hello > out.txt; else read word < ../never; fi; echo Done.";
    let args = ["run", "write", "--id", "it", "--expect", CREATED, "--", "sh", "-c", delegate];
    let mut run =
        world.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = BufReader::new(run.stderr.take().unwrap()).lines();
    assert!(progress.any(|line| line.unwrap().contains("the delegate works")));
    run
}

#[test]
fn a_killed_run_is_taken_up_again_and_nothing_is_counted_twice() {
    let world = World::new();
    let mut run = waiting(&world);
    run.kill().unwrap();
    run.wait().unwrap();
    let shown = world.probity(["log", "show", "it"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.starts_with("NOT FINISHED: "), "{shown:?}");
    assert!(shown.stderr.contains("next: probity run --resume it"), "{shown:?}");
    let list = world.probity(["log", "list"]);
    assert_eq!(world.redact(&list.stdout), "it  TIME  not finished     write\n");
    let export = world.probity(["log", "export", "it"]);
    assert_eq!(export.code, 0);
    assert!(export.stderr.contains("not sealed"), "{export:?}");
    let early = world.probity(["recheck", "it", "--json"]);
    assert_eq!((early.code, &early.json()["outcome"]), (3, &serde_json::Value::Null));
    std::fs::write(world.beside("second"), "").unwrap();
    let resumed = world.probity(["run", "--resume", "it"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert!(resumed.stdout.contains("VERIFIED after 1 attempt"), "{resumed:?}");
    assert!(resumed.stdout.contains("1 interruption"), "{resumed:?}");
    assert!(resumed.stderr.contains("file_out.txt pass"), "checks keep their names: {resumed:?}");
    let again = world.probity(["run", "--resume", "it", "--json"]);
    assert_eq!((again.code, &again.json()["attempts"]), (0, &1.into()));
}

#[test]
fn a_run_that_is_told_to_stop_is_cancelled_and_sealed() {
    let world = World::new();
    let run = waiting(&world);
    let told = Command::new("kill").args(["-TERM", &run.id().to_string()]).status().unwrap();
    assert!(told.success());
    let ran: crate::world::Ran = run.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.stdout.starts_with("CANCELLED"), "{ran:?}");
    assert!(ran.stdout.contains("sealed"), "{ran:?}");
}
