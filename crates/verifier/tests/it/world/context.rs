//! The context of a check.

use std::sync::Arc;

use probity_core::{Code, Phase};
use probity_verifier::CheckContext;

use super::World;

#[test]
fn changes_are_worked_out_once_and_follow_the_manifests() {
    let world = World::new();
    let before = Arc::new(world.snapshot());
    world.write("new", "");
    let red = CheckContext::new(Code::slug("files"), world.open(), Arc::clone(&before));
    assert_eq!((red.phase, red.attempt), (Phase::Before, 0));
    assert!(red.changes().is_empty());

    let mut context = red.clone();
    context.after = Arc::new(world.snapshot());
    assert_eq!(context.changes().created, ["new"]);

    // The clones that the checks of one attempt get share the answer.
    let clone = context.clone();
    assert!(Arc::ptr_eq(&context.changes(), &clone.changes()));
    assert!(red.changes().is_empty());
}
