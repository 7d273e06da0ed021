//! `json:PATH` and `json:-`.

use super::bed::Bed;
use serde_json::json;

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
