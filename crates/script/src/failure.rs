//! What an error of the interpreter means: a limit, a raise, an unreachable world, a crash.

use std::panic::{AssertUnwindSafe, catch_unwind};

use starlark::ErrorKind;
use starlark::eval::Evaluator;

use crate::fault::{self, FaultFrame};
use crate::interpreter::{Bounds, Product};
use crate::session::{Session, Stop};

/// A panic of the interpreter (its allocator panics when it runs out) as a fault.
pub(crate) fn unwound<T>(work: impl FnOnce() -> Result<T, FaultFrame>) -> Result<T, FaultFrame> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default();
        let code = if text.contains("memory") { fault::HEAP } else { fault::CRASH };
        Err(FaultFrame::new(code, format!("the interpreter panicked: {text}")))
    })
}

pub(crate) fn of_load(
    error: &starlark::Error,
    session: &Session,
    eval: &Evaluator<'_, '_, '_>,
    bounds: &Bounds,
) -> FaultFrame {
    match of_call(error, session, eval, bounds) {
        Err(fault) => fault,
        Ok(_) => FaultFrame::new(fault::TOP_LEVEL, error.without_diagnostic().to_string()),
    }
}

/// What an error means: an unreachable host is a verdict, everything else a fault.
pub(crate) fn of_call(
    error: &starlark::Error,
    session: &Session,
    eval: &Evaluator<'_, '_, '_>,
    bounds: &Bounds,
) -> Result<Product, FaultFrame> {
    let place = location(error);
    match session.stop() {
        Some(Stop::Missed(missed)) => return Ok(Product::Unreachable(missed)),
        Some(Stop::Fault { code, message }) => return Err(FaultFrame::new(code, message).at(place)),
        None => {}
    }
    let limits = &bounds.limits;
    let fault = if session.has_expired() {
        let message = format!("the script ran longer than {} ms", limits.wall_ms);
        FaultFrame::new(fault::TIMEOUT, message)
    } else if (bounds.is_abandoned)() {
        FaultFrame::new(fault::CANCELLED, "the run was cancelled")
    } else if !matches!(error.kind(), ErrorKind::Other(_)) {
        of_kind(error)
    } else if eval.get_total_tick_count() > limits.ticks {
        FaultFrame::new(fault::TICKS, format!("the script took more than {} ticks", limits.ticks))
    } else if heap_bytes(eval) > limits.heap_bytes {
        let message = format!("the script's heap grew beyond {} bytes", limits.heap_bytes);
        FaultFrame::new(fault::HEAP, message)
    } else {
        of_kind(error)
    };
    Err(fault.at(place))
}

/// The heap as the interpreter's own limit measures it.
fn heap_bytes(eval: &Evaluator<'_, '_, '_>) -> u64 {
    let bytes = eval.heap().peak_allocated_bytes() + eval.frozen_heap().allocated_bytes();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

pub(crate) fn of_kind(error: &starlark::Error) -> FaultFrame {
    let code = match error.kind() {
        ErrorKind::Parser(_) => fault::SYNTAX,
        ErrorKind::Scope(_) => fault::NAME,
        ErrorKind::StackOverflow(_) => fault::DEPTH,
        ErrorKind::Internal(_) => fault::CRASH,
        _ => fault::RAISE,
    };
    FaultFrame::new(code, error.without_diagnostic().to_string()).at(location(error))
}

/// `file:line:column`, and below it the call stack.
fn location(error: &starlark::Error) -> String {
    let place = error.span().map(ToString::to_string).unwrap_or_default();
    let stack = error.call_stack().to_string();
    match (place.is_empty(), stack.is_empty()) {
        (false, false) => format!("{place}\n{}", stack.trim_end()),
        (false, true) => place,
        (true, _) => stack.trim_end().to_owned(),
    }
}
