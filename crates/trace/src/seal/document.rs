//! The small documents beside the trace: one JSON value, or one on each line, each of one shape.

use std::fmt;

use probity_report::{Failures, Place, Rule};

use crate::read::{FILE_TOO_LARGE, NOT_UTF8, UNREADABLE};
use crate::tape::{Broken, Fault, Kind, MAX_DEPTH, MAX_SLOTS, Spelling, Tape, Value};
use crate::{FileError, RunFiles};

const JSON: &str = "json";

pub(super) static SYNTAX: Rule =
    Rule::malformed("trace_document_json", JSON, "a file of the run that is not JSON");
pub(super) static NUMBER: Rule =
    Rule::error("trace_document_number", JSON, "a number or character that not every reader keeps");
pub(super) static LIMIT: Rule =
    Rule::limit("trace_document_limit", JSON, "a document nested deeper or longer than is read");
pub(super) static KEY_TWICE: Rule =
    Rule::error("trace_document_key_twice", JSON, "a key that stands twice in its object");
pub(super) static KEY_UNKNOWN: Rule =
    Rule::error("trace_document_key_unknown", JSON, "a key that the document must not have");
pub(super) static KEY_MISSING: Rule =
    Rule::error("trace_document_key_missing", JSON, "a key that the document must have");
pub(super) static TYPE: Rule =
    Rule::error("trace_document_type", JSON, "a value of another kind than it must be");
pub(super) static VALUE: Rule =
    Rule::error("trace_document_value", JSON, "a value of the right kind that cannot stand there");
pub(super) static UNCANONICAL: Rule = Rule::error(
    "trace_document_uncanonical",
    "canonical",
    "a document that is not in its canonical form",
);

/// How a document must be spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Any JSON.
    Free,
    /// Canonical.
    Canonical,
    /// Canonical, and a newline.
    Line,
}

/// Where the values of one document are held against what they must be. Every breach is told.
pub(crate) struct Desk<'f> {
    file: &'f str,
    line: Option<u64>,
    offset: u64,
    failures: &'f mut Failures,
}

/// A file whole, as text. What keeps it from being read is told; an absent file by `missing`.
pub(crate) fn text_of(
    files: &dyn RunFiles,
    path: &str,
    max_bytes: u64,
    missing: &'static Rule,
    failures: &mut Failures,
) -> Option<String> {
    let mut bytes = Vec::new();
    if let Err(error) = files.read(path, max_bytes, &mut bytes) {
        tell_unread(path, &error, missing, failures);
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let at = error.utf8_error().valid_up_to() as u64;
            let place = Place::file(path).bytes(at, at.saturating_add(1));
            failures.add(&NOT_UTF8, place, NOT_UTF8.finds);
            None
        }
    }
}

/// Tells why a file was not read.
pub(crate) fn tell_unread(
    path: &str,
    error: &FileError,
    missing: &'static Rule,
    failures: &mut Failures,
) {
    let rule = match error {
        FileError::Missing | FileError::NotRegular(_) => missing,
        FileError::TooLarge { .. } | FileError::TooMany { .. } => &FILE_TOO_LARGE,
        FileError::Io(_) => &UNREADABLE,
    };
    failures.add(rule, Place::file(path), error.to_string());
}

impl<'f> Desk<'f> {
    /// A desk for a document that is a file.
    pub(crate) fn new(file: &'f str, failures: &'f mut Failures) -> Self {
        Self { file, line: None, offset: 0, failures }
    }

    /// A desk for a document that is a line of a file.
    pub(crate) fn line(file: &'f str, line: u64, offset: u64, failures: &'f mut Failures) -> Self {
        Self { file, line: Some(line), offset, failures }
    }

