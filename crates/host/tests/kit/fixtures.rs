//! The host and the kit embed the same files: all of a folder, and no other.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::served::Served;

#[tokio::test(flavor = "multi_thread")]
async fn the_host_has_every_fixture_of_the_kit_as_it_stands() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/openwop");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|file| {
            file.unwrap().file_name().to_str().unwrap().strip_suffix(".json").map(str::to_owned)
        })
        .collect();
    let kit: BTreeSet<String> =
        probity_conformance::fixtures().iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(kit, files);
    let served = Served::start(None).await;
    let discovery = served.get("/.well-known/openwop").await;
    let listed = discovery["fixtures"].as_array().unwrap().iter();
    let listed: BTreeSet<String> = listed.map(|id| id.as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, files);
    for (id, text) in probity_conformance::fixtures() {
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(served.get(&format!("/v1/workflows/{id}")).await, expected, "{id}");
    }
}
