//! What a project runs, as it is trusted: the files of the folder that its command lines name.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use probity_core::Digest;
use probity_record::blob_digest;
use probity_verifier::{CommandLine, Role, Workspace};

use super::{ProjectError, critic, folder, named};
use crate::Request;
use crate::request::Method;

/// The longest file that a command line runs, in bytes: programs are larger than what people write.
const MAX_PROGRAM_BYTES: u64 = 256 * 1024 * 1024;
/// Programs whose first argument is what runs, by the start of their names.
const INTERPRETERS: [&str; 16] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "node", "ruby", "perl", "php", "lua",
    "deno", "bun", "tsx", "uv",
];

/// The files that a request brings along and runs, name by name: verifiers and tools, the scripts of
/// checks, and what the command lines of delegates and servers start. Trusting a command line means
/// trusting them too.
///
/// # Errors
/// [`ProjectError`] if one of them cannot be read.
pub(super) fn digests(request: &mut Request, root: &Path) -> Result<Vec<Digest>, ProjectError> {
    let mut digests = Vec::new();
    for file in request.files_mut() {
        digests.push(blob_digest(&named(file)?));
    }
    let Ok(workspace) = Workspace::open(root) else { return Ok(digests) };
    let mut files = BTreeSet::new();
    let methods = request.methods.values().filter_map(Method::check);
    for line in request.expect.iter().chain(methods).filter_map(critic::command_line) {
        files.extend(judges(&CommandLine::of_line(&line), &workspace));
    }
    for words in command_lines(request) {
        files.extend(started(words, &workspace, root));
    }
    for key in files {
        let bytes = folder::read_up_to(&root.join(&key), MAX_PROGRAM_BYTES);
        let bytes = bytes.map_err(super::of_configuration)?;
        digests.push(blob_digest(&[key.as_bytes(), b"\0", &bytes].concat()));
    }
    Ok(digests)
}

/// The command lines of everybody who does the work, or lends a tool for it.
fn command_lines(request: &Request) -> impl Iterator<Item = &[String]> {
    let rungs = request.rungs.values().map(|rung| rung.command.as_slice());
    let servers = request.chat.iter().flat_map(|chat| chat.mcp.values());
    let servers = servers.map(|server| server.command.as_slice());
    let agents = request.acp.iter().map(|acp| acp.command.as_slice());
    [request.command.as_slice(), request.resume.as_deref().unwrap_or_default()]
        .into_iter()
        .chain(rungs)
        .chain(servers)
        .chain(agents)
}

/// What a command line starts, and not what it is given to work on, which changes with every run: the
/// program, the script of an interpreter, and every other word that is a program.
fn started(words: &[String], workspace: &Workspace, root: &Path) -> BTreeSet<String> {
    // `env A=b program` starts the program.
    let is_before = |word: &String| word.contains('=') || word.rsplit('/').next() == Some("env");
    let at = words.iter().position(|word| !is_before(word)).unwrap_or_default();
    let program = words.get(at).map(String::as_str).unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_script = |word: &String| !word.starts_with('-') && word != "run";
    let until = match INTERPRETERS.contains(&name) {
        true => words.iter().skip(at + 1).position(is_script).map(|script| at + script + 2),
        false => Some(at + 1),
    };
    let head = until.and_then(|until| words.get(..until)).unwrap_or(words);
    let mut files = judges(&CommandLine::of_argv(head), workspace);
    let can_run = |key: &String| {
        let about = std::fs::metadata(root.join(key));
        about.is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
    };
    files.extend(judges(&CommandLine::of_argv(words), workspace).into_iter().filter(can_run));
    files
}

fn judges(line: &CommandLine, workspace: &Workspace) -> BTreeSet<String> {
    let named = line.files_named_in(workspace).into_iter();
    named.filter(|it| it.role == Role::Judge).map(|it| it.path).collect()
}
