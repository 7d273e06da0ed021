//! `command:CMDLINE`: how a command ends and what it prints.
//!
//! | Situation | Result |
//! |---|---|
//! | another exit code than `exit` (0 where absent) | revise `command_exit` |
//! | a signal ended the command | revise `command_signal` |
//! | standard output lacks a text or does not match | revise `command_stdout` |
//! | not found, but output was left out in the middle | inconclusive `content_cut` |
//! | no end in time; it is killed with everything it started | inconclusive `command_timeout` |
//! | the program of the line is looked up on `PATH` and is not there (exit 127 that `exit` does not ask for) | fault `command_not_found` |
//! | the program of the line is not executable (exit 126 likewise) | fault `command_not_executable` |
//! | the check would fail, and the command says that a sandbox keeps it from gaining rights | fault `sandbox_no_new_privs` |
//! | the command cannot be started or watched | fault with the code of [`SandboxError`] |
//!
//! The line is run by `sh -c` in the root of the workspace, with a clean environment
//! ([`probity_sandbox::CLEAN_ENV`] and the names in `env`), nothing on standard input, and 4 MiB of
//! each stream held: the first and the last half. Python finds no compiled files
//! (`PYTHONPYCACHEPREFIX`, unless `env` names it): the delegate could have written them. A program named by a path inside the workspace is
//! the delegate's to provide, so its absence is `command_exit`, and so is a 127 that comes from
//! inside a program that was found.

use std::path::Path;

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Verdict};
use probity_sandbox::{Ended, Finished, Launcher, SandboxError, Spawn, Status};

use super::content::{Content, Words};
use super::tally::Tally;
use super::{cancelled, first_words, last_words, late};
use crate::hash::digest_of;
use crate::spec::{CommandSpec, SpecError};
use crate::{CheckContext, Verifier};

const WORDS: Words =
    Words { contains: "stdout_contains", matches: "stdout_matches", code: "command_stdout" };
/// Bytes of each output stream that are held.
pub(super) const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// The effect `command`.
#[derive(Debug)]
pub struct Command {
    spec: CommandSpec,
    content: Content,
    launcher: Launcher,
}

impl Command {
    /// The effect of a spec.
    ///
    /// # Errors
    /// [`SpecError::Regex`] when a pattern does not compile.
    pub fn new(spec: CommandSpec, launcher: Launcher) -> Result<Self, SpecError> {
        let content = Content::new(WORDS, &spec.stdout_contains, &spec.stdout_matches)?;
        Ok(Self { spec, content, launcher })
    }

    fn judge(&self, status: Status, finished: &Finished, root: &Path) -> Result<Verdict, Fault> {
        let line = first_words(&self.spec.line, 120);
        let expected = i32::from(self.spec.exit.unwrap_or(0));
        let mut tally = Tally::default();
        let evidence = Evidence::new(format!("command:{line}"), observed(status, finished));
        tally.saw(if finished.stdout.truncated() {
            evidence
        } else {
            evidence.with_digest(digest_of(&finished.stdout.head))
        });
        tally.key("exit");
        if !finished.enforcement.is_empty() {
            tally.saw(Evidence::new("sandbox", finished.enforcement.to_string()));
        }
        match status {
            Status::Code(code) if code == expected => {}
            Status::Code(code) => {
                let unusable = unusable(code, &self.spec.line, root);
                if let Some(fault) = unusable.or_else(|| hindered(finished)) {
                    return Err(fault);
                }
                let reason = format!(
                    "`{line}` ended with exit code {code}, expected {expected}{}",
                    said(finished)
                );
                tally.miss("command_exit", reason);
            }
            Status::Signal(signal) => {
                let reason = format!(
                    "`{line}` was ended by signal {signal}, expected exit code {expected}{}",
                    said(finished)
                );
                tally.miss("command_signal", reason);
            }
        }
        let parts = [finished.stdout.head.as_slice(), finished.stdout.tail.as_slice()];
        let whole = !finished.stdout.truncated();
        self.content.judge(&format!("the output of `{line}`"), &parts, whole, &mut tally);
        Ok(tally.verdict())
    }
}

#[async_trait]
impl Verifier for Command {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let root = ctx.workspace.root();
        let finished = shell(&self.spec.line, &self.spec.env, ctx)
            .max_output_bytes(MAX_OUTPUT_BYTES)
            .run(&self.launcher)
            .await
            .map_err(|error| sandbox_fault(&error))?;
        match finished.ended {
            Ended::Exited(status) => self.judge(status, &finished, root),
            Ended::Cancelled => Ok(cancelled()),
            Ended::TimedOut => {
                let what = format!("`{}`", first_words(&self.spec.line, 120));
                Ok(Verdict::inconclusive("command_timeout", late(&what, ctx.timeout)))
            }
        }
    }
}

/// A command line of the operator, with the bounds of the check.
pub(crate) fn shell(line: &str, env: &[String], ctx: &CheckContext) -> Spawn {
    let spawn = Spawn::new("/bin/sh")
        .args(["-c", line])
        .cwd(ctx.workspace.root())
        .timeout(ctx.timeout)
        .cancel(ctx.cancel.clone())
        .env(NO_BYTECODE.0, NO_BYTECODE.1);
    env.iter().fold(spawn, Spawn::keep_env)
}

