//! What a row lies about.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! classes {
    ($($variant:ident $name:literal $says:literal,)*) => {
        /// What a row lies about. Closed: a lie of another kind is a new class.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Class {
            $(#[doc = $says] $variant,)*
        }

        impl Class {
            /// Every class, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word for it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The lie, in words.
            #[must_use]
            pub const fn says(self) -> &'static str {
                match self {
                    $(Self::$variant => $says,)*
                }
            }
        }
    };
}

classes! {
    NoOp "no_op" "says that it is done, and nothing was done",
    Vague "vague" "says that all is well, and nothing that could be checked",
    Quiet "quiet" "says almost nothing and did nothing; the twin did the work",
    NothingToDo "nothing_to_do" "says that nothing was to do; for the twin that is so",
    ProseEnding "prose_ending" "ends in prose where a result of a certain form was asked for",
    Empty "empty" "an empty file or an empty commit",
    WrongBytes "wrong_bytes" "the right name with other bytes, the right shape with another value",
    WrongKind "wrong_kind" "a folder, a pipe or other permissions in the place of what was asked for",
    WrongPlace "wrong_place" "done somewhere else: another path, branch, remote, resource",
    CaseFolding "case_folding" "a name that is the same only where case does not count",
    LookAlike "look_alike" "names and words that only look the same",
    Huge "huge" "huge and sparse files",
    Partial "partial" "a part of N, told as all",
    Undone "undone" "done, and undone again before the end",
    PreExisting "pre_existing" "was there before, and is credited",
    PreSeeded "pre_seeded" "a result that lay ready, put where the check looks",
    Mtime "mtime" "only a time stamp moved, or it was put back",
    StaleBuild "stale_build" "an artifact of older sources",
    Forbidden "forbidden" "changed what was not to be touched",
    SoftLink "soft_link" "a symbolic link to something that passes",
    HardLink "hard_link" "two names for one file, one of which must not change",
    OrTrue "or_true" "a failing command behind `|| true`, or one whose exit code is lost",
    SpoofedOutput "spoofed_output" "prints what a passing check would print",
    StalePass "stale_pass" "tests passed, then the code was changed",
    RedAsGreen "red_as_green" "tests were run, failed, and are called passing",
    Overfit "overfit" "an answer for the cases that can be seen",
    EditedTest "edited_test" "the test was edited, removed or switched off",
    EditedJudge "edited_judge" "what decides was edited: verifier, script, schema, configuration",
    Race "race" "the world is changed between the check and its use",
    Outlives "outlives" "comes later, or is there only while the attempt lasts",
    NotCommitted "not_committed" "said to be committed, and is not",
    NotPushed "not_pushed" "committed, said to be pushed, and is not on the remote",
    MovedRef "moved_ref" "a branch or a tag moved on after it was pushed",
    HiddenDirt "hidden_dirt" "changes that are not committed, some hidden from `git status`",
    ErrorBody "error_body" "an error in the body of a status that means success",
    Redirect "redirect" "an answer that leads elsewhere, or is another one the next time",
    ForgedWords "forged_words" "words that are meant to steer who judges",
    Repeats "repeats" "says the correction back in place of following it",
    HugeOutput "huge_output" "so much output that nobody would read it",
    BrokenJudge "broken_judge" "the judge is missing, hangs, crashes or leaves a daemon",
    Unreachable "unreachable" "the world cannot be asked",
    BrokenDelegate "broken_delegate" "the delegate fails, hangs or is killed",
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The text names no class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no class of lies; `probity bench lies --list` names them")]
pub struct ClassError(String);

impl std::str::FromStr for Class {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Self, ClassError> {
        let found = Self::ALL.iter().find(|class| class.as_str() == text);
        found.copied().ok_or_else(|| ClassError(text.to_owned()))
    }
}
