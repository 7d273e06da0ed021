//! What crates that are functions of their input may not reach for.

use proc_macro2::{TokenStream, TokenTree};

use crate::{Finding, Source};

/// Names that bring in time or waiting, then order by chance.
const NAMES: [&str; 6] = ["SystemTime", "Instant", "async", "await", "HashMap", "HashSet"];
/// Modules of `std` that reach outside the process, then into another thread.
const MODULES: [&str; 5] = ["fs", "net", "env", "process", "thread"];

/// A crate, with what of [`NAMES`] and [`MODULES`] it may not use.
struct Pure {
    sources: &'static str,
    names: &'static [&'static str],
    modules: &'static [&'static str],
}

/// Auditors look things up in maps and may spread work over threads; their reports are put in order.
const PURE: [Pure; 6] = [
    whole("crates/core/src/"),
    whole("crates/record/src/"),
    whole("crates/report/src/"),
    whole("crates/grounding/src/"),
    auditor("crates/audit/src/"),
    auditor("crates/trace/src/"),
];

const fn whole(sources: &'static str) -> Pure {
    Pure { sources, names: &NAMES, modules: &MODULES }
}

const fn auditor(sources: &'static str) -> Pure {
    let (names, _) = NAMES.split_at(4);
    let (modules, _) = MODULES.split_at(4);
    Pure { sources, names, modules }
}

/// Uses of them in product code.
#[must_use]
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let Some(pure) = PURE.iter().find(|pure| source.path.starts_with(pure.sources)) else {
            continue;
        };
        let mut words = Vec::new();
        flatten(source.text.parse().unwrap_or_default(), &mut words);
        for (index, (word, line)) in words.iter().enumerate() {
            let follows_std = index >= 3
                && words.get(index - 3).is_some_and(|(first, _)| first == "std")
                && words.get(index - 1).is_some_and(|(colon, _)| colon == ":");
            let named = pure.names.contains(&word.as_str());
            if !source.is_test(*line)
                && (named || (follows_std && pure.modules.contains(&word.as_str())))
            {
                let text = format!("`{word}` in a pure crate: take it as an input");
                findings.push(Finding::new(&source.path, *line, text));
            }
        }
    }
    findings
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
