//! A JUnit report, valid for the schema of Ant and that of Jenkins.

use std::fmt::Write as _;

use super::super::log::timestamp;
use super::sheet::{Case, Sheet, State};

/// The report: one suite for the run. It is green if, and only if, the run is verified.
pub(super) fn document(sheet: &Sheet) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let run = sheet.run.as_ref().map_or("not begun", |run| run.as_str());
    // The schemas take a time without its zone; it is UTC.
    let begun = timestamp(sheet.begun_ms);
    let _ = writeln!(
        xml,
        "<testsuite id=\"0\" package=\"probity\" name=\"{}\" timestamp=\"{}\" hostname=\"localhost\" \
         tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">",
        escaped(run),
        begun.trim_end_matches('Z'),
        sheet.cases.len(),
        sheet.count(State::Failed),
        sheet.count(State::Broken),
        sheet.count(State::Skipped),
        seconds(sheet.elapsed_ms),
    );
    xml.push_str("<properties>\n");
    let head = sheet.seal.map(|seal| seal.head.to_string());
    let properties = [
        ("probity.verdict", Some(sheet.headline.as_str())),
        ("probity.run", sheet.run.as_ref().map(|run| run.as_str())),
        ("probity.head", head.as_deref()),
    ];
    for (name, value) in properties {
        if let Some(value) = value {
            let _ = writeln!(xml, "<property name=\"{name}\" value=\"{}\"/>", escaped(value));
        }
    }
    xml.push_str("</properties>\n");
    sheet.cases.iter().for_each(|case| write_case(&mut xml, case));
    let told: Vec<&str> = std::iter::once(sheet.headline.as_str())
        .chain(sheet.notes.iter().map(String::as_str))
        .collect();
    let _ = writeln!(xml, "<system-out>{}</system-out>", escaped(&told.join("\n")));
    xml.push_str("<system-err></system-err>\n</testsuite>\n</testsuites>\n");
    xml
}

fn write_case(xml: &mut String, case: &Case) {
    let (name, time) = (escaped(&case.name), seconds(case.elapsed_ms));
    let _ = write!(xml, "<testcase classname=\"probity\" name=\"{name}\" time=\"{time}\"");
    let element = match case.state {
        State::Passed => {
            xml.push_str("/>\n");
            return;
        }
        State::Skipped => {
            xml.push_str("><skipped/></testcase>\n");
            return;
        }
        State::Failed => "failure",
        State::Broken => "error",
    };
    let kind = case.code.as_ref().map_or(case.verdict.as_str(), |code| code.as_str());
    let message = format!("{}: {}", case.verdict, case.said());
    let _ = writeln!(
        xml,
        "><{element} type=\"{}\" message=\"{}\">{}</{element}></testcase>",
        escaped(kind),
        escaped(&message),
        escaped(&case.reason.join("\n")),
    );
}

/// Text of an element or attribute. What XML cannot hold at all is shown by its number.
fn escaped(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => clean.push_str("&amp;"),
            '<' => clean.push_str("&lt;"),
            '>' => clean.push_str("&gt;"),
            '"' => clean.push_str("&quot;"),
            '\n' => clean.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                clean.extend(c.escape_default());
            }
            c => clean.push(c),
        }
    }
    clean
}

fn seconds(elapsed_ms: u64) -> String {
    format!("{}.{:03}", elapsed_ms / 1000, elapsed_ms % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_ends_it() {
        let hostile = "]]></failure><testcase name=\"x\"/>&\u{0}\u{1b}[2J\u{fffe}\u{ffff}\t\r\n";
        let clean = escaped(hostile);
        assert_eq!(
            clean,
            "]]&gt;&lt;/failure&gt;&lt;testcase name=&quot;x&quot;/&gt;&amp;\\u{0}\\u{1b}[2J\\u{fffe}\
             \\u{ffff}\\t\\r\n"
        );
    }

    #[test]
    fn a_time_is_in_seconds() {
        assert_eq!([seconds(0), seconds(61_005)], ["0.000", "61.005"]);
    }
}
