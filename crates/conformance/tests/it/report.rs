//! The table and what is told of it.

use std::collections::BTreeSet;

use probity_conformance::{Filter, Key, Kit, KitError, Level, Need, Options, Silent, fixtures};

use crate::host::{self, KEY};
use crate::lie::Lie;

#[test]
fn names_are_used_once_and_say_their_level() {
    let kit = Kit::new("http://localhost:1", Key::new(KEY), Options::new("mark")).unwrap();
    let mut ids = BTreeSet::new();
    for scenario in kit.scenarios() {
        assert!(ids.insert(scenario.id), "{}", scenario.id);
        assert_eq!(
            scenario.id.split_once('/').map(|(level, _)| level),
            Some(scenario.level.as_str())
        );
        assert!(!scenario.title.is_empty() && !scenario.spec.is_empty(), "{}", scenario.id);
        for need in scenario.needs {
            if let Need::Fixture(id) = need {
                assert!(fixtures().iter().any(|(known, _)| known == id), "{id}");
            }
        }
    }
    let levels: BTreeSet<Level> = kit.scenarios().iter().map(|scenario| scenario.level).collect();
    assert_eq!(levels.len(), Level::ALL.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_tells_what_failed_and_where() {
    let url = host::start(Some(Lie::NoCacheControl), None).await;
    let kit = Kit::new(&url, Key::new(KEY), Options::new("mark")).unwrap();
    let filter = Filter { ids: vec!["core/discovery".to_owned()], ..Filter::default() };
    let report = kit.run(&filter, &Silent).await.unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["outcomes"][0]["status"], "failed");
    assert_eq!(json["outcomes"][0]["expected"], "a Cache-Control header");
    assert_eq!(json["totals"]["failed"], 1);
    assert_eq!(json["host"]["implementation"]["name"], "test-host");
    assert_eq!(json["host"]["discovery_sha256"].as_str().unwrap().len(), 64);
    let text = report.to_text();
    assert!(
        text.contains("FAILED   core/discovery") && text.contains("a Cache-Control header"),
        "{text}"
    );
    assert!(!format!("{report:?}{text}{json}").contains(KEY));
    assert_eq!(report.exit_code(true), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_fits_nothing_is_no_success() {
    let url = host::start(None, None).await;
    let kit = Kit::new(&url, Key::new(KEY), Options::new("mark")).unwrap();
    let filter = Filter { ids: vec!["no-such-scenario".to_owned()], ..Filter::default() };
    let error = kit.run(&filter, &Silent).await.unwrap_err();
    assert_eq!(error, KitError::NoScenario { filter: "no-such-scenario".to_owned() });
}
