//! The whole state-by-input table, by hand, against the machine.
//!
//! Four stages wait for nothing, and `Settled` waits only for the next try of an inconclusive check:
//! the machine leaves them inside the same input, and a log that was cut there is refused, so no
//! caller ever sees them (see [`transient_stages_are_never_seen`]). They have no column.

use probity_core::{
    Answer, Charter, CheckDecl, Effect, Handled, HookDecision, HookPoint, Input, Phase, Policy,
    Refusal, Stage, Turn, Usage,
};

use crate::rig::{
    Rig, code, d, fail, hook, human_check, inconclusive, pass, revise, turn, world_check,
};

/// The answers in one letter each:
///
/// | | |
/// |---|---|
/// | `.` | refused: not now |
/// | `t` | refused: another turn is at work |
/// | `c` | refused: another check is in flight |
/// | `e` | refused: the run has ended |
/// | `h` | refused: another hook is in flight |
/// | `w` | refused: this may rewrite nothing |
/// | `m` | refused: a hook of this point may modify nothing |
/// | `a` | refused: the answer is out of its bounds |
/// | `s` | refused: the lease is not above the last one |
/// | `=` | unchanged |
/// | `r` | replay: the turn was judged, here is its judgement |
/// | `+` | accepted; [`ACCEPTED`] says what follows |
const TABLE: &str = "
                                Op RC RD Hs De Pt Pa Cl Wa Ch Aw He Es Dc Sd
observed before                  +  .  +  .  .  .  .  .  .  .  .  .  .  .  .
observed after                   .  .  .  .  .  .  .  +  .  .  .  .  .  .  .
unreadable before                +  .  +  .  .  .  .  .  .  .  .  .  .  .  .
unreadable after                 .  .  .  .  .  .  .  +  .  .  .  .  .  .  .
finished the check in flight     .  +  .  .  .  .  .  .  .  +  .  .  .  .  .
finished another check           .  c  .  .  .  .  .  .  .  c  .  .  .  .  .
finished with a rewrite          .  w  .  .  .  .  .  .  .  w  .  .  .  .  .
hook allows                      .  .  .  +  .  .  .  .  .  .  .  +  .  .  .
hook blocks                      .  .  .  +  .  .  .  .  .  .  .  +  .  .  .
hook modifies                    .  .  .  +  .  .  .  .  .  .  .  m  .  .  .
another hook allows              .  .  .  h  .  .  .  .  .  .  .  h  .  .  .
human passes the check           .  .  .  .  .  .  .  .  .  .  +  .  .  .  .
human passes another check       .  .  .  .  .  .  .  .  .  .  c  .  .  .  .
human passes the check too late  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
claimed turn 0                   .  .  .  .  +  .  .  =  =  =  =  r  r  r  r
claimed turn 0, other candidate  .  .  .  .  +  .  .  .  .  .  .  r  r  r  r
claimed turn 1                   .  .  .  .  t  .  .  .  .  .  .  .  .  .  .
claimed turn 0 of epoch 1        .  .  .  .  t  .  .  .  .  .  .  .  .  .  .
delegate failed turn 0           .  .  .  .  +  .  .  .  .  .  .  r  r  r  r
delegate failed turn 1           .  .  .  .  t  .  .  .  .  .  .  .  .  .  .
noted turn 0                     .  .  .  .  +  .  .  .  .  .  .  .  .  .  .
noted turn 1                     .  .  .  .  t  .  .  .  .  .  .  .  .  .  .
noted turn 0 too late            .  .  .  .  +  .  .  .  .  .  .  .  .  .  .
parked turn 0 for a time         .  .  .  .  +  .  .  .  .  .  .  .  .  .  .
parked turn 0 for an answer      .  .  .  .  +  .  .  .  .  .  .  .  .  .  .
parked turn 1                    .  .  .  .  t  .  .  .  .  .  .  .  .  .  .
parked turn 0 too late           .  .  .  .  +  .  .  .  .  .  .  .  .  .  .
woken by an answer               .  .  .  .  .  .  +  .  .  .  .  .  .  .  .
timer, too early                 =  =  =  =  =  =  =  =  =  =  =  =  =  =  =
timer, retry due                 =  =  =  =  =  =  =  =  +  =  =  =  =  =  =
timer, human time over           =  =  =  =  =  +  =  =  +  =  +  =  =  =  =
timer, wall time over            +  +  +  +  +  +  =  +  +  +  +  +  =  =  =
cancel                           +  +  +  +  +  +  +  +  +  +  +  +  +  e  e
resume                           +  +  +  +  +  =  =  +  +  +  =  +  =  +  e
resume, human time over          +  +  +  +  +  +  =  +  +  +  +  +  =  +  e
lease of epoch 1                 +  +  +  +  +  +  +  +  +  +  +  +  +  +  e
lease of epoch 1, retry due      +  +  +  +  +  +  +  +  +  +  +  +  +  +  e
lease of epoch 0                 s  s  s  s  s  s  s  s  s  s  s  s  s  s  e
release                          +  +  +  +  +  +  +  +  +  +  +  +  +  e  e
release, wall time over          +  +  +  +  +  +  +  +  +  +  +  +  +  e  e
request to cancel                +  +  +  +  +  +  +  +  +  +  +  +  +  e  e
steer                            +  +  +  +  +  +  +  +  +  +  +  +  +  e  e
steer, wall time over            +  +  +  +  +  +  +  +  +  +  +  +  +  e  e
answered reject                  .  .  .  .  .  .  .  .  .  .  .  .  +  .  .
answered waive                   .  .  .  .  .  .  .  .  .  .  .  .  +  .  .
answered continue 1              .  .  .  .  .  .  .  .  .  .  .  .  +  .  .
answered continue 0              .  .  .  .  .  .  .  .  .  .  .  .  a  .  .
answered continue 99             .  .  .  .  .  .  .  .  .  .  .  .  +  .  .
answered continue 100            .  .  .  .  .  .  .  .  .  .  .  .  a  .  .
sealed                           .  .  .  .  .  .  .  .  .  .  .  .  .  +  .
";

