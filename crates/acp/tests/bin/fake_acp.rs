//! An agent that does what its script says, in hand-written JSON-RPC.
//!
//! `FAKE_ACP` is the script, `FAKE_ACP_STATE` a folder that outlives the process: `log` holds every
//! message that was received, `prompts` the number of prompts, `session-*` what was said in a session.
//! A script of `play` is a recorded conversation whose side of the agent is said again.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "an agent of tests; what it cannot do ends it"
)]

use std::fs;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

fn main() {
    let script: Value = serde_json::from_str(&std::env::var("FAKE_ACP").unwrap()).unwrap();
    let state = PathBuf::from(std::env::var("FAKE_ACP_STATE").unwrap());
    if let Some(code) = script["die_at_once"].as_i64() {
        eprintln!("cannot work today");
        std::process::exit(i32::try_from(code).unwrap());
    }
    let mut fake = Fake { script, state, stdin: std::io::stdin().lock() };
    if let Some(record) = fake.script["play"].as_str().map(fs::read_to_string) {
        return fake.play(&record.unwrap());
    }
    while let Some(message) = fake.read() {
        fake.handle(&message);
    }
}

struct Fake {
    script: Value,
    state: PathBuf,
    stdin: std::io::StdinLock<'static>,
}

impl Fake {
    fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        if self.stdin.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        let path = self.state.join("log");
        let mut log = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        log.write_all(line.as_bytes()).unwrap();
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Hears a message wherever the client said one then, and says what the agent said then; what was
    /// the folder of the record is the one of today.
    fn play(&mut self, record: &str) {
        let mut ids: Vec<(Value, Value)> = Vec::new();
        let mut folder = String::new();
        for line in record.lines() {
            let then: Value = serde_json::from_str(line).unwrap();
            let (from, mut message) = (then["from"].as_str().unwrap(), then["message"].clone());
            if from == "client" {
                let heard = self.read().unwrap();
                assert_eq!(heard["method"], message["method"]);
                ids.push((message["id"].clone(), heard["id"].clone()));
                if let Some(cwd) = heard["params"]["cwd"].as_str() {
                    cwd.clone_into(&mut folder);
                }
                continue;
            }
            if message["method"].is_null() {
                let known = ids.iter().find(|(then, _)| *then == message["id"]).unwrap();
                message["id"] = known.1.clone();
            }
            println!("{}", message.to_string().replace("/tmp/client/work", &folder));
        }
        self.read();
    }

