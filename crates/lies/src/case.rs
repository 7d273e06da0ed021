//! What a row is made of: one world, one task, one delegate that lies and one that does not.

use probity_core::Outcome;

use crate::Class;

/// What only the bench of this repository has: a program, a service manager, what it starts.
const OF_BENCH: [&str; 4] = ["$TOOL", "$MANAGER", "{service}", "{daemon}"];

/// A lie with its honest twin.
///
/// Texts are `sh` scripts. In all of them and in the checks these stand for what the site has:
/// `{state}` a folder beside the workspace, `{http}` the base URL of a service that answers with what
/// `serve PATH TEXT` put there, `{dead}` an address that refuses connections, `{hang}` one that
/// accepts and never answers. Rows that name `$TOOL`, `$MANAGER`, `{service}` (an address that the
/// service manager can open) or `{daemon}` (a program it can start) need the bench.
#[derive(Debug)]
pub struct Row {
    /// Its name in the table.
    pub name: &'static str,
    /// What it lies about.
    pub class: Class,
    /// Prepares the workspace; the current folder.
    pub setup: &'static str,
    /// Another beginning for the twin, where the lie consists in the beginning.
    pub twin_setup: Option<&'static str>,
    /// Declared checks.
    pub expect: &'static [&'static str],
    /// A Starlark verifier: its path and its source.
    pub verify: Option<(&'static str, &'static str)>,
    /// What else the request says: an object as in a request file.
    pub request: &'static str,
    /// The delegate that lies, on every attempt.
    pub lie: &'static str,
    /// The delegate that does the work.
    pub twin: &'static str,
    /// How the lie must end. Never `verified`.
    pub ends: Outcome,
    /// Attempts of the twin.
    pub twin_attempts: u32,
    /// Also by the command line, where the library is what is held to the rows.
    pub cli: bool,
    /// The same as a coding agent's tool calls, for peers that read those: lie, twin.
    pub told: Option<[&'static [Told]; 2]>,
}

impl Row {
    /// Nothing, for `..Row::EMPTY`.
    pub const EMPTY: Self = Self {
        name: "",
        class: Class::NoOp,
        setup: "",
        twin_setup: None,
        expect: &[],
        verify: None,
        request: "{}",
        lie: "",
        twin: "",
        ends: Outcome::Exhausted,
        twin_attempts: 1,
        cli: false,
        told: None,
    };

    /// The lie as a delegation.
    #[must_use]
    pub const fn lie(&self) -> Case {
        self.case(self.setup, self.lie)
    }

    /// The twin as a delegation.
    #[must_use]
    pub const fn twin(&self) -> Case {
        let setup = match self.twin_setup {
            Some(setup) => setup,
            None => self.setup,
        };
        self.case(setup, self.twin)
    }

    /// Whether `sh` and `git` are all that it needs.
    #[must_use]
    pub fn is_portable(&self) -> bool {
        self.lie().is_portable() && self.twin().is_portable()
    }

    const fn case(&self, setup: &'static str, delegate: &'static str) -> Case {
        let Self { name, expect, verify, request, .. } = *self;
        Case { name, setup, expect, verify, request, delegate }
    }
}

/// A broken judge, an unreachable world or a broken delegate: neither a lie nor honest work.
#[derive(Debug)]
pub struct Health {
    /// What is broken.
    pub class: Class,
    /// What is played.
    pub case: Case,
    /// How it must end.
    pub ends: Outcome,
    /// The machine word that must stand in the report.
    pub because: &'static str,
    /// Attempts that must be counted.
    pub attempts: u32,
}

/// One delegation.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The name of its row.
    pub name: &'static str,
    /// Prepares the workspace.
    pub setup: &'static str,
    /// Declared checks.
    pub expect: &'static [&'static str],
    /// A Starlark verifier: its path and its source.
    pub verify: Option<(&'static str, &'static str)>,
    /// What else the request says.
    pub request: &'static str,
    /// The delegate.
    pub delegate: &'static str,
}

impl Case {
    /// Nothing, for `..Case::EMPTY`.
    pub const EMPTY: Self = Self {
        name: "",
        setup: "",
        expect: &[],
        verify: None,
        request: "{}",
        delegate: "echo Done.",
    };

    fn is_portable(&self) -> bool {
        let texts = [self.setup, self.delegate].into_iter().chain(self.expect.iter().copied());
        !texts.into_iter().any(|text| OF_BENCH.iter().any(|word| text.contains(word)))
    }
}

/// One step of a coding agent's turn, as its hooks report it.
#[derive(Debug)]
pub enum Told {
    /// It wrote a file.
    Wrote {
        /// Where, below the workspace.
        path: &'static str,
        /// What.
        content: &'static str,
    },
    /// It ran a command.
    Ran {
        /// The command line.
        command: &'static str,
        /// What it printed.
        printed: &'static str,
        /// Its exit code.
        exit: u8,
    },
    /// Its last words.
    Said(&'static str),
}
