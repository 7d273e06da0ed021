//! The terms of a decision: what they stop, what they fall back to, and what they never do.

use probity_core::{
    Answer, Charter, CheckIndex, Degraded, Drift, Effect, Event, Feature, Finding, Handled,
    HookDecision, HookIndex, HookPoint, Input, OnFailure, Outcome, Phase, Policy, Rung, Stage,
    StageBudgets, Step, Terms, Threshold, Tier, Trigger, VerdictKind, fall_back,
};

use crate::rig::{
    Rig, claim_checks, code, d, fail, fault, hook, inconclusive, pass, revise, turn, verdict,
};

/// Terms that stop nothing.
pub(crate) fn terms() -> Terms {
    let day_ms = 86_400_000;
    Terms {
        envelope: d(90),
        tier: None,
        is_required: false,
        stages: StageBudgets {
            context_ms: day_ms,
            plan_ms: day_ms,
            act_ms: day_ms,
            verify_ms: day_ms,
        },
        features: vec![],
        is_stale_soft: false,
        ladder: vec![],
        blocked: None,
        needs_approval: false,
    }
}

fn rung(step: Step) -> Rung {
    Rung { step, max_extra_ms: None, is_ready: true }
}

fn policy() -> Policy {
    // Under terms the ladder decides whether a human is called, not these.
    let calls = OnFailure::Escalate;
    Policy { max_verify_tries: 1, on_fail: calls, on_exhausted: calls, ..Policy::default() }
}

/// Up to what follows the first reading, one check of the claim.
fn started(policy: Policy, terms: Terms) -> Rig {
    let charter = Charter { terms: Some(terms), ..Charter::new(policy, claim_checks(1)) };
    let mut rig = Rig::of(charter);
    rig.observe(Phase::Before);
    rig
}

fn chosen(rig: &Rig) -> Vec<(u32, Trigger, Step)> {
    let degraded = rig.machine.degraded().iter();
    degraded.map(|Degraded { turn, trigger, step }| (turn.number, *trigger, *step)).collect()
}

/// The steps by which rounds were dispatched.
fn dispatched(rig: &Rig) -> Vec<Option<Step>> {
    let step = |event: &Event| match event {
        Event::DelegateDispatched { step, .. } => Some(*step),
        _ => None,
    };
    rig.log.iter().filter_map(|entry| step(&entry.event)).collect()
}

fn dispatch_step(rig: &Rig) -> Option<Step> {
    let [Effect::Dispatch { step, .. }] = rig.due[..] else { panic!("{:?}", rig.due) };
    assert_eq!(rig.machine.acting_step(), step);
    step
}

// --- Tiers ---

#[test]
fn a_tier_is_strictly_above_the_thresholds_below_it() {
    // Rows: tiny, small, medium, large. Columns: none, tiny, small, medium, large.
    let table = ["+....", "++...", "+++..", "++++."];
    for (tier, row) in Tier::ALL.into_iter().zip(table) {
        for (threshold, cell) in Threshold::ALL.into_iter().zip(row.chars()) {
            assert_eq!(tier.is_above(threshold), cell == '+', "{tier} {threshold}");
        }
    }
    let words: Vec<_> = Tier::ALL.iter().map(|tier| serde_json::to_value(tier).unwrap()).collect();
    assert_eq!(words, ["tiny", "small", "medium", "large"]);
    let words: Vec<_> = Threshold::ALL.iter().map(|it| serde_json::to_value(it).unwrap()).collect();
    assert_eq!(words, ["none", "tiny", "small", "medium", "large"]);
    for word in ["low", "high", "none", "Large", ""] {
        assert!(serde_json::from_value::<Tier>(word.into()).is_err(), "{word}");
    }
}

/// Every tier, required or not, and every judgement: what it ends as and how far it drifts.
#[test]
fn what_a_decision_comes_to_by_tier_and_requirement() {
    use Outcome::{Faulted, Inconclusive, Rejected, Unverified, Verified};
    let red_from = |tier: Option<Tier>| match tier {
        Some(Tier::Medium | Tier::Large) => Drift::Red,
        Some(Tier::Tiny | Tier::Small) | None => Drift::Yellow,
    };
    let tiers = [None].into_iter().chain(Tier::ALL.map(Some));
    for (tier, is_required) in tiers.flat_map(|tier| [(tier, false), (tier, true)]) {
        let unverified = match is_required {
            true => (Inconclusive, "no_method", Some(red_from(tier))),
            false => (Unverified, "not_applicable", None),
        };
        let away = verdict(VerdictKind::Inconclusive, "connection_refused");
        for (finding, (outcome, word, drift)) in [
            (pass(), (Verified, "ok", None)),
            (Finding::NotApplicable, unverified),
            (away, (Inconclusive, "connection_refused", Some(red_from(tier)))),
            (inconclusive(), (Inconclusive, "http_timeout", Some(Drift::Red))),
            (fail(), (Rejected, "forbidden", Some(Drift::Yellow))),
            (fault(), (Faulted, "script_raised", Some(Drift::Red))),
        ] {
            let mut rig = started(policy(), Terms { tier, is_required, ..terms() });
            rig.turn(1, std::slice::from_ref(&finding));
            assert_eq!(rig.ended(), (outcome, word), "{tier:?} {is_required} {finding:?}");
            assert_eq!(rig.merged()[0].drift, drift, "{tier:?} {is_required} {finding:?}");
        }
    }
}

