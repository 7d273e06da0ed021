//! One input, out of bytes: what the machine waits for, or something else altogether.

use probity_core::{
    Answer, CheckIndex, Code, Event, Finding, HookDecision, HookIndex, Input, NoteKind, Phase,
    Rewrite, Stage, Subject, Turn, Usage, VerdictKind,
};
use probity_record::submission_id;

use super::{Rig, digest};
use crate::tape::Tape;

/// The judge's files as they are.
const JUDGE: u8 = 200;
/// The judge's files after someone touched them.
const TOUCHED: u8 = 201;

pub(super) fn input(rig: &Rig, tape: &mut Tape<'_>) -> Input {
    if !tape.one_in(4) {
        return expected(rig, tape);
    }
    let turn = Turn { epoch: 0, number: u32::from(tape.below(4)) };
    let phase = if tape.one_in(2) { Phase::Before } else { Phase::After };
    let index = u32::from(tape.below(6));
    match tape.below(18) {
        0 => Input::Cancel { code: Code::slug("user") },
        1 => Input::Sealed,
        2 => observed(phase, tape),
        3 => finished(CheckIndex(index), tape),
        4 => claimed(rig, turn, tape),
        5 => Input::DelegateFailed { turn, code: Code::slug("exit_1"), detail: digest(3) },
        6 => Input::Answered { by: digest(77), answer: answer(tape) },
        7 => Input::Unreadable { phase, code: Code::slug("too_large"), detail: digest(4) },
        8 => hooked(HookIndex(index), tape),
        9 => said(rig, CheckIndex(index), tape),
        10 => noted(turn, tape),
        11 => parked(rig, turn, tape),
        12 => Input::Woken { answer: digest(8) },
        13 => lease(rig, tape),
        14 => Input::Release,
        15 => Input::RequestCancel { by: digest(tape.byte()) },
        16 => Input::Steer { content: digest(tape.byte()) },
        _ => Input::Resume,
    }
}

fn expected(rig: &Rig, tape: &mut Tape<'_>) -> Input {
    match rig.machine.stage() {
        Stage::Opened | Stage::RedDone => observed(Phase::Before, tape),
        Stage::Claimed => observed(Phase::After, tape),
        Stage::RedChecking { check, .. } | Stage::Checking { check, .. } => {
            let mut input = finished(check, tape);
            let decl = rig.machine.checks().get(check.as_usize());
            let is_hook = decl.is_some_and(|decl| decl.subject == Subject::Hook);
            if let Input::CheckFinished { rewrite: place, .. } = &mut input
                && (is_hook || tape.one_in(20))
                && tape.one_in(2)
            {
                let to = tape.byte();
                let (candidate, claim) = (digest(to), digest(to.wrapping_add(100)));
                *place = Some(Rewrite { candidate, claim, delta: digest(61) });
            }
            input
        }
        Stage::Hooking { hook, .. } => hooked(hook, tape),
        Stage::Awaiting { check, .. } if !tape.one_in(3) => said(rig, check, tape),
        Stage::Delegated { turn } => match tape.below(8) {
            0 => noted(turn, tape),
            1 => parked(rig, turn, tape),
            2 if tape.one_in(4) => {
                let code = Code::slug("budget_tool_calls");
                Input::DelegateFailed { turn, code, detail: digest(3) }
            }
            _ => claimed(rig, turn, tape),
        },
        Stage::Parked { until_ms: None, .. } => Input::Woken { answer: digest(8) },
        Stage::Escalated { .. } => Input::Answered { by: digest(77), answer: answer(tape) },
        Stage::Decided { .. } => Input::Sealed,
        _ => Input::Timer,
    }
}

fn judge(tape: &mut Tape<'_>) -> u8 {
    if tape.one_in(24) { TOUCHED } else { JUDGE }
}

fn observed(phase: Phase, tape: &mut Tape<'_>) -> Input {
    Input::Observed { phase, manifest: digest(tape.below(3)), judge: digest(judge(tape)) }
}

fn finished(check: CheckIndex, tape: &mut Tape<'_>) -> Input {
    let finding = finding(tape);
    // A driver leaves the judge's files unread only where the check was cut off or broke.
    let is_cut = matches!(
        finding,
        Finding::Fault { .. } | Finding::Verdict { verdict: VerdictKind::Inconclusive, .. }
    );
    let judge = (!(is_cut && tape.one_in(3))).then(|| digest(judge(tape)));
    Input::CheckFinished { check, finding, judge, elapsed_ms: tape.number() % 300, rewrite: None }
}