/// What an accepted input leads to: the stage, the events it appends, the effects behind them.
const ACCEPTED: &str = "
Op observed before -> RedChecking: world.observed check.started; run c0 try 1
RD observed before -> Hooking: world.observed hook.called; call h0
Cl observed after -> Checking: world.observed check.started; run c0 try 1
Op unreadable before -> Decided faulted: world.unreadable outcome.decided; reject faulted, seal
RD unreadable before -> Decided faulted: world.unreadable outcome.decided; reject faulted, seal
Cl unreadable after -> Decided inconclusive: world.unreadable outcome.decided; reject inconclusive, seal
RC finished the check in flight -> RedChecking: check.red check.started; run c1 try 1
Ch finished the check in flight -> Checking: check.finished check.started; run c1 try 1
Hs hook allows -> Delegated: hook.answered delegate.dispatched; dispatch 0
He hook allows -> Decided verified: hook.answered outcome.decided; commit, seal
Hs hook blocks -> Decided rejected: hook.answered outcome.decided; reject rejected, seal
He hook blocks -> Decided rejected: hook.answered outcome.decided; reject rejected, seal
Hs hook modifies -> Delegated: hook.answered delegate.dispatched; dispatch 0
Aw human passes the check -> Hooking: check.answered verdict.merged hook.called; call h1
De claimed turn 0 -> Claimed: claim.received; snapshot after
De claimed turn 0, other candidate -> Claimed: claim.received; snapshot after
De delegate failed turn 0 -> Decided delegate_failed: delegate.failed outcome.decided; reject delegate_failed, seal
De noted turn 0 -> Delegated: delegate.noted; -
De noted turn 0 too late -> Decided exhausted: outcome.decided; reject exhausted, seal
De parked turn 0 for a time -> Parked: delegate.parked; park 0
De parked turn 0 for an answer -> Parked: delegate.parked; park 0
De parked turn 0 too late -> Decided exhausted: outcome.decided; reject exhausted, seal
Pa woken by an answer -> Delegated: delegate.woken; dispatch 0
Wa timer, retry due -> Checking: check.started; run c1 try 2
Pt timer, human time over -> Delegated: delegate.woken; dispatch 0
Wa timer, human time over -> Checking: check.started; run c1 try 2
Aw timer, human time over -> Hooking: check.finished verdict.merged hook.called; call h1
Op timer, wall time over -> Decided exhausted: outcome.decided; reject exhausted, seal
RC timer, wall time over -> Decided exhausted: outcome.decided; reject exhausted, seal
RD timer, wall time over -> Decided exhausted: outcome.decided; reject exhausted, seal
Hs timer, wall time over -> Decided exhausted: outcome.decided; reject exhausted, seal
De timer, wall time over -> Decided exhausted: outcome.decided; reject exhausted, seal
Pt timer, wall time over -> Delegated: delegate.woken; dispatch 0
Cl timer, wall time over -> Decided inconclusive: outcome.decided; reject inconclusive, seal
Wa timer, wall time over -> Hooking: verdict.merged hook.called; call h1
Ch timer, wall time over -> Hooking: check.finished verdict.merged hook.called; call h1
Aw timer, wall time over -> Hooking: check.finished verdict.merged hook.called; call h1
He timer, wall time over -> Decided inconclusive: outcome.decided; reject inconclusive, seal
Op cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
RC cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
RD cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
Hs cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
De cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
Pt cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
Pa cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
Cl cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
Wa cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
Ch cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
Aw cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
He cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
Es cancel -> Decided cancelled: outcome.decided; reject cancelled, seal
Op resume -> Opened: run.resumed; snapshot before
RC resume -> RedChecking: run.resumed; run c0 try 1 again
RD resume -> RedDone: run.resumed; snapshot before
Hs resume -> Hooking: run.resumed; call h0 again
De resume -> Delegated: run.resumed; dispatch 0 again
Cl resume -> Claimed: run.resumed; snapshot after
Wa resume -> Settled: run.resumed; -
Ch resume -> Checking: run.resumed; run c0 try 1 again
He resume -> Hooking: run.resumed; call h1 again
Dc resume -> Decided verified: run.resumed; commit, seal
Op resume, human time over -> Opened: run.resumed; snapshot before
RC resume, human time over -> RedChecking: run.resumed; run c0 try 1 again
RD resume, human time over -> RedDone: run.resumed; snapshot before
Hs resume, human time over -> Hooking: run.resumed; call h0 again
De resume, human time over -> Delegated: run.resumed; dispatch 0 again
Pt resume, human time over -> Delegated: delegate.woken; dispatch 0
Cl resume, human time over -> Claimed: run.resumed; snapshot after
Wa resume, human time over -> Checking: run.resumed check.started; run c1 try 2
Ch resume, human time over -> Checking: run.resumed; run c0 try 1 again
Aw resume, human time over -> Hooking: check.finished verdict.merged hook.called; call h1
He resume, human time over -> Hooking: run.resumed; call h1 again
Dc resume, human time over -> Decided verified: run.resumed; commit, seal
Op lease of epoch 1 -> Opened: lease.taken; snapshot before
RC lease of epoch 1 -> RedChecking: lease.taken; run c0 try 1 again
RD lease of epoch 1 -> RedDone: lease.taken; snapshot before
Hs lease of epoch 1 -> Hooking: lease.taken; call h0 again
De lease of epoch 1 -> Delegated: lease.taken; dispatch 0 again
Pt lease of epoch 1 -> Parked: lease.taken; park 0
Pa lease of epoch 1 -> Parked: lease.taken; park 0
Cl lease of epoch 1 -> Claimed: lease.taken; snapshot after
Wa lease of epoch 1 -> Settled: lease.taken; -
Ch lease of epoch 1 -> Checking: lease.taken; run c0 try 1 again
Aw lease of epoch 1 -> Awaiting: lease.taken; ask c2
He lease of epoch 1 -> Hooking: lease.taken; call h1 again
Es lease of epoch 1 -> Escalated: lease.taken; escalate rejected
Dc lease of epoch 1 -> Decided verified: lease.taken; commit, seal
Op lease of epoch 1, retry due -> Opened: lease.taken; snapshot before
RC lease of epoch 1, retry due -> RedChecking: lease.taken; run c0 try 1 again
RD lease of epoch 1, retry due -> RedDone: lease.taken; snapshot before
Hs lease of epoch 1, retry due -> Hooking: lease.taken; call h0 again
De lease of epoch 1, retry due -> Delegated: lease.taken; dispatch 0 again
Pt lease of epoch 1, retry due -> Parked: lease.taken; park 0
Pa lease of epoch 1, retry due -> Parked: lease.taken; park 0
Cl lease of epoch 1, retry due -> Claimed: lease.taken; snapshot after
Wa lease of epoch 1, retry due -> Checking: lease.taken check.started; run c1 try 2
Ch lease of epoch 1, retry due -> Checking: lease.taken; run c0 try 1 again
Aw lease of epoch 1, retry due -> Awaiting: lease.taken; ask c2
He lease of epoch 1, retry due -> Hooking: lease.taken; call h1 again
Es lease of epoch 1, retry due -> Escalated: lease.taken; escalate rejected
Dc lease of epoch 1, retry due -> Decided verified: lease.taken; commit, seal
Op release -> Opened: run.released; -
RC release -> RedChecking: run.released; -
RD release -> RedDone: run.released; -
Hs release -> Hooking: run.released; -
De release -> Delegated: run.released; -
Pt release -> Parked: run.released; -
Pa release -> Parked: run.released; -
Cl release -> Claimed: run.released; -
Wa release -> Settled: run.released; -
Ch release -> Checking: run.released; -
Aw release -> Awaiting: run.released; -
He release -> Hooking: run.released; -
Es release -> Escalated: run.released; -
Op release, wall time over -> Opened: run.released; -
RC release, wall time over -> RedChecking: run.released; -
RD release, wall time over -> RedDone: run.released; -
Hs release, wall time over -> Hooking: run.released; -
De release, wall time over -> Delegated: run.released; -
Pt release, wall time over -> Parked: run.released; -
Pa release, wall time over -> Parked: run.released; -
Cl release, wall time over -> Claimed: run.released; -
Wa release, wall time over -> Settled: run.released; -
Ch release, wall time over -> Checking: run.released; -
Aw release, wall time over -> Awaiting: run.released; -
He release, wall time over -> Hooking: run.released; -
Es release, wall time over -> Escalated: run.released; -
Op request to cancel -> Opened: run.cancel_requested; -
RC request to cancel -> RedChecking: run.cancel_requested; -
RD request to cancel -> RedDone: run.cancel_requested; -
Hs request to cancel -> Hooking: run.cancel_requested; -
De request to cancel -> Delegated: run.cancel_requested; -
Pt request to cancel -> Parked: run.cancel_requested; -
Pa request to cancel -> Parked: run.cancel_requested; -
Cl request to cancel -> Claimed: run.cancel_requested; -
Wa request to cancel -> Settled: run.cancel_requested; -
Ch request to cancel -> Checking: run.cancel_requested; -
Aw request to cancel -> Awaiting: run.cancel_requested; -
He request to cancel -> Hooking: run.cancel_requested; -
Es request to cancel -> Escalated: run.cancel_requested; -
Op steer -> Opened: run.steered; -
RC steer -> RedChecking: run.steered; -
RD steer -> RedDone: run.steered; -
Hs steer -> Hooking: run.steered; -
De steer -> Delegated: run.steered; -
Pt steer -> Parked: run.steered; -
Pa steer -> Parked: run.steered; -
Cl steer -> Claimed: run.steered; -
Wa steer -> Settled: run.steered; -
Ch steer -> Checking: run.steered; -
Aw steer -> Awaiting: run.steered; -
He steer -> Hooking: run.steered; -
Es steer -> Escalated: run.steered; -
Op steer, wall time over -> Opened: run.steered; -
RC steer, wall time over -> RedChecking: run.steered; -
RD steer, wall time over -> RedDone: run.steered; -
Hs steer, wall time over -> Hooking: run.steered; -
De steer, wall time over -> Delegated: run.steered; -
Pt steer, wall time over -> Parked: run.steered; -
Pa steer, wall time over -> Parked: run.steered; -
Cl steer, wall time over -> Claimed: run.steered; -
Wa steer, wall time over -> Settled: run.steered; -
Ch steer, wall time over -> Checking: run.steered; -
Aw steer, wall time over -> Awaiting: run.steered; -
He steer, wall time over -> Hooking: run.steered; -
Es steer, wall time over -> Escalated: run.steered; -
Es answered reject -> Decided rejected: run.answered outcome.decided; reject rejected, seal
Es answered waive -> Decided rejected: run.answered outcome.decided; reject rejected, seal
Es answered continue 1 -> Delegated: run.answered delegate.dispatched; dispatch 1
Es answered continue 99 -> Delegated: run.answered delegate.dispatched; dispatch 1
Dc sealed -> Sealed verified: run.sealed; -
";

