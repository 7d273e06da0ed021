//! When the simulated driver dies.

/// When the driver dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// The entries are lost.
    BeforeAppend,
    /// The entries are durable, nothing was done yet.
    AfterAppend,
    /// Something was done, nobody took its result in.
    AfterAct,
}

/// A death: at the n-th append or act of the run, counted from 0 over all lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crash {
    /// When.
    pub moment: Moment,
    /// Which append or act.
    pub nth: u32,
}
