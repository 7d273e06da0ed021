//! Our own host with one rule of verification turned off at a time: between what its conductor keeps and
//! what its callers are told.

use std::sync::Arc;

use async_trait::async_trait;
use probity_conductor::{Begun, ConductError, DefinitionDiffers, Fork, Page};
use probity_core::{Code, RunId};
use probity_host::{Conducted, Follow, Runs};
use probity_workflow::{
    Criterion, Decision, Definition, Entry, Event, Input, Judgement, Origin, Phase, Snapshot, Start,
};
use serde_json::{Value, json};
use tokio::sync::broadcast;

/// A rule that is turned off, by its letter in the list of checks that the official suite lacks, or by its
/// number among the weaknesses that the specification leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// (a) What failed is kept out.
    FailKeepsOut,
    /// (b) No success over it.
    NoSuccess,
    /// (c) What is to be revised takes another turn.
    ReviseTurns,
    /// (c) Turns are bounded.
    ReviseBounded,
    /// (d) Targets exist.
    TargetResolves,
    /// (e) Verdicts tell nothing.
    NoContent,
    /// (e), W11 Nor do the keys of what was checked.
    PlainCriteria,
    /// (f), W9 A critic that broke lets nothing through.
    BrokenCritic,
    /// (f), W9 Nor does one that never answers.
    SilentCritic,
    /// W1 Nor does one that checks its own work.
    OtherCritic,
    /// (g) A later fail is not outvoted.
    Contradiction,
    /// (h) A replay repeats its verdicts.
    ReplayKeeps,
    /// (i) Verdict and merge together, in this order.
    VerdictBeforeMerge,
    /// W6 What failed is done anew, and the old is out of it.
    FailStands,
    /// RFC 0041 A replay that parts at a refusal says so.
    DivergenceTold,
    /// W10 What is taken over is what was checked.
    BoundToBytes,
}

/// Runs of a conductor, with a rule turned off: where one workflow shows it, in that one, so that what is
/// caught is that rule and nothing that follows from it elsewhere.
pub(crate) struct Broken {
    pub(crate) runs: Conducted,
    pub(crate) rule: Rule,
}

impl Broken {
    fn is(&self, rule: Rule) -> bool {
        self.rule == rule
    }

    /// The log as it is told, with places of its own.
    fn told(&self, entries: Vec<Arc<Entry>>, is_fork: bool, begun: &Begin) -> Vec<Entry> {
        let mut told: Vec<Entry> = Vec::new();
        let mut entries = entries.into_iter().peekable();
        while let Some(entry) = entries.next() {
            let is_judged =
                entries.peek().is_some_and(|next| matches!(next.event, Event::AgentVerified(_)));
            let mut entry = Arc::unwrap_or_clone(entry);
            let at = told.len();
            match &mut entry.event {
                Event::AgentVerified(verification) => {
                    if self.is(Rule::TargetResolves) && begun.of(&["give-up"]) {
                        verification.target = RunId::from_uuid(7);
                    }
                    if self.is(Rule::NoContent) && begun.of(&["give-up"]) {
                        verification.agent = begun.content.clone();
                    }
                    if self.is(Rule::PlainCriteria) {
                        verification.criteria = vec![Code::slug(&begun.content)];
                    }
                    if self.is(Rule::ReplayKeeps) && is_fork {
                        verification.confidence = Some(0.1);
                    }
                    let is_fail = verification.verdict == Judgement::Fail;
                    let (target, cause) = (verification.target.clone(), entry.cause);
                    let merges = is_fail
                        && match self.rule {
                            Rule::FailKeepsOut => begun.of(&["give-up"]),
                            Rule::Contradiction => begun.of(&["contradiction"]),
                            Rule::FailStands => begun.of(&["again"]),
                            _ => false,
                        };
                    told.push(entry.clone());
                    if merges {
                        told.push(harvest(&entry, &target, cause));
                    }
                    continue;
                }
                Event::Handoff { phase: Phase::Harvested, .. }
                    if self.is(Rule::VerdictBeforeMerge) =>
                {
                    told.insert(at.saturating_sub(1), entry);
                    continue;
                }
                Event::Handoff { phase: Phase::ChildCompleted, child: Some(child), .. }
                    if !is_judged && self.lets_through(begun) =>
                {
                    let child = child.clone();
                    told.push(entry.clone());
                    told.push(harvest(&entry, &child, entry.cause));
                    continue;
                }
                Event::SupervisorDecided { decision, iteration, .. } => {
                    if let Decision::Terminate { success_criteria: Some(criteria), .. } = decision
                        && self.is(Rule::NoSuccess)
                        && begun.of(&["give-up"])
                    {
                        *criteria = vec![Criterion { key: "verified".to_owned(), met: true }];
                    }
                    if self.is(Rule::ReviseTurns) && begun.of(&["revise"]) {
                        *iteration = 1;
                    }
                }
                Event::ReplayDivergedAtRefusal { .. } if self.is(Rule::DivergenceTold) => continue,
                Event::CapBreached(breach) if self.is(Rule::ReviseBounded) => {
                    breach.observed = breach.limit
                }
                _ => {}
            }
            told.push(entry);
        }
        for (sequence, entry) in (0..).zip(&mut told) {
            entry.sequence = sequence;
        }
        told
    }

