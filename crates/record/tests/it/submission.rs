use probity_core::Turn;
use probity_record::{SUBMISSION_NAMESPACE, blob_digest, submission_id};
use uuid::Uuid;

#[test]
fn the_namespace_is_the_published_one() {
    let derived = Uuid::new_v5(&Uuid::nil(), b"probity.submission");
    assert_eq!(SUBMISSION_NAMESPACE, derived);
    assert_eq!(derived.to_string(), "ce42dc09-57ba-5486-b60d-bafed3e591b1");
}

#[test]
fn a_submission_id_depends_on_all_four_parts_and_nothing_else() {
    let run = "run-1".parse().unwrap();
    let candidate = blob_digest(b"candidate");
    let id = submission_id(&run, Turn::FIRST, &candidate);
    // uuid5(namespace, "run-1\n0\n0\n" + sha256("candidate").hexdigest()) of Python.
    assert_eq!(id.as_str(), "20dfc5a1-d775-5187-910c-755c1b7bca79");
    assert_eq!(submission_id(&run, Turn::FIRST, &candidate), id);
    for other in [
        submission_id(&"run-2".parse().unwrap(), Turn::FIRST, &candidate),
        submission_id(&run, Turn { epoch: 1, number: 0 }, &candidate),
        submission_id(&run, Turn { epoch: 0, number: 1 }, &candidate),
        submission_id(&run, Turn::FIRST, &blob_digest(b"other")),
    ] {
        assert_ne!(other, id);
    }
}
