//! Each way to break has its own code, with file, line and call stack.

use std::time::{Duration, Instant};

use probity_core::VerdictKind;
use probity_script::{GateError, Limits, ScriptVerifier};
use probity_verifier::Verifier as _;
use serde_json::json;

use crate::support::{Setup, World, page, table};

async fn fault_of(setup: &Setup, source: &str) -> (String, String) {
    let fault = setup.run(source, &World::new(&[])).await.expect_err(source);
    (fault.code.as_str().to_owned(), fault.location.unwrap())
}

#[tokio::test]
async fn codes_and_lines() {
    let run = "def run(result):\n";
    let rows = [
        ("def run(result)\n    return True\n".to_owned(), "script_syntax", "check.star:1:"),
        ("x = 1 +\n".to_owned(), "script_syntax", "check.star:1:"),
        (
            "load('other.star', 'x')\ndef run(result):\n    return x\n".to_owned(),
            "script_syntax",
            ":1:",
        ),
        (format!("{run}    while True:\n        pass\n"), "script_syntax", "check.star:2:"),
        (format!("{run}    return undefined_name\n"), "script_name", "check.star:2:"),
        (
            format!("{run}    if False:\n        return nothing_here\n    return True\n"),
            "script_name",
            ":3:",
        ),
        ("x = 1\n".to_owned(), "script_no_run", "check.star"),
        ("verify = 1\n".to_owned(), "script_no_run", "check.star"),
        ("def verify():\n    return True\n".to_owned(), "script_no_run", "check.star:1"),
        ("\ndef verify(a, b):\n    return True\n".to_owned(), "script_no_run", "check.star:2"),
        ("def handle(e, p):\n    return allow()\n".to_owned(), "script_no_run", "check.star"),
        (
            format!("{run}    return True\ndef verify(context):\n    return True\n"),
            "script_two_entries",
            "check.star",
        ),
        (format!("verify = 1\n{run}    return True\n"), "script_two_entries", "check.star"),
        ("run = 1\n".to_owned(), "script_no_run", "check.star"),
        ("run = str\n".to_owned(), "script_no_run", "check.star"),
        ("def run():\n    return True\n".to_owned(), "script_no_run", "check.star:1"),
        ("\ndef run(a, b):\n    return True\n".to_owned(), "script_no_run", "check.star:2"),
        (
            format!("seen = fs.exists('x')\n{run}    return True\n"),
            "script_top_level",
            "check.star:1:",
        ),
        (
            format!("page = http.get('http://x.test')\n{run}    return True\n"),
            "script_top_level",
            ":1:",
        ),
        (format!("evidence('a', 'b')\n{run}    return True\n"), "script_top_level", ":1:"),
        (format!("{run}    fail('on purpose')\n"), "script_raise", "check.star:2:"),
        (format!("{run}    return result['nope']\n"), "script_raise", "check.star:2:"),
        (format!("{run}    return json.decode('nope')\n"), "script_raise", "check.star:2:"),
        (format!("{run}    return fs.read('absent.txt')\n"), "script_raise", "check.star:2:"),
        (format!("{run}    return 1 // 0\n"), "script_raise", "check.star:2:"),
        (format!("{run}    return args['nope']\n"), "script_raise", "check.star:2:"),
        (format!("{run}    return fs.read('/etc/passwd')\n"), "path_outside", "check.star:2:"),
        (format!("{run}    return fs.stat('../x')\n"), "path_outside", "check.star:2:"),
        (format!("{run}    return http.get('http://x.test')\n"), "egress_denied", "check.star:2:"),
        (format!("{run}    return exec.run('ls')\n"), "exec_denied", "check.star:2:"),
        (format!("{run}    return git.rev_parse('HEAD')\n"), "exec_denied", "check.star:2:"),
        (format!("{run}    return env('HOME')\n"), "env_denied", "check.star:2:"),
        (
            format!("def f(n):\n    return f(n)\n{run}    return f(1)\n"),
            "script_depth",
            "check.star:2:",
        ),
    ];
    for setup in Setup::both() {
        for (source, code, place) in &rows {
            let (got, location) = fault_of(&setup, source).await;
            assert_eq!(got, *code, "{source}{location}");
            assert!(location.contains(place), "{source}{location}");
        }
    }
}

#[tokio::test]
async fn the_location_holds_the_call_stack() {
    let source =
        "def inner(x):\n    fail('no', x)\n\ndef run(result):\n    inner(1)\n    return True\n";
    for setup in Setup::both() {
        let (code, location) = fault_of(&setup, source).await;
        assert_eq!(code, "script_raise");
        let mut lines = location.lines();
        assert!(lines.next().unwrap().starts_with("check.star:2:"), "{location}");
        assert!(location.contains("check.star:5, in run"), "{location}");
        assert!(location.contains("check.star:2, in inner"), "{location}");
    }
}

#[tokio::test]
async fn nothing_survives_a_call() {
    let source = "seen = []\n\ndef run(result):\n    seen.append(1)\n    return True\n";
    for setup in Setup::both() {
        assert_eq!(fault_of(&setup, source).await.0, "script_raise");
    }
}

