//! The tape against a second reader, and its judgement of spelling against a slow one.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value as Json};

use super::*;

/// The value as a tree of the second reader; of equal keys the last, as there.
fn tree(value: Value<'_>) -> Json {
    match value.kind() {
        Kind::Null => Json::Null,
        Kind::Bool => Json::Bool(value.bool().unwrap()),
        // The second reader takes this one for a float.
        Kind::Integer if value.raw() == "-0" => Json::from(-0.0),
        Kind::Integer => Json::from(value.integer().unwrap()),
        Kind::Float => Json::from(value.number().unwrap()),
        Kind::Text => Json::String(value.text().unwrap().into_owned()),
        Kind::List => value.items().map(tree).collect(),
        Kind::Object => {
            let pair = |member: Member<'_>| (member.key().into_owned(), tree(member.value));
            Json::Object(value.members().map(pair).collect::<Map<_, _>>())
        }
    }
}

/// The canonical text, written the slow way.
fn canonical(value: &Json, into: &mut String) {
    match value {
        Json::Number(number) if number.is_f64() => into.push_str(&python(number.as_f64().unwrap())),
        // An integer by its value: a build of the whole workspace keeps its text.
        Json::Number(number) if number.as_i64().is_some() => {
            into.push_str(&number.as_i64().unwrap().to_string());
        }
        Json::String(text) => quoted(text, into),
        Json::Array(items) => {
            into.push('[');
            for (index, item) in items.iter().enumerate() {
                into.push_str(if index == 0 { "" } else { "," });
                canonical(item, into);
            }
            into.push(']');
        }
        Json::Object(members) => {
            into.push('{');
            let sorted: BTreeMap<Vec<char>, _> =
                members.iter().map(|(key, item)| (key.chars().collect(), (key, item))).collect();
            for (index, (key, item)) in sorted.values().enumerate() {
                into.push_str(if index == 0 { "" } else { "," });
                quoted(key, into);
                into.push(':');
                canonical(item, into);
            }
            into.push('}');
        }
        other => into.push_str(&other.to_string()),
    }
}

fn quoted(text: &str, into: &mut String) {
    into.push('"');
    for c in text.chars() {
        match c {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\u{8}' => into.push_str("\\b"),
            '\u{c}' => into.push_str("\\f"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '\t' => into.push_str("\\t"),
            c if c < ' ' => into.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => into.push(c),
        }
    }
    into.push('"');
}

/// Python's `repr` of a float: as many digits as the shortest spelling has, rounded from all digits;
/// the shortest spelling itself where these read back as another float.
fn python(value: f64) -> String {
    let value = if value == 0.0 { 0.0 } else { value };
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap();
    let power: i32 = exponent.parse().unwrap();
    let behind = mantissa.bytes().filter(u8::is_ascii_digit).count() - 1;
    if !(-4..16).contains(&power) {
        let rounded = format!("{value:.behind$e}");
        let text = if rounded.parse() == Ok(value) { &rounded } else { &shortest };
        let (mantissa, _) = text.split_once('e').unwrap();
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", power.abs());
    }
    let behind = usize::try_from(i32::try_from(behind).unwrap() - power).unwrap_or(0).max(1);
    let rounded = format!("{value:.behind$}");
    let plain = if rounded.parse() == Ok(value) { rounded } else { format!("{value}") };
    if plain.contains('.') { plain } else { plain + ".0" }
}

fn read(text: &str) -> Result<(Json, Spelling), Broken> {
    let mut tape = Tape::default();
    let spelling = tape.read(text)?;
    Ok((tree(tape.root(text)), spelling))
}

fn is_canonical(text: &str) -> bool {
    read(text).unwrap().1.uncanonical.is_none()
}

fn fault(text: &str) -> (usize, Fault) {
    let broken = read(text).unwrap_err();
    (broken.at, broken.fault)
}

fn number() -> impl Strategy<Value = Json> {
    const SAFE: i64 = (1 << 53) - 1;
    prop_oneof![
        (-SAFE..=SAFE).prop_map(Json::from),
        (-20_i64..20).prop_map(Json::from),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Json::from),
        (-1_000_000_i32..1_000_000)
            .prop_map(|thousandths| Json::from(f64::from(thousandths) / 1e3)),
        (-30_i32..30, 1_i32..100)
            .prop_map(|(power, n)| Json::from(f64::from(n) * 10_f64.powi(power))),
    ]
}

