//! JSON as Python's `json.loads` takes it: `NaN`, lone surrogates, keys that stand twice.

use super::number::Integer;
use super::text::Text;

/// The most lists and objects within each other that the original's stack holds, for a trace and a
/// plan.
pub(super) const MAX_DEPTH: usize = 983;

/// The same where it reads the table of chunks, from deeper in its own stack.
pub(super) const MAX_CHUNK_DEPTH: usize = 980;

/// The most values of one document that are held.
pub const MAX_VALUES: usize = 1 << 24;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(Integer),
    Float(f64),
    Text(Text),
    List(Vec<Value>),
    Object(Object),
}

/// Members in the order of their keys, each once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Object(Vec<(Text, Value)>);

/// Why a text is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonError {
    /// It is no JSON.
    Syntax,
    /// A number has more digits than Python turns into an integer.
    Digits,
    /// It is nested beyond Python's stack.
    Depth,
    /// It holds more values than are held here.
    Values,
}

impl Object {
    /// Of members in the order of the text: the last of equal keys counts.
    pub(super) fn new(mut members: Vec<(Text, Value)>) -> Self {
        members.reverse();
        members.sort_by(|a, b| a.0.cmp(&b.0));
        members.dedup_by(|later, kept| later.0 == kept.0);
        Self(members)
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        let place = self.0.binary_search_by(|(name, _)| name.bytes().cmp(key.as_bytes())).ok()?;
        self.0.get(place).map(|(_, value)| value)
    }

    /// The members, in the order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Text, &Value)> {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

impl Value {
    /// The members of an object.
    pub(super) const fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The members of a list.
    pub(super) fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// A string.
    pub(super) const fn as_text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads one document.
///
/// # Errors
/// The first [`JsonError`] in the order of the text.
pub(super) fn read(text: &str, max_depth: usize) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0, values: 0, max_depth, open: Vec::new() };
    let value = reader.document()?;
    reader.skip_blanks();
    if reader.at == text.len() { Ok(value) } else { Err(JsonError::Syntax) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    max_depth: usize,
    open: Vec<Open>,
}

/// A list or an object whose end was not reached yet.
enum Open {
    List(Vec<Value>),
    Object { members: Vec<(Text, Value)>, key: Text },
}

/// What stands where a value may begin.
enum Begun {
    Whole(Value),
    Opened(Open),
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Value, JsonError> {
        loop {
            self.skip_blanks();
            let mut whole = match self.begin()? {
                Begun::Opened(open) => {
                    self.open.push(open);
                    continue;
                }
                Begun::Whole(value) => value,
            };
            // Closes what ends with this value.
            loop {
                let Some(open) = self.open.pop() else { return Ok(whole) };
                match self.add(open, whole)? {
                    Begun::Opened(open) => {
                        self.open.push(open);
                        break;
                    }
                    Begun::Whole(value) => whole = value,
                }
            }
        }
    }

