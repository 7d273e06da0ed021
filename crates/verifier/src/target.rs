//! The target of the decision under way, and how the text of a check names it.

use std::fmt::Write as _;

use probity_core::Fault;
use serde_json::Value;

use crate::CheckContext;

/// Stands for the id of the target.
pub(crate) const ID: &str = "{target.id}";
/// Stands for the type of the target.
pub(crate) const TYPE: &str = "{target.type}";
/// Where a command line finds the two.
pub(crate) const VARIABLES: [&str; 2] = ["PROBITY_TARGET_ID", "PROBITY_TARGET_TYPE"];
/// Longest id or type, in bytes.
const MAX_BYTES: usize = 1_024;

/// Whether the text names the target.
pub(crate) fn names_target(text: &str) -> bool {
    text.contains(ID) || text.contains(TYPE)
}

/// Whether the text names a part of a target that there is not.
pub(crate) fn unknown_part(text: &str) -> bool {
    text.replace(ID, "").replace(TYPE, "").contains("{target.")
}

/// The first target of the first action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetRef {
    id: String,
    kind: String,
}

impl TargetRef {
    /// The target of `action.targetRefs[0]`.
    ///
    /// # Errors
    /// `no_decision` without a decision or without a target in it, `target_unusable` when what it
    /// says of itself is longer than 1024 bytes or holds control characters.
    pub(crate) fn of(ctx: &CheckContext) -> Result<Self, Fault> {
        let first = ctx.decision.pointer("/action/targetRefs/0").ok_or_else(|| {
            let message = "the check names the target of a decision, and there is none; run it \
                           under an envelope, with `action.targetRefs`";
            Fault::new("no_decision", message)
        })?;
        Ok(Self { id: part(first, "id")?, kind: part(first, "type")? })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The values of [`VARIABLES`].
    pub(crate) fn values(&self) -> [&str; 2] {
        [&self.id, &self.kind]
    }

    /// Fills a URL: everything but letters, digits and `-._~` is percent-encoded.
    ///
    /// # Errors
    /// `target_unusable` when a value is all dots, which a URL reads as steps.
    pub(crate) fn fill_url(&self, text: &str) -> Result<String, Fault> {
        self.fill(text, |value| (!is_dots(value)).then(|| percent_encoded(value)))
    }

    /// Fills a path.
    ///
    /// # Errors
    /// `target_unusable` when a value holds a slash or is all dots.
    pub(crate) fn fill_path(&self, text: &str) -> Result<String, Fault> {
        self.fill(text, |value| (!is_dots(value) && !value.contains('/')).then(|| value.to_owned()))
    }

    fn fill(&self, text: &str, how: impl Fn(&str) -> Option<String>) -> Result<String, Fault> {
        let mut filled = String::new();
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Id => filled.push_str(&how(&self.id).ok_or_else(|| unfit("id", &self.id))?),
                Piece::Type => {
                    filled.push_str(&how(&self.kind).ok_or_else(|| unfit("type", &self.kind))?);
                }
            }
        }
        Ok(filled)
    }
}

/// Puts quoted variables in the place of the names. The shell expands them and reads nothing in them
/// as code, wherever they stand; to quote the values themselves would depend on knowing where.
pub(crate) fn as_variables(line: &str) -> String {
    let mut filled = String::with_capacity(line.len());
    let mut quote = None;
    for piece in pieces(line) {
        let [id, kind] = VARIABLES;
        let name = match piece {
            Piece::Text(text) => {
                quote = quote_after(text, quote);
                filled.push_str(text);
                continue;
            }
            Piece::Id => id,
            Piece::Type => kind,
        };
        filled.push_str(&match quote {
            None => format!("\"${{{name}}}\""),
            Some('"') => format!("${{{name}}}"),
            Some(_) => format!("'\"${{{name}}}\"'"),
        });
    }
    filled
}

/// The quote that is open behind the text, if one is.
fn quote_after(text: &str, mut quote: Option<char>) -> Option<char> {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                chars.next();
            }
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    quote
}

enum Piece<'a> {
    Text(&'a str),
    Id,
    Type,
}

/// The text, taken apart at the names.
fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let names = [(text.find(ID), ID), (text.find(TYPE), TYPE)];
        let first = names.into_iter().filter_map(|(at, name)| Some((at?, name))).min();
        let Some((at, name)) = first else {
            pieces.push(Piece::Text(text));
            break;
        };
        let (before, rest) = text.split_at(at);
        pieces.push(Piece::Text(before));
        pieces.push(if name == ID { Piece::Id } else { Piece::Type });
        text = rest.strip_prefix(name).unwrap_or_default();
    }
    pieces
}

fn part(target: &Value, key: &str) -> Result<String, Fault> {
    let text = match target.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => {
            let message = format!("the first of `action.targetRefs` has no text `{key}`; add it");
            return Err(Fault::new("no_decision", message));
        }
    };
    if text.is_empty() || text.len() > MAX_BYTES || text.contains(char::is_control) {
        return Err(unfit(key, &text));
    }
    Ok(text)
}

fn unfit(name: &str, value: &str) -> Fault {
    let shown: String = value.chars().filter(|c| !c.is_control()).take(80).collect();
    let message = format!(
        "the {name} of the decision's target, `{shown}`, cannot stand where the check names it"
    );
    Fault::new("target_unusable", message)
}

fn is_dots(value: &str) -> bool {
    value.chars().all(|c| c == '.')
}

/// Keeps the unreserved characters of RFC 3986, section 2.3.
fn percent_encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
