//! Verifiers in Python, as the seeds print them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use probity_core::{Fault, Phase, Verdict};
use probity_verifier::spec::ExternalSpec;
use probity_verifier::{External, Verifier as _};
use serde_json::json;

use super::bed::{Bed, PATIENCE, block_on, brief, helper};

/// Seed 001's custom verifier, as printed.
const SEED_001: &str = r#"# verifiers/my_verifier.py
from engine.verifier_base import VerificationResult

def verify(context: dict) -> VerificationResult:
    target_id = context["action"]["targetRefs"][0]["id"]
    # ... check the resource
    ok = fetch_status(target_id) == "active"
    return VerificationResult(
        outcome="pass" if ok else "fail",
        detail=f"Status check for {target_id}: {'ok' if ok else 'failed'}",
    )
"#;

/// Seed 003's verifier, as printed.
const SEED_003: &str = r#"from pydantic import BaseModel
from factorial import Agent, AgentContext, ExecutionContext
from factorial.exceptions import VerificationRejected


class AgentOutput(BaseModel):
    summary: str
    test_profile: str = "fast"


class VerificationMetadata(BaseModel):
    duration_ms: int
    tests_run: int
    failed: int


class FinalResult(BaseModel):
    summary: str
    verification: VerificationMetadata


async def verify_output(
    output: AgentOutput,
    agent_ctx: AgentContext,
) -> FinalResult:
    report = await run_verification(profile=output.test_profile)
    if not report.passed:
        raise VerificationRejected(
            message=report.summary,
            code="tests_failed",
            metadata={"failed_tests": report.failed_tests[:10]},
        )
    return FinalResult(
        summary=output.summary,
        verification=VerificationMetadata(
            duration_ms=report.duration_ms,
            tests_run=report.tests_run,
            failed=0,
        ),
    )


agent = Agent(
    instructions="...",
    tools=[...],
    output_type=AgentOutput,
    verifier=verify_output,
    verifier_max_attempts=5,
)
"#;

/// A bed with a decision under way, and a folder of verifiers beside the workspace.
fn bed() -> Bed {
    let mut bed = Bed::new();
    bed.decision = json!({
        "decisionType": "activate", "action": {"targetRefs": [{"type": "account", "id": "acct-7"}]},
    });
    bed.start();
    bed
}

