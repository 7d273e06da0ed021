//! `probity trust`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use probity_core::Digest;
use probity_verifier::spec::{CheckSpec, Effect};
use serde::Serialize;
use serde_json::Value;

use super::CliError;
use super::args::TrustArgs;
use super::present;
use crate::location::Programs;
use crate::project::critic;
use crate::request::{Chat, Method};
use crate::{CONFIG_PATH, POLICY_PATH, Project, Request};

/// Exit code of `--show` for what is not trusted.
const EXIT_UNTRUSTED: u8 = 1;

/// A configuration and what allowing it allows.
#[derive(Debug, Serialize)]
struct Trust {
    path: PathBuf,
    sha256: Digest,
    trusted: bool,
    /// What using it runs: command lines and scripts.
    runs: Vec<Runs>,
}

/// One thing that the configuration brings along and that runs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Runs {
    /// `delegate`, `resume`, `tool`, `server`, `rung`, `check`, `critic`, `script`, `hook`, `profile`,
    /// `envelope`, `pack` or `verifier`.
    pub(super) what: &'static str,
    /// The command line, the script's path, or the model with what its key is read from.
    pub(super) text: String,
}

/// Allows the commands of a configuration to run, by its exact hash.
///
/// # Errors
/// [`CliError`] if there is no such configuration, it is invalid, or the list cannot be written.
pub(super) async fn trust(args: &TrustArgs, _: &Programs) -> Result<u8, CliError> {
    let (path, root) = locate(args.file.as_deref())?;
    let project = Project::load(&path, &root)?;
    let runs = of_project(&project)?;
    if !args.show {
        project.trust()?;
    }
    let trusted = project.is_trusted()?;
    let shown = Trust { path, sha256: project.digest, trusted, runs };
    match args.json {
        true => present::json(&shown)?,
        false => drop(present::print(shown.text(args.show).as_bytes())?),
    }
    Ok(match args.show && !trusted {
        true => EXIT_UNTRUSTED,
        false => 0,
    })
}

/// What using a project runs and decides by: its configuration, hooks, profiles, envelopes and
/// verifiers. Each of them is part of what is trusted.
fn of_project(project: &Project) -> Result<Vec<Runs>, CliError> {
    let mut all = runs(&project.defaults);
    let policy = &project.policy;
    for hook in &policy.hooks {
        let text = format!("{} at {}", hook.name, hook.event);
        all.push(Runs { what: "hook", text });
    }
    for profile in policy.profiles.values() {
        let name = &profile.name;
        let of_profile = |it: Runs| Runs {
            what: if it.what == "delegate" { "profile" } else { it.what },
            text: format!("{name}: {}", it.text),
        };
        let request = project.profile(name.as_str())?;
        all.extend(runs(&request).into_iter().map(of_profile));
    }
    for (class, envelope) in &policy.envelopes {
        let text = format!("{class} version {}", envelope.version);
        all.push(Runs { what: "envelope", text });
    }
    for (pack, _) in &policy.packs {
        let text = format!("{} version {}", pack.policy_pack_id, pack.version);
        all.push(Runs { what: "pack", text });
    }
    for method in policy.methods.values() {
        all.extend(of_method(method));
    }
    Ok(all)
}

fn of_method(method: &Method) -> Option<Runs> {
    match method {
        Method::File { file } => Some(Runs { what: "verifier", text: file.display().to_string() }),
        Method::Check(check) => of_check(check),
    }
}

fn of_check(check: &CheckSpec) -> Option<Runs> {
    if let Some(command) = check.command_line() {
        return Some(Runs { what: "check", text: command.to_owned() });
    }
    let Effect::Agent(agent) = &check.effect else { return None };
    let chat = agent.chat.clone().map(|chat| serde_json::from_value(Value::Object(chat)));
    let text = match (&agent.profile, chat, critic::command_line(check)) {
        (Some(profile), ..) => format!("profile {profile}"),
        (None, Some(Ok(chat)), _) => model(&chat),
        (None, _, Some(line)) => line,
        // What is no model is told by whoever prepares it.
        (None, _, None) => agent.who(),
    };
    Some(Runs { what: "critic", text })
}