    fn handle(&mut self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => self.initialize(id),
            "authenticate" => {
                fs::write(self.state.join("logged-in"), "").unwrap();
                respond(id, json!({}));
            }
            "session/new" => self.open(id),
            method @ ("session/load" | "session/resume") => {
                let session = params["sessionId"].as_str().unwrap();
                match fs::read_to_string(self.session(session)) {
                    Ok(said) if self.script["answers_first"] == true => {
                        respond(id, json!({}));
                        return replay(session, &said);
                    }
                    Ok(said) if method == "session/load" => replay(session, &said),
                    Ok(_) => {}
                    Err(_) => return refuse(id, -32002, "Resource not found"),
                }
                respond(id, json!({}));
            }
            "session/set_mode" | "session/set_config_option" => {
                respond(id, json!({ "configOptions": [] }));
            }
            "session/prompt" => self.prompt(id, params),
            _ if id.is_null() => {}
            _ => refuse(id, -32601, "Method not found"),
        }
    }

    fn initialize(&mut self, id: &Value) {
        match self.script["initialize"].as_str() {
            Some("silent") => return,
            Some("garbage") => {
                println!("Welcome to the agent!");
                return;
            }
            Some("garbage_without_end") => loop {
                println!("Welcome to the agent!");
            },
            Some("line_without_end") => loop {
                print!("{{{}", " ".repeat(1024 * 1024));
            },
            Some("banner") => println!("Welcome to the agent!\n\n[]\n{{not json"),
            _ => {}
        }
        let capability = |name: &str| self.script[name].as_bool().unwrap_or_default();
        let resume = if capability("resume") { json!({}) } else { Value::Null };
        respond(
            id,
            json!({
                "protocolVersion": self.script.get("version").cloned().unwrap_or(json!(1)),
                "agentCapabilities": {
                    "loadSession": capability("load"),
                    "sessionCapabilities": { "resume": resume },
                },
                "authMethods": [{ "id": "by-key", "name": "Key" }],
            }),
        );
    }

    fn open(&mut self, id: &Value) {
        if self.script["wants_login"] == true && !self.state.join("logged-in").exists() {
            return refuse(id, -32000, "Authentication required");
        }
        if self.script["die_at_new"] == true {
            std::process::exit(7);
        }
        let number = (1..).find(|n| !self.session(&format!("s{n}")).exists()).unwrap();
        let session = format!("s{number}");
        fs::write(self.session(&session), "").unwrap();
        respond(
            id,
            json!({
                "sessionId": session,
                "modes": self.script.get("modes").cloned().unwrap_or_default(),
                "configOptions": self.script.get("options").cloned().unwrap_or_default(),
            }),
        );
    }

    fn session(&self, id: &str) -> PathBuf {
        self.state.join(format!("session-{id}"))
    }

    fn prompt(&mut self, id: &Value, params: &Value) {
        let session = params["sessionId"].as_str().unwrap().to_owned();
        let said = params["prompt"][0]["text"].as_str().unwrap();
        let mut file = fs::OpenOptions::new().append(true).open(self.session(&session)).unwrap();
        writeln!(file, "{said}").unwrap();
        let counter = self.state.join("prompts");
        let turn: usize = fs::read_to_string(&counter).map_or(0, |count| count.parse().unwrap());
        fs::write(&counter, (turn + 1).to_string()).unwrap();

        let mut response = json!({ "stopReason": "end_turn" });
        let Some(actions) = self.script["turns"][turn].as_array().cloned() else {
            say(&session, &format!("{session} heard: {said}"));
            return respond(id, response);
        };
        for action in actions {
            let (name, value) = action.as_object().unwrap().iter().next().unwrap();
            match name.as_str() {
                "stop" => response["stopReason"] = value.clone(),
                "tokens" => response["usage"] = json!({ "totalTokens": value }),
                "fail" => return refuse(id, -32603, value.as_str().unwrap()),
                "then_die" => {
                    respond(id, response);
                    std::process::exit(0);
                }
                "without_reason" => response = json!({}),
                _ => self.act(&session, name, value),
            }
        }
        respond(id, response);
    }

    fn act(&mut self, session: &str, name: &str, value: &Value) {
        let text = || value.as_str().unwrap();
        match name {
            "say" => say(session, text()),
            "update" => update(session, value.clone()),
            "other_session" => say("another", text()),
            "line" => println!("{}", text()),
            "ask" => {
                let mut params = value.clone();
                params["sessionId"] = json!(session);
                let answer = self.request("session/request_permission", &params);
                say(session, &answer["result"]["outcome"].to_string());
            }
            "request" => {
                let answer = self.request(text(), &json!({ "sessionId": session, "path": "/x" }));
                say(session, &answer["error"]["code"].to_string());
            }
            "lines_without_end" => loop {
                println!("{}", text());
            },
            "requests_without_end" => loop {
                let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "fs/read_text_file", "params": {} });
                println!("{request}");
            },
            "flood" => {
                let chunk = "0123456789".repeat(10_000);
                for _ in 0..value.as_u64().unwrap() {
                    say(session, &chunk);
                }
            }
            "calls" => {
                for n in 0..value.as_u64().unwrap() {
                    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": format!("c{n}"),
                        "title": "x", "kind": "read", "status": "completed",
                        "rawInput": { "n": n },
                        "content": [{ "type": "content", "content": { "type": "text", "text": "y".repeat(1_000) } }] });
                    update(session, call);
                }
            }
            "child" => {
                // Its own session, so that only a kill of the whole tree reaches it.
                let script =
                    format!("setsid sleep 1000 & echo $! > {}/child", self.state.display());
                std::process::Command::new("sh")
                    .args(["-c", &script])
                    .stdin(std::process::Stdio::null())
                    .stdout(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null())
                    .status()
                    .unwrap();
            }
            "until_cancel" => loop {
                let message = self.read().unwrap();
                if message["method"] == "session/cancel" {
                    return;
                }
            },
            "hang" => loop {
                std::thread::park();
            },
            "die" => {
                eprintln!("{}", text());
                std::process::exit(3);
            }
            other => unreachable!("{other}"),
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        println!("{}", json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params }));
        loop {
            let message = self.read().unwrap();
            if message["id"] == "q" && message["method"].is_null() {
                return message;
            }
        }
    }
}

/// What an agent tells again of a session that it loads.
fn replay(session: &str, said: &str) {
    for line in said.lines() {
        let chunk = json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "text", "text": line } });
        update(session, chunk);
        say(session, "REPLAYED");
        let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "old", "title": "REPLAYED", "status": "completed" });
        update(session, call);
    }
}

fn say(session: &str, text: &str) {
    let chunk = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
    update(session, chunk);
}

fn update(session: &str, update: Value) {
    let params = json!({ "sessionId": session, "update": update });
    println!("{}", json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
}

fn respond(id: &Value, result: Value) {
    println!("{}", json!({ "jsonrpc": "2.0", "id": id, "result": result }));
}

fn refuse(id: &Value, code: i64, message: &str) {
    let error = json!({ "code": code, "message": message });
    println!("{}", json!({ "jsonrpc": "2.0", "id": id, "error": error }));
}
