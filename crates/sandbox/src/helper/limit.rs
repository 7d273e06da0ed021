//! The step between helper and command when there are limits: a process can only lower its own
//! limits for good, so the command's are set in the process that becomes it.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};

use crate::order::Order;
use crate::spawn::Limits;

/// What a shell answers for a command that cannot be run.
pub(super) const NOT_STARTED: u8 = 127;

/// `<order> <path of the failure pipe> <program> <args…>`: sets the limits and becomes the program.
/// The pipe is opened by path because an inherited descriptor could not be closed on exec.
pub(super) fn main(args: &mut dyn Iterator<Item = OsString>) -> Option<ExitCode> {
    let order = Order::parse(args.next()?.to_str()?)?;
    let mut failure = OpenOptions::new().write(true).open(args.next()?).ok()?;
    let mut command = Command::new(args.next()?);
    command.args(args);
    let errno = match apply(&order.limits) {
        Ok(()) => command.exec().raw_os_error().unwrap_or_default(),
        Err(error) => error.raw_os_error(),
    };
    // Nobody to tell when this fails: the code below says it too.
    let _ = failure.write_all(&errno.to_ne_bytes());
    Some(ExitCode::from(NOT_STARTED))
}

fn apply(limits: &Limits) -> rustix::io::Result<()> {
    // A second line for a command that kills its helper.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    for (resource, limit) in [
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Fsize, limits.file_size_bytes),
        (Resource::Nofile, limits.open_files),
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