    fn begin(&mut self) -> Result<Begun, JsonError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(JsonError::Values);
        }
        let rest = self.rest();
        match rest.bytes().next().ok_or(JsonError::Syntax)? {
            b'"' => self.string().map(|text| Begun::Whole(Value::Text(text))),
            b'[' => self.open_list(),
            b'{' => self.open_object(),
            _ => {
                let word = WORDS.iter().find(|(word, _)| rest.starts_with(word));
                match word {
                    Some((word, value)) => {
                        self.at += word.len();
                        Ok(Begun::Whole(value.clone()))
                    }
                    None => self.number().map(Begun::Whole),
                }
            }
        }
    }

    fn open_list(&mut self) -> Result<Begun, JsonError> {
        self.deepen()?;
        Ok(match self.takes(b']') {
            true => Begun::Whole(Value::List(Vec::new())),
            false => Begun::Opened(Open::List(Vec::new())),
        })
    }

    fn open_object(&mut self) -> Result<Begun, JsonError> {
        self.deepen()?;
        if self.takes(b'}') {
            return Ok(Begun::Whole(Value::Object(Object::default())));
        }
        let key = self.key()?;
        Ok(Begun::Opened(Open::Object { members: Vec::new(), key }))
    }

    /// Steps over an opening bracket.
    fn deepen(&mut self) -> Result<(), JsonError> {
        if self.open.len() >= self.max_depth {
            return Err(JsonError::Depth);
        }
        self.at += 1;
        Ok(())
    }

    /// Puts a value where it belongs, and says whether that is still open.
    fn add(&mut self, open: Open, value: Value) -> Result<Begun, JsonError> {
        match open {
            Open::List(mut list) => {
                list.push(value);
                if self.takes(b']') {
                    return Ok(Begun::Whole(Value::List(list)));
                }
                self.expects(b',')?;
                Ok(Begun::Opened(Open::List(list)))
            }
            Open::Object { mut members, key } => {
                members.push((key, value));
                if self.takes(b'}') {
                    return Ok(Begun::Whole(Value::Object(Object::new(members))));
                }
                self.expects(b',')?;
                let key = self.key()?;
                Ok(Begun::Opened(Open::Object { members, key }))
            }
        }
    }

    /// A key with its colon.
    fn key(&mut self) -> Result<Text, JsonError> {
        self.skip_blanks();
        if !self.rest().starts_with('"') {
            return Err(JsonError::Syntax);
        }
        let key = self.string()?;
        self.expects(b':')?;
        Ok(key)
    }

    fn string(&mut self) -> Result<Text, JsonError> {
        self.at += 1;
        let mut text = Text::new();
        loop {
            let rest = self.rest();
            let stop = rest
                .bytes()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))
                .ok_or(JsonError::Syntax)?;
            let (plain, special) = rest.split_at_checked(stop).ok_or(JsonError::Syntax)?;
            text.push_str(plain);
            self.at += stop + 1;
            match special.bytes().next() {
                Some(b'"') => return Ok(text),
                Some(b'\\') => self.escape(&mut text)?,
                _ => return Err(JsonError::Syntax),
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, text: &mut Text) -> Result<(), JsonError> {
        let short = self.rest().bytes().next().ok_or(JsonError::Syntax)?;
        self.at += 1;
        let point = match short {
            b'"' | b'\\' | b'/' => u32::from(short),
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => 0x0a,
            b'r' => 0x0d,
            b't' => 0x09,
            b'u' => {
                let unit = hex4(self.rest()).ok_or(JsonError::Syntax)?;
                self.at += 4;
                let low = self.rest().strip_prefix("\\u").and_then(hex4);
                match low.filter(|low| is_pair(unit, *low)) {
                    Some(low) => {
                        self.at += 6;
                        0x1_0000 + ((unit - 0xd800) << 10 | (low - 0xdc00))
                    }
                    None => unit,
                }
            }
            _ => return Err(JsonError::Syntax),
        };
        text.push_point(point);
        Ok(())
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let rest = self.rest();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let behind = |at: usize| rest.get(at..).unwrap_or_default();
        let sign = usize::from(rest.starts_with('-'));
        let whole = match behind(sign).bytes().next() {
            Some(b'0') => 1,
            _ => digits(behind(sign)),
        };
        if whole == 0 {
            return Err(JsonError::Syntax);
        }
        let mut end = sign + whole;
        let integer_end = end;
        if behind(end).starts_with('.') && digits(behind(end + 1)) > 0 {
            end += 1 + digits(behind(end + 1));
        }
        if behind(end).starts_with(['e', 'E']) {
            let sign = usize::from(behind(end + 1).starts_with(['+', '-']));
            let power = digits(behind(end + 1 + sign));
            end += if power > 0 { 1 + sign + power } else { 0 };
        }
        let number = rest.get(..end).unwrap_or_default();
        self.at += end;
        if end == integer_end {
            return Integer::of_json(number).map(Value::Integer).ok_or(JsonError::Digits);
        }
        number.parse().map(Value::Float).map_err(|_| JsonError::Syntax)
    }

    /// Steps over a byte, behind blanks, if it stands there.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let is_there = self.rest().bytes().next() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expects(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.takes(byte) { Ok(()) } else { Err(JsonError::Syntax) }
    }

    fn skip_blanks(&mut self) {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().bytes().take_while(is_blank).count();
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }
}

const WORDS: [(&str, Value); 6] = [
    ("null", Value::Null),
    ("true", Value::Bool(true)),
    ("false", Value::Bool(false)),
    ("NaN", Value::Float(f64::NAN)),
    ("Infinity", Value::Float(f64::INFINITY)),
    ("-Infinity", Value::Float(f64::NEG_INFINITY)),
];

/// Four hexadecimal digits.
fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|four| four.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

fn is_pair(high: u32, low: u32) -> bool {
    (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low)
}
