//! Hooks that are called by themselves: when, in which order, what they may decide, and what a crash
//! or the end of the run's time does to them.

use probity_core::{
    Answer, Charter, Effect, Event, Finding, Handled, HookDecision, HookDecl, HookIndex, HookPoint,
    Input, OnFailure, Outcome, Phase, Policy, Refusal, Stage,
};

use crate::rig::{
    Rig, claim_checks, code, d, fail, fault, hook, inconclusive, pass, revise, turn, world_check,
};

fn block() -> HookDecision {
    HookDecision::Block { reason: d(60) }
}

fn modify(to: u8) -> HookDecision {
    HookDecision::Modify { to: d(to), delta: d(61) }
}

fn unreachable() -> HookDecision {
    HookDecision::Inconclusive { code: code("hook_offline"), detail: d(62) }
}

fn broken() -> HookDecision {
    HookDecision::Fault { code: code("hook_broke"), detail: d(63) }
}

fn policy() -> Policy {
    Policy { max_verify_tries: 1, ..Policy::default() }
}

/// One check of the claim, and hooks `h0`, `h1` … at these points.
fn charter(policy: Policy, points: &[HookPoint]) -> Charter {
    let named = |(n, point): (usize, &HookPoint)| hook(&format!("h{n}"), *point);
    let hooks = points.iter().enumerate().map(named).collect();
    Charter { hooks, ..Charter::new(policy, claim_checks(1)) }
}

/// Up to what follows the first reading.
fn started(policy: Policy, points: &[HookPoint]) -> Rig {
    let mut rig = Rig::of(charter(policy, points));
    rig.observe(Phase::Before);
    rig
}

/// Up to the verdict of the first round; whatever hook is asked before it allows.
fn judged(policy: Policy, points: &[HookPoint], finding: Finding) -> Rig {
    let mut rig = started(policy, points);
    allow(&mut rig).turn(1, &[finding]);
    rig
}

fn allow(rig: &mut Rig) -> &mut Rig {
    while let Stage::Hooking { .. } = rig.machine.stage() {
        rig.hook(HookDecision::Allow);
    }
    rig
}

/// Hooks called, dispatches and verdicts, in order.
fn steps(rig: &Rig) -> Vec<String> {
    let step = |event: &Event| match event {
        Event::HookCalled { hook, turn } => Some(format!("h{} in {}", hook.0, turn.number)),
        Event::DelegateDispatched { turn, .. } => Some(format!("dispatch {}", turn.number)),
        Event::VerdictMerged { judgement, .. } => Some(judgement.as_str().to_owned()),
        Event::OutcomeDecided { outcome, .. } => Some(outcome.to_string()),
        _ => None,
    };
    rig.log.iter().filter_map(|entry| step(&entry.event)).collect()
}

const MIXED: [HookPoint; 8] = [
    HookPoint::AttemptEnd,
    HookPoint::DelegationPre,
    HookPoint::AttemptStart,
    HookPoint::DelegationPost,
    HookPoint::DelegationPre,
    HookPoint::AttemptStart,
    HookPoint::AttemptEnd,
    HookPoint::DelegationPost,
];

