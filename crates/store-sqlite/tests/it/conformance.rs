use probity_store_sqlite::{Options, SqliteStore};

probity_store::conformance_suite!(async || {
    let folder = tempfile::tempdir().unwrap();
    (SqliteStore::open(folder.path().join("store.db"), Options::default()).unwrap(), folder)
});

/// The same for who stays briefly.
mod brief {
    use probity_store_sqlite::{Options, SqliteStore, Stay};

    probity_store::conformance_suite!(async || {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { stay: Stay::Brief, ..Options::default() };
        (SqliteStore::open(folder.path().join("store.db"), options).unwrap(), folder)
    });
}

/// The same for its queue.
mod queue {
    use std::time::Duration;

    use probity_store_sqlite::{Options, SqliteStore};

    probity_store::queue_conformance_suite!(async |lease_ttl: Duration| {
        let folder = tempfile::tempdir().unwrap();
        let lease_ttl_ms = u32::try_from(lease_ttl.as_millis()).unwrap();
        let options = Options { lease_ttl_ms, ..Options::default() };
        (SqliteStore::open(folder.path().join("store.db"), options).unwrap(), folder)
    });
}
