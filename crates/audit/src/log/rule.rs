//! What an audit of a run log can find.

use probity_report::Rule;

pub(super) const CHAIN: &str = "chain";
pub(super) const SEAL: &str = "seal";
pub(super) const LINKAGE: &str = "linkage";
pub(super) const ACCOUNTING: &str = "accounting";
pub(super) const JUDGE: &str = "judge";
pub(super) const VERDICTS: &str = "verdicts";
pub(super) const OUTCOME: &str = "outcome";
pub(super) const REPLAY: &str = "replay";
pub(super) const CONTENT: &str = "content";

/// The checks of every log, in the order in which a report lists them. That of the content stands
/// behind.
pub(super) const CHECKS: [&str; 8] =
    [CHAIN, SEAL, LINKAGE, ACCOUNTING, JUDGE, VERDICTS, OUTCOME, REPLAY];

macro_rules! rules {
    ($($name:ident = $rule:expr;)*) => {
        $(pub(super) static $name: Rule = $rule;)*

        /// Every rule of a run log, without those of the record format, whose codes are listed in
        /// `docs/record-format.md`.
        pub static LOG_RULES: &[&Rule] = &[$(&$name),*];
    };
}

#[rustfmt::skip]
rules! {
    TOO_LONG = Rule::limit("log_too_long", CHAIN, "a log that is longer than what is looked at");
    UNSEALED = Rule::error("log_unsealed", SEAL, "a log without a seal: it may go on, or its end was cut off");
    GOING_ON = Rule::warning("log_unsealed", SEAL, "a log without a seal, which the policy allows");

    UNANNOUNCED = Rule::error("log_effect_unannounced", LINKAGE, "a result of an effect that no event announced");
    UNFINISHED = Rule::error("log_effect_unfinished", LINKAGE, "the run goes on while an announced effect has no result");
    INDEX = Rule::error("log_index_unknown", LINKAGE, "a check or hook that the run does not have");
    TURN_ORDER = Rule::error("log_turn_order", LINKAGE, "a round that is not the next one");
    CLAIM_OTHER_TURN = Rule::error("log_claim_other_turn", LINKAGE, "a claim for another round than the delegate was given");
    CLAIM_REPEATED = Rule::error("log_claim_repeated", LINKAGE, "a second claim for a round");
    SUBMISSION = Rule::error("log_submission_differs", LINKAGE, "a submission that is not named by its run, round and candidate");
    WORK_FELL = Rule::error("log_work_fell", LINKAGE, "a work marker that is smaller than the one before");
    NOTE_UNFIT = Rule::error("log_note_unfit", LINKAGE, "a note or a wait of a round that is not at work");
    WAKE_UNASKED = Rule::error("log_wake_unasked", LINKAGE, "the end of a wait that no event began");
    WAKE_UNFIT = Rule::error("log_wake_unfit", LINKAGE, "an answer to a wait for a time, or none to a wait for an answer");
    VERDICT_RERUN = Rule::error("log_verdict_rerun", LINKAGE, "a verdict that the log already holds is made again");
    HOOK_RERUN = Rule::error("log_hook_rerun", LINKAGE, "a hook is asked again for what it decided");
    HOOK_SKIPPED = Rule::error("log_hook_skipped", LINKAGE, "the run goes on past a hook that was not asked");
    REWRITE = Rule::error("log_rewrite_unfit", LINKAGE, "a rewrite by something that may not rewrite there");
    RED_MISSING = Rule::error("log_red_missing", LINKAGE, "the delegate starts before a check ran without it");
    RED_DIFFERS = Rule::error("log_red_differs", LINKAGE, "what a check is said to tell apart does not follow from its finding");
    RED_UNASKED = Rule::error("log_red_unasked", LINKAGE, "a check runs before the delegate that is exempt from that");
    AFTER_OUTCOME = Rule::error("log_after_outcome", LINKAGE, "the run goes on after its outcome");
    ENDING_IGNORED = Rule::error("log_ending_ignored", LINKAGE, "the run goes on, or ends otherwise, after what ends it");
    DISPATCH = Rule::error("log_dispatch_unfit", LINKAGE, "the delegate is asked again after a verdict that does not allow it");
    TERMS = Rule::error("log_terms_ignored", LINKAGE, "the delegate acts against the terms of the decision");
    DEGRADE = Rule::error("log_degrade_unfit", LINKAGE, "a step that the ladder does not offer");
    ANSWER_UNASKED = Rule::error("log_answer_unasked", LINKAGE, "an answer of a human whom nobody asked");
    ANSWER_OTHER_CLAIM = Rule::error("log_answer_other_claim", LINKAGE, "a human is asked or answers about another claim");
    ANSWER_LATE = Rule::error("log_answer_late", LINKAGE, "a human's answer after the wait was over");
    HUMAN_REPLACED = Rule::error("log_human_replaced", LINKAGE, "a finding in the place of a human's answer");
    OWN_PARENT = Rule::error("log_own_parent", LINKAGE, "a run that waits for itself");
    EPOCH = Rule::error("log_epoch", LINKAGE, "a lease that is not above the one before");
    RELEASE_REPEATED = Rule::error("log_release_repeated", LINKAGE, "a run is left that nobody drives");
    CANCEL_REPEATED = Rule::error("log_cancel_repeated", LINKAGE, "a second request to stop the run");

    UNCOUNTED = Rule::error("log_attempt_uncounted", ACCOUNTING, "an attempt that was checked is not charged");
    OVERCOUNTED = Rule::error("log_attempt_overcounted", ACCOUNTING, "something is charged that is not an attempt");
    ATTEMPTS = Rule::error("log_attempts_differ", ACCOUNTING, "the total is not that of the charged attempts");
    ATTEMPT_NUMBER = Rule::error("log_attempt_number", ACCOUNTING, "the delegate is told another attempt than it is");
    RETRIES = Rule::error("log_retries_over", ACCOUNTING, "the delegate is asked again after the last attempt");
    BUDGET = Rule::error("log_budget_over", ACCOUNTING, "the delegate is asked again with a budget used up");
    TRIES = Rule::error("log_tries_differ", ACCOUNTING, "a try of a check that is not the next one, or beyond the bound");
    INTERRUPTIONS = Rule::error("log_interruptions_differ", ACCOUNTING, "the total is not that of the interruptions");
    INTERRUPTIONS_OVER = Rule::error("log_interruptions_over", ACCOUNTING, "the run goes on beyond the interruptions it may have");
    GRANT = Rule::error("log_grant_over", ACCOUNTING, "a human allows more attempts than anyone may, or none");
    STEERS = Rule::error("log_steers_over", ACCOUNTING, "more is said to the delegates than a run may hold");
    WAKE_EARLY = Rule::error("log_wake_early", ACCOUNTING, "a wait that ended before its time");
    TIME = Rule::error("log_time_over", ACCOUNTING, "something that lets the run go on came after its time");

    JUDGE_SWAPPED = Rule::error("log_judge_swapped", JUDGE, "the judge's files changed and the verdict does not say so");
    JUDGE_UNSEEN = Rule::error("log_judge_unseen", JUDGE, "a check passed and nobody looked at the judge's files behind it");

    VERDICT = Rule::error("log_verdict_differs", VERDICTS, "the verdict does not follow from the findings");
    VERDICT_CODE = Rule::error("log_verdict_code", VERDICTS, "the verdict gives another reason than the finding that decided");
    PASS_WITHOUT_CHECK = Rule::error("log_pass_without_check", VERDICTS, "a pass that no check gave");
    CHECK_SKIPPED = Rule::error("log_check_skipped", VERDICTS, "a verdict without a check that the run declares");
    OTHER_CLAIM = Rule::error("log_verdict_other_claim", VERDICTS, "the verdict names another claim than was checked");
    WITHOUT_CLAIM = Rule::error("log_verdict_without_claim", VERDICTS, "a check or verdict without a claim");
    DRIFT = Rule::error("log_drift_differs", VERDICTS, "the drift is not that of the verdict");
    REPEAT = Rule::error("log_repeat_differs", VERDICTS, "what is said of earlier rejections of the claim is not so");

    COMMIT = Rule::error("log_commit_without_pass", OUTCOME, "a claim is handed on without the verdict for it");
    OUTCOME_DIFFERS = Rule::error("log_outcome_differs", OUTCOME, "the outcome does not follow from what came before");
    ESCALATED_UNASKED = Rule::error("log_escalated_unasked", OUTCOME, "a human is called where neither policy nor ladder asks for it");
    ESCALATION_SKIPPED = Rule::error("log_escalation_skipped", OUTCOME, "the run ends where the policy calls for a human");
    WAIVED = Rule::error("log_waived_unasked", OUTCOME, "a refusal is waived and no human said so");
    SEALED_OTHERWISE = Rule::error("log_sealed_otherwise", OUTCOME, "the seal names another outcome than was decided");

    REPLAY_OPEN = Rule::error("log_replay_open", REPLAY, "a run that could not have been opened like this");
    REPLAY_IMPOSSIBLE = Rule::error("log_replay_impossible", REPLAY, "an event that cannot follow the ones before it");
    REPLAY_DIFFERS = Rule::error("log_replay_differs", REPLAY, "an event with another content than the ones before it lead to");
    REPLAY_TIME = Rule::error("log_replay_time", REPLAY, "an event that lies before the one it follows");
    REPLAY_CUT = Rule::error("log_replay_cut", REPLAY, "the log ends where something follows of itself");
    REPLAY_REFUSED = Rule::error("log_replay_refused", REPLAY, "the machine does not take the log for a run");
    REPLAY_OUTCOME = Rule::error("log_replay_outcome", REPLAY, "the replayed run ends otherwise than the seal says");

    BLOB_MISSING = Rule::error("log_blob_missing", CONTENT, "content that the log names is not there");
    BLOB_DIFFERS = Rule::error("log_blob_differs", CONTENT, "content that is not what the log names");
    WITHHELD = Rule::withheld("log_content_withheld", CONTENT, "content was taken out");
    CONTENT_UNSEEN = Rule::note("log_content_unseen", CONTENT, "content was not looked at");
    CLAIM_UNREADABLE = Rule::error("log_claim_unreadable", CONTENT, "the content of a claim is not a claim");
    CANDIDATE = Rule::error("log_candidate_differs", CONTENT, "a claim has another candidate hash than the log says");
}

/// What the reader of records finds: its own code under one of these checks.
pub(super) const RECORD: Rule = Rule::error("record_envelope", CHAIN, "the log is not whole");
