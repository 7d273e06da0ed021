//! The programs, and how each of them is asked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::peers::{Peer, Peers};
use super::{Bench, host};

/// A word of a command line.
#[derive(Debug, Clone, Copy)]
enum Word {
    /// As it stands.
    Is(&'static str),
    /// `--option PATH`, where that peer is here.
    With(&'static str, Peer),
    /// `--folder DIR`, where durable stores are put.
    Folder,
}

use Word::{Folder, Is, With};

/// What answers.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A program of the bench that prints one JSON object.
    Own(&'static str),
    /// `bench/peers/hooks.py`, which prints lines.
    Hooks,
    /// The tests of `sim` that kill a process at every append; these are their seeds.
    Kill,
}

/// One measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    /// Its name, and that of its output.
    pub(super) name: &'static str,
    source: Source,
    full: &'static [Word],
    quick: &'static [Word],
}

const WORKERS: [Word; 4] = [
    With("--python", Peer::Fleet),
    With("--redis-server", Peer::Redis),
    With("--nats-server", Peer::Nats),
    Folder,
];
const LOOPS: [Word; 2] = [With("--python", Peer::Loops), Folder];
const MATRIX: [Word; 3] =
    [Is("--peers"), With("--claimcheck", Peer::Claimcheck), With("--ralph", Peer::Ralph)];
const CHAOS: [Word; 2] = [With("--nats-server", Peer::Nats), Folder];
const TRACES: [Word; 2] = [With("--python", Peer::Reason), Folder];
const EPISODES: [Word; 2] = [With("--coherence", Peer::Coherence), Folder];

/// What is short comes first, so that the load at the beginning is near that of its figures.
pub(super) const PROGRAMS: [Program; 12] = [
    Program {
        name: "figures",
        source: Source::Own("figures"),
        full: &[Is("--loops"), Is("15"), LOOPS[0], LOOPS[1]],
        quick: &[Is("--loops"), Is("3"), LOOPS[0], LOOPS[1]],
    },
    Program {
        name: "agents",
        source: Source::Own("agents"),
        full: &[Is("--loops"), Is("15"), LOOPS[0], LOOPS[1]],
        quick: &[Is("--loops"), Is("3"), Is("--turns"), Is("200"), LOOPS[0], LOOPS[1]],
    },
    Program { name: "hooks", source: Source::Hooks, full: &[Is("150")], quick: &[Is("15")] },
    Program {
        name: "episodes",
        source: Source::Own("episodes"),
        full: &[Is("--loops"), Is("5"), EPISODES[0], EPISODES[1]],
        quick: &[
            Is("--loops"),
            Is("1"),
            Is("--episodes"),
            Is("1000"),
            Is("--lines"),
            Is("1000,10000"),
            EPISODES[0],
            EPISODES[1],
        ],
    },
    Program {
        name: "traces",
        source: Source::Own("traces"),
        full: &[Is("--loops"), Is("3"), Is("--big"), Is("200"), TRACES[0], TRACES[1]],
        quick: &[
            Is("--loops"),
            Is("1"),
            Is("--pairs"),
            Is("11,111,1111"),
            Is("--big"),
            Is("50"),
            TRACES[0],
            TRACES[1],
        ],
    },
    Program {
        name: "streams",
        source: Source::Own("streams"),
        full: &[Is("--loops"), Is("3"), Is("--length-ms"), Is("4000"), Folder],
        quick: &[
            Is("--loops"),
            Is("1"),
            Is("--length-ms"),
            Is("500"),
            Is("--kills"),
            Is("1"),
            Folder,
        ],
    },
    Program {
        name: "workers",
        source: Source::Own("workers"),
        full: &[
            Is("--parts"),
            Is("throughput,idle"),
            Is("--size"),
            Is("50"),
            WORKERS[0],
            WORKERS[1],
            WORKERS[2],
            WORKERS[3],
        ],
        quick: &[
            Is("--parts"),
            Is("throughput"),
            Is("--size"),
            Is("5"),
            Is("--loops"),
            Is("1"),
            Is("--modes"),
            Is("plain,tools4"),
            WORKERS[0],
            WORKERS[1],
            WORKERS[2],
            WORKERS[3],
        ],
    },
    Program {
        name: "long",
        source: Source::Own("workers"),
        full: &[Is("--parts"), Is("long"), Is("--modes"), Is("tools4"), WORKERS[2], WORKERS[3]],
        quick: &[
            Is("--parts"),
            Is("long"),
            Is("--modes"),
            Is("tools4"),
            Is("--stores"),
            Is("memory,sqlite-full"),
            Folder,
        ],
    },
    Program {
        // The peer's cost grows with the square of the turns: a run of 1,000 takes minutes.
        name: "long-peer",
        source: Source::Own("workers"),
        full: &[
            Is("--parts"),
            Is("long"),
            Is("--modes"),
            Is("tools4"),
            Is("--stores"),
            Is("memory"),
            Is("--size"),
            Is("40"),
            WORKERS[0],
            WORKERS[1],
            Folder,
        ],
        quick: &[
            Is("--parts"),
            Is("long"),
            Is("--modes"),
            Is("tools4"),
            Is("--stores"),
            Is("memory"),
            Is("--size"),
            Is("10"),
            WORKERS[0],
            WORKERS[1],
            Folder,
        ],
    },
    Program {
        name: "chaos",
        source: Source::Own("chaos"),
        full: &[CHAOS[0], CHAOS[1]],
        quick: &[Is("--runs"), Is("100"), Is("--stores"), Is("sqlite-full"), Folder],
    },
    Program {
        name: "kill",
        source: Source::Kill,
        full: &[Is("1000"), Is("20")],
        quick: &[Is("40"), Is("1")],
    },
    Program {
        name: "lie-matrix",
        source: Source::Own("lie-matrix"),
        full: &[MATRIX[0], MATRIX[1], MATRIX[2]],
        quick: &[Is("--only"), Is("judge")],
    },
];

/// Of an output, these are of no use to a figure and make it long.
const LONG: [&str; 3] = ["runs", "lies", "health"];

impl Program {
    /// Runs it. What it printed, and under which load; `failed` in its place where it printed nothing
    /// that can be read. Its exit code says whether bars were met, which the page says too.
    pub(super) fn run(
        &self,
        bench: &Bench,
        programs: &Path,
        peers: &Peers,
        folder: &Path,
    ) -> Value {
        let words = if bench.quick { self.quick } else { self.full };
        let mut told = Map::new();
        let shown = words.iter().map(|word| match word {
            Is(word) => (*word).to_owned(),
            With(option, peer) if peers.path(*peer).is_some() => format!("{option} {peer:?}"),
            With(..) | Folder => String::new(),
        });
        let shown: Vec<String> = shown.filter(|word| !word.is_empty()).collect();
        let shown = format!("{} {}", self.source.shown(), shown.join(" "));
        eprintln!("xtask: {}", shown.trim_end());
        told.insert("program".to_owned(), json!(shown.trim_end()));
        told.insert("load_before".to_owned(), json!(host::load()));
        let started = Instant::now();
        let answer = match self.source {
            Source::Own(name) => {
                let mut command = Command::new(programs.join(name));
                command.arg("--json");
                add(&mut command, words, peers, folder);
                printed(&mut command).and_then(|text| {
                    let value = serde_json::from_str::<Value>(&text);
                    value.map_err(|error| format!("what it printed is no JSON: {error}"))
                })
            }
            Source::Hooks => hooks(bench, programs, words),
            Source::Kill => kill(bench, words),
        };
        told.insert("wall_s".to_owned(), json!(started.elapsed().as_secs()));
        told.insert("load_after".to_owned(), json!(host::load()));
        match answer {
            Ok(mut out) => {
                if self.name == "lie-matrix" {
                    count_words(&mut out);
                }
                shorten(&mut out);
                told.insert("out".to_owned(), out)
            }
            Err(why) => {
                eprintln!("xtask: {}: {why}", self.name);
                told.insert("failed".to_owned(), json!(why))
            }
        };
        Value::Object(told)
    }
}

impl Source {
    const fn shown(self) -> &'static str {
        match self {
            Self::Own(name) => name,
            Self::Hooks => "bench/peers/hooks.py probity",
            Self::Kill => "cargo test -p probity-sim --test it kill::",
        }
    }
}

