//! One script in one interpreter: load it, run its examples, call it.

use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use starlark::collections::SmallMap;
use starlark::environment::{FrozenModule, Module};
use starlark::eval::Evaluator;
use starlark::syntax::{AstModule, Dialect};
use starlark::values::dict::AllocDict;
use starlark::values::{Heap, OwnedFrozenValue, Value};

use crate::answer::{self, HookAnswer};
use crate::builtins;
use crate::condition::Condition;
use crate::data;
use crate::example::{self, Examples};
use crate::failure::{of_call, of_kind, of_load, unwound};
use crate::fault::{self, FaultFrame};
use crate::host::{GateError, HostAnswer, HostCall};
use crate::limits::Limits;
use crate::output::{self, Assertion, ScriptToolOutput};
use crate::returned::{self, Decision, Refusal};
use crate::session::{Ask, Input, Missed, Session};

/// What the file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// It judges claims.
    Verifier,
    /// It answers events.
    Hook,
    /// It does what a model asks for.
    Tool,
}

/// The function that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// `run(result)`: the claim (seed 000).
    Run,
    /// `verify(context)`: the decision under way, with the claim in it (seed 001).
    Verify,
    /// `handle(event, payload)`.
    Handle,
    /// `run(args)` of a tool.
    Act,
    /// `verify(args, result)` of a tool.
    Assert,
}

impl Entry {
    const fn name(self) -> &'static str {
        match self {
            Self::Run | Self::Act => "run",
            Self::Verify | Self::Assert => "verify",
            Self::Handle => "handle",
        }
    }

    const fn signature(self) -> (usize, &'static str) {
        match self {
            Self::Run => (1, "`run` must take the claim as its one argument"),
            Self::Verify => (1, "`verify` must take the context as its one argument"),
            Self::Handle => {
                (2, "`handle` must take the event and its payload as its two arguments")
            }
            Self::Act => (1, "`run` must take the call's arguments, a dict, as its one argument"),
            Self::Assert => {
                (2, "`verify` must take the call's arguments and its result as its two arguments")
            }
        }
    }
}

/// What is loaded: the text and the `args` it sees.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Source {
    pub(crate) role: Role,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) args: Json,
    /// The expression of a hook that says whether it is called at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) when: Option<String>,
}

/// A script that compiled and whose top level ran. Immutable, so that no call can leave anything
/// behind for the next one.
#[derive(Debug)]
pub(crate) struct Loaded {
    entry: Entry,
    function: OwnedFrozenValue,
    /// The `verify` of a tool, where it has one.
    assertion: Option<(OwnedFrozenValue, String)>,
    when: Option<Condition>,
    /// The request's own; a file can use the name for something else.
    args: Json,
    /// `file:line` of the function, for faults in what it returned.
    place: String,
}

/// What one call came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) result: Result<Product, FaultFrame>,
    pub(crate) ticks: u64,
    pub(crate) printed: String,
}

/// What the script came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Product {
    Decision(Decision),
    Answer(HookAnswer),
    Output(ScriptToolOutput),
    /// What the `verify` of a tool says of a result.
    Assertion(Assertion),
    /// Ground truth was out of reach.
    Unreachable(Missed),
}

/// The bounds of one evaluation.
#[derive(Clone)]
pub(crate) struct Bounds {
    pub(crate) limits: Limits,
    /// The end of the script's own time.
    pub(crate) deadline: Instant,
    /// The end of the check's time.
    pub(crate) until: Instant,
    /// True once nobody waits for the result any more.
    pub(crate) is_abandoned: Rc<dyn Fn() -> bool>,
}

/// Compiles the script, runs its top level and its examples.
pub(crate) fn load(source: &Source, bounds: &Bounds) -> Result<Loaded, FaultFrame> {
    let (loaded, examples) = unwound(|| compile(source, bounds))?;
    let other = match source.role {
        Role::Verifier => None,
        Role::Hook => Some("a hook"),
        Role::Tool => Some("a tool"),
    };
    if let Some(other) = other.filter(|_| !examples.is_empty()) {
        let message = format!("`accepts` and `rejects` are for verifiers, this is {other}");
        return Err(FaultFrame::new(fault::EXAMPLE, message).at(&source.name));
    }
    example::run_all(source, &loaded, &examples, bounds)?;
    Ok(loaded)
}

