//! Crate edges, the foundation's dependencies, the map.

use xtask::Tree;
use xtask::rule::edge::{Package, check, check_map, packages};

fn members(json: &str) -> Vec<Package> {
    packages(format!(r#"{{"packages": [{json}], "version": 1}}"#).as_bytes()).unwrap()
}

fn member(name: &str, dependencies: &[(&str, &str)]) -> String {
    let lines: Vec<String> = dependencies
        .iter()
        .map(|(name, kind)| {
            let kind = if *kind == "dev" { "\"dev\"" } else { "null" };
            let path =
                if name.starts_with("probity") { format!("\"/x/{name}\"") } else { "null".into() };
            format!(r#"{{"name": "{name}", "kind": {kind}, "path": {path}}}"#)
        })
        .collect();
    format!(r#"{{"name": "{name}", "dependencies": [{}]}}"#, lines.join(","))
}

fn messages(name: &str, dependencies: &[(&str, &str)]) -> Vec<String> {
    check(&members(&member(name, dependencies))).into_iter().map(|f| f.message).collect()
}

#[test]
fn edges_of_the_table_are_allowed_and_others_are_not() {
    for (from, to, allowed) in [
        ("probity-record", "probity-core", true),
        ("probity-core", "probity-record", false),
        ("probity-core", "probity-core", true),
        ("probity-script", "probity-verifier", true),
        ("probity-verifier", "probity-script", false),
        ("probity-verifier", "probity-delegate", false),
        ("probity-delegate", "probity-verifier", false),
        ("probity-engine", "probity-script", false),
        ("probity", "probity-script", true),
        ("probity-engine", "probity", false),
        ("probity-bench", "probity", true),
        ("probity", "probity-sim", false),
        ("xtask", "probity-core", false),
    ] {
        for kind in ["normal", "dev"] {
            let found = messages(from, &[(to, kind)]);
            assert_eq!(found.is_empty(), allowed, "{from} to {to} ({kind}): {found:?}");
        }
    }
}

#[test]
fn the_engine_meets_a_provider_only_in_its_tests() {
    assert!(messages("probity-engine", &[("probity-store-sqlite", "dev")]).is_empty());
    assert_eq!(messages("probity-engine", &[("probity-store-sqlite", "normal")]).len(), 1);
    assert_eq!(messages("probity-verifier", &[("probity-store-sqlite", "dev")]).len(), 1);
}

#[test]
fn a_member_without_a_row_is_found() {
    let found = messages("probity-utils", &[]);
    assert!(found.len() == 1 && found[0].contains("probity-utils"), "{found:?}");
}

#[test]
fn the_foundation_stays_small_and_quiet() {
    let crates: Vec<String> = (0..9).map(|n| format!("dep{n}")).collect();
    let nine: Vec<(&str, &str)> = crates.iter().map(|name| (name.as_str(), "normal")).collect();
    assert_eq!(messages("probity-core", &nine[..8]), [""; 0]);
    assert_eq!(messages("probity-core", &nine).len(), 1);
    assert_eq!(messages("probity-engine", &nine), [""; 0], "only core and record are counted");
    let split =
        format!("{},{}", member("probity-core", &nine[..5]), member("probity-record", &nine[4..]));
    assert_eq!(check(&members(&split)).len(), 1, "they are counted together");
    assert_eq!(messages("probity-core", &[("tokio", "normal")]).len(), 1);
    assert_eq!(messages("probity-core", &[("tokio", "dev")]), [""; 0]);
}

#[test]
fn the_map_lists_every_member_and_no_other() {
    let members = members(&[member("probity-core", &[]), member("xtask", &[])].join(","));
    let map = |text: &str| check_map(&members, &Tree::of(&[("ARCHITECTURE.md", text)]));
    let whole = "| Crate | What |\n|---|---|\n| `probity-core` | x |\n| `xtask` | y |\n";
    assert_eq!(map(whole), []);
    assert_eq!(map("| `probity-core` | x |\n").len(), 1);
    assert_eq!(map(&format!("{whole}| `probity-gone` | z |\n")).len(), 1);
    assert_eq!(map(&format!("{whole}| `--flag` | not a crate |\n")), []);
    assert_eq!(check_map(&members, &Tree::default()).len(), 2);
}

#[test]
fn what_cargo_does_not_print_is_an_error() {
    assert!(packages(b"{}").is_err());
    assert!(packages(b"not json").is_err());
}

#[test]
fn tools_that_have_an_owner_are_used_by_nobody_else() {
    for (from, tool, kind, allowed) in [
        ("probity-egress", "reqwest", "normal", true),
        ("probity-verifier", "reqwest", "normal", false),
        ("probity-verifier", "rusqlite", "normal", true),
        ("probity-engine", "rusqlite", "normal", false),
        ("probity", "rusqlite", "dev", true),
        ("probity", "starlark", "normal", false),
    ] {
        assert_eq!(messages(from, &[(tool, kind)]).is_empty(), allowed, "{from} and {tool}");
    }
}