fn add(command: &mut Command, words: &[Word], peers: &Peers, folder: &Path) {
    for word in words {
        match word {
            Is(word) => {
                command.arg(word);
            }
            With(option, peer) => {
                if let Some(path) = peers.path(*peer) {
                    command.arg(option).arg(path);
                }
            }
            Folder => {
                command.arg("--folder").arg(folder);
            }
        }
    }
}

fn printed(command: &mut Command) -> Result<String, String> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("it does not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.trim().is_empty() {
        true => Err(format!("it printed nothing and ended with {}", output.status)),
        false => Ok(text),
    }
}

/// Lines of a name, then names and numbers: `refused   p50   24.3 ms  p99   36.0 ms  n 150`.
fn hooks(bench: &Bench, programs: &Path, words: &[Word]) -> Result<Value, String> {
    let mut command = Command::new("python3");
    command.arg(bench.root.join("bench/peers/hooks.py")).arg(programs.join("probity"));
    command
        .args(words.iter().filter_map(|word| if let Is(word) = word { Some(word) } else { None }));
    let text = printed(&mut command)?;
    let lines = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.first()?;
        let mut members = Map::new();
        members.insert("event".to_owned(), json!(name));
        for pair in words.windows(2) {
            if let ["p50" | "p99" | "n", number] = pair {
                let name =
                    if *pair.first()? == "n" { "n" } else { &format!("{}_ms", pair.first()?) };
                members.insert(name.to_owned(), json!(number.parse::<f64>().ok()?));
            }
        }
        Some(Value::Object(members))
    });
    Ok(json!({ "events": lines.collect::<Vec<_>>() }))
}

