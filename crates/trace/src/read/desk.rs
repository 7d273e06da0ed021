//! Where the values of one record are held against what they must be.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use probity_report::{Failures, Place, Rule, pointer};

use crate::model::TRACE;
use crate::tape::{Kind, Value};

use super::{Record, rule};

/// The desk for one record: every breach is told, with its place.
pub(super) struct Desk<'f> {
    line: u64,
    offset: u64,
    failures: &'f mut Failures,
    is_clean: bool,
}

/// The way to a value, spelled out only where it is told.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way<'w> {
    Record,
    Key(&'w Way<'w>, &'w str),
    Item(&'w Way<'w>, usize),
}

/// A member of an object whose keys were checked. Where it is missing, that was told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a, 'w> {
    pub(super) value: Option<Value<'a>>,
    pub(super) way: Way<'w>,
}

/// The members of an object whose keys were checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a, 'w, const N: usize> {
    values: [Option<Value<'a>>; N],
    names: &'static [&'static str; N],
    way: &'w Way<'w>,
}

impl fmt::Display for Way<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => Ok(()),
            Self::Key(way, key) => write!(f, "{way}{}", pointer(key)),
            Self::Item(way, at) => write!(f, "{way}/{at}"),
        }
    }
}

impl<'a, 'w, const N: usize> Fields<'a, 'w, N> {
    /// One of the members.
    pub(super) fn get(&self, name: &'static str) -> Field<'a, 'w> {
        let at = self.names.iter().position(|known| *known == name);
        let value = at.and_then(|at| self.values.get(at).copied().flatten());
        Field { value, way: Way::Key(self.way, name) }
    }
}

impl<'f> Desk<'f> {
    pub(super) fn new(record: &Record, failures: &'f mut Failures) -> Self {
        Self { line: record.line, offset: record.offset, failures, is_clean: true }
    }

    /// Whether no breach was told.
    pub(super) const fn is_clean(&self) -> bool {
        self.is_clean
    }