/// Python reads the compiled form of a file in the place of the file if that form says so itself: a test
/// that is sealed would be passed over for what the delegate put into `__pycache__`. Where no folder can
/// be there is no compiled form, so the source decides.
const NO_BYTECODE: (&str, &str) = ("PYTHONPYCACHEPREFIX", "/dev/null");

pub(crate) fn sandbox_fault(error: &SandboxError) -> Fault {
    Fault::new(error.code(), error.to_string())
}

fn observed(status: Status, finished: &Finished) -> String {
    let mut text = format!(
        "{status}, {} bytes out, {} bytes err",
        finished.stdout.total_bytes, finished.stderr.total_bytes
    );
    if finished.strays > 0 {
        text.push_str(&format!(", {} left behind and killed", finished.strays));
    }
    text
}

/// The end of what the command said, for the reason.
pub(super) fn said(finished: &Finished) -> String {
    let streams = [&finished.stderr, &finished.stdout];
    let words = streams.iter().map(|stream| last_words(&stream.last_text(1_000)));
    words
        .into_iter()
        .find(|words| !words.is_empty())
        .map_or_else(String::new, |words| format!("; it said: {words}"))
}

/// What `sudo` and its like say where a sandbox keeps them from becoming another user: that is for the
/// operator to settle, and no fault of whoever did the work.
const NO_NEW_PRIVILEGES: &[u8] = b"no new privileges";

fn hindered(finished: &Finished) -> Option<Fault> {
    if finished.enforcement.is_empty() {
        return None;
    }
    let streams = [&finished.stderr, &finished.stdout];
    let mut parts = streams.into_iter().flat_map(|stream| [&stream.head, &stream.tail]);
    let is_said = parts.any(|part| memchr::memmem::find(part, NO_NEW_PRIVILEGES).is_some());
    is_said.then(|| {
        let message = "the command of the check needs rights of another user, which the sandbox keeps \
                       from it; say `checks = \"off\"` under `[sandbox]`, or check without them";
        Fault::new("sandbox_no_new_privs", message)
    })
}

/// Words that the shell carries out itself.
const BUILTINS: [&str; 22] = [
    ".", ":", "[", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "printf",
    "read", "return", "set", "shift", "test", "trap", "true", "ulimit", "umask", "unset",
];

/// The fault behind an exit code by which the shell says that it could not run the line's program.
pub(crate) fn unusable(code: i32, line: &str, root: &Path) -> Option<Fault> {
    let (word, what) = match code {
        127 => ("command_not_found", "is not installed or not on PATH"),
        126 => ("command_not_executable", "cannot be executed"),
        _ => return None,
    };
    // In a longer line, or from a builtin, the code says nothing about a program that is missing.
    if line.contains(['|', '&', ';', '\n', '(']) {
        return None;
    }
    let program = program_of(line);
    if program.is_some_and(|program| BUILTINS.contains(&program)) {
        return None;
    }
    if program.is_some_and(|program| comes_from_workspace(program, root) || is_usable(program)) {
        return None;
    }
    let shown = program.unwrap_or(line);
    let message = format!("the program of the check, `{}`, {what}", first_words(shown, 120));
    Some(Fault::new(word, message))
}

/// The first word that is no assignment, where it is a plain word.
fn program_of(line: &str) -> Option<&str> {
    let plain = |c: char| c.is_alphanumeric() || "_-.+/@%:".contains(c);
    let assigns =
        |word: &&str| word.split_once('=').is_some_and(|(name, _)| name.chars().all(plain));
    let first = line.split_whitespace().find(|word| !assigns(word))?;
    first.chars().all(plain).then_some(first)
}

fn comes_from_workspace(program: &str, root: &Path) -> bool {
    program.contains('/') && (!program.starts_with('/') || Path::new(program).starts_with(root))
}

/// Whether the shell would find the program, so that the code came from inside it.
fn is_usable(program: &str) -> bool {
    if program.starts_with('/') {
        return is_executable(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| is_executable(&dir.join(program)))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_first_plain_word() {
        for (line, program) in [
            ("make test", Some("make")),
            ("  A=1 B=\"x\" ./run.sh --all", Some("./run.sh")),
            ("/usr/bin/env python3", Some("/usr/bin/env")),
            ("'my tool' x", None),
            ("$TOOL x", None),
            ("(cd a && b)", None),
            ("A=1", None),
        ] {
            assert_eq!(program_of(line), program, "{line}");
        }
    }

    #[test]
    fn only_a_program_that_the_operator_must_provide_is_a_fault() {
        let root = Path::new("/workspace");
        for (code, line, fault) in [
            (127, "no-such-program-here x", Some("command_not_found")),
            (127, "/no/such/program", Some("command_not_found")),
            (127, "./missing.sh", None),
            (127, "scripts/missing.sh", None),
            (127, "/workspace/missing.sh", None),
            (127, "sh missing.sh", None),
            (127, "$TOOL x", Some("command_not_found")),
            (126, "/etc/passwd", Some("command_not_executable")),
            (126, "./plain.txt", None),
            (1, "no-such-program-here", None),
        ] {
            let found = unusable(code, line, root);
            assert_eq!(found.as_ref().map(|it| it.code.as_str()), fault, "{code} {line}");
        }
    }
}
