//! Waits for somebody: how they begin, and how they end.

use serde_json::{Map, Value, json};

use super::Run;
use super::answer::{Action, Answer, Ruling};
use super::state::{Ballot, Delivery, Owed, Purpose, Wait, Work};
use super::supervisor::{GIVE_UP, NEXT, SKIP};
use crate::decision::Decision;
use crate::definition::{ApprovalConfig, RejectionPolicy};
use crate::event::{Event, Failure, Held};
use crate::interrupt::{Interrupt, InterruptKind};

/// What nobody is sure enough of.
pub(super) struct Doubt {
    pub(super) confidence: f64,
    pub(super) floor: f64,
    pub(super) worker: Option<String>,
    pub(super) decision: Decision,
    pub(super) cause: u64,
}

/// What is asked.
struct Question {
    kind: InterruptKind,
    data: Value,
    timeout_ms: Option<u64>,
    ballot: Ballot,
    held: Option<Held>,
    purpose: Purpose,
}

impl Run {
    pub(super) fn ask_approval(&mut self, at: usize, config: &ApprovalConfig) {
        let required = config.required_approvals.unwrap_or(1);
        let policy = config.rejection_policy.unwrap_or(RejectionPolicy::SingleVeto);
        let is_majority = policy == RejectionPolicy::Majority;
        let node = self.node_id(at);
        let said = config.description.as_ref().map(|text| json!({"description": text}));
        let mut data = json!({
            "artifactId": config.artifact_id.as_ref().unwrap_or(&node),
            "artifactType": config.artifact_type.as_deref().unwrap_or("approval"),
            "title": config.title.as_ref().unwrap_or(&node),
            "actions": config.actions,
            "requiredApprovals": required,
            "rejectionPolicy": if is_majority { "majority" } else { "single-veto" },
        });
        if let (Some(artifact), Some(data)) =
            (config.artifact_data.clone().or(said), data.as_object_mut())
        {
            data.insert("artifactData".to_owned(), artifact);
        }
        if let (false, Some(data)) = (config.approvers_list.is_empty(), data.as_object_mut()) {
            data.insert("approversList".to_owned(), json!(config.approvers_list));
        }
        let ballot = Ballot {
            actions: config.actions.clone(),
            approvers: config.approvers_list.clone(),
            required,
            is_majority,
            ..Ballot::default()
        };
        let (kind, timeout_ms) = (InterruptKind::Approval, config.timeout_ms);
        let purpose = Purpose::Gate;
        self.suspend(at, Question { kind, data, timeout_ms, ballot, held: None, purpose });
    }

    pub(super) fn ask(
        &mut self,
        at: usize,
        questions: Vec<Value>,
        timeout_ms: Option<u64>,
        purpose: Purpose,
    ) {
        let kind = InterruptKind::Clarification;
        let data = json!({"questions": questions});
        let ballot = Ballot::default();
        self.suspend(at, Question { kind, data, timeout_ms, ballot, held: None, purpose });
        self.emit(Some(at), None, Event::ClarificationRequested { questions });
    }

    /// Nothing comes of a decision or a verdict that is not sure enough, until somebody lets it.
    pub(super) fn escalate(&mut self, at: usize, doubt: Doubt, purpose: Purpose) {
        let Doubt { confidence, floor, worker, decision, cause } = doubt;
        let data = json!({
            "artifactId": self.node_id(at),
            "artifactType": "decision",
            "title": format!("confidence {confidence} is below {floor}"),
            "actions": ["accept", "reject"],
            "artifactData": decision,
        });
        let event = Event::ConfidenceEscalated { confidence, floor, worker, decision };
        self.emit(Some(at), Some(cause), event);
        let (kind, ballot) = (InterruptKind::Approval, Ballot::single(&["accept", "reject"]));
        self.suspend(at, Question { kind, data, timeout_ms: None, ballot, held: None, purpose });
    }