fn said(rig: &Rig, check: CheckIndex, tape: &mut Tape<'_>) -> Input {
    let (run, turn) = (rig.machine.run(), rig.machine.turn());
    let asked = rig.machine.submission().cloned();
    let submission = asked.unwrap_or_else(|| submission_id(run, turn, &digest(0)));
    let (finding, judge) = (finding(tape), digest(judge(tape)));
    Input::CheckAnswered { check, submission, finding, by: digest(76), judge }
}

fn claimed(rig: &Rig, turn: Turn, tape: &mut Tape<'_>) -> Input {
    let candidate = tape.below(3);
    Input::Claimed {
        turn,
        submission: submission_id(rig.machine.run(), turn, &digest(candidate)),
        candidate: digest(candidate),
        claim: digest(candidate.wrapping_add(100)),
        work: work(rig) + u64::from(tape.below(3)),
        usage: usage(tape),
    }
}

/// The mark of the last claim: it only grows.
fn work(rig: &Rig) -> u64 {
    let marks = rig.log.iter().rev().map(|entry| &entry.event);
    let mut marks = marks.filter_map(|event| match event {
        Event::ClaimReceived { work, .. } => Some(*work),
        _ => None,
    });
    marks.next().unwrap_or(0)
}

fn usage(tape: &mut Tape<'_>) -> Usage {
    let spent = tape.below(4);
    // Now and then as much as there is: sums must not wrap.
    let tokens = if tape.one_in(40) { u64::MAX } else { spent.into() };
    Usage { tokens, tool_calls: u64::from(spent / 2) }
}

fn noted(turn: Turn, tape: &mut Tape<'_>) -> Input {
    let kinds = [NoteKind::Model, NoteKind::Tool, NoteKind::Session];
    let kind = tape.pick(&kinds).copied().unwrap_or(NoteKind::Model);
    Input::Noted { turn, kind, content: digest(tape.byte()), usage: usage(tape) }
}

fn parked(rig: &Rig, turn: Turn, tape: &mut Tape<'_>) -> Input {
    let until_ms = tape.one_in(2).then(|| rig.now_ms + tape.number() % 1_000);
    Input::Parked { turn, until_ms, detail: digest(7) }
}

fn lease(rig: &Rig, tape: &mut Tape<'_>) -> Input {
    let worker = format!("w-{}", tape.below(3)).parse();
    let epoch = (rig.machine.epoch() + 2).saturating_sub(tape.below(4).into());
    worker.map_or(Input::Release, |worker| Input::Lease { epoch, worker })
}

fn answer(tape: &mut Tape<'_>) -> Answer {
    match tape.below(4) {
        0 => Answer::Reject,
        1 => Answer::Waive,
        2 => Answer::Continue { attempts: u32::from(tape.byte()) },
        _ => Answer::Continue { attempts: 1 },
    }
}

fn finding(tape: &mut Tape<'_>) -> Finding {
    let verdict = |verdict, code| Finding::Verdict {
        verdict,
        code: Code::slug(code),
        reason: None,
        criteria: Vec::new(),
        confidence_bp: None,
        evidence: None,
        metadata: None,
        output: None,
    };
    match tape.below(14) {
        0..=5 => verdict(VerdictKind::Pass, "ok"),
        6..=8 => verdict(VerdictKind::Revise, "missing"),
        9 => verdict(VerdictKind::Fail, "forbidden"),
        10 => verdict(VerdictKind::Inconclusive, "http_timeout"),
        11 => verdict(VerdictKind::Inconclusive, "refused"),
        12 => Finding::Fault { code: Code::slug("script_raised"), detail: digest(99) },
        _ => Finding::NotApplicable,
    }
}

fn hooked(hook: HookIndex, tape: &mut Tape<'_>) -> Input {
    let (code, detail) = (Code::slug("hook_offline"), digest(63));
    let decision = match tape.below(10) {
        0 => HookDecision::Block { reason: digest(60) },
        1 => HookDecision::Inconclusive { code, detail },
        2 => HookDecision::Fault { code, detail },
        3 | 4 => HookDecision::Modify { to: digest(tape.byte()), delta: digest(61) },
        5 => HookDecision::NotApplicable,
        _ => HookDecision::Allow,
    };
    Input::HookAnswered { hook, decision, elapsed_ms: tape.number() % 300 }
}
