//! Who may depend on whom.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::{Finding, Tree};

/// Every member with the members it may stand on. Arrows point down only.
const EDGES: [(&str, &[&str]); 37] = [
    ("probity-core", &[]),
    ("probity-record", &["core"]),
    ("probity-policy", &["core", "record"]),
    ("probity-report", &[]),
    ("probity-grounding", &[]),
    ("probity-trace", &["report", "grounding"]),
    ("probity-audit", &["core", "record", "policy", "report", "trace"]),
    ("probity-sandbox", &[]),
    ("probity-egress", &[]),
    ("probity-store", &["core", "record"]),
    ("probity-store-sqlite", &["core", "record", "store"]),
    ("probity-store-nats", &["core", "record", "store"]),
    ("probity-projection", &["core", "record", "store"]),
    ("probity-verifier", &["core", "sandbox", "egress", "grounding"]),
    ("probity-script", &["core", "sandbox", "egress", "verifier"]),
    ("probity-delegate", &["core", "sandbox", "egress"]),
    ("probity-engine", &["core", "record", "store", "verifier", "delegate"]),
    ("probity-worker", &["core", "record", "store", "engine"]),
    ("probity-workflow", &["core", "record"]),
    ("probity-conductor", &["core", "record", "workflow", "store", "engine", "worker"]),
    (
        "probity-host",
        &[
            "core",
            "record",
            "workflow",
            "store",
            "egress",
            "engine",
            "worker",
            "conductor",
            "projection",
        ],
    ),
    ("probity-conformance", &["record"]),
    ("probity-telemetry", &["core", "record", "store", "egress", "verifier", "delegate", "engine"]),
    ("probity-harness", &["core"]),
    ("probity-quality", &[]),
    ("probity-lies", &["core"]),
    ("probity-chat", &["core", "delegate"]),
    ("probity-llm", &["chat", "egress"]),
    ("probity-mcp", &["chat", "sandbox"]),
    ("probity-acp", &["core", "delegate", "sandbox"]),
    (
        "probity-agent",
        &["core", "record", "store", "verifier", "delegate", "chat", "engine", "worker"],
    ),
    ("probity-testkit", &["core", "record", "store", "delegate", "chat", "engine"]),
    (
        "probity",
        &[
            "core",
            "record",
            "policy",
            "report",
            "grounding",
            "trace",
            "audit",
            "store",
            "store-sqlite",
            "projection",
            "store-nats",
            "sandbox",
            "egress",
            "verifier",
            "script",
            "delegate",
            "engine",
            "worker",
            "chat",
            "llm",
            "mcp",
            "acp",
            "agent",
            "testkit",
            "workflow",
            "conductor",
            "host",
            "conformance",
            "telemetry",
            "harness",
            "quality",
            "lies",
        ],
    ),
    (
        "probity-sim",
        &[
            "core",
            "record",
            "policy",
            "report",
            "grounding",
            "trace",
            "audit",
            "store",
            "store-sqlite",
            "sandbox",
            "egress",
            "verifier",
            "script",
            "delegate",
            "engine",
            "worker",
            "chat",
            "llm",
            "mcp",
            "acp",
            "agent",
            "testkit",
        ],
    ),
    (
        "probity-bench",
        &[
            "core",
            "record",
            "policy",
            "report",
            "grounding",
            "trace",
            "audit",
            "store",
            "store-sqlite",
            "store-nats",
            "sandbox",
            "egress",
            "verifier",
            "script",
            "delegate",
            "engine",
            "worker",
            "chat",
            "llm",
            "mcp",
            "acp",
            "agent",
            "testkit",
            "sim",
            "lies",
            "",
        ],
    ),
    (
        "probity-fuzz",
        &[
            "core",
            "record",
            "policy",
            "report",
            "grounding",
            "trace",
            "audit",
            "store",
            "projection",
            "sandbox",
            "egress",
            "verifier",
            "delegate",
            "chat",
            "llm",
            "workflow",
            "host",
            "telemetry",
            "harness",
            "sim",
        ],
    ),
    ("xtask", &[]),
];

/// What a member's tests may stand on besides: a durable provider, scripted models and servers.
const TEST_EDGES: [(&str, &[&str]); 9] = [
    ("probity-engine", &["store-sqlite"]),
    ("probity-worker", &["store-sqlite", "delegate", "verifier", "testkit"]),
    ("probity-chat", &["testkit"]),
    ("probity-llm", &["testkit"]),
    ("probity-mcp", &["core", "testkit"]),
    ("probity-acp", &["testkit"]),
    ("probity-agent", &["llm", "testkit", "store-sqlite", "audit"]),
    ("probity-conductor", &["store-sqlite", "delegate", "verifier", "testkit"]),
    ("probity-host", &["store-sqlite", "delegate", "verifier", "conformance"]),
];

