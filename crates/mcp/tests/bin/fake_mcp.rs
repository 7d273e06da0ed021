//! A server by hand: it behaves as its first argument says, well or not. With `sandbox-exec` it is the
//! sandbox helper instead.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "JSON is indexed as it comes, and a server that breaks is what a test sees"
)]

use std::io::{BufRead, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_default();
    if mode == "sandbox-exec" {
        return probity_sandbox::exec_main(std::env::args_os().skip(2));
    }
    match mode.as_str() {
        "leaves" => {
            eprintln!("no key for the service");
            return ExitCode::from(3);
        }
        "babbles" => say_line("this is not a server"),
        "shouts" => say_line(&"a".repeat(17 * 1024 * 1024)),
        "floods" => {
            eprint!("{}", "e".repeat(5_000_000));
            for _ in 0..1000 {
                say_line(&"noise ".repeat(100));
            }
            say_line("{\"neither\": \"request nor answer\"}");
        }
        _ => {}
    }
    serve(&mode);
    ExitCode::SUCCESS
}

fn serve(mode: &str) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let method = message["method"].as_str().unwrap_or_default();
        match method {
            "notifications/cancelled" => cancelled(&message),
            _ if mode == "silent" || mode == "babbles" || message["id"].is_null() => {}
            "initialize" => initialize(mode, &message),
            "tools/list" => list(mode, &message),
            "tools/call" => call(&message),
            "" => answered(&message),
            _ => refuse(&message, -32601, "no such method"),
        }
    }
}

fn say_line(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).unwrap();
    out.write_all(b"\n").unwrap();
    out.flush().unwrap();
}

fn answer(to: &Value, result: &Value) {
    say_line(&json!({"jsonrpc": "2.0", "id": to["id"], "result": result}).to_string());
}

fn refuse(to: &Value, code: i32, message: &str) {
    let error = json!({"code": code, "message": message, "data": {"n": 1.5}});
    say_line(&json!({"jsonrpc": "2.0", "id": to["id"], "error": error}).to_string());
}

fn text(to: &Value, text: &str) {
    answer(to, &json!({"content": [{"type": "text", "text": text}]}));
}

fn initialize(mode: &str, to: &Value) {
    if mode == "refuses" {
        return refuse(to, -32000, "not today");
    }
    answer(
        to,
        &json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "1"},
        }),
    );
}

fn tool(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    json!({"name": name, "description": format!("does {name}"), "inputSchema": schema})
}

fn list(mode: &str, to: &Value) {
    let cursor = to["params"]["cursor"].as_str();
    let page = match (mode, cursor) {
        ("toolless", _) => return refuse(to, -32601, "no tools here"),
        ("unlisted", _) => return refuse(to, -32603, "broken"),
        ("listless", _) => json!({"tools": "all"}),
        ("quits", _) => std::process::exit(4),
        ("stalls", _) => return,
        ("many", _) => {
            let tools: Vec<Value> = (0..100).map(|n| tool(&format!("{cursor:?}-{n}"))).collect();
            json!({"tools": tools, "nextCursor": format!("{}+", cursor.unwrap_or_default())})
        }
        ("heavy", _) => {
            let mut heavy = tool(cursor.unwrap_or("1"));
            heavy["title"] = "t".repeat(3 * 1024 * 1024).into();
            json!({"tools": [heavy], "nextCursor": format!("{}1", cursor.unwrap_or("1"))})
        }
        ("circles", _) => json!({"tools": [], "nextCursor": "again"}),
        ("odd", _) => json!({"tools": [
            tool("spaced name/ü"),
            {"name": "flat", "inputSchema": "string"},
            {"name": "list", "inputSchema": {"type": "array"}},
            {"inputSchema": {}},
            {"name": "bare", "inputSchema": {}},
        ], "ttlMs": 5}),
        (_, None) => {
            let mut reader = tool("echo");
            reader["annotations"] = json!({"readOnlyHint": true});
            json!({"tools": [reader, tool("fail"), tool("stick")], "nextCursor": "two"})
        }
        (_, Some(_)) => {
            let names = [
                "die",
                "deafen",
                "ask",
                "big",
                "vanish",
                "structured",
                "picture",
                "beg",
                "pid",
                "strange",
            ];
            json!({"tools": names.map(tool)})
        }
    };
    answer(to, &page);
}

fn call(to: &Value) {
    let arguments = &to["params"]["arguments"];
    let given = arguments["text"].as_str().unwrap_or_default();
    match to["params"]["name"].as_str().unwrap_or_default() {
        "echo" => text(to, &format!("echo {given}")),
        "fail" => {
            let content = [json!({"type": "text", "text": "out of paper"})];
            answer(to, &json!({"content": content, "isError": true}));
        }
        // Answers never; where it is told that nobody waits, it leaves a file.
        "stick" => std::fs::write(format!("{given}.begun"), given).unwrap(),
        "die" => std::process::exit(9),
        "deafen" => {
            text(to, &std::process::id().to_string());
            loop {
                std::thread::park();
            }
        }
        "ask" => {
            let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}).to_string();
            loop {
                say_line(&ping);
            }
        }
        "big" => text(to, &"b".repeat(17 * 1024 * 1024)),
        "structured" => answer(to, &json!({"content": [], "structuredContent": {"n": 1.50}})),
        "picture" => {
            let image = json!({"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"});
            let hologram = json!({"type": "hologram", "waves": [1, 2.5]});
            answer(to, &json!({"content": [image, hologram]}));
        }
        "beg" => {
            for method in ["sampling/createMessage", "roots/list", "elicitation/create", "ping"] {
                let id = format!("{} {method}", to["id"]);
                let params = json!({
                    "messages": [], "maxTokens": 1, "message": "password?",
                    "requestedSchema": {"type": "object", "properties": {}},
                });
                let request =
                    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
                say_line(&request.to_string());
            }
        }
        "pid" => text(to, &std::process::id().to_string()),
        "strange" => answer(to, &json!({"odd": true})),
        _ => refuse(to, -32602, "no such tool"),
    }
}

/// The client's answers to what `beg` asked; with the last of them the call is answered.
fn answered(message: &Value) {
    let Some((call, method)) = message["id"].as_str().and_then(|id| id.split_once(' ')) else {
        return;
    };
    let how =
        message["error"]["code"].as_i64().map_or("granted".to_owned(), |code| code.to_string());
    eprintln!("{method}: {how}");
    let file = std::env::var("FAKE_ANSWERS").unwrap();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    writeln!(file, "{method}: {how}").unwrap();
    if method == "ping" {
        text(&json!({"id": call.parse::<u64>().unwrap()}), "asked");
    }
}

fn cancelled(message: &Value) {
    if let Ok(file) = std::env::var("FAKE_CANCELLED") {
        let reason = message["params"]["reason"].as_str().unwrap_or_default();
        std::fs::write(file, reason).unwrap();
    }
}