/// Short name, stage, and a run that is there. The claim at work, or judged, is that of turn 0. One
/// hook is called before the delegate, one after every verdict.
pub(crate) fn columns() -> Vec<(&'static str, Rig)> {
    let human = CheckDecl { timeout_ms: HUMAN_MS, ..human_check("c2") };
    let charter = Charter {
        policy: Policy {
            wall_ms: Some(100_000),
            on_fail: probity_core::OnFailure::Escalate,
            ..Policy::default()
        },
        checks: vec![world_check("c0"), world_check("c1"), human],
        hooks: vec![hook("h0", HookPoint::DelegationPre), hook("h1", HookPoint::AttemptEnd)],
        terms: None,
        parent: None,
    };
    let opened = Rig::of(charter);
    let mut red = opened.clone();
    red.observe(Phase::Before);
    let mut red_done = red.clone();
    red_done.finish(revise()).finish(revise());
    let mut starting = red_done.clone();
    starting.observe(Phase::Before);
    let mut delegated = starting.clone();
    delegated.hook(HookDecision::Allow);
    let mut parked = delegated.clone();
    parked.park(Some(PARKED_MS));
    let mut asking = delegated.clone();
    asking.park(None);
    let mut claimed = delegated.clone();
    claimed.claim(1);
    let mut checking = claimed.clone();
    checking.observe(Phase::After);
    let mut waiting = checking.clone();
    waiting.finish(pass()).finish(inconclusive());
    let mut awaiting = checking.clone();
    awaiting.finish(pass()).finish(pass());
    let mut escalated = checking.clone();
    escalated.finish(pass()).finish(fail()).hook(HookDecision::Allow);
    let mut ending = awaiting.clone();
    ending.human(pass());
    let mut decided = ending.clone();
    decided.hook(HookDecision::Allow);
    let mut sealed = decided.clone();
    sealed.ok(Input::Sealed);
    vec![
        ("Op", opened),
        ("RC", red),
        ("RD", red_done),
        ("Hs", starting),
        ("De", delegated),
        ("Pt", parked),
        ("Pa", asking),
        ("Cl", claimed),
        ("Wa", waiting),
        ("Ch", checking),
        ("Aw", awaiting),
        ("He", ending),
        ("Es", escalated),
        ("Dc", decided),
        ("Sd", sealed),
    ]
}

