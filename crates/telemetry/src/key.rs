//! The names of attributes: the seed's own, those of OpenTelemetry's conventions, and ours.

/// How many rounds a verifier ran in.
pub const VERIFY_ATTEMPTS: &str = "delegation.verify_attempts";
/// Whether the claim was accepted.
pub const VERIFY_PASSED: &str = "delegation.verify_passed";
/// `passed`, `failed` or `skipped`: [`crate::VerifyOutcome`].
pub const VERIFY_OUTCOME: &str = "delegation.verify_outcome";
/// Which kind of delegate did the work.
pub const KIND: &str = "delegation.kind";
/// The run.
pub const DELEGATION_ID: &str = "delegation.id";
/// The run that waits for it.
pub const DELEGATION_PARENT_ID: &str = "delegation.parent_id";
/// The outcome in our own, finer word.
pub const OUTCOME: &str = "probity.outcome";
/// Why, in one word.
pub const CODE: &str = "probity.code";
/// The attempts that the budget was charged.
pub const ATTEMPTS_COUNTED: &str = "probity.attempts_counted";
/// The attempts allowed.
pub const MAX_ATTEMPTS: &str = "probity.max_attempts";
/// What a round was merged to.
pub const JUDGEMENT: &str = "probity.judgement";
/// A named human overrode the refusal.
pub const WAIVED: &str = "probity.waived";
/// Crashes and restarts.
pub const INTERRUPTIONS: &str = "probity.interruptions";
/// Which leg of the run a span is: it ends where the run waits for a human, and the next begins behind that.
pub const LEG: &str = "probity.leg";
/// 1-based attempt.
pub const ATTEMPT: &str = "probity.attempt";
/// 0-based round.
pub const TURN: &str = "probity.turn";
/// Whether the budget was charged.
pub const COUNTED: &str = "probity.counted";
/// How far the world departs from the claim.
pub const DRIFT: &str = "probity.drift";
/// A pass on what was rejected before.
pub const FLAKY: &str = "probity.flaky";
/// The findings of an earlier round answered this one.
pub const REUSED: &str = "probity.reused";
/// The name of a submission.
pub const SUBMISSION: &str = "probity.submission";
/// Digest of what was judged.
pub const CANDIDATE: &str = "probity.candidate";
/// The step of the degrade ladder.
pub const STEP: &str = "probity.step";
/// Why a decision fell back.
pub const TRIGGER: &str = "probity.trigger";
/// What was under way was cut off.
pub const CUT: &str = "probity.cut";
/// A check's name.
pub const CHECK_ID: &str = "probity.check.id";
/// What a check looks at: `world`, `claim`, `hook` or `human`.
pub const CHECK_KIND: &str = "probity.check.kind";
/// `before` the delegate, or `after` its claim.
pub const CHECK_PHASE: &str = "probity.check.phase";
/// 1-based try.
pub const CHECK_TRIES: &str = "probity.check.tries";
/// What a check gave before the delegate says about it.
pub const CHECK_DISCRIMINATION: &str = "probity.check.discrimination";
/// What a check gave.
pub const VERDICT: &str = "probity.verdict";
/// A hook's name.
pub const HOOK_ID: &str = "probity.hook.id";
/// The point it stands at.
pub const HOOK_POINT: &str = "probity.hook.point";
/// What it decided.
pub const HOOK_ACTION: &str = "probity.hook.action";
/// Digests of the reasons that a delegate was told.
pub const RETRY_REASONS: &str = "probity.retry.reason_digests";
/// What a wait is for.
pub const WAIT_FOR: &str = "probity.wait.for";
/// Tokens, read and written together.
pub const TOKENS: &str = "probity.usage.tokens";
/// Tool calls.
pub const TOOL_CALLS: &str = "probity.usage.tool_calls";
/// The worker that took the run up.
pub const WORKER: &str = "probity.worker";
/// Which signal was lost: `trace`, `log` or `run`.
pub const SIGNAL: &str = "probity.signal";
/// What the delegate said. Only where content is captured.
pub const RESPONSE: &str = "probity.response";

