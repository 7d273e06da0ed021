//! What can be done to one file, and doing it.

use std::path::Path;

use crate::code;
use crate::content;
use crate::database::{self, Place};
use crate::document;
use crate::draw::Draw;
use crate::file_kind::FileKind;
use crate::operator::Operator;

/// The largest file whose content is changed. Larger ones are still deleted, replaced and renamed.
pub const MAX_CONTENT_BYTES: u64 = 4 << 20;
/// Places of one operator in one file.
const MAX_PLACES: usize = 8;

/// What a file is to the check that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The check names it: it is the effect.
    Named,
    /// A program that the check runs may read it.
    Work,
    /// It decides: a test, or a file that is under seal.
    Judge,
    /// Nothing is to stand there.
    Absent,
    /// A folder that the check names.
    NamedFolder,
    /// Nobody was to touch it.
    Untouchable,
}

/// One change, not yet carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Splice(Splice),
    Json(String),
    Database(Place),
    /// Nothing about the content.
    Outside,
}

/// Some bytes in the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) at: usize,
    pub(crate) len: usize,
    pub(crate) with: Vec<u8>,
    /// 1-based.
    pub(crate) line: Option<usize>,
    /// What is done, with `{}` for the file.
    pub(crate) what: String,
}

/// One change of one thing, by one operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The kind of change.
    pub operator: Operator,
    /// Key of the file, or name of the ref.
    pub path: String,
    /// What the file is to the check.
    pub role: Role,
    /// What exactly is done.
    pub change: Change,
}

/// A change cannot be carried out on these bytes.
#[derive(Debug, thiserror::Error)]
pub enum Cannot {
    /// They are not those that it was found in.
    #[error("the content is not the one that the change was made for")]
    Elsewhere,
    /// They are as before.
    #[error("the change leaves the content as it is")]
    Same,
    /// The database refuses.
    #[error("the database cannot be changed: {0}")]
    Database(String),
    /// The operator changes no content.
    #[error("the change is not about content")]
    NotContent,
}

/// Everything that can be done to a file in its role, at most a few places for each operator. Equal bytes and
/// seeds give equal changes. `scratch` is a folder where a database may be opened.
#[must_use]
pub fn changes(
    path: &str,
    role: Role,
    content: Option<&[u8]>,
    scratch: &Path,
    draw: &mut Draw,
) -> Vec<Mutant> {
    let kind = content.map(|bytes| FileKind::of(path, bytes));
    let mut found = Vec::new();
    for operator in operators(role, kind) {
        let places = match (operator.is_outside(), content, kind) {
            (true, ..) => vec![Change(Kind::Outside)],
            (false, Some(bytes), Some(kind)) => places(*operator, bytes, kind, scratch, draw),
            _ => Vec::new(),
        };
        let mutant = |change| Mutant { operator: *operator, path: path.to_owned(), role, change };
        found.extend(places.into_iter().map(mutant));
    }
    found
}

/// The operators that fit a role and a kind; no kind where the content is too large to look at.
fn operators(role: Role, kind: Option<FileKind>) -> &'static [Operator] {
    use Operator as O;
    match (role, kind) {
        (Role::Absent, _) => &[O::Create, O::Folder],
        (Role::NamedFolder, _) => &[O::Delete, O::File, O::Create],
        (Role::Untouchable, None | Some(FileKind::Database)) => &[O::Delete, O::Mode],
        (Role::Untouchable, _) => &[O::Delete, O::Empty, O::FlipByte, O::Mode],
        (Role::Judge, None) => &[O::Delete],
        (Role::Judge, Some(FileKind::Code { .. })) => &[O::EarlyExit, O::Delete, O::Empty],
        (Role::Judge, _) => &[O::Delete, O::Empty],
        (Role::Named, kind) => of_named(kind),
        (Role::Work, None) => &[O::Delete],
        (Role::Work, Some(FileKind::Database)) => {
            &[O::Delete, O::DropRow, O::ChangeValue, O::DropTable]
        }
        (Role::Work, Some(FileKind::Json)) => {
            &[O::Delete, O::Empty, O::DropKey, O::ChangeNumber, O::ChangeText, O::ChangeType]
        }
        (Role::Work, Some(FileKind::Code { .. })) => &[
            O::Delete,
            O::Empty,
            O::CutHalf,
            O::DropReturn,
            O::Comparison,
            O::CommentOut,
            O::Literal,
            O::Logic,
            O::Arithmetic,
        ],
        (Role::Work, Some(FileKind::Binary)) => &[O::Delete, O::Empty, O::FlipByte],
        (Role::Work, Some(FileKind::Prose | FileKind::Text)) => {
            &[O::Delete, O::Empty, O::CutHalf, O::CutLastLine]
        }
    }
}

