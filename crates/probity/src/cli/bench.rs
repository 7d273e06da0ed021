//! `probity bench`: the program measured by itself.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use probity_lies::{Class, Matrix, OfClass, Order, Played};
use serde::Serialize;

use super::CliError;
use super::args::{BenchArgs, BenchCommand, LiesArgs};
use super::present::{self, block};

/// Something is wrong with a row.
const EXIT_WRONG: u8 = 1;

/// Runs what was asked for.
///
/// # Errors
/// [`CliError`] if a row cannot be played.
pub(super) async fn bench(args: &BenchArgs) -> Result<u8, CliError> {
    match &args.command {
        BenchCommand::Lies(args) => lies(args).await,
    }
}

async fn lies(args: &LiesArgs) -> Result<u8, CliError> {
    if args.list {
        return list(args.json);
    }
    let order = Order {
        // The program that runs, also when the file it came from is replaced.
        program: args.program.clone().unwrap_or_else(|| PathBuf::from("/proc/self/exe")),
        only: args.only,
        jobs: usize::from(args.jobs),
    };
    let is_terminal = io::stderr().is_terminal();
    let played = tokio::task::spawn_blocking(move || {
        Matrix::play(&order, |done, all| {
            if is_terminal {
                let mut stderr = io::stderr().lock();
                let end = if done == all { "\r\x1b[K" } else { "" };
                // A standard error that is gone is nobody's problem.
                let _ =
                    write!(stderr, "\r\x1b[K{done}/{all} rows{end}").and_then(|()| stderr.flush());
            }
        })
    });
    let failed = |source| CliError::Io { what: "play the rows", source };
    let matrix = played.await.map_err(|error| failed(io::Error::other(error)))??;
    if args.json {
        present::json(&matrix)?;
    } else {
        let text = block(&told(&matrix)).join("\n");
        present::print(format!("{text}\n").as_bytes())?;
    }
    Ok(if matrix.summary.ok { 0 } else { EXIT_WRONG })
}

#[derive(Serialize)]
struct Listed {
    class: Class,
    lie: &'static str,
}

fn list(json: bool) -> Result<u8, CliError> {
    if json {
        let all = Class::ALL.iter().map(|class| Listed { class: *class, lie: class.says() });
        present::json(&all.collect::<Vec<_>>())?;
        return Ok(0);
    }
    let lines = Class::ALL.iter().map(|class| format!("{class:<16} {}\n", class.says()));
    present::print(lines.collect::<String>().as_bytes())?;
    Ok(0)
}

fn told(matrix: &Matrix) -> String {
    let mut text = format!(
        "{:<16} {:>5} {:>9} {:>6} {:>8} {:>11} {:>7} {:>6}\n",
        "class", "lies", "accepted", "twins", "refused", "attempts", "health", "wrong"
    );
    for row in &matrix.classes {
        let OfClass { class, lies, false_accepts, twins, false_rejects, health, wrong, .. } = row;
        let (counted, made) = (row.attempts_counted, row.attempts_made);
        let attempts = format!("{counted}{}{made}", if counted == made { "=" } else { "≠" });
        text.push_str(&format!(
            "{class:<16} {lies:>5} {false_accepts:>9} {twins:>6} {false_rejects:>8} {attempts:>11} \
             {health:>7} {wrong:>6}\n"
        ));
    }
    let pairs = matrix.lies.iter().filter(|pair| !pair.wrong.is_empty()).map(|pair| {
        (pair.name, pair.wrong.as_slice(), vec![("lie", &pair.lie), ("twin", &pair.twin)])
    });
    let sick = matrix.health.iter().filter(|sick| !sick.wrong.is_empty());
    let sick = sick.map(|it| (it.name, it.wrong.as_slice(), vec![("row", &it.played)]));
    for (name, wrong, played) in pairs.chain(sick) {
        text.push_str(&format!("\nWRONG {name}: {}\n", wrong.join("; ")));
        for (who, Played { outcome, codes, reasons, .. }) in played {
            text.push_str(&format!("  {who}: {outcome} {} {reasons:?}\n", codes.join(" ")));
        }
    }
    let total = &matrix.summary;
    text.push_str(&format!(
        "\nlies {}, false accepts {}; twins {}, false rejects {}; health rows {}, wrong {}; attempts \
         counted wrong in {} rows",
        total.lies,
        total.false_accepts,
        total.twins,
        total.false_rejects,
        total.health,
        total.health_wrong,
        total.miscounted
    ));
    text
}
