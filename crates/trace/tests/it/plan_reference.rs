//! Runs that the source system wrote, and mutations of their order, plan and tools; only where
//! `PROBITY_REFERENCE` names their folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use probity_trace::{MemoryFiles, Verdict};
use serde_json::Value;

use crate::plan_tamper::{audit, codes};

/// The finding that tells each mutation from the others. Resealed ones (`R`) have the same.
const TELLING: [(&str, &str); 57] = [
    ("B20", "trace_header_spec_id"),
    ("B21", "trace_header_plan_id"),
    ("C01", "trace_idx"),
    ("C02", "trace_step_mismatch"),
    ("C03", "trace_step_before_dependency"),
    ("C04", "trace_finalize_not_last"),
    ("C05", "trace_result_without_call"),
    ("C06", "trace_step_not_started"),
    ("C07", "trace_step_not_started"),
    ("C08", "trace_step_unfinished"),
    ("C09", "trace_step_twice"),
    ("C10", "trace_finalize_twice"),
    ("C11", "trace_step_unknown"),
    ("C12", "trace_step_unknown"),
    ("C13", "trace_output_kind"),
    ("C14", "trace_event_outside_step"),
    ("C15", "trace_idx"),
    ("C16", "trace_idx"),
    ("C17", "trace_idx"),
    ("C24", "trace_step_mismatch"),
    ("C25", "trace_claim_outside_derive"),
    ("C26", "trace_step_mismatch"),
    ("C27", "trace_step_mismatch"),
    ("C28", "trace_required_step_missing"),
    ("C29", "trace_required_step_missing"),
    ("C30", "trace_required_step_missing"),
    ("C31", "trace_derive_claim_ids"),
    ("C32", "trace_step_twice"),
    ("C33", "trace_step_interleaved"),
    ("C34", "trace_event_outside_step"),
    ("D01", "trace_result_missing"),
    ("D02", "trace_result_without_call"),
    ("D03", "trace_tool_not_called"),
    ("D04", "trace_call_twice"),
    ("D05", "trace_result_twice"),
    ("D06", "trace_result_without_call"),
    ("D07", "trace_result_without_call"),
    ("D08", "trace_result_of_failure"),
    ("D09", "trace_call_tool"),
    ("D10", "trace_call_arguments"),
    ("D11", "trace_call_step"),
    ("D12", "trace_result_step"),
    ("D13", "trace_result_text"),
    ("D14", "trace_result_error"),
    ("D15", "trace_call_idx"),
    ("D16", "trace_id_call"),
    ("D17", "trace_tool_unrequested"),
    ("D18", "trace_evidence_excess"),
    ("D23", "trace_result_step"),
    ("G01", "trace_plan_spec_id"),
    ("G02", "trace_header_plan_id"),
    ("G06", "trace_step_not_run"),
    ("G07", "trace_plan_dependency_missing"),
    ("G08", "trace_plan_cycle"),
    ("G09", "trace_plan_node_twice"),
    ("G10", "trace_output_kind"),
    ("G24", "trace_plan_dependency_self"),
];

/// The same for mutations of the file of the plan.
const TELLING_OF_PLANS: [(&str, &str); 14] = [
    ("G03", "trace_plan_"),
    ("G04", "trace_plan_key_missing"),
    ("G05", "trace_header_plan_id"),
    ("G11", "trace_plan_edges"),
    ("G12", "trace_plan_key_unknown"),
    ("G13", "trace_plan_key_unknown"),
    ("G14", "trace_plan_wrapped"),
    ("G15", "trace_plan_problem"),
    ("G16", "trace_tool_unrequested"),
    ("G17", "trace_call_arguments"),
    ("G18", "trace_plan_key_twice"),
    ("G19", "trace_id_node"),
    ("G22", "trace_plan_json"),
    ("G26", "trace_id_node"),
];

fn runs() -> Option<PathBuf> {
    let root = PathBuf::from(std::env::var_os("PROBITY_REFERENCE")?);
    Some(root.join("bijux-reason/runs"))
}

/// The files of a run, by path.
fn read(root: &Path) -> MemoryFiles {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).expect("below").to_str().expect("UTF-8");
            if name != "expected.json" {
                files.insert(name.to_owned(), fs::read(&path).expect("a file"));
            }
        }
    }
    MemoryFiles { files, ..MemoryFiles::default() }
}

/// Applies edits that need no links; `None` where one does.
fn edit(files: &mut MemoryFiles, ops: &[Value]) -> Option<()> {
    for op in ops {
        let path = op["path"].as_str()?.to_owned();
        match op["op"].as_str()? {
            "delete" => drop(files.files.remove(&path)),
            "write" => drop(files.files.insert(path, payload(op)?)),
            "splice" => {
                let at = |key: &str| usize::try_from(op[key].as_u64()?).ok();
                let bytes = files.files.get_mut(&path)?;
                bytes.splice(at("start")?..at("end")?, payload(op)?);
            }
            _ => return None,
        }
    }
    Some(())
}

fn payload(op: &Value) -> Option<Vec<u8>> {
    if let Some(runs) = op["runs"].as_array() {
        let run = |run: &Value| {
            let count = usize::try_from(run[1].as_u64()?).ok()?;
            Some(run[0].as_str()?.repeat(count).into_bytes())
        };
        return runs.iter().map(run).collect::<Option<Vec<_>>>().map(|runs| runs.concat());
    }
    op["text"].as_str().map(|text| text.as_bytes().to_vec())
}

#[test]
fn genuine_runs_keep_every_rule_on_order_plan_tools_and_ids() {
    let Some(runs) = runs() else { return };
    let mut seen = 0;
    for entry in fs::read_dir(runs).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_eq!(codes(&audit(&read(&path))), BTreeSet::new(), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 10);
}

#[test]
fn every_mutation_is_told_by_its_own_finding() {
    let Some(runs) = runs() else { return };
    let mutants = fs::read_to_string(runs.join("mutants.jsonl")).expect("mutants");
    let telling: BTreeMap<&str, &str> = TELLING.into_iter().chain(TELLING_OF_PLANS).collect();
    let mut seen = 0;
    for line in mutants.lines() {
        let mutant: Value = serde_json::from_str(line).expect("JSON");
        let id = mutant["id"].as_str().expect("an id");
        let Some(code) = telling.get(id.trim_end_matches('R')) else { continue };
        let mut files = read(&runs.join(mutant["base"].as_str().expect("a base")));
        edit(&mut files, mutant["ops"].as_array().expect("edits")).expect("plain edits");
        let report = audit(&files);
        let found = codes(&report);
        assert!(found.iter().any(|found| found.starts_with(code)), "{id}: {found:?}");
        assert_ne!(report.verdict, Verdict::Valid, "{id}");
        seen += 1;
    }
    assert!(seen >= 40, "{seen}");
}
