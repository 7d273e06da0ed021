//! What the host answers: `http`, `git`, `exec`, `env`, and the facts of the call: `time`,
//! `changes`, `evidence`.

use std::collections::BTreeMap;

use probity_core::{Digest, Evidence};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::AllocDict;
use starlark::values::list::{AllocList, UnpackList};
use starlark::values::none::{NoneOr, NoneType};
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, Value};

use crate::fault;
use crate::host::{CommandRequest, GitRequest, HostCall, HttpMethod, HttpRequest, HttpResponse};
use crate::session::{Changes, Session, raise};

/// The longest wait a script may ask for one request, in seconds.
const MAX_HTTP_SECONDS: i32 = 120;
/// The longest run a script may ask for one command, in milliseconds.
const MAX_COMMAND_MS: i32 = 600_000;

fn fetch<'v>(
    method: HttpMethod,
    url: &str,
    headers: NoneOr<SmallMap<String, String>>,
    timeout_seconds: i32,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let session = Session::in_run()?;
    let seconds = u64::try_from(timeout_seconds)
        .ok()
        .filter(|_| (1..=MAX_HTTP_SECONDS).contains(&timeout_seconds))
        .ok_or_else(|| raise(format!("`timeout_seconds` must be 1 to {MAX_HTTP_SECONDS}")))?;
    let headers: BTreeMap<String, String> =
        headers.into_option().map(|map| map.into_iter().collect()).unwrap_or_default();
    let call = HostCall::Http(HttpRequest {
        method,
        url: url.to_owned(),
        headers,
        timeout_ms: seconds * 1000,
    });
    let answer = session.ask(fault::EGRESS, &call)?;
    let response: HttpResponse =
        serde_json::from_value(answer).map_err(|error| raise(error.to_string()))?;
    let digest = Digest::from_bytes(Sha256::digest(response.body.as_bytes()).into());
    session.observe(
        Evidence::new(format!("http:{}", response.url), format!("status {}", response.status))
            .with_digest(digest),
    );
    Ok(response_dict(response, eval.heap()))
}

fn response_dict<'v>(response: HttpResponse, heap: Heap<'v>) -> Value<'v> {
    let mut headers: SmallMap<String, String> = SmallMap::new();
    for (name, value) in response.headers {
        let joined = headers.entry(canonical(&name)).or_default();
        if !joined.is_empty() {
            joined.push_str(", ");
        }
        joined.push_str(&value);
    }
    heap.alloc(AllocDict([
        ("status", heap.alloc(u32::from(response.status))),
        ("ok", heap.alloc((200..300).contains(&response.status))),
        ("url", heap.alloc(response.url)),
        ("body", heap.alloc(response.body)),
        ("truncated", heap.alloc(response.truncated)),
        ("headers", heap.alloc(AllocDict(headers))),
    ]))
}

/// `content-type` as `Content-Type`: the spelling scripts look headers up by.
fn canonical(name: &str) -> String {
    let mut at_start = true;
    name.chars()
        .map(|c| {
            let cased = if at_start { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            at_start = c == '-';
            cased
        })
        .collect()
}

#[starlark_module]
pub(super) fn http(builder: &mut GlobalsBuilder) {
    /// A dict of `status`, `ok`, `url`, `body` and `headers`.
    fn get<'v>(
        #[starlark(require = pos)] url: &str,
        #[starlark(default = NoneOr::None)] headers: NoneOr<SmallMap<String, String>>,
        #[starlark(default = 30)] timeout_seconds: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        fetch(HttpMethod::Get, url, headers, timeout_seconds, eval)
    }

    /// As `get`, without a body.
    fn head<'v>(
        #[starlark(require = pos)] url: &str,
        #[starlark(default = NoneOr::None)] headers: NoneOr<SmallMap<String, String>>,
        #[starlark(default = 30)] timeout_seconds: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        fetch(HttpMethod::Head, url, headers, timeout_seconds, eval)
    }
}

fn ask_git(request: GitRequest) -> starlark::Result<Json> {
    Session::in_run()?.ask(fault::EXEC, &HostCall::Git(request))
}

#[starlark_module]
pub(super) fn git(builder: &mut GlobalsBuilder) {
    /// The commit a revision names, as hex; None where it names none.
    fn rev_parse<'v>(
        #[starlark(require = pos)] rev: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let answer = ask_git(GitRequest::RevParse { rev: rev.to_owned() })?;
        Ok(eval.heap().alloc(answer))
    }

    /// Whether the first revision is reachable from the second.
    fn is_ancestor(
        #[starlark(require = pos)] ancestor: &str,
        #[starlark(require = pos)] descendant: &str,
    ) -> starlark::Result<bool> {
        let (ancestor, descendant) = (ancestor.to_owned(), descendant.to_owned());
        let answer = ask_git(GitRequest::IsAncestor { ancestor, descendant })?;
        answer.as_bool().ok_or_else(|| raise("git gave no answer"))
    }

    /// Whether nothing is modified, staged or untracked.
    fn is_clean() -> starlark::Result<bool> {
        ask_git(GitRequest::IsClean)?.as_bool().ok_or_else(|| raise("git gave no answer"))
    }
}

