//! The one pass over a text: grammar, slots, spelling.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{Broken, Departure, Fault, MAX_DEPTH, MAX_SLOTS, Slot, SlotKind, Spelling};
use super::{number, string};

/// The most repeated keys of one text that are told.
const MAX_REPEATED: usize = 16;

/// A text while it is read.
pub(super) struct Scan<'s> {
    text: &'s str,
    at: usize,
    slots: &'s mut Vec<Slot>,
    /// Slots that stood there before.
    base: usize,
    /// The list or object that is being read; those around it are on `outer`, from the outermost.
    top: Frame,
    outer: &'s mut Vec<Frame>,
    spelling: Spelling,
}

/// A list or an object that is not closed yet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frame {
    slot: usize,
    is_object: bool,
    /// Slot of the key before, or 0: a key never stands in the first slot.
    last_key: usize,
    /// Keys stood out of order, or twice: look at all of them at the end.
    is_disordered: bool,
}

/// What is due behind a value.
enum Due {
    Value,
    /// A list or object was closed: it is a value itself.
    Closed,
    End,
}

impl<'s> Scan<'s> {
    /// A scan of a text onto the slots behind those that are there.
    pub(super) fn new(text: &'s str, slots: &'s mut Vec<Slot>, outer: &'s mut Vec<Frame>) -> Self {
        outer.clear();
        let (base, top) = (slots.len(), Frame::default());
        Self { text, at: 0, slots, base, top, outer, spelling: Spelling::default() }
    }

    /// Reads the text to its end.
    pub(super) fn run(mut self) -> Result<Spelling, Broken> {
        // Slots hold 32-bit offsets.
        if u32::try_from(self.text.len()).is_err() {
            return Err(self.broken(Fault::TooMany));
        }
        self.blanks();
        loop {
            if self.value()? {
                continue;
            }
            loop {
                match self.behind_value()? {
                    Due::Value => break,
                    Due::Closed => {}
                    Due::End => {
                        self.spelling.repeated.sort_unstable();
                        return Ok(self.spelling);
                    }
                }
            }
        }
    }

