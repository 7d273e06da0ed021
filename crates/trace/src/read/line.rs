//! Lines that are no JSON, and lines that are not spelled as they must be.

use probity_report::{Failures, Place, Rule};

use crate::model::TRACE;
use crate::tape::{Broken, Fault, MAX_DEPTH, MAX_SLOTS, Spelling};

use super::rule;

/// Tells why a line was not read.
pub(crate) fn tell_broken(line: u64, offset: u64, broken: Broken, failures: &mut Failures) {
    let (rule, text): (&'static Rule, String) = match broken.fault {
        Fault::Syntax(expected) => (&rule::SYNTAX, format!("expected {expected}")),
        Fault::Number => {
            let text = "numbers are finite; integers are at most 2^53 - 1 from zero";
            (&rule::NUMBER, text.to_owned())
        }
        Fault::Surrogate => (&rule::SURROGATE, rule::SURROGATE.finds.to_owned()),
        Fault::TooDeep => (&rule::TOO_DEEP, format!("deeper than {MAX_DEPTH}")),
        Fault::TooMany => (&rule::TOO_MANY, format!("more than {MAX_SLOTS}")),
    };
    failures.add(rule, place(line, offset, broken.at), text);
}

/// Tells how the spelling of a line departs from the canonical one.
pub(crate) fn tell_spelling(line: u64, offset: u64, spelling: &Spelling, failures: &mut Failures) {
    for at in &spelling.repeated {
        failures.add(&rule::DUPLICATE_KEY, place(line, offset, *at), rule::DUPLICATE_KEY.finds);
    }
    if let Some(departure) = spelling.uncanonical {
        let text = format!("expected {}", departure.what);
        failures.add(&rule::NOT_CANONICAL, place(line, offset, departure.at), text);
    }
}

/// One byte of a line.
fn place(line: u64, offset: u64, at: usize) -> Place {
    let start = offset.saturating_add(at as u64);
    Place::file(TRACE).line(line).bytes(start, start.saturating_add(1))
}
