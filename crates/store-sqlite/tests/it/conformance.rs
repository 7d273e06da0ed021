use probity_store_sqlite::{Options, SqliteStore};

probity_store::conformance_suite!(async || {
    let folder = tempfile::tempdir().unwrap();
    (SqliteStore::open(folder.path().join("store.db"), Options::default()).unwrap(), folder)
});
