//! `probity verify`: the checks without the delegate.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use probity_core::{Claim, RedFirst};
use probity_engine::{Engine, SystemClock};
use probity_record::canonical::parse_ijson;
use probity_verifier::NoFacts;

use super::CliError;
use super::args::VerifyArgs;
use super::ci::Ci;
use super::present::Kept;
use super::progress::Progress;
use super::run::{
    Output, cancel_on_signal, checking_request, draw_run_id, finish, open_store, store_url,
    with_project,
};
use super::source::{open, refuse_irregular};
use super::staged::Staged;
use crate::given::{GivenClaim, compares};
use crate::location::Programs;
use crate::{Prepared, Request, open_workspace, prepare_with};

/// The claim of what is staged, where nobody makes another.
const STAGED: &str = "This is what is staged.";
/// The longest claim, in bytes.
const MAX_CLAIM_BYTES: u64 = 16 * 1024 * 1024;

/// Checks a claim that was made elsewhere.
///
/// # Errors
/// [`CliError`] if the claim cannot be read or the checks cannot be set up.
pub(super) async fn verify(args: &VerifyArgs, programs: &Programs) -> Result<u8, CliError> {
    let mut ci = Ci::begin(&args.reports, args.checking.json);
    let ended = judged(args, programs, &mut ci).await;
    ci.conclude(ended).await
}

async fn judged(args: &VerifyArgs, programs: &Programs, ci: &mut Ci) -> Result<u8, CliError> {
    let claim = match &args.result {
        Some(path) => read_claim(path)?,
        None => Claim::text(STAGED),
    };
    let mut request = checking_request(&args.checking)?;
    let staged = match args.staged {
        true => Some(staged(request.workspace.as_deref(), programs).await?),
        false => None,
    };
    if let Some(staged) = &staged {
        request.workspace = Some(staged.folder().to_path_buf());
    }
    let told = |error| match &staged {
        Some(staged) => staged.told_error(error),
        None => error,
    };
    let mut request = with_project(request, &args.checking).map_err(told)?;
    for path in &mut request.verify_files {
        *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
        refuse_irregular(path)?;
    }
    refuse_comparisons(&request)?;
    if args.staged {
        refuse_repository(&request)?;
    }
    let run = draw_run_id()?;
    let mut request = Request {
        id: Some(run.clone()),
        task: args.task.clone(),
        command: Vec::new(),
        resume: None,
        max_verify_retries: Some(0),
        // There was no moment before the work that could have been looked at.
        red_first: Some(RedFirst::Off),
        ..request
    };
    ci.leave_out(&mut request)?;
    let workspace = open_workspace(&request)?;
    let given = Arc::new(GivenClaim { claim });
    let Prepared { mut plan, warnings } =
        prepare_with(&request, run.clone(), programs, workspace, given)?;
    plan.facts = Arc::new(NoFacts);
    let store = open_store(&args.store).await?;
    ci.drives(Arc::clone(&store), &run, request.workspace.as_deref());
    let engine = Engine::new(Arc::clone(&store), Arc::new(SystemClock));
    let progress = Progress::of_claim(args.checking.json);
    let output = Output::of(&plan, warnings).kept(Kept::by(&store_url(&args.store)?));
    engine.run(plan, &progress, cancel_on_signal()).await?;
    progress.finish();
    finish(store.as_ref(), &run, &output, &args.checking).await
}

async fn staged(workspace: Option<&Path>, programs: &Programs) -> Result<Staged, CliError> {
    let workspace = workspace.unwrap_or_else(|| Path::new("."));
    let workspace = std::path::absolute(workspace).unwrap_or_else(|_| workspace.to_path_buf());
    Staged::copy(&workspace, programs).await
}

/// What is staged is no repository: it has no refs, no remotes and no history.
fn refuse_repository(request: &Request) -> Result<(), CliError> {
    match request.expect.iter().find(|check| check.kind() == "git") {
        None => Ok(()),
        Some(check) => Err(CliError::Usage(format!(
            "`git:{}` looks at a repository, and what is staged is none yet; leave it out with --staged",
            check.target()
        ))),
    }
}

/// There was no reading before the work.
fn refuse_comparisons(request: &Request) -> Result<(), CliError> {
    match request.expect.iter().find(|check| compares(check)) {
        None => Ok(()),
        Some(check) => Err(CliError::Usage(format!(
            "`{}:{}` compares with the workspace before the work, which `verify` has not seen; leave \
             out created, changed, newer_than and changes_only, or use `probity run`",
            check.kind(),
            check.target()
        ))),
    }
}

/// A JSON object is a claim; everything else is the text of a response.
pub(super) fn read_claim(path: &Path) -> Result<Claim, CliError> {
    let failed = |source| CliError::File { path: path.to_path_buf(), source };
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(MAX_CLAIM_BYTES + 1).read_to_end(&mut bytes)
    } else {
        open(path).and_then(|file| file.take(MAX_CLAIM_BYTES + 1).read_to_end(&mut bytes))
    };
    if read.map_err(failed)? as u64 > MAX_CLAIM_BYTES {
        return Err(CliError::Usage(format!(
            "`{}` is larger than {MAX_CLAIM_BYTES} bytes, the longest claim",
            path.display()
        )));
    }
    let text = String::from_utf8_lossy(&bytes);
    if !text.trim_start().starts_with('{') {
        return Ok(Claim::text(text));
    }
    let invalid = |detail: &dyn std::fmt::Display| {
        CliError::Usage(format!("`{}` starts like a claim but is none: {detail}", path.display()))
    };
    let value = parse_ijson(text.as_bytes()).map_err(|error| invalid(&error))?;
    if value.get("response").is_none() && value.get("output").is_none() {
        return Err(invalid(&"it has neither `response` nor `output`"));
    }
    serde_json::from_value(value).map_err(|error| invalid(&error))
}