#[starlark_module]
pub(super) fn exec(builder: &mut GlobalsBuilder) {
    /// Runs a command the policy names: a dict of `ok`, `exit_code`, `stdout`, `stderr`.
    fn run<'v>(
        #[starlark(require = pos)] cmd: &str,
        #[starlark(default = NoneOr::None)] args: NoneOr<UnpackList<String>>,
        #[starlark(default = 30_000)] timeout_ms: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let timeout_ms = u64::try_from(timeout_ms)
            .ok()
            .filter(|_| (1..=MAX_COMMAND_MS).contains(&timeout_ms))
            .ok_or_else(|| raise(format!("`timeout_ms` must be 1 to {MAX_COMMAND_MS}")))?;
        let args = args.into_option().map(|list| list.items).unwrap_or_default();
        let call = HostCall::Command(CommandRequest { command: cmd.to_owned(), args, timeout_ms });
        let mut answer = session.ask(fault::EXEC, &call)?;
        let exit_code = answer.get("exit_code").and_then(Json::as_i64);
        if let Some(fields) = answer.as_object_mut() {
            fields.insert("ok".to_owned(), (exit_code == Some(0)).into());
        }
        session.observe(Evidence::new(
            format!("command:{cmd}"),
            format!("exit {}", exit_code.unwrap_or(-1)),
        ));
        Ok(eval.heap().alloc(answer))
    }
}

#[starlark_module]
pub(super) fn time(builder: &mut GlobalsBuilder) {
    /// When the run started, as RFC 3339 text in UTC. The same on every attempt.
    fn now() -> starlark::Result<String> {
        Ok(Session::in_run()?.input().now.clone())
    }
}

fn paths<'v>(
    eval: &Evaluator<'v, '_, '_>,
    pick: impl Fn(&Changes) -> &Vec<String>,
) -> starlark::Result<Value<'v>> {
    let session = Session::in_run()?;
    let changes = session.input().changes.as_ref();
    let changes = changes.ok_or_else(|| raise("no snapshot was taken for this check"))?;
    Ok(eval.heap().alloc(AllocList(pick(changes).iter().map(String::as_str))))
}

#[starlark_module]
pub(super) fn changes(builder: &mut GlobalsBuilder) {
    /// Paths that were not there before the delegate started, sorted.
    fn created<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        paths(eval, |changes| &changes.created)
    }

    /// Paths whose content or kind differs from before, sorted.
    fn modified<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        paths(eval, |changes| &changes.modified)
    }

    /// Paths that are gone, sorted.
    fn deleted<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        paths(eval, |changes| &changes.deleted)
    }

    /// Paths whose permission bits alone differ, sorted.
    fn mode_changed<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        paths(eval, |changes| &changes.mode_changed)
    }

    /// Paths that could not be read before or after, so that nothing is known of them, sorted.
    fn undecided<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        paths(eval, |changes| &changes.undecided)
    }
}

#[starlark_module]
pub(super) fn top_level(builder: &mut GlobalsBuilder) {
    /// Attaches an observation to the verdict; `text` is kept as its digest only.
    fn evidence(
        #[starlark(require = pos)] source: &str,
        #[starlark(require = pos)] observed: &str,
        #[starlark(default = NoneOr::None)] text: NoneOr<&str>,
    ) -> starlark::Result<NoneType> {
        let mut evidence = Evidence::new(source, observed);
        if let Some(text) = text.into_option() {
            evidence.digest = Some(Digest::from_bytes(Sha256::digest(text.as_bytes()).into()));
        }
        Session::in_run()?.observe(evidence);
        Ok(NoneType)
    }

    /// A variable of the environment that the policy names.
    fn env(#[starlark(require = pos)] key: &str) -> starlark::Result<String> {
        let session = Session::in_run()?;
        let answer = session.ask(fault::ENV, &HostCall::Env { key: key.to_owned() })?;
        Ok(answer.as_str().unwrap_or_default().to_owned())
    }

    /// The verdict of seed 001's verifiers: `pass`, `fail` or `inconclusive`, and why.
    fn VerificationResult<'v>(
        outcome: Value<'v>,
        detail: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let detail = detail.unwrap_or_else(|| heap.alloc(""));
        Ok(heap.alloc(AllocStruct([("outcome", outcome), ("detail", detail)])))
    }

    /// A hook's answer: go on.
    fn allow<'v>(heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(AllocDict([("action", "allow")])))
    }

    /// A hook's answer: do not go on, and tell the delegate why.
    fn block<'v>(reason: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(AllocDict([("action", "block"), ("reason", reason)])))
    }

    /// A hook's answer: go on with these keys in place of the payload's.
    fn modify<'v>(payload: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(AllocDict([("action", heap.alloc("modify")), ("payload", payload)])))
    }

    /// As `print`.
    fn log(#[starlark(require = pos)] message: &str) -> starlark::Result<NoneType> {
        Session::current()?.print(message)?;
        Ok(NoneType)
    }
}
