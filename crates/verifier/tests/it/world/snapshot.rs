use std::fs;

use probity_verifier::{Changes, SnapshotRules, Workspace, snapshot};
use tokio_util::sync::CancellationToken;

#[test]
fn a_change_is_seen_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/a"), "one").unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let take =
        || snapshot(&workspace, &SnapshotRules::default(), &CancellationToken::new()).unwrap();
    let before = take();
    fs::write(folder.path().join("sub/a"), "two").unwrap();
    fs::write(folder.path().join("b"), "").unwrap();
    let changes = Changes::between(&before, &take());
    assert_eq!(changes.modified, ["sub/a"]);
    assert_eq!(changes.created, ["b"]);
}
