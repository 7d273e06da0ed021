//! `probity hook fire`.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use probity_core::Fault;
use probity_engine::{Hook, Reply};
use probity_policy::HookEvent;
use probity_record::canonical::parse_ijson;
use probity_verifier::{CheckContext, Manifest, Workspace};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::args::HookFireArgs;
use crate::cli::present::{self, Style, Tone, block};
use crate::cli::recheck::Nobody;
use crate::cli::run::{checking_request, draw_run_id, with_project};
use crate::cli::source::{open, read_bytes};
use crate::cli::{CliError, args::CheckingArgs};
use crate::location::Programs;
use crate::prepare::prepare_unasked;
use crate::{Prepared, Request, open_workspace};

/// The largest payload, in bytes.
const MAX_PAYLOAD_BYTES: usize = 16 << 20;
/// Lines of one reason that are shown; the whole of it is in `--json`.
const MAX_LINES: usize = 20;

const EXIT_BLOCKED: u8 = 1;
const EXIT_INCONCLUSIVE: u8 = 2;
const EXIT_FAULTED: u8 = 4;

/// What one hook said.
#[derive(Debug, Serialize)]
struct Answered {
    hook: String,
    /// `allow`, `not_applicable`, `block`, `modify`, `inconclusive` or `fault`.
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    /// Where a script broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    /// What the next hook saw, where this one modified it.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Map<String, Value>>,
    elapsed_ms: u64,
}

/// What all hooks of the event said.
#[derive(Debug, Serialize)]
struct Fired {
    event: String,
    /// `allow`, `block`, `inconclusive` or `fault`: the worst of the answers.
    action: &'static str,
    hooks: Vec<Answered>,
}

/// Calls the project's hooks of an event. What one modifies, the next one sees.
///
/// # Errors
/// [`CliError`] if there is no such event, the project is not trusted, the payload is no object, or
/// no hook listens to the event.
pub(super) async fn fire(args: &HookFireArgs, programs: &Programs) -> Result<u8, CliError> {
    let event: HookEvent =
        args.event.parse().map_err(|error| CliError::Usage(format!("{error}")))?;
    let payload = match &args.payload {
        Some(path) => read_payload(path)?,
        None => empty(&event),
    };
    let checking =
        CheckingArgs { workspace: args.workspace.clone(), ..CheckingArgs::printing(args.json) };
    let asked = Request { agent: args.agent.clone(), ..checking_request(&checking)? };
    let request = with_project(asked, &checking)?;
    let (hooks, workspace) = hooks(&request, &event, programs)?;
    let mut fired = Fired { event: event.to_string(), action: "allow", hooks: Vec::new() };
    let mut payload = payload;
    for hook in hooks {
        fired.hooks.push(call(&hook, &workspace, &fired.event, &mut payload).await);
    }
    fired.action = fired.worst();
    match args.json {
        true => present::json(&fired)?,
        false => drop(present::print(fired.text(Style::of_stdout()).as_bytes())?),
    }
    Ok(match fired.action {
        "fault" => EXIT_FAULTED,
        "block" => EXIT_BLOCKED,
        "inconclusive" => EXIT_INCONCLUSIVE,
        _ => 0,
    })
}

/// The hooks of the event as a run would call them: in their order, with what they may reach.
fn hooks(
    request: &Request,
    event: &HookEvent,
    programs: &Programs,
) -> Result<(Vec<Hook>, Arc<Workspace>), CliError> {
    let listening = request.hooks.iter().filter(|hook| hook.event == *event);
    // Whatever the event, the plan holds it as a hook of its own: checks are not called like this.
    let mut hooks: Vec<_> = listening.cloned().collect();
    hooks.iter_mut().for_each(|hook| hook.event = HookEvent::DelegationPre);
    if hooks.is_empty() {
        return Err(CliError::Usage(format!(
            "no hook of this project listens to `{event}`; hooks are in `.probity/hooks/`"
        )));
    }
    let request = Request {
        hooks,
        workspace: request.workspace.clone(),
        allow_hosts: request.allow_hosts.clone(),
        allow_private: request.allow_private.clone(),
        task: "hook".to_owned(),
        ..Request::default()
    };
    let workspace = open_workspace(&request)?;
    let run = draw_run_id()?;
    let Prepared { plan, .. } =
        prepare_unasked(&request, run, programs, Arc::clone(&workspace), Arc::new(Nobody))?;
    Ok((plan.hooks, workspace))
}