/// Nothing verified it although something had to: the claim stays here, and a human may be asked.
#[test]
fn a_required_decision_without_a_method_is_not_handed_on() {
    for checks in [0, 2] {
        let terms = Terms { is_required: true, ladder: vec![rung(Step::Hitl)], ..terms() };
        let charter =
            Charter { terms: Some(terms), ..Charter::new(policy(), claim_checks(checks)) };
        let mut rig = Rig::of(charter);
        rig.observe(Phase::Before).turn(1, &vec![Finding::NotApplicable; checks]);
        let stage = Stage::Escalated { instead_of: Outcome::Inconclusive };
        assert_eq!(rig.machine.stage(), stage);
        rig.answer(Answer::Waive);
        assert_eq!(rig.ended(), (Outcome::Inconclusive, "no_method"));
    }
}

// --- Before the act ---

#[test]
fn a_rule_that_forbids_the_act_stops_it_before_anything_else() {
    let terms = Terms {
        blocked: Some(code("amount_over_limit")),
        needs_approval: true,
        features: vec![Feature { captured_at_ms: 0, ttl_ms: 0 }],
        ladder: Step::ALL.map(rung).to_vec(),
        ..terms()
    };
    let hooks = vec![hook("h", HookPoint::DelegationPre)];
    let charter = Charter { hooks, terms: Some(terms), ..Charter::new(policy(), claim_checks(1)) };
    let mut rig = Rig::of(charter);
    rig.observe(Phase::Before);
    assert_eq!(rig.ended(), (Outcome::Rejected, "amount_over_limit"));
    assert_eq!((chosen(&rig), dispatched(&rig)), (vec![], vec![]));
    assert!(!rig.log.iter().any(|entry| matches!(entry.event, Event::HookCalled { .. })));
}

fn approval(ladder: &[Step]) -> Rig {
    let ladder = ladder.iter().map(|step| rung(*step)).collect();
    started(policy(), Terms { needs_approval: true, ladder, ..terms() })
}

#[test]
fn an_action_that_needs_approval_waits_for_a_human() {
    let mut rig = approval(&[Step::CacheBundle, Step::Hitl, Step::Abstain]);
    assert_eq!(chosen(&rig), [(0, Trigger::Approval, Step::Hitl)]);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Rejected });
    assert_eq!(rig.due, [Effect::Escalate { instead_of: Outcome::Rejected }]);
    for (answer, waived) in [(Answer::Reject, false), (Answer::Waive, true)] {
        let mut rig = rig.clone();
        rig.answer(answer);
        assert_eq!(rig.ended(), (Outcome::Rejected, "approval_required"));
        assert_eq!(rig.machine.ending().unwrap().waived, waived);
        assert_eq!(dispatched(&rig), []);
    }
    rig.answer(Answer::Continue { attempts: 2 });
    assert_eq!(dispatch_step(&rig), None, "asking a human is not a delegate of its own");
    rig.turn(1, &[revise()]);
    assert_eq!(dispatch_step(&rig), None, "approved once, for the run");
    rig.turn(2, &[pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

#[test]
fn without_a_human_on_the_ladder_what_needs_approval_is_not_done() {
    for ladder in [&[][..], &[Step::Abstain, Step::Hitl], &[Step::CacheBundle, Step::Bypass]] {
        let rig = approval(ladder);
        assert_eq!(chosen(&rig), [(0, Trigger::Approval, Step::Abstain)]);
        assert_eq!(rig.ended(), (Outcome::Rejected, "approval_required"), "{ladder:?}");
        assert_eq!(dispatched(&rig), []);
    }
}

/// No prompt is shown to a hook before the act is approved; the task was, and is not shown again.
#[test]
fn an_approval_comes_between_the_hooks_on_the_task_and_those_on_the_prompt() {
    let terms = Terms { needs_approval: true, ladder: vec![rung(Step::Hitl)], ..terms() };
    let hooks = vec![hook("pre", HookPoint::DelegationPre), hook("at", HookPoint::AttemptStart)];
    let charter = Charter { hooks, terms: Some(terms), ..Charter::new(policy(), claim_checks(1)) };
    let mut rig = Rig::of(charter);
    rig.observe(Phase::Before).hook(HookDecision::Allow);
    assert!(matches!(rig.machine.stage(), Stage::Escalated { .. }));
    rig.answer(Answer::Continue { attempts: 1 });
    assert_eq!(rig.machine.stage(), Stage::Hooking { hook: HookIndex(1), turn: turn(0) });
    rig.hook(HookDecision::Allow);
    assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(0) });
}

// --- Freshness ---

/// The rig opens runs at 1 s; this feature is fresh for 10 s from there.
fn feature() -> Feature {
    Feature { captured_at_ms: 1_000, ttl_ms: 10_000 }
}

fn stale_terms(ladder: Vec<Rung>) -> Terms {
    Terms { features: vec![feature()], ladder, ..terms() }
}

/// Opened, with the first reading after as long.
fn read_after(policy: Policy, terms: Terms, ms: u64) -> Rig {
    let charter = Charter { terms: Some(terms), ..Charter::new(policy, claim_checks(1)) };
    let mut rig = Rig::of(charter);
    rig.wait(ms).observe(Phase::Before);
    rig
}