/// Compiles the script and runs its top level only.
pub(crate) fn compile(source: &Source, bounds: &Bounds) -> Result<(Loaded, Examples), FaultFrame> {
    let dialect = Dialect {
        enable_load: false,
        enable_f_strings: true,
        enable_keyword_only_arguments: true,
        ..Dialect::Standard
    };
    let ast = AstModule::parse(&source.name, source.text.clone(), &dialect)
        .map_err(|error| of_kind(&error))?;
    let session = Rc::new(Session::new(false, Input::default(), Box::new(NoHost), bounds));
    let _entered = session.enter();
    let (module, examples) = Module::with_temp_heap(|module| {
        module.set("args", module.heap().alloc(&source.args));
        {
            let mut eval = evaluator(&module, &session, bounds)?;
            eval.eval_module(ast, builtins::globals(source.role))
                .map_err(|error| of_load(&error, &session, &eval, bounds))?;
        }
        let list = |name| {
            let list = module
                .get(name)
                .map(|list| data::to_json(list, module.heap(), &session))
                .transpose();
            list.map_err(|error| {
                FaultFrame::new(fault::EXAMPLE, format!("`{name}`: {}", error.without_diagnostic()))
            })
        };
        let examples = Examples::read(list("accepts")?, list("rejects")?)?;
        let module = module
            .freeze()
            .map_err(|error| FaultFrame::new(fault::RAISE, error.err_msg).at(&source.name))?;
        Ok((module, examples))
    })?;
    let (entry, function, place) = entry_function(source, &module)?;
    let assertion = assertion_function(source, &module)?;
    let when = source.when.as_deref();
    let when =
        when.map(|text| Condition::compile(&source.name, text, &session, bounds)).transpose()?;
    let args = source.args.clone();
    Ok((Loaded { entry, function, assertion, when, args, place }, examples))
}

fn entry_function(
    source: &Source,
    module: &FrozenModule,
) -> Result<(Entry, OwnedFrozenValue, String), FaultFrame> {
    let defined = |entry: Entry| module.get_option(entry.name()).ok().flatten();
    let nowhere = |code, message: &str| FaultFrame::new(code, message).at(&source.name);
    let (entry, function) = match source.role {
        Role::Hook => (Entry::Handle, defined(Entry::Handle)),
        Role::Tool => (Entry::Act, defined(Entry::Act)),
        Role::Verifier => match (defined(Entry::Run), defined(Entry::Verify)) {
            (Some(_), Some(_)) => {
                let message = "the file defines both `run` and `verify`";
                return Err(nowhere(fault::TWO_ENTRIES, message));
            }
            (None, function @ Some(_)) => (Entry::Verify, function),
            (function, None) => (Entry::Run, function),
        },
    };
    let function = function.ok_or_else(|| match source.role {
        Role::Verifier => nowhere(fault::NO_RUN, "the file defines neither `run` nor `verify`"),
        Role::Hook => nowhere(fault::NO_RUN, "the file defines no `handle`"),
        Role::Tool => nowhere(fault::NO_RUN, "the file defines no `run`"),
    })?;
    let place = callable(source, entry, &function)?;
    Ok((entry, function, place))
}

/// The `verify` of a tool, and where it is.
fn assertion_function(
    source: &Source,
    module: &FrozenModule,
) -> Result<Option<(OwnedFrozenValue, String)>, FaultFrame> {
    if source.role != Role::Tool {
        return Ok(None);
    }
    let Some(function) = module.get_option(Entry::Assert.name()).ok().flatten() else {
        return Ok(None);
    };
    let place = callable(source, Entry::Assert, &function)?;
    Ok(Some((function, place)))
}