    pub(super) fn ask_about_low_confidence(
        &mut self,
        at: usize,
        held: Held,
        decision: Option<Value>,
        purpose: Purpose,
    ) {
        let mut data = json!({
            "agentId": held.agent,
            "threshold": held.threshold,
            "observed": held.observed,
        });
        if let (Some(decision), Some(data)) = (decision, data.as_object_mut()) {
            data.insert("decision".to_owned(), decision);
        }
        let (kind, ballot) = (InterruptKind::LowConfidence, Ballot::single(&["accept", "reject"]));
        let held = Some(held);
        self.suspend(at, Question { kind, data, timeout_ms: None, ballot, held, purpose });
    }

    pub(super) fn ask_to_merge(&mut self, delivery: Delivery, timeout_ms: Option<u64>) {
        const ACTIONS: [&str; 3] = ["accept", "reject", "edit-accept"];
        let at = delivery.errand.order.at;
        let data = json!({
            "artifactId": delivery.errand.child.as_str(),
            "artifactType": "outputs",
            "title": format!("what `{}` left", delivery.errand.worker),
            "actions": ACTIONS,
            "artifactData": delivery.outputs,
        });
        let (kind, ballot) = (InterruptKind::Approval, Ballot::single(&ACTIONS));
        let purpose = Purpose::Merge(delivery);
        self.suspend(at, Question { kind, data, timeout_ms, ballot, held: None, purpose });
    }

    fn suspend(&mut self, at: usize, question: Question) {
        let Question { kind, data, timeout_ms, ballot, held, purpose } = question;
        let id = format!("interrupt-{}", self.interrupts);
        self.interrupts = self.interrupts.saturating_add(1);
        let count = self.count(at, |place| &mut place.waits);
        let key = format!("{}:{}:{count}", self.id, self.node_id(at));
        let resume_schema = (!ballot.actions.is_empty()).then(|| {
            let properties = json!({"action": {"enum": ballot.actions}});
            json!({"type": "object", "required": ["action"], "properties": properties})
        });
        let data = as_recorded(data);
        let interrupt = Interrupt { id, kind, key, timeout_ms, resume_schema, data };
        let suspended = Event::NodeSuspended {
            interrupt: interrupt.id.clone(),
            kind,
            key: interrupt.key.clone(),
            held,
        };
        self.emit(Some(at), None, suspended);
        self.emit(Some(at), None, Event::InterruptRequested(interrupt.clone()));
        let due_ms = timeout_ms.map(|ms| self.now_ms.saturating_add(ms));
        self.work = Work::Waiting(Box::new(Wait { at, interrupt, due_ms, ballot, purpose }));
    }

    pub(super) fn close_wait(&mut self, wait: &Wait, value: Option<Value>) {
        let Interrupt { id, kind, .. } = &wait.interrupt;
        let event = Event::InterruptResolved { interrupt: id.clone(), kind: *kind, value };
        self.emit(Some(wait.at), None, event);
    }

    pub(super) fn take_answer(&mut self, answer: Answer, by: &str) {
        let Work::Waiting(mut wait) = std::mem::take(&mut self.work) else { return };
        let at = wait.at;
        let ruling = match &answer {
            Answer::Action { action, .. } => {
                let (action, word) = (*action, action.as_str().to_owned());
                let event = Event::ApprovalReceived { action: word, by: Some(by.to_owned()) };
                self.emit(Some(at), None, event);
                match wait.ballot.cast(action, by) {
                    Some(ruling) => ruling,
                    None => return self.work = Work::Waiting(wait),
                }
            }
            Answer::Answers { answers, .. } => {
                let answers = answers.clone();
                self.emit(Some(at), None, Event::ClarificationResolved { answers });
                Ruling::Through(Action::Accept)
            }
        };
        let value = answer.value().clone();
        self.close_wait(&wait, Some(value.clone()));
        let interrupt = wait.interrupt.id.clone();
        self.emit(Some(at), None, Event::NodeResumed { interrupt, value });
        match ruling {
            Ruling::Through(action) => self.go_on(at, wait.purpose, action, answer),
            Ruling::Refused => self.turn_back(at, wait.purpose),
        }
    }

