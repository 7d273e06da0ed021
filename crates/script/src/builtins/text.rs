//! `re`, `string`, `url`, `validate`.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::{Captures, Regex, RegexBuilder};
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::dict::AllocDict;
use starlark::values::list::{AllocList, UnpackList};
use starlark::values::{Heap, Value};

use crate::session::raise;

/// Compiled patterns one thread keeps; beyond it the cache starts afresh.
const MAX_PATTERNS: usize = 64;
/// The largest compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 4 << 20;
/// The widest padding, in characters.
const MAX_WIDTH: usize = 1 << 16;

fn compile(pattern: &str) -> starlark::Result<Regex> {
    thread_local! {
        static PATTERNS: RefCell<HashMap<String, Regex>> = RefCell::default();
    }
    PATTERNS.with_borrow_mut(|patterns| {
        if let Some(regex) = patterns.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .build()
            .map_err(|error| raise(format!("`{pattern}` is not a pattern: {error}")))?;
        if patterns.len() >= MAX_PATTERNS {
            patterns.clear();
        }
        patterns.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    })
}

fn match_dict<'v>(regex: &Regex, text: &str, found: &Captures<'_>, heap: Heap<'v>) -> Value<'v> {
    let whole = found.get(0);
    // Starlark counts characters, the pattern engine bytes.
    let at = |byte: usize| text.get(..byte).map_or(0, |before| before.chars().count());
    let (start, end) = whole.map_or((0, 0), |whole| (at(whole.start()), at(whole.end())));
    let group = |group: Option<regex::Match<'_>>| {
        group.map_or_else(Value::new_none, |group| heap.alloc(group.as_str()))
    };
    let groups: Vec<Value<'v>> = found.iter().skip(1).map(group).collect();
    let named: Vec<(&str, Value<'v>)> =
        regex.capture_names().flatten().map(|name| (name, group(found.name(name)))).collect();
    heap.alloc(AllocDict([
        ("matched", heap.alloc(true)),
        ("full_match", group(whole)),
        ("groups", heap.alloc(groups)),
        ("named_groups", heap.alloc(AllocDict(named))),
        ("start", heap.alloc(u64::try_from(start).unwrap_or(u64::MAX))),
        ("end", heap.alloc(u64::try_from(end).unwrap_or(u64::MAX))),
    ]))
}

#[starlark_module]
pub(super) fn re(builder: &mut GlobalsBuilder) {
    /// The match at the start of the text as a dict; None where there is none.
    fn r#match<'v>(
        #[starlark(require = pos)] pattern: &str,
        #[starlark(require = pos)] text: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let regex = compile(pattern)?;
        let found = regex.captures(text);
        let found = found.filter(|found| found.get(0).is_some_and(|whole| whole.start() == 0));
        Ok(found.map_or_else(Value::new_none, |found| match_dict(&regex, text, &found, heap)))
    }

    /// The first match anywhere as a dict; None where there is none.
    fn search<'v>(
        #[starlark(require = pos)] pattern: &str,
        #[starlark(require = pos)] text: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let regex = compile(pattern)?;
        let found = regex.captures(text);
        Ok(found.map_or_else(Value::new_none, |found| match_dict(&regex, text, &found, heap)))
    }

    /// Every match as text.
    fn find_all<'v>(
        #[starlark(require = pos)] pattern: &str,
        #[starlark(require = pos)] text: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let regex = compile(pattern)?;
        let found: Vec<&str> = regex.find_iter(text).map(|found| found.as_str()).collect();
        Ok(heap.alloc(AllocList(found)))
    }

    /// The text with every match replaced; `$1` and `$name` are groups.
    fn replace(
        #[starlark(require = pos)] pattern: &str,
        #[starlark(require = pos)] replacement: &str,
        #[starlark(require = pos)] text: &str,
    ) -> starlark::Result<String> {
        Ok(compile(pattern)?.replace_all(text, replacement).into_owned())
    }
}

fn width(value: i32) -> starlark::Result<usize> {
    usize::try_from(value)
        .ok()
        .filter(|width| *width <= MAX_WIDTH)
        .ok_or_else(|| raise(format!("the width must be 0 to {MAX_WIDTH}")))
}

fn padding(text: &str, to: i32, with: &str) -> starlark::Result<String> {
    let missing = width(to)?.saturating_sub(text.chars().count());
    let mut chars = with.chars();
    let (Some(fill), None) = (chars.next(), chars.next()) else {
        return Err(raise("the padding must be one character"));
    };
    Ok(std::iter::repeat_n(fill, missing).collect())
}

