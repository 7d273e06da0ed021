//! Rights: none may be gained, and those of root are given up.

use std::fs;

use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::lack;
use crate::confinement::Confinement;
use crate::part::Lack;

/// What root keeps in a closed confinement: files and users, and nothing of the machine.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Whether this process may set up namespaces without a user namespace of its own.
pub(super) fn is_admin() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// A user namespace in which this user is itself and nobody else is anybody. Takes a process without
/// a second thread.
pub(super) fn enter_user_namespace() -> Result<(), Lack> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER)?;
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ];
    for (path, map) in maps {
        fs::write(path, map).map_err(|_| Lack::Denied)?;
    }
    Ok(())
}

#[expect(
    deprecated,
    reason = "its successor is unsafe for the sake of CLONE_FILES, never passed here"
)]
pub(super) fn unshare(flags: UnshareFlags) -> Result<(), Lack> {
    rustix::thread::unshare(flags).map_err(lack)
}

/// No right is gained from here on. Root in a closed confinement keeps [`KEPT`]: a program that it
/// starts has what is left in the bounding set.
pub(super) fn give_up(confinement: &Confinement) -> Result<(), Lack> {
    set_no_new_privs(true).map_err(lack)?;
    let held = capabilities(None).map_err(lack)?;
    if !confinement.is_closed || (held.permitted.is_empty() && !geteuid().is_root()) {
        return Ok(());
    }
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        if KEPT.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // There are no more.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(lack(error)),
        }
    }
    clear_ambient_capability_set().map_err(lack)?;
    let sets = CapabilitySets { inheritable: CapabilitySet::empty(), ..held };
    set_capabilities(None, sets).map_err(lack)
}
