//! What an edit changes, line by line.

use std::fmt::Write as _;

/// Unchanged lines around a change.
const CONTEXT: usize = 2;
/// The most lines of either text, between what both begin and end with, that are compared one by one.
const MAX_COMPARED: usize = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Kept,
    Gone,
    New,
}

/// The lines that differ, with `-` and `+` before them and a little of what is around. Empty for equal texts.
#[must_use]
pub fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let changes = changes(&old, &new);
    let is_near = |at: usize| {
        let from = at.saturating_sub(CONTEXT);
        changes.iter().skip(from).take(at - from + CONTEXT + 1).any(|(it, _)| *it != Change::Kept)
    };
    let mut text = String::new();
    let mut was_near = true;
    for (at, (change, line)) in changes.iter().enumerate() {
        let is_near = is_near(at);
        let mark = match change {
            Change::Kept => ' ',
            Change::Gone => '-',
            Change::New => '+',
        };
        if is_near {
            let _ = writeln!(text, "{mark} {line}");
        } else if was_near && !text.is_empty() {
            text.push_str("  …\n");
        }
        was_near = is_near;
    }
    text
}

fn changes<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Change, &'a str)> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (tail(old, head), tail(new, head));
    let same = old_rest.iter().rev().zip(new_rest.iter().rev());
    let foot = same.take_while(|(old, new)| old == new).count();
    let middle = |lines: &[&'a str]| -> Vec<&'a str> {
        lines.iter().take(lines.len() - foot).copied().collect()
    };
    let kept = |line: &&'a str| (Change::Kept, *line);
    let mut changes: Vec<_> = old.iter().take(head).map(kept).collect();
    changes.extend(compared(&middle(old_rest), &middle(new_rest)));
    changes.extend(tail(old_rest, old_rest.len() - foot).iter().map(kept));
    changes
}

fn tail<'a, 'b>(lines: &'b [&'a str], from: usize) -> &'b [&'a str] {
    lines.get(from..).unwrap_or_default()
}

/// By the longest lines that both have in common.
fn compared<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Change, &'a str)> {
    let mut changes = Vec::new();
    let (mut at, mut to) = (0, 0);
    let lengths = match old.len().max(new.len()) <= MAX_COMPARED {
        true => common(old, new),
        false => Vec::new(),
    };
    let length = |at: usize, to: usize| lengths.get(at).and_then(|row| row.get(to)).copied();
    loop {
        match (old.get(at), new.get(to)) {
            (Some(gone), Some(line)) if gone == line && !lengths.is_empty() => {
                changes.push((Change::Kept, *gone));
                (at, to) = (at + 1, to + 1);
            }
            (Some(gone), next) if next.is_none() || length(at + 1, to) >= length(at, to + 1) => {
                changes.push((Change::Gone, *gone));
                at += 1;
            }
            (_, Some(line)) => {
                changes.push((Change::New, *line));
                to += 1;
            }
            _ => return changes,
        }
    }
}

/// How many lines the rests of both texts have in common, from every pair of places on.
fn common(old: &[&str], new: &[&str]) -> Vec<Vec<u32>> {
    let mut rows = vec![vec![0; new.len() + 1]];
    for gone in old.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let mut row = vec![0];
        for (to, line) in new.iter().enumerate().rev() {
            let at = |row: &[u32], to: usize| row.get(to).copied().unwrap_or_default();
            let right = row.last().copied().unwrap_or_default();
            let longest = match gone == line {
                true => at(&below, to + 1) + 1,
                false => right.max(at(&below, to)),
            };
            row.push(longest);
        }
        row.reverse();
        rows.push(row);
    }
    rows.reverse();
    rows
}
