//! What a delegation may be opened with: every bound at its edges, the names, the order.

use probity_core::{
    Charter, CheckDecl, Delegation, Feature, HookDecl, HookPoint, MAX_CHECK_MS, MAX_CHECKS,
    MAX_FEATURES, MAX_RUNGS, MAX_WALL_MS, OpenError, Policy, PolicyError, RunId, Rung, Step,
    Subject,
};

use crate::rig::{claim_check, claim_checks, code, d, hook, hook_check, human_check, world_check};
use crate::terms::terms;

fn open(charter: Charter) -> Result<(), OpenError> {
    let opened = Delegation::open(0, "r".parse().unwrap(), d(1), charter.clone()).map(|_| ());
    assert_eq!(opened, charter.validate());
    opened
}

fn checks(checks: Vec<CheckDecl>) -> Charter {
    Charter::new(Policy::default(), checks)
}

fn hooks(hooks: Vec<HookDecl>) -> Charter {
    Charter { hooks, ..checks(vec![]) }
}

fn some_hooks(n: usize) -> Vec<HookDecl> {
    (0..n).map(|n| hook(&format!("h{n}"), HookPoint::AttemptStart)).collect()
}

#[test]
fn how_long_each_kind_may_take() {
    let subjects = [
        (Subject::World, MAX_CHECK_MS),
        (Subject::Claim, MAX_CHECK_MS),
        (Subject::Hook, MAX_CHECK_MS),
        (Subject::Human, MAX_WALL_MS),
    ];
    let try_all = |make: &dyn Fn(u64) -> Charter, max_ms: u64| {
        for (timeout_ms, is_legal) in [(0, false), (1, true), (max_ms, true), (max_ms + 1, false)] {
            let refused = OpenError::CheckTimeout { id: code("a"), timeout_ms, max_ms };
            let expected = if is_legal { Ok(()) } else { Err(refused) };
            assert_eq!(open(make(timeout_ms)), expected);
        }
    };
    for (subject, max_ms) in subjects {
        let make = |timeout_ms| checks(vec![CheckDecl { id: code("a"), subject, timeout_ms }]);
        try_all(&make, max_ms);
    }
    for point in HookPoint::ALL {
        let make = |timeout_ms| hooks(vec![HookDecl { id: code("a"), point, timeout_ms }]);
        try_all(&make, MAX_CHECK_MS);
    }
}

#[test]
fn names_are_those_of_checks_and_hooks_together() {
    let twice = Err(OpenError::DuplicateCheck { id: code("a") });
    assert_eq!(open(checks(vec![world_check("a"), human_check("a")])), twice);
    let two = hooks(vec![hook("a", HookPoint::DelegationPre), hook("a", HookPoint::AttemptEnd)]);
    assert_eq!(open(two), twice);
    let between = Charter {
        hooks: vec![hook("a", HookPoint::DelegationPre)],
        ..checks(vec![hook_check("a")])
    };
    assert_eq!(open(between), twice);
}

/// Every order of up to three checks of every subject.
#[test]
fn hooks_stand_behind_checks_and_humans_last() {
    let of = |n: usize, subject| CheckDecl { subject, ..claim_check(&format!("c{n}")) };
    let all = [Subject::World, Subject::Claim, Subject::Hook, Subject::Human];
    let rank = |subject| match subject {
        Subject::World | Subject::Claim => 0,
        Subject::Hook => 1,
        Subject::Human => 2,
    };
    let mut refused = 0;
    for first in all {
        for second in all {
            for third in all {
                let subjects = [first, second, third];
                let decls = subjects.iter().enumerate().map(|(n, subject)| of(n, *subject));
                let opened = open(checks(decls.collect()));
                let late = (1..3).find(|n| rank(subjects[*n]) < rank(subjects[*n - 1]));
                let expected = late.map_or(Ok(()), |n| {
                    refused += 1;
                    Err(OpenError::Order { id: code(&format!("c{n}")) })
                });
                assert_eq!(opened, expected, "{subjects:?}");
                assert_eq!(first.rank(), rank(first));
            }
        }
    }
    assert_eq!(refused, 64 - 26, "26 orders of three never fall");
}