/// The operators of a file that a check names.
fn of_named(kind: Option<FileKind>) -> &'static [Operator] {
    use Operator as O;
    match kind {
        None => &[O::Delete, O::Link, O::Folder, O::RenameCase, O::Mode],
        Some(FileKind::Database) => &[
            O::Delete,
            O::DropRow,
            O::ChangeValue,
            O::DropTable,
            O::Empty,
            O::Link,
            O::Folder,
            O::RenameCase,
            O::Mode,
        ],
        Some(FileKind::Json) => &[
            O::Delete,
            O::Empty,
            O::CutHalf,
            O::DropKey,
            O::ChangeNumber,
            O::ChangeText,
            O::ChangeType,
            O::CutLastLine,
            O::Link,
            O::Folder,
            O::RenameCase,
            O::Mode,
        ],
        Some(_) => &[
            O::Delete,
            O::Empty,
            O::CutHalf,
            O::SameSize,
            O::CutLastLine,
            O::FlipByte,
            O::SwapLines,
            O::Link,
            O::Folder,
            O::RenameCase,
            O::Mode,
        ],
    }
}

fn places(
    operator: Operator,
    bytes: &[u8],
    kind: FileKind,
    scratch: &Path,
    draw: &mut Draw,
) -> Vec<Change> {
    use Operator as O;
    let splices = match operator {
        O::DropKey | O::ChangeNumber | O::ChangeText | O::ChangeType => {
            let pointers = document::pointers(operator, bytes, draw, MAX_PLACES);
            return pointers.into_iter().map(|pointer| Change(Kind::Json(pointer))).collect();
        }
        O::DropRow | O::ChangeValue | O::DropTable => {
            let places = database::places(operator, bytes, scratch, draw, MAX_PLACES);
            return places.into_iter().map(|place| Change(Kind::Database(place))).collect();
        }
        O::EarlyExit => match kind {
            FileKind::Code { exit: Some(exit), .. } => vec![code::early_exit(bytes, exit)],
            _ => Vec::new(),
        },
        O::DropReturn | O::Comparison | O::CommentOut | O::Literal | O::Logic | O::Arithmetic => {
            match kind {
                FileKind::Code { comment, .. } => {
                    code::splices(operator, bytes, comment, draw, MAX_PLACES)
                }
                _ => Vec::new(),
            }
        }
        _ => {
            let is_text = !matches!(kind, FileKind::Binary | FileKind::Database);
            content::splices(operator, bytes, is_text, draw, MAX_PLACES)
        }
    };
    splices.into_iter().map(|splice| Change(Kind::Splice(splice))).collect()
}

impl Mutant {
    /// A change that is not about the content of a file.
    #[must_use]
    pub fn outside(operator: Operator, path: &str, role: Role) -> Self {
        Self { operator, path: path.to_owned(), role, change: Change(Kind::Outside) }
    }

    /// The line that is changed, counted from 1, where it is one line.
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        match &self.change.0 {
            Kind::Splice(splice) => splice.line,
            _ => None,
        }
    }

    /// What is done, in words that a sentence can begin with.
    #[must_use]
    pub fn what(&self) -> String {
        let path = format!("`{}`", self.path);
        match &self.change.0 {
            Kind::Splice(splice) => splice.what.replace("{}", &path),
            Kind::Json(pointer) => document::what(self.operator, pointer, &path),
            Kind::Database(place) => place.what(&path),
            Kind::Outside => self.operator.what(&path),
        }
    }
}

impl Change {
    /// The content with the change in it.
    ///
    /// # Errors
    /// [`Cannot`]: it is not a change of this content.
    pub fn edit(
        &self,
        operator: Operator,
        bytes: &[u8],
        scratch: &Path,
    ) -> Result<Vec<u8>, Cannot> {
        let edited = match &self.0 {
            Kind::Splice(splice) => splice.apply(bytes).ok_or(Cannot::Elsewhere)?,
            Kind::Json(pointer) => {
                document::edit(operator, pointer, bytes).ok_or(Cannot::Elsewhere)?
            }
            Kind::Database(place) => database::edit(place, bytes, scratch)?,
            Kind::Outside => return Err(Cannot::NotContent),
        };
        if edited == bytes { Err(Cannot::Same) } else { Ok(edited) }
    }
}

impl Splice {
    fn apply(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (head, rest) = bytes.split_at_checked(self.at)?;
        let (_, tail) = rest.split_at_checked(self.len)?;
        Some([head, &self.with, tail].concat())
    }
}

impl Operator {
    /// Whether it leaves the content of files alone.
    #[must_use]
    pub const fn is_outside(self) -> bool {
        matches!(
            self,
            Self::Delete
                | Self::Link
                | Self::Folder
                | Self::File
                | Self::RenameCase
                | Self::Mode
                | Self::Create
                | Self::MoveBack
                | Self::Unpush
                | Self::Dirty
                | Self::Untracked
                | Self::Nothing
                | Self::Touch
        )
    }

    fn what(self, path: &str) -> String {
        match self {
            Self::Link => format!("a link to a copy in the place of {path}"),
            Self::Folder => format!("a folder in the place of {path}"),
            Self::File => format!("a file in the place of the folder {path}"),
            Self::RenameCase => format!("another case in the name of {path}"),
            Self::Mode => format!("other permission bits of {path}"),
            Self::Create => format!("a new file {path}"),
            Self::MoveBack => format!("moving {path} back by one commit"),
            Self::Unpush => format!("moving {path} of the remote back by one commit"),
            Self::Dirty => format!("a change of {path} that is not committed"),
            Self::Untracked => format!("a file {path} that is not added"),
            Self::Nothing => "changing nothing".to_owned(),
            Self::Touch => format!("another time of modification of {path}"),
            _ => format!("deleting {path}"),
        }
    }
}
