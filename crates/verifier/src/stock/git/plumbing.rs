//! The Git commands that a check asks, and how they are kept from doing anything else.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use probity_core::{Fault, Verdict};
use probity_sandbox::{Ended, Finished, Launcher, SandboxError, Spawn, Status};
use tokio_util::sync::CancellationToken;

use crate::stock::{cancelled, last_words, late};
use crate::workspace::key_of_name;
use crate::{CheckContext, Workspace};

/// Bytes of a command's output that are held. A listing that is longer is no answer.
const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// Settings that outrank every configuration file.
const SETTINGS: [&str; 18] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.ignoreCase=false",
    "core.autocrlf=false",
    "core.sparseCheckout=false",
    "core.excludesFile=/dev/null",
    "core.commitGraph=false",
    "core.attributesFile=/dev/null",
    "core.bare=false",
    "protocol.ext.allow=never",
    "http.followRedirects=false",
    "credential.helper=",
    "safe.directory=*",
];

/// Variables that outrank every configuration file.
const VARIABLES: [(&str, &str); 9] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_ALLOW_PROTOCOL", "file:http:https:ssh:git"),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
];

/// Why the questions stop.
pub(super) enum Stop {
    NoRepository,
    Verdict(Box<Verdict>),
    Fault(Fault),
}

impl Stop {
    pub(super) fn inconclusive(code: &str, reason: impl Into<String>) -> Self {
        Self::Verdict(Box::new(Verdict::inconclusive(code, reason)))
    }
}

/// A repository, and the time left for questions about it.
pub(super) struct Repository<'a> {
    root: PathBuf,
    launcher: &'a Launcher,
    cancel: &'a CancellationToken,
    limit: Duration,
    started: Instant,
}

impl<'a> Repository<'a> {
    pub(super) fn open(ctx: &'a CheckContext, launcher: &'a Launcher) -> Self {
        Self::at(&ctx.workspace, launcher, ctx.timeout, &ctx.cancel)
    }

    pub(super) fn at(
        workspace: &Workspace,
        launcher: &'a Launcher,
        limit: Duration,
        cancel: &'a CancellationToken,
    ) -> Self {
        let root = workspace.root().to_path_buf();
        let started = Instant::now();
        Self { root, launcher, cancel, limit, started }
    }

    /// A repository in a folder of this one, with the same time left.
    pub(super) fn below(&self, path: &Path) -> Self {
        Self { root: self.root.join(path), ..*self }
    }

