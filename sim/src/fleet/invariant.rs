//! What must hold, by name.

use std::fmt;

/// One thing that must hold in every schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// Every log is a whole chain, a legal run, and passes the audit.
    ChainWhole,
    /// What was acknowledged is in the log, where it was put.
    AckedKept,
    /// The verdicts, and what was charged, are those that the script makes without any fault; where the
    /// run was stopped or died too often, they are the first ones of these. Turns are numbered without a
    /// gap and no submission has two verdicts.
    AttemptsExact,
    /// A recorded pass makes a verified run.
    PassKept,
    /// Behind a later lease, whoever held the run before stops within a bound: eight tenths of a lease
    /// and the time in which an append of somebody else is noticed, not counting the time in which it
    /// stood still itself. Nor does it go on behind the end of its own lease, as far as it was told, for
    /// longer than a worker lets a driver wait for a store that does not answer.
    OneAtWork,
    /// A model call whose note is in the log is not made again, nor a claim or a verdict asked for again.
    CallsOnce,
    /// Nothing is done before the record that announces it.
    Announced,
    /// Between two leases nobody drives the run but who took the first.
    Fenced,
    /// Each lease of a log has a higher epoch than the one before.
    EpochsRise,
    /// A run that waits for others is woken once for each wait, behind the end of all of them, and told
    /// how they ended.
    ChildrenOnce,
    /// Once the faults stop, every run ends within a bound, as the script says.
    RestsRight,
    /// At rest the queue holds no job of a run that has ended, and one of each that has not.
    TokensRight,
    /// Who is asked a second time is told so.
    ReplaysTold,
    /// A drained worker returns in time.
    Drains,
}

impl Invariant {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::ChainWhole,
        Self::AckedKept,
        Self::AttemptsExact,
        Self::PassKept,
        Self::OneAtWork,
        Self::CallsOnce,
        Self::Announced,
        Self::Fenced,
        Self::EpochsRise,
        Self::ChildrenOnce,
        Self::RestsRight,
        Self::TokensRight,
        Self::ReplaysTold,
        Self::Drains,
    ];
}

/// It did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// What did not.
    pub invariant: Invariant,
    /// How.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.what)
    }
}

/// A defect that is built in on purpose, to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Defect {
    /// The store appends whatever length is named.
    IgnoresLength,
    /// The store acknowledges some appends and keeps nothing of them.
    AcksUnstored,
    /// The store acknowledges before it stores.
    AcksEarly,
    /// Ending a lease ends the job, whatever was asked for.
    LosesTokens,
    /// Settling leaves the job.
    KeepsTokens,
    /// Delegates do not see what they wrote down.
    ForgetsNotes,
    /// A worker does not learn that it lost a lease, nor that somebody else appended.
    SwallowsLoss,
    /// Runs are driven without a lease.
    NoLease,
    /// A lease is written down with the epoch of the one before.
    RepeatsEpoch,
    /// Somebody answers in the place of the children.
    AnswersForChildren,
    /// The delegate hands in the claim of another turn.
    MixesClaims,
    /// The store turns a pass into a run that was cancelled.
    LosesPass,
    /// Delegates and checks are not told that they are asked again.
    HidesReplays,
    /// A worker does not hear that it should end.
    NeverDrains,
}

impl Defect {
    /// All of them, each with what must be found.
    pub const ALL: [(Self, Invariant); 14] = [
        (Self::IgnoresLength, Invariant::ChainWhole),
        (Self::AcksUnstored, Invariant::AckedKept),
        (Self::AcksEarly, Invariant::Announced),
        (Self::LosesTokens, Invariant::RestsRight),
        (Self::KeepsTokens, Invariant::TokensRight),
        (Self::ForgetsNotes, Invariant::CallsOnce),
        (Self::SwallowsLoss, Invariant::OneAtWork),
        (Self::NoLease, Invariant::Fenced),
        (Self::RepeatsEpoch, Invariant::EpochsRise),
        (Self::AnswersForChildren, Invariant::ChildrenOnce),
        (Self::MixesClaims, Invariant::AttemptsExact),
        (Self::LosesPass, Invariant::PassKept),
        (Self::HidesReplays, Invariant::ReplaysTold),
        (Self::NeverDrains, Invariant::Drains),
    ];
}
