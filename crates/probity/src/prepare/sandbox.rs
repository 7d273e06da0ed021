//! How the commands of a run are confined: by what its request says, as far as this machine can.

use std::path::{Path, PathBuf};

use probity_sandbox::{
    Confinement, Demand, Enforcement, Launcher, Limits, Network, SandboxError, try_out,
};
use probity_verifier::spec::CheckSpec;
use probity_verifier::{JudgeFiles, Workspace, path_of};

use super::PrepareError;
use crate::location::{self, Programs};
use crate::project::POLICY_PATH;
use crate::request::{Reach, Request, Sandbox, Sandboxing, rooted};

/// The launcher that does what a word says of commands. What is to be protected must be known.
pub(super) fn launcher(
    request: &Request,
    how: Sandboxing,
    workspace: &Workspace,
    judge: &JudgeFiles,
    plain: &Launcher,
) -> Launcher {
    let sandbox = request.sandbox.clone().unwrap_or_default();
    let demand = match how {
        Sandboxing::Off => return plain.clone(),
        Sandboxing::Guard => return plain.confined(Confinement::guard(), Limits::default()),
        Sandboxing::BestEffort => Demand::BestEffort,
        Sandboxing::On => Demand::Required,
    };
    let root = workspace.root();
    let mut confinement = Confinement::closed().demand(demand).writable(root);
    if sandbox.network == Some(Reach::Deny) {
        confinement = confinement.network(Network::Denied);
    }
    let named = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().map(|path| rooted(path, root)).collect()
    };
    for path in named(&sandbox.writable) {
        confinement = confinement.writable(path);
    }
    for path in named(&sandbox.hidden) {
        confinement = confinement.hidden(path);
    }
    let own = own_paths(root, judge).into_iter();
    let own = own.chain(whole_folders(request, root)).chain(named(&sandbox.protected));
    let reachable: Vec<PathBuf> = own.filter(|path| is_within(path, &confinement)).collect();
    for path in reachable {
        confinement = confinement.protected(path);
    }
    plain.confined(confinement, limits(&sandbox))
}

/// Finds out what holds, by starting something under it.
///
/// # Errors
/// [`PrepareError::Sandbox`] where all of it is required and not all of it holds, or nothing could be
/// started.
pub(super) fn try_launcher(launcher: &Launcher) -> Result<Option<Enforcement>, PrepareError> {
    let Launcher::Confined { by, confinement, limits } = launcher else { return Ok(None) };
    if !confinement.is_closed() {
        // A guard is best effort, and what came of it stands beside what each command said.
        return Ok(None);
    }
    let asked = Confinement::clone(confinement);
    let held = on_a_runtime(by, asked, *limits).map_err(PrepareError::Sandbox)?;
    if confinement.is_required() && !held.is_whole() {
        return Err(PrepareError::Sandbox(SandboxError::Unenforced { enforcement: held }));
    }
    Ok(Some(held))
}

/// What a confinement lacks, for people.
pub(super) fn warning(whose: &str, held: &Enforcement) -> Option<String> {
    let missing: Vec<String> =
        held.missing().map(|(part, lack)| format!("{} ({})", part.as_str(), lack.text())).collect();
    (!missing.is_empty()).then(|| {
        format!("the sandbox of {whose} is DEGRADED, it does not hold {}", missing.join(", "))
    })
}

/// Preparing is done by threads that may belong to a runtime and may not wait on it.
fn on_a_runtime(
    launcher: &Launcher,
    confinement: Confinement,
    limits: Limits,
) -> Result<Enforcement, SandboxError> {
    let failed = |source| SandboxError::Watch { program: "the sandbox".to_owned(), source };
    let lost = || SandboxError::Helper { detail: "the thread that tried it is gone".to_owned() };
    let tried = std::thread::scope(|scope| -> Result<_, SandboxError> {
        let attempt = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(failed)?.block_on(try_out(launcher, confinement, limits))
        };
        let thread = std::thread::Builder::new().spawn_scoped(scope, attempt);
        Ok(thread.map_err(failed)?.join())
    });
    tried?.map_err(|_| lost())?
}

/// Everything that decides: the project's policy, what is under seal, and the list of what is trusted.
fn own_paths(root: &Path, judge: &JudgeFiles) -> Vec<PathBuf> {
    let seen = judge.look();
    let sealed = seen.iter().map(|(key, _)| root.join(path_of(key).unwrap_or_else(|| key.into())));
    let mut paths: Vec<PathBuf> = sealed.collect();
    paths.push(root.join(POLICY_PATH));
    paths.extend(location::trust_file());
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// The folders of which a check declares all that is in them: nothing new comes to be there, either.
fn whole_folders(request: &Request, root: &Path) -> Vec<PathBuf> {
    if !request.may_change.is_empty() {
        return Vec::new();
    }
    let checks = request.expect.iter().filter(|check| check.may_change().is_empty());
    let inputs = checks.flat_map(CheckSpec::inputs);
    let folders = inputs.filter_map(|pattern| {
        let folder = pattern.strip_suffix("/**")?;
        let is_plain = !folder.is_empty() && !folder.contains(['*', '?', '[', '{', '\\', '!']);
        is_plain.then(|| root.join(folder))
    });
    folders.collect()
}

/// Whether something may be written to where the path leads. What may not needs no protection.
fn is_within(path: &Path, confinement: &Confinement) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    // A link is a name that may be given to something else, wherever it leads.
    let name = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => real(folder).join(name),
        _ => path.to_path_buf(),
    };
    let roots: Vec<PathBuf> = confinement.writable_paths().iter().map(|root| real(root)).collect();
    [real(path), name].iter().any(|path| roots.iter().any(|root| path.starts_with(root)))
}

fn limits(sandbox: &Sandbox) -> Limits {
    Limits {
        processes: sandbox.max_processes,
        memory_bytes: sandbox.max_memory_bytes,
        ..Limits::default()
    }
}

/// The programs of a run with another launcher.
pub(super) fn with_launcher(programs: &Programs, launcher: Launcher) -> Programs {
    Programs { launcher, ..programs.clone() }
}
