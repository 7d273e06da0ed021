//! A small HTTP/1.1 client, and a host to ask.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::fleet::signal;
use crate::world::World;

pub(crate) const KEY: &str = "the-key-of-these-tests";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A host that goes with the value.
pub(crate) struct Host {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// What it says on standard output after the first line, which it must be able to say.
    _told: BufReader<std::process::ChildStdout>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Host {
    /// A host on a free port, once it listens.
    pub(crate) fn start(world: &World, store: &str, more: &[&str]) -> Self {
        Self::start_with(world, store, more, &[])
    }

    /// The same, with variables of its environment.
    pub(crate) fn start_with(
        world: &World,
        store: &str,
        more: &[&str],
        envs: &[(&str, &str)],
    ) -> Self {
        Self::start_in(world, &[&["--store", store], more].concat(), envs)
    }

    /// The same, on the store that the arguments or the environment name.
    pub(crate) fn start_in(world: &World, more: &[&str], envs: &[(&str, &str)]) -> Self {
        let mut child = world
            .command(["serve", "--addr", "127.0.0.1:0"].iter().chain(more))
            .env("PROBITY_API_KEY", KEY)
            .envs(envs.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(std::fs::File::create(world.beside("host.log")).unwrap()))
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        told.read_line(&mut url).unwrap();
        let log = || std::fs::read_to_string(world.beside("host.log")).unwrap();
        let address = url.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{}", log()));
        Self { address: address.to_owned(), child, _told: told }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, &[], body)
    }

    /// The answer to one request, with the key unless the headers have another.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        read(self.send(method, path, headers, body))
    }

    fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        if !headers.iter().any(|header| header.starts_with("Authorization:")) {
            head.push_str(&format!("Authorization: Bearer {KEY}\r\n"));
        }
        headers.iter().for_each(|header| head.push_str(&format!("{header}\r\n")));
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    /// Begins a run.
    pub(crate) fn begin(&self, body: &str) -> String {
        let answer = self.post("/v1/runs", body);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["runId"].as_str().unwrap().to_owned()
    }

    /// All the events of a run behind one, once it has ended: the stream's, which the host closes then.
    pub(crate) fn events(&self, run: &str, behind: Option<u64>) -> Vec<Value> {
        let last = behind.map(|last| format!("Last-Event-ID: {last}"));
        let headers: Vec<&str> =
            ["Accept: text/event-stream"].into_iter().chain(last.as_deref()).collect();
        let answer =
            self.ask("GET", &format!("/v1/runs/{run}/events?streamMode=debug"), &headers, "");
        assert_eq!(answer.status, 200, "{answer:?}");
        let data = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
        data.map(|data| serde_json::from_str(data.trim()).unwrap()).collect()
    }

    /// Reads the stream of a run until an event of that type.
    pub(crate) fn until(&self, run: &str, kind: &str) {
        self.until_at(&format!("/v1/runs/{run}/events?streamMode=debug"), kind);
    }

    /// Reads a stream until an event of that type.
    pub(crate) fn until_at(&self, path: &str, kind: &str) {
        let stream = self.send("GET", path, &["Accept: text/event-stream"], "");
        let wanted = format!("\"type\":\"{kind}\"");
        let mut lines = BufReader::new(stream).lines();
        assert!(lines.any(|line| line.unwrap().contains(&wanted)), "{kind}");
    }

    /// Tells it to end, and waits until it has.
    pub(crate) fn end(mut self) {
        signal(&self.child, "-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Most have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn read(stream: TcpStream) -> Answer {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let lower = head.to_lowercase();
    let mut body = Vec::new();
    if lower.contains("transfer-encoding: chunked") {
        loop {
            let mut size = String::new();
            stream.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).unwrap();
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    } else {
        stream.read_to_end(&mut body).unwrap();
    }
    Answer { status, head: lower, body: String::from_utf8(body).unwrap() }
}
