//! What the checks are worth, for people.

use probity_quality::{CheckQuality, State};

use super::Printed;
use crate::cli::present::{self, Style, Tone, count};

/// Things that are not in the copies, as many as a person is shown.
const MAX_LEFT_OUT: usize = 10;
/// The heads of the columns behind the name.
const HEADS: [&str; 6] = ["tried", "caught", "missed", "faults", "alarms", "score"];

impl Printed<'_> {
    /// A table, then check by check what it misses and what would have caught it.
    pub(super) fn text(&self, style: Style) -> String {
        let mut text = String::new();
        let checks = &self.quality.checks;
        let width = checks.iter().map(|check| check.id.len()).chain([5]).max().unwrap_or(5);
        if !checks.is_empty() {
            let heads: String = HEADS.iter().map(|head| format!("  {head:>6}")).collect();
            let head = format!("{:width$}{heads}", "check");
            text.push_str(&format!("{}\n", style.paint(Tone::Dim, &head)));
        }
        for check in checks {
            text.push_str(&row(check, width, style));
        }
        for check in checks {
            text.push_str(&details(check, style));
        }
        let left_out = &self.quality.left_out;
        if !left_out.is_empty() {
            text.push_str("\nnot in the copies:\n");
        }
        for left in left_out.iter().take(MAX_LEFT_OUT) {
            text.push_str(&format!("  {}: {}\n", present::line(&left.path), left.why));
        }
        if let Some(more) = left_out.len().checked_sub(MAX_LEFT_OUT).filter(|more| *more > 0) {
            text.push_str(&format!("  and {more} more; --json lists them all\n"));
        }
        text.push_str(&format!("\n{}\n", self.conclusion(style)));
        text
    }

    fn conclusion(&self, style: Style) -> String {
        let of = count(u64::try_from(self.quality.checks.len()).unwrap_or(0), "check");
        if self.scored == 0 {
            let word = style.paint(Tone::Bad, "NOTHING SCORED");
            return format!("{word}: of {of}, none was scored; that is no good news");
        }
        let (word, tone) = match (self.over.is_empty(), self.unscored.is_empty()) {
            (false, _) => ("TOO WEAK", Tone::Bad),
            (true, false) => ("INCOMPLETE", Tone::Warn),
            (true, true) => ("SCORED", Tone::Good),
        };
        let mut text = format!("{}: {} of {of}", style.paint(tone, word), self.scored);
        if let Some(percent) = self.max_missed_percent {
            let over = self.over.len();
            text.push_str(&format!(", {over} missing more than {percent} of 100"));
        }
        if !self.unscored.is_empty() {
            text.push_str(&format!("; not scored: {}", self.unscored.join(", ")));
        }
        text
    }
}

fn row(check: &CheckQuality, width: usize, style: Style) -> String {
    let name = format!("{:width$}", check.id);
    let Some(score) = check.score_percent else {
        let (word, tone) = state(check.state);
        return format!("{name}  {}\n", style.paint(tone, word));
    };
    let numbers = [check.tried, check.caught, check.missed, check.faults, check.false_alarms];
    let cells: String = numbers.iter().map(|number| format!("  {number:>6}")).collect();
    let tone = match score {
        0 => Tone::Bad,
        100 => Tone::Good,
        _ => Tone::Warn,
    };
    format!("{name}{cells}  {}\n", style.paint(tone, &format!("{score:>4} %")))
}

/// The word of a state, and how bad it is.
const fn state(state: State) -> (&'static str, Tone) {
    match state {
        State::Scored => ("scored", Tone::Good),
        State::Red => ("does not pass as things are", Tone::Bad),
        State::Broken => ("breaks as things are", Tone::Bad),
        State::Unreliable => ("raises false alarms", Tone::Bad),
        State::Unscored => ("broke on every change", Tone::Bad),
        State::NotTried => ("not tried", Tone::Dim),
    }
}

fn details(check: &CheckQuality, style: Style) -> String {
    let id = &check.id;
    let mut text = String::new();
    if let Some(reason) = &check.reason {
        let code = check.code.as_ref().map(|code| format!("  [{code}]")).unwrap_or_default();
        text.push_str(&format!("\n{id}: {}{code}\n", present::line(reason)));
    }
    // What was caught by a check that does not hold still says nothing, and what was missed little.
    if check.state != State::Scored {
        return text;
    }
    if check.blind {
        let word = style.paint(Tone::Bad, "caught nothing");
        text.push_str(&format!("\n{id} {word}: whatever is changed, it passes\n"));
    } else if !check.misses.is_empty() {
        text.push_str(&format!("\n{id} missed {} of {}\n", check.missed, check.tried));
    }
    for miss in &check.misses {
        text.push_str(&format!("  {}\n", present::line(&miss.sentence)));
        let suggestion = present::line(&miss.suggestion);
        text.push_str(&format!("    {}\n", style.paint(Tone::Dim, &suggestion)));
    }
    let hidden = check.missed.saturating_sub(check.misses.len());
    if hidden > 0 {
        text.push_str(&format!("  and {hidden} more; --json lists them all\n"));
    }
    text
}
