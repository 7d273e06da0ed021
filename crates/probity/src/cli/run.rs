//! `probity run`.

use std::path::Path;
use std::sync::Arc;

use probity_core::{Answer, Digest, Outcome, RunId, SubmissionId};
use probity_delegate::OnError;
use probity_engine::{Approval, Engine, Plan, Report, SystemClock};
use probity_record::canonical::parse_ijson;
use probity_store::Store;
use probity_verifier::expect;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::args::{CheckingArgs, OnDelegateErrorArg, RequestArgs, RunArgs, StoreArgs};
use super::ci::Ci;
use super::present::{Asked as Humans, Beside, Kept, StoppedBy, hides};
use super::progress::Progress;
use super::signals::Signals;
use super::source::{read_text, refuse_irregular};
use super::telemetry::Telling;
use super::{CliError, present, telemetry};
use crate::location::{Programs, StoreUrl};
use crate::own_store::leave_out;
use crate::request::{Acp, Chat, Held, yaml};
use crate::{Prepared, Recorded, Request, open_workspace, prepare, project};

/// The longest name of somebody who answers, in characters: that of a human check.
const MAX_NAME_CHARS: usize = 128;

/// Runs a delegate under the gate, or takes an interrupted run up again.
///
/// # Errors
/// [`CliError`] if the run could not be started or driven on.
pub(super) async fn run(args: &RunArgs, programs: &Programs) -> Result<u8, CliError> {
    let mut ci = Ci::begin(&args.reports, args.request.checking.json);
    let ended = gated(args, programs, &mut ci).await;
    ci.conclude(ended).await
}

async fn gated(args: &RunArgs, programs: &Programs, ci: &mut Ci) -> Result<u8, CliError> {
    let url = store_url(&args.store)?;
    let store = url.open_shared().await?;
    let (prepared, entry) = match &args.resume {
        Some(run) => resumed(args, run, store.as_ref(), programs).await?,
        None => (fresh(&args.request, &url, programs, ci)?, Entry::Open),
    };
    ci.drives(store.clone(), &prepared.plan.run, args.request.checking.workspace.as_deref());
    drive(store, prepared, entry, &args.request.checking, Kept::by(&url)).await
}

/// How a run is entered.
pub(super) enum Entry {
    /// It is new.
    Open,
    /// It was interrupted.
    Resume,
    /// It is escalated, and somebody answers.
    Answer(String, Answer),
    /// It waits on a human check, and somebody answers.
    Approve(String, SubmissionId, Approval),
}

/// Drives a run to its end, or to where it waits, and says what it came to.
///
/// # Errors
/// [`CliError`] if the run could not be driven on.
pub(super) async fn drive(
    store: Arc<dyn Store>,
    prepared: Prepared,
    entry: Entry,
    args: &CheckingArgs,
    kept: Kept,
) -> Result<u8, CliError> {
    let engine = Engine::new(Arc::clone(&store), Arc::new(SystemClock));
    let telling = Telling::begin(&store)?;
    let progress = Progress::new(args.json);
    let Prepared { plan, warnings } = prepared;
    progress.knows(&plan);
    let output = Output::of(&plan, warnings).kept(kept);
    let run = plan.run.clone();
    let cancel = cancel_on_signal();
    let watch = telling.beside(&run, &progress);
    let ended = match entry {
        Entry::Open => engine.run(plan, &watch, cancel).await,
        Entry::Resume => engine.resume(plan, &watch, cancel).await,
        Entry::Answer(by, answer) => engine.answer(plan, &by, answer, &watch, cancel).await,
        Entry::Approve(by, about, approval) => {
            engine.approve(plan, &by, &about, approval, &watch, cancel).await
        }
    };
    drop(watch);
    telling.end().await;
    ended.map_err(|error| super::log::refused(&run, error))?;
    progress.finish();
    finish(store.as_ref(), &run, &output, args).await
}

