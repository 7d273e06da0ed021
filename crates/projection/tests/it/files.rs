//! Which files are taken for an index.

use probity_projection::{Filter, Index};
use probity_store::MemoryStore;
use rusqlite::Connection;

#[test]
fn a_file_of_another_program_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (text, database) = (folder.path().join("text"), folder.path().join("other.db"));
    std::fs::write(
        &text,
        "not a database, and long enough to be read as a header of one".repeat(9),
    )
    .unwrap();
    Connection::open(&database).unwrap().execute_batch("CREATE TABLE theirs (it)").unwrap();
    for path in [&text, &database] {
        let before = std::fs::read(path).unwrap();
        let codes = [
            Index::open(path, "memory").map(drop).unwrap_err().code(),
            Index::open_anew(path, "memory").map(drop).unwrap_err().code(),
            Index::open_existing(path).map(drop).unwrap_err().code(),
        ];
        assert_eq!(codes, ["index_foreign"; 3], "{path:?}");
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
}

#[test]
fn an_index_of_another_store_is_refused_and_made_anew_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    assert_eq!(Index::open_existing(&path).map(drop).unwrap_err().code(), "index_missing");
    drop(Index::open(&path, "one").unwrap());
    let error = Index::open(&path, "two").map(drop).unwrap_err();
    assert_eq!(error.code(), "index_other_store");
    assert!(error.to_string().contains("the index of one, not of two"), "{error}");
    drop(Index::open_anew(&path, "two").unwrap());
    drop(Index::open(&path, "two").unwrap());
}

#[tokio::test]
async fn an_index_of_another_build_is_filled_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    drop(Index::open(&path, "memory").unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("DROP TABLE verdict; PRAGMA user_version = 99").unwrap();
    drop(connection);
    assert_eq!(Index::open_existing(&path).map(drop).unwrap_err().code(), "index_foreign");
    let mut index = Index::open(&path, "memory").unwrap();
    index.update(&MemoryStore::new()).await.unwrap();
    assert_eq!(index.runs(&Filter { limit: 9, ..Filter::default() }).unwrap(), []);
}
