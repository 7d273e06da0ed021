use probity_core::Code;
use probity_policy::{FrontMatter, HookArtifact, HookEvent, HookRef, Place, Profile};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::written;

fn events() -> impl Strategy<Value = HookEvent> {
    prop_oneof![
        prop::sample::select(HookEvent::ALL.to_vec()),
        "[a-z0-9_.-]{1,64}".prop_map(|name| HookEvent::Custom(name.parse().unwrap())),
    ]
}

/// Any text with something in it, and no NUL.
fn texts() -> impl Strategy<Value = String> {
    any::<String>()
        .prop_map(|text| text.replace('\0', ""))
        .prop_filter("white space", |text| !text.trim().is_empty())
}

fn hooks(scripts: impl Strategy<Value = String>) -> impl Strategy<Value = HookArtifact> {
    (
        "[a-z0-9_.-]{1,60}",
        events(),
        -1000..=1000_i32,
        prop::option::of(texts()),
        scripts,
        1..=3_600_000_u64,
        "[ -~\n]{0,200}",
    )
        .prop_map(|(name, event, priority, when, script, timeout_ms, description)| {
            HookArtifact {
                name: Code::slug(&name),
                event,
                priority,
                when,
                script,
                timeout_ms,
                description: description.trim().to_owned(),
            }
        })
}

fn values() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "event",
        "script",
        "name",
        "handler",
        "command",
        "endpoint",
        "tool.pre",
        "10s",
        "rungs",
        "hooks",
        "expect",
        "small_model",
        "verify",
        "timeout",
        "format",
        "auto",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        let key = words.clone().prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn a_written_hook_reads_back_as_itself(hook in hooks(texts())) {
        let file = format!("dir/{}.md", hook.name);
        let read = HookArtifact::parse(&file, &written::hook(&hook));
        prop_assert_eq!(read, Ok(hook));
    }

    #[test]
    fn a_hook_with_a_literal_block_reads_back_as_itself(
        hook in hooks("( {0,8}[!-~]([ -~]{0,40})\n){1,10}"),
    ) {
        let file = format!("{}.md", hook.name);
        let text = written::hook_with_block(&hook);
        prop_assert_eq!(HookArtifact::parse(&file, &text), Ok(hook.clone()));
        let crlf = text.replace('\n', "\r\n");
        prop_assert_eq!(HookArtifact::parse(&file, &crlf), Ok(hook));
    }

    #[test]
    fn an_inline_hook_reads_back_as_itself(hook in hooks(texts())) {
        let value = serde_json::to_value(&hook).unwrap();
        let read = HookArtifact::from_value(&value, &Code::slug("x"), &Place::file("r"));
        prop_assert_eq!(read.as_ref(), Ok(&hook));
        prop_assert_eq!(serde_json::from_value::<HookArtifact>(value).unwrap(), hook);
    }

    #[test]
    fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(text) = FrontMatter::decode("a.md", &bytes) {
            let _ = HookArtifact::parse("a.md", text);
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = Profile::parse("a.md", &text);
        let _ = FrontMatter::parse("a.md", &format!("---\n{text}\n---\n{text}"));
    }

    #[test]
    fn no_yaml_is_too_odd(yaml in "([a-z&*!|>'\"#%@`{}\\[\\],:?~<.0-9 \t-]{0,12}\r?\n){0,12}") {
        let text = format!("---\n{yaml}---\n");
        let _ = HookArtifact::parse("a.md", &text);
        if let Err(error) = Profile::parse("a.md", &text) {
            prop_assert!(!error.to_string().is_empty());
            prop_assert!(error.place().line.is_none_or(|line| (1..=30).contains(&line)));
        }
    }

    #[test]
    fn no_value_is_too_odd(value in values()) {
        let name = Code::slug("a");
        let _ = HookArtifact::from_value(&value, &name, &Place::file("r"));
        let _ = HookRef::list(&value, &name, &Place::file("r"));
        if let Value::Object(keys) = &value {
            let keys = keys.iter().filter(|(key, _)| !key.is_empty());
            let keys = keys.map(|(key, value)| (key.clone(), value.clone())).collect();
            let text = written::file(&keys, "");
            let _ = Profile::parse("a.md", &text);
            let _ = HookArtifact::parse("a.md", &text);
        }
    }
}
