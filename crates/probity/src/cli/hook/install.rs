//! `probity hook install`, `uninstall`, `status`: the settings of coding agents.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use probity_harness::{
    Installed, JsonTextError, Scope, Tool, Unchecked, Wiring, diff, install as with_hooks,
    installed, switched_off, uninstall as without_hooks,
};
use serde::Serialize;

use super::settings_file::{SettingsFile, path_of};
use crate::cli::args::{HookInstallArgs, HookProgramArg, HookStatusArgs, HookUninstallArgs};
use crate::cli::init::is_on_path;
use crate::cli::{CliError, present};
use crate::request::Millis;

/// Exit code where the user did not agree, or where `status` found something that is not as it should be.
const EXIT_NOT: u8 = 1;
/// The longest answer of the user that is read, in bytes.
const MAX_ANSWER_BYTES: u64 = 64;

/// What came of a change.
#[derive(Debug, Serialize)]
struct Changed<'a> {
    tool: &'static str,
    path: &'a Path,
    /// `changed`, `unchanged`, `would_change` or `refused`.
    result: &'static str,
    diff: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<PathBuf>,
    notes: Vec<String>,
}

/// What is to be done with a settings file.
struct Edit<'a> {
    tool: Tool,
    file: &'a SettingsFile,
    /// `None` takes the file away.
    new: Option<String>,
    keeps_copy: bool,
    notes: Vec<String>,
}

/// How it is done.
#[derive(Clone, Copy)]
struct Manner {
    yes: bool,
    dry_run: bool,
    json: bool,
}

/// Puts our hooks into the settings of a tool.
///
/// # Errors
/// [`CliError`] if the settings cannot be read or changed.
pub(super) fn install(args: &HookInstallArgs) -> Result<u8, CliError> {
    let scope = args.place.scope.into();
    let file = open(args.tool, scope, &args.place.workspace)?;
    let wiring = wiring(args, scope)?;
    let new = with_hooks(file.text.as_deref(), &wiring).map_err(|error| unusable(&file, error))?;
    let mut notes = vec![args.tool.limits().to_owned()];
    if !wiring.program.contains('/') && !is_on_path(&wiring.program) {
        notes.push(format!("`{}` is not on PATH; use --program absolute", wiring.program));
    }
    notes.extend(elsewhere(args.tool, scope, &args.place.workspace));
    // Of what was there before the first of ours, not of an earlier form of ours.
    let has_ours =
        installed(file.text.as_deref(), args.tool).map_err(|error| unusable(&file, error))?;
    let keeps_copy = has_ours == Installed::Absent;
    let edit = Edit { tool: args.tool, file: &file, new: Some(new), keeps_copy, notes };
    let manner = Manner { yes: args.yes, dry_run: args.dry_run, json: args.json };
    apply(edit, manner)
}

/// Takes our hooks out of the settings of a tool. Where nothing else was changed since they were put in,
/// what was there before is there again to the byte.
///
/// # Errors
/// As [`install`].
pub(super) fn uninstall(args: &HookUninstallArgs) -> Result<u8, CliError> {
    let scope = args.place.scope.into();
    let file = open(args.tool, scope, &args.place.workspace)?;
    let failed = |error| unusable(&file, error);
    let state = installed(file.text.as_deref(), args.tool).map_err(failed)?;
    let new = match (&file.text, &state) {
        (None, _) => None,
        (Some(text), Installed::Absent) => Some(text.clone()),
        (Some(text), _) => before(&file, text, &state, args.tool).map_err(failed)?,
    };
    let edit = Edit { tool: args.tool, file: &file, new, keeps_copy: false, notes: Vec::new() };
    let manner = Manner { yes: args.yes, dry_run: args.dry_run, json: args.json };
    let code = apply(edit, manner)?;
    if code == 0 && !args.dry_run && state != Installed::Absent {
        file.remove_copy();
    }
    Ok(code)
}

/// What was there before: the copy, where putting our hooks into it gives what is there now; no file, where
/// putting them into none does; otherwise what is left without them.
fn before(
    file: &SettingsFile,
    text: &str,
    state: &Installed,
    tool: Tool,
) -> Result<Option<String>, JsonTextError> {
    if let Installed::Current(wiring) = state {
        let copy = file.copy();
        if with_hooks(copy.as_deref(), wiring).is_ok_and(|with| with == text) {
            return Ok(copy);
        }
    }
    without_hooks(text, tool).map(Some)
}