/// How long the human of check c2 is waited for.
const HUMAN_MS: u64 = 50_000;

/// How long the parked delegate waits.
const PARKED_MS: u64 = 20_000;

fn delegate_failed(turn: Turn) -> Input {
    Input::DelegateFailed { turn, code: code("exit_1"), detail: d(3) }
}

/// Rows of the table: the time that passes before the input, and the input.
fn rows(rig: &Rig) -> Vec<(&'static str, u64, Input)> {
    let in_flight = match rig.machine.stage() {
        Stage::RedChecking { check, .. }
        | Stage::Checking { check, .. }
        | Stage::Awaiting { check, .. } => check.0,
        _ => 0,
    };
    let called = match rig.machine.stage() {
        Stage::Hooking { hook, .. } => hook.0,
        _ => 0,
    };
    let block = HookDecision::Block { reason: d(5) };
    let modify = HookDecision::Modify { to: d(6), delta: d(7) };
    let unreadable =
        |phase| Input::Unreadable { phase, code: code("too_many_files"), detail: d(4) };
    let other_epoch = Turn { epoch: 1, number: 0 };
    vec![
        ("observed before", 0, rig.observed(Phase::Before)),
        ("observed after", 0, rig.observed(Phase::After)),
        ("unreadable before", 0, unreadable(Phase::Before)),
        ("unreadable after", 0, unreadable(Phase::After)),
        ("finished the check in flight", 0, rig.finished(in_flight, pass())),
        ("finished another check", 0, rig.finished(in_flight + 1, pass())),
        ("finished with a rewrite", 0, rig.rewritten(in_flight, pass(), 50)),
        ("hook allows", 0, Rig::hooked(called, HookDecision::Allow)),
        ("hook blocks", 0, Rig::hooked(called, block)),
        ("hook modifies", 0, Rig::hooked(called, modify)),
        ("another hook allows", 0, Rig::hooked(called + 1, HookDecision::Allow)),
        ("human passes the check", 0, rig.said(in_flight, pass())),
        ("human passes another check", 0, rig.said(in_flight + 1, pass())),
        ("human passes the check too late", HUMAN_MS, rig.said(in_flight, pass())),
        ("claimed turn 0", 0, rig.claimed(turn(0), 1)),
        ("claimed turn 0, other candidate", 0, rig.claimed(turn(0), 2)),
        ("claimed turn 1", 0, rig.claimed(turn(1), 1)),
        ("claimed turn 0 of epoch 1", 0, rig.claimed(other_epoch, 1)),
        ("delegate failed turn 0", 0, delegate_failed(turn(0))),
        ("delegate failed turn 1", 0, delegate_failed(turn(1))),
        ("noted turn 0", 0, Rig::noted(turn(0), 8, Usage::default())),
        ("noted turn 1", 0, Rig::noted(turn(1), 8, Usage::default())),
        ("noted turn 0 too late", 100_001, Rig::noted(turn(0), 8, Usage::default())),
        ("parked turn 0 for a time", 0, Rig::parked(turn(0), Some(u64::MAX))),
        ("parked turn 0 for an answer", 0, Rig::parked(turn(0), None)),
        ("parked turn 1", 0, Rig::parked(turn(1), None)),
        ("parked turn 0 too late", 100_001, Rig::parked(turn(0), None)),
        ("woken by an answer", 0, Input::Woken { answer: d(9) }),
        ("timer, too early", 0, Input::Timer),
        ("timer, retry due", 200, Input::Timer),
        ("timer, human time over", HUMAN_MS, Input::Timer),
        ("timer, wall time over", 100_000, Input::Timer),
        ("cancel", 0, Input::Cancel { code: code("user") }),
        ("resume", 0, Input::Resume),
        ("resume, human time over", HUMAN_MS, Input::Resume),
        ("lease of epoch 1", 0, Rig::leased(1)),
        ("lease of epoch 1, retry due", 200, Rig::leased(1)),
        ("lease of epoch 0", 0, Rig::leased(0)),
        ("release", 0, Input::Release),
        ("release, wall time over", 100_001, Input::Release),
        ("request to cancel", 0, Input::RequestCancel { by: d(10) }),
        ("steer", 0, Input::Steer { content: d(11) }),
        ("steer, wall time over", 100_001, Input::Steer { content: d(11) }),
        ("answered reject", 0, Rig::answered(Answer::Reject)),
        ("answered waive", 0, Rig::answered(Answer::Waive)),
        ("answered continue 1", 0, Rig::answered(Answer::Continue { attempts: 1 })),
        ("answered continue 0", 0, Rig::answered(Answer::Continue { attempts: 0 })),
        ("answered continue 99", 0, Rig::answered(Answer::Continue { attempts: 99 })),
        ("answered continue 100", 0, Rig::answered(Answer::Continue { attempts: 100 })),
        ("sealed", 0, Input::Sealed),
    ]
}

