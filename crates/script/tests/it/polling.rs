//! `read_after_write` and `invariant_check`: looking again until time is up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity_core::VerdictKind::{self, Inconclusive, Pass, Revise};
use probity_script::{GateError, Host, HttpGate, HttpRequest, HttpResponse, Limits};
use probity_verifier::Verifier as _;
use serde_json::json;

use crate::support::{Setup, World, page, table};

/// Gives these answers one after the other, the last one for ever.
struct InTurn(Mutex<VecDeque<Result<HttpResponse, GateError>>>);

#[async_trait]
impl HttpGate for InTurn {
    async fn fetch(&self, _: &HttpRequest) -> Result<HttpResponse, GateError> {
        let mut answers = self.0.lock().unwrap();
        if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() }
    }
}

/// `body` is the text of a page, `!` is a host that cannot be reached, `~` one that is too slow.
fn in_turn(bodies: &[&str]) -> Host {
    let answer = |body: &&str| match *body {
        "!" => Err(GateError::Unreachable("no route".to_owned())),
        "~" => Err(GateError::Late("too slow".to_owned())),
        "?" => Err(GateError::Denied("not allowed".to_owned())),
        body => page(200, body),
    };
    let answers = bodies.iter().map(answer).collect();
    Host { http: Some(Arc::new(InTurn(Mutex::new(answers)))), ..Host::default() }
}

/// Reads the page as JSON until it fits.
fn reading(arguments: &str) -> String {
    format!(
        "def read():\n    return json.decode(http.get('http://x.test/')['body'])\n\
         def verify(context):\n    return read_after_write(read, {arguments})\n"
    )
}

async fn judged(setup: &Setup, source: &str) -> (VerdictKind, String, String) {
    let world = World::new(&[]);
    let verdict = setup.run(source, &world).await.unwrap_or_else(|fault| panic!("{fault}"));
    (verdict.kind, verdict.code.as_str().to_owned(), verdict.reason)
}

async fn fault(setup: &Setup, source: &str) -> String {
    setup.run(source, &World::new(&[])).await.expect_err(source).code.as_str().to_owned()
}

