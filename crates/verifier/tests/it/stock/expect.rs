//! The `--expect` text: what it means, where an error points, that it prints back.

use probity_verifier::expect::{parse, to_expect_string};
use probity_verifier::spec::{CheckSpec, Effect, Form, KINDS, Kind};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn wire(text: &str) -> Value {
    serde_json::to_value(parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))).unwrap()
}

#[test]
fn each_kind_reads_as_the_map_of_a_file() {
    let digest = "ab".repeat(32);
    let table = [
        ("file:out.txt", json!({"file": "out.txt"})),
        (
            "file:out.txt,created,contains=hello,contains=world,min_bytes=1",
            json!({"file": "out.txt", "created": true, "contains": ["hello", "world"], "min_bytes": 1}),
        ),
        (
            r"file:a\,b.txt,contains=x\,y\\z,matches=\d+",
            json!({"file": "a,b.txt", "contains": [r"x,y\z"], "matches": [r"\d+"]}),
        ),
        (
            &format!("file:a,changed,sha256={digest},max_bytes=9,mode=644,newer_than=run-start"),
            json!({"file": "a", "changed": true, "sha256": digest, "max_bytes": 9, "mode": "0644",
                   "newer_than": "run-start"}),
        ),
        ("dir:d,entries=3", json!({"dir": "d", "entries": 3})),
        ("dir:.,min_entries=3,changed", json!({"dir": ".", "min_entries": 3, "changed": true})),
        ("text:,contains=done", json!({"text": "response", "contains": ["done"]})),
        (
            "text:contains=a,matches=b",
            json!({"text": "response", "contains": ["a"], "matches": ["b"]}),
        ),
        ("text:response,contains=a", json!({"text": "response", "contains": ["a"]})),
        (
            "json:a.json,pointer=/n,equals=3",
            json!({"json": "a.json", "pointer": "/n", "equals": 3}),
        ),
        (r#"json:-,equals="3""#, json!({"json": "-", "equals": "3"})),
        ("json:a.json,equals=three", json!({"json": "a.json", "equals": "three"})),
        ("json:a.json,equals=null", json!({"json": "a.json", "equals": null})),
        ("json:a.json,schema=s.json", json!({"json": "a.json", "schema": "s.json"})),
        (
            r#"json:a.json,schema={"type":"object"\,"minProperties":1}"#,
            json!({"json": "a.json", "schema": {"type": "object", "minProperties": 1}}),
        ),
        (
            "command:make test | tee log,exit=2,stdout_contains=ok,stdout_matches=^o,timeout=90s,inputs=Makefile,may_change=x,env=HOME",
            json!({"command": "make test | tee log", "exit": 2, "stdout_contains": ["ok"],
                   "stdout_matches": ["^o"], "timeout": "90s", "inputs": ["Makefile"],
                   "may_change": ["x"], "env": ["HOME"]}),
        ),
        (
            "http:http://a.example:8080/x,status=200|204|3xx,body_contains=ok,body_matches=k$,pointer=/a,equals=true,id=up",
            json!({"http": "http://a.example:8080/x", "status": "200|204|3xx", "body_contains": ["ok"],
                   "body_matches": ["k$"], "pointer": "/a", "equals": true, "id": "up"}),
        ),
        (
            "git:HEAD,exists,created,clean,pushed=origin,contains_path=a.txt,reachable_from=main",
            json!({"git": "HEAD", "exists": true, "created": true, "clean": true, "pushed": "origin",
                   "contains_path": ["a.txt"], "reachable_from": "main"}),
        ),
        (
            r"sqlite:a.db,query=select a\, b from t,equals=1.5",
            json!({"sqlite": "a.db", "query": "select a, b from t", "equals": 1.5}),
        ),
        (
            "sqlite:a.db,query=select 1,at_least=-2",
            json!({"sqlite": "a.db", "query": "select 1", "at_least": -2}),
        ),
        ("port:[::1]:80,closed", json!({"port": "[::1]:80", "closed": true})),
        ("process:nginx,absent", json!({"process": "nginx", "absent": true})),
        ("changes_only:src/**,a=b.txt", json!({"changes_only": ["src/**", "a=b.txt"]})),
        ("changes_only:none", json!({"changes_only": []})),
        (
            r#"external:python3 judge.py,args={"n": 1},env=PATH,inputs=judge.py,may_change=x"#,
            json!({"external": "python3 judge.py", "args": {"n": 1}, "env": ["PATH"],
                   "inputs": ["judge.py"], "may_change": ["x"]}),
        ),
        (
            r#"read_after_write:http:http://a.example/flags/{target.id},expected={"enabled":true}"#,
            json!({"read_after_write": "http:http://a.example/flags/{target.id}",
                   "expected": {"enabled": true}}),
        ),
        (
            "read_after_write:https://a.example/x,expected=on,mode=exact,pointer=/a,timeout=5s,id=w",
            json!({"read_after_write": "http:https://a.example/x", "expected": "on",
                   "mode": "exact", "pointer": "/a", "timeout": "5s", "id": "w"}),
        ),
        (
            r"read_after_write:sqlite:a.db,query=select a\, b from t where id = ?1,expected=0",
            json!({"read_after_write": "sqlite:a.db", "expected": 0,
                   "query": "select a, b from t where id = ?1"}),
        ),
        (
            "read_after_write:command:./read.sh,expected=on,inputs=read.sh,may_change=x,env=HOME",
            json!({"read_after_write": "command:./read.sh", "expected": "on",
                   "inputs": ["read.sh"], "may_change": ["x"], "env": ["HOME"]}),
        ),
        (
            "invariant_check:sqlite:bank.db,query=select count(*) from accounts where balance < 0,equals=0",
            json!({"invariant_check": "sqlite:bank.db", "equals": 0,
                   "query": "select count(*) from accounts where balance < 0"}),
        ),
        (
            "invariant_check:http:http://a.example/health,status=200",
            json!({"invariant_check": "http:http://a.example/health", "status": "200"}),
        ),
        (
            "invariant_check:file:a.json,pointer=/n,at_least=1,at_most=2.5,matches=^.$",
            json!({"invariant_check": "file:a.json", "pointer": "/n", "at_least": 1,
                   "at_most": 2.5, "matches": ["^.$"]}),
        ),
        ("invariant_check:command:./ok", json!({"invariant_check": "command:./ok"})),
        (
            "citations:answer.md,evidence=docs,min_supports=2,quotes=any,revise,may_change=docs/**",
            json!({"citations": "answer.md", "evidence": "docs", "min_supports": 2,
                   "quotes": "any", "revise": true, "may_change": ["docs/**"]}),
        ),
        ("citations:-,evidence=e", json!({"citations": "-", "evidence": "e"})),
        (
            r#"agent:{"allow_self":true\,"chat":{"endpoint":"http://localhost/v1"\,"model":"m"}\,"criteria":{"done":"it is\, done"}\,"min_confidence":0.8},timeout=2m"#,
            json!({"agent": {"chat": {"endpoint": "http://localhost/v1", "model": "m"},
                             "criteria": {"done": "it is, done"}, "min_confidence": 0.8,
                             "allow_self": true}, "timeout": "2m"}),
        ),
        (
            "human:ana,question=Is it live?,timeout=7d,id=sign_off",
            json!({"human": "ana", "question": "Is it live?", "timeout": "168h", "id": "sign_off"}),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(wire(text), expected, "{text}");
        assert_eq!(
            serde_json::from_value::<CheckSpec>(expected).unwrap(),
            parse(text).unwrap(),
            "{text}"
        );
    }
}

#[test]
fn an_error_names_the_column_and_what_is_legal() {
    let table = [
        ("out.txt", 1, "expect_syntax", "KIND:TARGET"),
        ("fil:out.txt", 1, "spec_unknown_kind", "did you mean `file`?"),
        ("zzzzzz:x", 1, "spec_unknown_kind", "there are file, dir, text, json"),
        (
            "file:out.txt,contain=x",
            14,
            "spec_unknown_key",
            "`file` has no key `contain`; did you mean `contains`?",
        ),
        ("file:ü,contain=x", 8, "spec_unknown_key", "did you mean `contains`?"),
        ("file:out.txt,zzzz", 14, "spec_unknown_key", "it has created, changed, absent"),
        ("file:out.txt,created=true", 14, "expect_syntax", "`created` is a flag"),
        ("file:out.txt,contains", 14, "expect_syntax", "`contains` needs a value"),
        ("file:out.txt,", 14, "expect_syntax", "a key is missing"),
        ("file:out.txt,,created", 14, "expect_syntax", "a key is missing"),
        (
            "file:out.txt,created,min_bytes=-1",
            22,
            "spec_value",
            "`min_bytes` must be a whole number from 0 to 9007199254740991, got `-1`",
        ),
        ("file:out.txt,min_bytes=9007199254740992", 14, "spec_value", "from 0 to"),
        ("file:a,min_bytes=1,min_bytes=2", 20, "spec_key_twice", "given twice"),
        ("file:a,mode=999", 8, "spec_value", "octal"),
        ("file:a,sha256=AB", 8, "spec_value", "64 lower-case"),
        ("file:a,newer_than=yesterday", 8, "spec_value", "run-start"),
        ("file:a,timeout=10", 8, "spec_value", "from 1ms to 1h"),
        ("file:a,timeout=2h", 8, "spec_value", "from 1ms to 1h"),
        ("file:a,id=Not Legal", 8, "spec_value", "a-z 0-9"),
        ("file:a,matches=(", 8, "spec_regex", "not a regular expression"),
        ("file:a,contains=", 8, "spec_value", "from 1 to 65536 bytes"),
        ("file:a,min_bytes=5,max_bytes=4", 20, "spec_conflict", "contradict"),
        ("file:a,absent,created", 15, "spec_conflict", "`absent` and `created`"),
        ("file:", 6, "spec_target", "relative path"),
        ("file:/etc/passwd", 6, "spec_target", "relative path"),
        ("dir:a/../..", 5, "spec_target", "without `..`"),
        ("dir:a,min_entries=5,entries=4", 21, "spec_conflict", "contradict"),
        ("dir:a,contains=x", 7, "spec_unknown_key", "`dir` has no key"),
        ("text:", 6, "spec_missing_key", "`contains` or `matches`"),
        ("text:other,contains=x", 6, "spec_target", "`response`"),
        ("json:a,pointer=x", 8, "spec_value", "starting with `/`"),
        ("json:a,schema={\"type\":3}", 8, "spec_schema", "not a JSON Schema"),
        ("json:a,schema={nonsense", 8, "spec_value", "JSON Schema"),
        ("json:a,schema=../s.json", 8, "spec_value", "below the workspace"),
        ("command: ", 9, "spec_target", "a command line"),
        ("command:x,exit=256", 11, "spec_value", "from 0 to 255"),
        ("command:x,env=A=B", 11, "spec_value", "environment variable"),
        ("command:x,inputs=[", 11, "spec_glob", "not a glob"),
        ("http:ftp://a/", 6, "spec_target", "http or https"),
        ("http:http://a/,status=20", 16, "spec_value", "200|204 or 2xx"),
        ("git:--upload-pack=x", 5, "spec_target", "a ref or a commit"),
        ("git:a..b", 5, "spec_target", "a ref or a commit"),
        ("git:HEAD,pushed=-x", 10, "spec_value", "starting with `-`"),
        ("git:HEAD,pushed=ext::sh -c x", 10, "spec_value", "a name that Git accepts"),
        ("git:HEAD,contains_path=../x", 10, "spec_value", "below the repository"),
        ("sqlite:a.db,equals=1", 8, "spec_missing_key", "`query`"),
        ("sqlite:a.db,query=select 1", 8, "spec_missing_key", "`equals` or `at_least`"),
        ("sqlite:a.db,query=select 1,equals=1,at_least=1", 37, "spec_conflict", "contradict"),
        ("sqlite:a.db,query=select 1,equals=[1]", 28, "spec_value", "a number, a text"),
        ("port:localhost", 6, "spec_target", "HOST:PORT"),
        ("port:localhost:0", 6, "spec_target", "1 to 65535"),
        ("port:::1:80", 6, "spec_target", "HOST:PORT"),
        ("process:a/b", 9, "spec_target", "file name"),
        ("changes_only:", 14, "spec_value", "from 1 to"),
        ("changes_only:a,[", 14, "spec_glob", "not a glob"),
        ("external:", 10, "spec_target", "a command line"),
        ("read_after_write:a.json,expected=1", 18, "spec_target", "`file:PATH`, `http:URL`"),
        ("read_after_write:file:a.json", 18, "spec_missing_key", "`expected`"),
        ("read_after_write:file:a.json,expected={}", 30, "spec_value", "anything would do"),
        ("read_after_write:file:a.json,expected=[]", 30, "spec_value", "anything would do"),
        ("read_after_write:file:a.json,expected=", 30, "spec_value", "anything would do"),
        ("read_after_write:file:a.json,expected=null", 30, "spec_value", "`invariant_check`"),
        ("read_after_write:file:a,expected=1,mode=near", 36, "spec_value", "`subset` or `exact`"),
        ("read_after_write:file:../a,expected=1", 18, "spec_target", "without `..`"),
        (
            "read_after_write:file:a,expected=1,query=select 1",
            36,
            "spec_value",
            "a `sqlite` source",
        ),
        ("read_after_write:file:a,expected=1,inputs=b", 36, "spec_value", "a `command` source"),
        ("read_after_write:sqlite:a.db,expected=1", 18, "spec_missing_key", "`query`"),
        (
            "read_after_write:sqlite:a.db,expected=1,query=select '{target.id}'",
            41,
            "spec_value",
            "write `?1`",
        ),
        ("read_after_write:http:ftp://a/,expected=1", 18, "spec_target", "http or https"),
        (
            "read_after_write:http:http://{target.id}/,expected=1",
            18,
            "spec_target",
            "the host only",
        ),
        (
            "read_after_write:http:http://a.{target.id}.example/,expected=1",
            18,
            "spec_target",
            "the host only",
        ),
        ("read_after_write:file:{target.name},expected=1", 18, "spec_target", "`{target.id}`"),
        ("read_after_write:command: ,expected=1", 18, "spec_target", "a command line"),
        ("citations:answer.md", 11, "spec_missing_key", "`evidence`"),
        ("citations:../a,evidence=e", 11, "spec_target", "below the workspace"),
        ("citations:a,evidence=../e", 13, "spec_value", "below the workspace"),
        ("citations:a,evidence=e,min_supports=0", 24, "spec_value", "from 1 to 64"),
        ("citations:a,evidence=e,quotes=some", 24, "spec_value", "`exact` or `any`"),
        ("invariant_check:file:a.json", 17, "spec_missing_key", "`at_most` or `matches`"),
        ("invariant_check:sqlite:a.db,query=select 1", 17, "spec_missing_key", "`equals`"),
        ("invariant_check:http:http://a/,pointer=/a", 17, "spec_missing_key", "beside `pointer`"),
        ("invariant_check:file:a,equals=1,status=200", 33, "spec_value", "an `http` source"),
        ("invariant_check:file:a,equals=1,at_least=1", 33, "spec_conflict", "contradict"),
        ("invariant_check:file:a,at_least=2,at_most=1", 35, "spec_conflict", "contradict"),
        ("invariant_check:file:a,matches=(", 24, "spec_regex", "not a regular expression"),
        ("human:", 7, "spec_target", "the name of a person"),
        ("human: ana", 7, "spec_target", "the name of a person"),
        ("human:ana,timeout=31d", 11, "spec_value", "from 1ms to 30d"),
        ("human:ana,question=", 11, "spec_value", "from 1 to 65536 bytes"),
    ];
    for (text, column, code, words) in table {
        let error = parse(text).err().unwrap_or_else(|| panic!("{text} was accepted"));
        assert_eq!((error.column, error.code()), (column, code), "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn what_cannot_be_written_as_text_prints_as_none() {
    let check: CheckSpec =
        serde_json::from_value(json!({"changes_only": ["a"], "id": "x"})).unwrap();
    assert_eq!(to_expect_string(&check), None);
    let check: CheckSpec = serde_json::from_value(json!({"changes_only": ["none"]})).unwrap();
    assert_eq!(to_expect_string(&check).unwrap(), "changes_only:[n]one");
}

#[test]
fn every_key_of_every_kind_is_read_or_refused_by_name() {
    // Kinds that need a key beside the one that is tried, or that have keys for some targets only.
    let partnered = ["sqlite", "text", "read_after_write", "invariant_check", "citations"];
    let all: std::collections::BTreeMap<&str, Form> =
        KINDS.iter().flat_map(Kind::all_keys).map(|key| (key.name, key.form)).collect();
    for kind in KINDS.iter().filter(|kind| kind.name != "changes_only") {
        for (key, form) in &all {
            let own = kind.key(key).map_or(*form, |key| key.form);
            let value = if *key == "pointer" { "/x".to_owned() } else { sample(own) };
            let text = match own {
                Form::Flag => format!("{}:{},{key}", kind.name, target(kind)),
                _ => format!("{}:{},{key}={value}", kind.name, target(kind)),
            };
            let refused_by_name =
                parse(&text).is_err_and(|error| error.code() == "spec_unknown_key");
            assert_eq!(refused_by_name, kind.key(key).is_none(), "{text}: {:?}", parse(&text));
            // Without the key of another kind, what is left to complain about is a missing partner.
            if kind.key(key).is_some() && !partnered.contains(&kind.name) {
                parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            }
        }
    }
}

fn target(kind: &Kind) -> &'static str {
    match kind.target {
        "URL" => "http://localhost/",
        "HOST:PORT" => "localhost:80",
        "SOURCE" => "command:x",
        "MAP" => r#"{"command":["x"]\,"criteria":{"a":"b"}}"#,
        "" => "",
        _ => "name",
    }
}

fn sample(form: Form) -> String {
    match form {
        Form::Flag => String::new(),
        Form::Digest => "ab".repeat(32),
        Form::Mode => "0600".into(),
        Form::Duration | Form::LongDuration => "1s".into(),
        Form::Match | Form::Quotes => "exact".into(),
        Form::Status => "2xx".into(),
        Form::RunStart => "run-start".into(),
        Form::Count | Form::Exit | Form::Number | Form::Json => "7".into(),
        // Legal as id, path, pattern, variable, glob and ref alike.
        _ => "x".into(),
    }
}

/// Any value of a form, as a file holds it.
fn value(form: Form) -> BoxedStrategy<Value> {
    let texts = r"[ -~äß\n]{1,12}";
    let scalar = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no such number", |n| n.is_finite())
            .prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        texts.prop_map(Value::from),
        Just(json!("17")),
        Just(json!("null")),
        Just(json!({"a": [1, "x,y", {"\\": ","}]})),
    ];
    match form {
        Form::Flag => any::<bool>().prop_map(Value::from).boxed(),
        Form::Text => prop_oneof![r"[a-z]{1,8}", r"/[a-z,\\]{0,8}"].prop_map(Value::from).boxed(),
        Form::Texts => prop::collection::vec(texts, 0..4).prop_map(Value::from).boxed(),
        Form::Count => (0_u64..1 << 53).prop_map(Value::from).boxed(),
        Form::Exit => (0_u64..256).prop_map(Value::from).boxed(),
        Form::Number | Form::Json => scalar.boxed(),
        Form::Mode => (0_u32..0o10000).prop_map(|bits| format!("{bits:04o}").into()).boxed(),
        Form::Digest => any::<[u8; 32]>()
            .prop_map(|bytes| probity_core::Digest::from_bytes(bytes).to_string().into())
            .boxed(),
        Form::Duration => (1_u64..3_600_000).prop_map(|ms| format!("{ms}ms").into()).boxed(),
        Form::LongDuration => {
            (1_u64..2_592_000_000).prop_map(|ms| format!("{ms}ms").into()).boxed()
        }
        Form::Match => prop_oneof![Just("subset"), Just("exact")].prop_map(Value::from).boxed(),
        Form::Quotes => prop_oneof![Just("exact"), Just("any")].prop_map(Value::from).boxed(),
        Form::Status => prop_oneof![Just("2xx"), Just("200|404")].prop_map(Value::from).boxed(),
        Form::RunStart => Just("run-start".into()).boxed(),
        _ => prop_oneof![Just(json!("s.json")), Just(json!({"type": "object", "title": "a,b"}))]
            .boxed(),
    }
}

fn any_check() -> impl Strategy<Value = Option<CheckSpec>> {
    prop::sample::select(KINDS).prop_flat_map(|kind| {
        let target = match kind.name {
            "text" => Just(json!("response")).boxed(),
            "http" => r"http://[a-z]{1,8}/[a-z,]{0,5}".prop_map(Value::from).boxed(),
            "port" => r"[a-z]{1,8}:[1-9][0-9]{0,3}".prop_map(Value::from).boxed(),
            "read_after_write" | "invariant_check" => {
                r"(file|sqlite|command|http:http):(//)?[a-z]{1,4}[a-z,{}\.]{0,6}"
                    .prop_map(Value::from)
                    .boxed()
            }
            "changes_only" => {
                prop::collection::vec(r"[a-z*/=,\\]{1,8}", 0..4).prop_map(Value::from).boxed()
            }
            "agent" => prop_oneof![
                Just(json!({"command": ["a", "b,c"], "criteria": {"done": "x, \"y\" \\"}})),
                Just(json!({"profile": "p", "criteria": {"a": "b"}, "min_confidence": 1})),
                Just(
                    json!({"acp": {"command": ["x"]}, "criteria": {"a": "b"}, "allow_self": true})
                ),
            ]
            .boxed(),
            _ => r"[a-zA-Z0-9_\\,=: -]{1,20}".prop_map(Value::from).boxed(),
        };
        let keys: Vec<_> = kind
            .all_keys()
            .map(|key| prop::option::weighted(0.4, value(key.form)).prop_map(|v| (key.name, v)))
            .collect();
        (target, keys).prop_map(move |(target, keys)| {
            let mut map: Map<String, Value> = keys
                .into_iter()
                .filter_map(|(name, value)| value.map(|value| (name.to_owned(), value)))
                .collect();
            map.insert(kind.name.to_owned(), target);
            serde_json::from_value(Value::Object(map)).ok()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_reads_back(check in any_check()) {
        let Some(check) = check else { return Err(TestCaseError::reject("not a legal check")) };
        if let Some(text) = to_expect_string(&check) {
            let back = parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
            match (&check.effect, &back.effect) {
                (Effect::ChangesOnly(one), Effect::ChangesOnly(_)) if one.globs == ["none"] => {}
                _ => prop_assert_eq!(&back, &check, "{}", text),
            }
        }
        let json = serde_json::to_string(&check).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let back: CheckSpec = serde_json::from_str(&json).map_err(|error| TestCaseError::fail(format!("{json}: {error}")))?;
        prop_assert_eq!(back, check);
    }

    #[test]
    fn no_text_panics(text in r"(file|dir|text|json|command|http|git|sqlite|port|process|changes_only|external|read_after_write:http|invariant_check:sqlite|citations|agent|human):[ -~]{0,40}") {
        let _ = parse(&text);
    }
}
