//! One JSON value, read once and strictly onto a tape of slots: nothing is copied, no tree is built.
//!
//! The same pass says whether the text is in canonical form (keys in code-point order, no blanks,
//! minimal escapes, Python's spelling of numbers) and which keys stand twice.

mod number;
mod scan;
mod string;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use scan::{Frame, Scan};

/// A tape that is used again for every line.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    slots: Vec<Slot>,
    /// Room for the scan's own notes.
    outer: Vec<Frame>,
}

/// One value or key.
#[derive(Debug, Clone, Copy)]
struct Slot {
    kind: SlotKind,
    /// Bytes of the text: quotes of a string included.
    start: u32,
    end: u32,
    /// The slot behind this value and everything in it.
    next: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    Null,
    True,
    False,
    /// Digits with an optional minus.
    Integer,
    /// A number with a fraction or an exponent.
    Float,
    /// A string, or a key, without escapes.
    Plain,
    /// A string, or a key, with escapes.
    Escaped,
    List,
    Object,
}

/// How a text is spelled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spelling {
    /// The first byte at which the text departs from its canonical form.
    pub(crate) uncanonical: Option<Departure>,
    /// The first bytes of keys that stand twice in their object; bounded.
    pub(crate) repeated: Vec<usize>,
}

/// Where and how a text departs from its canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) at: usize,
    pub(crate) what: &'static str,
}

/// A text that is no JSON, or none that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) at: usize,
    pub(crate) fault: Fault,
}

/// Why a text cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not JSON: what was expected.
    Syntax(&'static str),
    /// `NaN`, an infinity, a number that a double or ±(2^53 − 1) cannot hold.
    Number,
    /// Half a surrogate pair.
    Surrogate,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// More than [`MAX_SLOTS`] values.
    TooMany,
}

/// The deepest nesting of arrays and objects.
pub(crate) const MAX_DEPTH: usize = 64;

/// The most values and keys of one text.
pub(crate) const MAX_SLOTS: usize = 1 << 24;

/// The items of a list that a pointer can name: each is looked for from the first on.
const MAX_NAMED: usize = 1 << 16;

/// The slots whose room is kept between texts: 4 MiB.
const KEPT_SLOTS: usize = 1 << 18;

/// A value on a tape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a> {
    slots: &'a [Slot],
    text: &'a str,
    at: usize,
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'a> {
    key: Value<'a>,
    /// What it holds.
    pub(crate) value: Value<'a>,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Integer,
    Float,
    Text,
    List,
    Object,
}

impl Kind {
    /// What JSON calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Integer => "an integer",
            Self::Float => "a number with a fraction",
            Self::Text => "a string",
            Self::List => "an array",
            Self::Object => "an object",
        }
    }
}

impl Tape {
    /// Reads a text that is one JSON value, in the place of all that was read before.
    ///
    /// # Errors
    /// [`Broken`] if the text is no JSON, or holds what is not read here. The tape is then empty.
    pub(crate) fn read(&mut self, text: &str) -> Result<Spelling, Broken> {
        self.clear();
        self.append(text).map(|(_, spelling)| spelling)
    }

    /// Reads a text behind what was read before: where its value begins, and how it is spelled.
    ///
    /// # Errors
    /// As [`Tape::read`]; what was read before stays.
    pub(crate) fn append(&mut self, text: &str) -> Result<(usize, Spelling), Broken> {
        let start = self.slots.len();
        match Scan::new(text, &mut self.slots, &mut self.outer).run() {
            Ok(spelling) => Ok((start, spelling)),
            Err(broken) => {
                self.slots.truncate(start);
                Err(broken)
            }
        }
    }

    /// Forgets what was read. Keeps its room for what comes, unless one huge text made it.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.slots.shrink_to(KEPT_SLOTS);
    }

    /// The value that was read last, with the text that it was read from.
    pub(crate) fn root<'a>(&'a self, text: &'a str) -> Value<'a> {
        self.value(0, text)
    }

    /// A value that was appended, with the text that it was read from.
    pub(crate) fn value<'a>(&'a self, start: usize, text: &'a str) -> Value<'a> {
        Value { slots: &self.slots, text, at: start }
    }
}

impl<'a> Value<'a> {
    pub(crate) fn kind(self) -> Kind {
        match self.slot().map(|slot| slot.kind) {
            None | Some(SlotKind::Null) => Kind::Null,
            Some(SlotKind::True | SlotKind::False) => Kind::Bool,
            Some(SlotKind::Integer) => Kind::Integer,
            Some(SlotKind::Float) => Kind::Float,
            Some(SlotKind::Plain | SlotKind::Escaped) => Kind::Text,
            Some(SlotKind::List) => Kind::List,
            Some(SlotKind::Object) => Kind::Object,
        }
    }

