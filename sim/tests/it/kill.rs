//! `kill -9` of a real process that drives a real engine over SQLite, again and again, until the run
//! is sealed; then its log against the reference model.
//!
//! `PROBITY_KILL_SEEDS` sets the number of seeds of the first test, 150 by default, and
//! `PROBITY_KILL_EVERY_SEEDS` that of the second, which kills at every single append, 6 by default.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use probity_core::{Delegation, Entry, Event, Stage};
use probity_record::read_records;
use probity_sim::{Report, Rng, Says, Script, World, predict, rows};
use probity_store::{RunLog as _, read_run};
use probity_store_sqlite::{Options, SqliteStore};

/// More lives than any schedule needs.
const MAX_LIVES: u32 = 40;

/// What all schedules came to together.
#[derive(Debug, Default)]
struct Tally {
    runs: u64,
    lives: u64,
    kills: u64,
    interruptions: u64,
    attempts: u64,
    /// Kills by moment and place.
    places: BTreeMap<(String, u64), u64>,
}

#[test]
fn attempts_counted_are_attempts_made_whatever_is_killed() {
    let tally = over_seeds("PROBITY_KILL_SEEDS", 150, |seed| {
        let mut schedule = Schedule::new(seed);
        let plan = schedule.plan();
        schedule.play(&plan)
    });
    assert!(tally.kills >= tally.runs, "{tally:?}");
    for moment in ["before", "after", "ask", "look"] {
        assert!(tally.places.keys().any(|(when, _)| when == moment), "{moment}: {tally:?}");
    }
}

#[test]
fn every_append_of_a_run_can_be_the_last_of_a_life() {
    let tally = over_seeds("PROBITY_KILL_EVERY_SEEDS", 6, |seed| {
        let mut tally = Tally::default();
        for nth in 0..Schedule::new(seed).whole.appends {
            for moment in ["before", "after"] {
                let mut schedule = Schedule::new(seed);
                tally.add(schedule.play(&[(moment, nth.into())]));
            }
        }
        tally
    });
    assert_eq!(tally.kills, tally.runs, "every kill came about");
}

/// Plays every seed, on as many threads as there are processors, and prints the sum.
fn over_seeds(variable: &str, default: u64, play: impl Fn(u64) -> Tally + Sync) -> Tally {
    let seeds = std::env::var(variable).ok().and_then(|text| text.parse().ok());
    let seeds: u64 = seeds.unwrap_or(default);
    let next = AtomicU64::new(0);
    let sum = Mutex::new(Tally::default());
    let workers = std::thread::available_parallelism().map_or(2, |n| n.get().min(8));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds {
                        return;
                    }
                    let one = play(seed);
                    sum.lock().unwrap_or_else(PoisonError::into_inner).add(one);
                }
            });
        }
    });
    let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!(
        "{seeds} seeds: {} runs, {} processes, {} killed at {} places, {} interruptions, {} attempts",
        sum.runs,
        sum.lives,
        sum.kills,
        sum.places.len(),
        sum.interruptions,
        sum.attempts,
    );
    sum
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.lives += other.lives;
        self.kills += other.kills;
        self.interruptions += other.interruptions;
        self.attempts += other.attempts;
        for (place, kills) in other.places {
            *self.places.entry(place).or_default() += kills;
        }
    }
}