fn json() -> impl Strategy<Value = Json> {
    let text = prop_oneof!["[a-c\"\\\\\n\u{1}\u{7f}éß]{0,12}", ".{0,40}"];
    let key = prop_oneof!["[a-c]{0,3}", ".{0,5}"];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number(),
        text.prop_map(Json::String),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            proptest::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

/// Text near JSON: pieces of it, in any order.
fn near_json() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[\\[\\]{}:,\" \\\\]",
        1 => prop::sample::select(vec![
            "null", "true", "false", "0", "-0", "1.0", "1e5", "01", "-", "1.", ".5", "1e400", "NaN",
            "Infinity", "-Infinity", "9007199254740991", "9007199254740992", "\"a\"", "\"b\":", "\\u00",
            "\\u001f", "\\ud800", "\\udc00", "\\n", "\\/", "\t", "\u{1}", "é", "\u{feff}",
        ]).prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// What the second reader accepts and we do not: integers beyond 2^53 − 1. It is told by value.
fn is_beyond(value: &Json) -> bool {
    match value {
        Json::Number(number) => {
            let safe = |integer: i64| integer.unsigned_abs() < 1 << 53;
            !number.is_f64() && !number.as_i64().is_some_and(safe)
        }
        Json::Array(items) => items.iter().any(is_beyond),
        Json::Object(members) => members.values().any(is_beyond),
        _ => false,
    }
}

/// Numbers as doubles without a sign of zero: in a build of the whole workspace the second reader keeps
/// their text, and tells `-0` from `-0.0`.
fn by_value(value: &Json) -> Json {
    match value {
        Json::Number(number) => serde_json::json!(number.as_f64().unwrap_or(f64::MAX) + 0.0),
        Json::Array(items) => items.iter().map(by_value).collect(),
        Json::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), by_value(value))).collect()
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn canonical_text_is_read_and_found_canonical(value in json()) {
        let mut text = String::new();
        canonical(&value, &mut text);
        let (read, spelling) = read(&text).unwrap();
        prop_assert_eq!(by_value(&read), by_value(&value), "{}", text);
        prop_assert_eq!(spelling, Spelling::default(), "{}", text);
    }

    #[test]
    fn any_text_is_read_as_the_second_reader_does(text in near_json()) {
        let second = serde_json::from_str::<Json>(&text);
        match (read(&text), second) {
            (Ok((value, spelling)), Ok(other)) => {
                prop_assert_eq!(by_value(&value), by_value(&other), "{}", &text);
                let mut slow = String::new();
                canonical(&other, &mut slow);
                prop_assert_eq!(spelling.uncanonical.is_none(), slow == text, "{}", text);
                prop_assert!(spelling.repeated.is_empty() || spelling.uncanonical.is_some());
            }
            (Err(broken), Ok(other)) => {
                // The second reader takes integers of 64 bits, and larger ones as floats.
                let is_number = broken.fault == Fault::Number;
                prop_assert!(is_number && (is_beyond(&other) || text.len() > 16), "{}", text);
            }
            (Ok(_), Err(error)) => prop_assert!(false, "{error}: {text}"),
            (Err(broken), Err(_)) => prop_assert!(broken.at <= text.len()),
        }
    }

    #[test]
    fn compact_and_pretty_text_differ_in_spelling_only(value in json()) {
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let (read, spelling) = read(&pretty).unwrap();
        prop_assert_eq!(&read, &value);
        let mut slow = String::new();
        canonical(&value, &mut slow);
        prop_assert_eq!(spelling.uncanonical.is_none(), slow == pretty);
    }

    #[test]
    fn a_departure_is_where_the_canonical_text_departs(value in json(), cut in any::<prop::sample::Index>()) {
        let mut text = String::new();
        canonical(&value, &mut text);
        // A blank between two tokens: at the front, or behind.
        let at = if cut.index(2) == 0 { 0 } else { text.len() };
        text.insert(at, ' ');
        let departure = read(&text).unwrap().1.uncanonical.unwrap();
        prop_assert_eq!(departure.at, at);
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = read(&text);
    }

    #[test]
    fn appended_values_stand_side_by_side(values in proptest::collection::vec(json(), 1..6)) {
        let mut tape = Tape::default();
        let texts: Vec<String> = values.iter().map(Json::to_string).collect();
        let starts: Vec<usize> =
            texts.iter().map(|text| tape.append(text).unwrap().0).collect();
        prop_assert!(tape.append("[1,[2").is_err());
        for ((text, start), value) in texts.iter().zip(starts).zip(&values) {
            prop_assert_eq!(&tree(tape.value(start, text)), value);
        }
    }
}

