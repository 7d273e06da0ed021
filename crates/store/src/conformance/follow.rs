//! Waiting for a log to grow.

use std::time::{Duration, Instant};

use crate::LogState;

use super::{Provider, records, run, sealing};

/// Longer than any of these cases may take.
const LONG: Duration = Duration::from_secs(60);

/// No wait where there is more already, or where there will never be more.
pub async fn a_wait_ends_at_once_when_there_is_more(store: &impl Provider) {
    let id = run("ready");
    store.append(&id, 0, records(&["a", "b"])).await.unwrap();
    let open = LogState { len: 2, sealed: false };
    assert_eq!(store.wait_beyond(&id, 0, LONG).await, Ok(open));
    assert_eq!(store.wait_beyond(&id, 1, LONG).await, Ok(open));
    store.append(&id, 2, sealing(&["end"])).await.unwrap();
    let sealed = LogState { len: 3, sealed: true };
    for len in [0, 3, 100] {
        assert_eq!(store.wait_beyond(&id, len, LONG).await, Ok(sealed));
    }
}

/// The timeout is kept, also while other runs grow, and gives the unchanged state.
pub async fn a_wait_ends_at_its_timeout(store: &impl Provider) {
    let id = run("quiet");
    let timeout = Duration::from_millis(50);
    let started = Instant::now();
    assert_eq!(store.wait_beyond(&id, 0, timeout).await, Ok(LogState::default()));
    assert!(started.elapsed() >= timeout);
    store.append(&id, 0, records(&["a"])).await.unwrap();
    store.append(&run("other"), 0, records(&["a", "b"])).await.unwrap();
    let state = store.wait_beyond(&id, 1, timeout).await;
    assert_eq!(state, Ok(LogState { len: 1, sealed: false }));
    assert_eq!(store.wait_beyond(&id, 1, Duration::ZERO).await, state);
}

/// A follower that starts before the run exists misses no append, up to the seal.
pub async fn a_follower_sees_each_append(store: &impl Provider) {
    const APPENDS: u64 = 20;
    let id = run("followed");
    let follower = tokio::spawn({
        let (store, id) = (store.clone(), id.clone());
        async move {
            let mut lens = vec![0];
            loop {
                let len = *lens.last().unwrap();
                let state = store.wait_beyond(&id, len, LONG).await.unwrap();
                assert!(state.len > len, "woken by nothing");
                lens.push(state.len);
                if state.sealed {
                    return lens;
                }
            }
        }
    });
    for n in 0..APPENDS {
        let batch = if n + 1 == APPENDS { sealing(&["end"]) } else { records(&["x"]) };
        store.append(&id, n, batch).await.unwrap();
        tokio::task::yield_now().await;
    }
    let lens = tokio::time::timeout(LONG, follower).await.unwrap().unwrap();
    assert!(lens.is_sorted_by(|a, b| a < b));
    assert_eq!(lens.last(), Some(&APPENDS));
}
