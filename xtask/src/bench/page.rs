//! The page: one table, what was missed and why, and what all of it was measured on.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Row, Told, Verdict, rows};

/// Why a bar is missed, for every bar that ever was. A figure says how far; this says what it is spent on.
const REASONS: [(&str, &str); 26] = [
    (
        "attempt-memory",
        "the workspace and the files that decide are read before and after every attempt, and that \
         work, the delegate and the check are handed to other threads, which wait for a core where \
         there is other work; the loop alone, `engine alone` of `agents`, is below the bar",
    ),
    (
        "attempt-durable",
        "every step is durable before the next one is taken, so an attempt waits several times for \
         the disk; the row tells what one such wait took in this run",
    ),
    (
        "typed-agent",
        "seven records of an attempt are written, hashed and kept with their content, where the peers \
         keep nothing",
    ),
    (
        "script",
        "a call is handed to a thread of its own, so that a slow script stalls nobody, and that costs \
         more than the interpreter takes",
    ),
    ("script-worker", "two changes of process, which wait for a core where there is other work"),
    ("start", "loading the binary; where there is other work, waiting for a core"),
    (
        "memory",
        "nearly all of it is pages of the binary, which the kernel shares and takes back; what a run \
         allocates is about a tenth",
    ),
    (
        "binary",
        "host, dashboard, NATS, telemetry, policies and schemas are in the one binary; nothing is \
         loaded on demand",
    ),
    ("hook-prompt", HOOK),
    ("hook-refused", HOOK),
    ("hook-passed", HOOK),
    ("hook-guard", HOOK),
    (
        "turns-memory",
        "a task of one turn is opened, leased, judged and sealed like a long one, each a record with \
         its hash",
    ),
    ("turns-normal", COMMITS),
    ("turns-full", COMMITS),
    (
        "turns-jetstream",
        "what the client takes is the encoding and the waits of three appends and three changes of the \
         queue for a task of one turn, each acknowledged by a majority; the peer replicates nothing",
    ),
    ("flat-full", DISK),
    ("flat-jetstream", DISK),
    (
        "resumed-jetstream",
        "those above it were killed while a server was away or coming back: its cluster answers late \
         then, and a lease is taken when it answers",
    ),
    ("resumed-full", "a lease runs out in time, but who takes the run up first waits for a core"),
    (
        "stream-turns-few",
        "eight checks, each a script in a process of its own, and eight child runs are done for ten \
         readers; the floor does none of it",
    ),
    (
        "stream-turns-many",
        "the same for 200 readers; the rest is what a run costs, not what telling it costs",
    ),
    (
        "trace-python",
        "short traces are mostly the start of both processes; long ones are decoded, and the id of \
         every event is computed anew, where Python spends its time too",
    ),
    (
        "trace-rate",
        "every event is decoded, hashed for its id and looked up by five families of rules; no single \
         function takes more than an eighth",
    ),
    (
        "trace-memory-short",
        "the plan is read whole and every id is remembered, so memory grows with the number of events, \
         not with their size",
    ),
    (
        "episodes",
        "starting a process and opening a file for each, where they are few or in a folder",
    ),
];

const HOOK: &str = "a process is started, a store opened, and every announced effect is made durable \
     before it is done; what that takes is the disk's, and the floor of a durable write in this run \
     stands in the second row";
const COMMITS: &str = "what is left to save is commits: three appends and three changes of the queue for a \
     task of one turn, and a commit of SQLite costs the same however little is in it; one Redis keeps no \
     chain, no content and one copy";
const DISK: &str = "what a turn costs beside the disk is the same at the end; a disk that others write to \
     takes longer at one time than at another";

/// The page of one run, as text.
#[must_use]
pub fn page(told: &Told) -> String {
    let rows = rows(told);
    let mut text = HEAD.to_owned();
    machine(&mut text, told);
    table(&mut text, &rows);
    missed(&mut text, &rows);
    absent(&mut text, told, &rows);
    programs(&mut text, told);
    text.push_str(TAIL);
    text
}

const HEAD: &str = "\
<!-- Written by `cargo xtask bench`; a test holds it against the outputs. Do not edit. -->

# Benchmarks

Every bar that Probity is held to, with the figure of one run of all programs and, measured on the same
machine in the same run, what stands beside it: another tool that does the same or less, or what the
machine needs for it at least. What each program does is told in `bench/README.md`; its output is kept
below `bench/results`, and this page is made of that.

";

const TAIL: &str = "\n## Again

