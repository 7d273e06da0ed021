//! Every way a script can break, each with its own stable code.

use probity_core::{Code, Fault};
use serde::{Deserialize, Serialize};

/// One fault code with what it means and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultCode {
    /// The stable machine word.
    pub code: &'static str,
    /// What happened.
    pub meaning: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

macro_rules! codes {
    ($($name:ident = $code:literal, $meaning:literal, $fix:literal;)*) => {
        $(pub(crate) const $name: &str = $code;)*

        /// Every code a script check can fault with.
        pub const FAULT_CODES: &[FaultCode] = &[
            $(FaultCode { code: $code, meaning: $meaning, fix: $fix },)*
        ];
    };
}

codes! {
    SYNTAX = "script_syntax", "the file is not valid Starlark", "correct the line named in the location";
    NAME = "script_name", "the script uses a name that does not exist", "correct the name, or define it above its use";
    NO_RUN = "script_no_run", "the file does not define `run` or `verify` as a function of one argument (a hook: `handle`, event and payload; a tool: `run`, and `verify` of the arguments and the result)", "write `def run(result):` or `def verify(context):` at the top level";
    TWO_ENTRIES = "script_two_entries", "the file defines both `run` and `verify`", "keep the one that should judge, rename the other";
    INPUT = "script_input", "the claim or the decision cannot be given to a script: too large, too deep, or no object", "find out what made it so large; keep large content in files";
    TOP_LEVEL = "script_top_level", "a built-in that looks at the world was called outside the function that is called", "move the call into `run`, `verify` or `handle`";
    RAISE = "script_raise", "the script called `fail` or an operation in it failed", "handle the case: `.get` for keys, `default=` for reads and decoding";
    RETURN_NONE = "script_return_none", "the function returned None, or nothing", "end every path with a `return`";
    RETURN_NULL = "script_return_null", "the function returned the JSON text `null`", "encode a dict with `verified` or `outcome`";
    RETURN_TYPE = "script_return_type", "the function returned a value that cannot be a verdict", "return a bool, a dict or struct with `verified` or `outcome`, or such a dict as JSON text";
    RETURN_TEXT = "script_return_text", "the function returned text that is not one JSON value", "return `json.encode({...})` and nothing around it";
    RETURN_VERIFIED_MISSING = "script_return_verified_missing", "the returned object has neither `verified` nor `outcome`", "add `verified: True` or `False`";
    RETURN_VERIFIED_TYPE = "script_return_verified_type", "`verified` is not a bool", "use `True` or `False`; wrap a truthy value in `bool(...)`";
    RETURN_REASON_TYPE = "script_return_reason_type", "`reason` is not a string", "leave it out or give text";
    RETURN_VERDICT = "script_return_verdict", "`verdict` is not one of pass, revise, fail, inconclusive", "use one of the four words, or leave it out";
    RETURN_OUTCOME = "script_return_outcome", "`outcome` is not one of pass, fail, inconclusive", "use one of the three words";
    RETURN_DETAIL = "script_return_detail_type", "`detail` is not a string", "leave it out or give text";
    RETURN_CONTRADICTION = "script_return_contradiction", "`verified`, `verdict` and `outcome` contradict each other", "one of them is enough; `verified` is True exactly when the others say `pass`";
    RETURN_DUPLICATE_KEY = "script_return_duplicate_key", "the returned JSON text has a key twice", "build the text with `json.encode`";
    RETURN_CODE = "script_return_code", "`code` is not a machine word", "use 1 to 64 characters of a-z 0-9 _ . -";
    RETURN_CRITERIA = "script_return_criteria", "`criteria` is not a list of at most 64 machine words", "give the keys of the criteria only";
    RETURN_CONFIDENCE = "script_return_confidence", "`confidence` is not a number from 0 to 1", "leave it out where the check is a matter of fact";
    RETURN_ACTION = "script_return_action", "a hook returned an object whose `action` is not allow, block or modify", "return `allow()`, `block(reason)` or `modify(payload)`";
    RETURN_PAYLOAD = "script_return_payload", "a hook's `modify` came without a payload object", "return the changed payload as `payload`";
    WHEN_SYNTAX = "hook_when_syntax", "the `when` of a hook is not one Starlark expression over `event` and `payload`", "write one expression, such as `event == \"tool.pre\"`";
    WHEN_TYPE = "hook_when_type", "the `when` of a hook came to something else than True or False", "compare: `payload.get(\"k\") != None`; or wrap the value in `bool(...)`";
    WHEN_RAISE = "hook_when_raise", "an operation in the `when` of a hook failed", "handle the case: `.get` for keys";
    PAYLOAD = "hook_payload_too_large", "the payload of an event is larger or more deeply nested than a hook is given", "find out what made it so large; keep large content in files";
    CONDITION_TYPE = "script_condition_type", "the condition of `invariant_check` returned something else than True or False", "compare, or wrap the value in `bool(...)`";
    TICKS = "script_ticks", "the script made more calls and loop turns than its tick limit", "do less per call, or raise `ticks`";
    HEAP = "script_heap", "the script used more memory than its limit", "read less at once, or raise `heap_bytes`";
    DEPTH = "script_depth", "calls or values are nested too deeply", "use a loop in place of recursion; flatten the value";
    OUTPUT = "script_output", "the script produced more text than its limit", "return and print less, or raise `output_bytes`";
    TIMEOUT = "script_timeout", "the script itself ran longer than its wall time", "do less per call, or raise `wall_ms`";
    CRASH = "script_crash", "the worker process died while it ran the script", "look for a huge value in the script; report it if there is none";
    CANCELLED = "script_cancelled", "the run was cancelled while the script ran", "nothing: the run is over";
    EXAMPLE = "script_example", "one of the file's own `accepts` or `rejects` examples came out wrong", "correct the script or the example";
    PATH = "path_outside", "the script asked for a path outside the workspace", "use paths inside the workspace";
    ESCAPE = "path_escapes", "the script asked for a path behind a link that leads out of the workspace", "find out who made the link; verifiers never follow one out";
    EGRESS = "egress_denied", "the script asked for a host that the policy does not allow", "allow the host if the check should reach it";
    EXEC = "exec_denied", "the script asked for a command that the policy does not name", "name the command in the policy if the check should run it";
    ENV = "env_denied", "the script asked for an environment variable that the policy does not name", "name the variable in the policy if the check should read it";
    WRITE = "write_denied", "the script asked for a change of a protected path, or is not the `run` of a tool", "write elsewhere; leave what is protected to people";
    WORKER = "script_worker", "no worker process could be started, or it did not keep to the protocol", "check that the program can start itself as `script-worker`";
    LIMITS = "script_limits", "a limit given for the script is out of its range", "correct the limit";
}

/// A fault on its way from the worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FaultFrame {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) location: Option<String>,
}

impl FaultFrame {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: Code::slug(code), message: cut(&message.into(), 4096), location: None }
    }

    pub(crate) fn at(mut self, location: impl Into<String>) -> Self {
        self.location = Some(cut(&location.into(), 4096));
        self
    }
}

impl From<FaultFrame> for Fault {
    fn from(frame: FaultFrame) -> Self {
        Self { code: frame.code, message: frame.message, location: frame.location }
    }
}

/// The text, cut at a character boundary so that it holds at most `max_bytes` and says so.
pub(crate) fn cut(text: &str, max_bytes: usize) -> String {
    const MARK: &str = " …(cut)";
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max_bytes.saturating_sub(MARK.len()));
    let mut short = text.get(..end).unwrap_or_default().to_owned();
    short.push_str(MARK);
    short
}
