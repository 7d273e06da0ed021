//! Every value of a valid document removed, retyped and made huge, and every object given one member
//! more. A change that is accepted must be on the list of those that are legal.

use std::collections::BTreeSet;

use probity_policy::PolicyFindings;
use serde_json::{Map, Value, json};

use crate::sample::{self, parse_decision, parse_envelope, parse_pack, sealed, told, with};

/// Pointers of all values but the whole, parents first.
fn pointers(value: &Value) -> Vec<String> {
    fn walk(value: &Value, place: &str, found: &mut Vec<String>) {
        let mut member = |key: &str, item: &Value| {
            let pointer = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
            found.push(pointer.clone());
            walk(item, &pointer, found);
        };
        match value {
            Value::Object(map) => map.iter().for_each(|(key, item)| member(key, item)),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| member(&at.to_string(), item));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

/// Values of each other type.
fn retyped(value: &Value) -> Vec<Value> {
    let all = [json!(null), json!(true), json!(7), json!("x"), json!([]), json!({}), json!(1.5)];
    let kind = |value: &Value| std::mem::discriminant(value);
    let is_whole = value.is_u64();
    all.into_iter()
        .filter(|other| kind(other) != kind(value) || (is_whole && other.is_f64()))
        .collect()
}

/// The same type, far beyond any bound.
fn huge(value: &Value) -> Vec<Value> {
    match value {
        Value::Number(_) => vec![json!(u64::MAX), json!(i64::MIN), json!(1e300), json!(-1)],
        Value::String(_) => vec![json!("x".repeat(200_000))],
        Value::Array(items) => {
            let item = items.first().cloned().unwrap_or(json!("x"));
            vec![Value::Array(vec![item; 2000])]
        }
        Value::Object(map) => {
            let item = map.values().next().cloned().unwrap_or(json!(1));
            let many = (0..2000).map(|n| (format!("k{n}"), item.clone()));
            vec![Value::Object(map.clone().into_iter().chain(many).collect::<Map<_, _>>())]
        }
        Value::Bool(_) | Value::Null => Vec::new(),
    }
}

/// Every change that is accepted, as a line.
fn accepted<T>(
    document: &Value,
    parse: impl Fn(&Value) -> Result<T, PolicyFindings>,
) -> BTreeSet<String> {
    assert!(parse(document).is_ok());
    let mut accepted = BTreeSet::new();
    let mut attempt = |line: String, changed: &Value| match parse(changed) {
        Ok(_) => drop(accepted.insert(line)),
        Err(refused) => {
            assert!(refused.as_slice().iter().any(|found| found.is_error()), "{line}");
            for (code, pointer) in told(&refused) {
                assert!(!code.is_empty() && (pointer.is_empty() || pointer.starts_with('/')));
            }
        }
    };
    for pointer in pointers(document) {
        let value = document.pointer(&pointer).unwrap();
        attempt(format!("remove {pointer}"), &with(document.clone(), &pointer, None));
        for other in retyped(value) {
            let changed = with(document.clone(), &pointer, Some(other.clone()));
            attempt(format!("retype {pointer}"), &changed);
        }
        for other in huge(value) {
            attempt(format!("huge {pointer}"), &with(document.clone(), &pointer, Some(other)));
        }
        if value.is_object() {
            let extra = format!("{pointer}/extra");
            attempt(format!("extend {pointer}"), &with(document.clone(), &extra, Some(json!(1))));
        }
    }
    attempt("extend".to_owned(), &with(document.clone(), "/extra", Some(json!(1))));
    accepted
}

fn lines(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

#[test]
fn of_an_envelope() {
    // The ladder keeps a safe step and the methods keep one; feature names are free.
    let legal = lines(
        "
        remove /description
        remove /degradeLadder/0
        remove /degradeLadder/0/maxExtraMs
        remove /degradeLadder/1
        remove /degradeLadder/2
        remove /degradeLadder/3
        remove /degradeLadder/4
        remove /degradeLadder/5
        remove /freshness/allowStaleIfSafe
        remove /freshness/featureTtls
        remove /freshness/featureTtls/balance
        remove /freshness/featureTtls/order_total
        extend /freshness/featureTtls
        remove /policyPack
        remove /policyPack/policyPackHash
        remove /policyPack/policyPackVersion
        remove /safeAction/allowedActionTypes
        remove /safeAction/allowedActionTypes/0
        remove /safeAction/allowedActionTypes/1
        remove /verification/methods/0
        remove /verification/methods/1
        remove /verification/verifyTimeoutMs
        ",
    );
    assert_eq!(accepted(&sample::envelope(), parse_envelope), legal);
}

#[test]
fn of_a_pack_with_a_new_hash() {
    let legal = lines(
        "
        remove /issuer
        remove /signature
        remove /rules/Note
        remove /rules/RefundIssue
        remove /rules/RefundIssue/blastRadiusRequirements
        remove /rules/RefundIssue/blastRadiusRequirements/large
        remove /rules/RefundIssue/blastRadiusRequirements/large/authorizationMode
        remove /rules/RefundIssue/blastRadiusRequirements/large/twoPerson
        remove /rules/RefundIssue/blastRadiusRequirements/small
        remove /rules/RefundIssue/blastRadiusRequirements/small/authorizationMode
        remove /rules/RefundIssue/blastRadiusRequirements/small/twoPerson
        remove /rules/RefundIssue/blastRadiusRequirements/small/verificationRequired
        remove /rules/RefundIssue/degradeLadder
        remove /rules/RefundIssue/degradeLadder/0
        remove /rules/RefundIssue/degradeLadder/1
        remove /rules/RefundIssue/degradeLadder/2
        remove /rules/RefundIssue/dteDefaults
        remove /rules/RefundIssue/dteDefaults/decisionWindowMs
        remove /rules/RefundIssue/dteDefaults/maxFeatureAgeMs
        remove /rules/RefundIssue/dteDefaults/ttlMs
        remove /rules/RefundIssue/requiredVerifiers
        remove /rules/RefundIssue/requiredVerifiers/0
        remove /rules/RefundIssue/requiredVerifiers/1
        remove /rules/RefundIssue/toolAllowlist
        remove /rules/RefundIssue/toolAllowlist/0
        remove /rules/RefundIssue/toolAllowlist/1
        remove /rules/RefundIssue/toolDenylist
        remove /rules/RefundIssue/toolDenylist/0
        ",
    );
    let rehashed = |pack: &Value| parse_pack(&sealed(pack.clone()));
    assert_eq!(accepted(&sample::bare_pack(), rehashed), legal);
}

#[test]
fn of_a_pack_under_its_hash() {
    assert_eq!(accepted(&sample::pack(), parse_pack), BTreeSet::new());
}

#[test]
fn of_a_decision() {
    // What is carried and not judged is free, but for its size.
    let legal = lines(
        "
        remove /actor
        remove /actor/version
        remove /actions
        remove /actions/0
        remove /actions/0/authorization/approver
        remove /actions/0/authorization/policyRef
        extend /actions/0/constraints
        remove /actions/0/constraints/currency
        retype /actions/0/constraints/currency
        huge /actions/0/constraints/currency
        remove /actions/0/constraints/max
        retype /actions/0/constraints/max
        huge /actions/0/constraints/max
        remove /actions/0/execution
        remove /actions/0/execution/executionSloMs
        remove /actions/0/execution/retryPolicy
        remove /actions/0/execution/retryPolicy/backoffMs
        remove /actions/0/execution/retryPolicy/maxRetries
        remove /actions/0/execution/timeoutMs
        remove /actions/0/idempotencyKey
        remove /actions/0/preconditions
        remove /actions/0/preconditions/0
        extend /actions/0/preconditions/0
        remove /actions/0/preconditions/0/open
        retype /actions/0/preconditions/0/open
        remove /actions/0/preconditions/1
        extend /actions/0/preconditions/1
        remove /actions/0/preconditions/1/total
        retype /actions/0/preconditions/1/total
        huge /actions/0/preconditions/1/total
        remove /actions/0/rollbackPlan
        remove /actions/0/rollbackPlan/instructions
        extend /actions/0/rollbackPlan/instructions
        remove /actions/0/rollbackPlan/instructions/by
        retype /actions/0/rollbackPlan/instructions/by
        huge /actions/0/rollbackPlan/instructions/by
        remove /actions/0/rollbackPlan/timeoutMs
        remove /actions/0/targetRefs/0
        remove /actions/0/targetRefs/1
        remove /chain
        remove /chain/depth
        remove /chain/fanout
        remove /chain/hops
        remove /context
        remove /context/capturedAt
        remove /context/evidenceRefs
        remove /context/evidenceRefs/0
        remove /context/evidenceRefs/1
        remove /context/features
        remove /context/features/balance
        remove /context/features/order_total
        remove /context/snapshotId
        remove /plan
        remove /plan/planRef
        remove /plan/planner
        remove /plan/summary
        ",
    );
    assert_eq!(accepted(&sample::decision(), parse_decision), legal);
}

#[test]
fn names_in_snake_case_are_refused_wherever_they_stand() {
    fn renamed(value: &Value, pointer: &str) -> Option<(String, Value)> {
        let (parent, name) = pointer.rsplit_once('/')?;
        let snake: String = name
            .chars()
            .flat_map(
                |c| if c.is_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] },
            )
            .collect();
        // Names that are the author's own are not judged.
        let is_free = parent.ends_with("/rules") || parent.ends_with("/features");
        if snake == name || is_free {
            return None;
        }
        let item = value.pointer(pointer)?.clone();
        let without = with(value.clone(), pointer, None);
        Some((name.to_owned(), with(without, &format!("{parent}/{snake}"), Some(item))))
    }
    let mut count = 0;
    for pointer in pointers(&sample::envelope()) {
        let Some((name, changed)) = renamed(&sample::envelope(), &pointer) else { continue };
        let refused = parse_envelope(&changed).unwrap_err();
        assert_eq!(refused.code(), "policy_snake_case", "{pointer}");
        assert!(refused.as_slice()[0].message.contains(&format!("`{name}`")), "{refused}");
        count += 1;
    }
    for pointer in pointers(&sample::decision()) {
        let Some((_, changed)) = renamed(&sample::decision(), &pointer) else { continue };
        let code = parse_decision(&changed).unwrap_err().code();
        let is_tier = pointer.ends_with("blastRadiusTier");
        assert!(code == "policy_snake_case" || (is_tier && code == "tier_unknown"), "{pointer}");
        count += 1;
    }
    assert!(count > 40, "{count}");
}
