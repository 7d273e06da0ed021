//! The helper process: between the caller and the command, and the last to leave.
//!
//! Its standard input is one end of a socket pair. The caller sends the command's standard input
//! down it and then keeps it open; when the caller closes its sending side, or dies by whatever
//! means, the helper reads end of file and ends the command. Its answer goes back up the same
//! socket. Standard output and error are the command's own, so no byte is copied here.
//!
//! Its exit code is 0 only when everything below it is dead and its answer has been sent. What lives
//! below it may run as the same user and can then write to its socket and kill it, but not make it
//! exit with 0: the caller believes an answer only together with that code.
//!
//! No async runtime: a few system calls and two threads, so that a command costs little more than
//! itself.

mod confine;
mod control_group;
mod limit;
mod own_temp;
mod supervise;

use std::ffi::OsString;
use std::process::ExitCode;

/// Exit code for a helper that was started with arguments it does not know.
const USAGE: u8 = 64;

/// The helper's whole life. A binary calls this with the arguments that follow the prefix given to
/// [`crate::Launcher::helper`], before it starts any thread or runtime.
pub fn exec_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let mode = args.next();
    let done = match mode.as_ref().and_then(|mode| mode.to_str()) {
        Some("run") => supervise::main(&mut args),
        Some("limit") => limit::main(&mut args),
        Some("nothing") => Some(ExitCode::SUCCESS),
        _ => None,
    };
    done.unwrap_or_else(|| {
        eprintln!("probity sandbox helper: started by probity, not by hand");
        ExitCode::from(USAGE)
    })
}