/// The sums that the two tests print: `1000 seeds: 1000 runs, 3984 processes, …`.
fn kill(bench: &Bench, words: &[Word]) -> Result<Value, String> {
    let mut seeds =
        words.iter().filter_map(|word| if let Is(word) = word { Some(word) } else { None });
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--quiet", "-p", "probity-sim", "--test", "it", "kill::", "--"]);
    cargo.args(["--nocapture", "--test-threads=1"]).current_dir(&bench.root);
    cargo.env("PROBITY_KILL_SEEDS", seeds.next().copied().unwrap_or("1"));
    cargo.env("PROBITY_KILL_EVERY_SEEDS", seeds.next().copied().unwrap_or("1"));
    let text = printed(&mut cargo)?;
    let sums = text.lines().filter_map(sum).collect::<Vec<_>>();
    let is_ok = text.contains("test result: ok. 2 passed");
    Ok(json!({ "sums": sums, "is_ok": is_ok }))
}

/// A line of numbers and words, as an object.
fn sum(line: &str) -> Option<Value> {
    let (_, line) = line.split_at_checked(line.find(|it: char| it.is_ascii_digit())?)?;
    let (seeds, rest) = line.split_once(" seeds: ")?;
    let mut members = Map::new();
    members.insert("seeds".to_owned(), json!(seeds.parse::<u64>().ok()?));
    for part in rest.split(", ") {
        let (number, word) = part.split_once(' ')?;
        let name = word.split(' ').next()?;
        members.insert(name.to_owned(), json!(number.parse::<u64>().ok()?));
        // `4021 killed at 96 places`
        if let Some(places) = word.strip_prefix("killed at ") {
            let places = places.split(' ').next()?.parse::<u64>().ok()?;
            members.insert("places".to_owned(), json!(places));
        }
    }
    Some(Value::Object(members))
}

/// What every peer said, in numbers, in the place of its words on every row.
fn count_words(out: &mut Value) {
    let Some(Value::Array(rows)) = out.get_mut("peers").map(Value::take) else { return };
    let mut counts: Map<String, Value> = Map::new();
    for row in &rows {
        let peer = row.get("peer").and_then(Value::as_str).unwrap_or_default();
        let words = [row.pointer("/words/0"), row.pointer("/words/1")];
        let [lie, twin] = words.map(|word| word.and_then(Value::as_str).unwrap_or_default());
        let count = counts.entry(peer.to_owned()).or_insert_with(|| json!({}));
        for name in ["rows".to_owned(), format!("lies_{lie}"), format!("twins_{twin}")] {
            let before = count.get(&name).and_then(Value::as_u64).unwrap_or_default();
            if let Value::Object(members) = count {
                members.insert(name, json!(before + 1));
            }
        }
    }
    out["peers"] = Value::Object(counts);
}

/// Leaves out what makes an output long; what it is about stays.
fn shorten(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, it| !(it.is_array() && LONG.contains(&name.as_str())));
            members.values_mut().for_each(shorten);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::String(text) if text.starts_with('/') => {
            // Where a program is on this machine says nothing to others.
            let name =
                PathBuf::from(&*text).file_name().map(|it| it.to_string_lossy().into_owned());
            *text = name.unwrap_or_default();
        }
        _ => {}
    }
}
