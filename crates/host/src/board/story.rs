//! From the log of a run to what people read of it.

use probity_core::{
    CheckIndex, Delegation, Digest, Entry, Event, Finding, HookDecision, HookIndex, RunId,
};
use probity_engine::{EngineError, read_blob};
use probity_projection::{delegate_of, outcome_of, stage_word};
use probity_record::{LineFault, Record, RunRecords, read_records};
use probity_store::{Store, read_run};
use serde::Deserialize;

use super::content::Content;
use super::step::Step;
use super::{Declared, Story};
use crate::error::Failure;

/// Steps that one answer tells.
const MAX_STEPS: usize = 2_000;

/// The parts of a request that are told.
#[derive(Default, Deserialize)]
struct Request {
    task: Option<String>,
}

/// Reads a run; `None` where there is none, or it is no delegation.
pub(super) async fn story(
    store: &dyn Store,
    run: &RunId,
    has_content: bool,
) -> Result<Option<Story>, Failure> {
    let lines = read_run(store, run).await?;
    let Some(first) = lines.first() else { return Ok(None) };
    if matches!(Record::parse(first), Err(LineFault::WorkflowLog)) {
        return Ok(None);
    }
    let log = read_records(&lines).map_err(EngineError::from)?;
    let machine = Delegation::replay(&log.entries).map_err(EngineError::from)?;
    let request = read_blob(store, machine.request()).await?;
    let content = Content { store, is_wanted: has_content, told: 0 };
    let task = serde_json::from_slice::<Request>(&request).unwrap_or_default().task;
    let mut teller = Teller {
        machine: &machine,
        content,
        task: task.unwrap_or_default(),
        is_sealed: log.seal.is_some(),
        sent_back: Vec::new(),
        steps: Vec::new(),
        is_cut: false,
    };
    for (sequence, entry) in (0u64..).zip(&log.entries) {
        teller.tell(sequence, entry).await?;
    }
    let Teller { steps, is_cut, .. } = teller;
    Ok(Some(assembled(&log, &machine, delegate_of(&request), steps, is_cut)))
}

fn assembled(
    log: &RunRecords,
    machine: &Delegation,
    delegate: String,
    steps: Vec<Step>,
    is_cut: bool,
) -> Story {
    let stage = machine.stage();
    let red = log.entries.iter().filter_map(|entry| match &entry.event {
        Event::CheckRed { check, discrimination, .. } => Some((*check, *discrimination)),
        _ => None,
    });
    let red: Vec<_> = red.collect();
    let checks = machine.checks().iter().enumerate().map(|(at, decl)| Declared {
        id: decl.id.clone(),
        subject: decl.subject,
        timeout_ms: decl.timeout_ms,
        discrimination: red.iter().rev().find(|(it, _)| it.as_usize() == at).map(|(_, it)| *it),
    });
    let ending = machine.ending();
    Story {
        run: log.run.clone(),
        parent: machine.parent().cloned(),
        delegate,
        stage: stage_word(stage).to_owned(),
        outcome: outcome_of(stage),
        code: ending.map(|ending| ending.code.clone()),
        waived: ending.is_some_and(|ending| ending.waived),
        is_sealed: log.seal.is_some(),
        attempts: machine.attempts(),
        max_attempts: machine.max_attempts(),
        interruptions: machine.interruptions(),
        tokens: machine.usage().tokens,
        opened_at_ms: machine.opened_at_ms(),
        changed_at_ms: log.entries.last().map_or(0, |entry| entry.at_ms),
        records: machine.entries(),
        head: log.head,
        envelope_digest: machine.terms().map(|terms| terms.envelope),
        checks: checks.collect(),
        steps,
        is_cut,
    }
}

/// Tells a log, record by record.
struct Teller<'a> {
    machine: &'a Delegation,
    content: Content<'a>,
    task: String,
    is_sealed: bool,
    /// Checks of the claim at hand that send the delegate back, with the words that they said.
    sent_back: Vec<(String, Option<Digest>)>,
    steps: Vec<Step>,
    is_cut: bool,
}

