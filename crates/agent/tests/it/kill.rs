//! `kill -9` of a real process that drives an agent on SQLite: what it recorded is not done again.
//!
//! The process is this test program, started with one test that drives the agent where a variable of
//! the environment says so, and does nothing otherwise.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_agent::chat::{
    FunctionTool, Model, ModelError, ModelReply, ModelRequest, ToolContext, ToolOutput, ToolReply,
    ToolSpec,
};
use probity_agent::{Agent, Reject, RunOptions, Submission};
use probity_core::{Digest, RunId};
use probity_store::{
    AppendError, Batch, BlobError, Blobs, Cursor, LogState, ReadError, RunLog, RunSummary, Store,
};
use probity_store_sqlite::{Options, SqliteStore};
use serde_json::{Value, json};

use crate::stage::{Output, bounded, edit, hand_in, run_id};

/// Where the store and the notes of the lives are.
const DIR: &str = "PROBITY_AGENT_KILL_DIR";
/// Where a life stops and waits to be killed; empty for one that goes on to the end.
const POINT: &str = "PROBITY_AGENT_KILL_POINT";
/// What a life says when it stops there.
const HERE: &str = "here, waiting for the end";
const KILL: i32 = 9;

/// The second of three answers of the model is a call, the others are outputs: bad, then good.
const REPLIES: u32 = 3;

/// One line in a file that outlives the process.
fn note(dir: &Path, name: &str, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(dir.join(name));
    writeln!(file.unwrap(), "{line}").unwrap();
}

fn notes(dir: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(dir.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Says that it is here, and stays for ever: the parent of the process ends it.
fn stop() {
    eprintln!("{HERE}");
    loop {
        std::thread::park();
    }
}

/// One life: where it is, and where it stops.
#[derive(Clone)]
struct Life {
    dir: Arc<Path>,
    point: String,
}

impl Life {
    fn at(&self, point: &str) {
        if self.point == point {
            stop();
        }
    }
}

#[async_trait]
impl Model for Life {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        note(&self.dir, "asked", &request.number.to_string());
        if request.number == REPLIES - 1 {
            self.at("in the model");
        }
        Ok(match request.number {
            0 => hand_in("bad"),
            1 => edit(),
            _ => hand_in("good"),
        })
    }

    fn identity(&self) -> String {
        "scripted".to_owned()
    }
}

/// A store that stops behind the second append that has an event.
struct Stops {
    inner: SqliteStore,
    life: Life,
}

#[async_trait]
impl RunLog for Stops {
    async fn append(&self, run: &RunId, len: u64, batch: Batch) -> Result<u64, AppendError> {
        let has = |event: &str| {
            let records = batch.records.iter();
            records.filter(|it| String::from_utf8_lossy(it).contains(event)).count()
        };
        let (claims, verdicts) = (has("\"claim.received\""), has("\"verdict.merged\""));
        let stored = self.inner.append(run, len, batch).await;
        for (event, found) in [("claim", claims), ("verdict", verdicts)] {
            for _ in 0..found {
                note(&self.life.dir, event, "stored");
            }
            if found > 0 && notes(&self.life.dir, event).len() == 2 {
                self.life.at(&format!("behind the {event}"));
            }
        }
        stored
    }

    async fn read(&self, run: &RunId, from: u64, max: usize) -> Result<Vec<Vec<u8>>, ReadError> {
        self.inner.read(run, from, max).await
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.inner.state(run).await
    }

    async fn list(&self, after: Option<Cursor>, max: usize) -> Result<Vec<RunSummary>, ReadError> {
        self.inner.list(after, max).await
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        self.inner.wait_beyond(run, len, timeout).await
    }
}

#[async_trait]
impl Blobs for Stops {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.inner.put(bytes).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.inner.get(digest, max_bytes).await
    }
}