    /// The working tree.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The commit that a ref or an id names.
    pub(super) async fn commit(&self, reference: &str) -> Result<Option<String>, Stop> {
        let wanted = format!("{reference}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        self.optional(&args).await
    }

    pub(super) async fn has_path(&self, commit: &str, path: &str) -> Result<bool, Stop> {
        let wanted = format!("{commit}:{}", path.trim_end_matches('/'));
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        Ok(self.optional(&args).await?.is_some())
    }

    /// Whether the history of one of the tips holds the commit. Tips that are not here hold nothing
    /// that could be told.
    pub(super) async fn reaches(&self, tips: &[String], commit: &str) -> Result<bool, Stop> {
        if tips.is_empty() {
            return Ok(false);
        }
        let mut input = format!("{commit}\n");
        for tip in tips {
            input.push_str(&format!("^{tip}\n"));
        }
        // `--ignore-missing` drops the tips that are not here.
        let args = ["rev-list", "--max-count=1", "--ignore-missing", "--stdin"];
        let spawn = self.spawn(&args).stdin(input);
        Ok(self.success(spawn).await?.stdout.head.is_empty())
    }

    /// Every ref with its commit, `HEAD` included.
    pub(super) async fn tips(&self) -> Result<BTreeMap<String, String>, Stop> {
        let format = "--format=%(objectname) %(*objectname) %(refname)";
        let listed = self.success(self.spawn(&["for-each-ref", format])).await?;
        let mut tips = BTreeMap::new();
        for line in lines(&listed)? {
            let mut words = line.splitn(3, ' ');
            let (Some(own), Some(peeled), Some(name)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let commit = if peeled.is_empty() { own } else { peeled };
            tips.insert(name.to_owned(), commit.to_owned());
        }
        if let Some(head) = self.commit("HEAD").await? {
            tips.insert("HEAD".to_owned(), head);
        }
        Ok(tips)
    }

    /// The branch that `HEAD` is on.
    pub(super) async fn branch(&self) -> Result<Option<String>, Stop> {
        self.optional(&["symbolic-ref", "--quiet", "HEAD"]).await
    }

    /// The remote and the ref there that every branch follows, with a space between.
    pub(super) async fn upstreams(&self) -> Result<BTreeMap<String, String>, Stop> {
        let mut remotes = BTreeMap::new();
        let mut upstreams = BTreeMap::new();
        for (pattern, is_remote) in
            [(r"^branch\..*\.remote$", true), (r"^branch\..*\.merge$", false)]
        {
            let args = ["config", "--null", "--get-regexp", pattern];
            for entry in self.entries(self.spawn(&args)).await? {
                let Some((key, value)) = entry.split_once('\n') else { continue };
                let name = key.strip_prefix("branch.").and_then(|key| key.rsplit_once('.'));
                let Some((name, _)) = name else { continue };
                if is_remote {
                    remotes.insert(name.to_owned(), value.to_owned());
                } else if let Some(remote) = remotes.get(name) {
                    upstreams.insert(format!("refs/heads/{name}"), format!("{remote} {value}"));
                }
            }
        }
        Ok(upstreams)
    }

    /// Every remote with the address it is pushed to.
    pub(super) async fn remotes(&self) -> Result<BTreeMap<String, String>, Stop> {
        let mut remotes = BTreeMap::new();
        for pattern in [r"^remote\..*\.url$", r"^remote\..*\.pushurl$"] {
            let args = ["config", "--null", "--get-regexp", pattern];
            for entry in self.entries(self.spawn(&args)).await? {
                let Some((key, url)) = entry.split_once('\n') else { continue };
                let name = key.strip_prefix("remote.").and_then(|key| key.rsplit_once('.'));
                if let Some((name, _)) = name {
                    remotes.insert(name.to_owned(), url.to_owned());
                }
            }
        }
        Ok(remotes)
    }

    /// The refs of the repository at an address. It is asked from outside this repository, so that
    /// this repository's configuration cannot lead the question elsewhere.
    pub(super) async fn remote_refs(&self, url: &str) -> Result<BTreeMap<String, String>, Stop> {
        let url = super::remote::local_path(url)
            .map_or_else(|| url.to_owned(), |path| self.root.join(path).display().to_string());
        let mut spawn = self.bare(&["ls-remote", "--quiet", "--", &url]).cwd("/");
        spawn = spawn.env("GIT_CEILING_DIRECTORIES", "/");
        let finished = self.run(spawn).await?;
        if finished.status() != Some(Status::Code(0)) {
            let words = last_words(&finished.stderr.last_text(1_000));
            return Err(Stop::inconclusive(
                "git_remote_unreachable",
                format!("the remote does not answer: {words}"),
            ));
        }
        let refs = lines(&finished)?
            .filter_map(|line| line.split_once('\t'))
            .map(|(commit, name)| (name.to_owned(), commit.to_owned()))
            .collect();
        Ok(refs)
    }

    /// Paths whose entry in the index is not the commit's.
    pub(super) async fn staged_since(&self, commit: &str) -> Result<Vec<String>, Stop> {
        let args = ["diff-index", "--cached", "--name-only", "-z", "--no-renames"];
        let spawn = self.spawn(&args).args(["--ignore-submodules=dirty", commit, "--"]);
        self.entries(spawn).await
    }

    /// Path and commit of every submodule in a commit.
    pub(super) async fn submodules(&self, commit: &str) -> Result<Vec<(String, String)>, Stop> {
        // `-d` leaves the files out.
        let listed = self.entries(self.spawn(&["ls-tree", "-r", "-d", "-z", commit])).await?;
        let submodule = |entry: &String| {
            let (id, path) = entry.strip_prefix("160000 commit ")?.split_once('\t')?;
            Some((path.to_owned(), id.to_owned()))
        };
        Ok(listed.iter().filter_map(submodule).collect())
    }

    /// What a command prints, without the line break at its end.
    pub(super) async fn text(&self, args: &[&str]) -> Result<Vec<u8>, Stop> {
        let mut text = self.success(self.spawn(args)).await?.stdout.head;
        if text.last() == Some(&b'\n') {
            text.pop();
        }
        Ok(text)
    }

    /// The output of a command that ends with 1 when there is none.
    async fn optional(&self, args: &[&str]) -> Result<Option<String>, Stop> {
        let finished = self.run(self.spawn(args)).await?;
        match finished.status() {
            Some(Status::Code(0)) => {
                Ok(Some(String::from_utf8_lossy(&finished.stdout.head).trim().to_owned()))
            }
            Some(Status::Code(1)) => Ok(None),
            _ => Err(failed(&finished)),
        }
    }

    /// The NUL-separated output of a command; none when it ends with 1.
    pub(super) async fn entries(&self, spawn: Spawn) -> Result<Vec<String>, Stop> {
        let finished = self.run(spawn).await?;
        match finished.status() {
            Some(Status::Code(0)) if !finished.stdout.truncated() => Ok(finished
                .stdout
                .head
                .split(|byte| *byte == 0)
                .filter(|entry| !entry.is_empty())
                .map(entry_text)
                .collect()),
            Some(Status::Code(0)) => Err(too_long()),
            Some(Status::Code(1)) => Ok(Vec::new()),
            _ => Err(failed(&finished)),
        }
    }

    pub(super) async fn success(&self, spawn: Spawn) -> Result<Finished, Stop> {
        let finished = self.run(spawn).await?;
        if finished.success() { Ok(finished) } else { Err(failed(&finished)) }
    }

    async fn run(&self, spawn: Spawn) -> Result<Finished, Stop> {
        let left = self.limit.saturating_sub(self.started.elapsed()).max(Duration::from_millis(1));
        let spawn = spawn.timeout(left).cancel(self.cancel.clone()).linger(Duration::ZERO);
        let finished = spawn.run(self.launcher).await.map_err(|error| match &error {
            SandboxError::Start { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Stop::Fault(Fault::new("git_not_found", "Git is not installed or not on PATH"))
            }
            _ => Stop::Fault(Fault::new(error.code(), error.to_string())),
        })?;
        match finished.ended {
            Ended::Exited(_) => Ok(finished),
            Ended::Cancelled => Err(Stop::Verdict(Box::new(cancelled()))),
            Ended::TimedOut => Err(Stop::inconclusive("git_timeout", late("Git", self.limit))),
        }
    }

    /// A command on this repository, wherever Git would look for one.
    pub(super) fn spawn(&self, args: &[&str]) -> Spawn {
        self.bare(args)
            .cwd(&self.root)
            .env("GIT_DIR", self.root.join(".git"))
            .env("GIT_WORK_TREE", &self.root)
    }

    pub(super) fn bare(&self, args: &[&str]) -> Spawn {
        let mut spawn = Spawn::new("git").max_output_bytes(MAX_OUTPUT_BYTES).env("LC_ALL", "C");
        for (name, value) in VARIABLES {
            spawn = spawn.env(name, value);
        }
        for setting in SETTINGS {
            spawn = spawn.args(["-c", setting]);
        }
        spawn.args(args.iter().copied())
    }
}

fn failed(finished: &Finished) -> Stop {
    let words = last_words(&finished.stderr.last_text(1_000));
    // The second is what Git says of a folder called `.git` that is none.
    let phrases = ["not a git repository", "can only be used inside a git repository"];
    if phrases.iter().any(|phrase| words.contains(phrase)) {
        return Stop::NoRepository;
    }
    Stop::inconclusive("git_failed", format!("Git failed: {words}"))
}

fn too_long() -> Stop {
    let reason = format!("Git listed more than {MAX_OUTPUT_BYTES} bytes");
    Stop::inconclusive("git_failed", reason)
}

fn lines(finished: &Finished) -> Result<impl Iterator<Item = &str>, Stop> {
    if finished.stdout.truncated() {
        return Err(too_long());
    }
    let text = std::str::from_utf8(&finished.stdout.head)
        .map_err(|_| Stop::inconclusive("git_failed", "a ref's name is not UTF-8"))?;
    Ok(text.lines())
}

/// A configuration entry keeps its line break, which stands between key and value.
fn entry_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => key_of_name(OsStr::from_bytes(bytes)),
    }
}
