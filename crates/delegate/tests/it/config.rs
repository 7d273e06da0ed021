//! What a project file may say.

use probity_delegate::{
    CommandConfig, CommandDelegate, ConfigError, DEFAULT_MAX_OUTPUT_BYTES, DEFAULT_TIMEOUT_MS,
    Format, OnError,
};
use serde_json::{Value, json};

use crate::launcher;

#[test]
fn a_short_entry_has_the_defaults_and_an_unknown_key_is_an_error() {
    let short: CommandConfig = serde_json::from_value(json!({"argv": ["agent"]})).unwrap();
    assert_eq!(short, CommandConfig::new(["agent"]));
    assert_eq!(short.timeout_ms, DEFAULT_TIMEOUT_MS);
    assert_eq!(short.max_output_bytes, DEFAULT_MAX_OUTPUT_BYTES);
    assert_eq!((short.format, short.on_error), (Format::Text, OnError::Fail));

    let full: CommandConfig = serde_json::from_value(json!({
        "argv": ["agent", "{prompt}"], "resume": ["agent", "--resume", "{session}"],
        "format": "claude", "on_error": "claim", "env": {"A": "b"},
        "timeout_ms": 5, "max_output_bytes": 6, "term_grace_ms": 7,
    }))
    .unwrap();
    assert_eq!((full.format, full.on_error), (Format::Claude, OnError::Claim));
    assert_eq!((full.timeout_ms, full.max_output_bytes, full.term_grace_ms), (5, 6, 7));

    for bad in [
        json!({"argv": ["agent"], "retries": 3}),
        json!({"argv": "agent"}),
        json!({}),
        json!({"argv": ["agent"], "format": "yaml"}),
        json!({"argv": ["agent"], "on_error": "ignore"}),
        json!({"argv": ["agent"], "timeout_ms": -1}),
    ] {
        assert!(serde_json::from_value::<CommandConfig>(bad.clone()).is_err(), "{bad}");
    }
    for format in [
        Format::Text,
        Format::Auto,
        Format::Claude,
        Format::Codex,
        Format::Gemini,
        Format::Opencode,
    ] {
        let word = Value::from(format.as_str());
        assert_eq!(serde_json::from_value::<Format>(word).unwrap(), format);
    }
}

#[test]
fn what_cannot_work_is_refused_at_once() {
    type Expected = fn(&ConfigError) -> bool;
    let base = || CommandConfig::new(["agent"]);
    let shell = |argv: &[&str]| CommandConfig::new(argv.iter().copied());
    let is_shell = |error: &ConfigError| matches!(error, ConfigError::Shell { .. });
    let is_empty = |error: &ConfigError| matches!(error, ConfigError::Empty { .. });
    let cases: [(CommandConfig, Expected); 9] = [
        (CommandConfig::new(Vec::<String>::new()), is_empty),
        (CommandConfig::new([""]), is_empty),
        (CommandConfig { resume: Some(Vec::new()), ..base() }, is_empty),
        (shell(&["sh", "-c", "agent '{prompt}'"]), is_shell),
        (shell(&["/bin/bash", "-lc", "agent {task}"]), is_shell),
        (
            CommandConfig {
                resume: Some(vec!["sh".into(), "-c".into(), "a {session}".into()]),
                ..base()
            },
            is_shell,
        ),
        (shell(&["agent", "--resume={session}"]), |e| *e == ConfigError::SessionTooEarly),
        (CommandConfig { timeout_ms: 0, ..base() }, |e| *e == ConfigError::NoTime),
        (CommandConfig { resume: Some(vec![String::new()]), ..base() }, is_empty),
    ];
    for (config, expected) in cases {
        let error = CommandDelegate::new(config.clone(), ".", launcher()).unwrap_err();
        assert!(expected(&error), "{config:?}: {error}");
    }
    for argv in [
        vec!["sh", "-c", "agent \"$1\"", "agent", "{prompt}"],
        vec!["sh", "-c", "agent --attempt {attempt} --run {run}"],
        vec!["agent", "-c", "{prompt}"],
        vec!["awk", "{print}"],
    ] {
        assert_eq!(shell(&argv).validate(), Ok(()), "{argv:?}");
    }
}

#[test]
fn the_known_agents_are_resumed_and_read_in_their_own_format() {
    for (name, format) in [
        ("claude", Format::Claude),
        ("codex", Format::Codex),
        ("gemini", Format::Gemini),
        ("opencode", Format::Opencode),
        ("qwen", Format::Claude),
    ] {
        let config = CommandConfig::known(name).unwrap();
        assert_eq!(config.validate(), Ok(()));
        assert_eq!(config.format, format);
        let resume = config.resume.unwrap();
        assert!(resume.iter().any(|word| word == "{session}"), "{resume:?}");
        for argv in [&config.argv, &resume] {
            assert_eq!(argv[0], name);
            // The prompt goes by standard input, which has room for it.
            assert!(!argv.iter().any(|word| word.contains("{prompt}")), "{argv:?}");
        }
    }
    assert_eq!(CommandConfig::known("unknown"), None);
}