#[test]
fn how_many_checks_and_hooks_there_may_be() {
    let (max, got) = (MAX_CHECKS, MAX_CHECKS + 1);
    let full = Charter { hooks: some_hooks(max), ..checks(claim_checks(max)) };
    assert_eq!(open(full), Ok(()));
    let refused = Err(OpenError::TooManyChecks { max, got });
    assert_eq!(open(checks(claim_checks(got))), refused);
    assert_eq!(open(hooks(some_hooks(got))), refused);
}

#[test]
fn the_bounds_of_terms() {
    let opened = |change: &dyn Fn(&mut probity_core::Terms)| {
        let mut terms = terms();
        change(&mut terms);
        open(Charter { terms: Some(terms), ..checks(vec![]) })
    };
    assert_eq!(opened(&|_| {}), Ok(()));
    let refused = |field, value, max| {
        Err(OpenError::Policy(PolicyError::Bound { field, value, min: 0, max }))
    };
    let (most, over) = (MAX_WALL_MS, MAX_WALL_MS + 1);
    assert_eq!(opened(&|terms| terms.stages.context_ms = most), Ok(()));
    assert_eq!(
        opened(&|terms| terms.stages.context_ms = over),
        refused("stages.context_ms", over, most)
    );
    assert_eq!(opened(&|terms| terms.stages.plan_ms = most), Ok(()));
    assert_eq!(opened(&|terms| terms.stages.plan_ms = over), refused("stages.plan_ms", over, most));
    assert_eq!(opened(&|terms| terms.stages.act_ms = most), Ok(()));
    assert_eq!(opened(&|terms| terms.stages.act_ms = over), refused("stages.act_ms", over, most));
    assert_eq!(opened(&|terms| terms.stages.verify_ms = most), Ok(()));
    assert_eq!(
        opened(&|terms| terms.stages.verify_ms = over),
        refused("stages.verify_ms", over, most)
    );
    let rung = Rung { step: Step::Hitl, max_extra_ms: None, is_ready: true };
    let rungs = MAX_RUNGS as u64;
    assert_eq!(opened(&|terms| terms.ladder = vec![rung; MAX_RUNGS]), Ok(()));
    assert_eq!(
        opened(&|terms| terms.ladder = vec![rung; MAX_RUNGS + 1]),
        refused("ladder", rungs + 1, rungs)
    );
    let feature = Feature { captured_at_ms: u64::MAX, ttl_ms: 0 };
    let features = MAX_FEATURES as u64;
    assert_eq!(opened(&|terms| terms.features = vec![feature; MAX_FEATURES]), Ok(()));
    assert_eq!(
        opened(&|terms| terms.features = vec![feature; MAX_FEATURES + 1]),
        refused("features", features + 1, features)
    );
}

/// A run may wait for any other, never for itself.
#[test]
fn a_run_is_not_its_own_parent() {
    for parent in [None, Some("r"), Some("R"), Some("run-0")] {
        let parent = parent.map(|parent| parent.parse().unwrap());
        let charter = Charter { parent: parent.clone(), ..checks(vec![]) };
        assert_eq!(charter.validate(), Ok(()));
        let run: RunId = "r".parse().unwrap();
        let opened = Delegation::open(0, run.clone(), d(1), charter);
        if parent.as_ref() == Some(&run) {
            assert_eq!(opened, Err(OpenError::OwnParent { run }));
        } else {
            assert_eq!(opened.unwrap().parent(), parent.as_ref());
        }
    }
}

/// The first thing that is wrong is the one that is told, and it is told in words.
#[test]
fn a_refusal_says_what_to_do() {
    let long = CheckDecl { timeout_ms: MAX_CHECK_MS + 1, ..hook_check("slow") };
    let told = open(checks(vec![long])).unwrap_err().to_string();
    assert_eq!(told, "`slow` must have a timeout of 1 to 3600000 ms, got 3600001");
    let late = open(checks(vec![human_check("kim"), claim_check("text")])).unwrap_err().to_string();
    assert!(late.contains("`text`") && late.contains("humans come last"), "{late}");
}