#[test]
fn each_point_calls_its_hooks_in_the_order_of_declaration() {
    let mut rig = started(policy(), &MIXED);
    allow(&mut rig).turn(1, &[revise()]);
    allow(&mut rig).turn(2, &[pass()]);
    allow(&mut rig);
    let expected = "h1 in 0, h4 in 0, h2 in 0, h5 in 0, dispatch 0, revise, h0 in 0, h6 in 0, \
                    h2 in 1, h5 in 1, dispatch 1, pass, h0 in 1, h6 in 1, h3 in 1, h7 in 1, verified";
    assert_eq!(steps(&rig).join(", "), expected);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

/// Behind a human's answer, too: the task is not given anew.
#[test]
fn a_hook_is_called_once_per_run_or_once_per_round() {
    let policy = Policy { max_attempts: 1, on_exhausted: OnFailure::Escalate, ..policy() };
    let mut rig = started(policy, &MIXED);
    allow(&mut rig).turn(1, &[revise()]);
    allow(&mut rig).answer(Answer::Continue { attempts: 1 });
    allow(&mut rig);
    let expected = "h1 in 0, h4 in 0, h2 in 0, h5 in 0, dispatch 0, revise, h0 in 0, h6 in 0, \
                    h2 in 1, h5 in 1, dispatch 1";
    assert_eq!(steps(&rig).join(", "), expected);
}

/// The workspace is read and the red run is done before operator policy is asked.
#[test]
fn hooks_come_behind_the_red_run() {
    let hooks = vec![hook("h0", HookPoint::DelegationPre)];
    let charter = Charter { hooks, ..Charter::new(policy(), vec![world_check("w")]) };
    let mut rig = Rig::of(charter);
    rig.observe(Phase::Before).finish(revise());
    assert_eq!(rig.machine.stage(), Stage::RedDone);
    rig.observe(Phase::Before);
    let stage = Stage::Hooking { hook: HookIndex(0), turn: turn(0) };
    assert_eq!(rig.machine.stage(), stage);
    let called = Effect::CallHook {
        hook: HookIndex(0),
        turn: turn(0),
        is_replay: false,
        timeout_ms: 10_000,
    };
    assert_eq!(rig.due, [called]);
}

/// Every point and every decision. Two hooks stand at the point, and one that ends the run keeps the
/// second from being called.
#[test]
fn what_each_decision_comes_to_at_each_point() {
    for point in HookPoint::ALL {
        let is_before = matches!(point, HookPoint::DelegationPre | HookPoint::AttemptStart);
        let rig = match is_before {
            true => started(policy(), &[point, point]),
            false => judged(policy(), &[point, point], pass()),
        };
        let first = Stage::Hooking { hook: HookIndex(0), turn: turn(0) };
        assert_eq!(rig.machine.stage(), first, "{point:?}");
        for decision in [HookDecision::Allow, HookDecision::NotApplicable, modify(64)] {
            let mut rig = rig.clone();
            if matches!(decision, HookDecision::Modify { .. }) && point == HookPoint::AttemptEnd {
                let refused = rig.feed(Rig::hooked(0, decision));
                assert_eq!(refused, Err(Refusal::Modify { point }));
                continue;
            }
            rig.hook(decision.clone());
            let second = Stage::Hooking { hook: HookIndex(1), turn: turn(0) };
            assert_eq!(rig.machine.stage(), second, "{point:?}");
            rig.hook(decision);
            match is_before {
                true => assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(0) }),
                false => assert_eq!(rig.ended(), (Outcome::Verified, "ok")),
            }
        }
        for (decision, outcome, word) in [
            (block(), Outcome::Rejected, "hook_blocked"),
            (unreachable(), Outcome::Inconclusive, "hook_offline"),
            (broken(), Outcome::Faulted, "hook_broke"),
        ] {
            let mut rig = rig.clone();
            rig.hook(decision);
            assert_eq!(rig.ended(), (outcome, word), "{point:?}");
            assert_eq!(rig.due[0], Effect::Reject { outcome });
            assert!(!steps(&rig).iter().any(|step| step.starts_with("h1")), "{point:?}");
        }
    }
}

/// The six judgements, as one check gives them.
fn judgements() -> [Finding; 6] {
    [pass(), Finding::NotApplicable, revise(), fail(), inconclusive(), fault()]
}

/// A hook behind a verdict can end the run, and cannot make less of a verdict than it is: a broken
/// verifier stays broken, and a refusal stays one.
#[test]
fn a_hook_behind_a_verdict_does_not_soften_it() {
    use Outcome::{Faulted, Inconclusive, Rejected, Unverified, Verified};
    let blocked = (Rejected, "hook_blocked");
    let offline = (Inconclusive, "hook_offline");
    let broke = (Faulted, "hook_broke");
    let raised = (Faulted, "script_raised");
    let forbidden = (Rejected, "forbidden");
    // Allowed, blocked, could not tell, broke. A revise that is allowed goes on.
    let table: [[Option<(Outcome, &str)>; 4]; 6] = [
        [Some((Verified, "ok")), Some(blocked), Some(offline), Some(broke)],
        [Some((Unverified, "not_applicable")), Some(blocked), Some(offline), Some(broke)],
        [None, Some(blocked), Some(offline), Some(broke)],
        [Some(forbidden), Some(blocked), Some(forbidden), Some(broke)],
        [Some((Inconclusive, "http_timeout")), Some(blocked), Some(offline), Some(broke)],
        [Some(raised), Some(raised), Some(raised), Some(raised)],
    ];
    for (finding, row) in judgements().into_iter().zip(table) {
        let decisions = [HookDecision::Allow, block(), unreachable(), broken()];
        for (decision, ended) in decisions.into_iter().zip(row) {
            let mut rig = judged(policy(), &[HookPoint::AttemptEnd], finding.clone());
            rig.hook(decision.clone());
            match ended {
                Some(ended) => assert_eq!(rig.ended(), ended, "{finding:?} {decision:?}"),
                None => assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(1) }),
            }
        }
    }
}

