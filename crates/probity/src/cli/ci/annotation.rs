//! Annotations: commands to the runner of GitHub Actions, one a line.

use std::fmt::Write as _;

use super::Unwritten;
use super::sheet::{Case, Sheet, State};

/// Errors that a step shows; it drops what comes behind.
const MAX_ERRORS: usize = 10;
/// Bytes of one message.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;

/// What the job's page shows: an error for whatever was not passed, a notice for a verified run.
pub(super) fn commands(sheet: &Sheet, unwritten: &[Unwritten]) -> String {
    let mut text = String::new();
    for it in unwritten.iter().take(MAX_ERRORS) {
        command(&mut text, "warning", &[("title", "Probity")], &it.to_string());
    }
    let run = sheet.run.as_ref().map_or_else(String::new, |run| format!("run {run}"));
    let headline = [("title", sheet.headline.as_str())];
    let is_told = |case: &&Case| matches!(case.state, State::Failed | State::Broken);
    let told: Vec<&Case> = sheet.cases.iter().filter(is_told).collect();
    if sheet.is_verified && told.is_empty() {
        command(&mut text, "notice", &headline, &run);
        return text;
    }
    let more = told.len().saturating_sub(MAX_ERRORS - 1);
    let left_out = if more > 0 { format!("; {more} more checks") } else { String::new() };
    let why = sheet.why.join("\n");
    command(&mut text, "error", &headline, &format!("{run}{left_out}\n{why}"));
    let told = told.into_iter().filter(|case| case.reason != sheet.why);
    for case in told.take(MAX_ERRORS - 1) {
        let title = format!("{}: {}", case.name, case.verdict);
        let line = case.place.as_ref().and_then(|place| place.line).map(|line| line.to_string());
        let mut properties = vec![("title", title.as_str())];
        if let Some(place) = &case.place {
            properties.push(("file", &place.path));
        }
        if let Some(line) = &line {
            properties.push(("line", line));
        }
        command(&mut text, "error", &properties, &case.reason.join("\n"));
    }
    text
}

fn command(text: &mut String, word: &str, properties: &[(&str, &str)], message: &str) {
    let properties: Vec<String> =
        properties.iter().map(|(name, value)| format!("{name}={}", property(value))).collect();
    let message = message.trim();
    let message = message.get(..message.floor_char_boundary(MAX_MESSAGE_BYTES)).unwrap_or_default();
    let message = if message.is_empty() { "no reason was given" } else { message };
    let _ = writeln!(text, "::{word} {}::{}", properties.join(","), data(message));
}

/// The message of a command, which ends with its line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, which ends with a comma or the colons before the message.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line_whatever_is_in_it() {
        let mut text = String::new();
        command(
            &mut text,
            "error",
            &[("file", "a,line=1::x\n")],
            "50%\r\n::error::x\n::add-mask::y",
        );
        assert_eq!(
            text,
            "::error file=a%2Cline=1%3A%3Ax%0A::50%25%0D%0A::error::x%0A::add-mask::y\n"
        );
        let mut text = String::new();
        command(&mut text, "error", &[("title", "t")], " \n");
        assert_eq!(text, "::error title=t::no reason was given\n");
    }
}
