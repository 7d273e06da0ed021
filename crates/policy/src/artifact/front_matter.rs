//! A Markdown file with YAML front matter.

use serde_json::Value;

use super::error::{ArtifactError, Place};
use super::keys::Entry;
use super::yaml;

/// The longest artifact, in bytes.
pub const MAX_ARTIFACT_BYTES: usize = 256 * 1024;

/// The line that opens and closes the front matter.
const FENCE: &str = "---";

/// A Markdown artifact: keys between two lines `---`, then a body.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontMatter {
    file: String,
    entries: Vec<Entry>,
    body: String,
}

impl FrontMatter {
    /// Takes what was read from a file for text. A caller with bytes at hand starts here.
    ///
    /// # Errors
    /// [`ArtifactError`] `artifact_too_large` above [`MAX_ARTIFACT_BYTES`], `artifact_not_text` with
    /// the line of the first byte that is no UTF-8.
    pub fn decode<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ArtifactError> {
        fits(file, bytes.len())?;
        std::str::from_utf8(bytes).map_err(|error| {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = good.split(|byte| *byte == b'\n').count();
            ArtifactError::NotText { at: Place::line(file, line as u64) }
        })
    }

    /// Splits an artifact into keys and body. `file` says in messages what was read. A byte order
    /// mark is left out, and `CRLF` read as `LF`; keys stand once, anchors are not taken.
    ///
    /// # Errors
    /// [`ArtifactError`] `artifact_too_large`, `artifact_not_text`, `artifact_no_front_matter`,
    /// `artifact_unterminated`, `artifact_not_mapping`, `artifact_yaml`, `artifact_alias`,
    /// `artifact_budget` or `artifact_duplicate_key`.
    pub fn parse(file: &str, text: &str) -> Result<Self, ArtifactError> {
        fits(file, text.len())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let mut lines = text.split_inclusive('\n');
        let opening = lines.next().unwrap_or_default();
        if opening.trim_end() != FENCE {
            return Err(ArtifactError::NoFrontMatter { at: Place::line(file, 1) });
        }
        let mut end = opening.len();
        for line in lines {
            if line.trim_end() == FENCE {
                let yaml = text.get(..end).unwrap_or_default();
                let body = text.get(end.saturating_add(line.len())..).unwrap_or_default();
                let entries = yaml::entries(file, yaml)?;
                holds_no_nul(file, yaml, body)?;
                return Ok(Self { file: file.to_owned(), entries, body: body.to_owned() });
            }
            end = end.saturating_add(line.len());
        }
        Err(ArtifactError::Unterminated { at: Place::line(file, 1) })
    }

    /// The file as it was named.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The keys at the top, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The 1-based line of a key.
    #[must_use]
    pub fn line(&self, key: &str) -> Option<u64> {
        self.entries.iter().find(|entry| entry.key == key).and_then(|entry| entry.line)
    }

    /// What stands behind the front matter, as it is.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    pub(super) fn into_parts(self) -> (Vec<Entry>, String) {
        (self.entries, self.body)
    }
}

/// What stands in a body goes into requests and command lines, and neither holds a NUL.
fn holds_no_nul(file: &str, yaml: &str, body: &str) -> Result<(), ArtifactError> {
    let Some((before, _)) = body.split_once('\0') else { return Ok(()) };
    // The closing fence is a line, and the first line is 1.
    let lines = yaml.matches('\n').count() + before.matches('\n').count() + 2;
    Err(ArtifactError::NotText { at: Place::line(file, lines as u64) })
}

fn fits(file: &str, bytes: usize) -> Result<(), ArtifactError> {
    if bytes > MAX_ARTIFACT_BYTES {
        let at = Place::file(file);
        return Err(ArtifactError::TooLarge { at, max_bytes: MAX_ARTIFACT_BYTES });
    }
    Ok(())
}
