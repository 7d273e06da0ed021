//! `probity explain`: the pages of `docs/codes/`, which are part of the binary.

use std::fmt::Write as _;

use serde_json::json;

use super::args::ExplainArgs;
use super::{CliError, present};
use crate::location::Programs;

/// Code and page, sorted by code.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/code_pages.rs"));

/// Exit codes, the outcomes that end with them, what they mean.
const EXITS: [(u8, &[&str], &str); 11] = [
    (0, &["verified"], "every check that applied passed, and there was at least one"),
    (1, &["exhausted", "rejected"], "the claim was checked and did not hold"),
    (2, &["inconclusive"], "ground truth could not be read in time"),
    (3, &["unverified"], "nothing checked the claim"),
    (4, &["faulted"], "a verifier broke, so nobody knows"),
    (5, &["delegate_failed"], "the delegate gave no claim"),
    (6, &["cancelled"], "someone stopped the run"),
    (7, &["escalated"], "the run waits for a human"),
    (64, &[], "the command line, the request or the configuration is wrong; nothing was run"),
    (74, &[], "the run stopped without an outcome, the store failed, or its log is damaged"),
    (130, &[], "a second interrupt ended the program at once; the run can be resumed"),
];

/// What the same numbers say where `probity audit` ends with them.
const AUDITS: [(u8, &str); 7] = [
    (0, "valid: everything was looked at, and nothing was found"),
    (1, "invalid: at least one rule is broken"),
    (2, "wrong usage, or a key, an envelope or a pack that cannot be used"),
    (3, "malformed: the bytes cannot be read as a record, or there is none"),
    (4, "limit exceeded: a bound of the auditor was reached"),
    (5, "integrity only: what is there is whole, but not everything could be re-checked"),
    (6, "accepted by the compat reading, and by no other"),
];

/// Suggestions for a code that no page explains.
const MAX_SUGGESTIONS: usize = 3;

/// Explains a code, an outcome or an exit code; lists the codes where none is given.
///
/// # Errors
/// [`CliError::NotFound`] with the nearest codes if no page explains it.
pub(super) async fn explain(args: &ExplainArgs, _: &Programs) -> Result<u8, CliError> {
    let Some(asked) = args.code.as_deref() else { return list(args.json) };
    let code = asked.trim().trim_matches(['[', ']', '`']);
    if let Some(page) = page(code) {
        match args.json {
            true => present::json(&json!({ "code": code, "page": page }))?,
            false => drop(present::print(page.as_bytes())?),
        }
        return Ok(0);
    }
    if let Some((exit, outcomes, meaning)) = exit(code) {
        match args.json {
            true => present::json(&json!({
                "exit_code": exit,
                "outcomes": outcomes,
                "meaning": meaning,
                "audit": of_audit(exit),
            }))?,
            false => drop(present::print(exit_text(exit, outcomes, meaning).as_bytes())?),
        }
        return Ok(0);
    }
    Err(CliError::NotFound(unknown(code)))
}

/// The page of a code.
fn page(code: &str) -> Option<&'static str> {
    let at = PAGES.binary_search_by_key(&code, |(code, _)| code).ok()?;
    PAGES.get(at).map(|(_, page)| *page)
}

fn exit(text: &str) -> Option<(u8, &'static [&'static str], &'static str)> {
    let number: u8 = text.parse().ok()?;
    EXITS.into_iter().find(|(exit, ..)| *exit == number)
}

fn exit_text(exit: u8, outcomes: &[&str], meaning: &str) -> String {
    let mut text = match outcomes {
        [] => format!("exit code {exit}: {meaning}\n"),
        outcomes => format!("exit code {exit}, {}: {meaning}\n", outcomes.join(" or ")),
    };
    if let Some(meaning) = of_audit(exit) {
        let _ = writeln!(text, "where `probity audit` ends with it: {meaning}");
    }
    for outcome in outcomes {
        let _ = write!(text, "\n{}", page(outcome).unwrap_or_default());
    }
    text
}

fn of_audit(exit: u8) -> Option<&'static str> {
    AUDITS.iter().find(|(code, _)| *code == exit).map(|(_, meaning)| *meaning)
}

fn list(json: bool) -> Result<u8, CliError> {
    let codes: Vec<_> = PAGES.iter().map(|(code, page)| (*code, meaning(page))).collect();
    if json {
        let object = |(code, meaning)| json!({ "code": code, "meaning": meaning });
        let codes: Vec<_> = codes.into_iter().map(object).collect();
        present::json(&json!({ "codes": codes }))?;
        return Ok(0);
    }
    let width = codes.iter().map(|(code, _)| code.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (code, meaning) in codes {
        let _ = writeln!(text, "{code:width$}  {meaning}");
    }
    present::print(text.as_bytes())?;
    Ok(0)
}

/// The sentence under the title.
fn meaning(page: &str) -> &str {
    page.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default()
}

fn unknown(code: &str) -> String {
    let shown = present::line(code);
    let nearest = nearest(code, PAGES.iter().map(|(code, _)| *code));
    let hint = match nearest.as_slice() {
        [] => "`probity explain` alone lists all codes".to_owned(),
        [one] => format!("did you mean `{one}`?"),
        several => format!("did you mean one of `{}`?", several.join("`, `")),
    };
    format!("no page explains `{shown}`: it is the word of a verifier script, or misspelt; {hint}")
}

/// The words that a misspelt one may stand for, nearest first.
fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase().replace(['-', ' '], "_");
    let slack = (word.chars().count() / 3).max(1);
    let distance = |candidate: &str| match candidate.contains(&word) && word.len() > 2 {
        true => 0,
        false => strsim::damerau_levenshtein(&word, candidate),
    };
    let mut near: Vec<(usize, &str)> = words
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= slack)
        .collect();
    near.sort_unstable();
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use probity_core::Outcome;

    use super::*;

    #[test]
    fn every_outcome_has_a_page_and_stands_at_its_exit_code() {
        for outcome in Outcome::ALL {
            assert!(page(outcome.as_str()).is_some(), "{outcome}");
            let (_, outcomes, _) = exit(&outcome.exit_code().to_string()).unwrap();
            assert!(outcomes.contains(&outcome.as_str()), "{outcome}");
        }
    }

    #[test]
    fn every_verdict_of_an_audit_stands_at_its_exit_code() {
        for verdict in probity_report::Verdict::BY_WEIGHT {
            let meaning = of_audit(verdict.exit_code()).unwrap();
            let word = verdict.as_str().replace('_', " ");
            let first = word.replace("accepted by compat", "accepted by the compat");
            assert!(meaning.starts_with(&first), "{verdict:?}: {meaning}");
        }
    }

    #[test]
    fn pages_are_sorted_and_start_with_their_code() {
        assert!(PAGES.is_sorted_by(|(a, _), (b, _)| a < b));
        for (code, page) in PAGES {
            assert_eq!(page.lines().next(), Some(format!("# {code}").as_str()));
            assert!(!meaning(page).is_empty(), "{code}");
        }
    }

    #[test]
    fn a_misspelt_word_finds_its_neighbours_and_a_strange_one_none() {
        let words = ["dir_missing", "exhausted", "file_missing", "file_mode"];
        let near = |word| nearest(word, words.into_iter());
        assert_eq!(near("file-misssing"), ["file_missing", "dir_missing"]);
        assert_eq!(near("exausted"), ["exhausted"]);
        assert_eq!(near("file"), ["file_missing", "file_mode"]);
        assert!(near("zzz").is_empty() && near("").is_empty());
    }
}
