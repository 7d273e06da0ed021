use std::collections::BTreeMap;

use probity_record::canonical::{
    self, MAX_DEPTH, MAX_SAFE_INTEGER, Problem, is_canonical, jcs, parse_ijson, parse_strict,
    read_once, spelled, to_canonical,
};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::read;

const RFC_CASES: [&str; 6] = ["arrays", "french", "structures", "unicode", "values", "weird"];

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_inputs_that_the_rfc_publishes_come_out_to_the_byte() {
    for name in RFC_CASES {
        let input = parse_ijson(read(&format!("jcs/{name}.input.json")).as_bytes()).unwrap();
        let wanted = read(&format!("jcs/{name}.canonical.json"));
        assert_eq!(text(jcs(&input).unwrap()), wanted, "{name}");
    }
}

#[test]
fn the_number_table_of_the_rfc_holds() {
    let table = read("jcs/numbers.txt");
    assert_eq!(table.lines().count(), 27);
    for line in table.lines() {
        let (bits, wanted) = line.split_once(' ').unwrap();
        let double = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        match (jcs(&double), wanted) {
            (Err(error), "error") => assert_eq!(error.problem, Problem::NotFinite, "{line}"),
            (got, _) => assert_eq!(text(got.unwrap()), wanted, "{line}"),
        }
    }
}

#[test]
fn numbers_beyond_the_profile_are_errors_that_name_their_place() {
    #[derive(Serialize)]
    struct Outer {
        list: Vec<Inner>,
    }
    #[derive(Serialize)]
    struct Inner {
        #[serde(rename = "a/b~c")]
        number: f64,
    }
    let place = |number| to_canonical(&Outer { list: vec![Inner { number }] }).unwrap_err();
    assert_eq!(place(1.5).path, "/list/0/a~1b~0c");
    assert_eq!(place(1.5).problem, Problem::Float { text: "1.5".to_owned() });
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(place(number).problem, Problem::NotFinite);
        assert!(jcs(&number).is_err());
        assert!(jcs(&Some([number])).is_err());
    }
    let largest = i64::try_from(MAX_SAFE_INTEGER).unwrap();
    for number in [0, 1, -1, largest, -largest] {
        assert_eq!(text(to_canonical(&number).unwrap()), number.to_string());
    }
    for number in [largest + 1, -largest - 1, i64::MIN, i64::MAX] {
        let error = to_canonical(&json!({ "n": number })).unwrap_err();
        assert_eq!(error.problem, Problem::IntegerRange { text: number.to_string() });
        assert_eq!(error.path, "/n");
    }
    assert!(to_canonical(&json!(1.0)).is_err());
}

#[test]
fn the_rfc_profile_never_rounds_an_integer_in_silence() {
    assert!(jcs(&9_007_199_254_740_993_u64).is_err());
    assert!(jcs(&u64::MAX).is_err());
    assert!(jcs(&i64::MAX).is_err());
    // Exact in a double, and printed the way ECMAScript prints that double.
    assert_eq!(text(jcs(&9_007_199_254_740_992_u64).unwrap()), "9007199254740992");
    assert_eq!(text(jcs(&(1_u64 << 60)).unwrap()), "1152921504606847000");
    assert_eq!(text(jcs(&i64::MIN).unwrap()), "-9223372036854776000");
}

