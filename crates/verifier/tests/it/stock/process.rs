//! `process:NAME`.

use std::process::{Child, Command, Stdio};

use super::bed::{Bed, until};

/// Kills the process at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A copy of `sleep` under a name of its own.
fn start(bed: &Bed, name: &str) -> Running {
    let program = ["/bin/sleep", "/usr/bin/sleep"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
        .unwrap();
    let copy = bed.outside().join(name);
    std::fs::copy(program, &copy).unwrap();
    let mut command = Command::new(copy);
    Running(command.arg("60").stdin(Stdio::null()).spawn().unwrap())
}

#[test]
fn a_running_process_is_found_by_its_whole_name_until_it_ends() {
    let mut bed = Bed::new();
    bed.start();
    // The test's own process id keeps runs beside each other apart.
    let id = std::process::id();
    let (short, long) = (format!("p{id}"), format!("probity-test-process-{id}"));
    assert_eq!(bed.says(&format!("process:{long}")), "revise process_missing");
    assert_eq!(bed.says(&format!("process:{long},absent")), "pass");

    let running = [start(&bed, &short), start(&bed, &long)];
    for name in [&short, &long] {
        until("the process runs", || bed.says(&format!("process:{name}")) == "pass");
        assert_eq!(bed.says(&format!("process:{name},absent")), "revise process_present");
    }
    // The first 15 bytes are all that the system keeps; sharing them is not being it.
    assert_eq!(bed.says(&format!("process:{long}x")), "revise process_missing");
    assert_eq!(
        bed.says(&format!("process:{}x", &long[..long.len() - 1])),
        "revise process_missing"
    );

    drop(running);
    assert_eq!(bed.says(&format!("process:{short}")), "revise process_missing");
    assert_eq!(bed.red(&format!("process:{long}")), "revise process_missing");
}

#[test]
fn a_process_that_ended_and_was_not_reaped_does_not_run() {
    let mut bed = Bed::new();
    bed.start();
    let name = format!("z{}", std::process::id());
    let mut running = start(&bed, &name);
    until("the process runs", || bed.says(&format!("process:{name}")) == "pass");
    running.0.kill().unwrap();
    until("the process ends", || bed.says(&format!("process:{name}")) == "revise process_missing");
}
