//! Whose a run is, by its name.

use probity_core::RunId;
use probity_host::{keyed_run_id, owns, run_id};
use probity_workflow::{Kin, child_id};

#[test]
fn a_run_is_of_the_tenant_whose_mark_it_carries() {
    let run = run_id("acme", 7);
    assert!(owns("acme", &run));
    assert!(!owns("other", &run) && !owns("default", &run));
    assert!(owns("default", &run_id("default", 7)));
}

#[test]
fn a_run_without_a_mark_is_the_default_tenants() {
    for text in ["release-42", "0190a5d2-7c3f-7000-8000-000000000000", "abcdefabcdef-x"] {
        let run: RunId = text.parse().unwrap();
        assert!(owns("default", &run) && !owns("acme", &run), "{text}");
    }
}

#[test]
fn children_are_of_their_parents_tenant() {
    let parent = run_id("acme", 7);
    let child = child_id(&parent, "dispatch", Kin::Child, 1);
    assert!(owns("acme", &child) && !owns("default", &child), "{child}");
    let grandchild = child_id(&child, "dispatch", Kin::Verification, 3);
    assert!(owns("acme", &grandchild));
}

#[test]
fn a_key_names_one_run_of_one_tenant_at_one_endpoint() {
    let run = keyed_run_id("acme", "POST /v1/runs", "k");
    assert_eq!(run, keyed_run_id("acme", "POST /v1/runs", "k"));
    assert!(owns("acme", &run));
    for other in [
        keyed_run_id("other", "POST /v1/runs", "k"),
        keyed_run_id("acme", "POST /v1/runs", "l"),
        keyed_run_id("acme", "POST /v1/run", "sk"),
    ] {
        assert_ne!(run, other);
    }
}
