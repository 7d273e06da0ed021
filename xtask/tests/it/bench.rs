//! The page of the benchmarks: nothing in it is typed by hand.

use std::path::Path;

use serde_json::{Value, json};
use xtask::bench::{Bench, PAGE, RESULTS, Row, Told, Verdict, page, rows};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn row(told: &Told, id: &str) -> Row {
    rows(told).into_iter().find(|row| row.id == id).unwrap()
}

fn figures(attempt_ms: f64, peers: Value) -> Told {
    let attempts = json!([{"per_attempt_ms": attempt_ms}, {"per_attempt_ms": 1.5}]);
    let out = json!({"attempts": attempts, "fsync_ms": 0.5, "peers": peers});
    Told::of(&[("figures", json!({ "out": out }))])
}

#[test]
fn the_page_is_what_the_kept_outputs_give() {
    let told = Told::last(&root().join(RESULTS)).unwrap();
    let kept = std::fs::read_to_string(root().join(PAGE)).unwrap();
    assert!(kept == page(&told), "{PAGE} is not that of {RESULTS}: cargo xtask bench --page");
}

#[test]
fn every_bar_that_is_missed_has_a_reason() {
    let told = Told::last(&root().join(RESULTS)).unwrap();
    let page = page(&told);
    assert!(!page.contains("nobody has looked"), "{page}");
    // And this is what a missed bar without one would look like.
    let odd = figures(99.0, json!([]));
    assert!(rows(&odd).iter().any(|row| row.verdict == Verdict::Missed));
}

#[test]
fn a_figure_is_held_against_its_bar_and_its_peer() {
    let peers = json!([
        {"name": "slow", "version": "1", "per_attempt_ms": 9.0},
        {"name": "fast", "version": "2", "per_attempt_ms": 0.4},
    ]);
    let met = row(&figures(0.1, peers.clone()), "attempt-memory");
    assert_eq!(met.verdict, Verdict::Met);
    assert_eq!(met.figure, "0.100 ms");
    assert_eq!(met.against, "fast 2, no record: 0.400 ms");
    assert_eq!(met.ratio, "4 ×");
    let missed = row(&figures(0.1001, peers), "attempt-memory");
    assert_eq!(missed.verdict, Verdict::Missed);
    let alone = row(&figures(0.05, json!([])), "attempt-memory");
    assert_eq!((alone.verdict, alone.against.as_str()), (Verdict::Met, "–"));
    assert_eq!(row(&figures(0.05, json!([])), "attempt-durable").ratio, "3 ×");
}

#[test]
fn durability_is_equal_and_the_worst_mode_counts() {
    let ours =
        |mode: &str, ms: f64| json!({"store": "sqlite-full", "mode": mode, "cpu_ms_per_turn": ms});
    let theirs = |mode: &str, aof: &str, ms: f64| json!({"name": "p", "version": "1", "mode": mode, "durability": aof, "worker_cpu_ms_per_turn": ms});
    let told = |worst: f64| {
        let out = json!({
            "throughput": [ours("plain", worst), ours("tools4", 0.1), ours("verify4", 9.0)],
            "peers": [
                theirs("plain", "none", 90.0), theirs("plain", "always", 2.0),
                theirs("tools4", "always", 4.0),
            ],
        });
        row(&Told::of(&[("workers", json!({ "out": out }))]), "turns-full")
    };
    assert_eq!(told(0.1).verdict, Verdict::Met);
    assert_eq!(told(0.1).ratio, "20 to 40 ×");
    assert_eq!(told(0.2).verdict, Verdict::Missed);
    assert_eq!(told(0.2).figure, "0.100 to 9 ms");
}

#[test]
fn a_lost_run_is_a_missed_bar() {
    let told = |repeated: u64| {
        let violations = json!({
            "lost": 0, "miscounted": 0, "repeated": repeated, "invented": 0, "epochs": 0, "refused": 0,
        });
        let store = json!({
            "store": "sqlite-full", "worker_kills": 7, "server_kills": 0,
            "proof": {"runs": 20, "violations": violations},
            "resumption": {"p50_ms": 10, "max_ms": 20, "bound_ms": 30, "above_bound": 0},
        });
        let told = Told::of(&[("chaos", json!({"out": {"stores": [store]}}))]);
        (row(&told, "unharmed-full").verdict, row(&told, "resumed-full").verdict)
    };
    assert_eq!(told(0), (Verdict::Met, Verdict::Met));
    assert_eq!(told(1), (Verdict::Missed, Verdict::Met));
}

#[test]
fn what_was_not_measured_is_said() {
    let nothing = Told::of(&[
        ("machine", json!({"without": ["no Python with nfactorial"]})),
        ("traces", json!({"failed": "it printed nothing", "program": "traces"})),
        ("agents", json!({"out": {"skipped": ["instructor: no --python given"]}})),
    ]);
    assert!(rows(&nothing).iter().all(|row| row.verdict == Verdict::Absent));
    let page = page(&nothing);
    for line in [
        "- not here: no Python with nfactorial\n",
        "- `traces`: it printed nothing\n",
        "- `agents`: instructor: no --python given\n",
        "- no figure: Start: `probity --version`\n",
    ] {
        assert!(page.contains(line), "{line}{page}");
    }
}

#[test]
fn kept_outputs_name_no_folder_of_the_machine() {
    let told = Told::last(&root().join(RESULTS)).unwrap();
    for (name, file) in told.files() {
        let text = file.to_string();
        for folder in ["\"/", "/tmp/", "/home/", concat!("/ro", "ot/"), concat!("/wo", "rk/")] {
            assert!(!text.contains(folder), "{name}: {folder}");
        }
    }
}

#[test]
fn words_that_the_command_does_not_take_are_refused() {
    for words in [&["--slow"][..], &["--peers"], &["--only", "figures,nonsense"]] {
        assert!(Bench::parse(root(), words).is_err(), "{words:?}");
    }
    let bench =
        Bench::parse(root(), &["--quick", "--only", "figures,chaos", "--peers", "a"]).unwrap();
    assert!(bench.quick);
    assert_eq!(bench.only, ["figures", "chaos"]);
    assert!(bench.peers.iter().all(|it| it.is_absolute()));
}
