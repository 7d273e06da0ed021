//! A store full of runs, to look at the dashboard with: `board_store FILE [RUNS] [NOW_MS]`. Every run is driven
//! by the engine; delegates and checks are scripted, and the time is made up: the thirty days before `NOW_MS`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a tool that breaks should say so at once"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{
    CheckDecl, Claim, Code, Entry, Evidence, Fault, OnFailure, Policy, RunId, Subject, Usage,
    Verdict,
};
use probity_delegate::{Answered, Delegate, DelegateError, FunctionDelegate};
use probity_engine::{Check, Clock, Engine, Plan, SystemClock, Watch};
use probity_store::Store;
use probity_store_sqlite::{Durability, Options, SqliteStore};
use probity_verifier::{CheckContext, NoFacts, Verifier, Workspace};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const DAYS_MS: u64 = 30 * 24 * 3_600_000;
const AT_A_TIME: usize = 8;
const KINDS: [&str; 6] =
    ["claude-code", "codex", "gemini-cli", "nightly-backup", "rag-writer", "researcher"];
const TASKS: [&str; 8] = [
    "Make the failing tests in crates/billing pass without touching the tests",
    "Write the migration for invoices.currency and run it on the staging copy",
    "Dump the production database to backup.dump and upload it",
    "Answer the customer's question from the handbook, with citations",
    "Rename `Account::close` everywhere and keep the public API",
    "Summarise the incident of last Tuesday; quote the log lines you rely on",
    "Create out.txt with the list of open pull requests",
    "Bump the TLS library and fix what breaks",
];
/// What a page must never take for markup.
const MARKUP: &str = "<script>window.pwned = 1</script><img src=x onerror=\"window.pwned = 2\">";

/// Each question takes a while, as it does in the world.
struct Turning {
    now_ms: AtomicU64,
    step_ms: u64,
}

impl Clock for Turning {
    fn now_ms(&self) -> u64 {
        self.now_ms.fetch_add(self.step_ms, Ordering::Relaxed)
    }
}

/// Numbers that look random and are the same each time.
#[derive(Clone, Copy)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// How a run goes.
#[derive(Clone)]
struct Script {
    kind: &'static str,
    task: String,
    /// The claim from which on it is true; beyond the attempts for never.
    true_from: u64,
    odd: u64,
    dice: u64,
}

struct Silent;

impl Watch for Silent {
    fn entry(&self, _: &Entry) {}
}

/// A check that knows how the run goes.
struct Judge {
    script: Script,
    which: usize,
    calls: AtomicU64,
}

#[async_trait]
impl Verifier for Judge {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut dice = Dice(self.script.dice ^ (self.which as u64 * 7_919) ^ call);
        let slow = [0, 3, 1][self.which % 3] + if dice.roll(40) == 0 { dice.roll(30) } else { 0 };
        tokio::time::sleep(Duration::from_millis(slow)).await;
        let nth: u64 =
            ctx.claim.response.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
        if nth >= self.script.true_from && nth > 0 {
            let seen = Evidence::new(["out.txt", "cargo test", "report"][self.which], "as claimed");
            return Ok(Verdict::pass().with_evidence(seen));
        }
        match (self.script.odd, self.which) {
            (1, 1) => Ok(Verdict::inconclusive("http_unreachable", "staging.example did not answer in 2 s")),
            (2, 1) => Err(Fault::new("script_raised", "KeyError: 'rows'").at("verifiers/rows.star:12")),
            (3, 1) => Ok(Verdict::fail("judge_tampered", "tests/billing.rs is not what it was")),
            (_, 2) if nth == 0 && self.script.dice.is_multiple_of(3) => Ok(Verdict::pass()),
            (_, 0) => Ok(Verdict::revise("file_missing", "file `out.txt` does not exist")
                .with_evidence(Evidence::new("out.txt", "absent (before: absent)"))),
            (_, 1) => Ok(Verdict::revise(
                "exit_code",
                "`cargo test` ended with exit status 101:\ntest billing::rounds_half_up ... FAILED\n\
                 assertion `left == right` failed\n  left: 1005\n right: 1006",
            )
            .with_evidence(Evidence::new("cargo test", "exit status 101, 2 of 148 tests failed"))
            .with_evidence(Evidence::new("target/nextest", "3.2 s, 148 tests"))),
            _ => Ok(Verdict::revise("quote_missing", "the third quotation is not in the source")),
        }
    }
}

fn delegate(script: Script) -> Arc<dyn Delegate> {
    let claims = Arc::new(AtomicU64::new(0));
    Arc::new(FunctionDelegate::new("scripted", move |asked| {
        let (script, nth) = (script.clone(), claims.fetch_add(1, Ordering::Relaxed) + 1);
        async move {
            match script.odd {
                4 => {
                    let status = "exit status 1".to_owned();
                    return Err(DelegateError::Exit {
                        status,
                        stderr_tail: "rate limited".to_owned(),
                    });
                }
                5 => asked.cancel.cancelled().await,
                _ => {}
            }
            let says = match script.odd {
                9 => format!("{nth} {MARKUP} Everything is done."),
                _ => format!("{nth} done: all tests pass and the file is where you wanted it."),
            };
            let usage = Usage { tokens: 900 + script.dice % 4_000, tool_calls: 3 };
            Ok(Answered { usage, ..Answered::of(Claim::text(says)) })
        }
    }))
}

