//! The strict reader: one pass, no recursion deeper than the bound, every refusal named.

use std::borrow::Cow;

use super::{MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_VALUES, Member, Node, pointer};
use crate::finding::Findings;
use crate::rule::{self, Rule};

/// The most repeated keys that are told of one document.
const MAX_REPEATED: usize = 16;

/// A document could not be read to its end.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) rule: &'static Rule,
    pub(crate) message: String,
}

/// A document, and what is wrong with its spelling.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) node: Node<'a>,
    /// JSON pointers of the keys that stand twice. The last one of each is in the tree, because that
    /// is the one that lenient readers take.
    pub(crate) repeated: Vec<String>,
    /// What stands behind the value.
    pub(crate) trailing: Option<Unreadable>,
}

impl Read<'_> {
    /// Says what is wrong with the spelling.
    pub(crate) fn tell(&self, findings: &mut Findings) {
        tell_repeated(&self.repeated, findings);
        if let Some(Unreadable { rule, message }) = &self.trailing {
            findings.add(rule, "", message);
        }
    }
}

/// Says which keys stand twice.
pub(crate) fn tell_repeated(repeated: &[String], findings: &mut Findings) {
    for place in repeated {
        let message = "this key stands twice; readers differ in which one they take";
        findings.add(&rule::DOCUMENT_DUPLICATE_KEY, place, message);
    }
}

/// Reads one document.
pub(crate) fn read(bytes: &[u8]) -> Result<Read<'_>, Unreadable> {
    within(bytes.len())?;
    let mut reader = Reader::new(bytes)?;
    let (node, repeated) = reader.document()?;
    reader.blanks();
    let trailing = (reader.at < reader.bytes.len())
        .then(|| reader.broken(&rule::DOCUMENT_TRAILING, "text behind the value"));
    Ok(Read { node, repeated, trailing })
}

fn within(bytes: usize) -> Result<(), Unreadable> {
    if bytes > MAX_DOCUMENT_BYTES {
        let message = format!("{bytes} bytes; at most {MAX_DOCUMENT_BYTES} are read");
        return Err(Unreadable { rule: &rule::DOCUMENT_TOO_LARGE, message });
    }
    Ok(())
}

