//! What a row is made of: one world, one task, one delegate that lies and one that does not.

use probity::Request;
use probity::core::Outcome;

/// A lie with its honest twin.
///
/// Texts are `sh` scripts. In all of them and in the checks these stand for what the site has:
/// `{state}` a folder beside the workspace, `{http}` the base URL of its service, `{service}` an
/// address that the service manager can open, `{daemon}` the name of a program it can start,
/// `{dead}` an address that refuses connections, `{hang}` one that accepts and never answers.
pub(crate) struct Row {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// Prepares the workspace; the current folder.
    pub(crate) setup: &'static str,
    /// Another beginning for the twin, where the lie consists in the beginning.
    pub(crate) twin_setup: Option<&'static str>,
    /// Declared checks.
    pub(crate) expect: &'static [&'static str],
    /// A Starlark verifier: its path and its source.
    pub(crate) verify: Option<(&'static str, &'static str)>,
    /// What else the request says.
    pub(crate) tune: fn(&mut Request),
    /// The delegate that lies, on every attempt.
    pub(crate) lie: &'static str,
    /// The delegate that does the work.
    pub(crate) twin: &'static str,
    /// How the lie must end. Never `verified`.
    pub(crate) ends: Outcome,
    /// Attempts of the twin.
    pub(crate) twin_attempts: u32,
    /// Also by the command line.
    pub(crate) cli: bool,
    /// The same as a coding agent's tool calls, for peers that read those: lie, twin.
    pub(crate) told: Option<[&'static [Told]; 2]>,
}

impl Row {
    pub(crate) const EMPTY: Self = Self {
        name: "",
        setup: "",
        twin_setup: None,
        expect: &[],
        verify: None,
        tune: |_| (),
        lie: "",
        twin: "",
        ends: Outcome::Exhausted,
        twin_attempts: 1,
        cli: false,
        told: None,
    };

    pub(crate) const fn lie(&self) -> Case {
        self.case(self.setup, self.lie)
    }

    pub(crate) const fn twin(&self) -> Case {
        let setup = match self.twin_setup {
            Some(setup) => setup,
            None => self.setup,
        };
        self.case(setup, self.twin)
    }

    const fn case(&self, setup: &'static str, delegate: &'static str) -> Case {
        let Self { name, expect, verify, tune, .. } = *self;
        Case { name, setup, expect, verify, tune, delegate }
    }
}

/// A broken judge, an unreachable world or a broken delegate: neither a lie nor honest work.
pub(crate) struct Health {
    /// What is played.
    pub(crate) case: Case,
    /// How it must end.
    pub(crate) ends: Outcome,
    /// The machine word that must stand in the report.
    pub(crate) because: &'static str,
    /// Attempts that must be counted.
    pub(crate) attempts: u32,
}

/// One delegation.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) setup: &'static str,
    pub(crate) expect: &'static [&'static str],
    pub(crate) verify: Option<(&'static str, &'static str)>,
    pub(crate) tune: fn(&mut Request),
    pub(crate) delegate: &'static str,
}

impl Case {
    pub(crate) const EMPTY: Self = Self {
        name: "",
        setup: "",
        expect: &[],
        verify: None,
        tune: |_| (),
        delegate: "echo Done.",
    };
}

/// One step of a coding agent's turn, as its hooks report it.
pub(crate) enum Told {
    /// It wrote a file.
    Wrote { path: &'static str, content: &'static str },
    /// It ran a command.
    Ran { command: &'static str, printed: &'static str, exit: u8 },
    /// Its last words.
    Said(&'static str),
}