#[test]
fn keys_are_text_and_never_repeated() {
    #[derive(Serialize)]
    struct Doubled {
        a: u8,
        #[serde(flatten)]
        rest: BTreeMap<&'static str, u8>,
    }
    let doubled = Doubled { a: 1, rest: BTreeMap::from([("a", 2)]) };
    assert_eq!(
        to_canonical(&doubled).unwrap_err().problem,
        Problem::DuplicateKey { key: "a".to_owned() }
    );
    let by_number = BTreeMap::from([(10, "x"), (9, "y")]);
    assert_eq!(text(to_canonical(&by_number).unwrap()), r#"{"10":"x","9":"y"}"#);
    let by_list = BTreeMap::from([([1], "x")]);
    assert_eq!(to_canonical(&by_list).unwrap_err().problem, Problem::KeyNotText);
}

#[test]
fn a_number_is_the_same_whichever_way_the_build_keeps_it() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    // A negative zero is no integer, and the RFC has but one zero.
    for zero in ["-0", "-0.0", "-0e1"] {
        assert_eq!(text(jcs(&read(zero)).unwrap()), "0", "{zero}");
        let refused = to_canonical(&read(zero)).unwrap_err().problem;
        assert!(matches!(refused, Problem::Float { .. }), "{zero}: {refused}");
    }
    // A number at the deepest level is no level of its own.
    let deepest = format!("{}7{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert_eq!(text(to_canonical(&read(&deepest)).unwrap()), deepest);
    // Nor is a bad one anywhere else than it is.
    let bad = to_canonical(&read(r#"{"a":[0,{"b~/":1.5}]}"#)).unwrap_err();
    assert_eq!(bad.path, "/a/1/b~0~1");
}

#[test]
fn every_shape_of_serde_is_written_as_serde_json_writes_it() {
    #[derive(Serialize)]
    enum Shape {
        Unit,
        Newtype(u8),
        Tuple(u8, char),
        Struct { b: Option<()>, a: () },
    }
    #[derive(Serialize)]
    struct Marker;
    let all = (
        [Shape::Unit, Shape::Newtype(1), Shape::Tuple(2, 'c'), Shape::Struct { b: None, a: () }],
        (Marker, Some("s"), true, [0_u8; 2], -5_i8),
    );
    let wanted = serde_json_canonicalizer::to_string(&all).unwrap();
    assert_eq!(text(to_canonical(&all).unwrap()), wanted);
}

#[test]
fn strict_parsing_refuses_what_a_value_would_hide() {
    for (input, ijson_too) in [
        (r#"{"a":1,"a":1}"#, true),
        (r#"{"a":1,"\u0061":1}"#, true),
        (r#"[{"x":{"k":0,"k":1}}]"#, true),
        ("1 2", true),
        ("{}x", true),
        ("", true),
        ("[1,]", true),
        ("01", true),
        ("+1", true),
        ("NaN", true),
        (r#""\ud800""#, true),
        ("\"\u{1}\"", true),
        ("1e999", true),
        ("1.0", false),
        ("1e2", false),
        ("-0", false),
        ("9007199254740992", false),
        ("-9007199254740992", false),
        ("18446744073709551616", false),
    ] {
        assert!(parse_strict(input.as_bytes()).is_err(), "{input}");
        assert_eq!(parse_ijson(input.as_bytes()).is_err(), ijson_too, "{input}");
    }
    for bytes in [&b"\"\xff\""[..], b"\"\xed\xa0\x80\"", b"\"\xc0\xaf\"", b"\xef\xbb\xbf{}"] {
        assert!(parse_strict(bytes).is_err(), "{bytes:?}");
        assert!(parse_ijson(bytes).is_err(), "{bytes:?}");
    }
    let free = parse_strict(b" { \"b\" : [ -1 , \"\\u0041\" ] ,\n\"a\":null } ").unwrap();
    assert_eq!(free, json!({ "a": null, "b": [-1, "A"] }));
    let error = parse_strict(b"{\"a\":1,\n\"a\":2}").unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (2, "key `a` occurs twice"));
}

#[test]
fn what_is_read_once_keeps_its_numbers_and_has_each_key_once() {
    let read = |text: &str| read_once(&mut serde_json::Deserializer::from_str(text));
    for text in [
        "null",
        "[true,1.0,1e2,-0,-0.0,9007199254740993,18446744073709551615,1e300]",
        "18446744073709551616",
        r#"{"b":[{"a":"x"}],"a":{"a":null}}"#,
    ] {
        let wanted: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read(text).unwrap(), wanted, "{text}");
    }
    for (text, is_key_twice) in [
        (r#"{"a":1,"a":1}"#, true),
        (r#"[{"b":{"a":1,"\u0061":2}}]"#, true),
        ("{", false),
        (r#"{"a":tru}"#, false),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.is_key_twice, is_key_twice, "{text}");
        assert_eq!(error.to_string(), error.error.to_string(), "{text}");
    }
    let twice = read("{\"k\":1,\n\"k\":2}").unwrap_err().to_string();
    assert!(twice.starts_with("key `k` occurs twice at line 2"), "{twice}");
    // A reader without a bound of its own is stopped here.
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    read_once(nested(MAX_DEPTH)).unwrap();
    assert!(!read_once(nested(MAX_DEPTH + 1)).unwrap_err().is_key_twice);
}

#[test]
fn a_map_of_one_member_can_spell_a_number() {
    let key = "$serde_json::private::Number";
    for (map, number) in [
        (json!({key: "1.5"}), Some(1.5)),
        (json!({key: "12"}), Some(12.0)),
        (json!({key: "x"}), None),
        (json!({key: 1}), None),
        (json!({key: "1", "a": 1}), None),
        (json!({"a": "1"}), None),
        (json!({}), None),
    ] {
        let read = spelled(map.as_object().unwrap()).and_then(|number| number.as_f64());
        assert_eq!(read, number, "{map}");
    }
}

#[test]
fn all_three_draw_the_depth_at_the_same_level() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let deepest = nested(MAX_DEPTH);
    assert!(is_canonical(deepest.as_bytes()));
    let value = parse_strict(deepest.as_bytes()).unwrap();
    assert_eq!(text(to_canonical(&value).unwrap()), deepest);

    let deeper = nested(MAX_DEPTH + 1);
    assert!(!is_canonical(deeper.as_bytes()));
    assert!(parse_strict(deeper.as_bytes()).is_err());
    let error = to_canonical(&Value::Array(vec![value])).unwrap_err();
    assert_eq!(error.problem, Problem::TooDeep);
    // A hostile depth ends in an error, not in a stack overflow.
    let hostile = "[".repeat(1_000_000);
    assert!(parse_strict(hostile.as_bytes()).is_err());
    assert!(!is_canonical(hostile.as_bytes()));
}

#[test]
fn the_checker_names_the_first_byte_that_breaks_the_form() {
    for (bytes, offset) in [
        (&b"{\"b\":1,\"a\":1}"[..], 7),
        (b"{\"a\":1,\"a\":1}", 7),
        (b"{ \"a\":1}", 1),
        (b"{\"a\" :1}", 4),
        (b"[1, 2]", 3),
        (b"[1]\n", 3),
        (b"\"\\u0041\"", 1),
        (b"\"\\/\"", 1),
        (b"\"\\u000A\"", 1),
        (b"\"\\u001F\"", 1),
        (b"\"\\u001f\"", 99),
        (b"\"\x7f\"", 99),
        (b"\"a\x01\"", 2),
        (b"\"\xff\"", 1),
        (b"\"abc", 4),
        (b"-0", 0),
        (b"00", 0),
        (b"-", 0),
        (b"1.0", 1),
        (b"9007199254740991", 99),
        (b"9007199254740992", 0),
        (b"99999999999999999999999999", 0),
        (b"nul", 0),
        (b"", 0),
        // U+1F602 sorts before U+FF61 by UTF-16, behind it by code point.
        ("{\"😂\":1,\"｡\":2}".as_bytes(), 99),
        ("{\"｡\":2,\"😂\":1}".as_bytes(), 9),
        // An escape counts as what it stands for: a newline sorts before a blank.
        (b"{\"a\\n\":1,\"a \":2}", 99),
        (b"{\"a \":2,\"a\\n\":1}", 8),
    ] {
        let shown = String::from_utf8_lossy(bytes).into_owned();
        match canonical::check(bytes) {
            Ok(()) => assert_eq!(offset, 99, "{shown} passed"),
            Err(error) => assert_eq!(error.offset, offset, "{shown}: {error}"),
        }
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let any = proptest::collection::vec(any::<char>(), 0..8);
    prop_oneof![any.prop_map(String::from_iter), "[a-c\\\\\"\n\u{1}\u{e000}😂]{0,3}"]
}

fn tree(number: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number,
        any_text().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            proptest::collection::btree_map(any_text(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn record_value() -> impl Strategy<Value = Value> {
    let largest = i64::try_from(MAX_SAFE_INTEGER).unwrap();
    tree((-largest..=largest).prop_map(Value::from).boxed())
}

/// Any bits, and the two places where shortest digits are hard: ties and powers of two.
fn any_double() -> impl Strategy<Value = f64> {
    let bits = any::<u64>().prop_map(f64::from_bits);
    let ties = (1_u32..u32::MAX, 0..4_u32)
        .prop_map(|(high, quarter)| f64::from(high) * 1_048_576.0 + f64::from(quarter) / 4.0);
    let powers = (-1074..1024).prop_map(|exponent| 2_f64.powi(exponent));
    prop_oneof![bits, ties, powers].prop_filter("finite", |double| double.is_finite())
}

/// An object as a type may hand it over: in any order, keys twice.
struct Loose(Vec<(String, u32)>);

impl Serialize for Loose {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

proptest! {
    #[test]
    fn members_come_out_in_order_in_whatever_order_they_come_in(
        members in proptest::collection::vec((any_text(), any::<u32>()), 0..6),
        is_sorted in any::<bool>(),
    ) {
        let mut members = members;
        if is_sorted {
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        }
        let once: BTreeMap<String, u32> = members.iter().cloned().collect();
        let is_twice = once.len() < members.len();
        match to_canonical(&[Loose(members)]) {
            Ok(bytes) => {
                prop_assert!(!is_twice);
                let wanted = serde_json_canonicalizer::to_string(&[once]).unwrap();
                prop_assert_eq!(text(bytes), wanted);
            }
            Err(error) => {
                prop_assert!(is_twice, "{}", error);
                let is_named = matches!(&error.problem, Problem::DuplicateKey { .. });
                prop_assert!(is_named && error.path == "/0", "{}", error);
            }
        }
    }

    #[test]
    fn the_oracle_agrees_on_values(value in tree(any_double().prop_map(Value::from).boxed())) {
        let wanted = serde_json_canonicalizer::to_string(&value).unwrap();
        prop_assert_eq!(text(jcs(&value).unwrap()), wanted);
    }

    #[test]
    fn the_oracle_agrees_on_doubles(double in any_double()) {
        let wanted = serde_json_canonicalizer::to_string(&double).unwrap();
        prop_assert_eq!(text(jcs(&double).unwrap()), wanted);
    }

    #[test]
    fn a_record_value_is_written_checked_and_read_back(value in record_value()) {
        let bytes = to_canonical(&value).unwrap();
        prop_assert_eq!(&bytes, &serde_json_canonicalizer::to_vec(&value).unwrap());
        prop_assert_eq!(canonical::check(&bytes), Ok(()));
        prop_assert_eq!(parse_strict(&bytes), Ok(value));
    }

    /// The one-pass checker says yes exactly where parsing and writing again gives the same bytes.
    #[test]
    fn the_checker_agrees_with_parse_and_write(
        value in record_value(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..4),
    ) {
        let mut bytes = to_canonical(&value).unwrap();
        for (place, byte, kind) in edits {
            let at = place.index(bytes.len().max(1));
            match kind {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        let again = parse_strict(&bytes).ok().and_then(|value| to_canonical(&value).ok());
        prop_assert_eq!(is_canonical(&bytes), again.as_ref() == Some(&bytes));
    }
}
