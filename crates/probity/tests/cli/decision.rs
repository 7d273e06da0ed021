//! Decisions under an envelope: what is verified, by when, and what happens if it cannot be had.

use std::time::{Duration, Instant};

use crate::world::{Ran, World};

/// Passes when the target of the action is a file of the workspace.
const STATUS_CHECK: &str = r#"
def verify(context):
    target_id = context["action"]["targetRefs"][0]["id"]
    ok = fs.stat(target_id) != None
    return VerificationResult(outcome = "pass" if ok else "fail", detail = "no " + target_id)
"#;

const ENVELOPE: &str = r"
decisionType: AccountQuarantine
version: '1.0.0'
deadlineMs: 20000
stageBudgetsMs: {context: 4000, plan: 4000, act: 8000, verify: 4000}
freshness: {defaultTtlMs: 60000}
limits: {maxHops: 3, maxFanout: 6, maxToolCalls: 10, maxChainDepth: 4}
degradeLadder: [{step: small_model}, {step: hitl}, {step: abstain}]
verification: {requiredAboveBlastRadius: small, methods: [status_check], verifyTimeoutMs: 3000}
safeAction: {requireIdempotency: true, requireRollbackAbove: medium, blastRadiusMax: medium}
";

/// A project with the envelope, changed, and its one verifier.
pub(crate) fn project(change: impl Fn(&str) -> String) -> World {
    let world = World::new();
    world.write(".probity/probity.toml", "");
    world.write(".probity/envelopes/quarantine.yaml", &change(ENVELOPE));
    world.write(".probity/verifiers/status_check.star", STATUS_CHECK);
    world
}

pub(crate) fn as_is() -> World {
    project(str::to_owned)
}

/// Runs a decision with one action of a tier; the delegate notes that it was started.
pub(crate) fn decide(world: &World, tier: &str, command: &str, more: &str) -> Ran {
    world.write(
        "request.yaml",
        &format!(
            "task: quarantine svc-demo\n\
             command: [sh, -c, 'cat > /dev/null; touch started; {command}; echo done']\n\
             decision_type: AccountQuarantine\n{more}\
             decision:\n\
             \x20 context: {{features: {{login_rate: {{ageMs: 100}}}}}}\n\
             \x20 actions:\n\
             \x20   - {{actionId: a1, actionType: quarantine, blastRadiusTier: {tier},\n\
             \x20      targetRefs: [{{type: account, id: svc-demo}}], constraints: {{}},\n\
             \x20      authorization: {{mode: auto}}, idempotencyKey: k1, rollbackPlan: {{type: revert}}}}\n"
        ),
    );
    assert_eq!(world.probity(["trust"]).code, 0);
    world.probity(["run", "--request", "request.yaml", "--json"])
}

