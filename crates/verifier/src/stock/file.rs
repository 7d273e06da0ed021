//! `file:PATH`: a regular file, its presence, its change and its content.
//!
//! | Situation | Result |
//! |---|---|
//! | nothing at the path | revise `file_missing` |
//! | a directory, FIFO, socket or device; never opened | revise `file_kind` |
//! | reached through a link that is new since the run started | revise `file_link` |
//! | the link leads out of the workspace; links in a circle | revise `path_escapes`, `path_loop` |
//! | `absent`, and something is there, a dangling link included | revise `file_present` |
//! | `created`, and it was there before | revise `file_not_created`; not looked at before the delegate |
//! | `changed` or `newer_than`, and the content is that of before | revise `file_unchanged`; always so before the delegate |
//! | too small, too large | revise `file_size` |
//! | other permission bits | revise `file_mode` |
//! | other digest | revise `file_digest` |
//! | a text does not occur, a pattern does not match | revise `file_content` |
//! | no permission, read error, over the caps, no answer in time | inconclusive `path_denied`, `path_unreadable`, `path_too_large`, `read_timeout` |
//! | unreadable in one of the two snapshots and `changed` is asked for | inconclusive `file_undecided` |
//! | path outside the workspace | fault `path_outside` |
//! | `created`, `changed` or `newer_than` on a path that the snapshot leaves out | fault `snapshot_not_covered` |
//!
//! `newer_than=run-start` means created or changed since then, by the snapshot: a file's own time
//! can be set to anything. A file that was deleted and made again with the same bytes is neither
//! created nor changed.

use async_trait::async_trait;
use probity_core::{Digest, Evidence, Fault, Phase, Verdict};

use super::content::{Content, Words};
use super::place::{Place, Since, locate, since_run_start};
use super::tally::Tally;
use super::{MAX_HASH_BYTES, MAX_READ_BYTES, blocking, unanswered};
use crate::hash::digest_of;
use crate::spec::{FileSpec, Mode, SpecError};
use crate::workspace::{Kind, PathError, Stat};
use crate::{CheckContext, Verifier};

const WORDS: Words = Words { contains: "contains", matches: "matches", code: "file_content" };

/// The effect `file`.
#[derive(Debug, Clone)]
pub struct File {
    inner: std::sync::Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    spec: FileSpec,
    content: Content,
}

impl File {
    /// The effect of a spec.
    ///
    /// # Errors
    /// [`SpecError::Regex`] when a pattern does not compile.
    pub fn new(spec: FileSpec) -> Result<Self, SpecError> {
        let content = Content::new(WORDS, &spec.contains, &spec.matches)?;
        Ok(Self { inner: std::sync::Arc::new(Inner { spec, content }) })
    }
}

#[async_trait]
impl Verifier for File {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let inner = std::sync::Arc::clone(&self.inner);
        blocking(ctx, move |ctx| match inner.judge(ctx) {
            Ok(verdict) => verdict,
            Err(error) => unanswered(&error),
        })
        .await
    }
}

type Judged = Result<Result<Verdict, Fault>, PathError>;

impl Inner {
    fn judge(&self, ctx: &CheckContext) -> Judged {
        let path = &self.spec.path;
        if self.spec.absent {
            return absent("file", path, ctx);
        }
        let mut tally = Tally::default();
        let place = locate(ctx, path)?;
        let source = format!("file:{path}");
        let Some(stat) = place.stat else {
            tally.saw(Evidence::new(source, "absent"));
            tally.miss("file_missing", format!("file `{path}` does not exist"));
            return Ok(Ok(tally.verdict()));
        };
        if stat.kind != Kind::File {
            tally.saw(Evidence::new(source, stat.kind.to_string()));
            tally.miss("file_kind", format!("`{path}` is a {}, not a regular file", stat.kind));
            return Ok(Ok(tally.verdict()));
        }
        if let Some(link) = &place.new_link {
            tally.saw(Evidence::new(source, format!("link to {}", place.key)));
            tally.miss("file_link", link_reason(path, link, &place.key));
            return Ok(Ok(tally.verdict()));
        }
        let asked = Asked {
            created: self.spec.created,
            changed: self.spec.changed,
            newer_than: self.spec.newer_than.is_some(),
        };
        if let Err(fault) = asked.judge("file", path, &place, ctx, &mut tally) {
            return Ok(Err(fault));
        }
        self.size_and_mode(stat, &mut tally);
        let observed = format!("{} bytes, mode {}", stat.size, Mode::from_bits(stat.mode));
        let evidence = Evidence::new(source, observed);
        match self.content(ctx, &place.key, stat, &mut tally)? {
            Some(digest) => tally.saw(evidence.with_digest(digest)),
            None => tally.saw(evidence),
        }
        Ok(Ok(tally.verdict()))
    }