fn agent(life: &Life) -> Agent<String> {
    let inner = SqliteStore::open(life.dir.join("runs.db"), Options::default()).unwrap();
    let store: Arc<dyn Store> = Arc::new(Stops { inner, life: life.clone() });
    let spec = ToolSpec {
        name: "edit".to_owned(),
        description: "Edits.".to_owned(),
        parameters: json!({ "type": "object" }),
    };
    let (edits, looks) = (life.clone(), life.clone());
    let edit = FunctionTool::raw(spec, move |_: Value, _: ToolContext| {
        note(&edits.dir, "edits", "edit");
        async { Ok(ToolReply::Done(ToolOutput::text("edited"))) }
    });
    Agent::builder("You fix tests.")
        .model(life.clone())
        .store(store)
        .tool(edit)
        .output::<Output>()
        .verifier(move |output: Output, submission: Submission| {
            note(&looks.dir, "looks", &format!("{} {}", submission.id, submission.is_replay));
            if output.summary == "bad" {
                return Err(Reject::revise("No."));
            }
            looks.at("in the verifier");
            Ok(submission.id.to_string())
        })
        .build()
        .unwrap()
}

/// What a life does that was started by [`a_killed_agent_repeats_nothing_that_it_recorded`].
#[test]
fn life() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let point = std::env::var(POINT).unwrap_or_default();
    let life = Life { dir: Path::new(&dir).into(), point };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let agent = agent(&life);
    let ended = runtime.block_on(async {
        if life.dir.join("asked").exists() {
            agent.resume(&run_id("killed")).await
        } else {
            let options = RunOptions { run: Some(run_id("killed")), ..RunOptions::default() };
            agent.run_with("Fix it.", options).await
        }
    });
    let done = ended.unwrap();
    let used = done.verification.attempts_used;
    note(
        &life.dir,
        "end",
        &format!("{} {used} {} {}", done.outcome, done.ledger.len(), done.result),
    );
}

fn start(dir: &Path, point: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::life", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .env(POINT, point)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_killed_agent_repeats_nothing_that_it_recorded() {
    println!("killed                 asked  asked again  recorded and repeated  looks  attempts");
    for (point, recorded, looks) in [
        ("in the model", 2, 2),
        ("behind the claim", 3, 2),
        ("in the verifier", 3, 3),
        ("behind the verdict", 3, 2),
    ] {
        let dir = tempfile::TempDir::new().unwrap();
        let mut first = start(dir.path(), point);
        let said = BufReader::new(first.stderr.take().unwrap());
        let arrived = said.lines().map_while(Result::ok).any(|line| line.ends_with(HERE));
        assert!(arrived, "{point}: it ended before");
        first.kill().unwrap();
        let status = first.wait().unwrap();
        assert_eq!(status.signal(), Some(KILL), "{point}");
        let before = notes(dir.path(), "asked");
        assert_eq!(notes(dir.path(), "end"), Vec::<String>::new());

        let mut second = start(dir.path(), "");
        drop(second.stderr.take());
        let status = bounded(tokio::task::spawn_blocking(move || second.wait())).await;
        assert!(status.unwrap().unwrap().success(), "{point}");
        let asked = notes(dir.path(), "asked");
        let again = &asked[before.len()..];
        let repeated =
            again.iter().filter(|number| number.parse::<u32>().unwrap() < recorded).count();
        let looked = notes(dir.path(), "looks");
        let end = notes(dir.path(), "end");
        let submission = looked.last().unwrap().split(' ').next().unwrap();
        assert_eq!(end, [format!("verified 1 2 {submission}")], "{point}");
        println!(
            "{point:<22} {:<6} {:<12} {repeated:<22} {:<6} 1",
            asked.len(),
            again.len(),
            looked.len()
        );
        assert_eq!(repeated, 0, "{point}: {again:?}");
        assert_eq!(asked.len(), if recorded < REPLIES { 4 } else { 3 }, "{point}: {asked:?}");
        assert_eq!(notes(dir.path(), "edits").len(), 1, "{point}");
        assert_eq!(looked.len(), looks, "{point}: {looked:?}");
        let is_replay = looked.last().unwrap().ends_with("true");
        // The call of the verifier is announced with the claim, in one append.
        let is_announced = matches!(point, "behind the claim" | "in the verifier");
        assert_eq!(is_replay, is_announced, "{point}: {looked:?}");
        if looks == 3 {
            assert_eq!(looked[1].split(' ').next(), looked[2].split(' ').next(), "one submission");
        }
    }
}