#[starlark_module]
pub(super) fn string(builder: &mut GlobalsBuilder) {
    /// Upper case.
    fn upper(#[starlark(require = pos)] text: &str) -> starlark::Result<String> {
        Ok(text.to_uppercase())
    }

    /// Lower case.
    fn lower(#[starlark(require = pos)] text: &str) -> starlark::Result<String> {
        Ok(text.to_lowercase())
    }

    /// Without blanks at both ends.
    fn trim(#[starlark(require = pos)] text: &str) -> starlark::Result<String> {
        Ok(text.trim().to_owned())
    }

    /// The parts between separators.
    fn split<'v>(
        #[starlark(require = pos)] text: &str,
        #[starlark(require = pos)] separator: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        if separator.is_empty() {
            return Err(raise("the separator is empty"));
        }
        let parts: Vec<&str> = text.split(separator).collect();
        Ok(heap.alloc(AllocList(parts)))
    }

    /// The parts with a separator between them.
    fn join(
        #[starlark(require = pos)] parts: UnpackList<String>,
        #[starlark(require = pos)] separator: &str,
    ) -> starlark::Result<String> {
        Ok(parts.items.join(separator))
    }

    /// The first characters.
    fn truncate(
        #[starlark(require = pos)] text: &str,
        #[starlark(require = pos)] length: i32,
    ) -> starlark::Result<String> {
        let length =
            usize::try_from(length).map_err(|_| raise("the length must not be negative"))?;
        Ok(text.chars().take(length).collect())
    }

    /// At least this wide, padded on the left.
    fn pad_left(
        #[starlark(require = pos)] text: &str,
        #[starlark(require = pos)] width: i32,
        #[starlark(default = " ")] with: &str,
    ) -> starlark::Result<String> {
        Ok(format!("{}{text}", padding(text, width, with)?))
    }

    /// At least this wide, padded on the right.
    fn pad_right(
        #[starlark(require = pos)] text: &str,
        #[starlark(require = pos)] width: i32,
        #[starlark(default = " ")] with: &str,
    ) -> starlark::Result<String> {
        Ok(format!("{text}{}", padding(text, width, with)?))
    }
}

#[starlark_module]
pub(super) fn url(builder: &mut GlobalsBuilder) {
    /// The parts of a URL as a dict.
    fn parse<'v>(
        #[starlark(require = pos)] text: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let url = url::Url::parse(text)
            .map_err(|error| raise(format!("`{text}` is not a URL: {error}")))?;
        let hostname = url.host_str().unwrap_or_default();
        let port = url.port().map(|port| port.to_string()).unwrap_or_default();
        let host = if port.is_empty() { hostname.to_owned() } else { format!("{hostname}:{port}") };
        let mut query: SmallMap<String, Vec<String>> = SmallMap::new();
        for (key, value) in url.query_pairs() {
            query.entry(key.into_owned()).or_default().push(value.into_owned());
        }
        Ok(heap.alloc(AllocDict([
            ("scheme", heap.alloc(url.scheme())),
            ("host", heap.alloc(host)),
            ("hostname", heap.alloc(hostname)),
            ("port", heap.alloc(port)),
            ("path", heap.alloc(url.path())),
            ("raw_query", heap.alloc(url.query().unwrap_or_default())),
            ("query", heap.alloc(AllocDict(query))),
            ("fragment", heap.alloc(url.fragment().unwrap_or_default())),
            ("username", heap.alloc(url.username())),
            ("password", heap.alloc(url.password().unwrap_or_default())),
            ("string", heap.alloc(url.as_str())),
        ])))
    }

    /// A dict of strings as a query string.
    fn encode(
        #[starlark(require = pos)] params: SmallMap<String, String>,
    ) -> starlark::Result<String> {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        Ok(query.extend_pairs(params).finish())
    }
}

#[starlark_module]
pub(super) fn validate(builder: &mut GlobalsBuilder) {
    /// Whether the text is an absolute URL with a host.
    fn url(#[starlark(require = pos)] text: &str) -> starlark::Result<bool> {
        Ok(url::Url::parse(text).is_ok_and(|url| url.has_host()))
    }

    /// Whether the text is JSON.
    fn json(#[starlark(require = pos)] text: &str) -> starlark::Result<bool> {
        Ok(serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
    }
}
