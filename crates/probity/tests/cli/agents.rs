//! Agents and servers of tools that speak a protocol on their standard streams.

use std::fs;

use probity_chat::ModelReply;
use probity_testkit::{Answer, StrictServer, call};
use serde_json::json;

use crate::world::{CREATED, Ran, World};

/// An agent that lies in the first turn and works in the second, and keeps every session.
const ACP: &str = r#"
import json, sys
turns = 0
def send(message):
    print(json.dumps(dict(jsonrpc="2.0", **message)), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, id = asked.get("method"), asked.get("id")
    with open("../methods", "a") as log:
        log.write(str(method) + "\n")
    if method == "initialize":
        send({"id": id, "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    elif method == "session/new":
        send({"id": id, "result": {"sessionId": "s1"}})
    elif method == "session/prompt":
        turns += 1
        if turns > 1:
            open("out.txt", "w").write("hello")
        text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done."}}
        send({"method": "session/update", "params": {"sessionId": "s1", "update": text}})
        send({"id": id, "result": {"stopReason": "end_turn"}})
"#;

/// A server with one tool, which writes a file.
const MCP: &str = r#"
import json, os, sys
open("../started", "a").write("x")
def send(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, id = asked.get("method"), asked.get("id")
    if method == "initialize":
        send(id, {"protocolVersion": asked["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "files", "version": "1"}})
    elif method == "tools/list":
        send(id, {"tools": [
            {"name": "write", "description": "Writes.", "inputSchema": {"type": "object"}},
            {"name": "wipe", "description": "Wipes.", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        open("out.txt", "w").write("hello")
        said = os.environ.get("KEPT", "-") + os.environ.get("DROPPED", "-")
        send(id, {"content": [{"type": "text", "text": said}]})
"#;

#[test]
fn an_agent_is_asked_again_in_its_session() {
    let world = World::new();
    fs::write(world.beside("agent.py"), ACP).unwrap();
    let args = ["run", "write hello to out.txt", "--expect", CREATED, "--acp", "--json", "--"];
    let ran = world.probity(args.iter().chain(&["python3", "../agent.py"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    assert_eq!((&report["attempts"], &report["conversation"]), (&2.into(), &"same".into()));
    let methods = fs::read_to_string(world.beside("methods")).unwrap();
    let methods: Vec<&str> = methods.lines().collect();
    assert_eq!(methods, ["initialize", "session/new", "session/prompt", "session/prompt"]);
    let profile =
        "---\nacp: {command: 'python3 ../agent.py', permissions: {default: allow}}\n---\n";
    world.write(".probity/agents/scribe.md", profile);
    assert_eq!(world.probity(["trust"]).code, 0);
    fs::remove_file(world.at("out.txt")).unwrap();
    let args = ["run", "write hello", "--agent", "scribe", "--expect", CREATED, "--json"];
    assert_eq!(world.probity(args).code, 0);
    let no_command = world.probity(["run", "x", "--acp", "--json"]);
    assert_eq!(no_command.code, 64, "{no_command:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_server_are_offered_and_it_is_started_when_it_is_needed() {
    let world = World::new();
    fs::write(world.beside("server.py"), MCP).unwrap();
    let server = StrictServer::answers([
        Answer::reply(ModelReply::calls([call("", "files_write", json!({}))])),
        Answer::reply(ModelReply::text("Done.")),
    ])
    .start()
    .await
    .unwrap();
    let request = |command: &str, tool: &str| {
        json!({
            "task": "write hello to out.txt",
            "chat": {
                "endpoint": server.base_url(),
                "model": "small",
                "mcp": {"files": {
                    "command": [command, "../server.py"],
                    "only": [tool],
                    "env_keep": ["KEPT"],
                }},
            },
            "expect": [CREATED],
        })
    };
    let args = ["--request", "../r.json", "--workspace", ".", "--json"];
    fs::write(world.beside("r.json"), request("python3", "write").to_string()).unwrap();
    assert_eq!(world.probity(["check", "../r.json"]).code, 0);
    assert!(fs::metadata(world.beside("started")).is_err(), "looking starts nothing");
    let ran: Ran = world
        .command(["run"].iter().chain(&args))
        .env("KEPT", "kept")
        .env("DROPPED", "dropped")
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 0, "{ran:?}");
    let received = server.received();
    let tools = received[0].body["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{tools:?}");
    assert_eq!(tools[0]["function"]["name"], "files_write");
    let results = received[1].body["messages"].as_array().unwrap();
    assert_eq!(results.last().unwrap()["content"], "kept-");

    for (command, tool, words) in [
        ("./no-such-server", "write", "MCP server `files`"),
        ("python3", "wrote", "offers no tools"),
    ] {
        fs::write(world.beside("r.json"), request(command, tool).to_string()).unwrap();
        let ran = world.probity(["run"].iter().chain(&args));
        assert_eq!(ran.code, 5, "{ran:?}");
        assert!(ran.stdout.contains(words), "{ran:?}");
    }
    assert_eq!(server.received().len(), 2, "the model is not asked without its tools");
}