#[test]
fn a_feature_is_stale_strictly_behind_its_time_to_live() {
    let feature = feature();
    let ages = [(0, false), (1_000, false), (11_000, false), (11_001, true), (u64::MAX, true)];
    for (now_ms, is_stale) in ages {
        assert_eq!(feature.is_stale(now_ms), is_stale, "{now_ms}");
    }
    let fresh = Feature { captured_at_ms: u64::MAX, ttl_ms: 0 };
    assert!(!fresh.is_stale(0), "one from the future is not old");
    let terms = Terms { features: vec![feature, fresh, feature], ..terms() };
    assert_eq!((terms.stale(11_000), terms.stale(11_001)), (0, 2));
}

#[test]
fn what_is_stale_is_not_acted_on() {
    let cache = |is_ready| Rung { is_ready, ..rung(Step::CacheBundle) };
    let (human, abstain) = (rung(Step::Hitl), rung(Step::Abstain));
    let small = rung(Step::SmallModel);
    for (ladder, step) in [
        (vec![cache(true)], Some(Step::CacheBundle)),
        (vec![human, small, cache(true), abstain], Some(Step::CacheBundle)),
        (vec![cache(false)], None),
        (vec![abstain, cache(true)], None),
        (vec![human, small, rung(Step::RulesOnly), rung(Step::Bypass)], None),
        (vec![], None),
    ] {
        let rig = read_after(policy(), stale_terms(ladder.clone()), 10_001);
        match step {
            Some(step) => {
                assert_eq!(chosen(&rig), [(0, Trigger::Freshness, step)], "{ladder:?}");
                assert_eq!(dispatch_step(&rig), Some(step));
            }
            None => {
                assert_eq!(chosen(&rig), [(0, Trigger::Freshness, Step::Abstain)], "{ladder:?}");
                assert_eq!(rig.ended(), (Outcome::Rejected, "stale_context"));
                assert_eq!(dispatched(&rig), []);
            }
        }
        let fresh = read_after(policy(), stale_terms(ladder), 10_000);
        assert_eq!((chosen(&fresh), dispatch_step(&fresh)), (vec![], None));
    }
}

#[test]
fn soft_staleness_stops_nothing() {
    let terms = Terms { is_stale_soft: true, ..stale_terms(vec![rung(Step::CacheBundle)]) };
    let rig = read_after(policy(), terms, 1_000_000);
    assert_eq!((chosen(&rig), dispatch_step(&rig)), (vec![], None));
    assert_eq!(rig.machine.terms().unwrap().stale(rig.now_ms), 1, "for whoever reports it");
}

/// Not only before the first act: at every one, also behind hooks and behind a human.
#[test]
fn freshness_is_looked_at_before_every_act() {
    let with_cache = stale_terms(vec![rung(Step::CacheBundle)]);
    let mut rig = read_after(policy(), with_cache.clone(), 0);
    assert_eq!(dispatch_step(&rig), None);
    rig.turn(1, &[revise()]);
    assert_eq!(dispatch_step(&rig), None, "still fresh");
    rig.wait(10_001).turn(2, &[revise()]);
    assert_eq!(chosen(&rig), [(2, Trigger::Freshness, Step::CacheBundle)]);
    assert_eq!(dispatch_step(&rig), Some(Step::CacheBundle));
    assert_eq!(dispatched(&rig), [None, None, Some(Step::CacheBundle)]);

    let mut abstains = read_after(policy(), stale_terms(vec![]), 0);
    abstains.wait(10_001).turn(1, &[revise()]);
    assert_eq!(abstains.ended(), (Outcome::Rejected, "stale_context"));

    let hooks = vec![hook("at", HookPoint::AttemptStart)];
    let charter = Charter::new(policy(), claim_checks(1));
    let mut hooked = Rig::of(Charter { hooks, terms: Some(with_cache.clone()), ..charter });
    hooked.observe(Phase::Before).wait(10_001).hook(HookDecision::Allow);
    assert_eq!(chosen(&hooked), [(0, Trigger::Freshness, Step::CacheBundle)]);
    hooked.hook(HookDecision::Allow);
    assert_eq!(dispatch_step(&hooked), Some(Step::CacheBundle));

    let ladder = vec![rung(Step::Hitl), rung(Step::CacheBundle)];
    let terms = Terms { needs_approval: true, ladder, ..with_cache };
    let mut approved = read_after(policy(), terms, 0);
    approved.wait(10_001).answer(Answer::Continue { attempts: 1 });
    assert_eq!(dispatch_step(&approved), Some(Step::CacheBundle));
}

/// Two hooks on the prompt, and how often they were called.
fn prompted(ladder: Vec<Rung>, features: Vec<Feature>) -> Rig {
    let hooks = vec![hook("a", HookPoint::AttemptStart), hook("b", HookPoint::AttemptStart)];
    let stages = StageBudgets { act_ms: 6_000, verify_ms: 4_000, ..terms().stages };
    let terms = Some(Terms { stages, features, ladder, ..terms() });
    let policy = Policy { wall_ms: Some(60_000), ..policy() };
    let mut rig = Rig::of(Charter { hooks, terms, ..Charter::new(policy, claim_checks(1)) });
    rig.observe(Phase::Before);
    rig
}

