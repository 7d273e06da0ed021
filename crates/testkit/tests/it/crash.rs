//! A store that dies, and the one behind it.

use std::sync::Arc;
use std::time::Duration;

use probity_core::RunId;
use probity_store::{AppendError, Batch, Blobs, MemoryStore, RunLog, Store};
use probity_testkit::{CrashPoint, CrashStore};

fn batch() -> Batch {
    Batch::of(vec![b"{}".to_vec()])
}

#[tokio::test]
async fn it_dies_at_its_append_and_stays_dead() {
    let run: RunId = "run-1".parse().unwrap();
    for point in CrashPoint::all(3) {
        let behind: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let store = CrashStore::new(Arc::clone(&behind), point);
        let mut len = 0;
        let error = loop {
            match store.append(&run, len, batch()).await {
                Ok(grown) => len = grown,
                Err(error) => break error,
            }
        };
        let (nth, is_stored) = match point {
            CrashPoint::Before(nth) => (nth, false),
            CrashPoint::After(nth) => (nth, true),
            CrashPoint::Never => unreachable!("not among all"),
        };
        assert_eq!(matches!(error, AppendError::Unknown(_)), is_stored, "{error:?}");
        assert!(store.is_dead());
        assert_eq!((len, store.appends()), (nth, nth + 1), "{point:?}");
        let kept = behind.state(&run).await.unwrap().map_or(0, |state| state.len);
        assert_eq!(kept, nth + u64::from(is_stored), "{point:?}");

        assert!(store.append(&run, kept, batch()).await.is_err());
        assert!(store.read(&run, 0, 1).await.is_err());
        assert!(store.state(&run).await.is_err());
        assert!(store.list(None, 1).await.is_err());
        assert!(store.wait_beyond(&run, 9, Duration::ZERO).await.is_err());
        assert!(store.put(b"x".to_vec()).await.is_err());
        assert_eq!(store.appends(), nth + 1);
    }
}

#[tokio::test]
async fn without_a_point_it_only_counts() {
    let run: RunId = "run-1".parse().unwrap();
    let store = CrashStore::new(Arc::new(MemoryStore::new()), CrashPoint::Never);
    for len in 0..4 {
        assert_eq!(store.append(&run, len, batch()).await, Ok(len + 1));
    }
    let digest = store.put(b"x".to_vec()).await.unwrap();
    assert_eq!(store.get(&digest, 9).await.unwrap().as_deref(), Some(b"x".as_slice()));
    assert_eq!((store.appends(), store.is_dead()), (4, false));
}
