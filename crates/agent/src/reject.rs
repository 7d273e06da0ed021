//! What a verifier returns instead of a result.

use std::fmt;

use probity_core::Code;
use serde::Serialize;
use serde_json::Value;

/// Why a verifier does not let an output through.
///
/// Three kinds, which never mix:
///
/// - [`Reject::revise`]: the work is not done. An attempt is charged, the model is told why and goes
///   on in the same conversation, while attempts are left.
/// - [`Reject::fatal`]: the work is not done and another attempt is not wanted. The run is rejected.
/// - any error, by `?`: the verifier could not tell. Nothing is charged and the model is not told; the
///   verifier alone is asked again, about the same output, with backoff and a budget of its own.
pub struct Reject {
    /// Behind a pointer, so that the result of a verifier is not as large as its worst case.
    pub(crate) kind: Box<Kind>,
}

pub(crate) enum Kind {
    Revise(Refusal),
    Fatal(Refusal),
    System { message: String },
}

/// A refusal in words and data.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) code: Option<Code>,
    pub(crate) metadata: Option<Value>,
}

impl Reject {
    /// The work is not done; the message tells the model why.
    #[must_use]
    pub fn revise(message: impl Into<String>) -> Self {
        Self::of(Kind::Revise(Refusal { message: message.into(), ..Refusal::default() }))
    }

    /// The work is not done, and no other attempt is wanted.
    #[must_use]
    pub fn fatal(message: impl Into<String>) -> Self {
        Self::of(Kind::Fatal(Refusal { message: message.into(), ..Refusal::default() }))
    }

    /// The verifier could not tell. What `?` makes of any error.
    #[must_use]
    pub fn system(message: impl fmt::Display) -> Self {
        Self::of(Kind::System { message: message.to_string() })
    }

    /// A stable word for machines, such as `tests_failed`; what is no legal code is made one. By
    /// default `rejected`, or `fatal`.
    #[must_use]
    pub fn code(mut self, code: impl AsRef<str>) -> Self {
        if let Kind::Revise(refusal) | Kind::Fatal(refusal) = self.kind.as_mut() {
            refusal.code = Some(Code::slug(code.as_ref()));
        }
        self
    }

    /// What else there is to say. A list of texts in it becomes the bullets of what the model is told.
    /// A value that has no JSON form makes the refusal a system error: the verifier is at fault.
    #[must_use]
    pub fn metadata(mut self, metadata: impl Serialize) -> Self {
        let (Kind::Revise(refusal) | Kind::Fatal(refusal)) = self.kind.as_mut() else {
            return self;
        };
        match serde_json::to_value(metadata) {
            Ok(value) => refusal.metadata = Some(value),
            Err(error) => {
                return Self::system(format!("the metadata of a refusal is no JSON: {error}"));
            }
        }
        self
    }

    fn of(kind: Kind) -> Self {
        Self { kind: Box::new(kind) }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Reject {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(": ");
            message.push_str(&cause.to_string());
            source = cause.source();
        }
        Self::of(Kind::System { message })
    }
}

impl fmt::Debug for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind.as_ref() {
            Kind::Revise(refusal) => f.debug_tuple("Revise").field(refusal).finish(),
            Kind::Fatal(refusal) => f.debug_tuple("Fatal").field(refusal).finish(),
            Kind::System { message } => f.debug_tuple("System").field(message).finish(),
        }
    }
}
