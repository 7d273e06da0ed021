//! What came back, as inputs of the machine: content goes into blobs, the input names them.

use std::sync::Arc;

use probity_core::{
    CheckIndex, Code, Fault, Finding, HookDecision, HookIndex, HookPoint, Input, Phase, Rewrite,
    Turn, Usage, Verdict, World,
};
use probity_delegate::{Answered, DelegateError, NoteError};
use probity_record::{claim_candidate, submission_id};
use serde_json::{Map, Value};

use super::Driver;
use super::noting::noted;
use crate::content::{self, Blob, MAX_KEPT_BYTES, StoredClaim, StoredFault};
use crate::hook::Reply;
use crate::police::Answer;
use crate::work::{Observed, Sealed, Unreadable};
use crate::{EngineError, payload};

impl Driver<'_> {
    pub(super) fn checked(
        &mut self,
        check: CheckIndex,
        answer: Result<Answer, Fault>,
        judge: Option<Sealed>,
        elapsed_ms: u64,
    ) -> Result<Input, EngineError> {
        let (finding, rewrite, mut blobs) = self.finding(answer)?;
        let sealed = self.machine.baseline().map(|baseline| baseline.judge);
        let judge = judge.map(|judge| {
            if sealed != Some(judge.digest) {
                content::keep(&mut blobs, judge.bytes);
            }
            judge.digest
        });
        self.journal.stage(blobs);
        Ok(Input::CheckFinished { check, finding, judge, elapsed_ms, rewrite })
    }

    fn finding(
        &self,
        answer: Result<Answer, Fault>,
    ) -> Result<(Finding, Option<Rewrite>, Vec<Blob>), EngineError> {
        let verdict = match answer {
            Ok(Answer::Verdict(verdict)) => Ok(verdict),
            Err(fault) => Err(fault),
            Ok(Answer::NotApplicable) => return Ok((Finding::NotApplicable, None, Vec::new())),
            Ok(Answer::Rewritten { claim, delta }) => {
                let candidate = claim_candidate(&claim);
                let stored = StoredClaim { claim: *claim, session: self.session.clone() };
                let mut kept = Vec::new();
                let claim = content::keep_json(&mut kept, &stored)?;
                let delta = content::keep_json(&mut kept, &delta)?;
                let bytes: usize = kept.iter().map(|(_, bytes)| bytes.len()).sum();
                if bytes <= MAX_KEPT_BYTES {
                    let pass = Verdict { code: Code::slug("rewritten"), ..Verdict::pass() };
                    let (finding, mut blobs) = content::finding(Ok(pass))?;
                    blobs.extend(kept);
                    return Ok((finding, Some(Rewrite { candidate, claim, delta }), blobs));
                }
                let message = StoredFault::too_large("rewritten claim", bytes).message;
                Err(Fault::new("claim_too_large", message))
            }
        };
        let (finding, blobs) = content::finding(verdict)?;
        Ok((finding, None, blobs))
    }

    pub(super) fn hooked(
        &mut self,
        hook: HookIndex,
        reply: Result<Reply, Fault>,
        shown: &Map<String, Value>,
        elapsed_ms: u64,
    ) -> Result<Input, EngineError> {
        let decl = self.machine.hooks().get(hook.as_usize()).ok_or(EngineError::Stuck)?;
        let (id, point) = (decl.id.clone(), decl.point);
        let mut blobs = Vec::new();
        let decision = match reply {
            Ok(Reply::Modify { payload }) => self.modified(&id, point, shown, &payload, &mut blobs),
            Ok(Reply::Allow) => Ok(HookDecision::Allow),
            Ok(Reply::NotApplicable) => Ok(HookDecision::NotApplicable),
            Ok(Reply::Block { reason }) => {
                let reason = content::keep(&mut blobs, content::cut(&reason).as_bytes().to_vec());
                Ok(HookDecision::Block { reason })
            }
            Ok(Reply::Inconclusive { code, reason }) => {
                let stored = StoredFault::new(&reason, None);
                let detail = content::keep_json(&mut blobs, &stored)?;
                Ok(HookDecision::Inconclusive { code, detail })
            }
            Err(fault) => Err(ModifyError::Fault(fault)),
        };
        let decision = match decision {
            Ok(decision) => decision,
            Err(ModifyError::Engine(error)) => return Err(error),
            Err(ModifyError::Fault(fault)) => {
                let stored = StoredFault::new(&fault.message, fault.location.as_deref());
                let detail = content::keep_json(&mut blobs, &stored)?;
                HookDecision::Fault { code: fault.code, detail }
            }
        };
        self.journal.stage(blobs);
        Ok(Input::HookAnswered { hook, decision, elapsed_ms })
    }

    /// What a hook's modification comes to; one that changed nothing allows.
    fn modified(
        &mut self,
        hook: &Code,
        point: HookPoint,
        shown: &Map<String, Value>,
        payload: &Map<String, Value>,
        blobs: &mut Vec<Blob>,
    ) -> Result<HookDecision, ModifyError> {
        if payload == shown {
            return Ok(HookDecision::Allow);
        }
        let bytes = match point {
            HookPoint::AttemptEnd => {
                let message = format!("a hook at `{}` may not modify anything", point.as_str());
                return Err(Fault::new("hook_modify_field", message).into());
            }
            HookPoint::DelegationPre | HookPoint::AttemptStart => {
                let text = payload::text(point, shown, payload)?;
                if point == HookPoint::DelegationPre {
                    self.task = text.as_str().into();
                }
                text.into_bytes()
            }
            HookPoint::DelegationPost => {
                let claim = payload::claim(point.as_str(), shown, payload)?;
                if payload::claim(point.as_str(), shown, shown)? == claim {
                    return Ok(HookDecision::Allow);
                }
                serde_json::to_vec(&StoredClaim { claim, session: None })
                    .map_err(EngineError::from)?
            }
        };
        let delta = payload::delta(hook, point.as_str(), shown, payload);
        let delta = serde_json::to_vec(&delta).map_err(EngineError::from)?;
        let kept = bytes.len().saturating_add(delta.len());
        if kept > MAX_KEPT_BYTES {
            let message = StoredFault::too_large("modified payload", kept).message;
            return Err(Fault::new("claim_too_large", message).into());
        }
        let to = content::keep(blobs, bytes);
        Ok(HookDecision::Modify { to, delta: content::keep(blobs, delta) })
    }

    pub(super) fn observed(
        &mut self,
        phase: Phase,
        world: Result<Observed, Unreadable>,
    ) -> Result<Input, EngineError> {
        let mut blobs = Vec::new();
        let input = match world {
            Ok(observed) => {
                let manifest = content::keep(&mut blobs, observed.bytes);
                let judge = content::keep(&mut blobs, observed.judge.bytes);
                // What the first reading kept need not be kept again.
                if let Some(World { manifest, judge }) = self.machine.baseline() {
                    blobs.retain(|(digest, _)| *digest != manifest && *digest != judge);
                }
                match phase {
                    Phase::Before => {
                        self.before = Arc::clone(&observed.manifest);
                        self.after = observed.manifest;
                    }
                    Phase::After => self.after = observed.manifest,
                }
                Input::Observed { phase, manifest, judge }
            }
            Err(Unreadable { code, fault }) => {
                let detail = content::keep_json(&mut blobs, &fault)?;
                Input::Unreadable { phase, code, detail }
            }
        };
        self.journal.stage(blobs);
        Ok(input)
    }

    pub(super) fn answered(
        &mut self,
        turn: Turn,
        answer: Result<Answered, DelegateError>,
    ) -> Result<(Vec<Input>, Input), EngineError> {
        let mut blobs = Vec::new();
        let mut notes = Vec::new();
        let input = match answer {
            Ok(Answered { notes: written, .. }) if let Some(stored) = self.unfit(&written) => {
                let detail = content::keep_json(&mut blobs, &stored)?;
                Input::DelegateFailed { turn, code: Code::slug("delegate_notes"), detail }
            }
            Ok(Answered { claim, usage, session, notes: written }) => {
                notes.extend(written.into_iter().map(|note| noted(turn, note, &mut blobs)));
                let session = session.or(self.session.take());
                let stored = StoredClaim { claim, session };
                let bytes = serde_json::to_vec(&stored)?;
                if bytes.len() > MAX_KEPT_BYTES {
                    let stored = StoredFault::too_large("claim", bytes.len());
                    let detail = content::keep_json(&mut blobs, &stored)?;
                    Input::DelegateFailed { turn, code: Code::slug("claim_too_large"), detail }
                } else {
                    let candidate = claim_candidate(&stored.claim);
                    self.session = stored.session;
                    self.claim = Arc::new(stored.claim);
                    Input::Claimed {
                        turn,
                        submission: submission_id(&self.plan.run, turn, &candidate),
                        candidate,
                        claim: content::keep(&mut blobs, bytes),
                        work: self.work_behind(&notes, usage),
                        usage,
                    }
                }
            }
            // It is asked again: the crash of a delegate is no statement about its work, nor is that the
            // store did not answer it.
            Err(
                DelegateError::Lost { .. } | DelegateError::Notes(NoteError::Unavailable { .. }),
            ) => Input::Resume,
            Err(DelegateError::Parked(parked)) => self.parked(turn, parked, &mut blobs)?,
            Err(error) => {
                let stored = StoredFault::new(&error.to_string(), None);
                let detail = content::keep_json(&mut blobs, &stored)?;
                Input::DelegateFailed { turn, code: Code::slug(error.code()), detail }
            }
        };
        self.journal.stage(blobs);
        Ok((notes, input))
    }

    /// Completed tool calls and what was said to the delegate up to a claim, as one growing number.
    fn work_behind(&self, notes: &[Input], usage: Usage) -> u64 {
        let noted = notes.iter().filter_map(|note| match note {
            Input::Noted { usage, .. } => Some(*usage),
            _ => None,
        });
        let calls = noted.fold(self.machine.usage().plus(usage), Usage::plus).tool_calls;
        let steers = u64::try_from(self.machine.steers().len()).unwrap_or(u64::MAX);
        calls.saturating_add(steers)
    }
}

/// A modification that cannot be taken: the hook's fault, or the driver's trouble.
enum ModifyError {
    Fault(Fault),
    Engine(EngineError),
}

impl From<Fault> for ModifyError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<EngineError> for ModifyError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}
