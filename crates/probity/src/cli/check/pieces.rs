//! A broken request file, piece by piece: a parser stops at the first problem, people should not
//! have to.

use std::path::Path;

use serde_json::{Map, Value};

use crate::request::{Format, Request, yaml};

/// Bytes of a file that is taken apart.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Problems that are listed.
const MAX_PROBLEMS: usize = 100;

/// One wrong piece.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The key, with its place in a list: `expect 2`.
    pub(super) piece: String,
    /// What is wrong with it.
    pub(super) message: String,
}

/// Everything that is wrong with the keys of a file. Empty where the file as a whole is: it cannot
/// be read, or has no keys at all.
pub(super) fn problems(path: &Path) -> Vec<Problem> {
    let is_small =
        std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= MAX_FILE_BYTES);
    let Some(text) = is_small.then(|| std::fs::read_to_string(path).ok()).flatten() else {
        return Vec::new();
    };
    let value = match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => serde_json::from_str(&text).ok(),
        Some("yaml" | "yml") => yaml(&text).ok(),
        Some("toml") => toml::from_str(&text).ok(),
        _ => None,
    };
    let Some(Value::Object(keys)) = value else { return Vec::new() };
    keys.into_iter().flat_map(|(key, value)| of_key(&key, value)).take(MAX_PROBLEMS).collect()
}

fn of_key(key: &str, value: Value) -> Vec<Problem> {
    match value {
        // Checks are told apart; anything else is one piece.
        Value::Array(checks) if key == "expect" => checks
            .into_iter()
            .enumerate()
            .filter_map(|(at, check)| {
                problem(key, Value::Array(vec![check]), format!("{key} {}", at.saturating_add(1)))
            })
            .collect(),
        value => problem(key, value, key.to_owned()).into_iter().collect(),
    }
}

fn problem(key: &str, value: Value, piece: String) -> Option<Problem> {
    let alone = Value::Object(Map::from_iter([(key.to_owned(), value)])).to_string();
    let error = Request::parse(&alone, Format::Json, &piece).err()?;
    let message = error.to_string();
    // Lines and columns are those of the piece, which nobody wrote.
    let message = match message.rfind(" at line ") {
        Some(end) => message.get(..end).unwrap_or_default().to_owned(),
        None => message,
    };
    Some(Problem { piece, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_key_and_check_is_named_and_the_right_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("request.toml");
        let text = "task = \"a\"\nretries = 3\nmodel = \"x\"\nchat = {modle = \"x\"}\n\
                    [[expect]]\nfile = \"a\"\n\
                    [[expect]]\nfile = \"b\"\nminbytes = 2\n\
                    [[expect]]\nfiel = \"c\"\n";
        std::fs::write(&path, text).unwrap();
        let pieces: Vec<String> = problems(&path).into_iter().map(|it| it.piece).collect();
        assert_eq!(pieces, ["chat", "expect 2", "expect 3", "retries"]);
    }

    #[test]
    fn a_file_that_cannot_be_taken_apart_has_no_pieces() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("a.toml", "task = "), ("b.json", "[]"), ("c.txt", "task = 1")] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert_eq!(problems(&path), []);
        }
        assert_eq!(problems(&folder.path().join("absent.toml")), []);
    }
}