fn save(bed: &Bed, name: &str, text: &str) -> PathBuf {
    let path = bed.outside().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn judge(bed: &Bed, source: &str, function: &str) -> Result<Verdict, Fault> {
    let path = save(bed, "my verifier's.py", source);
    run(bed, ExternalSpec::python(path, function))
}

fn run(bed: &Bed, spec: ExternalSpec) -> Result<Verdict, Fault> {
    block_on(External::new(spec, helper()).verify(&bed.context(Phase::After)))
}

fn says(bed: &Bed, source: &str, function: &str) -> String {
    brief(&judge(bed, source, function))
}

#[test]
fn the_verifier_of_seed_001_runs_as_printed() {
    let bed = bed();
    bed.write("acct-7.status", "active");
    let own = "def fetch_status(id):\n    return open(id + '.status').read()\n\n";
    let source = format!("{own}{SEED_001}");
    let verdict = judge(&bed, &source, "verify").unwrap();
    assert_eq!(brief(&Ok(verdict.clone())), "pass");
    assert_eq!(verdict.reason, "Status check for acct-7: ok");
    bed.write("acct-7.status", "closed");
    let verdict = judge(&bed, &source, "verify").unwrap();
    assert_eq!(brief(&Ok(verdict.clone())), "revise verify_failed");
    assert_eq!(verdict.reason, "Status check for acct-7: failed");
    // As printed to the letter: the name it calls is nowhere defined.
    let fault = judge(&bed, SEED_001, "verify").unwrap_err();
    assert_eq!(fault.code.as_str(), "external_exit");
    assert!(fault.message.contains("name 'fetch_status' is not defined"), "{fault}");
    assert!(!bed.outside().join("__pycache__").exists());
}

#[test]
fn what_verify_returns() {
    let bed = bed();
    for (body, expected) in [
        ("return VerificationResult(outcome='pass', detail='x')", "pass"),
        ("return VerificationResult('fail')", "revise verify_failed"),
        ("return VerificationResult('inconclusive', 'no data')", "inconclusive inconclusive"),
        ("return {'outcome': 'fail', 'detail': 'x', 'reason': 'mismatch'}", "revise mismatch"),
        ("return {'verified': False, 'code': 'no_rows', 'reason': 'x'}", "revise no_rows"),
        ("return True", "pass"),
        ("return False", "revise not_verified"),
        ("print('to people'); return True", "pass"),
        ("return context['result']['response'] == 'did it' and context['task'] == ''", "pass"),
        ("return context['attempt'] == 1 and context['decisionType'] == 'activate'", "pass"),
        ("import os; return context['workspace'] == os.getcwd()", "pass"),
        // What is no verdict is a broken verifier, never one that says no.
        ("return VerificationResult('ok')", "fault external_output"),
        ("return VerificationResult('pass', 3)", "fault external_output"),
        ("return None", "fault external_output"),
        ("pass", "fault external_output"),
        ("return 1", "fault external_output"),
        ("return 'pass'", "fault external_output"),
        ("return {}", "fault external_output"),
        ("return {'verified': True, 'outcome': 'pass'}", "fault external_output"),
        ("return float('nan')", "fault external_exit"),
        ("return object()", "fault external_exit"),
        ("raise ValueError('broken')", "fault external_exit"),
        ("raise SystemExit(0)", "fault external_output"),
        ("raise KeyboardInterrupt", "fault external_exit"),
        ("return context['nothing']", "fault external_exit"),
        ("import os; os.kill(os.getpid(), 9)", "fault external_exit"),
    ] {
        let source = format!(
            "from engine.verifier_base import VerificationResult\ndef verify(context):\n    {body}\n"
        );
        let mut bed = self::bed();
        bed.claim.response = "did it".to_owned();
        assert_eq!(says(&bed, &source, "verify"), expected, "{body}");
    }
    let asynchronous = "async def verify(context):\n    return False\n";
    assert_eq!(says(&bed, asynchronous, "verify"), "revise not_verified");
    assert_eq!(says(&bed, "x = (\n", "verify"), "fault external_exit");
    assert_eq!(says(&bed, "x = 1\n", "verify"), "fault external_exit");
    let fault = judge(&bed, "def verify(context):\n    raise ValueError('broken')\n", "verify");
    assert!(fault.unwrap_err().message.contains("ValueError: broken"));
}

#[test]
fn a_file_that_is_not_there_or_hangs() {
    let mut bed = bed();
    let spec = ExternalSpec::python(bed.outside().join("gone.py"), "verify");
    let verifier = External::new(spec, helper());
    assert_eq!(
        brief(&block_on(verifier.verify(&bed.context(Phase::After)))),
        "fault external_start"
    );
    bed.timeout = Duration::from_millis(500);
    let source = "import time\ndef verify(context):\n    while True:\n        time.sleep(1)\n";
    let started = Instant::now();
    assert_eq!(says(&bed, source, "verify"), "fault external_timeout");
    assert!(started.elapsed() < bed.timeout + PATIENCE, "{:?}", started.elapsed());
}

#[test]
fn without_python_it_does_not_start() {
    let bed = bed();
    let mut spec =
        ExternalSpec::python(save(&bed, "v.py", "def verify(c): return True\n"), "verify");
    spec.line = format!("PATH=/nonexistent; {}", spec.line);
    let verifier = External::new(spec, helper());
    assert_eq!(
        brief(&block_on(verifier.verify(&bed.context(Phase::After)))),
        "fault external_start"
    );
}

#[test]
fn what_the_delegate_left_in_the_workspace_is_not_imported() {
    let bed = bed();
    let planted = "def loads(*a, **k): raise SystemExit(0)\nload = dump = dumps = loads\n";
    bed.write("json.py", planted).write("engine/verifier_base.py", "raise SystemExit(0)\n");
    let source = "from engine.verifier_base import VerificationResult\n\
                  def verify(context):\n    return VerificationResult('fail')\n";
    assert_eq!(says(&bed, source, "verify"), "revise verify_failed");
    save(&bed, "json.py", planted);
    assert_eq!(says(&bed, source, "verify"), "revise verify_failed");
}

/// A module that says what the delegate wants, beside the verifier's file and in the workspace, as
/// a file and as a package.
fn plant(bed: &Bed) {
    let verdict = "def judge(): return True\n";
    std::fs::create_dir_all(bed.outside().join("lib")).unwrap();
    for name in ["core.py", "lib/__init__.py", "lib/core.py"] {
        save(bed, name, verdict);
        bed.write(name, verdict);
    }
}

#[test]
fn modules_beside_the_file_are_not_imported() {
    let mut bed = bed();
    bed.claim.output = Some(json!({"n": 1}));
    plant(&bed);
    for import in [
        "import core",
        "from core import judge",
        "import lib.core",
        "from lib import core",
        "from lib.core import judge",
        "from . import core",
        "from .core import judge",
        "import importlib; importlib.import_module('lib.core')",
    ] {
        for (source, name) in [
            (format!("{import}\ndef verify(context):\n    return True\n"), "verify"),
            (format!("def check(output):\n    {import}\n    return output\n"), "check"),
        ] {
            let fault = judge(&bed, &source, name).unwrap_err();
            assert_eq!(fault.code.as_str(), "external_exit", "{source}");
            let told = "put helpers into the same file, or install them";
            assert!(fault.message.contains(told), "{source}: {fault}");
        }
    }
    // What falls back where there is no such module does so.
    let source = "try:\n    from core import judge\nexcept ImportError:\n    judge = lambda: False\n\
                  def verify(context):\n    return judge()\n";
    assert_eq!(says(&bed, source, "verify"), "revise not_verified");
    let fault = judge(&bed, "from lib.core import judge\n", "verify").unwrap_err();
    assert!(fault.message.contains("No module named 'lib'"), "{fault}");
}

#[test]
fn a_verifier_in_the_workspace_imports_nothing_of_it() {
    let bed = bed();
    plant(&bed);
    bed.write("verifier.py", "from core import judge\ndef verify(context):\n    return judge()\n");
    assert_eq!(
        brief(&run(&bed, ExternalSpec::python("verifier.py", "verify"))),
        "fault external_exit"
    );
}

#[test]
fn no_other_way_leads_to_modules_that_are_not_installed() {
    let bed = bed();
    plant(&bed);
    let source = "from core import judge\ndef verify(context):\n    return judge()\n";
    let path = save(&bed, "v.py", source);
    // As a link in a folder of packages does it, and as the finder of an editable install does.
    let finder = "import importlib.util as u\nclass Finder:\n    def find_spec(name, *_): \
                  return u.spec_from_file_location(name, 'core.py') if name == 'core' else None\n\
                  sys.meta_path.insert(0, Finder)";
    for way in ["sys.path.append(os.getcwd())", "sys.path.insert(0, '')", finder] {
        let line = format!(
            "exec python3 -I -B -c \"import os, sys\n{way}\nexec(os.environ['PROBITY_PYTHON_SHIM'])\" \
             '{}' verify",
            path.display()
        );
        // The way is one: without the program that closes it, the module is found.
        let open =
            line.replace("exec(os.environ['PROBITY_PYTHON_SHIM'])", "import core; print('true')");
        let spec = |line| ExternalSpec { line, ..ExternalSpec::default() };
        assert_eq!(brief(&run(&bed, spec(open))), "pass", "{way}");
        assert_eq!(brief(&run(&bed, spec(line))), "fault external_exit", "{way}");
    }
    let mut spec = ExternalSpec::python(&path, "verify");
    spec.line = spec.line.replace(" -I ", " ");
    let fault = run(&bed, spec).unwrap_err();
    assert_eq!(fault.code.as_str(), "external_exit");
    assert!(fault.message.contains("isolated mode"), "{fault}");
}

#[test]
fn the_verifier_of_seed_003_runs_as_printed() {
    let mut bed = bed();
    bed.write("report.json", r#"{"passed": true}"#);
    let own = "import json, types\n\
               async def run_verification(profile):\n    \
                   passed = json.load(open('report.json'))['passed']\n    \
                   return types.SimpleNamespace(\n        \
                       passed=passed, summary='2 tests failed.', duration_ms=7, tests_run=9,\n        \
                       failed_tests=['test_a', 'test_b'])\n\n";
    let path = save(&bed, "verify_output.py", &format!("{own}{SEED_003}"));
    let installed = ExternalSpec::python(path, "verify_output");
    // Without the packages that are installed here, on a stand-in for pydantic.
    let line = installed.line.replace(" -I ", " -I -S ");
    let bare = ExternalSpec { line, ..installed.clone() };
    assert_ne!(bare, installed);
    for spec in [installed, bare] {
        bed.write("report.json", r#"{"passed": true}"#);
        bed.claim.output = Some(json!({"summary": "done"}));
        let verdict = run(&bed, spec.clone()).unwrap();
        assert_eq!(brief(&Ok(verdict.clone())), "pass");
        let output = json!({
            "summary": "done", "verification": {"duration_ms": 7, "tests_run": 9, "failed": 0},
        });
        assert_eq!(verdict.output, Some(output));

        bed.write("report.json", r#"{"passed": false}"#);
        let verdict = run(&bed, spec.clone()).unwrap();
        assert_eq!(brief(&Ok(verdict.clone())), "revise tests_failed");
        assert_eq!(verdict.reason, "2 tests failed.\nfailed_tests: [\"test_a\", \"test_b\"]");

        // An output that does not fit the model never reaches the verifier.
        for output in [json!({"test_profile": "fast"}), json!({"summary": 3}), json!([1])] {
            bed.claim.output = Some(output);
            let verdict = run(&bed, spec.clone()).unwrap();
            assert_eq!(brief(&Ok(verdict.clone())), "revise not_verified");
            let reason = &verdict.reason;
            assert!(reason.starts_with("the output is not valid"), "{reason}");
        }
        bed.claim.output = None;
        assert_eq!(brief(&run(&bed, spec)), "inconclusive inconclusive");
    }
}

#[test]
fn what_a_verifier_of_an_output_does() {
    let head = "from factorial.exceptions import VerificationRejected, FatalAgentError\n";
    for (function, expected) in [
        ("def check(output): return output", "pass"),
        ("async def check(output): return [output['n'], 2]", "pass"),
        ("def check(out, agent_ctx): return {'attempt': agent_ctx.attempt}", "pass"),
        ("def check(out, *, execution_ctx): return {'check': execution_ctx.check}", "pass"),
        ("def check(out, who: 'factorial.AgentContext'): return {'q': who.query}", "pass"),
        ("def check(out, more=3, *rest, **others): return {'more': more}", "pass"),
        ("def verify(output): return output", "pass"),
        ("def check(context): return context['result']['output']['n'] == 1", "pass"),
        ("def check(output): raise VerificationRejected('no')", "revise not_verified"),
        ("def check(output): raise VerificationRejected('no', 'Bad Rows!')", "revise bad_rows_"),
        ("def check(output): raise FatalAgentError('never')", "fail not_verified"),
        // Everything else is a system error: the claim is neither accepted nor charged for it.
        ("def check(output): return output['nothing']", "inconclusive inconclusive"),
        ("def check(output): raise ImportError('broken')", "fault external_exit"),
        ("def check(output): return None", "fault external_output"),
        ("def check(output): return False", "fault external_output"),
        ("def check(output, other): return output", "fault external_exit"),
    ] {
        let mut bed = bed();
        bed.claim.output = Some(json!({"n": 1}));
        let name = if function.contains("def verify") { "verify" } else { "check" };
        let got = judge(&bed, &format!("{head}{function}\n"), name);
        assert_eq!(brief(&got), expected, "{function}: {got:?}");
        if let Ok(verdict) = got {
            assert_eq!(
                verdict.output.is_some(),
                expected == "pass" && !function.contains("(context)")
            );
        }
    }
    let mut bed = bed();
    bed.claim.output = Some(json!({"n": 1}));
    let own = "class VerificationRejected(Exception): pass\n\
               def check(output): raise VerificationRejected('of its own')\n";
    assert_eq!(judge(&bed, own, "check").unwrap().reason, "of its own");
    let system = judge(&bed, "def check(output): return 1 / 0\n", "check").unwrap();
    assert_eq!(system.reason, "the verifier raised ZeroDivisionError: division by zero");
}