/// Which model is asked, where, and which variable goes there.
fn model(chat: &Chat) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_else(|| "?".to_owned());
    let (model, endpoint, variable) = (part(&chat.model), part(&chat.endpoint), chat.variable().0);
    format!("{model} at {endpoint} (key: {variable})")
}

fn of_chat(chat: &Chat) -> Vec<Runs> {
    let mut runs = vec![Runs { what: "delegate", text: model(chat) }];
    for tool in &chat.tools {
        let source = tool.script_file.as_ref().map(|file| file.display().to_string());
        let source = source.unwrap_or_else(|| "inline".to_owned());
        runs.push(Runs { what: "tool", text: format!("{} ({source})", tool.name) });
    }
    for (name, server) in &chat.mcp {
        let mut text = format!("{name}: {}", line(&server.command));
        if !server.env_keep.is_empty() {
            let _ = write!(text, " (keeps {})", server.env_keep.join(", "));
        }
        runs.push(Runs { what: "server", text });
    }
    runs
}

fn line(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// What using a configuration runs.
pub(super) fn runs(request: &Request) -> Vec<Runs> {
    let mut runs = Vec::new();
    if !request.command.is_empty() {
        runs.push(Runs { what: "delegate", text: line(&request.command) });
    }
    if let Some(resume) = &request.resume {
        runs.push(Runs { what: "resume", text: line(resume) });
    }
    runs.extend(request.chat.iter().flat_map(of_chat));
    if let Some(acp) = &request.acp {
        runs.push(Runs { what: "delegate", text: line(&acp.command) });
    }
    runs.extend(request.expect.iter().filter_map(of_check));
    for (step, rung) in &request.rungs {
        let step = probity_core::Step::from(*step);
        runs.push(Runs {
            what: "rung",
            text: format!("{}: {}", step.as_str(), line(&rung.command)),
        });
    }
    for hook in &request.hooks {
        runs.push(Runs { what: "hook", text: format!("{} at {}", hook.name, hook.event) });
    }
    runs.extend(request.methods.values().filter_map(of_method));
    for _ in &request.verify {
        runs.push(Runs { what: "script", text: "verify (inline)".to_owned() });
    }
    for path in &request.verify_files {
        runs.push(Runs { what: "script", text: path.display().to_string() });
    }
    runs
}

/// The configuration file and the project it belongs to.
pub(super) fn locate(given: Option<&Path>) -> Result<(PathBuf, PathBuf), CliError> {
    let path = match given {
        None => policy_of(Path::new(".")),
        Some(given) if given.ends_with(POLICY_PATH) => {
            policy_of(given.parent().unwrap_or(Path::new("")))
        }
        Some(given) if given.is_dir() => policy_of(given),
        Some(given) => given.to_path_buf(),
    };
    let absolute = |source| CliError::File { path: path.clone(), source };
    let path = std::path::absolute(&path).map_err(absolute)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let root = match path.ends_with(CONFIG_PATH) {
        true => folder.parent().unwrap_or(folder).to_path_buf(),
        false => folder.to_path_buf(),
    };
    Ok((path, root))
}

/// The configuration of a project; its folder, where it has policy and no configuration.
fn policy_of(root: &Path) -> PathBuf {
    let (config, folder) = (root.join(CONFIG_PATH), root.join(POLICY_PATH));
    match config.symlink_metadata().is_err() && folder.is_dir() {
        true => folder,
        false => config,
    }
}

impl Trust {
    fn text(&self, is_question: bool) -> String {
        let path = present::line(&self.path.display().to_string());
        let mut text = String::new();
        let state = match (self.trusted, is_question) {
            (true, false) => "is trusted from now on, as long as it stays exactly this",
            (true, true) => "is trusted",
            (false, _) => "is not trusted",
        };
        let _ = writeln!(text, "{path} {state}");
        let _ = writeln!(text, "  sha256    {}", self.sha256);
        for run in &self.runs {
            let _ = writeln!(text, "  {:8}  {}", run.what, present::line(&run.text));
        }
        text
    }
}
