//! Sets a confinement on the calling thread, which then starts the command.
//!
//! Landlock, the filter of system calls, capabilities and namespaces of mounts and network belong to a
//! thread, and what it starts inherits them. So a thread of the helper confines itself, starts the command
//! and ends: the helper stays outside, where the command cannot reach it, and no second program has to be
//! loaded. Only a user namespace is of the whole process, and entered before there are threads.

mod calls;
mod fence;
mod mounts;
mod rights;

use std::path::PathBuf;

use rustix::io::Errno;

use crate::confinement::{Confinement, Demand};
use crate::part::{Enforcement, Lack, Level, Part};

/// A confinement as far as the process as a whole is concerned.
pub(super) struct Ground {
    confinement: Confinement,
    /// Where relative paths start; mounts may come to lie on it.
    cwd: PathBuf,
    /// Sockets of daemons that are there.
    daemons: Vec<PathBuf>,
    /// Whether this user may set up namespaces, itself or in a user namespace that was entered.
    namespaces: Result<(), Lack>,
}

impl Ground {
    /// Enters a user namespace, where one is needed. To be called before there is a second thread.
    pub(super) fn enter(confinement: Confinement) -> Self {
        let daemons =
            if confinement.is_closed { mounts::daemons(&confinement) } else { Vec::new() };
        let has_mounts = !confinement.protected.is_empty()
            || !confinement.hidden.is_empty()
            || !daemons.is_empty();
        let namespaces = match (rights::is_admin(), has_mounts) {
            (true, _) => Ok(()),
            (false, true) => rights::enter_user_namespace(),
            // Sockets are refused by the filter too: not worth a namespace, in which other users' files
            // belong to nobody.
            (false, false) => Err(Lack::Denied),
        };
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Self { confinement, cwd, daemons, namespaces }
    }

    /// Confines the calling thread for good.
    ///
    /// # Errors
    /// What held and what did not, where all of it was required: nothing must be started then.
    pub(super) fn apply(&self) -> Result<Enforcement, Enforcement> {
        let mut held = Enforcement::default();
        let asked = self.confinement.parts();
        for (part, level) in mounts::arrange(self) {
            held.set(part, level);
        }
        held.set(Part::Privileges, level(rights::give_up(&self.confinement)));
        for (part, level) in fence::raise(&self.confinement) {
            held.set(part, level);
        }
        if self.confinement.is_closed {
            let denied = calls::deny(self.confinement.denies_network());
            held.set(Part::Calls, level(denied));
            if self.confinement.denies_network() {
                held.set(Part::Network, level(denied));
            }
        }
        for part in asked {
            if held.parts().all(|(known, _)| known != part) {
                held.set(part, Level::Unavailable(Lack::Failed));
            }
        }
        match held.is_whole() || self.confinement.demand == Demand::BestEffort {
            true => Ok(held),
            false => Err(held),
        }
    }
}

fn level(done: Result<(), Lack>) -> Level {
    match done {
        Ok(()) => Level::Enforced,
        Err(lack) => Level::Unavailable(lack),
    }
}

fn lack(error: Errno) -> Lack {
    match error {
        Errno::PERM | Errno::ACCESS | Errno::NOSPC | Errno::USERS => Lack::Denied,
        Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL => Lack::Kernel,
        _ => Lack::Failed,
    }
}