fn letter(result: &Result<Handled, Refusal>) -> char {
    match result {
        Ok(Handled::Accepted) => '+',
        Ok(Handled::Unchanged) => '=',
        Ok(Handled::Replay(_)) => 'r',
        Err(Refusal::NotNow { .. }) => '.',
        Err(Refusal::WrongTurn { .. }) => 't',
        Err(Refusal::WrongCheck { .. }) => 'c',
        Err(Refusal::WrongHook { .. }) => 'h',
        Err(Refusal::Rewrite) => 'w',
        Err(Refusal::Modify { .. }) => 'm',
        Err(Refusal::Ended { .. }) => 'e',
        Err(Refusal::Answer { .. }) => 'a',
        Err(Refusal::StaleEpoch { .. }) => 's',
        Err(other) => panic!("a refusal without a letter: {other}"),
    }
}

pub(crate) fn effect_word(effect: &Effect) -> String {
    match effect {
        Effect::Append(_) => panic!("appends are drained by the rig"),
        Effect::Snapshot { phase } => format!("snapshot {phase:?}").to_lowercase(),
        Effect::RunCheck { check, tries, is_replay, .. } => {
            let again = if *is_replay { " again" } else { "" };
            format!("run c{} try {tries}{again}", check.0)
        }
        Effect::Dispatch { turn, is_replay, .. } => {
            let again = if *is_replay { " again" } else { "" };
            format!("dispatch {}{again}", turn.number)
        }
        Effect::CallHook { hook, is_replay, .. } => {
            let again = if *is_replay { " again" } else { "" };
            format!("call h{}{again}", hook.0)
        }
        Effect::Park { turn, .. } => format!("park {}", turn.number),
        Effect::Ask { check, .. } => format!("ask c{}", check.0),
        Effect::Commit { .. } => "commit".to_owned(),
        Effect::Reject { outcome } => format!("reject {outcome}"),
        Effect::Escalate { instead_of } => format!("escalate {instead_of}"),
        Effect::Seal(_) => "seal".to_owned(),
    }
}