/// A place in a text.
pub(crate) struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Where the document at work began.
    start: usize,
    /// Values of the document so far.
    values: usize,
    repeated: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let text = std::str::from_utf8(bytes).map_err(|error| Unreadable {
            rule: &rule::DOCUMENT_NOT_UTF8,
            message: format!("byte {} is not UTF-8", error.valid_up_to()),
        })?;
        Ok(Self { text, bytes, at: 0, start: 0, values: 0, repeated: Vec::new() })
    }

    /// Reads the value at this place, with the pointers of the keys that stand twice in it.
    pub(crate) fn document(&mut self) -> Result<(Node<'a>, Vec<String>), Unreadable> {
        self.blanks();
        (self.start, self.values) = (self.at, 0);
        let node = self.value(0)?;
        within(self.at - self.start)?;
        Ok((node, std::mem::take(&mut self.repeated)))
    }

    /// Steps over blanks.
    pub(crate) fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Steps over the byte if it stands here.
    pub(crate) fn accept(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.at += usize::from(hit);
        hit
    }

    /// Whether everything was read.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// What was expected at this place.
    pub(crate) fn broken(&self, rule: &'static Rule, what: &str) -> Unreadable {
        let before = self.bytes.get(..self.at).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        Unreadable { rule, message: format!("{what} at line {line} column {column}") }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn syntax(&self, what: &str) -> Unreadable {
        self.broken(&rule::DOCUMENT_SYNTAX, what)
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, Unreadable> {
        within(self.at - self.start)?;
        self.values += 1;
        if self.values > MAX_DOCUMENT_VALUES {
            let what = format!("more than {MAX_DOCUMENT_VALUES} values");
            return Err(self.broken(&rule::DOCUMENT_TOO_LARGE, &what));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Node::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Node<'a>, Unreadable> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let words: [(&str, Node<'a>); 3] =
            [("true", Node::Bool(true)), ("false", Node::Bool(false)), ("null", Node::Null)];
        for (word, node) in words {
            if rest.starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(node);
            }
        }
        match ["NaN", "Infinity"].iter().find(|word| rest.starts_with(word.as_bytes())) {
            Some(word) => Err(self.not_a_number(word)),
            None => Err(self.syntax("expected a value")),
        }
    }

    fn not_a_number(&self, spelled: &str) -> Unreadable {
        self.broken(&rule::DOCUMENT_NUMBER, &format!("`{spelled}` is not a number of JSON"))
    }

    fn open(&mut self, depth: usize) -> Result<usize, Unreadable> {
        if depth >= MAX_DOCUMENT_DEPTH {
            let what = format!("nested deeper than {MAX_DOCUMENT_DEPTH}");
            return Err(self.broken(&rule::DOCUMENT_TOO_DEEP, &what));
        }
        self.at += 1;
        self.blanks();
        Ok(depth + 1)
    }

    fn list(&mut self, depth: usize) -> Result<Node<'a>, Unreadable> {
        let depth = self.open(depth)?;
        let mut items = Vec::new();
        if self.accept(b']') {
            return Ok(Node::List(items));
        }
        loop {
            let known = self.repeated.len();
            items.push(self.value(depth)?);
            self.under(known, &(items.len() - 1).to_string());
            self.blanks();
            if self.accept(b']') {
                return Ok(Node::List(items));
            }
            if !self.accept(b',') {
                return Err(self.syntax("expected `,` or `]`"));
            }
            self.blanks();
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node<'a>, Unreadable> {
        let depth = self.open(depth)?;
        let mut members = Vec::with_capacity(8);
        if self.accept(b'}') {
            return Ok(Node::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.syntax("expected a key"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.accept(b':') {
                return Err(self.syntax("expected `:`"));
            }
            self.blanks();
            let known = self.repeated.len();
            let value = self.value(depth)?;
            self.under(known, &key);
            members.push(Member { key, value });
            self.blanks();
            if self.accept(b'}') {
                return Ok(Node::Object(self.in_order(members)));
            }
            if !self.accept(b',') {
                return Err(self.syntax("expected `,` or `}`"));
            }
            self.blanks();
        }
    }

    /// Sorts the members by key and keeps the last of equal ones.
    fn in_order(&mut self, mut members: Vec<Member<'a>>) -> Vec<Member<'a>> {
        // Stable: of equal keys the last in the text stays last.
        members.sort_by(|one, other| one.key.cmp(&other.key));
        let repeated = &mut self.repeated;
        members.dedup_by(|later, kept| {
            let is_same = later.key == kept.key;
            if is_same {
                std::mem::swap(later, kept);
                if repeated.len() < MAX_REPEATED {
                    repeated.push(pointer(&kept.key));
                }
            }
            is_same
        });
        members
    }

    /// Puts a step in front of the pointers found since.
    fn under(&mut self, known: usize, step: &str) {
        for found in self.repeated.get_mut(known..).unwrap_or_default() {
            found.insert_str(0, &pointer(step));
        }
    }

    /// Reads a string; the place is its opening quote.
    fn string(&mut self) -> Result<Cow<'a, str>, Unreadable> {
        self.at += 1;
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0x00..=0x1f));
        self.at += plain.unwrap_or(rest.len());
        if self.accept(b'"') {
            return Ok(Cow::Borrowed(self.text.get(start..self.at - 1).unwrap_or_default()));
        }
        let mut text = self.text.get(start..self.at).unwrap_or_default().to_owned();
        loop {
            let start = self.at;
            match self.peek() {
                None => return Err(self.syntax("a string without an end")),
                Some(b'"') => break,
                Some(b'\\') => text.push(self.escape()?),
                Some(0x00..=0x1f) => return Err(self.syntax("a raw control character")),
                Some(_) => {
                    let rest = self.bytes.get(start..).unwrap_or_default();
                    let plain = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0x00..=0x1f));
                    self.at += plain.unwrap_or(rest.len());
                    text.push_str(self.text.get(start..self.at).unwrap_or_default());
                }
            }
        }
        self.at += 1;
        Ok(Cow::Owned(text))
    }

    fn escape(&mut self) -> Result<char, Unreadable> {
        let letter = self.bytes.get(self.at + 1).copied();
        let plain = match letter {
            Some(b'u') => return self.escaped_unit(),
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.syntax("an unknown escape")),
        };
        self.at += 2;
        Ok(plain)
    }

    fn escaped_unit(&mut self) -> Result<char, Unreadable> {
        let unit = self.unit(self.at)?;
        let (code, width) = match unit {
            0xd800..=0xdbff => {
                let low = self.unit(self.at + 6)?;
                if !(0xdc00..=0xdfff).contains(&low) {
                    return Err(self.syntax("half a surrogate pair"));
                }
                (0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), 12)
            }
            unit => (unit, 6),
        };
        let character = char::from_u32(code).ok_or_else(|| self.syntax("half a surrogate pair"))?;
        self.at += width;
        Ok(character)
    }

    /// The number in `\uXXXX`.
    fn unit(&self, at: usize) -> Result<u32, Unreadable> {
        let escape = self.bytes.get(at..at + 6);
        let digits = escape.and_then(|escape| escape.strip_prefix(b"\\u"));
        digits
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.syntax("expected four hexadecimal digits"))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Node<'a>, Unreadable> {
        let start = self.at;
        if self.accept(b'-') && self.peek() == Some(b'I') {
            return Err(self.not_a_number("-Infinity"));
        }
        let is_zero = self.peek() == Some(b'0');
        let count = self.digits();
        if count == 0 || (is_zero && count > 1) {
            return Err(self.syntax("a number without digits, or with a leading zero"));
        }
        let mut is_plain = count < 300;
        if self.accept(b'.') {
            is_plain = false;
            if self.digits() == 0 {
                return Err(self.syntax("a decimal point without digits"));
            }
        }
        if self.accept(b'e') || self.accept(b'E') {
            is_plain = false;
            let _ = self.accept(b'+') || self.accept(b'-');
            if self.digits() == 0 {
                return Err(self.syntax("an exponent without digits"));
            }
        }
        let spelled = self.text.get(start..self.at).unwrap_or_default();
        if !is_plain && !spelled.parse().is_ok_and(f64::is_finite) {
            return Err(self.not_a_number("a number too large for a double"));
        }
        Ok(Node::Number(spelled))
    }
}
