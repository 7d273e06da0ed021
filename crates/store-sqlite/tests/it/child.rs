//! The other process: this test binary again, started as a writer.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use probity_core::{Digest, Entry, Event, Policy, RunId, Turn, Usage};
use probity_record::{Chain, blob_digest, submission_id};
use probity_store::{AppendError, Batch, Queue, RunLog, read_run};
use probity_store_sqlite::{Options, SqliteStore};

use crate::queue::ask;

const ROLE: &str = "PROBITY_TEST_CHILD_ROLE";
const PATH: &str = "PROBITY_TEST_CHILD_PATH";
const NAME: &str = "PROBITY_TEST_CHILD_NAME";

/// Runs that one crash child writes at the same time.
pub(crate) const RUNS: u32 = 3;

/// A child process and what it prints.
pub(crate) struct Other {
    pub(crate) process: Child,
    pub(crate) lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Other {
    pub(crate) fn start(role: &str, path: &Path, name: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["child::other_process", "--exact", "--nocapture", "--test-threads=1"])
            .envs([(ROLE, role), (NAME, name)])
            .env(PATH, path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// The next line of ours; the test harness prints some of its own.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| {
            let at = line.find("say ")?;
            Some(line[at + 4..].to_owned())
        })
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // Gone already in every test that passes.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "say {text}").and_then(|()| out.flush()).unwrap();
}

/// Not a test of its own: does nothing unless another test starts it with a role.
#[test]
fn other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let path = std::env::var_os(PATH).unwrap();
    let name = std::env::var(NAME).unwrap();
    let options = Options { lease_ttl_ms: 1000, ..Options::default() };
    let store = SqliteStore::open(path, options).unwrap();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        match role.as_str() {
            "append-for-ever" => append_for_ever(&store, &name).await,
            "win" => win(&store, &name).await,
            "work" => work(&store).await,
            "work-slowly" => work_slowly(&store).await,
            "hold" => hold(&store).await,
            "echo" => echo(&store).await,
            other => panic!("no role `{other}`"),
        }
    });
}

/// Appends to several runs at once until it is killed, and says each acknowledged length.
async fn append_for_ever(store: &SqliteStore, name: &str) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..RUNS {
        let store = store.clone();
        let run: RunId = format!("{name}-{number}").parse().unwrap();
        tasks.spawn(async move {
            let mut chain = Chain::new(run.clone());
            for batch_number in 0.. {
                let expected = chain.len();
                let batch = batch(&mut chain, batch_number);
                let len = store.append(&run, expected, batch).await.unwrap();
                say(&format!("{run} {len}"));
            }
        });
    }
    tasks.join_all().await;
}

/// How many records the batch of that number has.
pub(crate) fn batch_len(number: u64) -> u64 {
    1 + number % 4
}

/// Whether a log of that length ends at the end of a batch.
pub(crate) fn is_boundary(len: u64) -> bool {
    let ends = (0..).scan(0, |end, number| {
        *end += batch_len(number);
        Some(*end)
    });
    ends.take_while(|end| *end <= len).any(|end| end == len)
}

fn batch(chain: &mut Chain, number: u64) -> Batch {
    let mut batch = Batch::default();
    for _ in 0..batch_len(number) {
        let seq = chain.len();
        let event = if seq == 0 {
            let request = batch.add_blob(b"request".to_vec());
            let (run, policy) = (chain.run().clone(), Policy::default());
            Event::RunOpened {
                run,
                request,
                policy,
                checks: Vec::new(),
                hooks: Vec::new(),
                terms: None,
                parent: None,
            }
        } else {
            claim(chain, batch.add_blob(content(chain.run(), seq)))
        };
        batch.records.push(chain.append(&Entry { at_ms: seq, event }).unwrap().into_bytes());
    }
    batch
}

/// The blob that a record of that number names: some fit a page, some fill several.
fn content(run: &RunId, seq: u64) -> Vec<u8> {
    let mut bytes = format!("{run} {seq} ").into_bytes();
    bytes.resize(bytes.len() + usize::try_from(seq * 977 % 9000).unwrap(), b'.');
    bytes
}

fn claim(chain: &Chain, claim: Digest) -> Event {
    let number = u32::try_from(chain.len()).unwrap();
    let turn = Turn { epoch: 0, number };
    let candidate = blob_digest(&number.to_be_bytes());
    let submission = submission_id(chain.run(), turn, &candidate);
    Event::ClaimReceived { turn, submission, candidate, claim, work: 0, usage: Usage::default() }
}

/// Records that one `win` process stores.
pub(crate) const WINS: usize = 40;

/// Appends to one contended run until it has stored its share, and says where each of its records
/// went.
async fn win(store: &SqliteStore, name: &str) {
    let run: RunId = "contended".parse().unwrap();
    let mut won = 0;
    let mut len = 0;
    say("ready");
    while won < WINS {
        let text = format!("{name}.{won}");
        match store.append(&run, len, Batch::of(vec![text.clone().into_bytes()])).await {
            Ok(new_len) => {
                say(&format!("{} {text}", new_len - 1));
                len = new_len;
                won += 1;
            }
            Err(AppendError::Conflict { actual, .. }) => len = actual,
            Err(error) => panic!("{error}"),
        }
    }
    // What this process reads holds what the others wrote.
    assert!(read_run(store, &run).await.unwrap().len() >= won);
}

/// Leases and settles until nothing has come for a while, and says what it did and how often that was
/// delivered.
async fn work(store: &SqliteStore) {
    say("ready");
    loop {
        let leases = store.lease(&ask(3, Duration::from_secs(2))).await.unwrap();
        if leases.is_empty() {
            return;
        }
        for lease in leases {
            store.settle(&lease).await.unwrap();
            say(&format!("done {} {}", lease.run, lease.deliveries));
        }
    }
}

/// Leases several and settles one after the other, until it is killed.
async fn work_slowly(store: &SqliteStore) {
    loop {
        for lease in store.lease(&ask(5, Duration::from_secs(60))).await.unwrap() {
            if store.settle(&lease).await.is_ok() {
                say(&format!("done {}", lease.run));
            }
        }
    }
}

/// Leases ten, settles four and holds six until it is killed.
async fn hold(store: &SqliteStore) {
    let mut leases = Vec::new();
    while leases.len() < 10 {
        leases.extend(store.lease(&ask(10, Duration::from_secs(60))).await.unwrap());
    }
    for lease in leases.drain(..4) {
        store.settle(&lease).await.unwrap();
        say(&format!("settled {}", lease.run));
    }
    for lease in &leases {
        say(&format!("held {}", lease.run));
    }
    loop {
        for lease in &leases {
            store.heartbeat(lease).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Leases one job after the other and says when, in microseconds of the wall clock.
async fn echo(store: &SqliteStore) {
    say("ready");
    loop {
        for lease in store.lease(&ask(1, Duration::from_secs(60))).await.unwrap() {
            let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            say(&format!("{} {}", lease.run, at.as_micros()));
            store.settle(&lease).await.unwrap();
        }
    }
}