    /// Reads the document. `None` if it is no JSON.
    pub(crate) fn read<'a>(
        &mut self,
        tape: &'a mut Tape,
        text: &'a str,
        form: Form,
    ) -> Option<Value<'a>> {
        let body = match (form, text.strip_suffix('\n')) {
            (Form::Line, Some(body)) => body,
            (Form::Line, None) => {
                self.tell(&UNCANONICAL, text.len(), "it does not end with a newline");
                text
            }
            _ => text,
        };
        match tape.read(body) {
            Ok(spelling) => {
                self.tell_spelling(&spelling, form);
                Some(tape.root(body))
            }
            Err(broken) => {
                self.tell_broken(broken);
                None
            }
        }
    }

    /// The members of an object that has these keys, all of them and no other.
    pub(crate) fn members<'a, const N: usize>(
        &mut self,
        object: Value<'a>,
        at: fmt::Arguments,
        keys: [&'static str; N],
    ) -> Option<[Value<'a>; N]> {
        self.members_or(object, at, keys, []).map(|(members, [])| members)
    }

    /// The members of an object that has the first keys, may have the second, and has no other.
    pub(crate) fn members_or<'a, const N: usize, const M: usize>(
        &mut self,
        object: Value<'a>,
        at: fmt::Arguments,
        keys: [&'static str; N],
        optional: [&'static str; M],
    ) -> Option<([Value<'a>; N], [Option<Value<'a>>; M])> {
        if object.kind() != Kind::Object {
            return self.wrong(object, at, "an object");
        }
        let mut found = [None; N];
        let mut others = [None; M];
        for member in object.members() {
            let mut slots = keys.iter().zip(&mut found).chain(optional.iter().zip(&mut others));
            match slots.find(|(key, _)| member.is(key)) {
                Some((_, slot)) => *slot = Some(member.value),
                None => {
                    let key = probity_report::pointer(&member.key());
                    let place = self.place(member.value, format_args!("{at}{key}"));
                    self.failures.add(&KEY_UNKNOWN, place, KEY_UNKNOWN.finds);
                }
            }
        }
        for (key, _) in keys.iter().zip(&found).filter(|(_, slot)| slot.is_none()) {
            let place = self.place(object, at);
            self.failures.add(&KEY_MISSING, place, format!("`{key}` is missing"));
        }
        let mut all = [object; N];
        for (slot, found) in all.iter_mut().zip(found) {
            *slot = found?;
        }
        Some((all, others))
    }

    pub(crate) fn text(&mut self, value: Value, at: fmt::Arguments) -> Option<String> {
        match value.text() {
            Some(text) => Some(text.into_owned()),
            None => self.wrong(value, at, "a string"),
        }
    }

    /// A string, or null.
    pub(crate) fn text_or_null(
        &mut self,
        value: Value,
        at: fmt::Arguments,
    ) -> Option<Option<String>> {
        match (value.is_null(), value.text()) {
            (true, _) => Some(None),
            (false, Some(text)) => Some(Some(text.into_owned())),
            (false, None) => self.wrong(value, at, "a string or null"),
        }
    }

    pub(crate) fn boolean(&mut self, value: Value, at: fmt::Arguments) -> Option<bool> {
        value.bool().or_else(|| self.wrong(value, at, "a boolean"))
    }

    /// An integer of at least 0.
    pub(crate) fn natural(&mut self, value: Value, at: fmt::Arguments) -> Option<u64> {
        match value.natural() {
            Some(natural) => Some(natural),
            None if value.kind() == Kind::Integer => self.unfit(value, at, "at least 0"),
            None => self.wrong(value, at, "an integer"),
        }
    }

    /// A value of one of these kinds.
    pub(crate) fn one_of(
        &mut self,
        value: Value,
        at: fmt::Arguments,
        kinds: &[Kind],
    ) -> Option<()> {
        if kinds.contains(&value.kind()) {
            return Some(());
        }
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        self.wrong(value, at, &names.join(" or "))
    }

    /// 64 lower-case hex digits.
    pub(crate) fn digest(&mut self, value: Value, at: fmt::Arguments) -> Option<[u8; 32]> {
        let Some(text) = value.text() else { return self.wrong(value, at, "a string") };
        crate::identity::digest(&text).or_else(|| self.unfit(value, at, "64 lower-case hex digits"))
    }

    /// The one value that may stand there, as JSON.
    pub(crate) fn exactly(&mut self, value: Value, at: fmt::Arguments, json: &str) -> Option<()> {
        if value.raw() == json {
            return Some(());
        }
        self.unfit(value, at, json)
    }

    /// As [`Failures::is_only_counted`].
    pub(crate) fn is_only_counted(&mut self, rule: &Rule) -> bool {
        self.failures.is_only_counted(rule)
    }

    /// Tells a value that should be another one.
    pub(crate) fn differs(
        &mut self,
        rule: &'static Rule,
        value: Value,
        at: fmt::Arguments,
        expected: impl fmt::Display,
        actual: impl fmt::Display,
    ) {
        let place = self.place(value, at);
        self.failures.differs(rule, place, expected, actual);
    }

    /// Tells a breach.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        value: Value,
        at: fmt::Arguments,
        message: impl Into<String>,
    ) {
        let place = self.place(value, at);
        self.failures.add(rule, place, message);
    }

    /// Tells a value that cannot stand there.
    pub(crate) fn unfit<T>(
        &mut self,
        value: Value,
        at: fmt::Arguments,
        expected: &str,
    ) -> Option<T> {
        self.differs(&VALUE, value, at, expected, value.raw());
        None
    }

    fn wrong<T>(&mut self, value: Value, at: fmt::Arguments, expected: &str) -> Option<T> {
        self.differs(&TYPE, value, at, expected, value.kind().name());
        None
    }

    fn tell_broken(&mut self, broken: Broken) {
        let (rule, text): (&'static Rule, String) = match broken.fault {
            Fault::Syntax(expected) => (&SYNTAX, format!("expected {expected}")),
            Fault::Number => (&NUMBER, "integers are at most 2^53 - 1 from zero".to_owned()),
            Fault::Surrogate => (&NUMBER, "half a surrogate pair".to_owned()),
            Fault::TooDeep => (&LIMIT, format!("deeper than {MAX_DEPTH}")),
            Fault::TooMany => (&LIMIT, format!("more than {MAX_SLOTS} values")),
        };
        self.tell(rule, broken.at, &text);
    }

    fn tell_spelling(&mut self, spelling: &Spelling, form: Form) {
        for at in &spelling.repeated {
            self.tell(&KEY_TWICE, *at, KEY_TWICE.finds);
        }
        if let Some(departure) = spelling.uncanonical.filter(|_| form != Form::Free) {
            self.tell(&UNCANONICAL, departure.at, &format!("expected {}", departure.what));
        }
    }

    fn tell(&mut self, rule: &'static Rule, at: usize, text: &str) {
        let place = self.bytes(at, at.saturating_add(1));
        self.failures.add(rule, place, text);
    }

    fn place(&self, value: Value, at: fmt::Arguments) -> Place {
        let span = value.span();
        self.bytes(span.start, span.end).pointer(at.to_string())
    }

    fn bytes(&self, start: usize, end: usize) -> Place {
        let byte = |at: usize| self.offset.saturating_add(at as u64);
        let place = Place::file(self.file).bytes(byte(start), byte(end));
        match self.line {
            Some(line) => place.line(line),
            None => place,
        }
    }
}