fn calls(rig: &Rig) -> Vec<u32> {
    let call = |event: &Event| match event {
        Event::HookCalled { hook, .. } => Some(hook.0),
        _ => None,
    };
    rig.log.iter().filter_map(|entry| call(&entry.event)).collect()
}

/// A hook on the prompt is shown the prompt of the delegate that gets it.
#[test]
fn the_ladder_chooses_before_the_hooks_on_the_prompt() {
    let mut rig = prompted(vec![rung(Step::CacheBundle)], vec![]);
    assert_eq!((chosen(&rig), rig.machine.acting_step()), (vec![], None));
    rig = read_after_hooks(10_001);
    assert_eq!(chosen(&rig), [(0, Trigger::Freshness, Step::CacheBundle)]);
    assert_eq!(rig.machine.acting_step(), Some(Step::CacheBundle));
    assert_eq!(calls(&rig), [0]);
    rig.hook(HookDecision::Modify { to: d(70), delta: d(71) }).hook(HookDecision::Allow);
    assert_eq!(dispatch_step(&rig), Some(Step::CacheBundle));
    assert_eq!((calls(&rig), rig.machine.rewritten_prompt(turn(0))), (vec![0, 1], Some(d(70))));
}

fn read_after_hooks(ms: u64) -> Rig {
    let hooks = vec![hook("a", HookPoint::AttemptStart), hook("b", HookPoint::AttemptStart)];
    let terms = Some(stale_terms(vec![rung(Step::CacheBundle)]));
    let mut rig = Rig::of(Charter { hooks, terms, ..Charter::new(policy(), claim_checks(1)) });
    rig.wait(ms).observe(Phase::Before);
    rig
}

/// Time passes in hooks: where the step changes, what they made of the prompt was made for another
/// delegate. Where it does not, nobody is called again.
#[test]
fn a_step_that_is_taken_behind_the_hooks_calls_them_again() {
    for crashes in [false, true] {
        let modify = |n| HookDecision::Modify { to: d(n), delta: d(71) };
        let ladder = vec![rung(Step::SmallModel), rung(Step::CacheBundle)];
        let features = vec![Feature { captured_at_ms: 1_000, ttl_ms: 55_000 }];
        let mut rig = prompted(ladder, features);
        rig.hook(modify(70));
        assert_eq!(rig.machine.rewritten_prompt(turn(0)), Some(d(70)));
        // Less is left than act and verify may take: the smaller model acts, from the first hook on.
        rig.wait(50_001).hook(modify(72));
        assert_eq!(chosen(&rig), [(0, Trigger::Time, Step::SmallModel)]);
        assert_eq!((calls(&rig), rig.machine.rewritten_prompt(turn(0))), (vec![0, 1, 0], None));
        if crashes {
            rig.crash();
        }
        rig.hook(modify(73)).hook(HookDecision::Allow);
        let expected = (Some(Step::SmallModel), Some(d(73)));
        assert_eq!((dispatch_step(&rig), rig.machine.rewritten_prompt(turn(0))), expected);
        assert_eq!(calls(&rig), [0, 1, 0, 1]);
        // The next round calls each of them once.
        rig.turn(1, &[revise()]).hook(HookDecision::Allow).hook(HookDecision::Allow);
        assert_eq!(calls(&rig), [0, 1, 0, 1, 0, 1]);
    }
}

/// Every reason to fall back, each once: no round calls a hook more often than the ladder is long.
#[test]
fn hooks_on_the_prompt_are_called_once_a_step() {
    let ladder = vec![rung(Step::SmallModel), rung(Step::CacheBundle), rung(Step::RulesOnly)];
    let mut rig = prompted(ladder, vec![Feature { captured_at_ms: 1_000, ttl_ms: 55_000 }]);
    rig.wait(50_001).hook(HookDecision::Allow);
    rig.wait(5_000).hook(HookDecision::Allow);
    let fallen = [(0, Trigger::Time, Step::SmallModel), (0, Trigger::Freshness, Step::CacheBundle)];
    assert_eq!(chosen(&rig), fallen);
    rig.hook(HookDecision::Allow).hook(HookDecision::Allow);
    assert_eq!(dispatch_step(&rig), Some(Step::CacheBundle));
    assert_eq!(calls(&rig), [0, 0, 0, 1]);
}

