//! What was read against what was expected.

use probity_verifier::compare::{Match, difference, expects_nothing};
use serde_json::{Value, json};

#[test]
fn the_whole_table() {
    use Match::{Exact, Subset};
    type Row = (Value, Value, Match, Option<&'static str>);
    let rows: [Row; 27] = [
        (json!({"a": 1}), json!({"a": 1}), Subset, None),
        (json!({"a": 1}), json!({"a": 1, "b": 2}), Subset, None),
        (json!({"a": 1}), json!({"a": 1, "b": 2}), Exact, Some("`b` must not be there")),
        (json!({"a": {"b": 1}}), json!({"a": {"b": 1, "c": 2}}), Subset, None),
        (
            json!({"a": {"b": 1}}),
            json!({"a": {"b": 1, "c": 2}}),
            Exact,
            Some("`a.c` must not be there"),
        ),
        (json!({"a": {}}), json!({"a": {"c": 2}}), Subset, None),
        (json!({"a": {}}), json!({"a": []}), Subset, Some("`a` must be {}, got []")),
        // A missing key is not null.
        (json!({"a": null}), json!({"a": null}), Subset, None),
        (json!({"a": null}), json!({}), Subset, Some("`a` is missing, not null")),
        (json!({"a": 0}), json!({"a": null}), Subset, Some("`a` must be 0, got null")),
        // A bool is no number, text is no number.
        (json!({"a": true}), json!({"a": 1}), Subset, Some("`a` must be true, got 1")),
        (json!({"a": 1}), json!({"a": true}), Subset, Some("`a` must be 1, got true")),
        (json!({"a": 0}), json!({"a": false}), Subset, Some("`a` must be 0, got false")),
        (json!({"a": "1"}), json!({"a": 1}), Subset, Some("`a` must be \"1\", got 1")),
        (json!("true"), json!(true), Subset, Some("`the value read` must be \"true\", got true")),
        // Numbers compare by value.
        (json!(1), json!(1.0), Exact, None),
        (json!({"a": 1.0}), json!({"a": 1}), Subset, None),
        (json!({"a": 1}), json!({"a": 1.5}), Subset, Some("`a` must be 1, got 1.5")),
        (
            json!({"a": 9_007_199_254_740_993_u64}),
            json!({"a": 9_007_199_254_740_992_u64}),
            Subset,
            Some("`a` must be 9007199254740993, got 9007199254740992"),
        ),
        // Lists match item by item, in both modes.
        (json!(["x"]), json!(["x"]), Exact, None),
        (json!([{"a": 1}]), json!([{"a": 1, "b": 2}]), Subset, None),
        (json!([{"a": 1}]), json!([{"a": 1, "b": 2}]), Exact, Some("`[0].b` must not be there")),
        (json!([{"a": 1}]), json!([{"a": 2}]), Subset, Some("`[0].a` must be 1, got 2")),
        (
            json!(["x"]),
            json!(["x", "y"]),
            Subset,
            Some("`the value read` must have 1 items, it has 2"),
        ),
        (json!("x"), json!("y"), Exact, Some("`the value read` must be \"x\", got \"y\"")),
        (json!({"a": 1}), json!([]), Subset, Some("`the value read` must be {\"a\":1}, got []")),
        (json!({"a": {"b": [1]}}), json!({"a": {}}), Subset, Some("`a.b` is missing, not [1]")),
    ];
    for (expected, got, how, text) in rows {
        let difference = difference(&expected, &got, how).map(|at| at.to_string());
        assert_eq!(difference.as_deref(), text, "{expected} {got} {how:?}");
    }
    let long = json!("ä".repeat(500));
    assert!(difference(&json!(1), &long, Subset).unwrap().to_string().chars().count() < 150);
}

#[test]
fn what_expects_nothing() {
    for value in [json!(null), json!({}), json!([]), json!("")] {
        assert!(expects_nothing(&value), "{value}");
    }
    for value in [json!(false), json!(0), json!(" "), json!([null]), json!({"a": null})] {
        assert!(!expects_nothing(&value), "{value}");
    }
}