impl Teller<'_> {
    async fn tell(&mut self, sequence: u64, entry: &Entry) -> Result<(), Failure> {
        if self.steps.len() >= MAX_STEPS {
            self.is_cut = true;
            return Ok(());
        }
        let begun = |kind| Step::new(sequence, entry.at_ms, kind);
        let told = match &entry.event {
            Event::DelegateDispatched { turn, attempt, step: of } => {
                let is_first = turn.number == 0;
                let kind = if is_first { "prompt" } else { "correction" };
                let step = begun(kind).telling("attempt", attempt).telling("turn", turn.number + 1);
                Some(self.sent(step.telling("step", of), is_first).await?)
            }
            Event::ClaimReceived { turn, candidate, claim, usage, .. } => {
                self.sent_back.clear();
                let mut step = begun("claim").telling("turn", turn.number + 1);
                step.put("candidate", candidate);
                step.put("tokens", usage.tokens);
                step.put("toolCalls", usage.tool_calls);
                self.content.add_claim(&mut step, *claim).await?;
                Some(step)
            }
            Event::CheckRed { check, discrimination, finding, elapsed_ms } => {
                let step = begun("red").telling("discrimination", discrimination);
                Some(self.found(step, *check, finding, Some(*elapsed_ms)).await?)
            }
            Event::CheckFinished { check, finding, elapsed_ms, rewrite, .. } => {
                let step = begun("check").telling("rewrote", rewrite.is_some());
                let told = self.found(step, *check, finding, Some(*elapsed_ms)).await?;
                self.remember(*check, finding);
                Some(told)
            }
            Event::CheckAnswered { check, finding, by, .. } => {
                let mut told = self.found(begun("check"), *check, finding, None).await?;
                self.remember(*check, finding);
                self.content.add(&mut told, "by", Some(*by), &["by"]).await?;
                Some(told)
            }
            Event::VerdictMerged { .. } => Some(verdict(begun("verdict"), &entry.event)),
            Event::HookAnswered { hook, decision, elapsed_ms } => {
                let step = begun("hook").telling("elapsedMs", elapsed_ms);
                self.hook(step, *hook, decision).await?
            }
            Event::DelegateNoted { usage, .. } => {
                self.noted(begun("noted"), usage.tokens);
                None
            }
            other => self.beside(begun("other"), other).await?,
        };
        self.steps.extend(told);
        Ok(())
    }

    /// The task, or why the delegate is sent back.
    async fn sent(&mut self, mut step: Step, is_first: bool) -> Result<Step, Failure> {
        if is_first {
            if self.content.is_wanted {
                let task = std::mem::take(&mut self.task);
                self.content.tell(&mut step, "task", &task, None);
            }
            return Ok(step);
        }
        let sent_back = std::mem::take(&mut self.sent_back);
        step.put("checks", sent_back.iter().map(|(check, _)| check).collect::<Vec<_>>());
        for (_, reason) in sent_back {
            self.content.add(&mut step, "reason", reason, &[]).await?;
        }
        Ok(step)
    }

    async fn found(
        &mut self,
        step: Step,
        check: CheckIndex,
        finding: &Finding,
        elapsed_ms: Option<u64>,
    ) -> Result<Step, Failure> {
        let mut step = step.telling("check", self.name(check)).telling("elapsedMs", elapsed_ms);
        match finding {
            Finding::NotApplicable => step.put("result", "not_applicable"),
            Finding::Fault { code, detail } => {
                step = step.telling("result", "fault").telling("code", code);
                self.content
                    .add(&mut step, "fault", Some(*detail), &["message", "location"])
                    .await?;
            }
            Finding::Verdict {
                verdict, code, reason, criteria, confidence_bp, evidence, ..
            } => {
                step = step
                    .telling("result", verdict)
                    .telling("code", code)
                    .telling("criteria", criteria);
                step.put("confidenceBp", confidence_bp);
                self.content.add(&mut step, "reason", *reason, &[]).await?;
                self.content.add_evidence(&mut step, *evidence).await?;
            }
        }
        Ok(step)
    }

    fn remember(&mut self, check: CheckIndex, finding: &Finding) {
        use probity_core::VerdictKind::Revise;
        let name = self.name(check);
        self.sent_back.retain(|(of, _)| *of != name);
        if let Finding::Verdict { verdict: Revise, reason, .. } = finding {
            self.sent_back.push((name, *reason));
        }
    }

    fn name(&self, check: CheckIndex) -> String {
        let decl = self.machine.checks().get(check.as_usize());
        decl.map_or_else(String::new, |decl| decl.id.to_string())
    }

    /// A hook that did not simply let the run go on.
    async fn hook(
        &mut self,
        step: Step,
        hook: HookIndex,
        decision: &HookDecision,
    ) -> Result<Option<Step>, Failure> {
        let decl = self.machine.hooks().get(hook.as_usize());
        let mut step = step.telling("hook", decl.map(|decl| decl.id.to_string()));
        match decision {
            HookDecision::Allow | HookDecision::NotApplicable => return Ok(None),
            HookDecision::Block { reason } => {
                step.put("action", "block");
                self.content.add(&mut step, "reason", Some(*reason), &[]).await?;
            }
            HookDecision::Modify { delta, .. } => {
                step.put("action", "modify");
                self.content.add(&mut step, "change", Some(*delta), &[]).await?;
            }
            HookDecision::Inconclusive { code, detail } => {
                step = step.telling("action", "inconclusive").telling("code", code);
                self.content.add(&mut step, "reason", Some(*detail), &["message"]).await?;
            }
            HookDecision::Fault { code, detail } => {
                step = step.telling("action", "fault").telling("code", code);
                self.content.add(&mut step, "fault", Some(*detail), &["message"]).await?;
            }
        }
        Ok(Some(step))
    }

    /// Notes that follow each other are one step.
    fn noted(&mut self, step: Step, tokens: u64) {
        let of = |step: &Step, name: &str| {
            step.facts.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0)
        };
        match self.steps.last_mut().filter(|last| last.kind == "noted") {
            Some(last) => {
                let (count, sum) = (of(last, "count"), of(last, "tokens"));
                last.put("count", count.saturating_add(1));
                last.put("tokens", sum.saturating_add(tokens));
            }
            None => self.steps.push(step.telling("count", 1).telling("tokens", tokens)),
        }
    }

    /// What happens around the loop.
    async fn beside(&mut self, step: Step, event: &Event) -> Result<Option<Step>, Failure> {
        let Some(mut step) = around(step, event) else { return Ok(None) };
        if let Event::CheckAwaits { check, .. } = event {
            step.put("check", self.name(*check));
        }
        // Decided is not sealed: nothing counts before.
        if let Event::OutcomeDecided { .. } = event {
            step.put("isSealed", self.is_sealed);
        }
        let (label, digest, members) = said(event);
        self.content.add(&mut step, label, digest, members).await?;
        Ok(Some(step))
    }
}

