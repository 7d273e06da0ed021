//! A view of the file system in which what is protected is read-only and what is hidden is empty.
//!
//! Rules of Landlock only add rights, so a path inside of a writable folder can be kept by a mount
//! alone. A mount that is made here is seen by the command and by nobody else. What a mount lies on
//! cannot be renamed, removed or replaced by those who see it; but a folder above it can be, and would
//! take it along, so each of those up to the writable folder gets a mount onto itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount,
};
use rustix::process::geteuid;
use rustix::thread::UnshareFlags;

use super::{Ground, lack, level, rights};
use crate::confinement::{Confinement, MAX_CONFINED_PATHS};
use crate::part::{Lack, Level, Part};

/// Where daemons listen that start programs or mount folders for whoever asks.
const DAEMONS: [&str; 7] = [
    "/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/dbus",
    "/run/systemd/private",
    "/run/libvirt",
];

/// The sockets of daemons that are there and that the confinement does not name as writable.
pub(super) fn daemons(confinement: &Confinement) -> Vec<PathBuf> {
    let own = PathBuf::from(format!("/run/user/{}", geteuid().as_raw()));
    let all = DAEMONS.into_iter().map(PathBuf::from).chain([own]);
    let is_named = |path: &PathBuf| {
        confinement.writable.iter().any(|named| path.starts_with(named) || named.starts_with(path))
    };
    all.filter(|path| path.exists() && !is_named(path)).collect()
}

/// Makes the view and enters it.
pub(super) fn arrange(ground: &Ground) -> Vec<(Part, Level)> {
    let Ground { confinement, cwd, daemons, .. } = ground;
    let mut parts = Vec::new();
    let has_mounts =
        !(confinement.protected.is_empty() && confinement.hidden.is_empty() && daemons.is_empty());
    let view = if has_mounts { private(ground) } else { Ok(()) };
    if confinement.is_closed {
        parts.push((Part::Daemons, level(view.and_then(|()| hide(daemons)))));
    }
    if !confinement.hidden.is_empty() {
        parts.push((Part::Hidden, level(view.and_then(|()| hide(&confinement.hidden)))));
    }
    if !confinement.protected.is_empty() {
        parts.push((Part::Protected, level(view.and_then(|()| protect(confinement)))));
    }
    if has_mounts && view.is_ok() && std::env::set_current_dir(cwd).is_err() {
        // It stands on what a mount covers, from where the way leads past every mount.
        parts.iter_mut().for_each(|(_, level)| *level = Level::Unavailable(Lack::Failed));
    }
    if confinement.denies_network() && ground.namespaces.is_ok() {
        // The filter refuses the sockets; this is the second line.
        let _ = rights::unshare(UnshareFlags::NEWNET);
    }
    parts
}

/// A copy of the mounts of which nothing comes back.
fn private(ground: &Ground) -> Result<(), Lack> {
    ground.namespaces?;
    rights::unshare(UnshareFlags::NEWNS)?;
    let down = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", down).map_err(lack)
}

fn hide(paths: &[PathBuf]) -> Result<(), Lack> {
    if paths.len() > MAX_CONFINED_PATHS {
        return Err(Lack::Many);
    }
    let bare = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    for path in paths {
        // Through links: what they lead to is what is hidden.
        let Ok(path) = path.canonicalize() else { continue };
        if path.is_dir() {
            mount("tmpfs", &path, "tmpfs", bare, c"size=4k,mode=555").map_err(lack)?;
        } else {
            mount_bind("/dev/null", &path).map_err(lack)?;
        }
    }
    Ok(())
}

fn protect(confinement: &Confinement) -> Result<(), Lack> {
    let mut paths = BTreeSet::new();
    for path in &confinement.protected {
        let all = &confinement.protected;
        match located(path) {
            // The folder that it is in keeps the link; what it leads to is kept beside it.
            Err(Lack::Link) if all.iter().any(|other| other != path && path.starts_with(other)) => {
                paths.extend(path.canonicalize());
            }
            found => paths.extend(found?),
        }
    }
    let inner: BTreeSet<&PathBuf> = paths.iter().filter(|path| !is_below(path, &paths)).collect();
    if inner.len() > MAX_CONFINED_PATHS {
        return Err(Lack::Many);
    }
    let roots: Vec<PathBuf> =
        confinement.writable.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let mut above = BTreeSet::new();
    for path in &inner {
        above.extend(between(path, &roots));
    }
    // By their order, a folder comes before what is in it.
    for folder in &above {
        mount_bind_recursive(folder, folder).map_err(lack)?;
    }
    inner.into_iter().try_for_each(|path| read_only(path))
}

/// Where a path is, its links resolved but for the last name; nothing where there is none.
fn located(path: &Path) -> Result<Option<PathBuf>, Lack> {
    let Ok(about) = fs::symlink_metadata(path) else { return Ok(None) };
    if about.is_symlink() {
        return Err(Lack::Link);
    }
    path.canonicalize().map(Some).map_err(|_| Lack::Failed)
}

fn is_below(path: &Path, others: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().skip(1).any(|above| others.contains(above))
}

/// The folders between a path and the outermost writable folder that it is in.
fn between(path: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let outermost = path.ancestors().filter(|above| roots.iter().any(|root| root == above)).last();
    let Some(outermost) = outermost else { return Vec::new() };
    let above = path.ancestors().skip(1).take_while(|above| *above != outermost);
    above.map(Path::to_path_buf).collect()
}

fn read_only(path: &Path) -> Result<(), Lack> {
    mount_bind_recursive(path, path).map_err(lack)?;
    // What a mount forbids already cannot be left out by a user namespace.
    let kept = statvfs(path).map_err(lack)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (held, flag) in [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if kept.contains(held) {
            flags |= flag;
        }
    }
    mount_remount(path, flags, c"").map_err(|error: Errno| lack(error))
}
