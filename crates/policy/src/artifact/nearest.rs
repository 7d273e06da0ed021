//! "Did you mean".

/// How alike two words must be to be offered: 0 is not at all, 1 is equal.
const MIN_LIKENESS: f64 = 0.5;
/// The longest text that is compared, in bytes: the comparison is quadratic.
const MAX_BYTES: usize = 64;

/// The word of the list that was most likely meant, if one is near.
pub(super) fn nearest<'a>(text: &str, words: &[&'a str]) -> Option<&'a str> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let text = text.to_ascii_lowercase().replace('-', "_");
    let likeness = |word: &str| {
        let part = text.len() >= 4 && (word.contains(&text) || text.contains(word));
        let alike = strsim::normalized_damerau_levenshtein(&text, word);
        // A word that holds the other whole is near, however much longer it is.
        if part { alike.max(MIN_LIKENESS + alike / 4.0) } else { alike }
    };
    words
        .iter()
        .map(|word| (likeness(word), *word))
        .filter(|(alike, _)| *alike >= MIN_LIKENESS)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, word)| word)
}

/// The nearest word as the end of a message, or the whole list.
pub(super) fn hint(text: &str, words: &[&str]) -> String {
    match nearest(text, words) {
        Some(word) => format!("; did you mean `{word}`?"),
        None => format!("; it is one of `{}`", words.join("`, `")),
    }
}
