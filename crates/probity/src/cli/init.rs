//! `probity init`: a configuration for the project that is there.

mod agent;
mod project;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use probity_verifier::{CommandLine, known_inputs};
use serde::Serialize;

use self::agent::Agent;
use self::project::Detected;
use super::args::InitArgs;
use super::{CliError, present};
use crate::location::Programs;
use crate::{CONFIG_PATH, Project};

/// Where the example verifier is written, below the project.
const EXAMPLE_PATH: &str = ".probity/verifiers/example.star";

const EXAMPLE: &str = r#"# A verifier: it reads the world, not the claim, and says whether the work is done.
# `result["response"]` is what the delegate answered. Nothing here can write.
# Name this file in .probity/probity.toml to use it: verify_files = [".probity/verifiers/example.star"]

def run(result):
    if fs.stat("out.txt") == None:
        return {"verified": False, "code": "file_missing", "reason": "out.txt does not exist"}
    return True
"#;

/// What was set up.
#[derive(Debug, Serialize)]
struct Setup {
    /// Files that were written.
    written: Vec<PathBuf>,
    /// What the project is, and its test command; absent where nothing was recognised.
    project: Option<Detected>,
    /// Agents that are installed.
    agents: Vec<&'static str>,
    /// Whether the configuration may run its commands.
    trusted: bool,
}

/// Writes `.probity/probity.toml`, and trusts what it wrote.
///
/// # Errors
/// [`CliError`] if there is a configuration already, or one cannot be written.
pub(super) async fn init(args: &InitArgs, _: &Programs) -> Result<u8, CliError> {
    let given = args.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let absolute = |source| CliError::File { path: given.clone(), source };
    let root = std::path::absolute(&given).map_err(absolute)?;
    if !root.is_dir() {
        let text = format!("`{}` is no folder; name the project's folder", root.display());
        return Err(CliError::Usage(text));
    }
    let config = root.join(CONFIG_PATH);
    let detected = project::detect(&root);
    let agents = agent::installed(std::env::var_os("PATH").as_deref());
    let mut written = vec![config.clone()];
    write(&config, &configuration(detected.as_ref(), &agents), args.force)?;
    let example = root.join(EXAMPLE_PATH);
    if detected.is_none() && !example.exists() {
        write(&example, EXAMPLE, false)?;
        written.push(example);
    }
    let project = Project::load(&config, &root)?;
    // What cannot be trusted now, such as without a home folder, can be later: nothing is lost.
    if let Err(error) = project.trust() {
        present::warn(&format!("the configuration is written but not trusted: {error}"));
    }
    let setup = Setup {
        written,
        project: detected,
        agents: agents.iter().map(|agent| agent.name).collect(),
        trusted: project.require_trust().is_ok(),
    };
    match args.json {
        true => present::json(&setup)?,
        false => drop(present::print(setup.text(&root).as_bytes())?),
    }
    Ok(0)
}

/// Whether the search path leads to a program.
pub(super) fn is_on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| agent::find(program, &path))
}

/// Writes a file that is not there yet, or any file by force.
fn write(path: &Path, text: &str, force: bool) -> Result<(), CliError> {
    if let Some(folder) = path.parent() {
        let failed = |source| CliError::Io { what: "make the folder `.probity`", source };
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut options = fs::OpenOptions::new();
    let options = match force {
        true => options.write(true).create(true).truncate(true),
        false => options.write(true).create_new(true),
    };
    match options.open(path).and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let text = format!("`{}` exists; overwrite it with --force", path.display());
            Err(CliError::Usage(text))
        }
        Err(source) => Err(CliError::Io { what: "write the configuration", source }),
    }
}

