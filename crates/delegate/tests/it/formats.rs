//! Each agent's output, read to the exact claim; and what cannot be read.

use std::path::{Path, PathBuf};

use probity_core::{Claim, Usage};
use probity_delegate::{Answered, CommandConfig, Delegate, DelegateError, Format, OnError};
use probity_sandbox::Captured;

use crate::{delegate, request, sh};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// Runs an agent that writes `bytes`.
async fn read(format: Format, bytes: impl AsRef<[u8]>) -> Result<Answered, DelegateError> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("out"), bytes).unwrap();
    let config = CommandConfig { format, ..CommandConfig::new(["cat", "out"]) };
    delegate(config, dir.path()).attempt(&request(1)).await
}

async fn detail(format: Format, bytes: impl AsRef<[u8]>) -> String {
    match read(format, bytes).await {
        Err(error @ DelegateError::Output { .. }) => {
            assert_eq!(error.code(), "delegate_output");
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

fn expected(name: &str) -> Answered {
    let text = std::fs::read(testdata().join(format!("{name}.answered.json"))).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
    Answered {
        claim: serde_json::from_value::<Claim>(value["claim"].clone()).unwrap(),
        usage: serde_json::from_value::<Usage>(value["usage"].clone()).unwrap(),
        session: value["session"].as_str().map(str::to_owned),
        notes: Vec::new(),
    }
}

const SAMPLES: [(&str, Format); 8] = [
    ("claude-stream.jsonl", Format::Claude),
    ("claude-json.json", Format::Claude),
    ("claude-verbose.json", Format::Claude),
    ("claude-cut.jsonl", Format::Claude),
    ("codex-exec.jsonl", Format::Codex),
    ("gemini-stream.jsonl", Format::Gemini),
    ("gemini-json.json", Format::Gemini),
    ("opencode-run.jsonl", Format::Opencode),
];

#[tokio::test]
async fn every_sample_is_read_exactly_under_its_name_and_by_its_first_line() {
    for (file, format) in SAMPLES {
        let bytes = std::fs::read(testdata().join(file)).unwrap();
        let expected = expected(file.split('.').next().unwrap());
        for format in [format, Format::Auto] {
            assert_eq!(read(format, &bytes).await.unwrap(), expected, "{file} as {format:?}");
            let stdout =
                Captured { total_bytes: bytes.len() as u64, head: bytes.clone(), tail: vec![] };
            assert_eq!(format.claim(&stdout).unwrap(), expected.claim, "{file} as {format:?}");
        }
        // Line ends of another system.
        let crlf = String::from_utf8(bytes).unwrap().replace('\n', "\r\n");
        assert_eq!(read(format, crlf).await.unwrap(), expected, "{file} with CRLF");
    }
    let files = std::fs::read_dir(testdata()).unwrap().count();
    assert_eq!(files, SAMPLES.len() * 2 + 1, "a sample is not in the table");
}

/// What real agents wrote, and the tool that each wrote the file with: see `docs/clients.md`.
const CLIENTS: [(&str, Format, &str); 5] = [
    ("claude", Format::Claude, "Write"),
    ("codex", Format::Codex, "command_execution"),
    ("gemini", Format::Gemini, "write_file"),
    ("opencode", Format::Opencode, "write"),
    ("qwen", Format::Claude, "write_file"),
];

#[tokio::test]
async fn real_agents_are_read_through_a_lie_and_its_correction_in_one_session() {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/clients");
    for (client, format, tool) in CLIENTS {
        for format in [format, Format::Auto] {
            let attempt = async |number: u32| {
                let file = clients.join(format!("{client}/attempt-{number}.jsonl"));
                read(format, std::fs::read(file).unwrap()).await.unwrap()
            };
            let (lie, truth) = (attempt(1).await, attempt(2).await);
            assert_eq!(lie.claim.response, "Done, I wrote out.txt.", "{client}");
            assert_eq!(lie.claim.tool_calls, [], "{client}");
            assert_eq!(truth.claim.response, "Done: out.txt holds hello.", "{client}");
            let calls: Vec<_> = truth.claim.tool_calls.iter().map(|call| &call.name).collect();
            assert_eq!(calls, [tool], "{client}");
            let results = &truth.claim.tool_results;
            assert_eq!(results.len(), 1, "{client}");
            assert_eq!(results[0].call_id, truth.claim.tool_calls[0].id, "{client}");
            assert!(!results[0].is_error, "{client}");
            assert!(lie.session.is_some() && lie.session == truth.session, "{client}");
            assert!(lie.usage.tokens > 0 && truth.usage.tokens > lie.usage.tokens, "{client}");
        }
    }
}

#[tokio::test]
async fn auto_takes_what_it_does_not_know_as_text() {
    for text in [
        "Done.",
        "{\"type\":\"result\"}",
        "{\"answer\": 42}",
        "[1, 2]",
        "{ not json",
        "",
        "I wrote:\n{\"type\":\"note\"}",
    ] {
        let answered = read(Format::Auto, text).await.unwrap();
        assert_eq!(answered, Answered::of(Claim::text(text)), "{text}");
    }
}

#[tokio::test]
async fn a_line_that_is_not_json_is_an_error_with_its_number() {
    let good = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n";
    for (bytes, said) in [
        (format!("{good}{{\"type\":\n"), "line 2 is not JSON"),
        (format!("banner\n{good}{good}oops\n{good}"), "line 4 is not JSON"),
        (format!("{good}\n\n[1]\n"), "line 4 is not an object"),
        (format!("{good}{{\"type\":\"turn.comp"), "line 2 is not JSON"),
        ("no json\nat all\n".to_owned(), "line 1 is not JSON"),
        (String::new(), "it wrote nothing"),
        ("\n\n".to_owned(), "it wrote no JSON"),
    ] {
        for format in [Format::Claude, Format::Codex, Format::Gemini, Format::Opencode] {
            let detail = detail(format, &bytes).await;
            assert!(detail.contains(said) && detail.contains(format.as_str()), "{detail}");
        }
    }
    let latin = detail(Format::Codex, [good.as_bytes(), b"{\"a\":\"\xe4\"}\n"].concat()).await;
    assert!(latin.contains("line 2"), "{latin}");
}

#[tokio::test]
async fn a_last_line_that_is_cut_is_forgiven_only_to_a_program_that_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let whole =
        r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"half"}}"#;
    std::fs::write(dir.path().join("out"), format!("{whole}\n{{\"type\":\"turn")).unwrap();
    std::fs::write(dir.path().join("bad"), format!("{{\"type\":\"turn\n{whole}\n")).unwrap();
    let run = async |script: &str| {
        let config =
            CommandConfig { format: Format::Codex, on_error: OnError::Claim, ..sh(script) };
        delegate(config, dir.path()).attempt(&request(1)).await
    };
    assert_eq!(run("cat out; kill -9 $$").await.unwrap().claim.response, "half");
    for script in ["cat out", "cat out; exit 1", "cat bad; kill -9 $$", "cat out; echo; kill -9 $$"]
    {
        let result = run(script).await;
        assert!(matches!(result, Err(DelegateError::Output { .. })), "{script}: {result:?}");
    }
    // Killed before its first word: nothing was said, and nothing is made up.
    assert_eq!(run("kill -9 $$").await.unwrap(), Answered::default());
}

