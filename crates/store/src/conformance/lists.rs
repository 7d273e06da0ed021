//! Order and paging of the list of runs.

use crate::{LogState, RunSummary};

use super::{Provider, records, run, sealing};

fn names(page: &[RunSummary]) -> Vec<&str> {
    page.iter().map(|summary| summary.run.as_str()).collect()
}

/// Newest first by creation; later appends do not move a run. States are current.
pub async fn lists_are_newest_first(store: &impl Provider) {
    for name in ["b", "a", "c"] {
        store.append(&run(name), 0, records(&[name])).await.unwrap();
    }
    store.append(&run("b"), 1, sealing(&["end"])).await.unwrap();
    let page = store.list(None, 10).await.unwrap();
    assert_eq!(names(&page), ["c", "a", "b"]);
    assert_eq!(page[2].state, LogState { len: 2, sealed: true });
    assert_eq!(page[1].state, LogState { len: 1, sealed: false });
    assert!(page.iter().all(|summary| summary.created_at_ms > 1_600_000_000_000));
    assert_eq!(store.list(None, 0).await, Ok(Vec::new()));
}

/// Pages join without gap or overlap, whatever is created meanwhile.
pub async fn lists_page_by_cursor(store: &impl Provider) {
    for n in 0..7 {
        store.append(&run(&format!("run-{n}")), 0, records(&["x"])).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(after, 3).await.unwrap();
        assert!(page.len() <= 3);
        store.append(&run(&format!("late-{}", seen.len())), 0, records(&["x"])).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.cursor);
        seen.extend(page.into_iter().map(|summary| summary.run.to_string()));
    }
    let wanted: Vec<String> = (0..7).rev().map(|n| format!("run-{n}")).collect();
    assert_eq!(seen, wanted);
}
