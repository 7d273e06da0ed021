//! Where something was found.

use serde::Serialize;

/// A place in a file of a record. What is not known is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Path of the file within the record, with `/`; empty for the record as a whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// 1-based line, where the file is one of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The bytes of the file that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// JSON pointer (RFC 6901) into the document, or into the line's document; empty for all of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pointer: String,
}

/// Bytes of a file: half open, 0-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// The byte behind the last.
    pub end: u64,
}

impl Place {
    /// A file as a whole.
    #[must_use]
    pub fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), ..Self::default() }
    }

    /// A line of it.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Bytes of it.
    #[must_use]
    pub fn bytes(mut self, start: u64, end: u64) -> Self {
        self.span = Some(Span { start, end });
        self
    }

    /// A value in its JSON.
    #[must_use]
    pub fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }
}

/// One step of a JSON pointer (RFC 6901), with its slash.
#[must_use]
pub fn pointer(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}