/// Checks that it is a function that takes what it will be given; says where it is.
fn callable(
    source: &Source,
    entry: Entry,
    function: &OwnedFrozenValue,
) -> Result<String, FaultFrame> {
    let name = entry.name();
    let place = place(source, name);
    let missing = |message: String| FaultFrame::new(fault::NO_RUN, message).at(&place);
    let (arguments, message) = entry.signature();
    let takes_them = function
        .value()
        .parameters_spec()
        .ok_or_else(|| missing(format!("`{name}` is not a function of this file")))?
        .can_fill_with_args(arguments, &[]);
    if takes_them { Ok(place) } else { Err(missing(message.to_owned())) }
}

/// `file:line` of a function of the file, or the file alone.
fn place(source: &Source, name: &str) -> String {
    let start = format!("def {name}");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let defines = |line: &str| line.strip_prefix(&start).is_some_and(|l| !l.starts_with(is_word));
    let line = source.text.lines().zip(1_u32..).find(|(line, _)| defines(line));
    line.map_or_else(|| source.name.clone(), |(_, line)| format!("{}:{line}", source.name))
}

/// Calls the function of the file.
pub(crate) fn call(loaded: &Loaded, input: Input, host: Box<dyn Ask>, bounds: &Bounds) -> Report {
    let session = Rc::new(Session::new(true, input, host, bounds));
    let _entered = session.enter();
    let called = unwound(|| {
        let (is_meant, ticks) = is_meant(loaded, &session, bounds)?;
        if !is_meant {
            return Ok((Ok(Product::Answer(HookAnswer::NotApplicable)), ticks));
        }
        let (result, more) = evaluate(loaded, &session, bounds)?;
        Ok((result, ticks.saturating_add(more)))
    });
    let (mut result, ticks) = called.unwrap_or_else(|fault| (Err(fault), 0));
    if let Ok(Product::Unreachable(missed)) = &result
        && matches!(loaded.entry, Entry::Run | Entry::Verify)
    {
        result = Ok(Product::Decision(Decision::inconclusive(missed.code(), &missed.reason)));
    }
    if let Ok(Product::Decision(decision)) = &mut result {
        decision.evidence.extend(session.take_evidence());
    }
    Report { result, ticks, printed: session.take_printed() }
}

/// Whether the condition of a hook holds; one without has none to fail.
fn is_meant(
    loaded: &Loaded,
    session: &Session,
    bounds: &Bounds,
) -> Result<(bool, u64), FaultFrame> {
    let Some(when) = &loaded.when else { return Ok((true, 0)) };
    let input = session.input();
    session.close_world();
    let holds = when.holds(&input.event, &input.claim, session, bounds);
    session.open_world();
    holds
}

/// What the function came to, and its ticks.
fn evaluate(
    loaded: &Loaded,
    session: &Session,
    bounds: &Bounds,
) -> Result<(Result<Product, FaultFrame>, u64), FaultFrame> {
    Module::with_temp_heap(|module| {
        let mut eval = evaluator(&module, session, bounds)?;
        let result = invoke(loaded, &mut eval, session);
        let ticks = eval.get_total_tick_count();
        let asserted = loaded.assertion.as_ref().filter(|_| session.input().asserts);
        let place = asserted.map_or(&loaded.place, |(_, place)| place);
        let result = match result {
            Ok(Ok(product)) => Ok(product),
            Ok(Err((code, message))) => Err(FaultFrame::new(code, message).at(place)),
            // A loop that is stopped does not know its own line; that of the function is the
            // next best.
            Err(error) => of_call(&error, session, &eval, bounds).map_err(|fault| {
                let is_placed = fault.location.as_ref().is_some_and(|place| !place.is_empty());
                if is_placed { fault } else { fault.at(place) }
            }),
        };
        Ok((result, ticks))
    })
}

