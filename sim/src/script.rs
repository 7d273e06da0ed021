//! How the world behaves during one run, whoever drives it.

use probity_core::{
    Answer, CheckDecl, Code, Digest, Finding, HookDecision, HookDecl, NoteKind, Policy,
    SubmissionId, Terms, Turn, Usage, VerdictKind,
};

/// The behaviour of everything around a delegation. A function of turn, check and try alone, so
/// that a driver that dies and asks again is answered the same.
#[derive(Debug, Clone)]
pub struct Script {
    /// The bounds.
    pub policy: Policy,
    /// The checks.
    pub checks: Vec<CheckDecl>,
    /// The hooks that are called by themselves.
    pub hooks: Vec<HookDecl>,
    /// The terms of the decision.
    pub terms: Option<Terms>,
    /// The workspace cannot be read before the delegate starts.
    pub starts_unreadable: bool,
    /// What each check sees before the delegate starts.
    pub red: Vec<Saw>,
    /// The checks leave something beside the judge's files when they run before the delegate.
    pub red_writes: bool,
    /// The workspace cannot be read once more behind the checks that ran before the delegate.
    pub red_unreadable: bool,
    /// The turns; a run that goes on longer begins again with the first.
    pub turns: Vec<TurnScript>,
    /// What the human answers, call by call; afterwards they reject.
    pub human: Vec<Answer>,
    /// How long the human thinks.
    pub human_ms: u64,
    /// How long reading the workspace takes.
    pub reading_ms: u64,
    /// Someone stops the run, there.
    pub cancel: Option<CancelAt>,
}

/// What happens in one turn.
#[derive(Debug, Clone)]
pub struct TurnScript {
    /// What the delegate does before it answers, in order; no more than [`MAX_BEATS`].
    pub beats: Vec<Beat>,
    /// How it answers.
    pub says: Says,
    /// How long that takes.
    pub took_ms: u64,
    /// Tool calls that it reports beside those of its notes.
    pub tool_calls: u64,
    /// Tokens that it spends beside those of its notes.
    pub tokens: u64,
    /// It changes the workspace.
    pub edits: bool,
    /// Someone touches the judge's files.
    pub touches: Option<Touch>,
    /// The workspace cannot be read after the claim.
    pub unreadable: bool,
    /// What each check sees, try by try; the last sight stays. A human looks once.
    pub sees: Vec<Vec<Saw>>,
    /// What each hook decides.
    pub spoken: Vec<Spoke>,
}

/// What a hook decides, and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoke {
    /// What it decides.
    pub says: HookSays,
    /// Milliseconds.
    pub took_ms: u64,
}

/// The ways a hook can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookSays {
    /// Go on.
    Allows,
    /// It does not apply.
    Skips,
    /// Do not go on.
    Blocks,
    /// Go on with something else.
    Modifies,
    /// It could not reach what it wanted to see.
    Offline,
    /// It gave no answer in time. No script says so.
    Late,
    /// It broke.
    Breaks,
}

/// The most beats of a turn.
pub const MAX_BEATS: usize = 16;

/// Something that a delegate does in the midst of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// What.
    pub does: Does,
    /// How long it works until then, in milliseconds.
    pub took_ms: u64,
}

/// What a delegate does in the midst of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// It writes a note of what it spent so much on.
    Notes(NoteKind, Usage),
    /// It waits so many milliseconds.
    Sleeps(u64),
    /// It waits for an answer, which comes after so many milliseconds.
    Asks(u64),
    /// Its process dies. It does so once.
    Dies,
}

/// What a delegate does with its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// Claims success; claims with the same number are the same candidate.
    Done(u8),
    /// Fails to answer.
    Nothing,
    /// Has used up a budget that it keeps itself.
    Spent,
}

/// When the judge's files are touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// While the delegate works.
    AtWork,
    /// While this check runs, and put back afterwards.
    During(usize),
}

/// What a check sees, and how long it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saw {
    /// What it comes to.
    pub sight: Sight,
    /// Milliseconds.
    pub took_ms: u64,
    /// A verification hook that sees what was claimed puts something in its place.
    pub rewrites: bool,
}

/// The ways a check can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// As claimed.
    Good,
    /// Not as claimed.
    Bad,
    /// Not as claimed, and nothing to be done.
    Wrong,
    /// Ground truth refused to answer.
    Away,
    /// Ground truth answered too late.
    Late,
    /// The verifier broke.
    Broken,
    /// The check does not apply.
    Moot,
    /// The run's own time ended first. No script says so.
    Cut,
    /// The time of the verify stage ended first. No script says so.
    Overrun,
    /// The human gave no answer in time. No script says so.
    Silent,
}

/// Where someone stops the run: when it gets there, whatever happened before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelAt {
    /// The turn, from 0.
    pub turn: u32,
    /// The point in it.
    pub point: Point,
}

/// A point in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The delegate is at work.
    AtWork,
    /// The workspace is being read.
    Reading,
    /// This check is running, for the first time.
    Checking(usize),
    /// A human is thinking.
    Waiting,
}

/// The judge's files as they were.
pub(crate) const SEALED: u8 = 250;
/// The judge's files with what the checks left there before the delegate started.
pub(crate) const WRITTEN: u8 = 252;
/// The judge's files after someone touched them.
pub(crate) const TOUCHED: u8 = 251;