fn plan(run: &RunId, script: &Script) -> Plan {
    let on_exhausted = if script.odd == 6 { OnFailure::Escalate } else { OnFailure::Reject };
    let policy = Policy {
        max_attempts: 3,
        max_verify_tries: 2,
        verify_backoff_ms: 1,
        on_exhausted,
        ..Policy::default()
    };
    let names: &[(&str, Subject)] = match script.odd {
        7 => &[],
        _ if script.kind == "rag-writer" => {
            &[("citations", Subject::Claim), ("file-1", Subject::World)]
        }
        _ if script.kind == "nightly-backup" => {
            &[("file-1", Subject::World), ("http-1", Subject::World)]
        }
        _ => {
            &[("file-1", Subject::World), ("command-1", Subject::World), ("git-1", Subject::World)]
        }
    };
    let check = |(which, (name, subject)): (usize, &(&str, Subject))| {
        let decl = CheckDecl { id: Code::slug(name), subject: *subject, timeout_ms: 10_000 };
        let calls = AtomicU64::new(0);
        Check::verifier(decl, Arc::new(Judge { script: script.clone(), which, calls }))
    };
    let request = serde_json::json!({"task": script.task, "kind": script.kind});
    Plan {
        request: request.to_string().into_bytes(),
        policy,
        checks: names.iter().enumerate().map(check).collect(),
        ..Plan::new(
            run.clone(),
            script.task.as_str(),
            delegate(script.clone()),
            Arc::new(Workspace::none()),
            Arc::new(NoFacts),
        )
    }
}

fn script(at: u64, dice: &mut Dice) -> Script {
    let kind = KINDS[of_hundred(usize::try_from(dice.roll(100)).unwrap_or(0))];
    let honest = match kind {
        "claude-code" => 78,
        "codex" => 70,
        "gemini-cli" => 58,
        "nightly-backup" => 88,
        "rag-writer" => 46,
        _ => 30,
    };
    let mut true_from = 1;
    while true_from < 5 && dice.roll(100) >= honest {
        true_from += 1;
    }
    let odd = match dice.roll(1_000) {
        0..=14 => 1,
        15..=19 => 2,
        20..=32 => 3,
        33..=52 => 4,
        53..=54 => 6,
        55..=84 => 7,
        _ => 0,
    };
    let true_from = if (1..=6).contains(&odd) { 9 } else { true_from };
    let pick = usize::try_from(dice.roll(TASKS.len() as u64)).unwrap_or(0);
    let task = format!("{} (#{})", TASKS[pick], 1_000 + at % 700);
    Script { kind, task, true_from, odd, dice: dice.roll(1 << 30) }
}

/// Which kind one of a hundred is.
fn of_hundred(at: usize) -> usize {
    [34, 58, 72, 82, 93, 100].iter().position(|end| at < *end).unwrap_or(0)
}

async fn drive(store: Arc<dyn Store>, run: RunId, script: Script, at_ms: u64) {
    let step_ms = 40 + script.dice % 900;
    let clock = Arc::new(Turning { now_ms: AtomicU64::new(at_ms), step_ms });
    let engine = Engine::new(store, clock);
    let is_open = script.odd == 5;
    let driven = engine.run(plan(&run, &script), &Silent, CancellationToken::new());
    match is_open {
        // Whoever drove it is gone: its log stays open.
        true => drop(tokio::time::timeout(Duration::from_millis(200), driven).await),
        false => drop(driven.await.unwrap()),
    }
}

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap();
    let runs: u64 = args.next().map_or(10_000, |text| text.parse().unwrap());
    let now_ms = args.next().map_or_else(|| SystemClock.now_ms(), |text| text.parse().unwrap());
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, options).unwrap());
    let mut dice = Dice(20_260);
    let mut driven = JoinSet::new();
    for at in 0..runs {
        let mut script = script(at, &mut dice);
        let at_ms = now_ms - DAYS_MS + at * (DAYS_MS - 120_000) / runs + dice.roll(60_000);
        let run = match runs - at {
            1 => "xss-probe".parse().unwrap(),
            _ => RunId::from_uuid(
                (u128::from(at_ms) << 80) | (7 << 76) | (2 << 62) | u128::from(dice.roll(1 << 31)),
            ),
        };
        match runs - at {
            1 => {
                let task = format!("{MARKUP} is the title of the page that was asked for");
                script = Script { task, odd: 9, true_from: 2, kind: "claude-code", ..script };
            }
            2 | 5 => script.odd = 5,
            3 => (script.odd, script.true_from) = (6, 9),
            _ => {}
        }
        if driven.len() >= AT_A_TIME {
            driven.join_next().await.unwrap().unwrap();
        }
        driven.spawn(drive(Arc::clone(&store), run, script, at_ms));
    }
    while let Some(done) = driven.join_next().await {
        done.unwrap();
    }
    println!("{runs} runs in {path}");
}
