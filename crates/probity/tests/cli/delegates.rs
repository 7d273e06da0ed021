//! The files that `docs/delegates.md` shows.

use crate::world::World;

const PAGE: &str = include_str!("../../../../docs/delegates.md");

/// The blocks of the page in one language.
fn blocks(language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let after = PAGE.split(&fence).skip(1);
    after.map(|text| text.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_request_and_profile_of_the_page_is_in_order() {
    let world = World::new();
    world.write(".probity/tools/write_note.star", "def run(args):\n    return 1\n");
    let requests = blocks("yaml");
    assert!(requests.len() >= 4, "{requests:?}");
    for (number, request) in requests.iter().enumerate() {
        world.write(&format!("r{number}.yaml"), request);
        let ran = world.probity(["check", "--json", &format!("r{number}.yaml")]);
        assert_eq!(ran.code, 0, "{request}: {ran:?}");
    }
    let profiles = blocks("markdown");
    assert!(!profiles.is_empty());
    for (number, profile) in profiles.iter().enumerate() {
        world.write(&format!(".probity/agents/p{number}.md"), profile);
    }
    let ran = world.probity(["check", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}
