//! `sqlite`: databases of the workspace, read only.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::AllocDict;
use starlark::values::{Heap, Value};

use crate::database::{Cell, QueryError, Rows, query as ask};
use crate::fault;
use crate::session::{Session, raise};

#[starlark_module]
pub(super) fn members(builder: &mut GlobalsBuilder) {
    /// The rows of one reading statement, each a dict by column; `default` where there is no such
    /// file, table or column and one is given.
    fn query<'v>(
        #[starlark(require = pos)] path: &str,
        #[starlark(require = pos)] sql: &str,
        #[starlark(require = named)] default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let at = session.files()?.locate(path).map_err(|error| session.files_error(error))?;
        let answer = match at {
            Some(at) => ask(&at, sql, session.deadline()),
            None => Err(QueryError::Unfit("there is no such file".to_owned())),
        };
        let because = |error: &QueryError| format!("database `{path}`: {error}");
        match (answer, default) {
            (Ok(rows), _) => Ok(table(rows, eval.heap())),
            (Err(QueryError::Unfit(_)), Some(default)) => Ok(default),
            (Err(error @ QueryError::Locked(_)), _) => Err(session.leave(because(&error), false)),
            (Err(error @ QueryError::Late), _) => Err(session.end(fault::TIMEOUT, because(&error))),
            (Err(error), _) => Err(raise(because(&error))),
        }
    }
}

fn table<'v>(rows: Rows, heap: Heap<'v>) -> Value<'v> {
    let value = |cell: Cell| match cell {
        Cell::Null => Value::new_none(),
        Cell::Integer(value) => heap.alloc(value),
        Cell::Real(value) => heap.alloc(value),
        Cell::Text(text) => heap.alloc(text),
    };
    let rows: Vec<Value<'v>> = rows
        .into_iter()
        .map(|row| heap.alloc(AllocDict(row.into_iter().map(|(name, cell)| (name, value(cell))))))
        .collect();
    heap.alloc(rows)
}
