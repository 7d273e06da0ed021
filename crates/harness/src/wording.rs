//! What an agent and its user are told. No text that lets an agent stop without a pass can be read as success.

/// How far a claim got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally<'a> {
    /// The run that it is kept in.
    pub run: &'a str,
    /// The number of this claim since the user spoke.
    pub claim: u32,
    /// How many there may be.
    pub allowed: u32,
}

/// The most that is quoted of a reason, in bytes.
const MAX_QUOTED_BYTES: usize = 1_500;

/// To the agent: its claim was checked and refused. `correction` is what a delegate of any run is told.
#[must_use]
pub fn refused(tally: &Tally<'_>, correction: &str) -> String {
    format!("{}\n\nRecord: probity log show {}", correction.trim_end(), tally.run)
}

/// To the agent: nobody knows whether its claim holds. Without a tally there is no record of it.
#[must_use]
pub fn unchecked(tally: Option<&Tally<'_>>, why: &str) -> String {
    format!(
        "NOT CHECKED{}: probity could not check what you claim, so it is not verified. This is no \
         statement about your work.\n\n{}\n\nIf your changes caused this, undo that. If you cannot help \
         it, say so to the user in plain words and do not say that the work is verified.{}",
        of(tally),
        quoted(why),
        record(tally)
    )
}

/// To the user: the agent stops unchecked. Without a tally there is no record of it.
#[must_use]
pub fn unchecked_and_released(tally: Option<&Tally<'_>>, why: &str) -> String {
    format!(
        "probity: NOT VERIFIED{}. What the agent claims could not be checked, and it was let go.\n{}{}",
        of(tally),
        quoted(why),
        record(tally)
    )
}

/// To the user: the agent stops, and what it claims was refused as often as it may be.
#[must_use]
pub fn exhausted(tally: &Tally<'_>, why: &str) -> String {
    format!(
        "probity: NOT VERIFIED. The work was refused (claim {} of {}) and the attempts are used up, so \
         the agent was let go. What it says it did is not so:\n{}\nRecord: probity log show {}",
        tally.claim,
        tally.allowed,
        quoted(why),
        tally.run
    )
}

/// To the user: the agent stops, and the claim was rejected for good, or its run ended in another way.
#[must_use]
pub fn not_accepted(run: &str, outcome: &str, why: &str) -> String {
    format!(
        "probity: NOT VERIFIED ({outcome}). The agent was let go; its work was not accepted:\n{}\n\
         Record: probity log show {run}",
        quoted(why)
    )
}

/// To the user: the agent stops, and a human is to decide.
#[must_use]
pub fn waits_for_human(run: &str) -> String {
    format!(
        "probity: NOT VERIFIED yet. The run waits for a human; see and answer it with \
         probity log show {run}"
    )
}

/// To the user: the agent stops, and there was nothing to check.
#[must_use]
pub fn nothing_checked(why: &str) -> String {
    format!("probity: NOT VERIFIED. Nothing was checked: {}", quoted(why))
}

/// Into the record: the tool let the agent stop although its claim was refused.
#[must_use]
pub fn overridden(tool: &str, event: &str) -> String {
    format!(
        "overridden: the last claim was refused, and {tool} let the agent stop all the same, or its \
         user stopped it (seen at {event}); nothing was verified"
    )
}

/// Into the record: nobody knows what the workspace was before the work.
#[must_use]
pub fn unseen(tool: &str) -> String {
    format!(
        "the hook of {tool} was stopped before it had seen the workspace, so this run can check nothing; \
         nothing was verified"
    )
}

/// Into the record: nobody made a claim.
#[must_use]
pub fn ended_without_claim(tool: &str, event: &str) -> String {
    format!("{tool} ended its session ({event}) without a claim; nothing was verified")
}

fn of(tally: Option<&Tally<'_>>) -> String {
    let words = |it: &Tally<'_>| format!(" (claim {} of {})", it.claim, it.allowed);
    tally.map(words).unwrap_or_default()
}

fn record(tally: Option<&Tally<'_>>) -> String {
    let words = |it: &Tally<'_>| format!("\n\nRecord: probity log show {}", it.run);
    tally.map(words).unwrap_or_default()
}

fn quoted(why: &str) -> String {
    let why = why.trim();
    if why.is_empty() {
        return "(no reason was given)".to_owned();
    }
    let mut quoted = String::new();
    for c in why.chars() {
        if quoted.len() + c.len_utf8() > MAX_QUOTED_BYTES {
            quoted.push_str(" [cut]");
            break;
        }
        quoted.push(c);
    }
    quoted
}