/// A refusal that a human may override is not one that a hook took away from them.
#[test]
fn a_hook_that_could_not_tell_leaves_a_refusal_to_the_human() {
    let policy = Policy { on_fail: OnFailure::Escalate, ..policy() };
    let mut rig = judged(policy, &[HookPoint::AttemptEnd], fail());
    rig.hook(unreachable());
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Rejected });
}

#[test]
fn a_hook_behind_the_delegation_is_called_only_where_the_claim_would_be_handed_on() {
    for (finding, is_called) in
        judgements().into_iter().zip([true, true, false, false, false, false])
    {
        let rig = judged(policy(), &[HookPoint::DelegationPost], finding.clone());
        let called = steps(&rig).iter().any(|step| step.starts_with("h0"));
        assert_eq!(called, is_called, "{finding:?}");
    }
    // Nor behind the last attempt, a cancel, or a delegate that failed.
    let policy = Policy { max_attempts: 1, ..policy() };
    let exhausted = judged(policy.clone(), &[HookPoint::DelegationPost], revise());
    let mut cancelled = started(policy.clone(), &[HookPoint::DelegationPost]);
    cancelled.claim(1).cancel();
    let mut failed = started(policy, &[HookPoint::DelegationPost]);
    let turn = turn(0);
    failed.ok(Input::DelegateFailed { turn, code: code("exit_1"), detail: d(3) });
    for rig in [exhausted, cancelled, failed] {
        assert!(!steps(&rig).iter().any(|step| step.starts_with('h')), "{:?}", rig.ended());
    }
}

#[test]
fn a_rewritten_task_is_what_the_next_hook_and_the_delegate_see() {
    use HookPoint::DelegationPre;
    let mut rig = started(policy(), &[DelegationPre, DelegationPre, DelegationPre]);
    assert_eq!(rig.machine.rewritten_task(), None);
    rig.hook(modify(70));
    assert_eq!(rig.machine.rewritten_task(), Some(d(70)));
    rig.hook(HookDecision::Allow);
    assert_eq!(rig.machine.rewritten_task(), Some(d(70)));
    rig.hook(modify(71)).turn(1, &[revise()]);
    assert_eq!(rig.machine.rewritten_task(), Some(d(71)), "for the whole run");
    assert_eq!(rig.machine.rewritten_prompt(turn(0)), None);
}

#[test]
fn a_rewritten_prompt_is_that_of_one_round() {
    use HookPoint::AttemptStart;
    let mut rig = started(policy(), &[AttemptStart, AttemptStart]);
    rig.hook(modify(70));
    assert_eq!(rig.machine.rewritten_prompt(turn(0)), Some(d(70)));
    rig.hook(modify(71));
    assert_eq!(rig.machine.rewritten_prompt(turn(0)), Some(d(71)));
    rig.turn(1, &[revise()]);
    assert_eq!(rig.machine.rewritten_prompt(turn(1)), None, "the next round has its own");
    rig.hook(HookDecision::Allow).hook(HookDecision::Allow);
    assert_eq!(rig.machine.rewritten_prompt(turn(1)), None);
    assert_eq!(rig.machine.rewritten_task(), None);
}

#[test]
fn an_edited_claim_stands_beside_the_one_that_was_verified() {
    use HookPoint::DelegationPost;
    let rig = judged(policy(), &[DelegationPost, DelegationPost], pass());
    assert_eq!(rig.machine.edited_claim(), None);
    for (first, second, edited) in [
        (HookDecision::Allow, HookDecision::Allow, None),
        (modify(70), HookDecision::Allow, Some(d(70))),
        (HookDecision::Allow, modify(71), Some(d(71))),
        (modify(70), modify(71), Some(d(71))),
    ] {
        let mut rig = rig.clone();
        rig.hook(first).hook(second);
        assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
        assert_eq!(rig.machine.edited_claim(), edited);
        let Effect::Commit { candidate, claim, edited: handed_on, .. } = rig.due[0] else {
            panic!("{:?}", rig.due);
        };
        assert_eq!((candidate, claim, handed_on), (d(1), d(101), edited));
    }
    let mut refused = rig;
    refused.hook(modify(70)).hook(block());
    assert_eq!(refused.ended(), (Outcome::Rejected, "hook_blocked"));
}

