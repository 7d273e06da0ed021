//! The step between helper and command when there are limits: a process can only lower its own
//! limits for good, so the command's are set in the process that becomes it. It sets the confinement, too,
//! because behind it the step could not say what came of its own work.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::process::{
    Resource, Rlimit, Signal, geteuid, getrlimit, set_parent_process_death_signal, setrlimit,
};

use super::confine::Ground;
use super::control_group;
use crate::confinement::{Confinement, Demand};
use crate::order::Order;
use crate::part::{Enforcement, Lack, Level, Part};
use crate::spawn::Limits;

/// What a shell answers for a command that cannot be run.
const NOT_STARTED: u8 = 127;

/// What the step said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// What held of limits and confinement.
    pub(super) enforcement: Enforcement,
    /// Not everything held that was required, and nothing was started.
    pub(super) is_refused: bool,
    /// Why the command did not start.
    pub(super) errno: Option<i32>,
}

impl Told {
    pub(super) fn parse(text: &str) -> Self {
        let mut told = Self::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("held", parts)) => {
                    told.enforcement = Enforcement::parse(parts).unwrap_or_default();
                }
                Some(("refused", parts)) => {
                    told.enforcement = Enforcement::parse(parts).unwrap_or_default();
                    told.is_refused = true;
                }
                Some(("errno", number)) => told.errno = number.parse().ok(),
                _ => {}
            }
        }
        told
    }
}

/// `<order> <path of the failure pipe> <control group> <confinement…> <program> <args…>`: sets limits and
/// confinement and becomes the program. The pipe is opened by path because an inherited descriptor could
/// not be closed on exec.
pub(super) fn main(args: &mut dyn Iterator<Item = OsString>) -> Option<ExitCode> {
    let order = Order::parse(args.next()?.to_str()?)?;
    let mut failure = OpenOptions::new().write(true).open(args.next()?).ok()?;
    let group = PathBuf::from(args.next()?);
    let words: Vec<OsString> = args.take(order.confinement_len).collect();
    let confinement = match words.is_empty() {
        true => None,
        false => Some(Confinement::parse(&words)?),
    };
    let mut command = Command::new(args.next()?);
    command.args(args);
    let errno = match apply(&order.limits, &group, confinement, &mut failure) {
        Ok(true) => command.exec().raw_os_error().unwrap_or_default(),
        Ok(false) => return Some(ExitCode::from(NOT_STARTED)),
        Err(error) => error.raw_os_error(),
    };
    // Nobody to tell when this fails: the code below says it too.
    let _ = writeln!(failure, "errno {errno}");
    Some(ExitCode::from(NOT_STARTED))
}

/// Whether the command may be started.
fn apply(
    limits: &Limits,
    group: &Path,
    confinement: Option<Confinement>,
    failure: &mut File,
) -> rustix::io::Result<bool> {
    // A second line for a command that kills its helper.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut held = counted(limits, group);
    let demand = confinement.as_ref().map_or(Demand::Required, |asked| asked.demand);
    let mut is_refused = !held.is_whole() && demand == Demand::Required;
    if let Some(confinement) = confinement {
        let confined = Ground::enter(confinement).apply();
        is_refused |= confined.is_err();
        let (Ok(parts) | Err(parts)) = confined;
        held.join(&parts);
    }
    let word = if is_refused { "refused" } else { "held" };
    // Where it is not heard, nothing is taken for held.
    let _ = writeln!(failure, "{word} {held}");
    if !is_refused {
        bound(limits)?;
    }
    Ok(!is_refused)
}

/// Limits on all processes together.
fn counted(limits: &Limits, group: &Path) -> Enforcement {
    let mut held = Enforcement::default();
    let joined = if group == Path::new("-") { None } else { control_group::join(group) };
    let (has_processes, has_memory) = joined.unwrap_or_default();
    let level = |holds| match holds {
        true => Level::Enforced,
        false => Level::Unavailable(Lack::Controller),
    };
    if limits.processes.is_some() {
        // The system does not hold root to a number of processes.
        held.set(Part::Processes, level(has_processes || !geteuid().is_root()));
    }
    if limits.memory_bytes.is_some() {
        held.set(Part::Memory, level(has_memory));
    }
    held
}

fn bound(limits: &Limits) -> rustix::io::Result<()> {
    for (resource, limit) in [
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Fsize, limits.file_size_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, limits.processes),
        (Resource::Core, Some(0)),
        // Last: from here on this process may not be able to allocate.
        (Resource::As, limits.address_space_bytes),
    ] {
        let Some(limit) = limit else { continue };
        let now = getrlimit(resource).maximum;
        let limit = Some(now.map_or(limit, |now| now.min(limit)));
        setrlimit(resource, Rlimit { current: limit, maximum: limit })?;
    }
    Ok(())
}
