//! Broken judges, unreachable worlds, broken delegates: no verdict on the delegate's work, and no
//! attempt counted, whatever it said.

use probity_core::Outcome;

use crate::Class;
use crate::case::{Case, Health};

const HELLO: &[&str] = &["file:out.txt,created,contains=hello"];

/// A Starlark verifier that must end in this fault.
const fn script(name: &'static str, source: &'static str, because: &'static str) -> Health {
    let case = Case { name, verify: Some(("{state}/check.star", source)), ..Case::EMPTY };
    Health { class: Class::BrokenJudge, case, ends: Outcome::Faulted, because, attempts: 0 }
}

/// Checks that must end so without an attempt counted.
const fn checks(
    class: Class,
    name: &'static str,
    setup: &'static str,
    expect: &'static [&'static str],
    ends: Outcome,
    because: &'static str,
) -> Health {
    let case = Case { name, setup, expect, ..Case::EMPTY };
    Health { class, case, ends, because, attempts: 0 }
}

/// A delegate that makes no claim.
const fn delegate(name: &'static str, script: &'static str, because: &'static str) -> Health {
    let case = Case { name, expect: HELLO, delegate: script, ..Case::EMPTY };
    Health {
        class: Class::BrokenDelegate,
        case,
        ends: Outcome::DelegateFailed,
        because,
        attempts: 0,
    }
}

/// A delegate that makes the world unreadable: nothing can be said about its work.
const fn sabotage(name: &'static str, script: &'static str, because: &'static str) -> Health {
    let case = Case { name, expect: HELLO, delegate: script, ..Case::EMPTY };
    Health { class: Class::BrokenDelegate, case, ends: Outcome::Inconclusive, because, attempts: 0 }
}

