//! The `when` of a hook: one expression over `event` and `payload`, looked at before `handle` is
//! called. It sees nothing else of the file, no `args` and no world.

use serde_json::Value as Json;
use starlark::environment::Module;
use starlark::syntax::ast::{Expr, Stmt};
use starlark::syntax::{AstModule, Dialect};
use starlark::values::OwnedFrozenValue;

use crate::builtins;
use crate::data;
use crate::failure::{of_call, of_kind};
use crate::fault::{self, FaultFrame, cut};
use crate::interpreter::{Bounds, Role, evaluator};
use crate::session::Session;

/// The longest expression, in bytes.
pub(crate) const MAX_WHEN_BYTES: usize = 4096;
/// Under which the compiled expression is kept in its module.
const KEPT_AS: &str = "when";

/// A compiled `when`.
#[derive(Debug)]
pub(crate) struct Condition {
    function: OwnedFrozenValue,
    /// What faults call it.
    place: String,
}

impl Condition {
    /// Compiles the expression of the hook called `hook`, as the body of a function of its two
    /// names.
    pub(crate) fn compile(
        hook: &str,
        text: &str,
        session: &Session,
        bounds: &Bounds,
    ) -> Result<Self, FaultFrame> {
        let place = format!("{hook}: when");
        let refused = |message: &str| FaultFrame::new(fault::WHEN_SYNTAX, message).at(&place);
        if text.len() > MAX_WHEN_BYTES {
            return Err(refused(&format!("the expression is longer than {MAX_WHEN_BYTES} bytes")));
        }
        // What is one item between these brackets is one expression in the others below: neither
        // can be closed by the text itself.
        let alone = parse(&place, format!("[\n{text}\n]"))?;
        if !is_one_item(&alone) {
            return Err(refused("`when` must be one expression, such as `event == \"tool.pre\"`"));
        }
        let body = parse(&place, format!("lambda event, payload: (\n{text}\n)"))?;
        let module = Module::with_temp_heap(|module| {
            let compiled = evaluator(&module, session, bounds)?
                .eval_module(body, builtins::globals(Role::Hook))
                .map_err(|error| refused(&of_kind(&error).message))?;
            module.set(KEPT_AS, compiled);
            module.freeze().map_err(|error| refused(&error.err_msg))
        })?;
        let function = module.get(KEPT_AS).map_err(|error| refused(&error.to_string()))?;
        Ok(Self { function, place })
    }

    /// Whether the expression is True, and the ticks that took.
    pub(crate) fn holds(
        &self,
        event: &str,
        payload: &Json,
        session: &Session,
        bounds: &Bounds,
    ) -> Result<(bool, u64), FaultFrame> {
        Module::with_temp_heap(|module| {
            let mut eval = evaluator(&module, session, bounds)?;
            let heap = eval.heap();
            let function = heap.access_owned_frozen_value(&self.function);
            let arguments = [heap.alloc(event), heap.alloc(payload)];
            let value = match eval.eval_function(function, &arguments, &[]) {
                Ok(value) => value,
                Err(error) => return Err(self.failure(of_call(&error, session, &eval, bounds))),
            };
            if let Some(holds) = value.unpack_bool() {
                return Ok((holds, eval.get_total_tick_count()));
            }
            let got = data::to_json(value, heap, session).map(|value| cut(&value.to_string(), 80));
            let got = got.unwrap_or_else(|_| value.get_type().to_owned());
            let message = format!("`when` must come to True or False, it came to `{got}`");
            Err(FaultFrame::new(fault::WHEN_TYPE, message).at(&self.place))
        })
    }

    /// A limit keeps its own code; whatever else ended the expression is raised by it.
    fn failure<T>(&self, ended: Result<T, FaultFrame>) -> FaultFrame {
        let raised = |message: String| FaultFrame::new(fault::WHEN_RAISE, message);
        let fault = match ended {
            Err(fault) if fault.code.as_str() == fault::RAISE => raised(fault.message),
            Err(fault) => fault,
            Ok(_) => raised("ground truth is out of reach of a `when`".to_owned()),
        };
        fault.at(&self.place)
    }
}

fn parse(place: &str, text: String) -> Result<AstModule, FaultFrame> {
    let dialect = Dialect {
        enable_def: false,
        enable_load: false,
        enable_f_strings: true,
        ..Dialect::Standard
    };
    AstModule::parse(place, text, &dialect)
        .map_err(|error| FaultFrame::new(fault::WHEN_SYNTAX, of_kind(&error).message).at(place))
}

fn is_one_item(ast: &AstModule) -> bool {
    let statement = match &ast.statement().node {
        Stmt::Statements(list) => match list.as_slice() {
            [one] => &one.node,
            _ => return false,
        },
        other => other,
    };
    matches!(statement, Stmt::Expression(list) if matches!(&list.node, Expr::List(items) if items.len() == 1))
}
