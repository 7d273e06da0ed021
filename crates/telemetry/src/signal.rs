//! What a projection gives: spans, log events, points of metrics. Plain values; nothing here sends.

use probity_core::Digest;

use crate::{SpanId, TraceId, key};

/// One thing that a log says.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// Something that took time and is over.
    Span(Box<Span>),
    /// Something that happened.
    Log(Box<Log>),
    /// Something to count.
    Point(Point),
}

/// Something that took time.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The trace.
    pub trace: TraceId,
    /// Its name in there.
    pub id: SpanId,
    /// The span above.
    pub parent: Option<SpanId>,
    /// That span is not of this run.
    pub is_parent_remote: bool,
    /// What it is, without anything that varies.
    pub name: &'static str,
    /// It is a call to somebody else.
    pub is_client: bool,
    /// When it began, in milliseconds since the Unix epoch.
    pub start_ms: u64,
    /// When it ended; never before it began.
    pub end_ms: u64,
    /// What it says.
    pub attributes: Vec<Attribute>,
    /// What happened in it.
    pub events: Vec<SpanEvent>,
    /// Spans that it follows from.
    pub links: Vec<(TraceId, SpanId)>,
    /// How it went.
    pub status: Status,
    /// Content that belongs to it.
    pub content: Vec<Content>,
}

/// How a span went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Nothing to say.
    Unset,
    /// Well.
    Ok,
    /// Not well: a closed word.
    Error(String),
}

/// Something that happened in a span.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanEvent {
    /// What.
    pub name: &'static str,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What it says.
    pub attributes: Vec<Attribute>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The trace.
    pub trace: TraceId,
    /// The span that it is about.
    pub span: SpanId,
    /// What.
    pub name: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What it says.
    pub attributes: Vec<Attribute>,
    /// Content that belongs to it.
    pub content: Vec<Content>,
}

/// How much a log event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// As it should be.
    Info,
    /// Not accepted.
    Warn,
    /// Broken.
    Error,
}

/// One value of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Which.
    pub metric: Metric,
    /// The value: of a counter what is added, of a histogram what was observed.
    pub value: f64,
    /// Its labels, in the order of [`Metric::labels`]. Closed words, but for the delegate's kind.
    pub labels: Vec<String>,
}

/// The metrics there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Delegations that came to an outcome.
    Delegations,
    /// How long they took.
    DelegationDuration,
    /// Rounds in which a verifier ran, for each that ended.
    VerifyAttempts,
    /// How long checks took.
    CheckDuration,
    /// What checks gave.
    CheckVerdicts,
    /// Tokens, read and written together.
    Tokens,
    /// Tokens of one call of a model, by direction.
    GenAiTokens,
    /// Telemetry that was lost.
    Dropped,
}

/// What is said of something.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// A name of [`key`].
    pub key: &'static str,
    /// The value.
    pub value: Value,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A number.
    Number(u64),
    /// A score.
    Score(f64),
    /// Yes or no.
    Truth(bool),
}

/// Content that the log names, and what it would be called. Sent only where that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// What it is.
    pub kind: ContentKind,
    /// Where it is kept.
    pub digest: Digest,
}

/// What content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// A check's reason, as text.
    Reason,
    /// What broke.
    Fault,
    /// A note of a conversation with a model.
    ModelNote,
    /// A note of a tool.
    ToolNote,
    /// A claim.
    Claim,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Delegations,
        Self::DelegationDuration,
        Self::VerifyAttempts,
        Self::CheckDuration,
        Self::CheckVerdicts,
        Self::Tokens,
        Self::GenAiTokens,
        Self::Dropped,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delegations => "probity.delegations",
            Self::DelegationDuration => "probity.delegation.duration",
            Self::VerifyAttempts => "probity.verify.attempts",
            Self::CheckDuration => "probity.check.duration",
            Self::CheckVerdicts => "probity.check.verdicts",
            Self::Tokens => "probity.tokens",
            Self::GenAiTokens => "gen_ai.client.token.usage",
            Self::Dropped => "probity.telemetry.dropped",
        }
    }

    /// The unit, in UCUM.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Delegations => "{delegation}",
            Self::DelegationDuration | Self::CheckDuration => "s",
            Self::VerifyAttempts => "{round}",
            Self::CheckVerdicts => "{verdict}",
            Self::Tokens | Self::GenAiTokens => "{token}",
            Self::Dropped => "{item}",
        }
    }

    /// What it is, for people.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::Delegations => "Delegations that came to an outcome, or to a wait for a human.",
            Self::DelegationDuration => "Time from opening to ending, waits for humans left out.",
            Self::VerifyAttempts => "Rounds in which a verifier ran, of delegations that ended.",
            Self::CheckDuration => "Wall time of single tries of checks.",
            Self::CheckVerdicts => "What checks of claims gave.",
            Self::Tokens => "Tokens spent by delegates, read and written together.",
            Self::GenAiTokens => "Tokens of single calls of models, by direction.",
            Self::Dropped => "Telemetry that was lost on its way.",
        }
    }

    /// The names of its labels.
    #[must_use]
    pub const fn labels(self) -> &'static [&'static str] {
        match self {
            Self::Delegations | Self::DelegationDuration => &[key::KIND, key::OUTCOME],
            Self::VerifyAttempts => &[key::KIND, key::VERIFY_OUTCOME],
            Self::CheckDuration => &[key::CHECK_KIND, key::CHECK_PHASE, key::VERDICT],
            Self::CheckVerdicts => &[key::CHECK_KIND, key::VERDICT],
            Self::Tokens => &[key::KIND],
            Self::GenAiTokens => &[key::GEN_AI_OPERATION, key::GEN_AI_TOKEN_TYPE, key::KIND],
            Self::Dropped => &[key::SIGNAL],
        }
    }

    /// Upper bounds of its buckets; `None` for a counter.
    #[must_use]
    pub const fn buckets(self) -> Option<&'static [f64]> {
        match self {
            Self::Delegations | Self::CheckVerdicts | Self::Tokens | Self::Dropped => None,
            Self::DelegationDuration => Some(&[
                0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14400.0,
            ]),
            Self::VerifyAttempts => Some(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0]),
            Self::CheckDuration => Some(&[
                0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0,
            ]),
            // As the convention advises.
            Self::GenAiTokens => Some(&[
                1.0,
                4.0,
                16.0,
                64.0,
                256.0,
                1024.0,
                4096.0,
                16384.0,
                65536.0,
                262_144.0,
                1_048_576.0,
                4_194_304.0,
                16_777_216.0,
                67_108_864.0,
            ]),
        }
    }
}

impl Attribute {
    /// A text.
    pub(crate) fn text(key: &'static str, text: impl Into<String>) -> Self {
        Self { key, value: Value::Text(text.into()) }
    }

    /// A number.
    pub(crate) fn number(key: &'static str, number: impl Into<u64>) -> Self {
        Self { key, value: Value::Number(number.into()) }
    }

    /// Yes or no.
    pub(crate) const fn truth(key: &'static str, truth: bool) -> Self {
        Self { key, value: Value::Truth(truth) }
    }
}

/// A count as a value of a metric. Beyond 2^53 the last digits are lost, and nobody misses them.
#[expect(clippy::cast_precision_loss, reason = "metrics are floating-point numbers")]
pub(crate) const fn as_value(count: u64) -> f64 {
    count as f64
}