    /// Reads a value, or the front of one; true if a value follows that is inside of it.
    #[inline]
    fn value(&mut self) -> Result<bool, Broken> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| false),
            Some(b'{') => self.open(true),
            Some(b'[') => self.open(false),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| false),
            Some(b't') => self.word("true", SlotKind::True),
            Some(b'f') => self.word("false", SlotKind::False),
            Some(b'n') => self.word("null", SlotKind::Null),
            Some(b'N' | b'I') if self.is_no_number() => Err(self.broken(Fault::Number)),
            _ => Err(self.broken(Fault::Syntax("a value"))),
        }
    }

    /// Reads what stands behind a value.
    #[inline]
    fn behind_value(&mut self) -> Result<Due, Broken> {
        self.blanks();
        if self.outer.is_empty() {
            return match self.peek() {
                None => Ok(Due::End),
                Some(_) => Err(self.broken(Fault::Syntax("the end"))),
            };
        }
        match (self.peek(), self.top.is_object) {
            (Some(b','), is_object) => {
                self.at = self.at.saturating_add(1);
                self.blanks();
                if is_object {
                    self.key()?;
                }
                Ok(Due::Value)
            }
            (Some(b'}'), true) | (Some(b']'), false) => {
                self.at = self.at.saturating_add(1);
                self.close();
                Ok(Due::Closed)
            }
            (_, true) => Err(self.broken(Fault::Syntax("a comma or `}`"))),
            (_, false) => Err(self.broken(Fault::Syntax("a comma or `]`"))),
        }
    }

    /// Opens a list or an object; false if it is empty and closed already.
    #[inline]
    fn open(&mut self, is_object: bool) -> Result<bool, Broken> {
        if self.outer.len() >= MAX_DEPTH {
            return Err(self.broken(Fault::TooDeep));
        }
        self.outer.push(self.top);
        let kind = if is_object { SlotKind::Object } else { SlotKind::List };
        let slot = self.push(kind, self.at, self.at)?;
        self.top = Frame { slot, is_object, ..Frame::default() };
        self.at = self.at.saturating_add(1);
        self.blanks();
        let end = if is_object { b'}' } else { b']' };
        if self.peek() == Some(end) {
            self.at = self.at.saturating_add(1);
            self.close();
            return Ok(false);
        }
        if is_object {
            self.key()?;
        }
        Ok(true)
    }

    #[inline]
    fn close(&mut self) {
        if self.top.is_disordered {
            self.repeats();
        }
        let (end, next) = (offset(self.at), offset(self.slots.len()));
        if let Some(slot) = self.slots.get_mut(self.top.slot) {
            (slot.end, slot.next) = (end, next);
        }
        self.top = self.outer.pop().unwrap_or_default();
    }

    /// Reads a key and its colon.
    #[inline]
    fn key(&mut self) -> Result<(), Broken> {
        if self.peek() != Some(b'"') {
            return Err(self.broken(Fault::Syntax("a key")));
        }
        let slot = self.string()?;
        if self.top.last_key != 0 && self.order(self.top.last_key, slot) != Ordering::Less {
            self.top.is_disordered = true;
            let at = self.slots.get(slot).map_or(self.at, |slot| slot.start as usize);
            self.departs(at, "keys in the order of their code points, each once");
        }
        self.top.last_key = slot;
        self.blanks();
        if self.peek() != Some(b':') {
            return Err(self.broken(Fault::Syntax("a colon")));
        }
        self.at = self.at.saturating_add(1);
        self.blanks();
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<usize, Broken> {
        let start = self.at;
        let read = string::read(self.text.as_bytes(), start);
        let text = read.map_err(|(at, fault)| Broken { at, fault })?;
        if let Some(at) = text.uncanonical {
            self.departs(at, "the shortest escape, and only where one is needed");
        }
        self.at = text.end;
        let kind = if text.has_escapes { SlotKind::Escaped } else { SlotKind::Plain };
        self.push(kind, start, text.end)
    }

    fn number(&mut self) -> Result<(), Broken> {
        let start = self.at;
        let read = number::read(self.text, start);
        let number = read.map_err(|(at, fault)| Broken { at, fault })?;
        if !number.is_canonical {
            self.departs(start, "the shortest spelling of the number");
        }
        self.at = number.end;
        let kind = if number.is_float { SlotKind::Float } else { SlotKind::Integer };
        self.push(kind, start, number.end).map(|_| ())
    }

    fn word(&mut self, word: &'static str, kind: SlotKind) -> Result<bool, Broken> {
        let end = self.at.saturating_add(word.len());
        if self.text.as_bytes().get(self.at..end) != Some(word.as_bytes()) {
            return Err(self.broken(Fault::Syntax("a value")));
        }
        let start = std::mem::replace(&mut self.at, end);
        self.push(kind, start, end).map(|_| false)
    }

    /// Whether one of the words stands here that some writers use where there is no number.
    fn is_no_number(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.starts_with("NaN") || rest.starts_with("Infinity")
    }

    #[inline]
    fn push(&mut self, kind: SlotKind, start: usize, end: usize) -> Result<usize, Broken> {
        let at = self.slots.len();
        if at.saturating_sub(self.base) >= MAX_SLOTS {
            return Err(self.broken(Fault::TooMany));
        }
        let (start, end, next) = (offset(start), offset(end), offset(at.saturating_add(1)));
        self.slots.push(Slot { kind, start, end, next });
        Ok(at)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn blanks(&mut self) {
        if self.peek().is_some_and(|byte| byte <= b' ') {
            self.skip_blanks();
        }
    }

    #[cold]
    fn skip_blanks(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let length = rest.iter().take_while(is_blank).count();
        if length > 0 {
            self.departs(self.at, "no blanks between values");
        }
        self.at = self.at.saturating_add(length);
    }

    /// The order of two keys by code point.
    #[inline]
    fn order(&self, a: usize, b: usize) -> Ordering {
        string::compare(self.inner(a), self.inner(b))
    }

    /// A string between its quotes, and whether it has escapes.
    #[inline]
    fn inner(&self, slot: usize) -> (&'s str, bool) {
        let Some(slot) = self.slots.get(slot) else { return ("", false) };
        let (start, end) = (slot.start.saturating_add(1), slot.end.saturating_sub(1));
        let inner = self.text.get(start as usize..end as usize).unwrap_or_default();
        (inner, slot.kind == SlotKind::Escaped)
    }

    /// Tells the keys of the object at hand that stand twice.
    #[cold]
    fn repeats(&mut self) {
        let mut keys = Vec::new();
        let mut at = self.top.slot.saturating_add(1);
        while let Some(value) = self.slots.get(at.saturating_add(1)) {
            let key = match self.inner(at) {
                (inner, true) => Cow::Owned(string::unescape(inner)),
                (inner, false) => Cow::Borrowed(inner),
            };
            keys.push((key, at));
            at = value.next as usize;
        }
        keys.sort_unstable();
        for pair in keys.windows(2) {
            let [(a, _), (b, at)] = pair else { continue };
            let is_full = self.spelling.repeated.len() >= MAX_REPEATED;
            if !is_full && a == b {
                let start = self.slots.get(*at).map_or(0, |slot| slot.start as usize);
                self.spelling.repeated.push(start);
            }
        }
    }

    #[cold]
    fn departs(&mut self, at: usize, what: &'static str) {
        let first = self.spelling.uncanonical.get_or_insert(Departure { at, what });
        if at < first.at {
            *first = Departure { at, what };
        }
    }

    #[cold]
    fn broken(&self, fault: Fault) -> Broken {
        Broken { at: self.at, fault }
    }
}

/// A place in the text or on the tape. Both are bounded far below 2^32 before they get here.
#[inline]
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