fn may_modify(rig: &Rig, hook: HookIndex) -> bool {
    rig.machine.hooks().get(hook.as_usize()).unwrap().point.may_modify()
}

/// The input that a run waits for, in a run of two rounds that meets every hook.
fn next_input(rig: &Rig) -> Option<Input> {
    Some(match rig.machine.stage() {
        Stage::Opened => rig.observed(Phase::Before),
        Stage::Claimed => rig.observed(Phase::After),
        Stage::Hooking { hook, .. } => {
            let is_modify = hook.0 % 2 == 1 && may_modify(rig, hook);
            Rig::hooked(
                hook.0,
                if is_modify { modify(70 + hook.0 as u8) } else { HookDecision::Allow },
            )
        }
        Stage::Delegated { turn } => rig.claimed(turn, turn.number as u8),
        Stage::Checking { check, .. } if rig.machine.turn() == turn(0) => {
            rig.finished(check.0, revise())
        }
        Stage::Checking { check, .. } => rig.finished(check.0, pass()),
        Stage::Decided { .. } => Input::Sealed,
        Stage::Sealed { .. } => return None,
        other => panic!("{other:?}"),
    })
}

/// A crash behind every append: what was announced is asked for again, marked as a repeat, and what
/// was answered is not.
#[test]
fn a_crash_at_any_append_calls_no_answered_hook_again() {
    let play = |crash_after: Option<usize>| {
        let mut rig = Rig::of(charter(policy(), &MIXED));
        let mut inputs = 0;
        loop {
            if crash_after == Some(inputs) {
                if matches!(rig.machine.stage(), Stage::Sealed { .. }) {
                    break;
                }
                let due = rig.due.clone();
                rig.crash();
                if let [Effect::CallHook { hook, turn, timeout_ms, .. }] = due[..] {
                    let again = Effect::CallHook { hook, turn, is_replay: true, timeout_ms };
                    assert_eq!(rig.due, [again]);
                }
            }
            let Some(input) = next_input(&rig) else { break };
            rig.ok(input);
            inputs += 1;
        }
        (rig, inputs)
    };
    let (whole, inputs) = play(None);
    assert_eq!(inputs, 20);
    let events = |rig: &Rig| -> Vec<Event> {
        let events = rig.log.iter().map(|entry| entry.event.clone());
        events.filter(|event| !matches!(event, Event::RunResumed { .. })).collect()
    };
    for nth in 0..inputs {
        let (crashed, _) = play(Some(nth));
        assert_eq!(crashed.machine.interruptions(), 1, "{nth}");
        assert_eq!(events(&crashed), events(&whole), "{nth}");
    }
}

