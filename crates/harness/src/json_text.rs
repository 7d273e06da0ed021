//! JSON as text with places, so that an edit leaves everything else as it stands.

use serde_json::Value;

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 64;

/// A text that is not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonTextError {
    /// It is no JSON.
    #[error("line {line}: {detail}")]
    Syntax {
        /// Where, from 1.
        line: usize,
        /// What is wrong.
        detail: &'static str,
    },
    /// It holds a comment, which only some readers take.
    #[error("line {line} holds a comment, which an edit could put in the wrong place; remove it")]
    Comment {
        /// Where, from 1.
        line: usize,
    },
    /// An object names a member twice; readers do not agree which one counts.
    #[error("line {line}: the member `{member}` is there twice; keep one")]
    Twice {
        /// Where, from 1.
        line: usize,
        /// Its name.
        member: String,
    },
    /// A member that is edited is of another kind.
    #[error("`{member}` should be {wanted}")]
    Kind {
        /// Which.
        member: String,
        /// What it should be.
        wanted: &'static str,
    },
}

impl JsonTextError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "hook_settings_json",
            Self::Comment { .. } => "hook_settings_comment",
            Self::Twice { .. } => "hook_settings_twice",
            Self::Kind { .. } => "hook_settings_kind",
        }
    }
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: String,
    /// Where its name begins.
    pub(crate) start: usize,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Object(members) => members.iter().find(|member| member.key == key),
            _ => None,
        }
    }

    /// The elements of a list; none for what is none.
    pub(crate) fn elements(&self) -> &[Self] {
        match &self.kind {
            Kind::Array(elements) => elements,
            _ => &[],
        }
    }

    /// The places of what it holds.
    fn places(&self) -> Vec<(usize, usize)> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|it| (it.start, it.value.end)).collect(),
            Kind::Array(elements) => elements.iter().map(|it| (it.start, it.end)).collect(),
            Kind::Scalar => Vec::new(),
        }
    }

    pub(crate) fn value(&self, text: &str) -> Value {
        let text = text.get(self.start..self.end).unwrap_or_default();
        serde_json::from_str(text).unwrap_or_default()
    }
}

/// Reads a text strictly: no comments, no member twice, nothing behind.
pub(crate) fn parse(text: &str) -> Result<Node, JsonTextError> {
    let mut reader = Reader { text, at: 0 };
    reader.skip()?;
    let node = reader.value(0)?;
    reader.skip()?;
    match reader.at == text.len() {
        true => Ok(node),
        false => Err(reader.syntax("there is something behind the value")),
    }
}

/// The text without an element or member of `container`, by its number, and without the comma that parts it.
pub(crate) fn without(text: &str, container: &Node, number: usize) -> String {
    let places = container.places();
    let place = |number: usize| places.get(number).copied();
    let Some((start, end)) = place(number) else { return text.to_owned() };
    let (from, to) = match (number.checked_sub(1).and_then(place), place(number + 1)) {
        (Some((_, before)), _) => (before, end),
        (None, Some((behind, _))) => (start, behind),
        (None, None) => (container.start + 1, container.end - 1),
    };
    spliced(text, from, to, "")
}

/// The text with one more element or member of `container`, the last one.
pub(crate) fn with(text: &str, container: &Node, item: &Value, key: Option<&str>) -> String {
    let style = Style::of(text);
    let outer = style.indent_at(text, container.start);
    let inner = format!("{outer}{}", style.unit);
    let mut rendered = style.newline.to_owned() + &inner;
    if let Some(key) = key {
        rendered.push_str(&Value::from(key).to_string());
        rendered.push_str(": ");
    }
    style.render(item, &inner, &mut rendered);
    match container.places().last() {
        Some((_, end)) => spliced(text, *end, *end, &format!(",{rendered}")),
        None => {
            let (from, to) = (container.start + 1, container.end - 1);
            let has_line = text.get(from..to).is_some_and(|space| space.contains('\n'));
            match has_line {
                true => spliced(text, from, from, &rendered),
                false => spliced(text, from, to, &format!("{rendered}{}{outer}", style.newline)),
            }
        }
    }
}

/// The text with another value in the place of one.
fn spliced(text: &str, from: usize, to: usize, between: &str) -> String {
    let (head, tail) = (text.get(..from).unwrap_or(text), text.get(to..).unwrap_or_default());
    format!("{head}{between}{tail}")
}

