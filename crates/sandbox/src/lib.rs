//! Child processes with a clean environment and bounded output, killed whole.
//!
//! [`Spawn`] says what to run; [`Launcher`] says how it is contained. With [`Launcher::Helper`] a
//! small process stands between the caller and the command. It is the reaper of everything the
//! command leaves behind, so a daemon that forks twice, starts its own session and ignores SIGTERM
//! is dead before [`Spawn::run`] returns, and also when the caller itself is killed. Processes that
//! the command asks *others* to start (an init system, a container daemon, `at`) are out of reach.
//!
//! [`Spawn::run`] runs a command to its end; [`Spawn::start`] starts one that is talked to.
//!
//! A [`Confinement`] keeps a command from files, processes, the network and system calls, by what the
//! kernel of the machine has; each [`Part`] of it holds or is told to be missing, and a command of which
//! all is required is not started where one is.
//!
//! Without a confinement a command can kill or stop its helper, which runs as the same user. That is an error, never a
//! result, and what the helper leaves is killed from here: with the first helper the calling process
//! becomes a subreaper itself, and afterwards its children in sessions other than its own, that
//! started after the helper and are no helpers, are taken for orphans of a dead one. An embedder that
//! starts children in sessions of their own by other means can lose them to this. Not covered: a
//! command that stops its helper when the caller is killed too, and a command that may trace the
//! helper (as root with all capabilities), which can make it say anything. [`Confinement::guard`] keeps
//! commands from all three.
//!
//! Linux only: the helper stands on subreapers and `/proc`.

mod capture;
mod child;
mod confinement;
mod descendants;
mod drive;
mod group;
mod helper;
mod keeper;
mod launcher;
mod order;
mod part;
mod probe;
mod procfs;
mod spawn;

pub use capture::Captured;
pub use child::{Child, ChildStdin, ChildStdout};
pub use confinement::{Confinement, Demand, MAX_CONFINED_PATHS, Network};
pub use helper::exec_main;
pub use launcher::{Containment, Launcher};
pub use part::{Enforcement, Lack, Level, Part};
pub use probe::{probe, try_out};
pub use spawn::{
    CI_FILES, CLEAN_ENV, DEFAULT_LINGER, DEFAULT_MAX_OUTPUT_BYTES, DEFAULT_TIMEOUT, Ended,
    Finished, Limits, MAX_STDIN_BYTES, MAX_TIMEOUT, OWN_SECRETS, SandboxError, Spawn, Status,
};
