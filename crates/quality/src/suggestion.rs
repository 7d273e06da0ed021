//! What would have caught a mutant.

use crate::change::Role;
use crate::operator::Operator;

/// What a check is, as far as it matters to a suggestion.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Its kind: `file`, `command`, and so on.
    pub kind: &'a str,
    /// A glob of the tests that its program is known to read and that are not under seal.
    pub undeclared: Option<&'a str>,
}

/// What would have caught a mutant that a check missed.
#[must_use]
pub fn suggestion(asked: &Asked<'_>, operator: Operator, role: Role, path: &str) -> String {
    use Operator as O;
    match (asked.kind, role, operator) {
        (_, Role::Judge, _) => {
            let glob = asked.undeclared.unwrap_or(path);
            format!("whoever does the work can edit what decides: add inputs={glob}")
        }
        ("file", _, O::Mode) => "if the permission bits matter, add mode=".to_owned(),
        ("file", _, O::RenameCase) => {
            "the file system does not tell upper from lower case".to_owned()
        }
        ("file", _, O::Link) => {
            "if it must be a file of its own, add changes_only: for what may appear beside it"
                .to_owned()
        }
        ("file", ..) => "say what must be in it: contains=, matches=, min_bytes= or sha256=".to_owned(),
        ("dir", ..) => "say what must be in it: entries=, or a file: check of what matters".to_owned(),
        ("json", _, O::Mode | O::Link | O::RenameCase) => {
            "if that matters, add a file: check of the same path".to_owned()
        }
        ("json", ..) => "ask for the value: pointer= with equals=, or a schema= with types".to_owned(),
        ("sqlite", _, O::Mode | O::Link | O::RenameCase) => {
            "if that matters, add a file: check of the same path".to_owned()
        }
        ("sqlite", ..) => "let query= count or sum what must be there, with equals=".to_owned(),
        ("git", _, O::Dirty | O::Untracked) => "add clean".to_owned(),
        ("git", _, O::Unpush) => "add pushed= with the name of the remote".to_owned(),
        ("git", ..) => {
            "say which commit: created, contains_path= or reachable_from=".to_owned()
        }
        ("changes_only", ..) => "name fewer paths in changes_only:".to_owned(),
        ("citations", ..) => "say how much must be cited".to_owned(),
        ("read_after_write" | "invariant_check", ..) => {
            "ask for more of what is read: equals=, contains= or mode=exact".to_owned()
        }
        ("script" | "external", ..) => {
            "let the verifier look at it, or leave it out with --files if it does not matter".to_owned()
        }
        (_, _, O::Delete | O::Empty) => {
            "nothing that the command runs needs it: add a test that does, or leave it out with --files"
                .to_owned()
        }
        _ => "no test sees the difference: add one that does".to_owned(),
    }
}
