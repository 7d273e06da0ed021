//! What a chat delegate is at, for progress displays.

/// One step of an attempt. Content-free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatEvent {
    /// The model is asked. Told once per answer, however often it is tried.
    ModelStarted,
    /// The model answered.
    ModelFinished {
        /// What the answer cost.
        tokens: u64,
    },
    /// A call of a tool began.
    ToolStarted {
        /// The tool.
        name: String,
    },
    /// A call of a tool ended.
    ToolFinished {
        /// The tool.
        name: String,
        /// Whether the model is told that it failed.
        is_error: bool,
    },
}