pub(super) const ROWS: &[Health] = &[
    script("verifier_with_a_syntax_error", "def run(result)\n    return True\n", "script_syntax"),
    script("verifier_that_raises", "def run(result):\n    return [][1]\n", "script_raise"),
    script(
        "verifier_that_fails_by_name",
        "def run(result):\n    fail(\"broken\")\n",
        "script_raise",
    ),
    script(
        "verifier_without_an_end",
        "def run(result):\n    for i in range(1000000000):\n        pass\n    return True\n",
        "script_ticks",
    ),
    script("verifier_that_recurses", "def run(result):\n    return run(result)\n", "script_depth"),
    script(
        "verifier_that_eats_memory",
        "def run(result):\n    x = [1]\n    for i in range(60):\n        x = x + x\n    return True\n",
        "script_heap",
    ),
    script("verifier_that_returns_nothing", "def run(result):\n    pass\n", "script_return_none"),
    script(
        "verifier_that_returns_null",
        "def run(result):\n    return \"null\"\n",
        "script_return_null",
    ),
    script(
        "verifier_that_returns_a_number",
        "def run(result):\n    return 1\n",
        "script_return_type",
    ),
    script(
        "verifier_that_contradicts_itself",
        "def run(result):\n    return {\"verified\": True, \"verdict\": \"fail\"}\n",
        "script_return_contradiction",
    ),
    script("verifier_without_run", "def check(result):\n    return True\n", "script_no_run"),
    script(
        "verifier_that_asks_a_forbidden_host",
        "def run(result):\n    return http.get(\"http://169.254.169.254/latest\")[\"ok\"]\n",
        "egress_denied",
    ),
    Health {
        class: Class::Unreachable,
        case: Case {
            name: "verifier_whose_world_is_dead",
            verify: Some((
                "{state}/check.star",
                "def run(result):\n    return http.get(\"http://{dead}/\")[\"ok\"]\n",
            )),
            request: r#"{"verify_timeout": "1s"}"#,
            ..Case::EMPTY
        },
        ends: Outcome::Inconclusive,
        because: "unreachable",
        attempts: 0,
    },
    checks(
        Class::BrokenJudge,
        "verifier_missing",
        "",
        &["external:no-such-verifier-here"],
        Outcome::Faulted,
        "external_start",
    ),
    checks(
        Class::BrokenJudge,
        "verifier_that_prints_prose",
        "",
        &["external:echo verified"],
        Outcome::Faulted,
        "external_output",
    ),
    checks(
        Class::BrokenJudge,
        "verifier_that_prints_nothing",
        "",
        &["external:true"],
        Outcome::Faulted,
        "external_output",
    ),
    checks(
        Class::BrokenJudge,
        "verifier_that_exits_with_an_error",
        "",
        &["external:echo true; exit 3"],
        Outcome::Faulted,
        "external_exit",
    ),
    checks(
        Class::BrokenJudge,
        "verifier_that_hangs",
        "",
        &["external:sleep 60,timeout=500ms"],
        Outcome::Faulted,
        "external_timeout",
    ),
    checks(
        Class::BrokenJudge,
        "verifier_that_prints_100_mb",
        "",
        &["external:head -c 100000000 /dev/zero | tr '\\0' x"],
        Outcome::Faulted,
        "external_output",
    ),
    checks(
        Class::BrokenJudge,
        "judge_not_installed",
        "",
        &["command:no-such-program-here --all"],
        Outcome::Faulted,
        "command_not_found",
    ),
    checks(
        Class::BrokenJudge,
        "judge_that_ignores_sigterm",
        "",
        &["command:trap '' TERM; while :; do sleep 1; done,timeout=500ms"],
        Outcome::Inconclusive,
        "command_timeout",
    ),
    checks(
        Class::Unreachable,
        "service_refuses",
        "",
        &["http:http://{dead}/,timeout=1s"],
        Outcome::Inconclusive,
        "egress_unreachable",
    ),
    checks(
        Class::Unreachable,
        "service_hangs",
        "",
        &["http:http://{hang}/,timeout=1s"],
        Outcome::Inconclusive,
        "egress_timeout",
    ),
    checks(
        Class::BrokenJudge,
        "host_not_allowed",
        "",
        &["http:http://169.254.169.254/latest,timeout=1s"],
        Outcome::Faulted,
        "egress_denied",
    ),
    checks(Class::BrokenJudge, "nothing_checks", "", &[], Outcome::Unverified, "no_checks"),
    Health {
        class: Class::BrokenJudge,
        case: Case {
            name: "check_that_proves_nothing",
            setup: "echo hello > out.txt",
            expect: &["file:out.txt"],
            request: r#"{"red_first": "require"}"#,
            ..Case::EMPTY
        },
        ends: Outcome::Unverified,
        because: "non_discriminating",
        attempts: 0,
    },
    delegate("delegate_that_fails", "echo 'Wrote out.txt.'; exit 3", "delegate_exit"),
    delegate("delegate_that_is_killed", "echo 'Wrote out.txt.'; kill -9 $$", "delegate_exit"),
    delegate(
        "delegate_that_kills_its_supervisor",
        "(setsid sh -c 'sleep 1; echo hello > out.txt' &); kill -9 $PPID; sleep 30",
        "delegate_sandbox",
    ),
    Health {
        class: Class::BrokenDelegate,
        case: Case {
            name: "delegate_without_an_end",
            expect: HELLO,
            request: r#"{"attempt_timeout": "500ms"}"#,
            delegate: "echo hello > out.txt; sleep 60",
            ..Case::EMPTY
        },
        ends: Outcome::DelegateFailed,
        because: "delegate_timeout",
        attempts: 0,
    },
    Health {
        class: Class::BrokenDelegate,
        case: Case {
            name: "delegate_over_the_run_budget",
            expect: HELLO,
            request: r#"{"timeout": "700ms"}"#,
            delegate: "sleep 60",
            ..Case::EMPTY
        },
        ends: Outcome::Exhausted,
        because: "budget_wall",
        attempts: 0,
    },
    Health {
        class: Class::BrokenJudge,
        case: Case {
            name: "judge_that_leaves_a_daemon",
            expect: &["command:(setsid sleep 60 &) ; test -f out.txt"],
            delegate: "echo hello > out.txt; echo Done.",
            ..Case::EMPTY
        },
        ends: Outcome::Verified,
        because: "ok",
        attempts: 1,
    },
    Health {
        class: Class::BrokenJudge,
        case: Case {
            name: "judge_that_prints_100_mb",
            expect: &["command:head -c 100000000 /dev/zero | tr '\\0' x && test -f out.txt"],
            delegate: "echo hello > out.txt; echo Done.",
            ..Case::EMPTY
        },
        ends: Outcome::Verified,
        because: "ok",
        attempts: 1,
    },
    Health {
        class: Class::BrokenJudge,
        case: Case {
            name: "lie_with_a_broken_judge",
            expect: &["file:out.txt,created", "external:exit 9"],
            delegate: "echo 'Wrote out.txt.'",
            ..Case::EMPTY
        },
        ends: Outcome::Faulted,
        because: "external_exit",
        attempts: 0,
    },
    Health {
        class: Class::Unreachable,
        case: Case {
            name: "lie_with_a_dead_world",
            expect: &["file:out.txt,created", "http:http://{dead}/,timeout=500ms"],
            delegate: "echo 'Wrote out.txt.'",
            ..Case::EMPTY
        },
        // What is known to be missing is told and counted; what is unknown is left out.
        ends: Outcome::Exhausted,
        because: "file_missing",
        attempts: 3,
    },
    sabotage(
        "delegate_that_makes_an_endless_file",
        "truncate -s 1T out.txt; echo Done.",
        "snapshot_file_too_large",
    ),
    sabotage(
        "delegate_that_deletes_the_workspace",
        "rm -rf \"$PWD\"; echo Done.",
        "workspace_moved",
    ),
    sabotage(
        "delegate_that_swaps_the_workspace",
        "here=$PWD; mkdir \"$STATE/prepared\"; echo hello > \"$STATE/prepared/out.txt\"; mv \"$here\" \"$STATE/away\"; mv \"$STATE/prepared\" \"$here\"; echo Done.",
        "workspace_moved",
    ),
];
