//! Changes of source code by rules about tokens, without a grammar of any language.
//!
//! What stands between double quotes or behind the sign of a comment is left alone as far as one line tells. A
//! rule may hit what is no operator in the language at hand; the mutant then often does not compile, which a
//! check catches for free. And it may hit what makes no difference: a miss is a question, not a proof.

use crate::change::Splice;
use crate::content::lines;
use crate::draw::Draw;
use crate::operator::Operator;

/// What is found, and what is put in its place. The first that fits counts, so longer ones come first.
type Rule = (&'static str, &'static str);

const COMPARISON: &[Rule] = &[
    ("===", "!=="),
    ("!==", "==="),
    ("==", "!="),
    ("!=", "=="),
    ("<=", ">"),
    (">=", "<"),
    (" < ", " >= "),
    (" > ", " <= "),
];
const LOGIC: &[Rule] = &[("&&", "||"), ("||", "&&"), (" and ", " or "), (" or ", " and ")];
const ARITHMETIC: &[Rule] =
    &[(" += ", " -= "), (" -= ", " += "), (" + ", " - "), (" - ", " + "), (" * ", " / ")];
const WORDS: &[Rule] =
    &[("true", "false"), ("false", "true"), ("True", "False"), ("False", "True")];
/// What looks like a rule's token and is another one.
const OTHERS: &[&str] = &["<=>", "=>", "->", "<-", "<<", ">>", "|||"];

/// The places where an operator of code can be applied; at most `max`, chosen by the draw.
pub(crate) fn splices(
    operator: Operator,
    bytes: &[u8],
    comment: Option<&str>,
    draw: &mut Draw,
    max: usize,
) -> Vec<Splice> {
    let mut places = Vec::new();
    for (number, (at, line)) in (1_usize..).zip(lines(bytes)) {
        let Ok(text) = std::str::from_utf8(line) else { continue };
        let Some(code) = code_of(text, comment) else { continue };
        let line = Line { text, code, at, number };
        match operator {
            Operator::Comparison => line.tokens(COMPARISON, &mut places),
            Operator::Logic => line.tokens(LOGIC, &mut places),
            Operator::Arithmetic => line.tokens(ARITHMETIC, &mut places),
            Operator::Literal => line.literals(&mut places),
            Operator::DropReturn => places.extend(line.returned()),
            Operator::CommentOut => places.extend(comment.and_then(|sign| line.commented(sign))),
            _ => {}
        }
    }
    draw.shuffle(&mut places);
    places.truncate(max);
    places
}

/// A line that ends the program successfully, before anything else of it runs.
pub(crate) fn early_exit(bytes: &[u8], exit: &str) -> Splice {
    let at = match bytes.starts_with(b"#!") {
        true => lines(bytes).next().map_or(0, |(_, line)| line.len()),
        false => 0,
    };
    let what = format!("putting `{}` at the top of {{}}", exit.trim_end());
    Splice { at, len: 0, with: exit.as_bytes().to_vec(), line: None, what }
}

/// The part of a line that is code; none where all of it is a comment.
fn code_of<'a>(text: &'a str, comment: Option<&str>) -> Option<&'a str> {
    const SIGNS: [&str; 8] = ["#", "//", "--", ";", "%", "/*", "*", "<!--"];
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return None;
    }
    let is_comment = match comment {
        Some(sign) => trimmed.starts_with(sign.trim_end()) || trimmed.starts_with("/*"),
        None => SIGNS.iter().any(|sign| trimmed.starts_with(sign)),
    };
    if is_comment {
        return None;
    }
    let end = comment.and_then(|sign| text.find(&format!(" {sign}"))).unwrap_or(text.len());
    text.get(..end)
}

/// One line of code.
struct Line<'a> {
    text: &'a str,
    /// Its code, from its beginning.
    code: &'a str,
    /// Where it begins in the file.
    at: usize,
    /// 1-based.
    number: usize,
}

impl Line<'_> {
    fn splice(&self, offset: usize, was: &str, is: &str) -> Splice {
        let (number, was_shown, is_shown) = (self.number, was.trim(), is.trim());
        Splice {
            at: self.at.saturating_add(offset),
            len: was.len(),
            with: is.as_bytes().to_vec(),
            line: Some(number),
            what: format!("`{is_shown}` for `{was_shown}` in line {number} of {{}}"),
        }
    }

    /// Where a token may stand: every place outside of double quotes.
    fn places(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut is_quoted = false;
        let mut is_escaped = false;
        let outside = self.code.char_indices().filter(move |(_, char)| {
            let was_quoted = is_quoted;
            match char {
                '\\' if is_quoted => is_escaped = !is_escaped,
                '"' if !is_escaped => is_quoted = !is_quoted,
                _ => is_escaped = false,
            }
            !was_quoted && *char != '"'
        });
        outside.filter_map(|(at, _)| self.code.get(at..).map(|rest| (at, rest)))
    }

    fn tokens(&self, rules: &[Rule], places: &mut Vec<Splice>) {
        let mut end = 0;
        for (at, rest) in self.places() {
            if at < end {
                continue;
            }
            let trimmed = rest.trim_start_matches(' ');
            if let Some(other) = OTHERS.iter().find(|other| trimmed.starts_with(**other)) {
                end = at.saturating_add(rest.len() - trimmed.len()).saturating_add(other.len());
                continue;
            }
            if let Some((was, is)) = rules.iter().find(|(was, _)| rest.starts_with(was)) {
                places.push(self.splice(at, was, is));
                end = at.saturating_add(was.len());
            }
        }
    }

    fn literals(&self, places: &mut Vec<Splice>) {
        let mut end = 0;
        let mut before = None;
        for (at, rest) in self.places() {
            let begins_word = before.is_none_or(|char| !is_of_word(char) && char != '.');
            before = rest.chars().next();
            if at < end || !begins_word {
                continue;
            }
            let word: String = rest.chars().take_while(|char| is_of_word(*char)).collect();
            end = at.saturating_add(word.len());
            if rest.get(word.len()..).is_some_and(|behind| behind.starts_with('.')) {
                continue;
            }
            if let Some((was, is)) = WORDS.iter().find(|(was, _)| *was == word) {
                places.push(self.splice(at, was, is));
            } else if let Ok(number) = word.parse::<u32>() {
                let other = if number == 0 { 1 } else { number.saturating_sub(1) };
                places.push(self.splice(at, &word, &other.to_string()));
            }
        }
    }

    /// `return X` without its X.
    fn returned(&self) -> Option<Splice> {
        let begins = self.code.len() - self.code.trim_start().len();
        let statement = self.code.trim();
        let value = statement.strip_prefix("return ")?.trim_end_matches(';').trim();
        let keyword = begins.saturating_add("return".len());
        if value.is_empty() || ["None", "nil", "null", "undefined"].contains(&value) {
            return None;
        }
        let was = self.code.get(keyword..)?.trim_end().trim_end_matches(';');
        let number = self.number;
        let what = format!("returning nothing in line {number} of {{}}");
        Some(Splice { what, ..self.splice(keyword, was, "") })
    }

    fn commented(&self, sign: &str) -> Option<Splice> {
        let begins = self.text.len() - self.text.trim_start().len();
        let is_word = self.code.chars().any(char::is_alphanumeric);
        let number = self.number;
        let what = format!("commenting out line {number} of {{}}");
        is_word.then(|| Splice { what, ..self.splice(begins, "", sign) })
    }
}

fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