/// The bundle does not become stale with the features that it replaced: later rounds go on with it.
#[test]
fn once_the_cached_bundle_acts_it_goes_on() {
    let mut rig = read_after(policy(), stale_terms(vec![rung(Step::CacheBundle)]), 10_001);
    rig.turn(1, &[revise()]).turn(2, &[revise()]);
    assert_eq!(dispatched(&rig), [Some(Step::CacheBundle); 3]);
    assert_eq!(chosen(&rig), [(0, Trigger::Freshness, Step::CacheBundle)]);
    rig.turn(3, &[pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

// --- Time ---

fn pressed(ladder: Vec<Rung>, wall_ms: u64) -> Rig {
    let stages = StageBudgets { act_ms: 6_000, verify_ms: 4_000, ..terms().stages };
    let policy = Policy { wall_ms: Some(wall_ms), ..policy() };
    started(policy, Terms { stages, ladder, ..terms() })
}

#[test]
fn where_the_time_does_not_suffice_the_first_step_that_fits_acts() {
    let extra = |step, ms| Rung { max_extra_ms: Some(ms), ..rung(step) };
    let unready = |step| Rung { is_ready: false, ..rung(step) };
    let (small, rules) = (Step::SmallModel, Step::RulesOnly);
    for (ladder, step) in [
        (vec![rung(small), rung(rules)], Some(small)),
        (vec![unready(small), rung(rules)], Some(rules)),
        (vec![extra(small, 9_999), rung(rules)], Some(small)),
        (vec![extra(small, 10_000), rung(rules)], Some(rules)),
        (
            vec![rung(Step::Hitl), rung(Step::Abstain), rung(Step::CacheBundle)],
            Some(Step::CacheBundle),
        ),
        (vec![extra(small, 10_000), extra(rules, 10_000)], None),
        (vec![unready(small), unready(rules), unready(Step::CacheBundle)], None),
        (vec![rung(Step::Hitl), rung(Step::Bypass)], None),
        (vec![], None),
    ] {
        let enough = pressed(ladder.clone(), 10_000);
        assert_eq!((chosen(&enough), dispatch_step(&enough)), (vec![], None));
        let rig = pressed(ladder.clone(), 9_999);
        match step {
            Some(step) => {
                assert_eq!(chosen(&rig), [(0, Trigger::Time, step)], "{ladder:?}");
                assert_eq!(dispatch_step(&rig), Some(step));
            }
            None => {
                assert_eq!(chosen(&rig), [(0, Trigger::Time, Step::Abstain)], "{ladder:?}");
                assert_eq!(rig.ended(), (Outcome::Exhausted, "time_pressure"));
            }
        }
    }
}

/// A round under pressure takes the next step down; behind the last one a refused claim goes the way
/// of a refusal.
#[test]
fn each_round_under_pressure_goes_a_step_down() {
    let ladder = vec![rung(Step::SmallModel), rung(Step::RulesOnly), rung(Step::Hitl)];
    let mut rig = pressed(ladder, 9_999);
    rig.turn(1, &[revise()]);
    assert_eq!(dispatch_step(&rig), Some(Step::RulesOnly));
    rig.turn(2, &[revise()]);
    assert_eq!(
        chosen(&rig),
        [
            (0, Trigger::Time, Step::SmallModel),
            (1, Trigger::Time, Step::RulesOnly),
            (2, Trigger::Time, Step::Abstain),
            (1, Trigger::Verification, Step::Hitl),
        ]
    );
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Exhausted });
    rig.answer(Answer::Reject);
    assert_eq!(rig.ended(), (Outcome::Exhausted, "time_pressure"));
}

/// A smaller model would act on what is stale.
#[test]
fn want_of_time_does_not_take_the_act_from_the_cached_bundle() {
    let stages = StageBudgets { act_ms: 6_000, verify_ms: 4_000, ..terms().stages };
    let ladder = vec![rung(Step::SmallModel), rung(Step::CacheBundle), rung(Step::RulesOnly)];
    let terms = Terms { stages, ..stale_terms(ladder) };
    let policy = Policy { wall_ms: Some(20_000), ..policy() };
    let mut rig = read_after(policy, terms, 10_001);
    assert_eq!(chosen(&rig), [(0, Trigger::Freshness, Step::CacheBundle)]);
    assert_eq!(dispatch_step(&rig), Some(Step::CacheBundle));
    rig.turn(1, &[revise()]);
    assert_eq!(dispatch_step(&rig), Some(Step::CacheBundle));
}

/// What is stale takes the act from a smaller model that acts for want of time.
#[test]
fn a_smaller_model_does_not_go_on_with_what_became_stale() {
    for (cache, outcome) in [(true, None), (false, Some((Outcome::Rejected, "stale_context")))] {
        let stages = StageBudgets { act_ms: 60_000, verify_ms: 4_000, ..terms().stages };
        let cache = Rung { is_ready: cache, ..rung(Step::CacheBundle) };
        let terms = Terms { stages, ..stale_terms(vec![rung(Step::SmallModel), cache]) };
        let policy = Policy { wall_ms: Some(50_000), ..policy() };
        let mut rig = read_after(policy, terms, 0);
        assert_eq!(dispatch_step(&rig), Some(Step::SmallModel));
        rig.wait(10_001).turn(1, &[revise()]);
        match outcome {
            None => assert_eq!(dispatch_step(&rig), Some(Step::CacheBundle)),
            Some(outcome) => assert_eq!(rig.ended(), outcome),
        }
    }
}

// --- The ladder ---

/// What a trigger allows, as the table of the reconciled contract has it.
fn allowed(trigger: Trigger) -> &'static [Step] {
    match trigger {
        Trigger::Freshness => &[Step::CacheBundle, Step::Abstain],
        Trigger::Time => &[Step::CacheBundle, Step::SmallModel, Step::RulesOnly],
        Trigger::Verification | Trigger::Approval => &[Step::Hitl, Step::Abstain],
    }
}

/// By the letter: walk down, skip what is not allowed, not set up, used up, or too slow.
fn reference(ladder: &[Rung], trigger: Trigger, taken: &[Step], remaining_ms: Option<u64>) -> Step {
    for rung in ladder {
        if !allowed(trigger).contains(&rung.step) || taken.contains(&rung.step) {
            continue;
        }
        let needs_setup = !matches!(rung.step, Step::Hitl | Step::Abstain);
        if needs_setup && !rung.is_ready {
            continue;
        }
        if let (Some(extra_ms), Some(remaining_ms)) = (rung.max_extra_ms, remaining_ms)
            && extra_ms > remaining_ms
        {
            continue;
        }
        return rung.step;
    }
    Step::Abstain
}