/// Says what is installed where.
///
/// # Errors
/// [`CliError`] if there is no home folder to look in.
pub(super) fn status(args: &HookStatusArgs) -> Result<u8, CliError> {
    #[derive(Serialize)]
    struct Status {
        tool: &'static str,
        scope: &'static str,
        path: PathBuf,
        /// `installed`, `off`, `changed`, `absent` or `unreadable`.
        state: &'static str,
        #[serde(skip_serializing_if = "String::is_empty")]
        detail: String,
    }
    let workspace = workspace(&args.workspace)?;
    let mut rows = Vec::new();
    for tool in args.tool.map_or_else(|| Tool::ALL.to_vec(), |tool| vec![tool]) {
        let off = off(tool, &workspace);
        for (scope, word) in SCOPES {
            let Ok(path) = path_of(tool, scope, &workspace) else { continue };
            let (state, detail) = match (state_of(tool, &path), &off) {
                (("installed", _), Some(why)) => ("off", why.clone()),
                (state, _) => state,
            };
            rows.push(Status { tool: tool.as_str(), scope: word, path, state, detail });
        }
    }
    let is_well = rows.iter().all(|row| matches!(row.state, "installed" | "absent"))
        && rows.iter().any(|row| row.state == "installed");
    if args.json {
        present::json(&rows)?;
    } else {
        for row in &rows {
            let path = present::line(&row.path.display().to_string());
            let detail = present::line(&row.detail);
            let line =
                format!("{:11}  {:7}  {:10}  {path}  {detail}", row.tool, row.scope, row.state);
            present::print(format!("{}\n", line.trim_end()).as_bytes())?;
        }
    }
    Ok(if is_well { 0 } else { EXIT_NOT })
}

const SCOPES: [(Scope, &str); 3] =
    [(Scope::Project, "project"), (Scope::Local, "local"), (Scope::User, "user")];

fn state_of(tool: Tool, path: &Path) -> (&'static str, String) {
    let state = SettingsFile::read(path.to_path_buf()).and_then(|file| {
        installed(file.text.as_deref(), tool).map_err(|error| unusable(&file, error))
    });
    match state {
        Ok(Installed::Absent) => ("absent", String::new()),
        Ok(Installed::Current(wiring)) => match missing(&wiring.program) {
            true => ("changed", format!("`{}` is not there; run install again", wiring.program)),
            false => ("installed", String::new()),
        },
        Ok(Installed::Changed { events }) => (
            "changed",
            format!(
                "by hand or by another version, under {}; run install again to put it right",
                events.join(", ")
            ),
        ),
        Err(error) => ("unreadable", error.to_string()),
    }
}

/// Why the tool calls no hooks, or none of ours, whatever its settings list: a switch of one scope holds for all.
fn off(tool: Tool, workspace: &Path) -> Option<String> {
    let switched = |(scope, _)| {
        let path = path_of(tool, scope, workspace).ok()?;
        let text = SettingsFile::read(path.clone()).ok()?.text?;
        let switch = switched_off(&text, tool)?;
        Some(format!("`{switch}` in `{}` keeps {tool} from calling them", path.display()))
    };
    SCOPES.into_iter().find_map(switched)
}

fn missing(program: &str) -> bool {
    match program.contains('/') {
        true => !Path::new(program).exists(),
        false => !is_on_path(program),
    }
}

fn open(tool: Tool, scope: Scope, given: &Option<PathBuf>) -> Result<SettingsFile, CliError> {
    SettingsFile::read(path_of(tool, scope, &workspace(given)?)?)
}

fn workspace(given: &Option<PathBuf>) -> Result<PathBuf, CliError> {
    let path = given.clone().unwrap_or_else(|| PathBuf::from("."));
    std::path::absolute(&path).map_err(|source| CliError::File { path, source })
}

fn wiring(args: &HookInstallArgs, scope: Scope) -> Result<Wiring, CliError> {
    let program = match (args.program, scope) {
        // What a team shares cannot name a place on one machine.
        (Some(HookProgramArg::Name), _) | (None, Scope::Project) => "probity".to_owned(),
        _ => {
            let failed = |source| CliError::Io { what: "find this program", source };
            let program = std::env::current_exe().map_err(failed)?;
            let named = |text: &str| !text.chars().any(char::is_control);
            program.to_str().filter(|text| named(text)).map(str::to_owned).ok_or_else(|| {
                CliError::Usage(format!(
                    "`{}` cannot be written into settings; use --program name",
                    program.display()
                ))
            })?
        }
    };
    let deadline_ms = args.deadline.map_or(Wiring::DEFAULT_DEADLINE_MS, Millis::get);
    if !(Wiring::MIN_DEADLINE_MS..=Wiring::MAX_DEADLINE_MS).contains(&deadline_ms) {
        return Err(CliError::Usage("--deadline must be between 1s and 58m".to_owned()));
    }
    let unchecked: Unchecked = args.unchecked.into();
    Ok(Wiring { deadline_ms, unchecked, guards: args.guard, ..Wiring::new(args.tool, program) })
}

