//! What a run came to, for people and scripts: a projection of its log and the blobs it names.

use std::collections::BTreeMap;

use probity_core::{
    Claim, Code, Degraded, Delegation, Digest, Discrimination, Event, Evidence, Fault, Finding,
    HookDecision, JudgedTurn, Judgement, Outcome, Rewrite, RunId, Stage, Step, SubmissionId,
    Trigger, VerdictKind,
};
use probity_record::{RunRecords, read_records};
use probity_store::{Store, read_run};
use probity_verifier::{JudgeManifest, Tampered};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::EngineError;
use crate::content::{StoredClaim, StoredFault, StoredParking};
use crate::stored::{read_blob, read_json};

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The run.
    pub run_id: RunId,
    /// How it ended; absent while it goes on.
    pub outcome: Option<Outcome>,
    /// Why, in one word.
    pub code: Option<Code>,
    /// Why, in words, where no check says it: the sealed files that were changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A named human overrode a refusal.
    pub waived: bool,
    /// A `delegation.post` hook edited the claim after it was verified: `claim` is what was verified,
    /// `delivered` what was handed on.
    pub edited: bool,
    /// Claims that were checked and charged to the delegate.
    pub attempts: u32,
    /// Attempts that were allowed.
    pub max_attempts: u32,
    /// Crashes and restarts survived.
    pub interruptions: u32,
    /// The checks with what they said last, in order.
    pub checks: Vec<CheckReport>,
    /// Every claim that was judged, oldest first.
    pub history: Vec<AttemptReport>,
    /// The claim that was judged last, as verification hooks left it.
    pub claim: Option<Claim>,
    /// What was handed on, where a hook edited it after it was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Claim>,
    /// Every hook that did not simply let the run go on, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookReport>,
    /// What the decision fell back to, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<DegradeReport>,
    /// The check that waits for a human.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<Code>,
    /// The wait of a parked run, by the name that an answer to it must carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked_for: Option<String>,
    /// What the delegate of a parked run waits to be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// When a parked run goes on by itself, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked_until_ms: Option<u64>,
    /// The submission that this human is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_about: Option<SubmissionId>,
    /// Why there is no claim, where the delegate failed or the workspace could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The seal; absent while the run is open.
    pub seal: Option<SealReport>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// Its name.
    pub id: Code,
    /// `pass`, `revise`, `fail`, `inconclusive`, `fault`, `not_applicable` or `not_run`.
    pub verdict: &'static str,
    /// Why, in words.
    pub reason: String,
    /// Why, in one word.
    pub code: Option<Code>,
    /// Whether it failed before the delegate started, so that a pass means something. `None` where
    /// that was not or could not be found out.
    pub discriminating: Option<bool>,
    /// Wall time of its last try.
    pub elapsed_ms: u64,
    /// What was observed.
    pub evidence: Vec<Evidence>,
    /// What it put in the place of the claim, where it is a verification hook that did so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<RewriteReport>,
}

/// What a verification hook put in the place of the claim it saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RewriteReport {
    /// Hash of the new claim's canonical form.
    pub candidate: Digest,
    /// Who changed what: `hook`, `event`, and `changed`, which holds `from` and `to` of every member
    /// of the claim that differs.
    pub delta: Value,
}

/// One claim that was judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptReport {
    /// 1-based number of the claim.
    pub turn: u32,
    /// The merged verdict.
    pub verdict: Judgement,
    /// Why, in one word.
    pub code: Code,
    /// Whether it was charged as an attempt.
    pub counted: bool,
    /// Hash of the claim's canonical form.
    pub candidate: Digest,
    /// The delegate's answer.
    pub response: String,
    /// The answer that was verified, where verification hooks made another of the delegate's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_response: Option<String>,
    /// What each check said.
    pub checks: Vec<CheckReport>,
}

/// A hook that did not simply let the run go on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HookReport {
    /// Its name.
    pub id: Code,
    /// When it was called.
    pub event: &'static str,
    /// `block`, `modify`, `inconclusive` or `fault`.
    pub action: &'static str,
    /// Why, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Why, in words; the delta, for `modify`.
    pub text: String,
    /// Wall time it took.
    pub elapsed_ms: u64,
}

