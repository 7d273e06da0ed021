//! Compare-and-set, atomicity, the seal, the limits.

use crate::limits::{MAX_BATCH_RECORDS, MAX_RECORD_BYTES};
use crate::{AppendError, Batch, BatchError, LogState, read_run};

use super::{Provider, records, run, sealing, texts};

/// Batches follow each other; the length is that of all records.
pub async fn appends_build_a_log(store: &impl Provider) {
    let id = run("log");
    assert_eq!(store.append(&id, 0, records(&["a"])).await, Ok(1));
    assert_eq!(store.append(&id, 1, records(&["b", "c"])).await, Ok(3));
    assert_eq!(texts(&read_run(store, &id).await.unwrap()), ["a", "b", "c"]);
    assert_eq!(store.state(&id).await, Ok(Some(LogState { len: 3, sealed: false })));
}

/// Too low and too high a length are refused alike, told the length there is, and store nothing.
pub async fn the_wrong_length_is_a_conflict(store: &impl Provider) {
    let id = run("cas");
    let conflict = |expected, actual| Err(AppendError::Conflict { expected, actual });
    assert_eq!(store.append(&id, 1, records(&["x"])).await, conflict(1, 0));
    assert_eq!(store.state(&id).await, Ok(None));
    assert_eq!(store.append(&id, 0, records(&["a", "b"])).await, Ok(2));
    for expected in [0, 1, 3, u64::MAX] {
        assert_eq!(store.append(&id, expected, records(&["x"])).await, conflict(expected, 2));
        assert_eq!(store.append(&id, expected, sealing(&["x"])).await, conflict(expected, 2));
    }
    assert_eq!(store.append(&id, 2, records(&["c"])).await, Ok(3));
    assert_eq!(texts(&read_run(store, &id).await.unwrap()), ["a", "b", "c"]);
}

/// Equal lengths of different runs do not meet.
pub async fn runs_do_not_touch_each_other(store: &impl Provider) {
    for name in ["one", "two", "One", "one-", "one_"] {
        assert_eq!(store.append(&run(name), 0, records(&[name])).await, Ok(1), "{name}");
    }
    assert_eq!(store.append(&run("one"), 1, sealing(&["end"])).await, Ok(2));
    assert_eq!(store.append(&run("two"), 1, records(&["more"])).await, Ok(2));
    for name in ["One", "one-", "one_"] {
        assert_eq!(texts(&read_run(store, &run(name)).await.unwrap()), [name]);
    }
}

/// Many writers on one run: each position is won once, by the writer whose record is there.
pub async fn concurrent_writers_store_what_they_won(store: &impl Provider) {
    const WRITERS: u32 = 8;
    const WINS: u32 = 12;
    let id = run("contended");
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let (store, id) = (store.clone(), id.clone());
        writers.spawn(async move {
            let mut won = Vec::new();
            let mut len = 0;
            for attempt in 0.. {
                let text = format!("{writer}.{attempt}");
                let blob_and_record = {
                    let mut batch = records(&[&text]);
                    batch.add_blob(text.clone().into_bytes());
                    batch
                };
                match store.append(&id, len, blob_and_record).await {
                    Ok(new_len) => {
                        assert_eq!(new_len, len + 1);
                        won.push((len, text));
                        len = new_len;
                    }
                    Err(AppendError::Conflict { expected, actual }) => {
                        assert_eq!(expected, len);
                        assert_ne!(actual, len);
                        len = actual;
                    }
                    Err(error) => panic!("{error}"),
                }
                if won.len() == WINS as usize {
                    return won;
                }
            }
            won
        });
    }
    let mut won: Vec<(u64, String)> = writers.join_all().await.into_iter().flatten().collect();
    won.sort();
    let stored = read_run(store, &id).await.unwrap();
    let stored: Vec<(u64, String)> =
        (0..).zip(texts(&stored).into_iter().map(str::to_owned)).collect();
    assert_eq!(won, stored);
    assert_eq!(stored.len(), (WRITERS * WINS) as usize);
}