#[test]
fn a_medium_action_above_a_small_threshold_is_verified() {
    let world = as_is();
    let ran = decide(&world, "medium", "touch svc-demo", "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    assert_eq!(report["checks"][0]["id"], "method.status_check");
    assert_eq!(report["checks"][0]["verdict"], "pass");
}

#[test]
fn a_delegate_that_did_nothing_is_told_and_the_ladder_asks_a_human_in_the_end() {
    let world = as_is();
    let ran = decide(&world, "medium", "true", "");
    assert_eq!(ran.code, 7, "{ran:?}");
    let report = ran.json();
    assert_eq!(report["attempts"], 3);
    assert_eq!(report["checks"][0]["reason"], "no svc-demo");
    assert_eq!(report["degraded"][0]["trigger"], "verification");
    assert_eq!(report["degraded"][0]["step"], "hitl");
}

#[test]
fn a_tiny_action_need_not_be_verified_and_is_not_called_verified() {
    let world = as_is();
    let ran = decide(&world, "tiny", "true", "");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(ran.json()["outcome"], "unverified");
    assert_eq!(ran.json()["checks"].as_array().unwrap().len(), 0, "no method runs");
}

#[test]
fn an_unknown_tier_is_an_error_and_nothing_starts() {
    let world = as_is();
    for tier in ["high", "none", "Medium", "''", "3"] {
        let ran = decide(&world, tier, "true", "");
        assert_eq!(
            (ran.code, ran.error_code()),
            (64, "tier_unknown".to_owned()),
            "{tier}: {ran:?}"
        );
        assert!(!world.at("started").exists());
    }
}

#[test]
fn a_method_that_hangs_is_inconclusive_and_never_a_pass() {
    let hanging = "def verify(context):\n    return read_after_write(lambda: fs.stat(\"never\"), \
                   {\"size\": 1})\n";
    let python = "import time\ndef verify(context):\n    time.sleep(3600)\n";
    for (file, source) in [("star", hanging), ("py", python)] {
        for (ladder, code) in [("{step: hitl}", 7), ("{step: abstain}", 2)] {
            let world = project(|envelope| {
                envelope
                    .replace("{step: small_model}, {step: hitl}, {step: abstain}", ladder)
                    .replace("verifyTimeoutMs: 3000", "verifyTimeoutMs: 400")
            });
            std::fs::remove_file(world.at(".probity/verifiers/status_check.star")).unwrap();
            world.write(&format!(".probity/verifiers/status_check.{file}"), source);
            let started = Instant::now();
            let ran = decide(&world, "medium", "touch svc-demo", "");
            assert_eq!(ran.code, code, "{file} {ladder}: {ran:?}");
            assert!(started.elapsed() < Duration::from_secs(60));
            let report = ran.json();
            assert_eq!(report["checks"][0]["verdict"], "inconclusive", "{report:#}");
            assert_eq!(report["attempts"], 0, "nobody is charged");
            let taken = report["degraded"][0]["step"].as_str().unwrap().to_owned();
            assert!(matches!(taken.as_str(), "hitl" | "abstain"), "{taken}");
            let log = world.probity(["log", "export", report["run_id"].as_str().unwrap()]);
            assert!(log.stdout.contains(r#""drift":"red""#), "{}", log.stdout);
        }
    }
}

#[test]
fn a_broken_method_is_a_fault_and_does_not_go_to_the_ladder() {
    let world = as_is();
    world.write(
        ".probity/verifiers/status_check.star",
        "def verify(context):\n    fail(\"oops\")\n",
    );
    let ran = decide(&world, "medium", "touch svc-demo", "");
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.json().get("degraded").is_none());
}

#[test]
fn seed_001s_verifier_in_python_runs_as_printed() {
    let world = as_is();
    std::fs::remove_file(world.at(".probity/verifiers/status_check.star")).unwrap();
    world.write(
        ".probity/verifiers/status_check.py",
        r#"# verifiers/my_verifier.py
from engine.verifier_base import VerificationResult
import os

def fetch_status(target_id):
    return "active" if os.path.exists(target_id) else "gone"

def verify(context: dict) -> VerificationResult:
    target_id = context["action"]["targetRefs"][0]["id"]
    # ... check the resource
    ok = fetch_status(target_id) == "active"
    return VerificationResult(
        outcome="pass" if ok else "fail",
        detail=f"Status check for {target_id}: {'ok' if ok else 'failed'}",
    )
"#,
    );
    let ran =
        decide(&world, "medium", "if test -e twice; then touch svc-demo; fi; touch twice", "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let history = &ran.json()["history"];
    assert_eq!(history[0]["checks"][0]["reason"], "Status check for svc-demo: failed");
    assert_eq!(history[1]["checks"][0]["verdict"], "pass");
}

#[test]
fn an_action_beyond_the_envelope_is_never_started() {
    for (change, with, code) in [
        ("blastRadiusMax: medium", "blastRadiusMax: small", "action_above_max"),
        ("requireRollbackAbove: medium", "requireRollbackAbove: none", ""),
        (
            "blastRadiusMax: medium",
            "blastRadiusMax: medium, allowedActionTypes: [open_ticket]",
            "action_type_not_allowed",
        ),
    ] {
        let world = project(|envelope| envelope.replace(change, with));
        let ran = decide(&world, "medium", "touch svc-demo", "");
        if code.is_empty() {
            assert_eq!(ran.code, 0, "{with}: {ran:?}");
            continue;
        }
        assert_eq!((ran.code, &ran.json()["code"]), (1, &code.into()), "{with}: {ran:?}");
        assert!(!world.at("started").exists(), "{with}");
    }
}

#[test]
fn stale_features_stop_the_act_unless_a_cached_bundle_can_act() {
    let stale = |envelope: &str| envelope.replace("defaultTtlMs: 60000", "defaultTtlMs: 1");
    let world = project(stale);
    let ran = decide(&world, "medium", "touch svc-demo", "");
    assert_eq!((ran.code, &ran.json()["code"]), (1, &"stale_context".into()), "{ran:?}");
    assert!(!world.at("started").exists());

    let world =
        project(|envelope| stale(envelope).replace("step: small_model", "step: cache_bundle"));
    let rung =
        "rungs: {cache_bundle: {command: [sh, -c, 'touch svc-demo; echo from the cache']}}\n";
    let ran = decide(&world, "medium", "true", rung);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()["degraded"][0]["step"], "cache_bundle");
    assert_eq!(ran.json()["claim"]["response"], "from the cache");
    assert!(!world.at("started").exists(), "the usual delegate does not act");
}

#[test]
fn an_envelope_is_the_operators_and_a_caller_cannot_bring_a_weaker_one() {
    let world = as_is();
    let weaker = "methods: {status_check: {file: /dev/null.star}}\n\
                  red_first: off\n";
    let ran = decide(&world, "medium", "true", weaker);
    assert_eq!(ran.code, 7, "the project's method is the one that runs: {ran:?}");
    assert_eq!(ran.json()["checks"][0]["reason"], "no svc-demo");
}

#[test]
fn a_caller_cannot_register_what_the_operators_envelope_names() {
    let world = project(|envelope| envelope.replace("[status_check]", "[health_check]"));
    world.write("yes.star", "def verify(context):\n    return True\n");
    let theirs = "methods: {health_check: {file: yes.star}}\n";
    let ran = decide(&world, "medium", "true", theirs);
    assert_eq!((ran.code, ran.error_code()), (64, "method_unknown".to_owned()), "{ran:?}");
}

#[test]
fn a_class_without_an_envelope_is_an_error() {
    let world = World::new();
    world.write(".probity/probity.toml", "");
    let ran = decide(&world, "medium", "true", "");
    assert_eq!((ran.code, ran.error_code()), (64, "envelope_missing".to_owned()), "{ran:?}");
}

#[test]
fn an_envelope_that_names_a_verifier_nobody_registered_is_an_error() {
    let world = project(|envelope| envelope.replace("[status_check]", "[health_check]"));
    let ran = decide(&world, "medium", "true", "");
    assert_eq!((ran.code, ran.error_code()), (64, "method_unknown".to_owned()), "{ran:?}");
}

#[test]
fn a_declared_check_can_be_a_method() {
    let world = project(|envelope| envelope.replace("[status_check]", "[by_table]"));
    world.write(
        ".probity/probity.toml",
        "[methods.by_table]\nfile = \"svc-demo\"\ncreated = true\n",
    );
    let ran = decide(&world, "medium", "touch svc-demo", "");
    assert_eq!(
        (ran.code, &ran.json()["checks"][0]["id"]),
        (0, &"method.by_table".into()),
        "{ran:?}"
    );
}

#[test]
fn a_policy_pack_without_its_hash_is_refused() {
    let world = as_is();
    world.write(
        ".probity/envelopes/pack.json",
        r#"{"policyPackId": "p", "version": "1", "issuedAt": "2026-02-11T19:55:03Z",
            "rules": {"AccountQuarantine": {"requiredVerifiers": ["status_check"]}}}"#,
    );
    let ran = world.probity(["trust", "--json"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    assert!(ran.stdout.contains("policyPackHash"), "{ran:?}");
}

#[test]
fn a_delegate_under_an_envelope_says_what_it_acts_on() {
    let world = as_is();
    world.write(
        "request.yaml",
        "task: x\ncommand: [touch, started]\ndecision_type: AccountQuarantine\n\
         expect: ['text:,contains=x']\n",
    );
    assert_eq!(world.probity(["trust"]).code, 0);
    let ran = world.probity(["run", "--request", "request.yaml", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "action_undeclared".to_owned()), "{ran:?}");
    assert!(!world.at("started").exists());
}

#[test]
fn a_profiles_class_of_decisions_is_not_the_callers_to_change() {
    let world = as_is();
    world.write(
        ".probity/agents/operator.md",
        "---\ncommand: touch started\ndecision_type: AccountQuarantine\n---\n",
    );
    world.write("request.yaml", "task: x\nagent: operator\ndecision_type: Mine\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    let ran = world.probity(["run", "--request", "request.yaml", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "decision_type_taken".to_owned()), "{ran:?}");
}

#[test]
fn a_callers_check_is_not_taken_for_a_method() {
    let world = as_is();
    let check = "expect: [{text: '', contains: done, id: status_check}]\n";
    let ran = decide(&world, "tiny", "true", check);
    assert_eq!(ran.code, 0, "{ran:?}");
    let run = ran.json()["run_id"].as_str().unwrap().to_owned();
    let shown = world.probity(["episode", "export", &run]);
    assert_eq!(shown.json()["verification"]["result"], "na", "{shown:?}");
    let taken = "expect: [{text: '', contains: done, id: method.status_check}]\n";
    let ran = decide(&world, "medium", "true", taken);
    assert_eq!((ran.code, ran.error_code()), (64, "request_reserved_id".to_owned()), "{ran:?}");
}

#[test]
fn a_folder_with_a_policy_pack_alone_is_policy() {
    let world = World::new();
    world.write(
        ".probity/envelopes/pack.json",
        r#"{"policyPackId": "p", "version": "1", "issuedAt": "2026-02-11T19:55:03Z", "rules": {}}"#,
    );
    let ran = world.probity(["run", "x", "--json", "--", "true"]);
    assert_eq!(ran.code, 64, "{ran:?}");
}

#[test]
fn the_named_approver_alone_lets_an_action_start() {
    let world = as_is();
    let write = |approver: &str| {
        let authorization = format!("authorization: {{mode: hitl, approver: {approver}}}");
        let ran = decide(&world, "medium", "touch svc-demo", "");
        assert_eq!(ran.code, 0, "{ran:?}");
        let text =
            world.read("request.yaml").replace("authorization: {mode: auto}", &authorization);
        world.write("request.yaml", &text);
        for file in ["started", "svc-demo"] {
            std::fs::remove_file(world.at(file)).unwrap();
        }
    };
    write("alice");
    let ran = world.probity(["run", "--request", "request.yaml", "--json"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(!world.at("started").exists(), "nothing is done before the approval");
    let run = ran.json()["run_id"].as_str().unwrap().to_owned();
    let answer =
        |by: &str| world.probity(["log", "answer", &run, "--by", by, "--continue", "1", "--json"]);
    let ran = answer("mallory");
    assert_eq!((ran.code, ran.error_code()), (64, "answer_not_asked".to_owned()), "{ran:?}");
    assert!(!world.at("started").exists());
    let ran = answer("alice");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(world.at("started").exists());
}
