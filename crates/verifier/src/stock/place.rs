//! Where a path really leads, and what stands there.

use std::path::{Component, Path, PathBuf};

use crate::CheckContext;
use crate::workspace::{Kind, PathError, Stat, key_of, path_of};

/// Links that are followed on the way.
const MAX_LINKS: usize = 40;

/// What a path leads to.
#[derive(Debug)]
pub(super) struct Place {
    /// Key of the entry itself, all links on the way resolved.
    pub(super) key: String,
    /// What stands there; `None` when nothing does.
    pub(super) stat: Option<Stat>,
    /// Key of the first link on the way that was not there before the run, or led elsewhere then.
    pub(super) new_link: Option<String>,
}

/// Follows a path of a check through the links inside the workspace.
///
/// A link that the delegate made can pass one thing off as another, so the first one is reported. A
/// link that the snapshot leaves out cannot be called new.
///
/// # Errors
/// [`PathError`] as [`crate::Workspace::stat`].
pub(super) fn locate(ctx: &CheckContext, path: &str) -> Result<Place, PathError> {
    let wanted = ctx.workspace.key(path)?;
    let mut pending: Vec<PathBuf> = vec![path.into()];
    let mut at = PathBuf::new();
    let mut new_link = None;
    let mut links = 0;
    while let Some(part) = pending.pop() {
        let mut components = part.components();
        let Some(component) = components.next() else { continue };
        let rest = components.as_path().to_path_buf();
        if !rest.as_os_str().is_empty() {
            pending.push(rest);
        }
        match component {
            Component::CurDir => continue,
            Component::ParentDir if at.pop() => continue,
            Component::Normal(name) => at.push(name),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(PathError::Escapes { path: wanted });
            }
        }
        let Some(target) = ctx.workspace.read_link(&at)? else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Err(PathError::Loop { path: wanted });
        }
        let key = key_of(&at);
        if new_link.is_none() && is_new(ctx, &key) {
            new_link = Some(key);
        }
        at.pop();
        pending.push(target);
    }
    let stat =
        ctx.workspace.stat_link(if at.as_os_str().is_empty() { Path::new(".") } else { &at })?;
    Ok(Place { key: key_of(&at), stat, new_link })
}

fn is_new(ctx: &CheckContext, key: &str) -> bool {
    let is_link = |kind| kind == Kind::Symlink;
    match (ctx.before.get(key), ctx.after.get(key)) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(was), Some(is)) => !is_link(was.kind) || was.digest != is.digest,
    }
}

/// How the content at a key relates to the snapshot before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// Not there before.
    Created,
    /// There before with other content.
    Modified,
    /// There before, the same.
    Same,
    /// There before, but unreadable then or now.
    Unknown,
    /// Made after the claim was read: by a check, or by whatever still runs.
    Later,
    /// The snapshot leaves the path out.
    NotCovered,
}

/// Whether the snapshot looked into the folder that the path is in, and would have recorded the path.
fn is_covered(ctx: &CheckContext, key: &str) -> bool {
    let is_dir = matches!(ctx.workspace.stat_link(path_of(key).unwrap_or_else(|| key.into())), Ok(Some(stat)) if stat.kind == Kind::Dir);
    key.rsplit_once('/').is_none_or(|(folder, _)| ctx.after.get(folder).is_some())
        && !ctx.rules.ignores(key, is_dir)
}

/// Compares an entry that exists now with the one before the run, by content.
pub(super) fn since_run_start(ctx: &CheckContext, key: &str) -> Since {
    if key.is_empty() {
        return Since::Same;
    }
    match (ctx.before.get(key), ctx.after.get(key)) {
        (_, None) if is_covered(ctx, key) => Since::Later,
        (_, None) => Since::NotCovered,
        (None, Some(_)) => Since::Created,
        (Some(was), Some(is)) if was.kind != is.kind => Since::Modified,
        (Some(was), Some(is)) if was.unreadable || is.unreadable => Since::Unknown,
        (Some(was), Some(is)) if was.digest != is.digest => Since::Modified,
        _ => Since::Same,
    }
}