#[test]
fn every_canonical_number_is_told_from_every_other_spelling() {
    let canonical = [
        "0",
        "1",
        "-1",
        "9007199254740991",
        "-9007199254740991",
        "0.0",
        "1.0",
        "-1.0",
        "0.7",
        "0.75",
        "0.0001",
        "1e-05",
        "1.5e-07",
        "1e+16",
        "1.5e+16",
        "1e+22",
        "1e+100",
        "1e-300",
        "5e-324",
        "123456789012345.6",
        "1000000000000000.0",
        "0.1",
        "2.220446049250313e-16",
        "1.747226",
        "1.7976931348623157e+308",
        "0.30000000000000004",
    ];
    for text in canonical {
        assert!(is_canonical(text), "{text}");
    }
    let others = [
        "-0",
        "-0.0",
        "0.00",
        "1.00",
        "1.50",
        "1e5",
        "1E5",
        "1e+5",
        "1e16",
        "1e+016",
        "1.0e+16",
        "1e-5",
        "1e-005",
        "0.00001",
        "10000000000000000.0",
        "1e22",
        "0.1000",
        "0.10000000000000001",
        "1e-400",
        "1.0e1",
        "0e0",
        "100e-2",
    ];
    for text in others {
        assert!(!is_canonical(text), "{text}");
    }
}

