//! The matrix as text and as JSON.

use std::collections::BTreeMap;

use probity_lies::{Played, Summary};

use crate::beside::Beside;
use crate::matrix::{Matrix, Word};

/// One JSON object.
pub(crate) fn print_json(matrix: &Matrix) {
    match serde_json::to_string_pretty(matrix) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("lie-matrix: {error}"),
    }
}

/// A table for people, worst news last.
pub(crate) fn print(matrix: &Matrix) {
    println!(
        "{:<42} {:<8} {:<10} {:<10} {:>11} {:>9} {:>9}",
        "lie and its twin", "face", "lie", "twin", "attempts", "ms/att", "feedback"
    );
    println!("{:<72} {:>11} {:>9} {:>9}", "", "cnt=made", "lie/twin", "bytes");
    for pair in &matrix.lies {
        println!(
            "{:<42} {:<8} {:<10} {:<10} {:>11} {:>9} {:>9}{}",
            pair.name,
            pair.face,
            pair.lie.outcome,
            pair.twin.outcome,
            format!("{} {}", counted(&pair.lie), counted(&pair.twin)),
            format!("{:.0}/{:.0}", pair.lie.ms_per_attempt(), pair.twin.ms_per_attempt()),
            pair.lie.feedback_bytes + pair.twin.feedback_bytes,
            mark(&pair.wrong),
        );
    }
    println!(
        "\n{:<42} {:<16} {:<28} {:>9} {:>9}",
        "verifier health", "outcome", "because", "attempts", "ms"
    );
    for sick in &matrix.health {
        println!(
            "{:<42} {:<16} {:<28} {:>9} {:>9.0}{}",
            sick.name,
            sick.played.outcome,
            sick.because,
            sick.played.attempts,
            sick.played.elapsed_ms,
            mark(&sick.wrong),
        );
    }
    print_peers(matrix);
    for (name, wrong, played) in wrong_rows(matrix) {
        println!("\nWRONG {name}: {}", wrong.join("; "));
        for (who, played) in played {
            println!("  {who}: {} {} {:?}", played.outcome, played.codes.join(" "), played.reasons);
        }
    }
    println!("\n{}", line(&matrix.summary));
}

/// The line that is quoted elsewhere.
fn line(summary: &Summary) -> String {
    let attempts = if summary.miscounted == 0 {
        "attempts counted = true in all rows".to_owned()
    } else {
        format!("attempts counted wrong in {} rows", summary.miscounted)
    };
    let Summary { lies, false_accepts, twins, false_rejects, health, health_wrong, .. } = summary;
    let mut line = format!(
        "lies {lies}, false accepts {false_accepts}; twins {twins}, false rejects {false_rejects}; \
         health rows {health}, wrong {health_wrong}; {attempts}"
    );
    line.push_str(&format!(
        " ({} of the pairs also through the command line)",
        summary.also_by_cli
    ));
    if summary.otherwise_wrong > 0 {
        line.push_str(&format!("; otherwise wrong {}", summary.otherwise_wrong));
    }
    line
}

fn counted(played: &Played) -> String {
    let sign = if played.is_counted() { "=" } else { "≠" };
    format!("{}{sign}{}", played.attempts, played.invocations)
}

fn mark(wrong: &[String]) -> &'static str {
    if wrong.is_empty() { "" } else { "  WRONG" }
}

type Wrong<'a> = (&'static str, &'a [String], Vec<(&'static str, &'a Played)>);

fn wrong_rows(matrix: &Matrix) -> Vec<Wrong<'_>> {
    let pairs = matrix.lies.iter().map(|pair| {
        (pair.name, pair.wrong.as_slice(), vec![("lie", &pair.lie), ("twin", &pair.twin)])
    });
    let sick = matrix
        .health
        .iter()
        .map(|sick| (sick.name, sick.wrong.as_slice(), vec![("row", &sick.played)]));
    pairs.chain(sick).filter(|(_, wrong, _)| !wrong.is_empty()).collect()
}

fn print_peers(matrix: &Matrix) {
    if !matrix.peers.is_empty() {
        println!(
            "\n{:<30} {:<26} {:<22} {:<22} {:<11} {:<11}",
            "peers on the same rows",
            "peer",
            "its word on the lie",
            "on the twin",
            "ours, lie",
            "ours, twin"
        );
    }
    let mut counts: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for beside in &matrix.peers {
        let Beside { name, peer, lie, twin, ours_lie, ours_twin, words, .. } = beside;
        println!("{name:<30} {peer:<26} {lie:<22} {twin:<22} {ours_lie:<11} {ours_twin:<11}");
        let [lie, twin] = words;
        let [rows, done, silent, refused, twin_silent] = counts.entry(peer).or_default();
        *rows += 1;
        *done += usize::from(*lie == Word::Done);
        *silent += usize::from(*lie == Word::Nothing);
        *refused += usize::from(*twin == Word::NotDone);
        *twin_silent += usize::from(*twin == Word::Nothing);
    }
    for (peer, [rows, done, silent, refused, twin_silent]) in counts {
        println!(
            "{peer}: {rows} rows; lies called done {done}, silent {silent}; twins called not done \
             {refused}, silent {twin_silent}"
        );
    }
    for why in &matrix.skipped {
        println!("skipped: {why}");
    }
}