/// A step that the decision fell back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DegradeReport {
    /// 1-based number of the claim it was for.
    pub turn: u32,
    /// Why.
    pub trigger: Trigger,
    /// The step.
    pub step: Step,
}

impl DegradeReport {
    fn of(degraded: &Degraded) -> Self {
        let turn = degraded.turn.number.saturating_add(1);
        Self { turn, trigger: degraded.trigger, step: degraded.step }
    }
}

/// The closing record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SealReport {
    /// Records before the seal.
    pub events: u64,
    /// Hash of the last of them.
    pub head: Digest,
}

impl Report {
    /// Reads a run from its store. The log is checked on the way: its chain, its seal, and that
    /// every event is one that the machine would have written.
    ///
    /// # Errors
    /// [`EngineError`] if there is no such run, or its log or a blob is damaged.
    pub async fn read(store: &dyn Store, run: &RunId) -> Result<Self, EngineError> {
        let records = read_run(store, run).await?;
        if records.is_empty() {
            return Err(EngineError::Missing { run: run.clone() });
        }
        let log = read_records(&records)?;
        let machine = Delegation::replay(&log.entries)?;
        Reader { store, machine: &machine }.report(&log).await
    }
}

struct Reader<'a> {
    store: &'a dyn Store,
    machine: &'a Delegation,
}

