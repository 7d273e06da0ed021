//! The targets.

use std::sync::LazyLock;

use probity_audit::EpisodeAuditor;
use probity_grounding::{AnswerPolicy, MemoryEvidence, Quotes, audit_answer};
use probity_report::Verdict;
use probity_trace::sample::{Ending, Retrieval, SampleRun, reseal};
use probity_trace::{MemoryFiles, TraceAuditor, TracePolicy, compat};

/// A parser, and what it must never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `trace.jsonl` of an otherwise whole run: any other bytes than the genuine ones are refused.
    Trace,
    /// As [`Target::Trace`], and somebody made the seal anew: content rules alone. One thread and two
    /// say the same.
    Resealed,
    /// Any other file of a run: the first byte says which.
    RunFile,
    /// A run as the source system's own verifier reads it.
    Compat,
    /// An answer with citations.
    Answer,
    /// An episode, a drift signal, an envelope, a pack, or a list of them.
    Episode,
    /// An exported run log.
    RunLog,
    /// A proof bundle.
    Bundle,
}

/// A run with a ranked search behind it, so that every kind of file is there.
static RUN: LazyLock<MemoryFiles> = LazyLock::new(|| {
    SampleRun { pairs: 2, retrieval: Retrieval::Bm25, is_unicode: true, ..SampleRun::default() }
        .files()
});

impl Target {
    /// Every target.
    pub const ALL: [Self; 8] = [
        Self::Trace,
        Self::Resealed,
        Self::RunFile,
        Self::Compat,
        Self::Answer,
        Self::Episode,
        Self::RunLog,
        Self::Bundle,
    ];

    /// Its name, and that of its folder in the corpus.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Resealed => "resealed",
            Self::RunFile => "run_file",
            Self::Compat => "compat",
            Self::Answer => "answer",
            Self::Episode => "episode",
            Self::RunLog => "run_log",
            Self::Bundle => "bundle",
        }
    }

    /// The target of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Every name.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Runs the parser.
    ///
    /// # Panics
    /// If it accepts what it must refuse.
    pub fn run(self, bytes: &[u8]) {
        match self {
            Self::Trace => trace(bytes),
            Self::Resealed => resealed(bytes),
            Self::RunFile => run_file(bytes),
            Self::Compat => compat_reading(bytes),
            Self::Answer => answer(bytes),
            Self::Episode => drop(EpisodeAuditor::new().document(bytes, "episode")),
            Self::RunLog => crate::log::run_log(bytes),
            Self::Bundle => crate::log::bundle(bytes),
        }
    }

    /// Inputs to start from.
    #[must_use]
    pub fn seeds(self) -> Vec<Vec<u8>> {
        let file = |run: &MemoryFiles, path: &str| run.files.get(path).cloned().unwrap_or_default();
        let endings = [Ending::Answer, Ending::Insufficient, Ending::Marked];
        let runs = endings.map(|ending| SampleRun { ending, ..SampleRun::default() }.files());
        match self {
            Self::Trace => vec![file(&RUN, "trace.jsonl")],
            Self::Resealed | Self::Compat => {
                runs.iter().map(|run| file(run, "trace.jsonl")).collect()
            }
            Self::RunFile => paths()
                .enumerate()
                .map(|(at, path)| {
                    let first = u8::try_from(at).unwrap_or_default();
                    [&[first], file(&RUN, path).as_slice()].concat()
                })
                .collect(),
            Self::Answer => vec![
                b"INSUFFICIENT EVIDENCE: none".to_vec(),
                probity_grounding::cite("sun", SUN, 0..SUN.len()).unwrap_or_default().into_bytes(),
            ],
            Self::Episode => vec![b"{\"episodeId\":\"e\",\"seal\":{\"sealHash\":\"\"}}".to_vec()],
            Self::RunLog => crate::log::log_seeds(),
            Self::Bundle => crate::log::bundle_seeds(),
        }
    }
}

const SUN: &[u8] = b"The Sun adds a smaller pull.";

/// The files of the run besides the trace.
fn paths() -> impl Iterator<Item = &'static str> {
    RUN.files.keys().map(String::as_str).filter(|path| *path != "trace.jsonl")
}

fn with(path: &str, bytes: &[u8]) -> MemoryFiles {
    let mut files = RUN.clone();
    files.files.insert(path.to_owned(), bytes.to_vec());
    files
}

fn audit(files: &MemoryFiles, threads: u8) -> probity_trace::VerificationReport {
    TraceAuditor::new(TracePolicy { threads, ..TracePolicy::default() }).audit(files, "run")
}

fn trace(bytes: &[u8]) {
    let files = with("trace.jsonl", bytes);
    let is_genuine = RUN.files.get("trace.jsonl").is_some_and(|genuine| genuine == bytes);
    assert_eq!(audit(&files, 1).verdict == Verdict::Valid, is_genuine);
}

fn resealed(bytes: &[u8]) {
    let mut files = with("trace.jsonl", bytes);
    if std::str::from_utf8(bytes).is_ok() {
        reseal(&mut files);
    }
    assert_eq!(audit(&files, 1).bytes(), audit(&files, 2).bytes());
}

fn run_file(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let count = paths().count().max(1);
    let Some(path) = paths().nth(usize::from(*first) % count) else { return };
    let is_genuine = RUN.files.get(path).is_some_and(|genuine| genuine == rest);
    assert_eq!(audit(&with(path, rest), 1).verdict == Verdict::Valid, is_genuine, "{path}");
}

fn compat_reading(bytes: &[u8]) {
    let report = compat::audit(&with("trace.jsonl", bytes), "run");
    assert_ne!(report.verdict, Verdict::Valid, "an acceptance by the compat reading is its own");
}

fn answer(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let contents = [("sun".to_owned(), Some(SUN.to_vec())), ("gone".to_owned(), None)];
    let source = MemoryEvidence { contents: contents.into_iter().collect() };
    for quotes in [Quotes::Exact, Quotes::Any] {
        let audit = audit_answer(text, &source, AnswerPolicy { quotes, ..AnswerPolicy::default() });
        let says_nothing = audit.claims == 0 && !audit.is_insufficient;
        assert!(
            !(audit.is_grounded() && says_nothing),
            "nothing was said, and it read as grounded"
        );
    }
}
