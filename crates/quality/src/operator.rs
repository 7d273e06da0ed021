//! The kinds of changes, each under one word.

use serde::{Serialize, Serializer};

/// One kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// A test ends successfully before it tests.
    EarlyExit,
    /// Nothing is there any more.
    Delete,
    /// No bytes are in it any more.
    Empty,
    /// Its second half is gone.
    CutHalf,
    /// What a function returns is nothing.
    DropReturn,
    /// `==` for `!=`, `<` for `>=`.
    Comparison,
    /// A line of code is a comment.
    CommentOut,
    /// A member of a JSON object is gone.
    DropKey,
    /// Another number in a JSON document.
    ChangeNumber,
    /// Another text in a JSON document.
    ChangeText,
    /// A value of another type in a JSON document.
    ChangeType,
    /// A row of a database is gone.
    DropRow,
    /// Another value in a row of a database.
    ChangeValue,
    /// A table of a database is gone.
    DropTable,
    /// A branch or a tag stands at the commit before.
    MoveBack,
    /// The remote's ref stands at the commit before.
    Unpush,
    /// Work that is not committed.
    Dirty,
    /// A file that Git does not know.
    Untracked,
    /// Other bytes, as many as before.
    SameSize,
    /// Its last line is gone.
    CutLastLine,
    /// `true` for `false`, 0 for 1.
    Literal,
    /// `and` for `or`.
    Logic,
    /// `+` for `-`.
    Arithmetic,
    /// One bit is the other one.
    FlipByte,
    /// Two lines in each other's place.
    SwapLines,
    /// A link, to a file that holds the same.
    Link,
    /// A folder of its name.
    Folder,
    /// A file in the place of a folder.
    File,
    /// Upper case for lower case in its name.
    RenameCase,
    /// Other permission bits.
    Mode,
    /// Something stands where nothing stood.
    Create,
    /// Nothing: a control.
    Nothing,
    /// Another time of modification: a control.
    Touch,
}

impl Operator {
    /// The stable machine word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EarlyExit => "early_exit",
            Self::Delete => "delete",
            Self::Empty => "empty",
            Self::CutHalf => "cut_half",
            Self::DropReturn => "drop_return",
            Self::Comparison => "comparison",
            Self::CommentOut => "comment_out",
            Self::DropKey => "drop_key",
            Self::ChangeNumber => "change_number",
            Self::ChangeText => "change_text",
            Self::ChangeType => "change_type",
            Self::DropRow => "drop_row",
            Self::ChangeValue => "change_value",
            Self::DropTable => "drop_table",
            Self::MoveBack => "move_back",
            Self::Unpush => "unpush",
            Self::Dirty => "dirty",
            Self::Untracked => "untracked",
            Self::SameSize => "same_size",
            Self::CutLastLine => "cut_last_line",
            Self::Literal => "literal",
            Self::Logic => "logic",
            Self::Arithmetic => "arithmetic",
            Self::FlipByte => "flip_byte",
            Self::SwapLines => "swap_lines",
            Self::Link => "link",
            Self::Folder => "folder",
            Self::File => "file",
            Self::RenameCase => "rename_case",
            Self::Mode => "mode",
            Self::Create => "create",
            Self::Nothing => "nothing",
            Self::Touch => "touch",
        }
    }

    /// Whether it is a change of a repository, not of a file alone.
    #[must_use]
    pub const fn is_of_git(self) -> bool {
        matches!(self, Self::MoveBack | Self::Unpush | Self::Dirty | Self::Untracked)
    }

    /// Whether it changes nothing that a check may react to.
    #[must_use]
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Nothing | Self::Touch)
    }
}

impl Serialize for Operator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