fn stage_word(stage: Stage) -> String {
    let text = format!("{stage:?}");
    let name: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
    match stage {
        Stage::Decided { outcome } | Stage::Sealed { outcome } => format!("{name} {outcome}"),
        _ => name,
    }
}

#[test]
fn the_table_is_complete_and_the_machine_agrees() {
    let columns = columns();
    let mut grid = format!("\n{:31}", "");
    for (name, _) in &columns {
        grid.push_str(&format!(" {name:>2}"));
    }
    grid.push('\n');
    let mut accepted = "\n".to_owned();
    for row in 0..rows(&columns[0].1).len() {
        let (name, ..) = rows(&columns[0].1)[row];
        grid.push_str(&format!("{name:31}"));
        for (column, rig) in &columns {
            let mut rig = rig.clone();
            let (_, wait_ms, input) = rows(&rig)[row].clone();
            let held = rig.log.len();
            let result = rig.wait(wait_ms).feed(input);
            grid.push_str(&format!("  {}", letter(&result)));
            if result == Ok(Handled::Accepted) {
                let events: Vec<_> =
                    rig.log[held..].iter().map(|entry| entry.event.name()).collect();
                let effects: Vec<_> = rig.due.iter().map(effect_word).collect();
                let effects = if effects.is_empty() { "-".to_owned() } else { effects.join(", ") };
                accepted.push_str(&format!(
                    "{column} {name} -> {}: {}; {}\n",
                    stage_word(rig.machine.stage()),
                    events.join(" "),
                    effects
                ));
            }
        }
        grid.push('\n');
    }
    assert_eq!(grid, TABLE, "the grid as it is:\n{grid}");
    assert_eq!(accepted, ACCEPTED, "the list as it is:\n{accepted}");
}