    /// An answer that lets it through.
    fn go_on(&mut self, at: usize, purpose: Purpose, action: Action, answer: Answer) {
        match purpose {
            Purpose::Gate | Purpose::Mock => self.complete_node(at, answer.into_outputs()),
            Purpose::Questions => self.complete_node(at, answer.into_outputs()),
            Purpose::Asked(about) => {
                let word = answer.text(NEXT);
                self.end_turn(at, answer.into_outputs());
                self.supervision(at).owed = match (about, word.as_deref()) {
                    (None, _) | (Some(_), Some(SKIP)) => None,
                    (Some(_), Some(GIVE_UP)) => Some(Owed::GiveUp),
                    (Some(workers), _) => Some(Owed::Again(workers)),
                };
            }
            Purpose::Escalated { decision, decided } => self.follow(at, decision, decided, None),
            Purpose::Held(decision) => self.decide(at, decision),
            Purpose::Merge(mut delivery) => {
                delivery.is_approved = true;
                match answer.into_edited().filter(|_| action == Action::EditAccept) {
                    // What a human wrote is no candidate that a critic let through.
                    Some(outputs) => {
                        delivery.digest = super::verdict::digest(&outputs);
                        delivery.outputs = outputs;
                        delivery.is_verified = false;
                        self.receive(delivery);
                    }
                    None => self.clear(delivery),
                }
            }
            Purpose::Doubted { delivery, .. } => self.clear(delivery),
            Purpose::Withheld { errand, failure } => {
                if matches!(answer.text(NEXT).as_deref(), Some(SKIP | GIVE_UP)) {
                    self.absorb_or_fail(&errand, "completed", failure);
                } else {
                    self.retry(at, failure);
                }
            }
        }
    }

    /// An answer that does not.
    fn turn_back(&mut self, at: usize, purpose: Purpose) {
        let rejected = || Failure::new("approval_rejected", "somebody did not let it through");
        match purpose {
            Purpose::Gate | Purpose::Questions | Purpose::Mock => self.fail_node(at, rejected()),
            Purpose::Merge(delivery) => {
                self.note_withheld(&delivery.errand, "approval_rejected", "approved");
                self.absorb_or_fail(&delivery.errand, "completed", rejected());
            }
            Purpose::Withheld { errand, failure } => {
                self.absorb_or_fail(&errand, "completed", failure);
            }
            Purpose::Asked(_) | Purpose::Escalated { .. } | Purpose::Held(_) => {
                let mut outputs = Map::new();
                outputs.insert("decision".to_owned(), Value::from("rejected"));
                self.end_turn(at, outputs);
            }
            Purpose::Doubted { delivery, keys } => {
                self.withhold(delivery, false, probity_core::Code::slug("not_verified"), keys);
            }
        }
    }

    /// A turn is over, and the next one may begin.
    fn end_turn(&mut self, at: usize, outputs: Map<String, Value>) {
        self.complete_node(at, outputs);
        self.set_through(at, false);
    }

    /// Nobody answered in time.
    pub(super) fn expire_wait(&mut self, wait: Wait) {
        let at = wait.at;
        let is_approval = wait.interrupt.kind == InterruptKind::Approval;
        if is_approval {
            let event = Event::ApprovalReceived { action: "timeout".to_owned(), by: None };
            self.emit(Some(at), None, event);
        }
        self.close_wait(&wait, None);
        let code = if is_approval { "approval_timeout" } else { "clarification_timeout" };
        let failure = Failure::new(code, "nobody answered in time");
        match wait.purpose {
            Purpose::Merge(delivery) => {
                self.note_withheld(&delivery.errand, code, "approved");
                self.absorb_or_fail(&delivery.errand, "completed", failure);
            }
            _ => self.fail_node(at, failure),
        }
    }
}

/// As a log gives it back: canonical JSON writes `1.0` as `1`, and what happened must read the same.
fn as_recorded(data: Value) -> Map<String, Value> {
    let text = probity_record::canonical::jcs(&data).ok();
    let read = text.and_then(|text| probity_record::read_step(&text).ok());
    match read.unwrap_or(data) {
        Value::Object(data) => data,
        _ => Map::new(),
    }
}