impl Reader<'_> {
    async fn report(&self, log: &RunRecords) -> Result<Report, EngineError> {
        let machine = self.machine;
        let mut history = Vec::new();
        for (judged, rewrites) in machine.judged().iter().zip(rewrites(log)) {
            history.push(self.attempt(judged, &rewrites).await?);
        }
        let checks = match history.last() {
            Some(last) => last.checks.clone(),
            None => self.checks(&[], &[], &Rewrites::new()).await?,
        };
        let judged = machine.judged().last().filter(|judged| Some(judged.claim) == machine.claim());
        let claim = judged.map(|judged| judged.verified.claim).or(machine.claim());
        let is_delivered = machine.ending().is_some_and(|ending| ending.outcome.delivers());
        let edited = machine.edited_claim().filter(|_| is_delivered);
        let waits_for = match machine.stage() {
            Stage::Awaiting { check, .. } => machine.checks().get(check.as_usize()),
            _ => None,
        };
        let parked = self.parked().await?;
        Ok(Report {
            run_id: machine.run().clone(),
            outcome: self.outcome(),
            code: machine.ending().map(|ending| ending.code.clone()),
            reason: self.tampering(log).await?,
            waived: machine.ending().is_some_and(|ending| ending.waived),
            attempts: machine.attempts(),
            max_attempts: machine.max_attempts(),
            interruptions: machine.interruptions(),
            edited: edited.is_some(),
            checks,
            history,
            claim: self.claim(claim).await?,
            delivered: self.claim(edited).await?,
            hooks: self.hooks(log).await?,
            degraded: machine.degraded().iter().map(DegradeReport::of).collect(),
            asked_about: waits_for.and_then(|_| machine.submission().cloned()),
            waits_for: waits_for.map(|decl| decl.id.clone()),
            parked_for: parked.as_ref().map(|parked| parked.key.clone()),
            question: parked.map(|parked| parked.question),
            parked_until_ms: machine.parking().and_then(|parking| parking.until_ms),
            failure: self.failure(log).await?,
            seal: log.seal.map(|seal| SealReport { events: seal.events, head: seal.head }),
        })
    }

    async fn parked(&self) -> Result<Option<StoredParking>, EngineError> {
        match self.machine.parking() {
            Some(parking) if parking.until_ms.is_none() => {
                Ok(Some(self.json(parking.detail, "wait").await?))
            }
            _ => Ok(None),
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        match self.machine.stage() {
            Stage::Escalated { .. }
            | Stage::Awaiting { .. }
            | Stage::Parked { until_ms: None, .. } => Some(Outcome::Escalated),
            stage => stage.outcome(),
        }
    }

    async fn claim(&self, digest: Option<Digest>) -> Result<Option<Claim>, EngineError> {
        match digest {
            Some(digest) => Ok(Some(self.json::<StoredClaim>(digest, "claim").await?.claim)),
            None => Ok(None),
        }
    }

    async fn hooks(&self, log: &RunRecords) -> Result<Vec<HookReport>, EngineError> {
        let mut reports = Vec::new();
        for entry in &log.entries {
            let Event::HookAnswered { hook, decision, elapsed_ms } = &entry.event else { continue };
            let Some(decl) = self.machine.hooks().get(hook.as_usize()) else { continue };
            let (action, code, text) = match decision {
                HookDecision::Allow | HookDecision::NotApplicable => continue,
                HookDecision::Block { reason } => {
                    let reason = self.blob(*reason).await?;
                    ("block", None, String::from_utf8_lossy(&reason).into_owned())
                }
                HookDecision::Modify { delta, .. } => {
                    let delta = self.blob(*delta).await?;
                    ("modify", None, String::from_utf8_lossy(&delta).into_owned())
                }
                HookDecision::Inconclusive { code, detail } => {
                    ("inconclusive", Some(code.clone()), self.message(*detail).await?)
                }
                HookDecision::Fault { code, detail } => {
                    ("fault", Some(code.clone()), self.message(*detail).await?)
                }
            };
            let (id, event) = (decl.id.clone(), decl.point.as_str());
            reports.push(HookReport { id, event, action, code, text, elapsed_ms: *elapsed_ms });
        }
        Ok(reports)
    }

    /// What a hook said that has no decision.
    async fn message(&self, detail: Digest) -> Result<String, EngineError> {
        Ok(self.json::<StoredFault>(detail, "hook's message").await?.message)
    }

    async fn attempt(
        &self,
        judged: &JudgedTurn,
        rewrites: &Rewrites,
    ) -> Result<AttemptReport, EngineError> {
        let stored: StoredClaim = self.json(judged.claim, "claim").await?;
        let response = stored.claim.response;
        let is_rewritten = judged.verified.claim != judged.claim;
        let verified = self.claim(is_rewritten.then_some(judged.verified.claim)).await?;
        let verified_response = verified.map(|verified| verified.response);
        Ok(AttemptReport {
            turn: judged.turn.number.saturating_add(1),
            verdict: judged.judgement,
            code: judged.code.clone(),
            counted: judged.counted,
            candidate: judged.candidate,
            verified_response: verified_response.filter(|verified| *verified != response),
            response,
            checks: self.checks(&judged.findings, &judged.elapsed_ms, rewrites).await?,
        })
    }

    async fn checks(
        &self,
        findings: &[Option<Finding>],
        elapsed_ms: &[u64],
        rewrites: &Rewrites,
    ) -> Result<Vec<CheckReport>, EngineError> {
        let discrimination = self.machine.discrimination();
        let mut reports = Vec::new();
        for (index, decl) in self.machine.checks().iter().enumerate() {
            let finding = findings.get(index).and_then(Option::as_ref);
            let mut report = self.finding(decl.id.clone(), finding).await?;
            report.elapsed_ms = elapsed_ms.get(index).copied().unwrap_or_default();
            if let Some(rewrite) = rewrites.get(&index).filter(|_| report.verdict == "pass") {
                let delta = self.json(rewrite.delta, "rewrite").await?;
                report.rewrite = Some(RewriteReport { candidate: rewrite.candidate, delta });
            }
            report.discriminating = match discrimination.get(index) {
                Some(Discrimination::Discriminating) => Some(true),
                Some(Discrimination::NonDiscriminating) => Some(false),
                Some(Discrimination::NotAssessed | Discrimination::Exempt) | None => None,
            };
            reports.push(report);
        }
        Ok(reports)
    }

    async fn finding(
        &self,
        id: Code,
        finding: Option<&Finding>,
    ) -> Result<CheckReport, EngineError> {
        let mut report = CheckReport {
            id,
            verdict: "not_run",
            reason: String::new(),
            code: None,
            discriminating: None,
            elapsed_ms: 0,
            evidence: Vec::new(),
            rewrite: None,
        };
        match finding {
            None => {}
            Some(Finding::NotApplicable) => report.verdict = "not_applicable",
            Some(Finding::Fault { code, detail }) => {
                let stored: StoredFault = self.json(*detail, "fault").await?;
                let fault = Fault {
                    code: code.clone(),
                    message: stored.message,
                    location: stored.location,
                };
                report.verdict = "fault";
                report.reason = match &fault.location {
                    Some(location) => format!("{}\n{location}", fault.message),
                    None => fault.message,
                };
                report.code = Some(fault.code);
            }
            Some(Finding::Verdict { verdict, code, reason, evidence, .. }) => {
                report.verdict = word(*verdict);
                report.code = Some(code.clone());
                if let Some(digest) = reason {
                    report.reason =
                        String::from_utf8_lossy(&self.blob(*digest).await?).into_owned();
                }
                if let Some(digest) = evidence {
                    report.evidence = self.json(*digest, "evidence").await?;
                }
            }
        }
        Ok(report)
    }

    /// The sealed files that are not what they were, where that ended the run.
    async fn tampering(&self, log: &RunRecords) -> Result<Option<String>, EngineError> {
        let last = self.machine.judged().last();
        let last = last.filter(|judged| judged.code.as_str() == "judge_tampered");
        let (Some(last), Some(sealed)) = (last, self.machine.baseline()) else { return Ok(None) };
        let readings = log.entries.iter().rev().filter_map(|entry| match &entry.event {
            Event::CheckFinished { judge, .. } => *judge,
            Event::CheckAnswered { judge, .. } => Some(*judge),
            _ => None,
        });
        let mut readings = last.world.iter().map(|world| world.judge).chain(readings);
        let Some(digest) = readings.find(|digest| *digest != sealed.judge) else { return Ok(None) };
        let (was, is) = (self.judge(sealed.judge).await?, self.judge(digest).await?);
        let reason = Tampered::verdict(&was.differences(&is)).reason;
        Ok(Some(format!(
            "{reason}; files that are the delegate's to change belong into `may_change`"
        )))
    }

    async fn judge(&self, digest: Digest) -> Result<JudgeManifest, EngineError> {
        let bytes = self.blob(digest).await?;
        JudgeManifest::from_bytes(&bytes).map_err(|error| EngineError::Content {
            what: "judge",
            digest,
            detail: error.to_string(),
        })
    }

    /// The message behind a `delegate.failed` or `world.unreadable` of the round at work, or of the last
    /// one: whoever was asked again behind a failure is not said to have failed.
    async fn failure(&self, log: &RunRecords) -> Result<Option<String>, EngineError> {
        let is_asked = |event: &Event| matches!(event, Event::DelegateDispatched { .. });
        let round = log.entries.iter().rev().take_while(|entry| !is_asked(&entry.event));
        let mut round = round.map(|entry| &entry.event);
        let detail = round.find_map(|event| match event {
            Event::DelegateFailed { detail, .. } | Event::WorldUnreadable { detail, .. } => {
                Some(*detail)
            }
            _ => None,
        });
        match detail {
            Some(digest) => Ok(Some(self.json::<StoredFault>(digest, "failure").await?.message)),
            None => Ok(None),
        }
    }

    async fn blob(&self, digest: Digest) -> Result<Vec<u8>, EngineError> {
        read_blob(self.store, digest).await
    }

    async fn json<T: DeserializeOwned>(
        &self,
        digest: Digest,
        what: &'static str,
    ) -> Result<T, EngineError> {
        read_json(self.store, digest, what).await
    }
}

/// The rewrites of one claim, by check.
type Rewrites = BTreeMap<usize, Rewrite>;

/// The last rewrite of every check, for every claim that was judged, oldest first.
fn rewrites(log: &RunRecords) -> Vec<Rewrites> {
    let (mut judged, mut at_work) = (Vec::new(), Rewrites::new());
    for entry in &log.entries {
        match &entry.event {
            Event::ClaimReceived { .. } => at_work.clear(),
            Event::CheckFinished { check, rewrite: Some(rewrite), .. } => {
                at_work.insert(check.as_usize(), *rewrite);
            }
            Event::CheckFinished { check, .. } => drop(at_work.remove(&check.as_usize())),
            Event::VerdictMerged { .. } => judged.push(std::mem::take(&mut at_work)),
            _ => {}
        }
    }
    judged
}

const fn word(verdict: VerdictKind) -> &'static str {
    match verdict {
        VerdictKind::Pass => "pass",
        VerdictKind::Revise => "revise",
        VerdictKind::Fail => "fail",
        VerdictKind::Inconclusive => "inconclusive",
    }
}