impl Script {
    /// The script of a turn. `None` only for a script without turns.
    #[must_use]
    pub fn turn(&self, turn: u32) -> Option<&TurnScript> {
        let turns = u32::try_from(self.turns.len()).ok()?;
        self.turns.get(turn.checked_rem(turns)? as usize)
    }

    /// Tool calls completed up to the end of a turn.
    #[must_use]
    pub fn work_until(&self, turn: u32) -> u64 {
        let turns = (0..=turn).filter_map(|turn| self.turn(turn));
        let calls = turns.map(|turn| match turn.says {
            Says::Done(_) => turn.noted().plus(turn.usage()).tool_calls,
            // Who brings no answer says of what was spent only what was noted.
            Says::Nothing | Says::Spent => turn.noted().tool_calls,
        });
        calls.sum()
    }

    /// Edits of the workspace up to the end of a turn.
    #[must_use]
    pub fn edits_until(&self, turn: u32) -> u64 {
        (0..=turn).filter_map(|turn| self.turn(turn)).map(|turn| u64::from(turn.edits)).sum()
    }

    /// What a check sees in a turn on a try, counted from 1.
    #[must_use]
    pub fn sight(&self, turn: u32, check: usize, tries: u32) -> Option<Saw> {
        let sees = self.turn(turn)?.sees.get(check)?;
        let index = usize::try_from(tries.saturating_sub(1)).unwrap_or(0);
        sees.get(index).or_else(|| sees.last()).copied()
    }
}

impl TurnScript {
    /// What its answer says was spent.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        Usage { tokens: self.tokens, tool_calls: self.tool_calls }
    }

    /// What its notes tell of together.
    fn noted(&self) -> Usage {
        let spent = self.beats.iter().map(|beat| match beat.does {
            Does::Notes(_, usage) => usage,
            _ => Usage::default(),
        });
        spent.fold(Usage::default(), Usage::plus)
    }
}

impl Sight {
    /// The finding that a check with this sight reports.
    #[must_use]
    pub fn finding(self) -> Finding {
        let verdict = |verdict, code: &str| Finding::Verdict {
            verdict,
            code: Code::slug(code),
            reason: None,
            criteria: Vec::new(),
            confidence_bp: None,
            evidence: None,
            metadata: None,
            output: None,
        };
        match self {
            Self::Good => verdict(VerdictKind::Pass, self.code()),
            Self::Bad => verdict(VerdictKind::Revise, self.code()),
            Self::Wrong => verdict(VerdictKind::Fail, self.code()),
            Self::Away | Self::Late | Self::Cut | Self::Overrun | Self::Silent => {
                verdict(VerdictKind::Inconclusive, self.code())
            }
            Self::Broken => Finding::Fault { code: Code::slug(self.code()), detail: digest(0, 99) },
            Self::Moot => Finding::NotApplicable,
        }
    }

    /// Its machine word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Bad => "file_missing",
            Self::Wrong => "forbidden",
            Self::Away => "connection_refused",
            Self::Late => "http_timeout",
            Self::Broken => "script_raised",
            Self::Moot => "not_applicable",
            Self::Cut => "wall_timeout",
            Self::Overrun => "verify_timeout",
            Self::Silent => "human_timeout",
        }
    }
}

impl HookSays {
    /// The decision that a hook at this place in the list reports.
    #[must_use]
    pub fn decision(self, hook: usize) -> HookDecision {
        let (code, detail) = (Code::slug(self.code()), digest(0, 94));
        match self {
            Self::Allows => HookDecision::Allow,
            Self::Skips => HookDecision::NotApplicable,
            Self::Blocks => HookDecision::Block { reason: digest(0, 93) },
            Self::Modifies => {
                HookDecision::Modify { to: digest(hook as u64, 7), delta: digest(0, 92) }
            }
            Self::Offline | Self::Late => HookDecision::Inconclusive { code, detail },
            Self::Breaks => HookDecision::Fault { code, detail },
        }
    }

    /// Its machine word, where it ends the run.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Allows | Self::Skips | Self::Modifies => "ok",
            Self::Blocks => "hook_blocked",
            Self::Offline => "hook_offline",
            Self::Late => "hook_timeout",
            Self::Breaks => "hook_broke",
        }
    }
}

/// What a verification hook puts in the place of a candidate: another one for every hook and for
/// everything that it may see.
pub(crate) const fn rewritten(seen: u8, check: usize) -> u8 {
    100 + (seen.wrapping_mul(7).wrapping_add(check.to_le_bytes()[0].wrapping_mul(3)) % 140)
}

/// A digest that stands for a number of a kind.
pub(crate) fn digest(number: u64, kind: u8) -> Digest {
    let mut bytes = [kind; 32];
    for (byte, value) in bytes.iter_mut().zip(number.to_be_bytes()) {
        *byte = value;
    }
    Digest::from_bytes(bytes)
}

/// The name of a turn's submission.
pub(crate) fn submission(turn: Turn) -> Option<SubmissionId> {
    format!("s{}-{}", turn.epoch, turn.number).parse().ok()
}
