//! `fs`: the read side of the workspace.

use sha2::{Digest as _, Sha256};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::list::AllocList;
use starlark::values::none::NoneOr;
use starlark::values::structs::AllocStruct;

use crate::files::FilesError;
use crate::session::{Session, raise};

/// The bytes, or `None` where there is no file and the script gave a default.
fn bytes(session: &Session, path: &str, has_default: bool) -> starlark::Result<Option<Vec<u8>>> {
    match session.files()?.read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(FilesError::Missing { .. }) if has_default => Ok(None),
        Err(error) => Err(session.files_error(error)),
    }
}

fn text(session: &Session, path: &str) -> starlark::Result<String> {
    let bytes = bytes(session, path, false)?.unwrap_or_default();
    Ok(into_text(bytes))
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// What stands where.
#[starlark_module]
pub(super) fn paths(builder: &mut GlobalsBuilder) {
    /// Whether something is there.
    fn exists(#[starlark(require = pos)] path: &str) -> starlark::Result<bool> {
        let session = Session::in_run()?;
        let stat = session.files()?.stat(path).map_err(|error| session.files_error(error))?;
        Ok(stat.is_some())
    }

    /// A struct of `name`, `size`, `is_dir` and `mode`; None where nothing is there.
    fn stat<'v>(
        #[starlark(require = pos)] path: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let stat = session.files()?.stat(path).map_err(|error| session.files_error(error))?;
        let Some(stat) = stat else { return Ok(Value::new_none()) };
        let heap = eval.heap();
        Ok(heap.alloc(AllocStruct([
            ("name", heap.alloc(stat.name)),
            ("size", heap.alloc(stat.size)),
            ("is_dir", heap.alloc(stat.is_dir)),
            ("mode", heap.alloc(stat.mode)),
        ])))
    }

    /// Names in a folder, sorted.
    fn list<'v>(
        #[starlark(require = pos)] path: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let names = session.files()?.list(path).map_err(|error| session.files_error(error))?;
        Ok(eval.heap().alloc(AllocList(names)))
    }

    /// Paths that fit a pattern, sorted: `*` and `?` inside a name, `**` across folders.
    fn glob<'v>(
        #[starlark(require = pos)] pattern: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let paths = session.files()?.glob(pattern).map_err(|error| session.files_error(error))?;
        Ok(eval.heap().alloc(AllocList(paths)))
    }
}

/// What files hold.
#[starlark_module]
pub(super) fn contents(builder: &mut GlobalsBuilder) {
    /// The file as text; bytes that are not UTF-8 become U+FFFD.
    fn read<'v>(
        #[starlark(require = pos)] path: &str,
        #[starlark(require = named)] default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let heap = eval.heap();
        match (bytes(&session, path, default.is_some())?, default) {
            (Some(bytes), _) => Ok(heap.alloc(into_text(bytes))),
            (None, Some(default)) => Ok(default),
            (None, None) => Ok(Value::new_none()),
        }
    }

    /// SHA-256 of the file's bytes as hex.
    fn sha256<'v>(
        #[starlark(require = pos)] path: &str,
        #[starlark(require = named)] default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        match (bytes(&session, path, default.is_some())?, default) {
            (Some(bytes), _) => Ok(eval.heap().alloc(hex::encode(Sha256::digest(bytes)))),
            (None, Some(default)) => Ok(default),
            (None, None) => Ok(Value::new_none()),
        }
    }
}

/// Files line by line.
#[starlark_module]
pub(super) fn lines(builder: &mut GlobalsBuilder) {
    /// The lines from `start` to `end`, counted from 1, both included, without line ends.
    fn read_lines<'v>(
        #[starlark(require = pos)] path: &str,
        #[starlark(default = 1)] start: i32,
        #[starlark(default = NoneOr::None)] end: NoneOr<i32>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let text = text(&session, path)?;
        let first = usize::try_from(start).ok().filter(|first| *first > 0);
        let first = first.ok_or_else(|| raise("`start` counts from 1"))?;
        let last = match end {
            NoneOr::None => usize::MAX,
            NoneOr::Other(end) => usize::try_from(end).map_err(|_| raise("`end` counts from 1"))?,
        };
        let count = (last.saturating_add(1)).saturating_sub(first);
        let lines = text.lines().skip(first - 1).take(count);
        Ok(eval.heap().alloc(AllocList(lines)))
    }

    /// How many lines a file has.
    fn line_count(#[starlark(require = pos)] path: &str) -> starlark::Result<u64> {
        let session = Session::in_run()?;
        let lines = text(&session, path)?.lines().count();
        Ok(u64::try_from(lines).unwrap_or(u64::MAX))
    }

    /// The lines that hold a text: a list of structs of `line_num` (from 1) and `text`.
    fn find<'v>(
        #[starlark(require = pos)] path: &str,
        #[starlark(require = pos)] needle: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let session = Session::in_run()?;
        let text = text(&session, path)?;
        let heap = eval.heap();
        let hits = text.lines().zip(1_u64..).filter(|(line, _)| line.contains(needle));
        let hits: Vec<Value<'v>> = hits
            .map(|(line, number)| {
                heap.alloc(AllocStruct([
                    ("line_num", heap.alloc(number)),
                    ("text", heap.alloc(line)),
                ]))
            })
            .collect();
        Ok(heap.alloc(hits))
    }
}