async fn call(
    hook: &Hook,
    workspace: &Arc<Workspace>,
    event: &str,
    payload: &mut Map<String, Value>,
) -> Answered {
    let id = hook.decl.id.clone();
    let mut ctx =
        CheckContext::new(id.clone(), Arc::clone(workspace), Arc::new(Manifest::default()));
    ctx.run_started = SystemTime::now();
    ctx.timeout = Duration::from_millis(hook.decl.timeout_ms);
    let started = Instant::now();
    let answer = hook.handler.handle(&ctx, event, Value::Object(payload.clone())).await;
    let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (action, code, reason, location) = match &answer {
        Ok(Reply::Allow) => ("allow", None, String::new(), None),
        Ok(Reply::NotApplicable) => ("not_applicable", None, String::new(), None),
        Ok(Reply::Modify { .. }) => ("modify", None, String::new(), None),
        Ok(Reply::Block { reason }) => {
            ("block", Some("hook_blocked".to_owned()), reason.clone(), None)
        }
        Ok(Reply::Inconclusive { code, reason }) => {
            ("inconclusive", Some(code.to_string()), reason.clone(), None)
        }
        Err(Fault { code, message, location }) => {
            ("fault", Some(code.to_string()), message.clone(), location.clone())
        }
    };
    let modified = match answer {
        Ok(Reply::Modify { payload: modified }) => Some(modified),
        _ => None,
    };
    if let Some(modified) = &modified {
        payload.clone_from(modified);
    }
    let hook = id.to_string();
    Answered { hook, action, code, reason, location, payload: modified, elapsed_ms }
}

impl Fired {
    fn worst(&self) -> &'static str {
        let worst = ["fault", "block", "inconclusive"];
        let said = |action: &&str| self.hooks.iter().any(|answered| answered.action == *action);
        worst.into_iter().find(|action| said(action)).unwrap_or("allow")
    }

    fn text(&self, style: Style) -> String {
        let mut text = String::new();
        for answered in &self.hooks {
            let (word, tone) = match answered.action {
                "allow" => ("allow", Tone::Good),
                "not_applicable" => ("does not apply", Tone::Dim),
                "modify" => ("modify", Tone::Warn),
                "inconclusive" => ("inconclusive", Tone::Warn),
                other => (other, Tone::Bad),
            };
            let word = style.paint(tone, &format!("{word:14}"));
            let code = answered.code.as_ref().map_or(String::new(), |code| format!("  [{code}]"));
            let mut said = block(&answered.reason);
            if let Some(location) = &answered.location {
                said.extend(block(location));
            }
            if let Some(payload) = &answered.payload {
                said = block(&Value::Object(payload.clone()).to_string());
            }
            let mut said = said.into_iter();
            let first = said.next().unwrap_or_default();
            let line = format!("{word}  {}  {first}{code}", answered.hook);
            text.push_str(line.trim_end());
            text.push('\n');
            said.take(MAX_LINES).for_each(|more| text.push_str(&format!("  {more}\n")));
        }
        text
    }
}

/// What a run shows to the hooks of an event, before there is anything to show.
fn empty(event: &HookEvent) -> Map<String, Value> {
    let mut shown = json!({
        "run": "", "task": "", "agent": "", "attempt": 0, "max_attempts": 1, "decision": null,
        "changes": {
            "created": [], "modified": [], "deleted": [], "mode_changed": [], "undecided": [],
        },
    });
    let claim = json!({ "response": "", "tool_calls": [], "tool_results": [] });
    let verdict = json!({ "verified": false, "judgement": "unverified", "checks": [] });
    let more = match event {
        HookEvent::DelegationPre => json!({ "checks": [] }),
        HookEvent::AttemptStart => json!({ "prompt": "" }),
        HookEvent::ToolPre => json!({ "id": "", "name": "", "arguments": {} }),
        HookEvent::ToolPost => {
            json!({ "call_id": "", "name": "", "content": "", "is_error": false })
        }
        HookEvent::PostVerify | HookEvent::AttemptEnd | HookEvent::DelegationPost => {
            let mut more = claim;
            merge(&mut more, json!({ "verdict": verdict }));
            more
        }
        HookEvent::Custom(_) => return Map::new(),
    };
    merge(&mut shown, more);
    match shown {
        Value::Object(shown) => shown,
        _ => Map::new(),
    }
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

fn read_payload(path: &Path) -> Result<Map<String, Value>, CliError> {
    let failed = |source| CliError::File { path: path.to_path_buf(), source };
    let bytes = if path == Path::new("-") {
        read_bytes(&mut io::stdin().lock(), MAX_PAYLOAD_BYTES)
    } else {
        open(path).and_then(|mut file| read_bytes(&mut file, MAX_PAYLOAD_BYTES))
    };
    match parse_ijson(&bytes.map_err(failed)?) {
        Ok(Value::Object(payload)) => Ok(payload),
        Ok(_) => Err(CliError::Usage(format!("`{}` must hold a JSON object", path.display()))),
        Err(error) => Err(CliError::Usage(format!("`{}` is no JSON: {error}", path.display()))),
    }
}
