//! `json`.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::{Heap, Value};

use crate::data;
use crate::session::{Session, raise};

#[starlark_module]
pub(super) fn members(builder: &mut GlobalsBuilder) {
    /// The value as JSON text, without blanks.
    fn encode<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<String> {
        let session = Session::current()?;
        let text = data::to_json(value, heap, &session)?.to_string();
        session.fits(text.len())?;
        Ok(text)
    }

    /// The value a JSON text stands for; `default` where the text is not JSON and one is given.
    fn decode<'v>(
        #[starlark(require = pos)] text: &str,
        #[starlark(require = named)] default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        match (serde_json::from_str::<serde_json::Value>(text), default) {
            (Ok(value), _) => Ok(eval.heap().alloc(value)),
            (Err(_), Some(default)) => Ok(default),
            (Err(error), None) => Err(raise(format!("not JSON: {error}"))),
        }
    }
}
