//! `dir:PATH`: a directory, its presence, its change and how many entries it has.
//!
//! | Situation | Result |
//! |---|---|
//! | nothing at the path | revise `dir_missing` |
//! | something other than a directory | revise `dir_kind` |
//! | reached through a link that is new since the run started | revise `dir_link` |
//! | the link leads out of the workspace; links in a circle | revise `path_escapes`, `path_loop` |
//! | `absent`, and something is there | revise `dir_present` |
//! | `created`, and it was there before | revise `dir_not_created`; not looked at before the delegate |
//! | `changed` or `newer_than`, and everything below it is as before | revise `dir_unchanged`; always so before the delegate |
//! | another number of entries, hidden ones included | revise `dir_entries` |
//! | other permission bits | revise `dir_mode` |
//! | no permission, read error, over 1 000 000 entries, no answer in time | inconclusive `path_denied`, `path_unreadable`, `path_too_many`, `read_timeout` |
//! | the only difference below it is one that could not be read | inconclusive `dir_undecided` |
//! | path outside the workspace | fault `path_outside` |
//! | `created`, `changed` or `newer_than` on a path that the snapshot leaves out | fault `snapshot_not_covered` |
//!
//! Changed means that something below it was created, deleted or got other content. What the snapshot
//! leaves out below it is not seen.

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Phase, Verdict};

use super::file::{absent, link_reason, mode, not_covered};
use super::place::{Place, locate};
use super::tally::Tally;
use super::{blocking, unanswered};
use crate::spec::DirSpec;
use crate::workspace::{Kind, PathError, path_of};
use crate::{CheckContext, Verifier};

/// Entries of a directory that are counted.
const MAX_ENTRIES: usize = 1_000_000;

/// The effect `dir`.
#[derive(Debug, Clone)]
pub struct Dir {
    spec: DirSpec,
}

impl Dir {
    /// The effect of a spec.
    #[must_use]
    pub const fn new(spec: DirSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Verifier for Dir {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let spec = self.spec.clone();
        blocking(ctx, move |ctx| match judge(&spec, ctx) {
            Ok(verdict) => verdict,
            Err(error) => unanswered(&error),
        })
        .await
    }
}

fn judge(spec: &DirSpec, ctx: &CheckContext) -> Result<Result<Verdict, Fault>, PathError> {
    let path = &spec.path;
    if spec.absent {
        return absent("dir", path, ctx);
    }
    let mut tally = Tally::default();
    let place = locate(ctx, path)?;
    let source = format!("dir:{path}");
    let Some(stat) = place.stat else {
        tally.saw(Evidence::new(source, "absent"));
        tally.miss("dir_missing", format!("directory `{path}` does not exist"));
        return Ok(Ok(tally.verdict()));
    };
    if stat.kind != Kind::Dir {
        tally.saw(Evidence::new(source, stat.kind.to_string()));
        tally.miss("dir_kind", format!("`{path}` is a {}, not a directory", stat.kind));
        return Ok(Ok(tally.verdict()));
    }
    if let Some(link) = &place.new_link {
        tally.saw(Evidence::new(source, format!("link to {}", place.key)));
        tally.miss("dir_link", link_reason(path, link, &place.key));
        return Ok(Ok(tally.verdict()));
    }
    if let Err(fault) = change(spec, &place, ctx, &mut tally) {
        return Ok(Err(fault));
    }
    mode("dir", path, spec.mode, stat, &mut tally);
    let at = match place.key.as_str() {
        "" => ".".into(),
        key => path_of(key).unwrap_or_else(|| path.into()),
    };
    let entries = ctx.workspace.list(&at, MAX_ENTRIES)?.map_or(0, |entries| entries.len());
    tally.saw(Evidence::new(source, format!("{entries} entries")));
    count(spec, entries as u64, &mut tally);
    Ok(Ok(tally.verdict()))
}

fn change(
    spec: &DirSpec,
    place: &Place,
    ctx: &CheckContext,
    tally: &mut Tally,
) -> Result<(), Fault> {
    let path = &spec.path;
    let newer_than = spec.newer_than.is_some();
    if !(spec.created || spec.changed || newer_than) {
        return Ok(());
    }
    let is_root = place.key.is_empty();
    if !is_root && ctx.after.get(&place.key).is_none() {
        return Err(not_covered(path));
    }
    let before = ctx.before.get(&place.key);
    let was_there = is_root || before.is_some();
    let was_dir = is_root || before.is_some_and(|entry| entry.kind == Kind::Dir);
    if spec.created {
        tally.key("created");
        if was_there && ctx.phase == Phase::After {
            let reason = format!("directory `{path}` was there before the run; expected a new one");
            tally.miss("dir_not_created", reason);
        }
    }
    let changes = ctx.changes();
    let prefix = if is_root { String::new() } else { format!("{}/", place.key) };
    let below = |list: &[String]| list.iter().any(|key| key.starts_with(&prefix));
    let differs = !was_dir
        || [&changes.created, &changes.modified, &changes.deleted].iter().any(|list| below(list));
    for (asked, key) in [(spec.changed, "changed"), (newer_than, "newer_than")] {
        if !asked {
            continue;
        }
        tally.key(key);
        if differs {
            continue;
        }
        if below(&changes.undecided) || changes.undecided.contains(&place.key) {
            tally.cannot_tell(
                "dir_undecided",
                format!(
                    "something in directory `{path}` was not readable, so a change cannot be told"
                ),
            );
        } else {
            tally.miss("dir_unchanged", format!("nothing in directory `{path}` changed"));
        }
    }
    Ok(())
}

fn count(spec: &DirSpec, entries: u64, tally: &mut Tally) {
    let path = &spec.path;
    if let Some(expected) = spec.entries {
        tally.key("entries");
        if entries != expected {
            let reason = format!("directory `{path}` has {entries} entries, expected {expected}");
            tally.miss("dir_entries", reason);
        }
    }
    if let Some(min) = spec.min_entries {
        tally.key("min_entries");
        if entries < min {
            let reason =
                format!("directory `{path}` has {entries} entries, expected at least {min}");
            tally.miss("dir_entries", reason);
        }
    }
}