#[tokio::test]
async fn ticks_are_the_same_on_every_run() {
    let source = "def run(result):\n    n = 0\n    for i in range(4321):\n        n = n + len(str(i))\n    return n > 0\n";
    let world = World::new(&[]);
    let mut counts = Vec::new();
    for setup in Setup::both() {
        let verifier = setup.verifier(source);
        for _ in 0..2 {
            counts.push(verifier.call(&world.ctx).await.unwrap().ticks);
        }
    }
    assert!(counts[0] > 4321, "{counts:?}");
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

#[tokio::test]
async fn the_tick_limit_is_exact_enough_to_be_repeated() {
    let source = "def run(result):\n    for i in range(100000):\n        pass\n    return True\n";
    for mut setup in Setup::both() {
        setup.limits = Limits { ticks: 5_000, ..Limits::default() };
        let (code, location) = fault_of(&setup, source).await;
        assert_eq!(code, "script_ticks");
        assert!(location.contains("check.star:1"), "{location}");
    }
}

#[tokio::test]
async fn the_heap_limit() {
    let source = "def run(result):\n    keep = []\n    for i in range(1000000):\n        keep.append('x' + str(i))\n    return True\n";
    for mut setup in Setup::both() {
        setup.limits = Limits { heap_bytes: 1 << 20, ..Limits::default() };
        assert_eq!(fault_of(&setup, source).await.0, "script_heap");
    }
}

#[tokio::test]
async fn the_output_limit_holds_for_texts_and_prints() {
    for mut setup in Setup::both() {
        setup.limits = Limits { output_bytes: 1000, ..Limits::default() };
        for body in [
            "return 'x' * 2000",
            "return json.encode({'verified': True, 'x': 'x' * 2000})",
            "return {'verified': True, 'x': ['x'] * 2000}",
            "print('x' * 2000)",
            "log('x' * 2000)",
        ] {
            let source = format!("def run(result):\n    {body}\n");
            assert_eq!(fault_of(&setup, &source).await.0, "script_output", "{body}");
        }
    }
}

const SLOW: &str =
    "def run(result):\n    for i in range(1000000000):\n        pass\n    return True\n";

fn slow(setup: &Setup, wall_ms: u64) -> ScriptVerifier {
    let limits = Limits { ticks: 1_000_000_000, wall_ms, ..Limits::default() };
    Setup { limits, ..setup.clone() }.verifier(SLOW)
}

#[tokio::test]
async fn the_wall_limit_says_where() {
    for setup in Setup::both() {
        let fault = slow(&setup, 1_000).verify(&World::new(&[]).ctx).await.unwrap_err();
        assert_eq!(fault.code.as_str(), "script_timeout", "{fault}");
        assert!(fault.location.unwrap().contains("check.star:1"));
    }
}

#[tokio::test]
async fn a_slow_script_faults_at_the_end_of_the_checks_time() {
    for setup in Setup::both() {
        let world = World::new(&[]).within(Duration::from_millis(200));
        let started = Instant::now();
        let fault = slow(&setup, 60_000).verify(&world.ctx).await.unwrap_err();
        assert_eq!(fault.code.as_str(), "script_timeout");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test]
async fn cancelling_ends_the_script() {
    for setup in Setup::both() {
        let world = World::new(&[]);
        let verifier = slow(&setup, 60_000);
        // Loaded before, so that the cancel meets a script that runs.
        verifier.check().await.unwrap();
        let cancel = world.ctx.cancel.clone();
        let started = Instant::now();
        let (result, ()) = tokio::join!(verifier.verify(&world.ctx), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            cancel.cancel();
        });
        assert_eq!(result.unwrap_err().code.as_str(), "script_cancelled");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test]
async fn ground_truth_that_does_not_answer_is_inconclusive() {
    let source = "def run(result):\n    http.get(args['url'])\n    return True\n";
    for mut setup in Setup::both() {
        setup.host = table([
            ("http://down.test/", Err(GateError::Unreachable("no route".to_owned()))),
            ("http://up.test/", page(200, "")),
        ]);
        for (url, kind) in [
            ("http://down.test/", VerdictKind::Inconclusive),
            ("http://hang.test/", VerdictKind::Inconclusive),
            ("http://up.test/", VerdictKind::Pass),
        ] {
            setup.args = json!({"url": url});
            let world = World::new(&[]).within(Duration::from_secs(2));
            let verdict = setup.run(source, &world).await.unwrap();
            assert_eq!(verdict.kind, kind, "{url}");
        }
    }
}

#[tokio::test]
async fn waiting_for_a_host_is_not_the_scripts_own_time() {
    let source = "def run(result):\n    http.get('http://hang.test/', timeout_seconds = 2)\n    return True\n";
    for mut setup in Setup::both() {
        setup.host = table([]);
        setup.limits = Limits { wall_ms: 1_500, ..Limits::default() };
        let verdict = setup.run(source, &World::new(&[])).await.unwrap();
        assert_eq!(verdict.kind, VerdictKind::Inconclusive);
        assert!(verdict.reason.contains("did not answer in time"), "{}", verdict.reason);
    }
}

#[tokio::test]
async fn limits_out_of_range_are_refused() {
    let script = probity_script::Script::new("check.star", "").unwrap();
    let setup = Setup::in_process();
    let limits = Limits { ticks: 0, ..Limits::default() };
    let fault =
        ScriptVerifier::new(script, json!({}), setup.host, limits, setup.execution).unwrap_err();
    assert_eq!(fault.code.as_str(), "script_limits");
}
