//! `json:PATH` and `json:-`.

use super::bed::Bed;
use serde_json::{Value, json};

#[test]
fn documents_pass_and_fail_each_in_its_own_way() {
    let mut bed = Bed::new();
    bed.write(
        "schema.json",
        r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#,
    );
    bed.write("broken.json", "{").write("wrong.json", r#"{"type": "nonsense"}"#);
    bed.write("remote.json", r#"{"$ref": "http://schemas.example/x.json"}"#);
    bed.write("look.json", r#"{"pattern": "(?=a)"}"#);
    bed.start();
    bed.write("a.json", r#"{"n": 3, "list": [{"name": "x/y"}], "one": 1.0, "nil": null, "big": 18446744073709551615}"#);
    bed.write("b.json", r#"{"n": "three"}"#).write("text.json", "hello").mkdir("d.json");
    bed.link("link.json", "a.json").link("out.json", "/etc/hostname");
    bed.table(&[
        ("json:a.json", "pass"),
        ("json:gone.json", "revise json_missing"),
        ("json:d.json", "revise json_kind"),
        ("json:link.json", "revise json_link"),
        ("json:out.json", "revise path_escapes"),
        ("json:text.json", "revise json_syntax"),
        ("json:a.json,pointer=/n", "pass"),
        ("json:a.json,pointer=/m", "revise json_value"),
        ("json:a.json,pointer=/n,equals=3", "pass"),
        ("json:a.json,pointer=/n,equals=3.0", "pass"),
        ("json:a.json,pointer=/one,equals=1", "pass"),
        ("json:a.json,pointer=/n,equals=4", "revise json_value"),
        (r#"json:a.json,pointer=/n,equals="3""#, "revise json_value"),
        ("json:a.json,pointer=/nil,equals=null", "pass"),
        ("json:a.json,pointer=/big,equals=18446744073709551615", "pass"),
        ("json:a.json,pointer=/big,equals=18446744073709551614", "revise json_value"),
        ("json:a.json,pointer=/list/0/name,equals=x/y", "pass"),
        (r#"json:b.json,equals={"n":"three"}"#, "pass"),
        (r#"json:b.json,equals={"n":"three"\,"m":1}"#, "revise json_value"),
        ("json:a.json,schema=schema.json", "pass"),
        ("json:b.json,schema=schema.json", "revise json_schema"),
        (r#"json:b.json,schema={"required":["m"]}"#, "revise json_schema"),
        ("json:a.json,schema=gone-schema.json", "fault schema_unreadable"),
        ("json:a.json,schema=broken.json", "fault schema_unreadable"),
        ("json:a.json,schema=wrong.json", "fault schema_invalid"),
        ("json:a.json,schema=remote.json", "fault schema_invalid"),
        ("json:a.json,schema=look.json", "fault schema_invalid"),
        ("json:gone.json,schema=wrong.json", "revise json_missing"),
    ]);
    let reason = bed.reason("json:b.json,schema=schema.json");
    assert!(reason.contains("`b.json` does not fulfil the schema: at `/n`"), "{reason}");
    let reason = bed.reason("json:a.json,pointer=/n,equals=4");
    assert_eq!(reason, "`a.json` at `/n` is 3, expected 4");
}

#[test]
fn the_claim_is_a_document_too() {
    let mut bed = Bed::new();
    bed.start();
    bed.claim.response = r#"{"ok": true}"#.to_owned();
    assert_eq!(bed.says("json:-,pointer=/ok,equals=true"), "pass");
    assert_eq!(bed.says("json:-,pointer=/ok,equals=false"), "revise json_value");
    bed.claim.response = "All good!".to_owned();
    assert_eq!(bed.says("json:-"), "revise json_syntax");
    bed.claim.output = Some(json!({"ok": 1}));
    assert_eq!(bed.says("json:-,pointer=/ok,equals=1"), "pass");
}

#[test]
fn a_key_that_stands_twice_is_refused_wherever_it_is() {
    let mut bed = Bed::new();
    bed.start();
    let twice = r#"{"state": "pending", "state": "done"}"#;
    for (name, text) in [
        ("later.json", twice.to_owned()),
        ("earlier.json", r#"{"state": "done", "state": "pending"}"#.to_owned()),
        ("same.json", r#"{"state": "done", "state": "done"}"#.to_owned()),
        ("escaped.json", r#"{"state": "pending", "st\u0061te": "done"}"#.to_owned()),
        ("below.json", format!(r#"{{"state": "done", "rows": [1, {{"deep": {twice}}}]}}"#)),
    ] {
        // A reader that takes the last of the two sees nothing odd.
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{name}");
        bed.write(name, &text);
        bed.table(&[
            (&format!("json:{name}"), "revise json_syntax"),
            (&format!("json:{name},pointer=/state,equals=done"), "revise json_syntax"),
            (&format!("json:{name},schema={{\"type\":\"object\"}}"), "revise json_syntax"),
        ]);
        bed.claim.response = text;
        assert_eq!(bed.says("json:-,pointer=/state,equals=done"), "revise json_syntax", "{name}");
    }
    let reason = bed.reason("json:later.json,pointer=/state,equals=done");
    assert!(reason.contains("the key `state` stands twice in one object"), "{reason}");
    assert!(reason.contains("line 1 column"), "{reason}");
    // The same key in two objects, and keys that differ in case, are apart.
    bed.write(
        "apart.json",
        r#"{"state": "done", "State": 1, "rows": [{"state": 1}, {"state": 2}]}"#,
    );
    assert_eq!(bed.says("json:apart.json,pointer=/state,equals=done"), "pass");
}

#[test]
fn a_document_may_be_127_levels_deep() {
    let mut bed = Bed::new();
    bed.start();
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    bed.write("lists.json", nested("[", "", "]", 127));
    bed.write("objects.json", nested("{\"a\":", "1", "}", 127));
    bed.write("deeper.json", nested("[", "", "]", 128));
    bed.write("abyss.json", nested("{\"a\":", "1", "}", 200_000));
    bed.table(&[
        ("json:lists.json", "pass"),
        ("json:objects.json", "pass"),
        ("json:deeper.json", "revise json_syntax"),
        ("json:abyss.json", "revise json_syntax"),
    ]);
}