#[tokio::test]
async fn every_course_of_a_read_after_write() {
    let (pending, active) = (r#"{"s": "pending"}"#, r#"{"s": "active", "n": 1}"#);
    let failed = "read_after_write: no read was completed: no route";
    let late = "read_after_write: no read was completed in time: too slow";
    let nothing = "read_after_write: read gave None: there was nothing there";
    let wrong = "read_after_write: `s` must be \"active\", got \"pending\"";
    let missing = "read_after_write: `s` is missing, not \"active\"";
    let rows: [(&[&str], VerdictKind, &str, &str); 16] = [
        (&[active], Pass, "match", "match"),
        (&[pending, active], Pass, "match", "match"),
        (&[pending, pending, active, pending], Pass, "match", "match"),
        (&["!", active], Pass, "match", "match"),
        (&["null", active], Pass, "match", "match"),
        (&[pending], Revise, "mismatch", wrong),
        (&["{}"], Revise, "mismatch", missing),
        (&[pending, "!"], Revise, "mismatch", wrong),
        (&[pending, "null"], Revise, "mismatch", wrong),
        (&["!"], Inconclusive, "read_error", failed),
        (&["null", "!"], Inconclusive, "missing_data", nothing),
        (&["!", "null"], Inconclusive, "missing_data", nothing),
        (&["null"], Inconclusive, "missing_data", nothing),
        (&["~"], Inconclusive, "verify_timeout", late),
        (&["~", "null"], Inconclusive, "missing_data", nothing),
        (&["~", pending], Revise, "mismatch", wrong),
    ];
    for mut setup in Setup::both() {
        for (bodies, kind, code, reason) in rows {
            setup.host = in_turn(bodies);
            let got = judged(&setup, &reading("{'s': 'active'}, timeout_ms = 150")).await;
            assert_eq!(got, (kind, code.to_owned(), reason.to_owned()), "{bodies:?}");
        }
        setup.host = in_turn(&[active]);
        let exact = judged(&setup, &reading("{'s': 'active'}, 'exact', timeout_ms = 50")).await;
        assert_eq!(exact.2, "read_after_write: `n` must not be there");
    }
}

#[tokio::test]
async fn what_a_poll_returns() {
    let source = r#"
def run(result):
    seen = read_after_write(lambda: json.decode(http.get("http://x.test/")["body"]), 3, timeout_ms = 5000)
    kept = {key: seen[key] for key in ["outcome", "reason", "code", "detail", "reads", "first", "last"]}
    timed = type(seen["elapsed_ms"]) == "int" and seen["elapsed_ms"] >= 30 and len(seen) == 8
    holds = invariant_check(lambda: True, name = "sum", timeout_ms = 50)
    return {"verified": False, "reason": json.encode([kept, timed, holds["reads"], holds["last"]])}
"#;
    for mut setup in Setup::both() {
        setup.host = in_turn(&["1", "2", "3"]);
        let (_, _, reason) = judged(&setup, source).await;
        let kept = json!({
            "outcome": "pass", "reason": "match", "code": "match", "detail": "", "reads": 3,
            "first": 1, "last": 3,
        });
        let got: serde_json::Value = serde_json::from_str(&reason).unwrap();
        assert_eq!(got, json!([kept, true, 1, true]));
    }
}

#[tokio::test]
async fn the_reason_is_a_word_of_the_seed_and_the_code_that_of_the_declared_check() {
    let source = r#"
def run(result):
    ask = lambda: json.decode(http.get("http://x.test/")["body"])
    seen = read_after_write(ask, 1, timeout_ms = 50)
    held = invariant_check(lambda: ask() == 1, timeout_ms = 50)
    said = [seen["reason"], seen["code"], held["reason"], held["code"]]
    return {"verified": False, "reason": json.encode(said)}
"#;
    let rows = [
        ("1", ["match", "match", "condition_true", "condition_true"]),
        ("2", ["mismatch", "mismatch", "condition_false", "condition_false"]),
        ("null", ["missing_data", "missing_data", "condition_false", "condition_false"]),
        ("~", ["timeout", "verify_timeout", "timeout", "verify_timeout"]),
        ("!", ["error", "read_error", "error", "read_error"]),
    ];
    for mut setup in Setup::both() {
        for (body, words) in rows {
            setup.host = in_turn(&[body]);
            let (_, _, reason) = judged(&setup, source).await;
            let said: Vec<String> = serde_json::from_str(&reason).unwrap();
            assert_eq!(said, words, "{body}");
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_the_script_is_a_fault_at_once() {
    let rows = [
        ("read_after_write(lambda: json.decode('nope'), 1)", "script_raise"),
        ("read_after_write(lambda: {}['a'], 1)", "script_raise"),
        ("read_after_write(lambda: fail('no'), 1)", "script_raise"),
        ("read_after_write(lambda: fs.read('absent.txt'), 'x')", "script_raise"),
        ("read_after_write(lambda: fs.read('/etc/passwd'), 'x')", "path_outside"),
        ("read_after_write(lambda: http.get('http://x.test/'), 'x')", "egress_denied"),
        ("read_after_write(lambda: env('HOME'), 'x')", "env_denied"),
        ("read_after_write(lambda: fail, 1)", "script_raise"),
        ("read_after_write(lambda x: 1, 1)", "script_raise"),
        ("read_after_write(1, 1)", "script_raise"),
        ("read_after_write(lambda: 1)", "script_raise"),
        ("read_after_write(lambda: 1, None)", "script_raise"),
        ("read_after_write(lambda: {'a': 1}, {})", "script_raise"),
        ("read_after_write(lambda: {}, {}, 'exact')", "script_raise"),
        ("read_after_write(lambda: [], [])", "script_raise"),
        ("read_after_write(lambda: '', '')", "script_raise"),
        ("read_after_write(lambda: 1, fail)", "script_raise"),
        ("read_after_write(lambda: 1, 1, 'Subset')", "script_raise"),
        ("read_after_write(lambda: 1, 1, None)", "script_raise"),
        ("read_after_write(lambda: 1, 1, timeout_ms = 0)", "script_raise"),
        ("read_after_write(lambda: 1, 1, timeout_ms = -1)", "script_raise"),
        ("read_after_write(lambda: 1, 1, timeout_ms = 3600001)", "script_raise"),
        ("read_after_write(lambda: 1, 1, timeout_ms = '5')", "script_raise"),
        ("read_after_write(lambda: read_after_write(lambda: 1, None), 1)", "script_raise"),
        ("invariant_check(lambda: 1)", "script_condition_type"),
        ("invariant_check(lambda: 0)", "script_condition_type"),
        ("invariant_check(lambda: 'false')", "script_condition_type"),
        ("invariant_check(lambda: 'True')", "script_condition_type"),
        ("invariant_check(lambda: None)", "script_condition_type"),
        ("invariant_check(lambda: [])", "script_condition_type"),
        ("invariant_check(lambda: [True])", "script_condition_type"),
        ("invariant_check(lambda: {'outcome': 'pass'})", "script_condition_type"),
        ("invariant_check(lambda: lambda: True)", "script_condition_type"),
        ("invariant_check(lambda: fail('no'))", "script_raise"),
        ("invariant_check(lambda state: True)", "script_raise"),
        ("invariant_check(True)", "script_raise"),
        ("invariant_check()", "script_raise"),
        ("invariant_check(lambda: True, timeout_ms = 0)", "script_raise"),
    ];
    for setup in Setup::both() {
        for (call, code) in rows {
            let started = Instant::now();
            let got = fault(&setup, &format!("def run(result):\n    return {call}\n")).await;
            assert_eq!(got, code, "{call}");
            assert!(started.elapsed() < Duration::from_secs(10), "{call} was tried again");
        }
        let top = "seen = invariant_check(lambda: True)\ndef run(result):\n    return seen\n";
        assert_eq!(fault(&setup, top).await, "script_top_level");
    }
}

#[tokio::test]
async fn every_course_of_an_invariant() {
    let source = "def run(result):\n    return invariant_check(lambda: http.get('http://x.test/')['body'] == 'ok', 100, 'health')\n";
    let rows: [(&[&str], VerdictKind, &str, &str); 6] = [
        (&["ok"], Pass, "condition_true", "condition_true"),
        (&["no", "!", "ok"], Pass, "condition_true", "condition_true"),
        (&["no"], Revise, "condition_false", "health: it does not hold"),
        (&["no", "!"], Revise, "condition_false", "health: it does not hold"),
        (&["!"], Inconclusive, "read_error", "health: no read was completed: no route"),
        (&["~"], Inconclusive, "verify_timeout", "health: no read was completed in time: too slow"),
    ];
    for mut setup in Setup::both() {
        for (bodies, kind, code, reason) in rows {
            setup.host = in_turn(bodies);
            let got = judged(&setup, source).await;
            assert_eq!(got, (kind, code.to_owned(), reason.to_owned()), "{bodies:?}");
        }
    }
}

#[tokio::test]
async fn a_host_that_hangs_does_not_hold_a_poll_beyond_its_time() {
    for mut setup in Setup::both() {
        setup.host = table([]);
        let source = "def run(result):\n    return read_after_write(lambda: http.get('http://hang.test/'), 1, timeout_ms = 100)\n";
        let started = Instant::now();
        let (kind, code, _) = judged(&setup, source).await;
        assert_eq!((kind, code.as_str()), (Inconclusive, "verify_timeout"));
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_poll_ends_before_the_check_does_and_the_script_still_answers() {
    for setup in Setup::both() {
        for timeout in ["", ", timeout_ms = 60000"] {
            let source =
                format!("def run(result):\n    return invariant_check(lambda: False{timeout})\n");
            let world = World::new(&[]).within(Duration::from_secs(1));
            let started = Instant::now();
            let verdict = setup.run(&source, &world).await.unwrap();
            assert_eq!((verdict.kind, verdict.code.as_str()), (Revise, "condition_false"));
            assert!(started.elapsed() >= Duration::from_millis(700), "{:?}", started.elapsed());
        }
    }
}

#[tokio::test]
async fn waiting_takes_neither_ticks_nor_the_scripts_own_time() {
    let source = "def run(result):\n    return invariant_check(lambda: False, timeout_ms = 1200)\n";
    for mut setup in Setup::both() {
        setup.limits = Limits { wall_ms: 400, ticks: 100, ..Limits::default() };
        let call = setup.verifier(source).call(&World::new(&[]).ctx).await.unwrap();
        assert_eq!(call.verdict.code.as_str(), "condition_false");
        assert!(call.ticks < 50, "{}", call.ticks);
    }
}

#[tokio::test]
async fn what_a_look_does_is_bounded_as_everything_else() {
    let busy = "def look():\n    for i in range(1000000000):\n        pass\n    return False\ndef run(result):\n    return invariant_check(look)\n";
    let deep = "def look():\n    return invariant_check(look)['outcome'] == 'pass'\ndef run(result):\n    return invariant_check(look)\n";
    for mut setup in Setup::both() {
        setup.limits = Limits { ticks: 100_000, ..Limits::default() };
        assert_eq!(fault(&setup, busy).await, "script_ticks");
        assert_eq!(fault(&setup, deep).await, "script_depth");
        setup.limits = Limits { ticks: 1_000_000_000, wall_ms: 100, ..Limits::default() };
        assert_eq!(fault(&setup, busy).await, "script_timeout");
    }
}

#[tokio::test]
async fn a_poll_inside_a_poll_ends_with_the_outer_one() {
    let source = r#"
def inner():
    return invariant_check(lambda: False, timeout_ms = 60000)["outcome"] == "pass"

def run(result):
    return invariant_check(inner, timeout_ms = 100)
"#;
    for setup in Setup::both() {
        let started = Instant::now();
        assert_eq!(judged(&setup, source).await.1, "condition_false");
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[tokio::test]
async fn a_cancelled_run_ends_a_wait() {
    let source =
        "def run(result):\n    return invariant_check(lambda: False, timeout_ms = 600000)\n";
    for setup in Setup::both() {
        let world = World::new(&[]).within(Duration::from_secs(600));
        let verifier = setup.verifier(source);
        verifier.check().await.unwrap();
        let cancel = world.ctx.cancel.clone();
        let started = Instant::now();
        let (result, ()) = tokio::join!(verifier.verify(&world.ctx), async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            cancel.cancel();
        });
        assert_eq!(result.unwrap_err().code.as_str(), "script_cancelled");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test]
async fn of_a_long_poll_the_first_and_the_last_look_are_evidence() {
    let source = r#"
def run(result):
    seen = read_after_write(lambda: http.get("http://x.test/")["body"], "d", timeout_ms = 5000)
    evidence("after", seen["reason"])
    return seen
"#;
    for mut setup in Setup::both() {
        setup.host = in_turn(&["a", "b", "c", "d"]);
        let verdict = setup.run(source, &World::new(&[])).await.unwrap();
        let seen: Vec<(&str, &str)> = verdict
            .evidence
            .iter()
            .map(|evidence| {
                (evidence.source.split(':').next().unwrap(), evidence.observed.as_str())
            })
            .take(4)
            .collect();
        let expected = [
            ("http", "status 200"),
            ("http", "status 200"),
            ("read_after_write", "match, reads: 4"),
            ("after", "match"),
        ];
        assert_eq!(seen, expected);
        assert_ne!(verdict.evidence[0].digest, verdict.evidence[1].digest);
        assert!(verdict.evidence[2].digest.is_some());
    }
}

#[tokio::test]
async fn in_an_example_there_is_one_look() {
    let source = r#"
accepts = [{"result": {}, "http": {"http://x.test/": {"status": 200, "body": "up"}}}]
rejects = [{"result": {}, "http": {"http://x.test/": {"status": 200, "body": "down"}}}]

def run(result):
    return read_after_write(lambda: http.get("http://x.test/")["body"], "up", timeout_ms = 3600000)
"#;
    for setup in Setup::both() {
        setup.verifier(source).check().await.unwrap();
        let silent = source.replace("accepts = [", "accepts = [{\"result\": {}}, ");
        let fault = setup.verifier(&silent).check().await.unwrap_err();
        assert!(fault.message.contains("it is inconclusive"), "{fault}");
    }
}

#[tokio::test]
async fn before_the_delegate_a_script_that_polls_has_a_second() {
    let setup = Setup::in_process();
    let minute = Duration::from_secs(60);
    for (body, expected) in [
        ("True", minute),
        ("http.get('http://x.test/')['ok']", Duration::from_secs(1)),
        ("read_after_write(lambda: 1, 1)", Duration::from_secs(1)),
        ("invariant_check(lambda: True)", Duration::from_secs(1)),
    ] {
        let verifier = setup.verifier(&format!("def run(result):\n    return {body}\n"));
        assert_eq!(verifier.red_timeout(minute), expected);
    }
}
