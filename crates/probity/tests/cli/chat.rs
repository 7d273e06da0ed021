//! A chat model as the delegate: its tools, its key, what a caller may say of an operator's.

use std::fs;

use probity_chat::ModelReply;
use probity_testkit::{Answer, StrictServer, call};
use serde_json::{Value, json};

use crate::world::{CREATED, Ran, World};

const KEY: &str = "sk-test-31415926";
const TOOL: &str = "def run(args):\n    return fs.write(args[\"path\"], args[\"text\"])\n";

fn text(text: &str) -> Answer {
    Answer::reply(ModelReply::text(text))
}

fn write(path: &str) -> Answer {
    let arguments = json!({ "path": path, "text": "hello" });
    Answer::reply(ModelReply::calls([call("", "write_file", arguments)]))
}

async fn server(answers: impl IntoIterator<Item = Answer>) -> StrictServer {
    StrictServer::answers(answers).key(KEY).model("small").start().await.unwrap()
}

fn tool_keys() -> Value {
    json!({
        "name": "write_file",
        "description": "Writes a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
            "required": ["path", "text"],
        },
        "script": TOOL,
    })
}

fn chat_keys(server: &StrictServer) -> Value {
    json!({
        "endpoint": server.base_url(),
        "model": "small",
        "key_env": "TEST_KEY",
        "tools": [tool_keys()],
    })
}

/// Runs a request, with the key in the environment or without.
fn run(world: &World, request: &Value, key: Option<&str>, more: &[&str]) -> Ran {
    fs::write(world.beside("r.json"), request.to_string()).unwrap();
    let head = ["run", "--request", "../r.json", "--workspace", ".", "--json"];
    let mut command = world.command(head.iter().chain(more));
    match key {
        Some(key) => command.env("TEST_KEY", key),
        None => command.env_remove("TEST_KEY"),
    };
    command.output().unwrap().into()
}