/// How a file is laid out.
struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indents = text.lines().skip(1).map(indent_of).filter(|indent| !indent.is_empty());
        let unit = indents.min_by_key(|indent| indent.len()).unwrap_or("  ");
        Self { newline, unit: unit.chars().take(8).collect() }
    }

    /// The indent of the line that a place is in.
    fn indent_at<'a>(&self, text: &'a str, at: usize) -> &'a str {
        let head = text.get(..at).unwrap_or_default();
        let from = head.rfind('\n').map_or(0, |newline| newline + 1);
        indent_of(text.get(from..).unwrap_or_default())
    }

    fn render(&self, value: &Value, indent: &str, into: &mut String) {
        let inner = format!("{indent}{}", self.unit);
        let parts: Vec<(Option<&String>, &Value)> = match value {
            Value::Object(members) => {
                members.iter().map(|(key, value)| (Some(key), value)).collect()
            }
            Value::Array(elements) => elements.iter().map(|value| (None, value)).collect(),
            scalar => return into.push_str(&scalar.to_string()),
        };
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        into.push(open);
        for (number, (key, value)) in parts.iter().enumerate() {
            into.push_str(if number == 0 { "" } else { "," });
            into.push_str(self.newline);
            into.push_str(&inner);
            if let Some(key) = key {
                into.push_str(&Value::from(key.as_str()).to_string());
                into.push_str(": ");
            }
            self.render(value, &inner, into);
        }
        if !parts.is_empty() {
            into.push_str(self.newline);
            into.push_str(indent);
        }
        into.push(close);
    }
}

fn indent_of(line: &str) -> &str {
    let len = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    line.get(..len).unwrap_or_default()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self) -> Result<(), JsonTextError> {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'/' => return Err(JsonTextError::Comment { line: self.line() }),
                _ => break,
            }
        }
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsonTextError> {
        if depth > MAX_DEPTH {
            return Err(self.syntax("it is nested too deep"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => {
                self.string()?;
                Kind::Scalar
            }
            Some(_) => self.scalar()?,
            None => return Err(self.syntax("a value is missing")),
        };
        Ok(Node { kind, start, end: self.at })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, JsonTextError> {
        let mut members: Vec<Member> = Vec::new();
        self.at += 1;
        self.skip()?;
        while self.peek() != Some(b'}') {
            if !members.is_empty() {
                self.expect(b',', "a comma or the end of an object is missing")?;
            }
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.syntax("the name of a member is missing"));
            }
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                return Err(JsonTextError::Twice { line: self.line(), member: key });
            }
            self.skip()?;
            self.expect(b':', "a colon is missing")?;
            let value = self.value(depth + 1)?;
            members.push(Member { key, start, value });
            self.skip()?;
        }
        self.at += 1;
        Ok(Kind::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Kind, JsonTextError> {
        let mut elements = Vec::new();
        self.at += 1;
        self.skip()?;
        while self.peek() != Some(b']') {
            if !elements.is_empty() {
                self.expect(b',', "a comma or the end of a list is missing")?;
            }
            elements.push(self.value(depth + 1)?);
            self.skip()?;
        }
        self.at += 1;
        Ok(Kind::Array(elements))
    }

    fn expect(&mut self, byte: u8, detail: &'static str) -> Result<(), JsonTextError> {
        if self.peek() != Some(byte) {
            return Err(self.syntax(detail));
        }
        self.at += 1;
        self.skip()
    }

    fn string(&mut self) -> Result<String, JsonTextError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'\\') => self.at += 2,
                Some(b'"') => break self.at += 1,
                Some(_) => self.at += 1,
                None => return Err(self.syntax("a text does not end")),
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(text).map_err(|_| self.syntax("a text is not written as JSON does"))
    }

    /// A number, true, false or null.
    fn scalar(&mut self) -> Result<Kind, JsonTextError> {
        let start = self.at;
        let is_end =
            |byte: u8| matches!(byte, b',' | b']' | b'}' | b'/') || byte.is_ascii_whitespace();
        while self.peek().is_some_and(|byte| !is_end(byte)) {
            self.at += 1;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        match serde_json::from_str::<Value>(text) {
            Ok(_) => Ok(Kind::Scalar),
            Err(_) => Err(self.syntax("there is something that is no JSON value")),
        }
    }

    fn line(&self) -> usize {
        let head = self.text.as_bytes().get(..self.at).unwrap_or(self.text.as_bytes());
        head.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn syntax(&self, detail: &'static str) -> JsonTextError {
        JsonTextError::Syntax { line: self.line(), detail }
    }
}
