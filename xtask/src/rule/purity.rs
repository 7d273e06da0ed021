//! What the two pure crates may not reach for.

use proc_macro2::{TokenStream, TokenTree};

use crate::{Finding, Source};

/// The crates that are functions of their input.
const PURE: [&str; 2] = ["crates/core/src/", "crates/record/src/"];
/// Names that bring in time, order by chance, or waiting.
const NAMES: [&str; 6] = ["SystemTime", "Instant", "HashMap", "HashSet", "async", "await"];
/// Modules of `std` that reach outside the process, or into another thread.
const MODULES: [&str; 5] = ["fs", "net", "env", "process", "thread"];

/// Uses of them in product code.
#[must_use]
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|s| PURE.iter().any(|pure| s.path.starts_with(pure))) {
        let mut words = Vec::new();
        flatten(source.text.parse().unwrap_or_default(), &mut words);
        for (index, (word, line)) in words.iter().enumerate() {
            let follows_std = index >= 3
                && words.get(index - 3).is_some_and(|(first, _)| first == "std")
                && words.get(index - 1).is_some_and(|(colon, _)| colon == ":");
            let named = NAMES.contains(&word.as_str());
            if !source.is_test(*line) && (named || (follows_std && is_module(word))) {
                let text = format!("`{word}` in a pure crate: take it as an input");
                findings.push(Finding::new(&source.path, *line, text));
            }
        }
    }
    findings
}

fn is_module(word: &str) -> bool {
    MODULES.contains(&word)
}

/// Every word and sign with its line. Groups are opened; literals cannot match anything.
fn flatten(tokens: TokenStream, words: &mut Vec<(String, usize)>) {
    for token in tokens {
        let line = token.span().start().line;
        match token {
            TokenTree::Group(group) => flatten(group.stream(), words),
            TokenTree::Ident(name) => words.push((name.to_string(), line)),
            TokenTree::Punct(sign) => words.push((sign.as_char().to_string(), line)),
            TokenTree::Literal(_) => words.push((String::new(), line)),
        }
    }
}