    /// The bytes of the value as they stand in the text.
    pub(crate) fn raw(self) -> &'a str {
        let span = self.span();
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// Where it stands in the text.
    pub(crate) fn span(self) -> Range<usize> {
        let slot = self.slot();
        slot.map_or(0..0, |slot| slot.start as usize..slot.end as usize)
    }

    /// A string, unescaped.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let slot = self.slot()?;
        let raw = self.raw();
        let inner = raw.get(1..raw.len().checked_sub(1)?)?;
        match slot.kind {
            SlotKind::Plain => Some(Cow::Borrowed(inner)),
            SlotKind::Escaped => Some(Cow::Owned(string::unescape(inner))),
            _ => None,
        }
    }

    pub(crate) fn bool(self) -> Option<bool> {
        match self.slot()?.kind {
            SlotKind::True => Some(true),
            SlotKind::False => Some(false),
            _ => None,
        }
    }

    /// An integer; never one that was spelled with a fraction or an exponent.
    pub(crate) fn integer(self) -> Option<i64> {
        (self.kind() == Kind::Integer).then(|| self.raw().parse().ok()).flatten()
    }

    /// An integer that is not negative.
    pub(crate) fn natural(self) -> Option<u64> {
        self.integer().and_then(|integer| u64::try_from(integer).ok())
    }

    /// An integer or a float.
    pub(crate) fn number(self) -> Option<f64> {
        match self.kind() {
            Kind::Integer | Kind::Float => self.raw().parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The member of an object; of equal keys the last.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        let mut found = None;
        for member in self.members() {
            if member.is(key) {
                found = Some(member.value);
            }
        }
        found
    }

    /// The members of an object; none for every other value.
    pub(crate) fn members(self) -> Members<'a> {
        let is_object = self.kind() == Kind::Object;
        Members(self.inside(is_object))
    }

    /// The items of a list; none for every other value.
    pub(crate) fn items(self) -> Items<'a> {
        let is_list = self.kind() == Kind::List;
        Items(self.inside(is_list))
    }

    /// What a JSON pointer (RFC 6901) names below this value; of a list, among the first
    /// [`MAX_NAMED`] items.
    pub(crate) fn pointer(self, pointer: &str) -> Option<Self> {
        let mut value = self;
        for step in pointer.split('/').skip(1) {
            let key = step.replace("~1", "/").replace("~0", "~");
            value = match value.kind() {
                Kind::List => value.items().take(MAX_NAMED).nth(key.parse().ok()?)?,
                _ => value.get(&key)?,
            };
        }
        Some(value)
    }

    fn slot(self) -> Option<Slot> {
        self.slots.get(self.at).copied()
    }

    fn inside(self, is_one: bool) -> Siblings<'a> {
        let end = self.slot().map_or(0, |slot| slot.next as usize);
        let at = if is_one { self.at.saturating_add(1) } else { end };
        Siblings { slots: self.slots, text: self.text, at, end }
    }
}

impl<'a> Member<'a> {
    /// Whether its key is this one.
    pub(crate) fn is(self, key: &str) -> bool {
        match self.key.slot().map(|slot| slot.kind) {
            Some(SlotKind::Plain) => {
                let raw = self.key.raw().as_bytes();
                raw.len() == key.len().saturating_add(2)
                    && raw.get(1..=key.len()) == Some(key.as_bytes())
            }
            _ => self.key().as_ref() == key,
        }
    }

    /// Where its key and its value stand in the text.
    pub(crate) fn span(self) -> Range<usize> {
        self.key.span().start..self.value.span().end
    }

    /// Its key, unescaped.
    pub(crate) fn key(self) -> Cow<'a, str> {
        self.key.text().unwrap_or_default()
    }
}

/// Members of an object.
#[derive(Debug, Clone)]
pub(crate) struct Members<'a>(Siblings<'a>);

/// Items of a list.
#[derive(Debug, Clone)]
pub(crate) struct Items<'a>(Siblings<'a>);

#[derive(Debug, Clone)]
struct Siblings<'a> {
    slots: &'a [Slot],
    text: &'a str,
    at: usize,
    end: usize,
}

impl<'a> Siblings<'a> {
    fn step(&mut self) -> Option<Value<'a>> {
        if self.at >= self.end {
            return None;
        }
        let value = Value { slots: self.slots, text: self.text, at: self.at };
        self.at = value.slot().map_or(self.end, |slot| slot.next as usize);
        Some(value)
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let key = self.0.step()?;
        self.0.step().map(|value| Member { key, value })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.0.step()
    }
}
