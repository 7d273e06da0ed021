//! The two canonical texts that episodes are sealed over.

use probity_record::candidate::candidate_text;
use probity_record::canonical;
use serde_json::{Number, Value};

use super::{Member, Node};

/// What to write in the place of one member of the outermost object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Without<'a> {
    /// Nothing is left out.
    Nothing,
    /// The member is left out.
    Member(&'a str),
    /// The member stands there as an empty object.
    Content(&'a str),
}

/// What Python's `json.dumps(value, sort_keys=True, separators=(",", ":"))` prints, with one member
/// of the outermost object treated apart.
pub(crate) fn sorted(node: &Node, without: Without) -> Vec<u8> {
    let mut out = Vec::with_capacity(2048);
    let Node::Object(members) = node else {
        value(&mut out, node);
        return out;
    };
    let mut first = true;
    out.push(b'{');
    for Member { key, value: item } in members {
        if without == Without::Member(key) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        text(&mut out, key);
        out.push(b':');
        if without == Without::Content(key) {
            out.extend_from_slice(b"{}");
        } else {
            value(&mut out, item);
        }
    }
    out.push(b'}');
    out
}

/// The value without one member of the outermost object by RFC 8785, if it has such a form.
pub(crate) fn jcs(node: &Node, without: &str) -> Option<Vec<u8>> {
    match node {
        Node::Object(members) => {
            let members: Vec<&Member> = members.iter().filter(|m| m.key != without).collect();
            canonical::jcs(&Members(&members)).ok()
        }
        node => canonical::jcs(node).ok(),
    }
}

struct Members<'m, 'a>(&'m [&'m Member<'a>]);

impl serde::Serialize for Members<'_, '_> {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.0.iter().map(|member| (&member.key, &member.value)))
    }
}

fn value(out: &mut Vec<u8>, node: &Node) {
    match node {
        Node::Null => out.extend_from_slice(b"null"),
        Node::Bool(true) => out.extend_from_slice(b"true"),
        Node::Bool(false) => out.extend_from_slice(b"false"),
        Node::Number(spelled) => number(out, spelled),
        Node::Text(content) => text(out, content),
        Node::List(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                value(out, item);
            }
            out.push(b']');
        }
        Node::Object(members) => {
            out.push(b'{');
            for (index, member) in members.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                text(out, &member.key);
                out.push(b':');
                value(out, &member.value);
            }
            out.push(b'}');
        }
    }
}

/// Integers stay as they are spelled, whatever their size; everything else is laid out as a double.
fn number(out: &mut Vec<u8>, spelled: &str) {
    if spelled == "-0" {
        out.push(b'0');
    } else if !spelled.contains(['.', 'e', 'E']) {
        out.extend_from_slice(spelled.as_bytes());
    } else if let Some(double) = spelled.parse().ok().and_then(Number::from_f64) {
        out.extend_from_slice(candidate_text(&Value::Number(double)).as_bytes());
    }
}

/// Everything outside of printable ASCII is escaped.
fn text(out: &mut Vec<u8>, content: &str) {
    out.push(b'"');
    let is_plain = |byte: &u8| matches!(byte, 0x20..=0x7e) && !matches!(byte, b'"' | b'\\');
    if content.as_bytes().iter().all(is_plain) {
        out.extend_from_slice(content.as_bytes());
    } else {
        content.chars().for_each(|character| escaped(out, character));
    }
    out.push(b'"');
}

fn escaped(out: &mut Vec<u8>, character: char) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        ' '..='~' => out.extend(u8::try_from(character)),
        _ => {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
}
