//! Bounds on all processes of a command together.

use std::os::unix::fs::PermissionsExt as _;

use probity_sandbox::{Confinement, Demand, Launcher, Limits, Part, Spawn};

use super::{Bed, holds};
use crate::{PATIENCE, helper};

const FORKS: &str = "for i in $(seq 64); do sleep 30 & done 2>/dev/null; jobs -p | wc -l";

fn few() -> Limits {
    Limits { processes: Some(16), ..Limits::default() }
}

/// The helper as a user that the system holds to a number of processes.
fn as_nobody(bed: &Bed) -> Option<Launcher> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let script = bed.at("helper.sh");
    let helper = env!("CARGO_BIN_EXE_probity-sandbox-exec");
    // A number that nobody else has: what counts is all processes of the user.
    let line = format!(
        "#!/bin/sh\nexec setpriv --reuid=64123 --regid=64123 --clear-groups {helper} \"$@\"\n"
    );
    std::fs::write(&script, line).unwrap();
    for path in [bed.folder.path(), &script] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    Some(Launcher::helper(script, Vec::<String>::new()))
}

#[tokio::test]
async fn a_number_of_processes_holds_or_is_refused() {
    let bed = Bed::new();
    let spawn = bed.spawn(FORKS).limits(few());
    match spawn.run(&helper()).await {
        Ok(finished) => {
            assert!(holds(&finished.enforcement, Part::Processes));
            assert_ne!(finished.stdout.text().trim(), "64", "{finished:?}");
        }
        Err(refused) => {
            eprintln!("NOT SHOWN HERE: processes of this user; only the refusal is: {refused}");
            assert_eq!(refused.code(), "sandbox_unavailable");
        }
    }
    assert_eq!(bed.free(FORKS).await.stdout.text().trim(), "64", "it proves nothing");
}

#[tokio::test]
async fn a_fork_bomb_of_a_user_ends_at_its_bound() {
    let bed = Bed::new();
    let Some(launcher) = as_nobody(&bed) else {
        eprintln!(
            "NOT SHOWN HERE: only root can be another user; the test beside this shows its own"
        );
        return;
    };
    let spawn = Spawn::new("bash").args(["-c", FORKS]).cwd("/").timeout(PATIENCE);
    let free = spawn.run(&launcher).await.unwrap();
    assert_eq!(free.stdout.text().trim(), "64", "it proves nothing: {free:?}");
    let bounded = spawn.limits(few()).run(&launcher).await.unwrap();
    assert!(holds(&bounded.enforcement, Part::Processes), "{bounded:?}");
    assert_ne!(bounded.stdout.text().trim(), "64", "{bounded:?}");
}

/// The step that sets limits sets the confinement, too.
#[tokio::test]
async fn limits_and_a_confinement_hold_together() {
    let bed = Bed::new();
    let limits = Limits { open_files: Some(32), ..Limits::default() };
    let confinement = bed.closed().demand(Demand::BestEffort);
    let spawn = bed.spawn("ulimit -n; printf x > ../outside/file").confinement(confinement);
    let finished = spawn.limits(limits).run(&helper()).await.unwrap();
    assert_eq!(finished.stdout.text().trim(), "32");
    if holds(&finished.enforcement, Part::Files) {
        assert!(!finished.success(), "{finished:?}");
    } else {
        eprintln!("NOT SHOWN HERE: files; this machine holds {}", finished.enforcement);
    }
    let nothing = Spawn::new("/nowhere/at/all").confinement(bed.closed()).limits(limits);
    let refused = nothing.run(&helper()).await.unwrap_err();
    assert!(["command_start", "sandbox_unavailable"].contains(&refused.code()), "{refused}");
}

/// Where the machine gives a user namespaces of its own, all of it holds for users without rights.
#[tokio::test]
async fn a_user_without_rights_is_confined_as_well_or_refused() {
    let bed = Bed::new();
    let Some(launcher) = as_nobody(&bed) else {
        eprintln!("NOT SHOWN HERE: every other test shows it for this user");
        return;
    };
    let own = bed.at("work");
    for path in [own.clone(), bed.at("work/checks"), bed.at("work/checks/deep")] {
        std::os::unix::fs::chown(&path, Some(64123), Some(64123)).unwrap();
    }
    let judge = bed.at("work/checks/deep/judge.sh");
    std::os::unix::fs::chown(&judge, Some(64123), Some(64123)).unwrap();
    let closed = Confinement::closed().writable(&own).protected(&judge);
    let spawn = bed.spawn("printf y > made; mv checks away; printf x > checks/deep/judge.sh; true");
    match spawn.clone().confinement(closed).run(&launcher).await {
        Ok(finished) => {
            assert_eq!(bed.judge().as_deref(), Some("as it was"), "{finished:?}");
            assert!(bed.at("work/made").exists(), "{finished:?}");
        }
        Err(refused) => {
            eprintln!("NOT SHOWN HERE: users without rights; only the refusal is: {refused}");
            assert_eq!(refused.code(), "sandbox_unavailable");
        }
    }
    spawn.run(&launcher).await.unwrap();
    assert_ne!(bed.judge().as_deref(), Some("as it was"), "it proves nothing");
}
