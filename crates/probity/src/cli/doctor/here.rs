//! What is found in a SQLite file.

use std::path::{Path, PathBuf};

use probity_store_sqlite::{Inspection, Options, inspect};

use super::Finding;
use crate::cli::present::count;
use crate::location::{explained, is_full};

/// Everything about the file, as far as it can be looked at.
pub(super) async fn findings(path: &Path, is_named: bool) -> Vec<Finding> {
    if !path.exists() {
        let shown = path.display();
        return vec![match is_named {
            true => Finding::fail(
                "file",
                "store_missing",
                format!(
                    "there is no file `{shown}`; check the path, or run something to create it"
                ),
            ),
            false => Finding::ok("file", format!("nothing was run yet; `{shown}` will be created")),
        }];
    }
    let file: PathBuf = path.to_path_buf();
    let looked = tokio::task::spawn_blocking(move || inspect(&file)).await;
    match looked {
        Ok(Ok(inspection)) => of(path, &inspection),
        Ok(Err(fault)) => {
            let fault = explained(path, fault);
            vec![Finding::fail("file", fault.code(), fault.to_string())]
        }
        Err(error) => vec![Finding::fail("file", "internal", error.to_string())],
    }
}

fn of(path: &Path, found: &Inspection) -> Vec<Finding> {
    let Inspection { bytes, log_bytes, runs, .. } = found;
    let shown = path.display();
    let mut findings =
        vec![Finding::ok("file", format!("`{shown}`, {bytes} bytes, write-ahead log {log_bytes}"))];
    findings.push(schema(found));
    findings.push(match &found.damage {
        None => Finding::ok("integrity", "every page and index is as it should be"),
        Some(damage) => Finding::fail(
            "integrity",
            "store_corrupt",
            format!("the file is damaged; keep a copy and restore the last backup: {damage}"),
        ),
    });
    findings.push(match &found.unwritable {
        None if is_full(path) => Finding::fail(
            "writable",
            "store_full",
            "the disk is full; nothing more can be recorded until there is room",
        ),
        None => Finding::ok("writable", "this user can write"),
        Some(fault) => Finding::fail("writable", fault.code(), fault.to_string()),
    });
    let durability = Options::default().durability.as_str();
    findings.push(Finding::ok(
        "durability",
        format!("acknowledged records survive loss of power (synchronous={durability})"),
    ));
    findings.push(Finding::ok("runs", count(*runs, "run")));
    findings.extend(found.jobs.as_ref().map(|jobs| {
        let (queued, parked, dead) = (jobs.queued, jobs.parked, jobs.dead);
        let text = format!("{queued} queued, {parked} parked, {dead} dead letters");
        match dead {
            0 => Finding::ok("queue", text),
            _ => Finding::warn("queue", "run_buried", format!("{text}; see `probity dlq list`")),
        }
    }));
    let lease_ms = Options::default().lease_ttl_ms;
    findings.push(Finding::ok("lease", format!("{lease_ms} ms, unless a worker says --lease")));
    findings
}

fn schema(found: &Inspection) -> Finding {
    let (version, ours) = (found.schema, found.schema_of_build);
    match version.cmp(&ours) {
        std::cmp::Ordering::Equal => Finding::ok("schema", format!("{version}")),
        std::cmp::Ordering::Less => Finding::ok(
            "schema",
            format!("{version}; this build makes it {ours} when it opens the file to write"),
        ),
        std::cmp::Ordering::Greater => Finding::fail(
            "schema",
            "store_newer",
            format!("{version}, and this build writes {ours}; use a build at least as new"),
        ),
    }
}
