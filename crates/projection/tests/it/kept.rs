//! Filling within bounds, and the index of one process.

use probity_core::{Outcome, RunId};
use probity_projection::{Index, Wanted, delegate_of, mark_of};
use probity_record::{Ledger, Record, blob_digest};
use probity_store::{Batch, Blobs as _, MemoryStore, RunLog as _, Store};
use serde_json::json;

use crate::world::{append, full, rows, samples};

fn every() -> Wanted {
    Wanted { marks: vec![String::new()], ..Wanted::default() }
}

/// Brings an index up, a bounded piece at a time, and gives the number of pieces.
async fn pieces(index: &mut Index, store: &dyn Store, max: usize) -> usize {
    for piece in 1..1_000 {
        let refreshed = index.refresh(store, max).await.unwrap();
        assert!(refreshed.read <= 2 * max as u64, "{refreshed:?}");
        if refreshed.is_complete {
            return piece;
        }
    }
    unreachable!("it does not come to an end")
}

#[tokio::test]
async fn filling_in_pieces_gives_the_rows_of_filling_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, at_once) = (folder.path().join("pieces.db"), folder.path().join("once.db"));
    let store = full().await;
    Index::open(&at_once, "memory").unwrap().update(&store).await.unwrap();
    for max in [1, 2, 5, 100] {
        let mut index = Index::open_anew(&path, "memory").unwrap();
        let needed = pieces(&mut index, &store, max).await;
        assert!(needed >= samples().len() / max, "{needed}");
        assert_eq!(rows(&path), rows(&at_once), "{max} at a time");
        // What is full is not read again.
        assert_eq!(index.refresh(&store, max).await.unwrap().read, 0);
    }
}

#[tokio::test]
async fn runs_that_begin_in_the_midst_of_filling_are_found_and_so_are_those_of_a_burst() {
    let samples = samples();
    for (max, first) in [(1, 3), (2, 5), (3, 4)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let store = MemoryStore::new();
        for sample in &samples[..first] {
            append(&store, sample, sample.records.len()).await;
        }
        let mut index = Index::open(&path, "memory").unwrap();
        index.refresh(&store, max).await.unwrap();
        for sample in &samples[first..] {
            append(&store, sample, sample.records.len()).await;
            index.refresh(&store, max).await.unwrap();
        }
        // Another process goes on with it, and knows nothing of where the first one was.
        drop(index);
        let mut index = Index::open(&path, "memory").unwrap();
        pieces(&mut index, &store, max).await;
        assert_eq!(index.counts(&every()).unwrap().total, samples.len() as u64);
    }
}

#[tokio::test]
async fn one_process_alone_keeps_it_and_it_is_emptied_for_another_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.db");
    let store = full().await;
    let mut index = Index::open_alone(&path, "one").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    index.update(&store).await.unwrap();
    assert_eq!(Index::open_alone(&path, "one").map(drop).unwrap_err().code(), "index_file");
    drop(index);
    let index = Index::open_alone(&path, "one").unwrap();
    assert_eq!(index.counts(&every()).unwrap().total, samples().len() as u64);
    drop(index);
    let index = Index::open_alone(&path, "two").unwrap();
    assert_eq!(index.counts(&every()).unwrap().total, 0);
    drop(index);
    let text = folder.path().join("text");
    std::fs::write(&text, "no database, and longer than the header of one is".repeat(9)).unwrap();
    assert_eq!(Index::open_alone(&text, "one").map(drop).unwrap_err().code(), "index_foreign");
    let mut index = Index::in_memory("one").unwrap();
    index.update(&store).await.unwrap();
    assert_eq!(index.counts(&every()).unwrap().total, samples().len() as u64);
}

#[tokio::test]
async fn a_waiver_counts_for_its_seal_and_its_candidate_and_for_no_other() {
    let store = full().await;
    let mut index = Index::in_memory("memory").unwrap();
    index.update(&store).await.unwrap();
    let text = Some("run-exhausted".to_owned());
    let waived = Wanted { is_waived: true, text, ..every() };
    assert_eq!(index.counts(&waived).unwrap().total, 0);
    let exhausted = samples().into_iter().find(|it| it.run.as_str() == "run-exhausted").unwrap();
    let events: Vec<_> = exhausted.records.iter().map(|it| Record::parse(it).unwrap()).collect();
    let head = events.last().unwrap().hash;
    let candidate = events.iter().rev().find_map(|record| match &record.entry.event {
        probity_core::Event::ClaimReceived { candidate, .. } => Some(*candidate),
        _ => None,
    });
    let candidate = candidate.unwrap();
    for (name, head, counts) in
        [("waiver-other", blob_digest(b"another seal"), 0), ("waiver-run-exhausted", head, 1)]
    {
        let log: RunId = name.parse().unwrap();
        let step = json!({
            "type": "run.waived", "run": exhausted.run.as_str(), "head": head,
            "outcome": Outcome::Exhausted, "candidate": candidate,
            "statement": blob_digest(b"said"),
        });
        let line = Ledger::new(log.clone()).append(7, &step).unwrap();
        let batch = Batch { records: vec![line.bytes], seal: true, ..Batch::default() };
        store.append(&log, 0, batch).await.unwrap();
        index.update(&store).await.unwrap();
        assert_eq!(index.counts(&waived).unwrap().waived, counts, "{name}");
    }
    // A waiver is no delegation, and no damaged one.
    assert_eq!(index.counts(&every()).unwrap().total, samples().len() as u64);
    assert_eq!(index.counts(&every()).unwrap().damaged, 0);
}

#[tokio::test]
async fn a_request_says_who_does_the_work_and_what_is_to_be_done() {
    let store = full().await;
    let mut index = Index::in_memory("memory").unwrap();
    let sample = samples().into_iter().find(|it| it.run.as_str() == "run-exhausted").unwrap();
    let request = br#"{"task":"T","kind":"liar"}"#.to_vec();
    // The sample names a request that nobody has: its blob has another digest.
    store.put(request.clone()).await.unwrap();
    index.update(&store).await.unwrap();
    let wanted = Wanted { text: Some(sample.run.to_string()), ..every() };
    let page = index.page(&wanted, None, 10).unwrap();
    assert_eq!((page.runs.len(), &page.runs[0].delegate), (1, &None));
    assert_eq!(delegate_of(&request), "liar");
    for (request, kind) in [
        (r#"{"kind":"Not a word","command":["a"]}"#, "command"),
        (r#"{"command":[],"chat":{}}"#, "chat"),
        (r#"{"acp":{"command":["a"]}}"#, "acp"),
        (r#"{"acp":null}"#, "unknown"),
        (r#"{"job":"verify","candidate":1}"#, "critic"),
        (r#"{"job":"delegate","request":{"command":["a"]}}"#, "command"),
        (r#"{"job":"delegate"}"#, "unknown"),
        ("[]", "unknown"),
        ("no JSON", "unknown"),
    ] {
        assert_eq!(delegate_of(request.as_bytes()), kind, "{request}");
    }
}

#[test]
fn a_mark_stands_before_a_uuid_and_nowhere_else() {
    let uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
    for (name, mark) in [
        (format!("0123456789ab-{uuid}"), "0123456789ab"),
        (uuid.to_owned(), ""),
        ("0123456789ab-something".to_owned(), ""),
        (format!("0123456789AB-{uuid}"), ""),
        (format!("0123456789a-{uuid}"), ""),
        ("nightly".to_owned(), ""),
    ] {
        assert_eq!(mark_of(&name.parse().unwrap()), mark, "{name}");
    }
}