/// The convention's word for what went wrong.
pub const ERROR_TYPE: &str = "error.type";
/// The operation, in the convention's words.
pub const GEN_AI_OPERATION: &str = "gen_ai.operation.name";
/// The agent's name.
pub const GEN_AI_AGENT: &str = "gen_ai.agent.name";
/// The conversation, which is the run.
pub const GEN_AI_CONVERSATION: &str = "gen_ai.conversation.id";
/// The provider, as the request names its protocol.
pub const GEN_AI_PROVIDER: &str = "gen_ai.provider.name";
/// The model that was asked.
pub const GEN_AI_MODEL: &str = "gen_ai.request.model";
/// Tokens read.
pub const GEN_AI_INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens written.
pub const GEN_AI_OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// `input` or `output`.
pub const GEN_AI_TOKEN_TYPE: &str = "gen_ai.token.type";
/// A tool's name. Only where names are captured.
pub const GEN_AI_TOOL_NAME: &str = "gen_ai.tool.name";
/// The id of a call. Only where names are captured.
pub const GEN_AI_TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
/// Its arguments. Only where content is captured.
pub const GEN_AI_TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// Its result. Only where content is captured.
pub const GEN_AI_TOOL_RESULT: &str = "gen_ai.tool.call.result";
/// A check's name, in the convention's words.
pub const GEN_AI_EVALUATION_NAME: &str = "gen_ai.evaluation.name";
/// What it gave, in the convention's words.
pub const GEN_AI_EVALUATION_LABEL: &str = "gen_ai.evaluation.score.label";
/// 1 for a pass, 0 for a refusal; absent where nobody knows.
pub const GEN_AI_EVALUATION_SCORE: &str = "gen_ai.evaluation.score.value";
/// Its reason. Only where content is captured.
pub const GEN_AI_EVALUATION_EXPLANATION: &str = "gen_ai.evaluation.explanation";

/// Every name there is.
pub const ALL: [&str; 59] = [
    VERIFY_ATTEMPTS,
    VERIFY_PASSED,
    VERIFY_OUTCOME,
    KIND,
    DELEGATION_ID,
    DELEGATION_PARENT_ID,
    OUTCOME,
    CODE,
    ATTEMPTS_COUNTED,
    MAX_ATTEMPTS,
    JUDGEMENT,
    WAIVED,
    INTERRUPTIONS,
    LEG,
    ATTEMPT,
    TURN,
    COUNTED,
    DRIFT,
    FLAKY,
    REUSED,
    SUBMISSION,
    CANDIDATE,
    STEP,
    TRIGGER,
    CUT,
    CHECK_ID,
    CHECK_KIND,
    CHECK_PHASE,
    CHECK_TRIES,
    CHECK_DISCRIMINATION,
    VERDICT,
    HOOK_ID,
    HOOK_POINT,
    HOOK_ACTION,
    RETRY_REASONS,
    WAIT_FOR,
    TOKENS,
    TOOL_CALLS,
    WORKER,
    SIGNAL,
    RESPONSE,
    ERROR_TYPE,
    GEN_AI_OPERATION,
    GEN_AI_AGENT,
    GEN_AI_CONVERSATION,
    GEN_AI_PROVIDER,
    GEN_AI_MODEL,
    GEN_AI_INPUT_TOKENS,
    GEN_AI_OUTPUT_TOKENS,
    GEN_AI_TOKEN_TYPE,
    GEN_AI_TOOL_NAME,
    GEN_AI_TOOL_CALL_ID,
    GEN_AI_TOOL_ARGUMENTS,
    GEN_AI_TOOL_RESULT,
    GEN_AI_EVALUATION_NAME,
    GEN_AI_EVALUATION_LABEL,
    GEN_AI_EVALUATION_SCORE,
    GEN_AI_EVALUATION_EXPLANATION,
    WORLD_PHASE,
];

/// Which reading of the workspace failed.
pub const WORLD_PHASE: &str = "probity.world.phase";
