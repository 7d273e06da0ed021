//! The form that Python prints, against vectors and against Python.

use std::io::Write;
use std::process::{Command, Stdio};

use probity_policy::sorted_json::{
    SortedJsonError, python_canonical, python_canonical_without, write_python_canonical,
};
use probity_record::blob_digest;
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    String::from_utf8(python_canonical(value).unwrap()).unwrap()
}

/// Value, canonical text, first 16 hex digits of its SHA-256.
#[test]
fn the_vectors() {
    let astral = json!({"\u{1f600}": 1, "\u{fb33}": 2});
    let cases = [
        (json!({}), "{}", "44136fa355b3678a"),
        (json!({"a": null}), r#"{"a":null}"#, "d091f9c83c091f79"),
        (json!({"a": "é"}), r#"{"a":"\u00e9"}"#, "57e512a1ff02f75e"),
        (json!({"a": "😀"}), r#"{"a":"\ud83d\ude00"}"#, "ecbc324dfaa36b60"),
        (json!({"x": 1.0}), r#"{"x":1.0}"#, "bf32f56236899e13"),
        (json!({"x": 1e16}), r#"{"x":1e+16}"#, "21d6bea42b17fd31"),
        (json!({"x": 1e-7}), r#"{"x":1e-07}"#, "c8b4301d31692cc5"),
        (json!({"x": -0.0}), r#"{"x":-0.0}"#, "529436936b90ebdf"),
        (
            json!({"b": 1, "a": {"d": [], "c": true}}),
            r#"{"a":{"c":true,"d":[]},"b":1}"#,
            "9cd0c360cb6de6b0",
        ),
    ];
    for (value, canonical, hash) in cases {
        assert_eq!(text(&value), canonical);
        assert_eq!(&blob_digest(canonical.as_bytes()).to_string()[..16], hash, "{canonical}");
    }
    // Keys by code point: U+FB33 before U+1F600.
    let canonical = text(&astral);
    assert!(canonical.starts_with(r#"{"\ufb33":2,"#), "{canonical}");
}

#[test]
fn floats_as_python_prints_them() {
    let cases = [
        (0.0, "0.0"),
        (1.5, "1.5"),
        (100.0, "100.0"),
        (123_456.789, "123456.789"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (0.000_123_4, "0.0001234"),
        (1.25e-10, "1.25e-10"),
        (9_999_999_999_999_998.0, "9999999999999998.0"),
        (1e15, "1000000000000000.0"),
        (1.5e16, "1.5e+16"),
        (1e22, "1e+22"),
        (1e100, "1e+100"),
        (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
        (5e-324, "5e-324"),
        (2.225_073_858_507_201_4e-308, "2.2250738585072014e-308"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-2.5, "-2.5"),
        (5.684_341_886_080_802e-14, "5.684341886080802e-14"),
        (9.5367431640625e-7, "9.5367431640625e-07"),
    ];
    for (double, expected) in cases {
        assert_eq!(text(&json!(double)), expected);
    }
}

#[test]
fn integers_are_verbatim() {
    for spelled in ["0", "-1", "9007199254740993", "18446744073709551615", "-9223372036854775808"] {
        assert_eq!(text(&serde_json::from_str(spelled).unwrap()), spelled);
    }
}

/// Where serde_json keeps the text of a number; elsewhere it has read a float before we see it.
#[test]
fn an_integer_beyond_64_bits_is_verbatim_in_a_build_that_keeps_it() {
    let spelled = "123456789012345678901234567890";
    let value: Value = serde_json::from_str(spelled).unwrap();
    let expected = if value.is_f64() { "1.2345678901234568e+29" } else { spelled };
    assert_eq!(text(&value), expected);
}

#[test]
fn a_number_that_came_as_text_is_a_number() {
    let spelled = |text: &str| json!({"$serde_json::private::Number": text});
    assert_eq!(text(&json!({"x": spelled("1.50"), "y": spelled("120")})), r#"{"x":1.5,"y":120}"#);
    let more = json!({"$serde_json::private::Number": "1", "z": 1});
    assert_eq!(text(&more), r#"{"$serde_json::private::Number":"1","z":1}"#);
}

#[test]
fn one_member_of_the_top_can_be_left_out() {
    let value = json!({"a": 1, "seal": {"x": 1}, "z": {"seal": 2}});
    let without = |member| String::from_utf8(python_canonical_without(&value, member).unwrap());
    assert_eq!(without("seal").unwrap(), r#"{"a":1,"z":{"seal":2}}"#);
    assert_eq!(without("a").unwrap(), r#"{"seal":{"x":1},"z":{"seal":2}}"#);
    assert_eq!(without("none").unwrap(), text(&value));
    let mut out = b"before".to_vec();
    write_python_canonical(&mut out, &value, "seal").unwrap();
    assert_eq!(out, br#"before{"a":1,"z":{"seal":2}}"#);
}

#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    assert!(python_canonical(&nested(127)).is_ok());
    assert_eq!(python_canonical(&nested(128)), Err(SortedJsonError::TooDeep));
}

/// Numbers and texts from a fixed generator, printed by Python too.
#[test]
fn as_python_prints_it() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 29)
    };
    let mut values: Vec<Value> = Vec::new();
    for power in -1074..1024 {
        let double = 2f64.powi(power);
        values.extend([double, double.next_up(), double.next_down(), -double].map(Value::from));
    }
    for power in -30..30 {
        values.push(json!(format!("1e{power}").parse::<f64>().unwrap()));
        values.push(json!(format!("123.5e{power}").parse::<f64>().unwrap()));
    }
    for _ in 0..20_000 {
        let double = f64::from_bits(next());
        if double.is_finite() {
            values.push(json!(double));
        }
        values.push(json!(next() as i64));
        let length = next() % 6;
        let chars = (0..length).filter_map(|_| {
            let code = match next() % 4 {
                0 => next() % 0x80,
                1 => next() % 0x800,
                2 => next() % 0x1_0000,
                _ => next() % 0x11_0000,
            };
            char::from_u32(u32::try_from(code).unwrap())
        });
        let word: String = chars.collect();
        values.push(
            json!({(word.clone()): word, "\u{7f}": [next() % 4_294_967_296, null_or(next())]}),
        );
    }
    let program = "import json,sys\nfor line in sys.stdin.buffer:\n \
                   print(json.dumps(json.loads(line),sort_keys=True,separators=(',',':')))\n";
    let mut python = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = python.stdin.take().unwrap();
    let lines: String = values.iter().map(|value| format!("{value}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!(printed.len(), values.len());
    for (value, line) in values.iter().zip(printed) {
        assert_eq!(text(value), line);
    }
}

fn null_or(word: u64) -> Value {
    if word.is_multiple_of(2) { Value::Null } else { json!(word.is_multiple_of(3)) }
}