const TRIGGERS: [Trigger; 4] =
    [Trigger::Freshness, Trigger::Time, Trigger::Verification, Trigger::Approval];

/// Every ladder of up to three of these rungs.
fn ladders(rungs: &[Rung]) -> Vec<Vec<Rung>> {
    let mut all = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..3 {
        let longer = last.iter().flat_map(|ladder: &Vec<Rung>| {
            rungs.iter().map(|rung| ladder.iter().chain([rung]).copied().collect())
        });
        last = longer.collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// All ladders up to length 3 over all steps, ready or not, bounded or not; all triggers; with
/// nothing, one, or all acting steps taken; with as much time as the bound, less, or no end.
#[test]
fn every_short_ladder_falls_back_as_the_reference_does() {
    let mut rungs = vec![];
    for step in Step::ALL {
        for (is_ready, max_extra_ms) in [(true, None), (false, None), (true, Some(100))] {
            rungs.push(Rung { step, max_extra_ms, is_ready });
        }
    }
    let acting = [Step::CacheBundle, Step::SmallModel, Step::RulesOnly];
    let taken: [&[Step]; 5] = [&[], &acting[..1], &acting[1..2], &acting[2..], &acting];
    let ladders = ladders(&rungs);
    assert_eq!(ladders.len(), 1 + 18 + 18 * 18 + 18 * 18 * 18);
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for ladder in &ladders {
        for trigger in TRIGGERS {
            for taken in taken {
                for remaining_ms in [None, Some(99), Some(100)] {
                    let step = fall_back(ladder, trigger, taken, remaining_ms);
                    let expected = reference(ladder, trigger, taken, remaining_ms);
                    assert_eq!(step, expected, "{ladder:?} {trigger:?} {taken:?} {remaining_ms:?}");
                    assert!(step == Step::Abstain || allowed(trigger).contains(&step));
                    *seen.entry(format!("{trigger:?} {step}")).or_default() += 1;
                }
            }
        }
    }
    assert_eq!(seen.len(), 2 + 4 + 2 + 2, "{seen:?}");
}

/// The same ladders in the machine: each trigger comes about, and its step is what follows.
#[test]
fn every_short_ladder_does_in_a_run_what_the_reference_says() {
    let rungs = Step::ALL.map(rung);
    for ladder in ladders(&rungs) {
        for trigger in TRIGGERS {
            let rig = fallen(trigger, ladder.clone());
            let remaining_ms = (trigger == Trigger::Time).then_some(9_999);
            let step = reference(&ladder, trigger, &[], remaining_ms);
            assert_eq!(chosen(&rig), [(0, trigger, step)], "{ladder:?}");
            let word = match trigger {
                Trigger::Freshness => (Outcome::Rejected, "stale_context"),
                Trigger::Time => (Outcome::Exhausted, "time_pressure"),
                Trigger::Verification => (Outcome::Rejected, "forbidden"),
                Trigger::Approval => (Outcome::Rejected, "approval_required"),
            };
            match step {
                Step::Abstain => assert_eq!(rig.ended(), word, "{trigger:?} {ladder:?}"),
                Step::Hitl => {
                    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: word.0 });
                }
                Step::Bypass => panic!("{ladder:?}"),
                step => assert_eq!(dispatch_step(&rig), Some(step), "{trigger:?} {ladder:?}"),
            }
        }
    }
}

/// A run in which exactly one trigger comes about.
fn fallen(trigger: Trigger, ladder: Vec<Rung>) -> Rig {
    match trigger {
        Trigger::Freshness => read_after(policy(), stale_terms(ladder), 10_001),
        Trigger::Time => pressed(ladder, 9_999),
        Trigger::Approval => started(policy(), Terms { needs_approval: true, ladder, ..terms() }),
        Trigger::Verification => {
            let mut rig = started(policy(), Terms { ladder, ..terms() });
            rig.turn(1, &[fail()]);
            rig
        }
    }
}

// --- Behind the verdict ---