```sh
python3 -m venv loops && loops/bin/pip install instructor==1.17.0 pydantic-ai-slim==2.68.0 openai-agents==0.24.0
python3 -m venv fleet && fleet/bin/pip install nfactorial==0.1.30 'openai<3'
python3 -m venv audit && audit/bin/pip install deepsigma==2.1.3 bijux-canon-reason==0.3.8 claimcheck-receipts==0.3.0
cargo xtask bench --peers loops --peers fleet --peers audit          # half an hour to an hour
cargo xtask bench --quick                                            # three minutes, nothing is kept
```

Peers that are not there are left out, and their rows say so. Redis and `ralph` are looked for on the
path, a NATS server in `target/nats`, where `cargo xtask test` leaves one. `--only figures,agents` runs a
part again, `--page` only writes this page.

Times depend on the machine and on who else is on it; how many instructions a hot path takes does not.
`cargo xtask instructions` counts them under valgrind and holds them against `bench/instructions.toml`.
";

fn machine(text: &mut String, told: &Told) {
    let at = |name: &str| told.at("machine", &format!("/{name}"));
    let word = |name: &str| at(name).as_str().unwrap_or_default().to_owned();
    let gib = at("memory_bytes").as_f64().unwrap_or_default() / f64::from(1 << 30);
    let after = match word("load_after") {
        load if load.is_empty() => "; the run was stopped before its end".to_owned(),
        load => format!(", after {load}"),
    };
    let _ = write!(
        text,
        "Measured on {}: {}, {} cores, {gib:.0} GiB, {}, disk {}; {}, commit {}. Load before {}{after}. \
         On a machine with other work, times are longer than they need be, and those of the peers with \
         them.\n\n",
        word("day"),
        word("cpu"),
        at("cores").as_u64().unwrap_or_default(),
        word("kernel"),
        word("disk"),
        word("rustc"),
        word("commit"),
        word("load_before"),
    );
}

fn table(text: &mut String, rows: &[Row]) {
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let _ = write!(
        text,
        "**{} bars met, {} missed, {} not measured.**\n\n\
         | What | Figure | Bar | | Against | Ratio | How |\n|---|---|---|---|---|---|---|\n",
        count(Verdict::Met),
        count(Verdict::Missed),
        count(Verdict::Absent),
    );
    for row in rows {
        let Row { what, figure, bar, verdict, against, ratio, how, .. } = row;
        let _ = writeln!(
            text,
            "| {what} | {figure} | {bar} | {} | {against} | {ratio} | {how} |",
            verdict.as_str()
        );
    }
}

fn missed(text: &mut String, rows: &[Row]) {
    let missed: Vec<&Row> = rows.iter().filter(|row| row.verdict == Verdict::Missed).collect();
    if missed.is_empty() {
        return;
    }
    text.push_str("\n## Missed, and why\n\n");
    for row in missed {
        let reason = reason(row.id).unwrap_or("nobody has looked into it yet");
        let _ = writeln!(text, "- **{}** ({}, bar {}): {reason}.", row.what, row.figure, row.bar);
    }
}

/// Why the bar of a row is missed.
fn reason(id: &str) -> Option<&'static str> {
    REASONS.iter().find(|(of, _)| *of == id).map(|(_, reason)| *reason)
}

fn absent(text: &mut String, told: &Told, rows: &[Row]) {
    let without = told.at("machine", "/without").as_array();
    let without: Vec<&str> = without.into_iter().flatten().filter_map(Value::as_str).collect();
    let failed = told.files().filter_map(|(name, file)| {
        let why = file.get("failed").and_then(Value::as_str)?;
        Some(format!("`{name}`: {why}"))
    });
    let skipped = told.files().flat_map(|(name, file)| {
        let lines = file.pointer("/out/skipped").and_then(Value::as_array);
        let lines = lines.into_iter().flatten().filter_map(Value::as_str);
        lines.map(move |line| format!("`{name}`: {line}"))
    });
    let rows = rows.iter().filter(|row| row.verdict == Verdict::Absent);
    let rows = rows.map(|row| format!("no figure: {}", row.what));
    let mut lines: Vec<String> = without.iter().map(|it| format!("not here: {it}")).collect();
    lines.extend(failed.chain(skipped).chain(rows));
    if lines.is_empty() {
        return;
    }
    text.push_str("\n## Left out\n\n");
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
}

fn programs(text: &mut String, told: &Told) {
    text.push_str(
        "\n## Programs\n\n| Program | Seconds | Load before | after |\n|---|---:|---|---|\n",
    );
    for (_, file) in told.files() {
        let word = |name: &str| file.get(name).and_then(Value::as_str).unwrap_or_default();
        if let Some(seconds) = file.get("wall_s").and_then(Value::as_u64) {
            let _ = writeln!(
                text,
                "| `{}` | {seconds} | {} | {} |",
                word("program"),
                word("load_before"),
                word("load_after")
            );
        }
    }
}