#[test]
fn the_columns_are_the_stages_that_rest() {
    let names: std::collections::BTreeSet<_> = columns()
        .iter()
        .map(|(_, rig)| {
            let stage = rig.machine.stage();
            // No `_`: a new stage must get a column.
            match stage {
                Stage::Opened => 0,
                Stage::RedChecking { .. } => 1,
                Stage::RedDone => 2,
                Stage::Hooking { .. } => 3,
                Stage::Delegated { .. } => 4,
                Stage::Claimed => 5,
                Stage::Settled => 6,
                Stage::Checking { .. } => 7,
                Stage::Awaiting { .. } => 8,
                Stage::Escalated { .. } => 9,
                Stage::Decided { .. } => 10,
                Stage::Sealed { .. } => 11,
                Stage::Parked { until_ms: Some(_), .. } => 12,
                Stage::Parked { until_ms: None, .. } => 13,
                Stage::RedReady | Stage::Ready | Stage::Judged | Stage::Failed => {
                    panic!("{stage:?} waits for nothing")
                }
            }
        })
        .collect();
    assert_eq!(names, (0..14).collect());
}

/// From every resting stage, every input, twice: no transient stage shows.
#[test]
fn transient_stages_are_never_seen() {
    let is_resting = |rig: &Rig| match rig.machine.stage() {
        Stage::RedReady | Stage::Ready | Stage::Judged | Stage::Failed => false,
        // A try is due before the wall time ends at 101 s.
        Stage::Settled => rig.machine.poll_timeout().is_some_and(|due_ms| due_ms < 101_000),
        _ => true,
    };
    let resting = columns();
    let mut seen = 0;
    for (_, rig) in &resting {
        for (_, wait_ms, input) in rows(rig) {
            let mut rig = rig.clone();
            let _ = rig.wait(wait_ms).feed(input);
            assert!(is_resting(&rig), "{:?}", rig.machine.stage());
            for (_, wait_ms, input) in rows(&rig) {
                let mut rig = rig.clone();
                let result = rig.wait(wait_ms).feed(input);
                assert!(result != Ok(Handled::Accepted) || is_resting(&rig));
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 15 * 50 * 50);
}
