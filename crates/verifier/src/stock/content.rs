//! Texts and patterns that must occur in bytes.

use memchr::memmem::Finder;
use regex::bytes::Regex;

use super::tally::Tally;
use super::{first_words, pattern};
use crate::spec::SpecError;

/// Texts that must all occur and patterns that must all match.
#[derive(Debug)]
pub(super) struct Content {
    contains: Vec<(String, Finder<'static>)>,
    matches: Vec<Regex>,
    /// Keys and code, as the effect calls them.
    words: Words,
}

/// How an effect calls its two keys, and the code of a difference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    pub(super) contains: &'static str,
    pub(super) matches: &'static str,
    pub(super) code: &'static str,
}

impl Content {
    pub(super) fn new(
        words: Words,
        contains: &[String],
        matches: &[String],
    ) -> Result<Self, SpecError> {
        let compile = |text: &String| {
            pattern(text).map_err(|error| SpecError::Regex {
                key: words.matches,
                detail: first_words(&error.to_string(), 200),
            })
        };
        let matches = matches.iter().map(compile).collect::<Result<_, _>>()?;
        let contains =
            contains.iter().map(|text| (text.clone(), Finder::new(text).into_owned())).collect();
        Ok(Self { contains, matches, words })
    }

    /// Whether there is anything to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.contains.is_empty() && self.matches.is_empty()
    }

    /// Notes what is missing. `parts` are looked at one by one; where they are not all there is
    /// (`whole` is false), what is not found may be in what was left out, and cannot be told.
    pub(super) fn judge(&self, what: &str, parts: &[&[u8]], whole: bool, tally: &mut Tally) {
        let missing_texts = self
            .contains
            .iter()
            .filter(|(_, finder)| !parts.iter().any(|part| finder.find(part).is_some()))
            .map(|(text, _)| format!("{what} does not contain `{}`", first_words(text, 120)));
        let missing_patterns =
            self.matches.iter().filter(|regex| !parts.iter().any(|part| regex.is_match(part))).map(
                |regex| format!("{what} does not match `{}`", first_words(regex.as_str(), 120)),
            );
        if !self.contains.is_empty() {
            tally.key(self.words.contains);
        }
        if !self.matches.is_empty() {
            tally.key(self.words.matches);
        }
        for reason in missing_texts.chain(missing_patterns) {
            if whole {
                tally.miss(self.words.code, reason);
            } else {
                let reason = format!("{reason} as far as it was read, and it is longer than that");
                tally.cannot_tell("content_cut", reason);
            }
        }
    }
}
