//! A JSON value that borrows from the text it was read from.

use std::borrow::Cow;

use serde::ser::{Error, Serialize, SerializeMap, Serializer};

/// One JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    /// As it is spelled; always a JSON number that a double can hold without becoming infinite.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    /// In the order of the keys by code point, each once.
    Object(Vec<Member<'a>>),
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member<'a> {
    pub(crate) key: Cow<'a, str>,
    pub(crate) value: Node<'a>,
}

impl<'a> Node<'a> {
    /// The member of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The members of an object; none for every other value.
    pub(crate) fn members(&self) -> &[Member<'a>] {
        if let Self::Object(members) = self { members } else { &[] }
    }

    /// The items of a list; none for every other value.
    pub(crate) fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) const fn bool(&self) -> Option<bool> {
        if let Self::Bool(bool) = self { Some(*bool) } else { None }
    }

    /// A number without a fraction that is not negative, however it is spelled: JSON Schema takes
    /// `120.0` for an integer. What is beyond 64 bits is the largest number there.
    pub(crate) fn natural(&self) -> Option<u64> {
        let Self::Number(spelled) = self else { return None };
        if let Ok(number) = spelled.parse() {
            return Some(number);
        }
        if spelled.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(u64::MAX);
        }
        let double = whole(spelled)?;
        (double >= 0.0).then(|| format!("{:.0}", double.abs()).parse().unwrap_or(u64::MAX))
    }

    /// Whether JSON Schema takes the value for an integer.
    pub(crate) fn is_integer(&self) -> bool {
        let Self::Number(spelled) = self else { return false };
        let digits = spelled.strip_prefix('-').unwrap_or(spelled);
        digits.bytes().all(|byte| byte.is_ascii_digit()) || whole(spelled).is_some()
    }

    /// What JSON calls a value of this kind.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// The double of a number without a fraction.
fn whole(spelled: &str) -> Option<f64> {
    spelled.parse().ok().filter(|double: &f64| double.is_finite() && double.fract() == 0.0)
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => out.serialize_unit(),
            Self::Bool(bool) => out.serialize_bool(*bool),
            Self::Number(spelled) => number(spelled, out),
            Self::Text(text) => out.serialize_str(text),
            Self::List(items) => out.collect_seq(items),
            Self::Object(members) => {
                let mut map = out.serialize_map(Some(members.len()))?;
                for member in members {
                    map.serialize_entry(&*member.key, &member.value)?;
                }
                map.end()
            }
        }
    }
}

fn number<S: Serializer>(spelled: &str, out: S) -> Result<S::Ok, S::Error> {
    if let Ok(integer) = spelled.parse::<u64>() {
        return out.serialize_u64(integer);
    }
    if let Ok(integer) = spelled.parse::<i64>() {
        return out.serialize_i64(integer);
    }
    match spelled.parse::<f64>() {
        Ok(double) if spelled.contains(['.', 'e', 'E']) => out.serialize_f64(double),
        _ => Err(S::Error::custom(format_args!("`{spelled}` is beyond 64 bits"))),
    }
}