#[tokio::test]
async fn nothing_is_made_up_where_nothing_was_said() {
    for (format, bytes) in [
        (Format::Claude, "{\"type\":\"system\",\"subtype\":\"init\"}\n"),
        (Format::Claude, "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false}\n"),
        (Format::Claude, "{\"type\":\"assistant\",\"message\":{\"content\":\"not a list\"}}\n"),
        (Format::Codex, "{\"type\":\"turn.started\"}\n"),
        (Format::Codex, "{\"type\":\"item.completed\"}\n"),
        (Format::Gemini, "{\"type\":\"result\",\"status\":\"success\"}\n"),
        (Format::Opencode, "{\"type\":\"text\"}\n{\"type\":\"step_finish\",\"part\":{}}\n"),
        (Format::Gemini, "{\"type\":\"message\",\"role\":\"user\",\"content\":\"Write it.\"}\n"),
    ] {
        assert_eq!(read(format, bytes).await.unwrap(), Answered::default(), "{bytes}");
    }
}

#[tokio::test]
async fn an_agent_that_reports_its_own_failure_has_failed_or_claims_what_it_said() {
    let dir = tempfile::tempdir().unwrap();
    for (format, bytes, message, said) in [
        (
            Format::Claude,
            r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529","session_id":"s"}"#,
            "success: API Error: 529",
            "API Error: 529",
        ),
        (
            Format::Claude,
            "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Still at it.\"}]}}\n\
             {\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true}",
            "error_max_turns",
            "Still at it.",
        ),
        (
            Format::Codex,
            "{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"agent_message\",\"text\":\"Hm.\"}}\n\
             {\"type\":\"turn.failed\",\"error\":{\"message\":\"usage limit\"}}",
            "usage limit",
            "Hm.",
        ),
        (Format::Codex, r#"{"type":"error","message":"stream lost"}"#, "stream lost", ""),
        (
            Format::Gemini,
            r#"{"type":"result","status":"error","error":{"type":"E","message":"quota"}}"#,
            "quota",
            "",
        ),
        (
            Format::Gemini,
            r#"{"session_id":"g","error":{"type":"Error","message":"no auth","code":41}}"#,
            "no auth",
            "",
        ),
        (
            Format::Opencode,
            "{\"type\":\"text\",\"sessionID\":\"s\",\"part\":{\"messageID\":\"m\",\"text\":\"So far.\"}}\n\
             {\"type\":\"error\",\"sessionID\":\"s\",\"error\":{\"name\":\"APIError\",\"data\":{\"message\":\"quota\"}}}",
            "quota",
            "So far.",
        ),
        (
            Format::Opencode,
            r#"{"type":"error","sessionID":"s","error":{"name":"MessageAbortedError"}}"#,
            "MessageAbortedError",
            "",
        ),
    ] {
        match read(format, bytes).await {
            Err(DelegateError::Failed { message: found }) => assert_eq!(found, message),
            other => panic!("{other:?}"),
        }
        std::fs::write(dir.path().join("out"), bytes).unwrap();
        let config = CommandConfig {
            format,
            on_error: OnError::Claim,
            ..CommandConfig::new(["cat", "out"])
        };
        let answered = delegate(config, dir.path()).attempt(&request(1)).await.unwrap();
        assert_eq!(answered.claim.response, said);
    }
}

#[tokio::test]
async fn a_stream_over_the_bound_is_read_at_both_ends() {
    let dir = tempfile::tempdir().unwrap();
    let item = |n: usize, kind: &str| {
        format!(
            "{{\"type\":\"item.completed\",\"item\":{{\"id\":\"i{n}\",\"type\":\"{kind}\",\
             \"query\":\"q\",\"text\":\"answer {n}\"}}}}\n"
        )
    };
    let mut bytes = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n".to_owned();
    (0..1000).for_each(|n| bytes.push_str(&item(n, "web_search")));
    bytes.push_str(&item(1000, "agent_message"));
    std::fs::write(dir.path().join("out"), &bytes).unwrap();
    for max_output_bytes in [1000, 1001, 5000, 70_000, bytes.len()] {
        let config = CommandConfig {
            max_output_bytes,
            format: Format::Auto,
            ..CommandConfig::new(["cat", "out"])
        };
        let answered = delegate(config, dir.path()).attempt(&request(1)).await.unwrap();
        assert_eq!(answered.claim.response, "answer 1000");
        assert_eq!(answered.session.as_deref(), Some("t"));
        let calls = &answered.claim.tool_calls;
        assert_eq!(calls.len() == 1000, max_output_bytes == bytes.len());
        assert_eq!(calls.first().unwrap().id, "i0");
        assert_eq!(calls.last().unwrap().id, "i999");
    }
}