/// What only the command line knows of a run.
#[derive(Debug, Default, Serialize)]
pub(super) struct Output {
    /// Whether retries continued the delegate's conversation; empty where that is not known.
    #[serde(skip_serializing_if = "str::is_empty")]
    conversation: &'static str,
    /// Weaknesses of the request.
    warnings: Vec<String>,
    /// What held of the sandboxes that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<Held>,
    /// Whom each human check asks.
    #[serde(skip)]
    asked: Humans,
    /// Where the run is kept.
    #[serde(skip)]
    kept: Option<Kept>,
}

#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(flatten)]
    output: &'a Output,
    #[serde(flatten)]
    beside: Beside<'a>,
}

impl Output {
    pub(super) fn of(plan: &Plan, warnings: Vec<String>) -> Self {
        let conversation = plan.delegate.conversation().as_str();
        Self { conversation, warnings, sandbox: held(plan), asked: Humans::of(plan), kept: None }
    }

    /// The same, of a run that is kept there.
    pub(super) fn kept(self, kept: Kept) -> Self {
        Self { kept: Some(kept), ..self }
    }

    /// Of a run that was prepared elsewhere.
    pub(super) fn warning(warnings: Vec<String>) -> Self {
        Self { warnings, ..Self::default() }
    }

    /// Weaknesses of the request.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// What the record says of the sandboxes.
fn held(plan: &Plan) -> Option<Held> {
    let request: Value = serde_json::from_slice(&plan.request).ok()?;
    serde_json::from_value(request.pointer("/sandbox/held")?.clone()).ok()
}

/// Prints the report and says with which code to exit.
pub(super) async fn finish(
    store: &dyn Store,
    run: &RunId,
    output: &Output,
    args: &CheckingArgs,
) -> Result<u8, CliError> {
    let report = Report::read(store, run).await?;
    let stopped_by = StoppedBy::of(store, &report).await?;
    let beside = Beside {
        asks: output.asked.by(&report),
        stopped_by: stopped_by.as_ref(),
        kept: output.kept.as_ref(),
    };
    if args.json {
        present::json(&Printed { report: &report, output, beside })?;
    } else {
        present::report(&report, &beside, &output.warnings)?;
    }
    Ok(match report.outcome {
        Some(Outcome::Unverified) if args.allow_unverified => 0,
        Some(outcome) => outcome.exit_code(),
        None => super::EXIT_STOPPED,
    })
}

/// Opens the store that was named, or the user's.
///
/// # Errors
/// [`CliError::Store`].
pub(super) async fn open_store(args: &StoreArgs) -> Result<Arc<dyn Store>, CliError> {
    Ok(store_url(args)?.open_shared().await?)
}

/// The store that was named, or the user's.
///
/// # Errors
/// [`CliError::Store`].
pub(super) fn store_url(args: &StoreArgs) -> Result<StoreUrl, CliError> {
    Ok(match &args.store {
        Some(text) => StoreUrl::parse(text)?,
        None => StoreUrl::of_user()?,
    })
}

/// A token that the first Ctrl-C, SIGTERM or closed terminal cancels; the second one ends the process.
pub(super) fn cancel_on_signal() -> CancellationToken {
    let token = CancellationToken::new();
    let cancel = token.clone();
    let Ok(mut told) = Signals::new() else { return token };
    tokio::spawn(async move {
        told.next().await;
        cancel.cancel();
        told.next().await;
        std::process::exit(i32::from(super::EXIT_INTERRUPTED));
    });
    token
}

/// What the arguments ask about checks, over the project's configuration.
pub(super) fn with_project(request: Request, args: &CheckingArgs) -> Result<Request, CliError> {
    applied(request, args).map(|(request, _)| request)
}

/// As [`with_project`], with what the project was trusted as, where there is one.
fn applied(request: Request, args: &CheckingArgs) -> Result<(Request, Option<Digest>), CliError> {
    let root = request.workspace.clone().unwrap_or_else(|| ".".into());
    let root = std::path::absolute(&root).unwrap_or(root);
    let request = Request { workspace: Some(root), ..request };
    Ok(match args.no_project {
        true => (project::unapplied(request)?, None),
        false => project::applied(request)?,
    })
}

/// The part of a request that the checking arguments make.
pub(super) fn checking_request(args: &CheckingArgs) -> Result<Request, CliError> {
    let mut expect = Vec::new();
    for text in &args.expect {
        expect.push(expect::parse(text)?);
    }
    Ok(Request {
        expect,
        verify_files: args.verify.clone(),
        verify_args: verify_args(&args.verify_arg)?,
        allow_hosts: args.allow_host.clone(),
        allow_private: args.allow_private.clone(),
        ignore: args.ignore.clone(),
        may_change: args.may_change.clone(),
        workspace: args.workspace.clone(),
        sandbox: args.sandbox.request()?,
        ..Request::default()
    })
}

/// A new run's name: sorts by time.
pub(super) fn draw_run_id() -> Result<RunId, CliError> {
    Ok(Uuid::now_v7().to_string().parse()?)
}

/// A request as the arguments make it: with the project's part, every path absolute, under a name.
pub(super) struct Asked {
    /// The request.
    pub(super) request: Request,
    /// Its run.
    pub(super) run: RunId,
    /// What the project was trusted as, where there is one.
    pub(super) project: Option<Digest>,
}

fn fresh(
    args: &RequestArgs,
    url: &StoreUrl,
    programs: &Programs,
    ci: &Ci,
) -> Result<Prepared, CliError> {
    let Asked { mut request, run, .. } = asked(args)?;
    leave_out(&mut request, url)?;
    ci.leave_out(&mut request)?;
    Ok(prepare(&request, run, programs)?)
}

/// What the arguments ask for.
///
/// # Errors
/// [`CliError`] with what of it cannot be.
pub(super) fn asked(args: &RequestArgs) -> Result<Asked, CliError> {
    let mut request = request_of(args)?;
    if let Some(path) = &args.request {
        request = request.over(Request::load(path)?);
    }
    let (mut request, project) = applied(request, &args.checking)?;
    for path in request.files_mut() {
        make_absolute(path);
        refuse_irregular(path)?;
    }
    let run = match &request.id {
        Some(id) => id.clone(),
        None => draw_run_id()?,
    };
    request.id = Some(run.clone());
    request.traceparent = request.traceparent.or_else(telemetry::caller);
    open_workspace(&request)?;
    Ok(Asked { request, run, project })
}

/// What the arguments ask of a host, as a document: its paths are those of the host, which applies the
/// project there.
///
/// # Errors
/// [`CliError`] with what of it cannot be.
pub(super) fn document(args: &RequestArgs) -> Result<Value, CliError> {
    let mut request = request_of(args)?;
    if let Some(path) = &args.request {
        request = request.over(Request::read_file(path)?);
    }
    let refused = |what: &str| Err(CliError::Usage(format!("with --host, {what}")));
    if request.id.is_some() {
        return refused("the host names the run; to submit once, give --idempotency-key");
    }
    if args.checking.no_project {
        return refused(
            "the host decides about the project of the workspace; leave out --no-project",
        );
    }
    serde_json::to_value(&request).map_err(|error| CliError::Usage(error.to_string()))
}

fn request_of(args: &RequestArgs) -> Result<Request, CliError> {
    let resume = args.resume_command.as_deref().map(words).transpose()?;
    let decision = args.decision.as_deref().map(read_decision).transpose()?;
    let on_failure = args.on_failure.map(Into::into);
    let (command, acp) = match args.acp {
        true => (Vec::new(), Some(Acp::new(args.command.clone()))),
        false => (args.command.clone(), None),
    };
    Ok(Request {
        id: args.id.as_deref().map(str::parse).transpose()?,
        agent: args.agent.clone(),
        decision,
        decision_type: args.decision_type.clone(),
        task: args.task.clone().unwrap_or_default(),
        command,
        chat: chat_of(args)?,
        acp,
        resume,
        format: args.format,
        on_delegate_error: args.on_delegate_error.map(|arg| match arg {
            OnDelegateErrorArg::Fail => OnError::Fail,
            OnDelegateErrorArg::Claim => OnError::Claim,
        }),
        attempt_timeout: args.attempt_timeout,
        max_verify_retries: args.max_retries,
        counting: args.counting,
        timeout: args.timeout,
        red_first: args.red_first.map(Into::into),
        on_fail: on_failure,
        on_exhausted: on_failure,
        ..checking_request(&args.checking)?
    })
}

/// What the arguments say of a chat model.
fn chat_of(args: &RequestArgs) -> Result<Option<Chat>, CliError> {
    let said = Chat {
        endpoint: args.endpoint.clone(),
        model: args.model.clone(),
        api: args.api,
        key_env: args.key_env.clone(),
        ..Chat::default()
    };
    if said == Chat::default() {
        return Ok(None);
    }
    // As in a file: a key in the place of a variable's name is refused, and not shown.
    let value = serde_json::to_value(&said).unwrap_or_default();
    serde_json::from_value(value).map(Some).map_err(|error| CliError::Usage(error.to_string()))
}

async fn resumed(
    args: &RunArgs,
    run: &str,
    store: &dyn Store,
    programs: &Programs,
) -> Result<(Prepared, Entry), CliError> {
    let run = super::log::resolve_run(store, run).await?;
    let entry = match (&args.answer, &args.by) {
        (Some(answer), Some(by)) => {
            require_name(by)?;
            Entry::Answer(by.clone(), parse_answer(answer)?)
        }
        _ => Entry::Resume,
    };
    Ok((recorded(store, run, programs).await?, entry))
}

/// Prepares a run of the store as it was prepared when it was opened.
///
/// # Errors
/// [`CliError`] if there is no such run, or what it needs is gone.
pub(super) async fn recorded(
    store: &dyn Store,
    run: RunId,
    programs: &Programs,
) -> Result<Prepared, CliError> {
    let Recorded { request, bytes, .. } = Recorded::read(store, &run).await?;
    let mut prepared = prepare(&request, run, programs)?;
    prepared.plan.request = bytes;
    Ok(prepared)
}

/// # Errors
/// [`CliError::Usage`] for a name that is blank, too long, or not all seen where it is shown.
pub(super) fn require_name(by: &str) -> Result<(), CliError> {
    let wrong = if by.trim().is_empty() {
        "is blank".to_owned()
    } else if by.chars().count() > MAX_NAME_CHARS {
        format!("is longer than {MAX_NAME_CHARS} characters")
    } else if hides(by) {
        format!("has a character in it that is not seen, or moves text: `{by}`")
    } else {
        return Ok(());
    };
    Err(CliError::Usage(format!("--by must name who says this; the name {wrong}")))
}

pub(super) fn parse_answer(text: &str) -> Result<Answer, CliError> {
    match text {
        "reject" => Ok(Answer::Reject),
        "waive" => Ok(Answer::Waive),
        number => number.parse().map(|attempts| Answer::Continue { attempts }).map_err(|_| {
            CliError::Usage(format!(
                "`{text}` is no answer; write reject, waive or a number of attempts"
            ))
        }),
    }
}

/// A decision in a file. What it says is judged with the envelope.
fn read_decision(path: &Path) -> Result<Value, CliError> {
    let text = read_text(path, probity_policy::MAX_DOCUMENT_BYTES)?;
    let invalid = |detail: String| {
        CliError::Usage(format!("`{}` holds no decision: {detail}", path.display()))
    };
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => parse_ijson(text.as_bytes()).map_err(|error| invalid(error.to_string())),
        Some("yaml" | "yml") => {
            yaml(&text).map_err(|error| invalid(error.without_snippet().to_string()))
        }
        _ => Err(invalid("name it .json, .yaml or .yml".to_owned())),
    }
}

/// `key=value` entries; a value that is JSON is taken as JSON.
fn verify_args(entries: &[String]) -> Result<Map<String, Value>, CliError> {
    let mut args = Map::new();
    for entry in entries {
        let (key, value) = entry
            .split_once('=')
            .ok_or_else(|| CliError::Usage(format!("--verify-arg `{entry}` must be KEY=VALUE")))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        args.insert(key.to_owned(), value);
    }
    Ok(args)
}

/// Splits a command as a shell would, without running anything.
fn words(text: &str) -> Result<Vec<String>, CliError> {
    shlex::split(text)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| CliError::Usage(format!("`{text}` is no command line; check its quotes")))
}

fn make_absolute(path: &mut std::path::PathBuf) {
    if let Ok(absolute) = std::path::absolute(Path::new(&*path)) {
        *path = absolute;
    }
}