    async fn log(&self, run: &RunId) -> Result<Option<(Vec<Entry>, bool)>, ConductError> {
        let Some(page) = self.runs.entries(run, 0, 10_000).await? else { return Ok(None) };
        let start = self.runs.start(run).await?;
        let is_fork = matches!(
            start.as_ref().and_then(|start| start.origin.as_ref()),
            Some(Origin::Fork { .. })
        );
        let begun = Begin::of_start(start.as_ref());
        let Page { entries, is_complete } = page;
        Ok(Some((self.told(entries, is_fork, &begun), is_complete)))
    }

    /// Whether a child is taken over although no critic said anything of it.
    fn lets_through(&self, begun: &Begin) -> bool {
        match self.rule {
            Rule::BrokenCritic => begun.of(&["fault"]),
            Rule::SilentCritic => begun.of(&["hang"]),
            Rule::OtherCritic => begun.of(&["self"]),
            _ => false,
        }
    }
}

/// What a run began with, as far as it matters here.
struct Begin {
    workflow: String,
    content: String,
}

impl Begin {
    fn of_start(start: Option<&Start>) -> Self {
        let content = start.and_then(|start| start.inputs.get("task")).and_then(Value::as_str);
        let workflow = start.map(|start| start.definition.id().to_owned()).unwrap_or_default();
        Self { workflow, content: content.unwrap_or("no content").to_owned() }
    }

    /// Whether it runs one of these fixtures of verification.
    fn of(&self, names: &[&str]) -> bool {
        let name = self.workflow.strip_prefix("conformance-verifier-");
        name.is_some_and(|name| names.contains(&name))
    }
}

/// A step that says that a child was taken over.
fn harvest(after: &Entry, child: &RunId, cause: Option<u64>) -> Entry {
    let event = Event::Handoff {
        phase: Phase::Harvested,
        worker: "conformance-verifier-child".to_owned(),
        child: Some(child.clone()),
        harvested: Some(vec!["result".to_owned()]),
        checksum: None,
        error: None,
    };
    Entry { cause, event, ..after.clone() }
}

#[async_trait]
impl Runs for Broken {
    fn definition(&self, id: &str) -> Option<Arc<Definition>> {
        self.runs.definition(id)
    }

    fn define(&self, definition: Definition) -> Result<Arc<Definition>, DefinitionDiffers> {
        self.runs.define(definition)
    }

    async fn begin(&self, run: &RunId, start: Start) -> Result<Begun, ConductError> {
        self.runs.begin(run, start).await
    }

    async fn tell(&self, run: &RunId, input: Input) -> Result<Snapshot, ConductError> {
        self.runs.tell(run, input).await
    }

    async fn snapshot(&self, run: &RunId) -> Result<Option<Snapshot>, ConductError> {
        let mut snapshot = self.runs.snapshot(run).await?;
        if let Some(snapshot) = &mut snapshot
            && self.is(Rule::Contradiction)
            && snapshot.variables.contains_key("second")
        {
            snapshot.variables.insert("second".to_owned(), json!("made by the second child"));
        }
        if let Some(snapshot) = &mut snapshot
            && self.is(Rule::BoundToBytes)
            && snapshot.workflow == "conformance-verifier-pass"
        {
            snapshot.variables.insert("result".to_owned(), json!("something else"));
        }
        Ok(snapshot)
    }

    async fn start(&self, run: &RunId) -> Result<Option<Start>, ConductError> {
        self.runs.start(run).await
    }

    async fn entries(
        &self,
        run: &RunId,
        from_sequence: u64,
        max: usize,
    ) -> Result<Option<Page>, ConductError> {
        let Some((mut entries, is_ended)) = self.log(run).await? else { return Ok(None) };
        entries.retain(|entry| entry.sequence >= from_sequence);
        let is_complete = is_ended && entries.len() <= max;
        entries.truncate(max);
        Ok(Some(Page { entries: entries.into_iter().map(Arc::new).collect(), is_complete }))
    }

    async fn follow(
        &self,
        run: &RunId,
        from_sequence: u64,
    ) -> Result<Option<Box<dyn Follow>>, ConductError> {
        self.runs.follow(run, from_sequence).await
    }

    async fn fork(&self, source: &RunId, run: &RunId, fork: Fork) -> Result<Begun, ConductError> {
        self.runs.fork(source, run, fork).await
    }

    async fn list(
        &self,
        after: Option<u64>,
        max: usize,
    ) -> Result<Vec<(RunId, u64)>, ConductError> {
        self.runs.list(after, max).await
    }

    fn subscribe(&self) -> broadcast::Receiver<(RunId, Arc<Entry>)> {
        self.runs.subscribe()
    }
}