/// The text of `probity.toml`.
fn configuration(project: Option<&Detected>, agents: &[&Agent]) -> String {
    let mut text = String::from(
        "# The defaults of every run in this folder. `probity check` validates this file;\n\
         # `probity trust` allows it to run its commands again after an edit.\n\n",
    );
    text.push_str(&match agents {
        [] => "# Who does the work where no command is given behind `--`.\n\
               # command = [\"my-agent\", \"{prompt}\"]\n"
            .to_owned(),
        agents => {
            let head =
                "# Who does the work where no command is given behind `--`. Installed here:\n";
            let configured: Vec<String> =
                agents.iter().map(|agent| agent.configuration()).collect();
            format!("{head}{}", configured.join("#\n"))
        }
    });
    text.push_str("\nmax_verify_retries = 2\n\n");
    text.push_str(&match project {
        Some(project) => tests(project),
        None => {
            "# The project's tests, with the files that decide them. Nothing was recognised here.\n\
                 # [[expect]]\n\
                 # command = \"make test\"\n\
                 # inputs = [\"Makefile\", \"tests/**\"]\n"
                .to_owned()
        }
    });
    text.push_str(
        "\n# What the delegate must leave behind, or may touch at most.\n\
         # [[expect]]\n\
         # file = \"SUMMARY.md\"\n\
         # created = true\n\
         #\n\
         # [[expect]]\n\
         # changes_only = [\"src/**\", \"docs/**\"]\n\
         \n\
         # Hooks, profiles, envelopes and verifiers stand beside this file: hooks/*.md, agents/*.md;\n\
         # envelopes/*.yaml, and verifiers/*.star or *.py. `probity check` and `trust` cover them.\n",
    );
    text
}

/// The check that runs the project's tests. Its inputs are sealed: the delegate cannot edit them.
fn tests(project: &Detected) -> String {
    let command = project.command;
    let mut text = format!(
        "# The project's tests. `inputs` are sealed while a run lasts: a delegate that edits them\n\
         # has failed. Where writing tests is the task, name them in `may_change`.\n\
         [[expect]]\n\
         id = \"tests\"\n\
         command = {command:?}\n\
         timeout = \"10m\"\n"
    );
    let inputs = known_inputs(&CommandLine::of_line(command)).unwrap_or_default();
    if !inputs.is_empty() {
        let inputs: Vec<String> = inputs.iter().map(|glob| format!("    {glob:?},\n")).collect();
        text.push_str(&format!("inputs = [\n{}]\n", inputs.concat()));
    }
    text
}

impl Setup {
    fn text(&self, root: &Path) -> String {
        let mut lines = Vec::new();
        if let Some(project) = &self.project {
            lines.push(format!("found {}: its tests are `{}`", project.evidence, project.command));
        } else {
            lines.push("recognised no test command; name one in the configuration".to_owned());
        }
        if !self.agents.is_empty() {
            lines.push(format!("installed agents: {}", self.agents.join(", ")));
        }
        for path in &self.written {
            let shown = path.strip_prefix(root).unwrap_or(path);
            lines.push(format!("wrote {}", shown.display()));
        }
        lines.push("next: probity check, then probity run \"TASK\" -- YOUR-AGENT".to_owned());
        lines.iter().map(|line| present::line(line) + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::request::{Format, Request};

    use super::*;

    #[test]
    fn every_configuration_that_can_be_written_is_a_request_with_at_most_three_checks() {
        let agents: Vec<&Agent> = agent::KNOWN.iter().collect();
        for project in project::every().map(Some).chain([None]) {
            for agents in [agents.as_slice(), &[]] {
                let text = configuration(project.as_ref(), agents);
                let request = Request::parse(&text, Format::Toml, "it").unwrap();
                assert_eq!(request.expect.len(), usize::from(project.is_some()), "{text}");
                let sealed = request.expect.iter().all(|check| !check.inputs().is_empty());
                assert!(sealed, "{text}");
            }
        }
    }

    #[test]
    fn what_is_suggested_in_remarks_is_a_request_too() {
        for agents in [vec![], vec![&agent::KNOWN[0]], vec![&agent::KNOWN[1]]] {
            let text = configuration(None, &agents);
            let active: String = text
                .lines()
                .filter(|line| !line.ends_with('.') && !line.ends_with(';') && !line.ends_with(':'))
                .map(|line| line.strip_prefix("# ").unwrap_or(line).to_owned() + "\n")
                .collect();
            let request = Request::parse(&active, Format::Toml, &active).unwrap();
            assert_eq!(request.expect.len(), 3, "{active}");
            assert!(!request.command.is_empty(), "{active}");
        }
    }
}
