//! `fs`: what tools may do to the workspace beyond reading it.

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;

use crate::fault;
use crate::host::{Change, HostCall};
use crate::session::Session;

/// Asks the host to make the change; what it came to, in a few words.
fn change(change: Change) -> starlark::Result<String> {
    let said = Session::in_run()?.ask(fault::WRITE, &HostCall::Change(change))?;
    Ok(match said {
        Json::String(said) => said,
        _ => String::new(),
    })
}

#[starlark_module]
pub(super) fn members(builder: &mut GlobalsBuilder) {
    /// Makes the file hold the text, and the folders on the way to it.
    fn write(
        #[starlark(require = pos)] path: &str,
        #[starlark(require = pos)] text: &str,
    ) -> starlark::Result<String> {
        change(Change::Write { path: path.to_owned(), text: text.to_owned() })
    }

    /// Puts the text behind what the file holds.
    fn append(
        #[starlark(require = pos)] path: &str,
        #[starlark(require = pos)] text: &str,
    ) -> starlark::Result<String> {
        change(Change::Append { path: path.to_owned(), text: text.to_owned() })
    }

    /// Makes the folder, and those on the way to it.
    fn mkdir(#[starlark(require = pos)] path: &str) -> starlark::Result<String> {
        change(Change::Mkdir { path: path.to_owned() })
    }

    /// Removes a file, a link or an empty folder.
    fn remove(#[starlark(require = pos)] path: &str) -> starlark::Result<String> {
        change(Change::Remove { path: path.to_owned() })
    }
}