/// A reader beside a writer sees whole batches in order, and never sees a record change.
pub async fn whole_batches_or_nothing_for_readers(store: &impl Provider) {
    const BATCHES: u64 = 60;
    let id = run("watched");
    let writer = tokio::spawn({
        let (store, id) = (store.clone(), id.clone());
        async move {
            for batch in 0..BATCHES {
                let texts: Vec<String> = (0..3).map(|part| format!("{batch}.{part}")).collect();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                assert_eq!(store.append(&id, batch * 3, records(&texts)).await, Ok(batch * 3 + 3));
            }
        }
    });
    let mut len = 0;
    while len < BATCHES * 3 {
        let seen = store.read(&id, 0, usize::MAX).await.unwrap();
        assert_eq!(seen.len() % 3, 0, "half a batch is visible");
        assert!(seen.len() as u64 >= len, "the log became shorter");
        len = seen.len() as u64;
        for (place, text) in texts(&seen).into_iter().enumerate() {
            assert_eq!(text, format!("{}.{}", place / 3, place % 3));
        }
    }
    writer.await.unwrap();
}

/// After the seal every append is refused as sealed, whatever length it names.
pub async fn a_seal_is_final(store: &impl Provider) {
    let id = run("sealed");
    assert_eq!(store.append(&id, 0, records(&["a"])).await, Ok(1));
    assert_eq!(store.append(&id, 1, sealing(&["b", "seal"])).await, Ok(3));
    let sealed = Some(LogState { len: 3, sealed: true });
    for expected in [0, 1, 2, 3, 4] {
        let refused = Err(AppendError::Sealed { len: 3 });
        assert_eq!(store.append(&id, expected, records(&["x"])).await, refused);
        assert_eq!(store.append(&id, expected, sealing(&["x"])).await, refused);
    }
    assert_eq!(store.state(&id).await, Ok(sealed));
    assert_eq!(texts(&read_run(store, &id).await.unwrap()), ["a", "b", "seal"]);

    let at_once = run("sealed-at-once");
    assert_eq!(store.append(&at_once, 0, sealing(&["only"])).await, Ok(1));
    let refused = Err(AppendError::Sealed { len: 1 });
    assert_eq!(store.append(&at_once, 1, records(&["x"])).await, refused);
}

/// A bad record or blob anywhere in the batch: neither its records nor its blobs are stored.
pub async fn a_batch_with_one_bad_member_stores_nothing(store: &impl Provider) {
    let id = run("atomic");
    let long = "x".repeat(MAX_RECORD_BYTES + 1);
    let good_blob = b"good".to_vec();
    let good_name = probity_record::blob_digest(&good_blob);
    for bad_record in ["", "two\nlines", &long] {
        for place in 0..3 {
            let mut lines = vec!["a", "b", "c"];
            lines[place] = bad_record;
            let mut batch = records(&lines);
            batch.add_blob(good_blob.clone());
            let refused = store.append(&id, 0, batch).await.unwrap_err();
            let AppendError::Rejected(BatchError::Record { index, .. }) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!(index, place);
        }
    }
    let mut batch = records(&["a"]);
    batch.blobs = vec![(good_name, good_blob), (good_name, b"other".to_vec())];
    let refused = store.append(&id, 0, batch).await.unwrap_err();
    assert!(matches!(refused, AppendError::Rejected(BatchError::BlobDigest { .. })), "{refused:?}");

    assert_eq!(store.state(&id).await, Ok(None));
    assert_eq!(store.get(&good_name, 100).await, Ok(None));
    assert_eq!(store.append(&id, 0, records(&["a"])).await, Ok(1));
}

/// The largest legal batch and record are stored; one more of either is refused.
pub async fn every_limit_is_refused_at_its_edge(store: &impl Provider) {
    let id = run("limits");
    let full = Batch::of(vec![b"r".to_vec(); MAX_BATCH_RECORDS]);
    assert_eq!(store.append(&id, 0, full).await, Ok(MAX_BATCH_RECORDS as u64));
    let longest = Batch::of(vec![vec![b'x'; MAX_RECORD_BYTES]]);
    let len = MAX_BATCH_RECORDS as u64 + 1;
    assert_eq!(store.append(&id, MAX_BATCH_RECORDS as u64, longest).await, Ok(len));
    assert_eq!(store.read(&id, len - 1, 1).await.unwrap()[0].len(), MAX_RECORD_BYTES);

    let count = MAX_BATCH_RECORDS + 1;
    let over = Batch::of(vec![b"r".to_vec(); count]);
    let refused = store.append(&id, len, over).await;
    assert_eq!(refused, Err(AppendError::Rejected(BatchError::TooManyRecords { count })));
    let refused = store.append(&id, len, Batch::default()).await;
    assert_eq!(refused, Err(AppendError::Rejected(BatchError::Empty)));
    assert_eq!(store.state(&id).await.unwrap().unwrap().len, len);
}