    fn size_and_mode(&self, stat: Stat, tally: &mut Tally) {
        let path = &self.spec.path;
        if let Some(min) = self.spec.min_bytes {
            tally.key("min_bytes");
            if stat.size < min {
                let reason =
                    format!("file `{path}` holds {} bytes, expected at least {min}", stat.size);
                tally.miss("file_size", reason);
            }
        }
        if let Some(max) = self.spec.max_bytes {
            tally.key("max_bytes");
            if stat.size > max {
                let reason =
                    format!("file `{path}` holds {} bytes, expected at most {max}", stat.size);
                tally.miss("file_size", reason);
            }
        }
        mode("file", path, self.spec.mode, stat, tally);
    }

    /// Judges the content as far as it is asked for. Its digest where it was read.
    fn content(
        &self,
        ctx: &CheckContext,
        key: &str,
        stat: Stat,
        tally: &mut Tally,
    ) -> Result<Option<Digest>, PathError> {
        let path = &self.spec.path;
        let at = crate::workspace::path_of(key).unwrap_or_else(|| path.into());
        let vanished =
            || PathError::Io { path: path.clone(), source: std::io::ErrorKind::NotFound.into() };
        let digest = if !self.content.is_empty() {
            let bytes = ctx.workspace.read(&at, MAX_READ_BYTES)?.ok_or_else(vanished)?;
            self.content.judge(&format!("file `{path}`"), &[&bytes], true, tally);
            digest_of(&bytes)
        } else if self.spec.sha256.is_some() || stat.size <= MAX_READ_BYTES {
            ctx.workspace.digest(&at, MAX_HASH_BYTES)?.ok_or_else(vanished)?.0
        } else {
            return Ok(None);
        };
        if let Some(expected) = self.spec.sha256 {
            tally.key("sha256");
            if digest != expected {
                let reason =
                    format!("file `{path}` has the SHA-256 digest {digest}, expected {expected}");
                tally.miss("file_digest", reason);
            }
        }
        Ok(Some(digest))
    }
}

/// Judges `absent`, for files and directories.
pub(super) fn absent(kind: &str, path: &str, ctx: &CheckContext) -> Judged {
    let mut tally = Tally::default();
    tally.key("absent");
    let source = format!("{kind}:{path}");
    // The link itself is asked for: what it leads to does not matter.
    match ctx.workspace.stat_link(path)? {
        None => tally.saw(Evidence::new(source, "absent")),
        Some(stat) => {
            tally.saw(Evidence::new(source, stat.kind.to_string()));
            let code = if kind == "dir" { "dir_present" } else { "file_present" };
            tally.miss(code, format!("`{path}` exists ({}), expected nothing there", stat.kind));
        }
    }
    Ok(Ok(tally.verdict()))
}

/// Judges the permission bits, for files and directories.
pub(super) fn mode(kind: &str, path: &str, wanted: Option<Mode>, stat: Stat, tally: &mut Tally) {
    let Some(wanted) = wanted else { return };
    tally.key("mode");
    let seen = Mode::from_bits(stat.mode);
    if seen != wanted {
        let (code, noun) =
            if kind == "dir" { ("dir_mode", "directory") } else { ("file_mode", "file") };
        tally.miss(code, format!("{noun} `{path}` has mode {seen}, expected {wanted}"));
    }
}

pub(super) fn link_reason(path: &str, link: &str, key: &str) -> String {
    format!(
        "`{path}` leads to `{key}` through the new symbolic link `{link}`; put the thing itself there"
    )
}

/// Which of the keys about time were given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) created: bool,
    pub(super) changed: bool,
    pub(super) newer_than: bool,
}

impl Asked {
    /// Judges a regular file against the snapshot.
    fn judge(
        self,
        kind: &str,
        path: &str,
        place: &Place,
        ctx: &CheckContext,
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        if !(self.created || self.changed || self.newer_than) {
            return Ok(());
        }
        let since = since_run_start(ctx, &place.key);
        if since == Since::NotCovered {
            return Err(not_covered(path));
        }
        if self.created {
            tally.key("created");
            if since != Since::Created && ctx.phase == Phase::After {
                let reason = match since {
                    Since::Later => format!("{kind} `{path}` was made after the claim, by a check"),
                    _ => format!("{kind} `{path}` was there before the run; expected a new one"),
                };
                tally.miss("file_not_created", reason);
            }
        }
        for (asked, key) in [(self.changed, "changed"), (self.newer_than, "newer_than")] {
            if !asked {
                continue;
            }
            tally.key(key);
            match since {
                Since::Created | Since::Modified => {}
                Since::Same | Since::Later | Since::NotCovered => {
                    let reason = format!("{kind} `{path}` has the same content as before the run");
                    tally.miss("file_unchanged", reason);
                }
                Since::Unknown => tally.cannot_tell(
                    "file_undecided",
                    format!("{kind} `{path}` was not readable, so a change cannot be told"),
                ),
            }
        }
        Ok(())
    }
}

/// The fault for a question about change where there is nothing to compare with.
pub(super) fn not_covered(path: &str) -> Fault {
    Fault::new(
        "snapshot_not_covered",
        format!(
            "the snapshot leaves `{path}` out, so whether it is new cannot be told; record it always, or ask for content instead"
        ),
    )
}
