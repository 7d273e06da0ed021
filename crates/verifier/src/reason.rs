//! The words that stand beside an outcome of seed 001.

use probity_core::Code;

/// The code that a `reason` beside an `outcome` stands for: one of the words that polling checks and
/// decisions under an envelope end with. `None` for every other text, however much it looks like a
/// word: a code stands in events, and a text may be the delegate's.
#[must_use]
pub fn reason_code(reason: &str) -> Option<Code> {
    let code = match reason {
        "match" => "match",
        "mismatch" => "mismatch",
        "condition_true" => "condition_true",
        "condition_false" => "condition_false",
        "timeout" => "timeout",
        "verify_timeout" => "verify_timeout",
        "error" => "error",
        "read_error" => "read_error",
        "missing_data" => "missing_data",
        "no_method" => "no_method",
        "unsupported" => "unsupported",
        "cancelled" => "cancelled",
        "budget_exhausted" => "budget_exhausted",
        _ => return None,
    };
    Some(Code::slug(code))
}