struct Schedule {
    seed: u64,
    rng: Rng,
    script: Script,
    /// The run as the simulated world has it: how many appends, asks and looks there are.
    whole: Report,
    dir: tempfile::TempDir,
    tally: Tally,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let script = Script::job(seed);
        let whole = World::new(&script, &[]).run();
        let mut whole = whole.unwrap_or_else(|violation| panic!("{seed}: {violation}"));
        // The simulated world may die between an outcome and its seal; the engine writes both at once.
        whole.appends -= 1;
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        Self { seed, rng: Rng::new(!seed), script, whole, dir, tally: Tally::default() }
    }

    /// Where to kill, life by life.
    fn plan(&mut self) -> Vec<(&'static str, u64)> {
        // The place of the first kill goes round; the later ones come early in their lives, which
        // are short.
        let moment = if self.seed.is_multiple_of(2) { "before" } else { "after" };
        let mut plan = vec![(moment, (self.seed / 2) % u64::from(self.whole.appends))];
        for _ in 0..self.rng.below(6) {
            plan.push(match self.rng.below(6) {
                0 | 1 => ("before", self.rng.below(5)),
                2 | 3 => ("after", self.rng.below(5)),
                4 => ("ask", self.rng.below(2)),
                _ => ("look", self.rng.below(3)),
            });
        }
        plan
    }

    /// Kills several lives, lets the last one live, and compares.
    fn play(&mut self, plan: &[(&str, u64)]) -> Tally {
        for place in plan {
            if self.live(Some(*place)) {
                break;
            }
        }
        for _ in 0..MAX_LIVES {
            if self.live(None) {
                self.compare();
                self.tally.runs = 1;
                return std::mem::take(&mut self.tally);
            }
        }
        panic!("{}: not sealed after {MAX_LIVES} lives", self.seed);
    }

    /// One process. True if it came to the end of the run.
    fn live(&mut self, kill: Option<(&str, u64)>) -> bool {
        let mut child = Command::new(env!("CARGO_BIN_EXE_crash-child"));
        child.arg(self.dir.path()).arg(self.seed.to_string());
        if let Some((moment, nth)) = kill {
            child.arg(moment).arg(nth.to_string());
        }
        let output = child.output().unwrap_or_else(|error| panic!("no child: {error}"));
        self.tally.lives += 1;
        if output.status.signal() == Some(9) {
            let Some((moment, nth)) = kill else { panic!("{}: killed by someone else", self.seed) };
            self.tally.kills += 1;
            *self.tally.places.entry((moment.to_owned(), nth)).or_default() += 1;
            return false;
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} {kill:?}: {}\n{stderr}", self.seed, output.status);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.trim(), self.whole.account.outcome.as_str(), "{}", self.seed);
        true
    }

    fn compare(&mut self) {
        let seed = self.seed;
        let log = read_log(self.dir.path());
        let machine = Delegation::replay(&log).unwrap_or_else(|error| panic!("{seed}: {error}"));
        assert!(matches!(machine.stage(), Stage::Sealed { .. }), "{seed}");

        // Nothing lost, nothing counted twice, the same outcome: the model knows of no crash.
        let expected = predict(&self.script);
        assert_eq!(self.whole.account, expected, "{seed}");
        assert_eq!(rows(&log), expected.rows, "{seed}");
        let counted = expected.rows.iter().filter(|row| row.counted).count();
        assert_eq!(machine.attempts() as usize, counted, "{seed}");
        let Some(ending) = machine.ending() else { panic!("{seed}: no ending") };
        assert_eq!(ending.outcome, expected.outcome, "{seed}");
        let is_failed = matches!(self.script.turn(machine.turn().number), Some(turn)
            if turn.says == Says::Nothing && expected.code == "exit_1");
        let code = if is_failed { "delegate_error" } else { &expected.code };
        assert_eq!(ending.code.as_str(), code, "{seed}");
        let spent = (machine.usage().tokens, machine.usage().tool_calls);
        assert_eq!(spent, (expected.tokens, expected.tool_calls), "{seed}");

        self.compare_world(&log);
        self.tally.interruptions += u64::from(machine.interruptions());
        self.tally.attempts += u64::from(machine.attempts());
    }

    /// The world's own account: who was really asked, and what was really looked at.
    fn compare_world(&self, log: &[Entry]) {
        let seed = self.seed;
        let world = std::fs::read_to_string(self.dir.path().join("world.log")).unwrap_or_default();
        assert!(!world.contains("breach"), "{seed}: {world}");
        let expected = &self.whole.account;
        let mut asked = BTreeMap::<u32, u64>::new();
        let mut looks = BTreeMap::<String, u64>::new();
        let lines = world.lines().filter(|line| !line.starts_with("kept "));
        for line in lines {
            match line.strip_prefix("ask ").map(str::parse) {
                Some(turn) => *asked.entry(turn.unwrap_or(u32::MAX)).or_default() += 1,
                None => *looks.entry(line.to_owned()).or_default() += 1,
            }
        }
        assert_eq!(asked.keys().copied().collect::<Vec<_>>(), expected.dispatched, "{seed}");
        let named: std::collections::BTreeSet<String> = expected
            .looks
            .iter()
            .map(|(turn, check, tries)| {
                let of = turn.map_or_else(|| "red".to_owned(), |turn| turn.to_string());
                format!("look {of} {check} {tries}")
            })
            .collect();
        assert_eq!(looks.keys().cloned().collect::<std::collections::BTreeSet<_>>(), named);
        // Asked twice only where a kill came between the asking and the record of the answer.
        let repeated: u64 = asked.values().chain(looks.values()).map(|times| times - 1).sum();
        assert!(repeated <= self.tally.kills, "{seed}: {world}");
        let claims = log.iter().filter(|entry| matches!(entry.event, Event::ClaimReceived { .. }));
        let failures =
            log.iter().filter(|entry| matches!(entry.event, Event::DelegateFailed { .. }));
        assert_eq!(claims.count() + failures.count(), expected.dispatched.len(), "{seed}");
        let noted = log.iter().filter(|entry| matches!(entry.event, Event::DelegateNoted { .. }));
        assert_eq!(noted.count(), expected.notes.len(), "{seed}");
        let resumed = log.iter().filter(|entry| matches!(entry.event, Event::RunResumed { .. }));
        assert!(resumed.count() as u64 <= self.tally.kills, "{seed}");
    }
}

fn read_log(dir: &Path) -> Vec<Entry> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
    runtime.block_on(async {
        let store = SqliteStore::open(dir.join("run.db"), Options::default())
            .unwrap_or_else(|error| panic!("no store: {error}"));
        let run = "run".parse().unwrap_or_else(|error| panic!("{error}"));
        let records =
            read_run(&store, &run).await.unwrap_or_else(|error| panic!("no log: {error}"));
        let state = store.state(&run).await.unwrap_or_else(|error| panic!("no state: {error}"));
        assert!(state.is_some_and(|state| state.sealed && state.len == records.len() as u64));
        let log = read_records(&records).unwrap_or_else(|error| panic!("damaged: {error}"));
        assert!(log.seal.is_some());
        log.entries
    })
}