#[test]
fn a_hook_gets_its_own_time_or_what_is_left_of_the_run() {
    let policy = Policy { wall_ms: Some(12_000), ..policy() };
    let mut rig = started(policy, &[HookPoint::DelegationPre, HookPoint::AttemptStart]);
    let given = |rig: &Rig| match rig.due[..] {
        [Effect::CallHook { timeout_ms, .. }] => timeout_ms,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(given(&rig), 10_000);
    rig.wait(3_000).crash();
    assert_eq!(given(&rig), 9_000, "its whole time again, as far as the run has it");
    rig.wait(4_000).hook(HookDecision::Allow);
    assert_eq!(given(&rig), 5_000);
    assert_eq!(rig.machine.poll_timeout(), Some(13_000));
    rig.wait(4_999);
    assert_eq!(rig.feed(Input::Timer), Ok(Handled::Unchanged));
    rig.wait(1).ok(Input::Timer);
    assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_wall"));
}

fn timed() -> Policy {
    Policy { wall_ms: Some(5_000), ..policy() }
}

/// The end of the run's time inside a hook behind a verdict: only a claim that the hook could still
/// have stopped is held back; the verdict is not made another one.
#[test]
fn the_end_of_the_time_inside_a_hook_leaves_the_verdict_as_it_is() {
    use Outcome::{Exhausted, Faulted, Inconclusive, Rejected};
    let ends = [
        (Inconclusive, "wall_timeout"),
        (Inconclusive, "wall_timeout"),
        (Exhausted, "budget_wall"),
        (Rejected, "forbidden"),
        (Inconclusive, "http_timeout"),
        (Faulted, "script_raised"),
    ];
    for (finding, ended) in judgements().into_iter().zip(ends) {
        let mut rig = judged(timed(), &[HookPoint::AttemptEnd], finding.clone());
        rig.timer().unwrap();
        assert_eq!(rig.ended(), ended, "{finding:?}");
        let calls =
            Policy { on_fail: OnFailure::Escalate, on_exhausted: OnFailure::Escalate, ..timed() };
        let mut rig = judged(calls, &[HookPoint::AttemptEnd], finding.clone());
        rig.timer().unwrap();
        if matches!(ended.0, Exhausted | Rejected) {
            assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: ended.0 });
        } else {
            assert_eq!(rig.ended(), ended, "{finding:?}");
        }
    }
    let last = Policy { max_attempts: 1, ..timed() };
    let mut rig = judged(last, &[HookPoint::AttemptEnd], revise());
    rig.timer().unwrap();
    assert_eq!(rig.ended(), (Exhausted, "attempts"), "the first budget that was used up");
    let mut rig = judged(timed(), &[HookPoint::DelegationPost], pass());
    rig.timer().unwrap();
    assert_eq!(rig.ended(), (Inconclusive, "wall_timeout"));
}

/// Behind the end of the time no round begins, whether the timer or the hook's answer came first.
#[test]
fn no_round_begins_behind_the_end_of_the_time() {
    let late = |rig: &mut Rig, is_timer: bool| {
        rig.wait(5_000);
        match is_timer {
            true => rig.ok(Input::Timer),
            false => rig.hook(HookDecision::Allow),
        };
    };
    for is_timer in [true, false] {
        for point in [HookPoint::DelegationPre, HookPoint::AttemptStart] {
            let mut rig = started(timed(), &[point]);
            late(&mut rig, is_timer);
            assert_eq!(rig.ended(), (Outcome::Exhausted, "budget_wall"), "{point:?} {is_timer}");
        }
        let mut second = judged(timed(), &[HookPoint::AttemptStart], revise());
        late(&mut second, is_timer);
        assert_eq!(second.ended(), (Outcome::Exhausted, "budget_wall"), "{is_timer}");

        let calls = Policy { max_attempts: 1, on_exhausted: OnFailure::Escalate, ..timed() };
        let mut escalated = judged(calls, &[HookPoint::AttemptStart], revise());
        escalated.answer(Answer::Continue { attempts: 1 });
        assert!(matches!(escalated.machine.stage(), Stage::Hooking { .. }));
        late(&mut escalated, is_timer);
        let stage = Stage::Escalated { instead_of: Outcome::Exhausted };
        assert_eq!(escalated.machine.stage(), stage, "{is_timer}");
    }
}

#[test]
fn a_cancel_reaches_a_run_inside_a_hook() {
    for point in HookPoint::ALL {
        let mut rig = match point {
            HookPoint::DelegationPre | HookPoint::AttemptStart => started(policy(), &[point]),
            HookPoint::AttemptEnd | HookPoint::DelegationPost => judged(policy(), &[point], pass()),
        };
        rig.cancel();
        assert_eq!(rig.ended(), (Outcome::Cancelled, "user"), "{point:?}");
    }
}

#[test]
fn the_words_of_the_points() {
    let words = ["delegation.pre", "attempt.start", "attempt.end", "delegation.post"];
    for (point, word) in HookPoint::ALL.into_iter().zip(words) {
        assert_eq!(point.as_str(), word);
        assert_eq!(serde_json::to_value(point).unwrap(), word);
        let decl = HookDecl { id: code("h"), point, timeout_ms: 1 };
        let text = serde_json::to_string(&decl).unwrap();
        assert_eq!(serde_json::from_str::<HookDecl>(&text).unwrap(), decl);
        assert_eq!(point.may_modify(), point != HookPoint::AttemptEnd);
    }
}