/// The same hooks elsewhere: every claim would be looked at twice.
fn elsewhere(tool: Tool, scope: Scope, given: &Option<PathBuf>) -> Vec<String> {
    let Ok(workspace) = workspace(given) else { return Vec::new() };
    let others = SCOPES.into_iter().filter(|(other, _)| *other != scope);
    let path = |(other, _)| path_of(tool, other, &workspace).ok();
    let is_there = |path: &PathBuf| matches!(state_of(tool, path).0, "installed" | "changed");
    let note = |path: PathBuf| {
        format!(
            "the hooks are in `{}`, too; a claim is checked once, but asked about twice",
            path.display()
        )
    };
    others.filter_map(path).filter(is_there).map(note).collect()
}

fn unusable(file: &SettingsFile, error: JsonTextError) -> CliError {
    CliError::HookSettings { path: file.path.clone(), source: error }
}

/// Shows what would change, asks, and does it.
fn apply(edit: Edit<'_>, manner: Manner) -> Result<u8, CliError> {
    let Edit { tool, file, new, keeps_copy, notes } = edit;
    let old = file.text.as_deref();
    let shown = diff(old.unwrap_or_default(), new.as_deref().unwrap_or_default());
    let is_same = new.as_deref() == old;
    if !manner.json && !is_same {
        let path = present::line(&file.path.display().to_string());
        let lines: Vec<String> = shown.lines().map(present::line).collect();
        present::print(format!("{path}\n{}\n", lines.join("\n")).as_bytes())?;
    }
    let result = match (is_same, manner.dry_run) {
        (true, _) => "unchanged",
        (_, true) => "would_change",
        _ if !agreed(manner)? => "refused",
        _ => {
            match &new {
                Some(text) => file.replace(text, keeps_copy)?,
                None => file.remove()?,
            }
            "changed"
        }
    };
    let backup = (result == "changed" && keeps_copy && old.is_some()).then(|| file.copy_path());
    let changed =
        Changed { tool: tool.as_str(), path: &file.path, result, diff: &shown, backup, notes };
    match manner.json {
        true => present::json(&changed)?,
        false => changed.tell()?,
    }
    Ok(if result == "refused" { EXIT_NOT } else { 0 })
}

impl Changed<'_> {
    fn tell(&self) -> Result<(), CliError> {
        let path = present::line(&self.path.display().to_string());
        let line = match self.result {
            "unchanged" => format!("{path} is as it should be\n"),
            "would_change" => "nothing was changed: --dry-run\n".to_owned(),
            "refused" => "nothing was changed\n".to_owned(),
            _ => format!("{path} was changed\n"),
        };
        present::print(line.as_bytes())?;
        if let Some(backup) = &self.backup {
            present::note(&format!("what it was is in {}", backup.display()));
        }
        if self.result == "changed" {
            self.notes.iter().for_each(|note| present::note(&format!("note: {note}")));
        }
        Ok(())
    }
}

/// Whether the user agrees; without a terminal, only `--yes` does.
fn agreed(manner: Manner) -> Result<bool, CliError> {
    if manner.yes {
        return Ok(true);
    }
    let stdin = io::stdin();
    if manner.json || !stdin.is_terminal() {
        return Err(CliError::Usage(
            "there is no terminal to ask on; look at it with --dry-run, then use --yes".to_owned(),
        ));
    }
    let failed = |source| CliError::Io { what: "ask on the terminal", source };
    let mut stderr = io::stderr().lock();
    stderr.write_all(b"change it? [y/N] ").and_then(|()| stderr.flush()).map_err(failed)?;
    let mut said = String::new();
    io::Read::take(stdin.lock(), MAX_ANSWER_BYTES).read_line(&mut said).map_err(failed)?;
    Ok(matches!(said.trim(), "y" | "Y" | "yes"))
}