#[test]
fn every_control_character_has_one_canonical_escape() {
    let short = BTreeMap::from([(8, "\\b"), (9, "\\t"), (10, "\\n"), (12, "\\f"), (13, "\\r")]);
    for code in 0..0x80_u32 {
        let long = format!("\"\\u{code:04x}\"");
        let is_long_canonical = code < 0x20 && !short.contains_key(&code);
        assert_eq!(is_canonical(&long), is_long_canonical, "{long}");
        let has_letters = format!("{code:04x}").bytes().any(|byte| byte.is_ascii_lowercase());
        let upper = format!("\"\\u{code:04X}\"");
        assert_eq!(is_canonical(&upper), is_long_canonical && !has_letters, "{upper}");
        let raw = format!("\"{}\"", char::from_u32(code).unwrap());
        match code {
            0..0x20 => assert_eq!(fault(&raw).0, 1, "{raw:?}"),
            0x22 | 0x5C => assert!(read(&raw).is_err()),
            _ => assert!(is_canonical(&raw), "{raw:?}"),
        }
    }
    for (_, escape) in short {
        assert!(is_canonical(&format!("\"{escape}\"")));
    }
    assert!(!is_canonical(r#""\/""#));
    assert!(!is_canonical(r#""\u00e9""#));
    assert!(!is_canonical(r#""\ud83d\ude80""#));
    assert!(is_canonical("\"\u{2028}\u{7f}/é🚀\""));
}

#[test]
fn a_string_ends_at_its_quote_wherever_the_words_fall() {
    for length in 0..40 {
        for stop in ["\"", "\\\"\"", "\u{1}"] {
            let text = format!("\"{}{stop}", "x".repeat(length));
            match stop {
                "\u{1}" => assert_eq!(fault(&text).0, length + 1),
                _ => {
                    assert_eq!(read(&text).unwrap().0, serde_json::from_str::<Json>(&text).unwrap())
                }
            }
        }
        // Bytes beside the three that stop, and beyond ASCII.
        let odd = format!("\"{}#!][\u{80}\u{a2}\u{dc}\"", "x".repeat(length));
        assert_eq!(read(&odd).unwrap().0.as_str().unwrap().len(), odd.len() - 2);
    }
}

#[test]
fn keys_stand_by_code_point_and_once() {
    // U+10000 sorts behind U+FFFF here, and before it by UTF-16 unit.
    assert!(is_canonical("{\"\u{ffff}\":1,\"\u{10000}\":2}"));
    assert!(!is_canonical("{\"\u{10000}\":1,\"\u{ffff}\":2}"));
    assert!(is_canonical(r#"{"":1,"\n":1,"a":1,"a\"":1,"aa":1}"#));
    let cases: [(&str, &[usize]); 5] = [
        (r#"{"a":1,"a":2}"#, &[7]),
        (r#"{"a":1,"b":2,"a":3}"#, &[13]),
        (r#"{"a":1,"\u0061":2}"#, &[7]),
        (r#"{"x":{"b":1,"a":2,"b":3},"x":[{"k":1,"k":1}]}"#, &[18, 25, 37]),
        (r#"{"b":1,"a":2}"#, &[]),
    ];
    for (text, repeated) in cases {
        let spelling = read(text).unwrap().1;
        assert_eq!(spelling.repeated, repeated, "{text}");
        assert!(spelling.uncanonical.is_some(), "{text}");
    }
    let many = format!("{{{}\"a\":1}}", "\"a\":1,".repeat(1000));
    assert_eq!(read(&many).unwrap().1.repeated.len(), 16);
}

#[test]
fn every_fault_has_its_place() {
    let cases = [
        ("", 0, Fault::Syntax("a value")),
        ("  ", 2, Fault::Syntax("a value")),
        ("NaN", 0, Fault::Number),
        ("[Infinity]", 1, Fault::Number),
        ("[-Infinity]", 1, Fault::Number),
        ("{\"a\":1e400}", 5, Fault::Number),
        ("9007199254740992", 0, Fault::Number),
        ("-9007199254740992", 0, Fault::Number),
        ("123456789012345678901", 0, Fault::Number),
        ("01", 0, Fault::Syntax("a number")),
        ("1.", 2, Fault::Syntax("a digit")),
        ("1e", 2, Fault::Syntax("a digit")),
        ("1 2", 2, Fault::Syntax("the end")),
        ("{} {}", 3, Fault::Syntax("the end")),
        ("[1,]", 3, Fault::Syntax("a value")),
        ("[1 2]", 3, Fault::Syntax("a comma or `]`")),
        ("{\"a\":1,}", 7, Fault::Syntax("a key")),
        ("{\"a\" 1}", 5, Fault::Syntax("a colon")),
        ("{\"a\":1]", 6, Fault::Syntax("a comma or `}`")),
        ("[1}", 2, Fault::Syntax("a comma or `]`")),
        ("\"a", 2, Fault::Syntax("the end of the string")),
        ("\"\\x\"", 1, Fault::Syntax("an escape")),
        ("\"\\u12\"", 1, Fault::Syntax("four hex digits")),
        ("\"\\u+123\"", 1, Fault::Syntax("four hex digits")),
        ("\"\\ud800\"", 1, Fault::Surrogate),
        ("\"\\udc00\"", 1, Fault::Surrogate),
        ("\"\\ud800\\u0041\"", 1, Fault::Surrogate),
        ("nul", 0, Fault::Syntax("a value")),
        ("True", 0, Fault::Syntax("a value")),
        ("\u{feff}{}", 0, Fault::Syntax("a value")),
        ("{}\0", 2, Fault::Syntax("the end")),
    ];
    for (text, at, expected) in cases {
        assert_eq!(fault(text), (at, expected), "{text}");
    }
}

#[test]
fn nesting_is_read_to_its_bound() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(is_canonical(&nested(MAX_DEPTH)));
    assert_eq!(fault(&nested(MAX_DEPTH + 1)), (MAX_DEPTH, Fault::TooDeep));
    assert_eq!(fault(&"[".repeat(200_000)).1, Fault::TooDeep);
    assert_eq!(fault(&"{\"a\":".repeat(200_000)).1, Fault::TooDeep);
}

#[test]
fn a_pointer_finds_what_it_names() {
    let text = r#"{"a/b":[1,{"~":"x"}],"é":null}"#;
    let mut tape = Tape::default();
    tape.read(text).unwrap();
    let root = tape.root(text);
    assert_eq!(root.pointer("/a~1b/1/~0").unwrap().text().unwrap(), "x");
    assert_eq!(root.pointer("").unwrap().raw(), text);
    assert_eq!(root.pointer("/é").unwrap().kind(), Kind::Null);
    assert!(root.pointer("/a~1b/2").is_none());
    assert_eq!(probity_report::pointer("a/b~"), "/a~1b~0");
}