/// Every refusal of a claim goes down the ladder, by the order in which it names human and abstention;
/// the policy's own choice is not asked.
#[test]
fn a_decision_that_was_not_verified_goes_to_a_human_or_is_not_done() {
    type Play = fn(&mut Rig);
    let refusals: [(Play, Outcome, &str); 4] = [
        (
            |rig| {
                rig.turn(1, &[fail()]);
            },
            Outcome::Rejected,
            "forbidden",
        ),
        (
            |rig| {
                rig.turn(1, &[inconclusive()]);
            },
            Outcome::Inconclusive,
            "http_timeout",
        ),
        (
            |rig| {
                rig.turn(1, &[revise()]).turn(2, &[revise()]);
            },
            Outcome::Exhausted,
            "attempts",
        ),
        (
            |rig| {
                rig.turn(1, &[Finding::NotApplicable]);
            },
            Outcome::Inconclusive,
            "no_method",
        ),
    ];
    for (play, outcome, word) in refusals {
        for (ladder, is_asked) in [
            (vec![Step::Hitl], true),
            (vec![Step::Hitl, Step::Abstain], true),
            (vec![Step::CacheBundle, Step::SmallModel, Step::Hitl], true),
            (vec![Step::Abstain, Step::Hitl], false),
            (vec![Step::Bypass], false),
            (vec![Step::CacheBundle], false),
            (vec![], false),
        ] {
            for on_failure in [OnFailure::Reject, OnFailure::Escalate] {
                let policy = Policy {
                    max_attempts: 2,
                    on_fail: on_failure,
                    on_exhausted: on_failure,
                    ..policy()
                };
                let rungs = ladder.iter().map(|step| rung(*step)).collect();
                let mut rig =
                    started(policy, Terms { is_required: true, ladder: rungs, ..terms() });
                play(&mut rig);
                let (turn, step) = match (chosen(&rig)[..].last(), rig.machine.judged().last()) {
                    (Some((turn, Trigger::Verification, step)), Some(last)) => {
                        assert_eq!(*turn, last.turn.number);
                        (*turn, *step)
                    }
                    other => panic!("{other:?}"),
                };
                assert_eq!(step == Step::Hitl, is_asked, "{ladder:?} {turn}");
                if is_asked {
                    let stage = Stage::Escalated { instead_of: outcome };
                    assert_eq!(rig.machine.stage(), stage);
                    rig.answer(Answer::Reject);
                }
                assert_eq!(rig.ended(), (outcome, word), "{ladder:?}");
            }
        }
    }
}

/// A human who lets it go on is asked again where the next round does not pass either.
#[test]
fn each_refused_round_asks_the_ladder_anew() {
    let ladder = vec![rung(Step::Hitl)];
    let mut rig = started(policy(), Terms { ladder, ..terms() });
    rig.turn(1, &[fail()]).answer(Answer::Continue { attempts: 1 }).turn(2, &[fail()]);
    let asked = [(0, Trigger::Verification, Step::Hitl), (1, Trigger::Verification, Step::Hitl)];
    assert_eq!(chosen(&rig), asked);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Rejected });
}

/// A broken verifier, a broken hook, a delegate that failed, a workspace that cannot be read, a cancel
/// and a run that keeps dying are no decision that a ladder could mend.
#[test]
fn what_is_broken_never_goes_down_the_ladder() {
    type Play = fn(&mut Rig);
    let rows: [(Play, Outcome, &str); 7] = [
        (
            |rig| {
                rig.turn(1, &[fault()]);
            },
            Outcome::Faulted,
            "script_raised",
        ),
        (
            |rig| {
                let (code, detail) = (code("exit_1"), d(3));
                rig.ok(Input::DelegateFailed { turn: turn(0), code, detail });
            },
            Outcome::DelegateFailed,
            "exit_1",
        ),
        (
            |rig| {
                let (phase, code, detail) = (Phase::After, code("too_large"), d(3));
                rig.claim(1).ok(Input::Unreadable { phase, code, detail });
            },
            Outcome::Inconclusive,
            "too_large",
        ),
        (
            |rig| {
                rig.claim(1).cancel();
            },
            Outcome::Cancelled,
            "user",
        ),
        (
            |rig| {
                for _ in 0..11 {
                    rig.crash();
                }
            },
            Outcome::Exhausted,
            "interruptions",
        ),
        (
            |rig| {
                let (code, detail) = (code("hook_broke"), d(3));
                rig.turn(1, &[pass()]).hook(HookDecision::Fault { code, detail });
            },
            Outcome::Faulted,
            "hook_broke",
        ),
        (
            |rig| {
                rig.turn(1, &[pass()]).hook(HookDecision::Block { reason: d(3) });
            },
            Outcome::Rejected,
            "hook_blocked",
        ),
    ];
    for (play, outcome, word) in rows {
        let ladder = Step::ALL.map(rung).to_vec();
        let hooks = vec![hook("post", HookPoint::DelegationPost)];
        let terms = Some(Terms { ladder, is_required: true, ..terms() });
        let charter = Charter { hooks, terms, ..Charter::new(policy(), claim_checks(1)) };
        let mut rig = Rig::of(charter);
        rig.observe(Phase::Before);
        play(&mut rig);
        assert_eq!(rig.ended(), (outcome, word));
        assert_eq!(chosen(&rig), [], "{word}");
    }
}

// --- The time of the stages ---

fn staged(act_ms: u64, verify_ms: u64, checks: usize) -> Rig {
    let stages = StageBudgets { act_ms, verify_ms, ..terms().stages };
    let terms = Some(Terms { stages, ladder: vec![rung(Step::Abstain)], ..terms() });
    let policy = Policy { max_verify_tries: 4, wall_ms: Some(60_000), ..policy() };
    let mut rig = Rig::of(Charter { terms, ..Charter::new(policy, claim_checks(checks)) });
    rig.observe(Phase::Before);
    rig
}