fn holds(folder: &std::path::Path, needle: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| match entry.path() {
        path if path.is_dir() => holds(&path, needle),
        path => {
            fs::read(path).unwrap().windows(needle.len()).any(|window| window == needle.as_bytes())
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_lied_is_told_and_writes_the_file_with_its_tool() {
    let world = World::new();
    let server = server([text("Done."), write("out.txt"), text("Now it is there.")]).await;
    let request = json!({
        "task": "write hello to out.txt",
        "system_prompt": "Be brief.",
        "chat": chat_keys(&server),
        "expect": [CREATED],
    });
    let ran = run(&world, &request, Some(KEY), &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    assert_eq!((&report["attempts"], &report["conversation"]), (&2.into(), &"same".into()));
    assert_eq!(world.read("out.txt"), "hello");
    let received = server.received();
    assert_eq!((received.len(), server.violations()), (3, vec![]));
    let roles = |at: usize| -> Vec<String> {
        let messages = received[at].body["messages"].as_array().unwrap();
        messages.iter().map(|it| it["role"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(roles(0), ["system", "user"]);
    assert_eq!(roles(1), ["system", "user", "assistant", "user"], "one conversation");
    assert_eq!(roles(2)[4..], ["assistant", "tool"]);
    assert!(received[1].text.contains("VERIFICATION FAILED"), "{}", received[1].text);
    assert!(!holds(&world.beside("state"), KEY), "the record holds the key");
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_refuses_is_asked_once_and_quoted() {
    let world = World::new();
    let server = server([text("Done.")]).await;
    let request = json!({"task": "x", "chat": chat_keys(&server), "expect": [CREATED]});
    let ran = run(&world, &request, Some("sk-wrong"), &[]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stdout.contains("Incorrect API key provided."), "{ran:?}");
    assert!(ran.stdout.contains("model_refused") && !ran.stdout.contains("sk-wrong"), "{ran:?}");
    assert_eq!(server.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_not_there_is_named_before_anything_is_asked() {
    let world = World::new();
    let server = server([text("Done.")]).await;
    let request = json!({"task": "x", "chat": chat_keys(&server), "expect": [CREATED]});
    for key in [None, Some("")] {
        let ran = run(&world, &request, key, &[]);
        assert_eq!((ran.code, ran.error_code()), (64, "model_key_missing".to_owned()));
        assert!(ran.stderr.contains("`TEST_KEY`"), "{ran:?}");
    }
    let far = json!({"endpoint": "https://models.example/v1", "model": "small"});
    let ran = run(&world, &json!({"task": "x", "chat": far}), None, &[]);
    assert_eq!(ran.error_code(), "model_key_missing");
    assert!(ran.stderr.contains("`OPENAI_API_KEY`"), "{ran:?}");
    assert_eq!(server.received().len(), 0);
}

#[test]
fn a_key_that_nobody_named_does_not_go_where_others_could_read_it() {
    let world = World::new();
    for (endpoint, is_missed) in
        [("https://models.example/v1", true), ("HTTP://192.0.2.1:8000/v1", false)]
    {
        let chat = json!({"endpoint": endpoint, "model": "small"});
        world.write("r.json", &json!({"task": "x", "chat": chat}).to_string());
        let checked = world.command(["check", "r.json"]).env_remove("OPENAI_API_KEY").output();
        let checked = Ran::from(checked.unwrap());
        assert_eq!(checked.stdout.contains("model_key_missing"), is_missed, "{checked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_names_a_model_and_a_local_one_needs_no_key() {
    let world = World::new();
    for api in ["openai", "anthropic"] {
        let server = StrictServer::answers([text("hi there")]).start().await.unwrap();
        let url = server.base_url();
        let args = ["run", "say hi", "--expect", "text:contains=hi", "--endpoint", &url];
        let more = ["--model", "small", "--api", api, "--json"];
        let ran = world
            .command(args.iter().chain(&more))
            .env_remove("OPENAI_API_KEY")
            .env_remove("ANTHROPIC_API_KEY")
            .output()
            .map(Ran::from)
            .unwrap();
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(server.received()[0].body["model"], "small");
    }
    let wrong = ["run", "x", "--endpoint", "http://localhost/", "--model", "m", "--json"];
    let ran = world.probity(wrong.iter().chain(&["--key-env", "sk-ant-api-1"]));
    assert_eq!(ran.code, 64, "{ran:?}");
    assert!(!ran.stderr.contains("sk-ant-api-1"), "{ran:?}");
    let ran = world.probity(wrong.iter().chain(&["--", "true"]));
    assert_eq!(ran.code, 64, "one delegate: {ran:?}");
    let ran = world.probity(["run", "x", "--model", "m", "--json", "--", "true"]);
    assert_eq!(ran.error_code(), "request_chat_key", "{ran:?}");
    let ran = world.probity(["run", "x", "--endpoint", "http://localhost/", "--json"]);
    assert_eq!(ran.error_code(), "request_chat_needs", "{ran:?}");
}

#[test]
fn a_request_that_cannot_mean_what_it_says_is_refused_by_name() {
    let world = World::new();
    let chat = |more: Value| {
        let mut chat = json!({"endpoint": "http://localhost/v1", "model": "m"});
        for (key, value) in more.as_object().unwrap() {
            chat[key] = value.clone();
        }
        json!({"task": "x", "chat": chat})
    };
    let with = |key: &str, value: Value| {
        let mut request = chat(json!({}));
        request[key] = value;
        request
    };
    let script = json!([{"name": "a", "description": "b", "script": "x", "script_file": "y"}]);
    let twice = json!([tool_keys(), tool_keys()]);
    let named = json!([{"name": "a b", "description": "b", "script": TOOL}]);
    let table = [
        (chat(json!({"api_key": KEY})), "request_parse", "name that by `key_env`"),
        (chat(json!({"key_env": KEY})), "request_parse", "the name of an environment variable"),
        (chat(json!({"modle": "x"})), "request_parse", "did you mean `model`?"),
        (chat(json!({"tools": script})), "request_parse", "one of `script` and `script_file`"),
        (chat(json!({"tools": twice})), "tool_name_taken", "`write_file`"),
        (chat(json!({"tools": named})), "tool_name", "`a b`"),
        (chat(json!({"temperature": 9})), "model_endpoint_range", "temperature"),
        (
            chat(json!({"endpoint": format!("http://u:{KEY}@localhost/")})),
            "request_parse",
            "`key_env`",
        ),
        (
            chat(json!({"endpoint": format!("http://localhost/?a=b&api_key={KEY}")})),
            "request_parse",
            "`key_env`",
        ),
        (chat(json!({"endpoint": "nowhere"})), "model_endpoint_url", "base_url"),
        (with("model", json!("n")), "request_key_twice", "`model`"),
        (with("command", json!(["true"])), "request_delegates", "keep one"),
        (with("acp", json!({"command": ["true"]})), "request_delegates", "keep one"),
        (with("format", json!("claude")), "request_command_key", "`format`"),
        (json!({"task": "x", "acp": {"command": []}}), "request_parse", "`command` is empty"),
        (json!({"task": "x", "acp": {"comand": []}}), "request_parse", "did you mean `command`?"),
        (
            json!({"task": "x", "acp": {"command": ["a"], "permissions": {"rule": []}}}),
            "request_parse",
            "`permissions` of `acp`",
        ),
    ];
    for (request, code, words) in table {
        let ran = run(&world, &request, None, &[]);
        assert_eq!((ran.code, ran.error_code().as_str()), (64, code), "{request}: {ran:?}");
        assert!(ran.stderr.contains(words), "{request}: {ran:?}");
        assert!(!ran.stderr.contains(KEY) && !ran.stdout.contains(KEY), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_the_model_may_stand_at_the_top() {
    let world = World::new();
    let server = server([write("out.txt"), text("Done.")]).await;
    let request = json!({
        "task": "write hello to out.txt",
        "chat": {"endpoint": server.base_url(), "key_env": "TEST_KEY"},
        "model": "small",
        "tools": [tool_keys()],
        "expect": [CREATED],
    });
    assert_eq!(run(&world, &request, Some(KEY), &[]).code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_keeps_off_what_judges_it() {
    let world = World::new();
    world.write("judge.star", "def run(result):\n    return fs.exists(\"out.txt\")\n");
    world.write("tools/write.star", TOOL);
    let server = server([
        write("judge.star"),
        write("tools/write.star"),
        write(".probity/probity.toml"),
        write("../r.json"),
        write("out.txt"),
        text("Done."),
    ])
    .await;
    let mut chat = chat_keys(&server);
    chat["tools"][0]["script"].take();
    chat["tools"][0].as_object_mut().unwrap().remove("script");
    chat["tools"][0]["script_file"] = "workspace/tools/write.star".into();
    let request = json!({
        "task": "write hello to out.txt",
        "chat": chat,
        "verify_files": ["workspace/judge.star"],
    });
    let ran = run(&world, &request, Some(KEY), &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.read("tools/write.star"), TOOL);
    let last = &server.received()[5].body["messages"];
    let results: Vec<&str> = last
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    for refused in &results[..3] {
        assert!(refused.contains("protected"), "{results:?}");
    }
    assert!(!results[3].contains("wrote"), "{results:?}");
    assert!(results[4].contains("wrote 5 bytes"), "{results:?}");
}

const PROFILE: &str = "---\nendpoint: URL\nmodel: small\nkey_env: TEST_KEY\n\
    tools:\n  - name: write_file\n    description: Writes a file.\n    \
    parameters: {type: object}\n    script_file: tools/write.star\n\
    expect: ['file:out.txt,created']\n---\nYou write files.\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_has_a_model_and_nobody_changes_its_tools() {
    let world = World::new();
    let server = server([write("out.txt"), text("Done.")]).await;
    world.write("tools/write.star", TOOL);
    world.write(".probity/agents/scribe.md", &PROFILE.replace("URL", &server.base_url()));
    assert_eq!(world.probity(["trust"]).code, 0);
    let refused = |chat: Value| {
        let request = json!({"task": "x", "agent": "scribe", "chat": chat});
        let ran = run(&world, &request, Some(KEY), &[]);
        assert_eq!(ran.code, 64, "{ran:?}");
        ran.error_code()
    };
    let mut other = tool_keys();
    other["name"] = "other".into();
    assert_eq!(refused(json!({"tools": [tool_keys()]})), "request_tool_taken");
    assert_eq!(refused(json!({"tools": [other.clone()]})), "request_chat_key");
    assert_eq!(refused(json!({"mcp": {"m": {"command": ["true"]}}})), "request_chat_key");
    assert_eq!(refused(json!({"key_env": "HOME"})), "request_chat_key");
    let own =
        |tools: Value| json!({"endpoint": server.base_url(), "model": "small", "tools": tools});
    assert_eq!(refused(own(json!([tool_keys()]))), "request_tool_taken");
    assert_eq!(server.received().len(), 0);

    let asked = json!({"task": "write out.txt", "agent": "scribe"});
    let ran = run(&world, &asked, Some(KEY), &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(server.received()[0].text.contains("You write files."));

    // Another model of the same endpoint is the caller's to choose; the server does not know it.
    let ran = run(&world, &asked, Some(KEY), &["--model", "large"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stdout.contains("`large` does not exist"), "{ran:?}");

    // A delegate of the caller's own has the caller's tools, and not the operator's.
    let mut chat = own(json!([other]));
    chat["key_env"] = "TEST_KEY".into();
    run(&world, &json!({"task": "x", "agent": "scribe", "chat": chat}), Some(KEY), &[]);
    let last = server.received().pop().unwrap();
    assert_eq!(last.body["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(last.body["tools"][0]["function"]["name"], "other");

    world.write("tools/write.star", "def run(args):\n    return 1\n");
    assert_eq!(world.probity(["trust", "--show"]).code, 1, "a tool that changed is not trusted");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_tells_what_a_run_would_stumble_over_and_starts_nothing() {
    let world = World::new();
    let server = server([text("Done.")]).await;
    let mut chat = chat_keys(&server);
    chat["mcp"] = json!({"files": {"command": ["no-such-server-here"]}});
    chat["tools"][0]["script"] = "def run(args)\n    return 1\n".into();
    world.write("r.json", &json!({"task": "x", "chat": chat}).to_string());
    let ran: Ran = world
        .command(["check", "r.json", "--json"])
        .env_remove("TEST_KEY")
        .output()
        .unwrap()
        .into();
    let findings = ran.json()["findings"].clone();
    let has = |state: &str, code: &str, words: &str| {
        findings.as_array().unwrap().iter().any(|it| {
            it["state"] == state
                && it["code"].as_str().unwrap_or_default() == code
                && it["message"].as_str().unwrap().contains(words)
        })
    };
    assert!(has("ok", "", "small at http://127.0.0.1"), "{findings:#}");
    assert!(has("warning", "model_key_missing", "`TEST_KEY`"), "{findings:#}");
    assert!(has("warning", "delegate_start", "`no-such-server-here`"), "{findings:#}");
    assert!(has("error", "script_syntax", ""), "{findings:#}");
    assert_eq!(ran.code, 64);
    assert_eq!(server.received().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_goes_on_behind_its_last_answer_and_repeats_none() {
    let world = World::new();
    let (asked, mut was_asked) = tokio::sync::mpsc::unbounded_channel();
    let server = StrictServer::answering(move |received| match received.number {
        0 => write("out.txt"),
        1 => {
            asked.send(()).unwrap();
            Answer::hang()
        }
        _ => text("Done."),
    })
    .key(KEY)
    .start()
    .await
    .unwrap();
    let request = json!({
        "id": "it",
        "task": "write hello to out.txt",
        "chat": chat_keys(&server),
        "expect": [CREATED],
    });
    fs::write(world.beside("r.json"), request.to_string()).unwrap();
    let args = ["run", "--request", "../r.json", "--workspace", ".", "--json"];
    let mut run = world.command(args).env("TEST_KEY", KEY).spawn().unwrap();
    was_asked.recv().await.unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    world.write("out.txt", "hello, still");
    let ran = world.command(["run", "--resume", "it", "--json"]).env("TEST_KEY", KEY).output();
    let ran = Ran::from(ran.unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((&ran.json()["attempts"], &ran.json()["interruptions"]), (&1.into(), &1.into()));
    assert_eq!(world.read("out.txt"), "hello, still", "the call is not made twice");
    let received = server.received();
    assert_eq!((received.len(), server.violations()), (3, vec![]));
    assert_eq!(received[1].body["messages"], received[2].body["messages"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_taken_up_with_other_tools_says_so() {
    let world = World::new();
    world.write("tools/write.star", TOOL);
    let (asked, mut was_asked) = tokio::sync::mpsc::unbounded_channel();
    let server = StrictServer::answering(move |received| match received.number {
        0 => {
            asked.send(()).unwrap();
            Answer::hang()
        }
        1 => write("out.txt"),
        _ => text("Done."),
    })
    .key(KEY)
    .start()
    .await
    .unwrap();
    let mut chat = chat_keys(&server);
    chat["tools"][0].as_object_mut().unwrap().remove("script");
    chat["tools"][0]["script_file"] = "workspace/tools/write.star".into();
    let request = json!({"id": "it", "task": "write out.txt", "chat": chat, "expect": [CREATED]});
    fs::write(world.beside("r.json"), request.to_string()).unwrap();
    let args = ["run", "--request", "../r.json", "--workspace", ".", "--json"];
    let mut run = world.command(args).env("TEST_KEY", KEY).spawn().unwrap();
    was_asked.recv().await.unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    world.write("tools/write.star", &format!("{TOOL}\n# another\n"));
    let ran = world.command(["run", "--resume", "it", "--json"]).env("TEST_KEY", KEY).output();
    let ran = Ran::from(ran.unwrap());
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("judge_tampered") && ran.stdout.contains("write.star"), "{ran:?}");
}