    /// The members of an object that has these keys, all of them and no other. `None` if it is no
    /// object; missing members are told here and are absent.
    pub(super) fn fields<'a, 'w, const N: usize>(
        &mut self,
        value: Value<'a>,
        way: &'w Way<'w>,
        names: &'static [&'static str; N],
    ) -> Option<Fields<'a, 'w, N>> {
        if value.kind() != Kind::Object {
            self.mistyped(way, value, "an object");
            return None;
        }
        let mut values = [None; N];
        for (position, member) in value.members().enumerate() {
            // Canonical text has the keys in the order of the names.
            let is_next = names.get(position).is_some_and(|name| member.is(name));
            let at = match is_next {
                true => Some(position),
                false => names.iter().position(|name| member.is(name)),
            };
            match at.and_then(|at| values.get_mut(at)) {
                Some(room) => *room = Some(member.value),
                None => {
                    let (key, known) = (member.key(), names.join(", "));
                    let way = Way::Key(way, &key);
                    self.differs(&rule::KEY_UNKNOWN, &way, member.span(), known, &key);
                }
            }
        }
        for (name, _) in names.iter().zip(&values).filter(|(_, value)| value.is_none()) {
            self.missing(way, value, name);
        }
        Some(Fields { values, names, way })
    }

    /// The word of an object that says which keys it has.
    pub(super) fn discriminator<T: Copy>(
        &mut self,
        object: Value,
        way: &Way,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let value = object.get(key);
        if value.is_none() {
            self.missing(way, object, key);
        }
        self.word(Field { value, way: Way::Key(way, key) }, words)
    }

    pub(super) fn text<'a>(&mut self, field: Field<'a, '_>) -> Option<Cow<'a, str>> {
        let value = field.value?;
        let text = value.text();
        if text.is_none() {
            self.mistyped(&field.way, value, "a string");
        }
        text
    }

    /// A string, or null.
    pub(super) fn text_or_null<'a>(
        &mut self,
        field: Field<'a, '_>,
    ) -> Option<Option<Cow<'a, str>>> {
        let value = field.value?;
        match (value.is_null(), value.text()) {
            (true, _) => Some(None),
            (false, Some(text)) => Some(Some(text)),
            (false, None) => {
                self.mistyped(&field.way, value, "a string or null");
                None
            }
        }
    }

    /// A list of strings.
    pub(super) fn texts<'a>(&mut self, field: Field<'a, '_>) -> Option<Vec<Cow<'a, str>>> {
        let list = self.list(field)?;
        let mut texts = Some(Vec::new());
        for (at, item) in list.items().enumerate() {
            let way = Way::Item(&field.way, at);
            let text = self.text(Field { value: Some(item), way });
            texts = texts.zip(text).map(|(mut texts, text)| {
                texts.push(text);
                texts
            });
        }
        texts
    }

    pub(super) fn list<'a>(&mut self, field: Field<'a, '_>) -> Option<Value<'a>> {
        self.of_kind(field, Kind::List)
    }

    pub(super) fn object<'a>(&mut self, field: Field<'a, '_>) -> Option<Value<'a>> {
        self.of_kind(field, Kind::Object)
    }

    /// An object, or null.
    pub(super) fn object_or_null<'a>(&mut self, field: Field<'a, '_>) -> Option<Value<'a>> {
        let value = field.value?;
        if matches!(value.kind(), Kind::Object | Kind::Null) {
            return Some(value);
        }
        self.mistyped(&field.way, value, "an object or null");
        None
    }

    pub(super) fn boolean(&mut self, field: Field) -> Option<bool> {
        self.of_kind(field, Kind::Bool)?.bool()
    }

    pub(super) fn integer(&mut self, field: Field) -> Option<i64> {
        self.of_kind(field, Kind::Integer)?.integer()
    }

    /// An integer of at least 0.
    pub(super) fn natural(&mut self, field: Field) -> Option<u64> {
        let value = self.of_kind(field, Kind::Integer)?;
        let natural = value.natural();
        if natural.is_none() {
            self.differs(&rule::RANGE, &field.way, value.span(), "at least 0", value.raw());
        }
        natural
    }

    /// A number from 0 to 1.
    pub(super) fn share(&mut self, field: Field) -> Option<f64> {
        let value = field.value?;
        let Some(number) = value.number() else {
            self.mistyped(&field.way, value, "a number");
            return None;
        };
        if !(0.0..=1.0).contains(&number) {
            self.differs(&rule::RANGE, &field.way, value.span(), "0 to 1", value.raw());
            return None;
        }
        Some(number)
    }

    /// 64 lower-case hex digits.
    pub(super) fn digest<'a>(&mut self, field: Field<'a, '_>) -> Option<Cow<'a, str>> {
        let text = self.text(field)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 64 && text.bytes().all(is_digit) {
            return Some(text);
        }
        let span = field.value?.span();
        self.differs(&rule::DIGEST, &field.way, span, "64 lower-case hex digits", &text);
        None
    }

    /// Two naturals, the second the greater.
    pub(super) fn span(&mut self, field: Field) -> Option<(u64, u64)> {
        let list = self.list(field)?;
        let mut items = list.items();
        if let (Some(start), Some(end), None) = (items.next(), items.next(), items.next())
            && let (Some(start), Some(end)) = (start.natural(), end.natural())
            && start < end
        {
            return Some((start, end));
        }
        let expected = "[start, end], 0 <= start < end";
        self.differs(&rule::SPAN, &field.way, list.span(), expected, list.raw());
        None
    }

    /// A word of a closed list.
    pub(super) fn word<T: Copy>(&mut self, field: Field, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.text(field)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let expected: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let span = field.value?.span();
            self.differs(&rule::WORD, &field.way, span, expected.join(", "), &text);
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// Tells a value of another JSON type.
    #[cold]
    pub(super) fn mistyped(&mut self, way: &Way, value: Value, expected: &str) {
        self.differs(&rule::TYPE, way, value.span(), expected, value.kind().name());
    }

    /// Tells a key that is not there.
    #[cold]
    pub(super) fn missing(&mut self, way: &Way, object: Value, key: &str) {
        let text = format!("`{key}` is missing");
        self.tell(&rule::KEY_MISSING, &Way::Key(way, key), object.span(), &text);
    }

    /// Tells a breach.
    #[cold]
    pub(super) fn tell(&mut self, rule: &'static Rule, way: &Way, at: Range<usize>, text: &str) {
        self.is_clean = false;
        self.failures.add(rule, self.place(way, at), text);
    }

    /// Tells a value that should be another one.
    #[cold]
    pub(super) fn differs(
        &mut self,
        rule: &'static Rule,
        way: &Way,
        at: Range<usize>,
        expected: impl fmt::Display,
        actual: impl fmt::Display,
    ) {
        self.is_clean = false;
        self.failures.differs(rule, self.place(way, at), expected, actual);
    }

    fn of_kind<'a>(&mut self, field: Field<'a, '_>, kind: Kind) -> Option<Value<'a>> {
        let value = field.value?;
        if value.kind() == kind {
            return Some(value);
        }
        self.mistyped(&field.way, value, kind.name());
        None
    }

    fn place(&self, way: &Way, at: Range<usize>) -> Place {
        let byte = |at: usize| self.offset.saturating_add(at as u64);
        Place::file(TRACE)
            .line(self.line)
            .bytes(byte(at.start), byte(at.end))
            .pointer(way.to_string())
    }
}