#[test]
fn the_act_has_its_own_time_in_every_round() {
    let given = |rig: &Rig| match rig.due[..] {
        [Effect::Dispatch { timeout_ms, .. }] => timeout_ms,
        ref other => panic!("{other:?}"),
    };
    let mut rig = staged(5_000, 5_000, 1);
    assert_eq!(given(&rig), Some(5_000));
    rig.wait(4_000).turn(1, &[revise()]);
    assert_eq!(given(&rig), Some(5_000));
    assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 5_000));
    rig.wait(4_999);
    assert_eq!(rig.feed(Input::Timer), Ok(Handled::Unchanged));
    let mut crashed = rig.clone();
    rig.wait(1).ok(Input::Timer);
    assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_act"));
    crashed.crash();
    assert_eq!(given(&crashed), Some(5_000), "an interruption is not the delegate's fault");
    let mut both = staged(70_000, 5_000, 1);
    // The run cannot give what the stage asks for.
    assert_eq!(chosen(&both), [(0, Trigger::Time, Step::Abstain)]);
    assert_eq!(both.ended(), (Outcome::Exhausted, "time_pressure"));
    both = staged(55_000, 5_000, 1);
    both.wait(3_000).turn(1, &[revise()]);
    assert_eq!(both.ended(), (Outcome::Exhausted, "time_pressure"));
}

/// A driver that was suspended takes no claim and no pass from behind the end of a stage.
#[test]
fn what_comes_behind_the_end_of_its_stage_is_too_late() {
    for late_ms in [0, 1, 50_000] {
        let mut rig = staged(5_000, 3_000, 1);
        rig.wait(5_000 + late_ms).claim(1);
        if late_ms > 0 {
            assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_act"));
            continue;
        }
        rig.observe(Phase::After);
        let checking = rig.clone();
        for (finding, late_end) in [
            (pass(), (Outcome::Inconclusive, "verify_timeout")),
            (Finding::NotApplicable, (Outcome::Inconclusive, "verify_timeout")),
            (fail(), (Outcome::Rejected, "forbidden")),
            (fault(), (Outcome::Faulted, "script_raised")),
        ] {
            let mut late = checking.clone();
            late.wait(3_001).finish(finding);
            assert_eq!(late.ended(), late_end);
        }
        rig.wait(3_000).finish(pass());
        assert_eq!(rig.ended(), (Outcome::Verified, "ok"), "just in time");
    }
}

/// The check in flight is cut, those behind it are not run, and what was known decides.
#[test]
fn the_verify_stage_cuts_a_check_that_takes_too_long() {
    for (known, outcome, word, drift) in [
        (pass(), Outcome::Inconclusive, "verify_timeout", Drift::Red),
        (fail(), Outcome::Rejected, "forbidden", Drift::Yellow),
        (fault(), Outcome::Faulted, "script_raised", Drift::Red),
    ] {
        let mut rig = staged(5_000, 3_000, 3);
        rig.claim(1).observe(Phase::After).wait(1_000).finish(known);
        let [Effect::RunCheck { check: CheckIndex(1), timeout_ms, .. }] = rig.due[..] else {
            panic!("{:?}", rig.due);
        };
        assert_eq!(timeout_ms, 2_000);
        assert_eq!(rig.machine.poll_timeout(), Some(rig.now_ms + 2_000));
        rig.timer().unwrap();
        assert_eq!(rig.ended(), (outcome, word));
        assert_eq!(rig.merged()[0].drift, Some(drift));
        let judged = &rig.machine.judged()[0];
        let cut = verdict(VerdictKind::Inconclusive, "verify_timeout");
        assert_eq!(judged.findings[1..], [Some(cut), None]);
        assert_eq!(judged.elapsed_ms, [5, 2_000, 0]);
    }
}

/// A check that came back late leaves none of the time to the ones behind it, and none to another try.
#[test]
fn behind_the_verify_stage_nothing_starts() {
    let mut rig = staged(5_000, 3_000, 2);
    rig.claim(1).observe(Phase::After).wait(3_000).finish(pass());
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "verify_timeout"));
    assert_eq!(rig.machine.judged()[0].findings[1], None);

    let mut tried = staged(5_000, 3_000, 1);
    tried.claim(1).observe(Phase::After).wait(2_900).finish(inconclusive());
    assert_eq!(tried.machine.stage(), Stage::Settled);
    assert_eq!(tried.machine.poll_timeout(), Some(tried.now_ms + 100), "not the try at 200 ms");
    tried.timer().unwrap();
    assert_eq!(tried.ended(), (Outcome::Inconclusive, "http_timeout"), "it said itself why");
}

#[test]
fn an_interruption_gives_the_verify_stage_its_time_again() {
    let mut rig = staged(5_000, 3_000, 1);
    rig.claim(1).observe(Phase::After).wait(2_999).crash();
    let [Effect::RunCheck { timeout_ms, is_replay: true, .. }] = rig.due[..] else {
        panic!("{:?}", rig.due);
    };
    assert_eq!(timeout_ms, 3_000);
    rig.wait(2_999).finish(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

/// A human is not held to the time of the verify stage, nor is the one behind them.
#[test]
fn a_human_has_their_own_time() {
    let stages = StageBudgets { act_ms: 5_000, verify_ms: 3_000, ..terms().stages };
    let terms = Some(Terms { stages, ..terms() });
    let checks = vec![
        crate::rig::claim_check("c0"),
        crate::rig::human_check("kim"),
        crate::rig::human_check("lee"),
    ];
    let mut rig = Rig::of(Charter { terms, ..Charter::new(policy(), checks) });
    rig.observe(Phase::Before).claim(1).observe(Phase::After).wait(3_000).finish(pass());
    rig.wait(9_000).human(pass()).wait(9_000).human(pass());
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}