fn invoke(
    loaded: &Loaded,
    eval: &mut Evaluator<'_, '_, '_>,
    session: &Session,
) -> starlark::Result<Result<Product, Refusal>> {
    let heap = eval.heap();
    let function = heap.access_owned_frozen_value(&loaded.function);
    let input = session.input();
    let claim = heap.alloc(&input.claim);
    match loaded.entry {
        Entry::Run => {
            let value = eval.eval_function(function, &[claim], &[])?;
            Ok(returned::read(value, heap, session)?.map(Product::Decision))
        }
        Entry::Verify => {
            let context = context(&loaded.args, input, claim, heap);
            let value = eval.eval_function(function, &[context], &[])?;
            Ok(returned::read(value, heap, session)?.map(Product::Decision))
        }
        Entry::Handle => {
            let event = heap.alloc(input.event.as_str());
            let value = eval.eval_function(function, &[event, claim], &[])?;
            Ok(answer::read(value, heap, session)?.map(Product::Answer))
        }
        Entry::Act | Entry::Assert if input.asserts => {
            let Some((function, _)) = &loaded.assertion else {
                return Ok(Ok(Product::Assertion(Ok(()))));
            };
            let function = heap.access_owned_frozen_value(function);
            let result = heap.alloc(&input.result);
            let value = eval.eval_function(function, &[claim, result], &[])?;
            Ok(output::read_assertion(value, heap, session)?.map(Product::Assertion))
        }
        Entry::Act | Entry::Assert => {
            let value = eval.eval_function(function, &[claim], &[])?;
            Ok(Ok(Product::Output(output::read(value, heap, session)?)))
        }
    }
}

/// What `verify` is given: the decision's own keys, and the four that are always there.
fn context<'v>(args: &Json, input: &Input, claim: Value<'v>, heap: Heap<'v>) -> Value<'v> {
    let mut context: SmallMap<&str, Value<'v>> = SmallMap::new();
    for (key, value) in input.decision.iter().flatten() {
        context.insert(key, heap.alloc(value));
    }
    context.insert("result", claim);
    context.insert("task", heap.alloc(input.task.as_str()));
    context.insert("attempt", heap.alloc(input.attempt));
    context.insert("args", heap.alloc(args));
    heap.alloc(AllocDict(context))
}

/// An evaluator within the bounds, in a module of its own.
pub(crate) fn evaluator<'v, 'a>(
    module: &'a Module<'v>,
    session: &'a Session,
    bounds: &'a Bounds,
) -> Result<Evaluator<'v, 'a, 'a>, FaultFrame> {
    let limits = &bounds.limits;
    let mut eval = Evaluator::new(module);
    let to_usize = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    eval.set_max_tick_count(limits.ticks)
        .and_then(|()| eval.set_max_heap_size(to_usize(limits.heap_bytes)))
        .and_then(|()| eval.set_max_callstack_size(to_usize(limits.callstack.into())))
        .map_err(|error| FaultFrame::new(fault::LIMITS, error.to_string()))?;
    eval.set_print_handler(session);
    eval.set_check_cancelled(Box::new(|| session.is_expired() || (bounds.is_abandoned)()));
    Ok(eval)
}

/// The host while the top level of a file runs: there is none.
struct NoHost;

impl Ask for NoHost {
    fn ask(&self, _: &HostCall, _: Option<Duration>) -> HostAnswer {
        Err(GateError::Invalid("there is no host here".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure, not an assertion.
    #[test]
    #[ignore = "prints figures"]
    fn latency() {
        let text = "def run(result):\n    parsed = json.decode(result['response'], default = None)\n    \
                    return json.encode({'verified': parsed != None, 'reason': ''})\n";
        let (name, args) = ("check.star".to_owned(), serde_json::json!({}));
        let (role, when) = (Role::Verifier, None);
        let source = Source { role, name, text: text.to_owned(), args, when };
        let bounds = Bounds {
            limits: Limits::default(),
            deadline: Instant::now() + Duration::from_secs(600),
            until: Instant::now() + Duration::from_secs(600),
            is_abandoned: Rc::new(|| false),
        };
        let loaded = load(&source, &bounds).unwrap();
        let claim = serde_json::json!({"response": "{\"id\": 7}", "tool_calls": []});
        let calls = 100_000;
        let started = Instant::now();
        for _ in 0..calls {
            let input = Input { claim: claim.clone(), ..Input::default() };
            call(&loaded, input, Box::new(NoHost), &bounds).result.unwrap();
        }
        let each = started.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
        println!("call of a loaded script: {each:.2} µs");
    }
}
