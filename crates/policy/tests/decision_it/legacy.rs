//! The ladder of seed 001's system, at each boundary.

use probity_core::Step;
use probity_policy::legacy::{Reason, Signals, VerifierResult, choose_degrade_step};

const LADDER: [Step; 4] = [Step::CacheBundle, Step::RulesOnly, Step::Hitl, Step::Abstain];

const HEALTHY: Signals = Signals {
    deadline_ms: 200,
    elapsed_ms: 50,
    p99_ms: 80,
    jitter_ms: 10,
    ttl_breaches: 0,
    max_feature_age_ms: 100,
    verifier: VerifierResult::Pass,
};

#[test]
fn each_rule_at_its_boundary() {
    use VerifierResult::{Fail, Inconclusive, NotApplicable};
    let none = (None, Reason::Within);
    let time = (Some(Step::CacheBundle), Reason::Time);
    let fresh = (Some(Step::Abstain), Reason::Freshness);
    let verify = (Some(Step::Hitl), Reason::Verification);
    let cases = [
        (HEALTHY, none),
        (Signals { verifier: NotApplicable, ..HEALTHY }, none),
        (Signals { max_feature_age_ms: 500, ..HEALTHY }, none),
        (Signals { max_feature_age_ms: 501, ..HEALTHY }, fresh),
        (Signals { ttl_breaches: 1, ..HEALTHY }, fresh),
        (Signals { verifier: Fail, ..HEALTHY }, verify),
        (Signals { verifier: Inconclusive, ..HEALTHY }, verify),
        (Signals { elapsed_ms: 170, ..HEALTHY }, none),
        (Signals { elapsed_ms: 171, ..HEALTHY }, time),
        (Signals { elapsed_ms: 9000, ..HEALTHY }, time),
        (Signals { p99_ms: 200, ..HEALTHY }, none),
        (Signals { p99_ms: 201, ..HEALTHY }, time),
        (Signals { jitter_ms: 50, ..HEALTHY }, none),
        (Signals { jitter_ms: 51, ..HEALTHY }, time),
        (Signals { deadline_ms: 29, elapsed_ms: 0, p99_ms: 0, ..HEALTHY }, time),
        (Signals { verifier: Fail, ttl_breaches: 1, jitter_ms: 99, ..HEALTHY }, fresh),
        (Signals { verifier: Fail, jitter_ms: 99, ..HEALTHY }, verify),
    ];
    for (signals, expected) in cases {
        assert_eq!(choose_degrade_step(&LADDER, &signals), expected, "{signals:?}");
    }
}

#[test]
fn a_ladder_without_the_step_gives_the_last_or_none() {
    let late = Signals { elapsed_ms: 9000, ..HEALTHY };
    let stale = Signals { ttl_breaches: 1, ..HEALTHY };
    let failed = Signals { verifier: VerifierResult::Fail, ..HEALTHY };
    let models = [Step::SmallModel, Step::Bypass];
    let cases: [(&[Step], Signals, Option<Step>, &str); 9] = [
        (&[Step::RulesOnly, Step::CacheBundle], late, Some(Step::CacheBundle), "time_pressure"),
        (&[Step::RulesOnly], late, Some(Step::RulesOnly), "time_pressure"),
        (&models, late, None, "within_envelope"),
        (&models, stale, Some(Step::Bypass), "freshness_gate"),
        (&models, failed, Some(Step::Bypass), "verification_gate"),
        (&[Step::Abstain, Step::Hitl], stale, Some(Step::Abstain), "freshness_gate"),
        (&[], stale, None, "freshness_gate"),
        (&[], failed, None, "verification_gate"),
        (&[], late, None, "within_envelope"),
    ];
    for (ladder, signals, step, reason) in cases {
        let (chosen, why) = choose_degrade_step(ladder, &signals);
        assert_eq!((chosen, why.as_str()), (step, reason), "{ladder:?} {signals:?}");
    }
}
