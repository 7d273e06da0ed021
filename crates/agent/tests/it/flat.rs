//! What a turn costs does not grow with the run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use probity_agent::chat::ModelReply;
use probity_core::{Digest, RunId};
use probity_store::{
    AppendError, Batch, BlobError, Blobs, Cursor, LogState, MemoryStore, ReadError, RunLog,
    RunSummary,
};
use probity_testkit::ScriptedModel;

use crate::stage::{Output, agent, bounded, edit, editor, hand_in, only_good};

const TURNS: u32 = 1000;

/// A store that takes down how many bytes every append has, blobs included.
#[derive(Default)]
struct Weighed {
    inner: MemoryStore,
    bytes: Mutex<Vec<usize>>,
}

#[async_trait]
impl RunLog for Weighed {
    async fn append(&self, run: &RunId, len: u64, batch: Batch) -> Result<u64, AppendError> {
        self.bytes.lock().unwrap().push(batch.bytes());
        self.inner.append(run, len, batch).await
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
impl Blobs for Weighed {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.inner.put(bytes).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.inner.get(digest, max_bytes).await
    }
}

/// In the system of the seed: 238 MB for 400 turns with a final payload of 117 KB.
#[tokio::test]
async fn p18_a_thousand_turns_write_the_same_bytes_each() {
    let script = ScriptedModel::new().with(|asked| match asked.number {
        TURNS.. => hand_in("good"),
        _ => ModelReply { text: "x".repeat(200), ..edit() },
    });
    let store = Arc::new(Weighed::default());
    let agent = agent(&Arc::new(script.repeat_last()))
        .store(store.clone())
        .tool(editor())
        .max_model_calls(TURNS + 1)
        .output::<Output>()
        .verifier(only_good)
        .build()
        .unwrap();
    let done = bounded(agent.run("Fix it.")).await.unwrap();
    assert_eq!(done.ledger[0].work, u64::from(TURNS));
    let bytes = store.bytes.lock().unwrap().clone();
    // Without the opening and the end.
    let turns = &bytes[bytes.len() - 2 * 900 - 10..bytes.len() - 10];
    let per_turn: Vec<usize> = turns.chunks(2).map(|turn| turn.iter().sum()).collect();
    let (least, most) = (per_turn.iter().min().unwrap(), per_turn.iter().max().unwrap());
    println!("P18: {least} to {most} bytes a turn, {} in all", bytes.iter().sum::<usize>());
    assert!(most - least < 40, "{least} to {most}");
    assert!(*most < 2500, "{most}");
}

#[tokio::test]
async fn p18_a_hundred_attempts_write_the_same_bytes_each() {
    let script =
        ScriptedModel::new().with(|asked| hand_in(&format!("candidate {:04}", asked.number)));
    let store = Arc::new(Weighed::default());
    let agent = agent(&Arc::new(script.repeat_last()))
        .store(store.clone())
        .output::<Output>()
        .verifier(only_good)
        .verifier_max_attempts(100)
        .build()
        .unwrap();
    let end = crate::stage::not_done(bounded(agent.run("Fix it.")).await);
    assert_eq!(end.verification.attempts_used, 100);
    let bytes = store.bytes.lock().unwrap().clone();
    let half = bytes.len() / 2;
    let (first, second): (usize, usize) =
        (bytes[10..half].iter().sum(), bytes[half..bytes.len() - 10].iter().sum());
    let (first, second) = (first / (half - 10), second / (bytes.len() - 10 - half));
    println!("P18: {first} bytes an append in the first half, {second} in the second");
    assert!(second <= first + first / 10, "{first} {second}");
}
