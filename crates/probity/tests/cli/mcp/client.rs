//! A client over standard streams, by hand: a message a line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::World;

/// Long enough for a loaded machine; no test waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process at the other end.
pub(super) struct Client {
    process: Child,
    stdin: Option<ChildStdin>,
    /// What it says; the thread that reads fails on everything that is not of the protocol.
    heard: Receiver<Value>,
    steps: Vec<String>,
    last: u64,
}

impl Client {
    /// Starts the server and shakes hands.
    pub(super) fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(["mcp"].iter().chain(args));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take().unwrap());
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
                assert_eq!(message["jsonrpc"], "2.0", "{message}");
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let mut client = Self { process, stdin, heard, steps: Vec::new(), last: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let about = client.ask("initialize", hello);
        assert_eq!(about["serverInfo"]["name"], "probity", "{about}");
        client.notify("notifications/initialized", json!({}));
        client
    }

    /// Calls a tool and waits for what comes of it.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments);
        self.answer(id)
    }

    /// Calls a tool.
    pub(super) fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        let meta = json!({"progressToken": self.last + 1});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.send("tools/call", params)
    }

    /// Asks, and waits for the answer.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Tells.
    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Waits until a run is told of, another than `known`.
    pub(super) fn opened(&mut self, known: &str) -> String {
        loop {
            let message = self.next();
            let step = message["params"]["message"].as_str().unwrap_or_default();
            if let Some((run, _)) = step.strip_prefix("run ").and_then(|rest| rest.split_once(':'))
                && run != known
            {
                return run.to_owned();
            }
        }
    }

    /// What was told of progress so far.
    pub(super) fn steps(&self) -> &[String] {
        &self.steps
    }

    /// Says no more, and waits for the server to leave. Gives what it said to the last.
    pub(super) fn end(mut self) -> Vec<Value> {
        drop(self.stdin.take());
        let mut left = Vec::new();
        while let Ok(message) = self.heard.recv_timeout(PATIENCE) {
            left.push(message);
        }
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
        left
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    fn next(&mut self) -> Value {
        let message = self.heard.recv_timeout(PATIENCE).unwrap();
        if let Some(step) = message["params"]["message"].as_str() {
            self.steps.push(step.to_owned());
        }
        message
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Only where a test failed; otherwise it has left.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