/// The crates that third parties audit with: their direct dependencies are counted together.
const FOUNDATION: [&str; 2] = ["probity-core", "probity-record"];
const FOUNDATION_MAX: usize = 8;
/// What would bring a clock, a socket or a runtime into them.
const FOUNDATION_NEVER: [&str; 6] =
    ["tokio", "async-trait", "reqwest", "rusqlite", "tokio-util", "rustix"];

/// Tools that belong to few: who else needs one goes through its owner.
const OWNED: [(&str, &[&str]); 5] = [
    ("reqwest", &["probity-egress", "probity-conformance", "probity-host", "probity"]),
    ("starlark", &["probity-script"]),
    (
        "rusqlite",
        &[
            "probity-store-sqlite",
            "probity-projection",
            "probity-verifier",
            "probity-script",
            "probity-quality",
            "probity-bench",
        ],
    ),
    ("cap-std", &["probity-verifier"]),
    ("async-nats", &["probity-store-nats"]),
];

/// A member of the workspace, as `cargo metadata` prints it.
#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its direct dependencies.
    pub dependencies: Vec<Dependency>,
}

/// One line of a manifest.
#[derive(Debug, Clone, Deserialize)]
pub struct Dependency {
    /// The package depended on.
    pub name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub kind: Option<String>,
    /// Set for members.
    pub path: Option<String>,
}

/// Reads the members from the output of `cargo metadata --no-deps`.
///
/// # Errors
/// The JSON is not what cargo prints.
pub fn packages(metadata: &[u8]) -> Result<Vec<Package>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    Ok(serde_json::from_slice::<Metadata>(metadata)?.packages)
}

/// Edges that are not in the table, members that have no row, and the dependency count of the
/// foundation.
#[must_use]
pub fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut foundation = BTreeSet::new();
    for package in packages {
        let finding = |text: String| Finding::new("Cargo.toml", 0, text);
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == package.name) else {
            findings.push(finding(format!("`{}` has no row in the edge table", package.name)));
            continue;
        };
        for dependency in &package.dependencies {
            let target = dependency.name.as_str();
            if dependency.path.is_some() {
                let is_allowed = allowed.iter().any(|to| short_name_is(target, to));
                if target != package.name && !is_allowed && !is_test_edge(package, dependency) {
                    let from = &package.name;
                    findings.push(finding(format!("`{from}` may not depend on `{target}`")));
                }
            } else if dependency.kind.is_none()
                && OWNED.iter().any(|(tool, by)| *tool == target && !by.contains(&&*package.name))
            {
                let text = format!("`{}` may not use `{target}` itself", package.name);
                findings.push(finding(text));
            } else if dependency.kind.is_none() && FOUNDATION.contains(&package.name.as_str()) {
                foundation.insert(target);
                if FOUNDATION_NEVER.contains(&target) {
                    findings.push(finding(format!("`{}` may not use `{target}`", package.name)));
                }
            }
        }
    }
    if foundation.len() > FOUNDATION_MAX {
        findings.push(Finding::new(
            "Cargo.toml",
            0,
            format!("core and record use {foundation:?}, more than {FOUNDATION_MAX} crates"),
        ));
    }
    findings
}

/// Members that ARCHITECTURE.md does not list in its crate map, and rows without a member. A row is
/// a table row whose first cell is a package name in backticks.
#[must_use]
pub fn check_map(packages: &[Package], tree: &Tree) -> Vec<Finding> {
    const MAP: &str = "ARCHITECTURE.md";
    let text = tree.text(MAP).unwrap_or_default();
    let listed: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("probity") || *name == "xtask")
        .collect();
    let members: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let missing = members.difference(&listed).map(|name| format!("`{name}` is not in the map"));
    let extra = listed.difference(&members).map(|name| format!("`{name}` is no member"));
    missing.chain(extra).map(|text| Finding::new(MAP, 0, text)).collect()
}

fn is_test_edge(package: &Package, dependency: &Dependency) -> bool {
    dependency.kind.as_deref() == Some("dev")
        && TEST_EDGES.iter().any(|(from, allowed)| {
            *from == package.name && allowed.iter().any(|to| short_name_is(&dependency.name, to))
        })
}

/// `probity-core` is `core`, `probity` is the empty name.
fn short_name_is(package: &str, short: &str) -> bool {
    match package.strip_prefix("probity") {
        Some("") => short.is_empty(),
        Some(rest) => rest.strip_prefix('-') == Some(short),
        None => false,
    }
}
