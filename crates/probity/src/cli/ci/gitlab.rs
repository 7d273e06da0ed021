//! A code quality report, as GitLab shows it in a merge request.

use probity_record::blob_digest;
use serde_json::{Value, json};

use super::sheet::{Case, Sheet, State};

/// The report: one issue for whatever was not passed; empty for a verified run.
pub(super) fn document(sheet: &Sheet) -> String {
    let is_told = |case: &&Case| matches!(case.state, State::Failed | State::Broken);
    let issues: Vec<Value> = sheet.cases.iter().filter(is_told).map(issue).collect();
    let mut text = Value::Array(issues).to_string();
    text.push('\n');
    text
}

fn issue(case: &Case) -> Value {
    let code = case.code.as_ref().map_or("", |code| code.as_str());
    // An issue of the whole run is told at the root of the repository.
    let path = case.place.as_ref().map_or(".", |place| &place.path);
    let line = case.place.as_ref().and_then(|place| place.line).unwrap_or(1);
    let (name, verdict) = (&case.name, &case.verdict);
    // Equal for the same finding of two runs, so that GitLab can say what is new.
    let fingerprint = blob_digest(format!("probity\0{name}\0{code}\0{path}").as_bytes());
    let severity = if case.state == State::Failed { "major" } else { "critical" };
    json!({
        "description": format!("{name}: {verdict}: {}", case.said()),
        "check_name": format!("probity/{name}"),
        "fingerprint": fingerprint.to_string(),
        "severity": severity,
        "location": {"path": path, "lines": {"begin": line}},
    })
}