/// What is told of an event around the loop; nothing where it says nothing to people.
fn around(step: Step, event: &Event) -> Option<Step> {
    let put_as = |kind: &'static str, step: Step| Some(Step { kind, ..step });
    match event {
        Event::RunOpened { checks, .. } => put_as("opened", step.telling("checks", checks.len())),
        Event::LeaseTaken { epoch, worker, .. } => {
            put_as("lease", step.telling("epoch", epoch).telling("worker", worker))
        }
        Event::RunResumed { interruptions } => {
            put_as("resumed", step.telling("interruptions", interruptions))
        }
        Event::WorldUnreadable { code, .. } => put_as("unreadable", step.telling("code", code)),
        Event::DelegateFailed { code, .. } => put_as("failed", step.telling("code", code)),
        Event::DelegateParked { until_ms, .. } => {
            put_as("parked", step.telling("untilMs", until_ms))
        }
        Event::DelegateWoken { .. } => put_as("woken", step),
        Event::Steered { .. } => put_as("steered", step),
        Event::CancelRequested { .. } => put_as("cancel", step),
        Event::CheckAwaits { until_ms, .. } => put_as("asked", step.telling("untilMs", until_ms)),
        Event::DegradeChosen { trigger, step: to, .. } => {
            put_as("degraded", step.telling("trigger", trigger).telling("step", to))
        }
        Event::Escalated { instead_of, code } => {
            put_as("escalated", step.telling("outcome", instead_of).telling("code", code))
        }
        Event::Answered { answer, .. } => put_as("answered", step.telling("answer", answer)),
        Event::OutcomeDecided { outcome, code, waived } => {
            let step = step.telling("outcome", outcome).telling("code", code);
            put_as("outcome", step.telling("waived", waived))
        }
        Event::Sealed { outcome } => put_as("seal", step.telling("outcome", outcome)),
        _ => None,
    }
}

/// Where the words of such an event are: what they are, the blob, its members.
fn said(event: &Event) -> (&'static str, Option<Digest>, &'static [&'static str]) {
    match event {
        Event::WorldUnreadable { detail, .. } | Event::DelegateFailed { detail, .. } => {
            ("fault", Some(*detail), &["message"])
        }
        Event::DelegateParked { detail, .. } => ("question", Some(*detail), &["question"]),
        Event::DelegateWoken { answer, .. } => ("answer", *answer, &["by", "value"]),
        Event::Steered { content: by }
        | Event::CancelRequested { by }
        | Event::Answered { by, .. } => ("said", Some(*by), &["by", "text"]),
        _ => ("", None, &[]),
    }
}

fn verdict(step: Step, event: &Event) -> Step {
    let Event::VerdictMerged {
        turn,
        judgement,
        code,
        counted,
        attempts,
        drift,
        repeat_of,
        reused,
        flaky,
        ..
    } = event
    else {
        return step;
    };
    step.telling("turn", turn.number + 1)
        .telling("judgement", judgement)
        .telling("code", code)
        .telling("counted", counted)
        .telling("attempts", attempts)
        .telling("drift", drift)
        .telling("repeats", repeat_of.map(|turn| turn.number + 1))
        .telling("reused", reused.map(|turn| turn.number + 1))
        .telling("flaky", flaky)
}
