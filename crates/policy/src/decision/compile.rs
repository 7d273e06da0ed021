//! Envelope, pack and decision as the terms of one run. Where two of them differ the stricter holds.

use probity_core::{Code, Feature, MAX_WALL_MS, Rung, StageBudgets, Step, Terms};
use probity_record::blob_digest;
use probity_record::canonical::to_canonical;
use serde::Serialize;

use super::{Decision, FeatureAge, broken, rules};
use crate::envelope::Envelope;
use crate::pack::{AuthorizationMode, Pack, PackRules, TierRules};
use crate::schema::{PolicyFinding, PolicyFindings};

/// What an envelope, a pack and a decision come to for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiled {
    /// The terms that the machine works under. `blocked` is the code of the first of
    /// [`Compiled::blocks`].
    pub terms: Terms,
    /// Wall time of the run in milliseconds: its policy's `wall_ms`.
    pub deadline_ms: u64,
    /// The verifiers of the decision, the pack's first, none twice; all must pass. Empty where nothing
    /// is acted on, or where the verify stage has no time, which no rule then needs. Whether they must
    /// be run is [`Terms::is_required`].
    pub methods: Vec<Method>,
    /// Tool calls in all: its policy's `max_tool_calls`.
    pub max_tool_calls: u64,
    /// The tools that the pack allows. Whoever offers tools keeps to it: nothing else does.
    pub tools: ToolRules,
    /// Version of the envelope.
    pub envelope_version: String,
    /// The pack.
    pub policy_ref: Option<PolicyRef>,
    /// Every rule of safe action that the decision breaks.
    pub blocks: Vec<PolicyFinding>,
    /// What is odd and does not refuse.
    pub warnings: Vec<PolicyFinding>,
    /// Canonical bytes of the envelope and the pack's rules; [`Terms::envelope`] is their digest.
    pub bytes: Vec<u8>,
}

/// A verifier of the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Its wall time in milliseconds, 1 to [`probity_core::MAX_CHECK_MS`].
    pub timeout_ms: u64,
    /// The pack asks for it.
    pub required_by_pack: bool,
}

/// Which tools may be called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRules {
    /// The only ones; `None` means any.
    pub allowed: Option<Vec<String>>,
    /// None of these, allowed or not.
    pub denied: Vec<String>,
}

/// Which pack a decision was made under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRef {
    /// Its name.
    pub policy_pack_id: String,
    /// Its version.
    pub policy_pack_version: String,
    /// Its hash, checked.
    pub policy_pack_hash: String,
}

/// What the envelope's digest covers.
#[derive(Serialize)]
struct Origin<'a> {
    envelope: &'a Envelope,
    pack: Option<(&'a PolicyRef, &'a PackRules)>,
}

/// Compiles the terms of one run.
///
/// - Verification is required when the widest tier is strictly above the envelope's threshold, when
///   the pack asks for it at the tier of an action, or when the pack names verifiers; never where
///   nothing is acted on.
/// - A pack's ladder, where it has one, leaves of the envelope's ladder only the steps it names.
/// - Stale features only warn where the envelope allows that and no action is above its threshold.
/// - `ready` are the steps that this run has a delegate for; `registered` says which verifiers exist.
///
/// # Errors
/// [`PolicyFindings`]: the documents are of different decision types (`decision_type_mismatch`), the
/// pack has no rules for it (`decision_type_unknown`), a verifier does not exist
/// (`method_unknown`), verification is required and there is no verifier (`no_method`), or a document
/// breaks one of its own rules.
pub fn compile(
    envelope: &Envelope,
    pack: Option<&Pack>,
    decision: &Decision,
    now_ms: u64,
    ready: &[Step],
    registered: impl Fn(&str) -> bool,
) -> Result<Compiled, PolicyFindings> {
    let pack_rules = pack.map(|pack| pack.rules_for(&envelope.decision_type)).transpose()?;
    let no_rules = PackRules::default();
    let case = Case { envelope, pack: pack_rules.unwrap_or(&no_rules), decision };
    let mut findings = case.findings(pack_rules, now_ms);
    findings.extend(pack.map(Pack::findings).unwrap_or_default());
    findings.extend(pack.and_then(|pack| origin_differs(envelope, pack)));
    let methods = case.methods(&registered, &mut findings);
    let is_required = case.is_required();
    if is_required && methods.is_empty() {
        let message = "verification is required and there is no verifier; name one in the envelope";
        findings.push(PolicyFinding::error("no_method", "/verification/methods", message));
    }
    let ladder = case.ladder(ready, &mut findings);
    let policy_ref = pack.map(policy_ref);
    let origin = Origin { envelope, pack: policy_ref.as_ref().zip(pack_rules) };
    let bytes = to_canonical(&origin)
        .map_err(|error| PolicyFinding::error("policy_value", error.path.clone(), error))?;
    let blocks = broken::findings(envelope, case.pack, decision);
    let stages = envelope.stage_budgets_ms;
    let terms = Terms {
        envelope: blob_digest(&bytes),
        tier: decision.tier(),
        is_required,
        stages: StageBudgets {
            context_ms: stages.context,
            plan_ms: stages.plan,
            act_ms: stages.act,
            verify_ms: stages.verify,
        },
        features: case.features(now_ms),
        is_stale_soft: case.is_stale_soft(),
        ladder,
        blocked: blocks.first().map(|block| Code::slug(block.code)),
        needs_approval: case.needs_approval(),
    };
    if let Err(error) = terms.validate() {
        findings.push(PolicyFinding::error("policy_value", "", error));
    }
    Ok(Compiled {
        terms,
        deadline_ms: envelope.deadline_ms,
        methods,
        max_tool_calls: envelope.limits.max_tool_calls,
        tools: ToolRules {
            allowed: case.pack.tool_allowlist.clone(),
            denied: case.pack.tool_denylist.clone(),
        },
        envelope_version: envelope.version.clone(),
        policy_ref,
        blocks,
        warnings: PolicyFindings::refuse(findings)?,
        bytes,
    })
}

/// The three documents of one decision.
struct Case<'a> {
    envelope: &'a Envelope,
    /// The pack's rules for this decision type; rules that ask for nothing where there is no pack.
    pack: &'a PackRules,
    decision: &'a Decision,
}

impl Case<'_> {
    /// What the documents' own rules find, and what they find of each other.
    fn findings(&self, pack: Option<&PackRules>, now_ms: u64) -> Vec<PolicyFinding> {
        let mut findings = self.envelope.findings(pack);
        findings.extend(rules::findings(self.decision));
        if self.decision.decision_type != self.envelope.decision_type {
            let message = format!(
                "the decision is of type `{}`, the envelope governs `{}`; take the envelope of the \
                 decision's type",
                self.decision.decision_type, self.envelope.decision_type
            );
            let pointer = "/decisionType";
            findings.push(PolicyFinding::error("decision_type_mismatch", pointer, message));
        }
        let deadline_ms = self.envelope.deadline_ms;
        if !(1..=MAX_WALL_MS).contains(&deadline_ms) {
            let message = format!("the deadline must be 1 to {MAX_WALL_MS} ms; change it");
            findings.push(PolicyFinding::error("policy_value", "/deadlineMs", message));
        }
        findings.extend(self.ages(now_ms));
        findings.extend(self.executions());
        findings
    }

    /// Actions that state more time than the act has.
    fn executions(&self) -> Vec<PolicyFinding> {
        let act_ms = self.envelope.stage_budgets_ms.act;
        let actions = self.decision.actions.iter().enumerate();
        let long = actions.filter_map(|(at, action)| {
            let timeout_ms = action.execution?.timeout_ms.filter(|stated| *stated > act_ms)?;
            let message = format!(
                "the action may take {timeout_ms} ms, the act stage {act_ms} ms: it is stopped there"
            );
            let pointer = format!("/actions/{at}/execution/timeoutMs");
            Some(PolicyFinding::warning("action_over_stage", pointer, message))
        });
        long.collect()
    }

    /// Features that cannot be judged.
    fn ages(&self, now_ms: u64) -> Vec<PolicyFinding> {
        let context = &self.decision.context;
        if context.features.is_empty() && context.captured_at_ms.is_none() {
            let message = "nothing says what the decision is based on, so freshness is not judged; \
                           name features or `capturedAt`";
            return vec![PolicyFinding::warning("context_undated", "/context", message)];
        }
        let stated = context.features.iter().map(|(name, age)| {
            (crate::schema::under("/context/features", name), age.captured_at_ms)
        });
        let whole = ("/context/capturedAt".to_owned(), context.captured_at_ms);
        stated
            .chain([whole])
            .filter(|(_, at_ms)| at_ms.is_some_and(|at_ms| at_ms > now_ms))
            .map(|(pointer, _)| {
                let message = "captured in the future, so it counts as captured now; correct the clock \
                               of its source";
                PolicyFinding::warning("context_future", pointer, message)
            })
            .collect()
    }

    /// In the order of their names; what has no feature is one feature as a whole.
    fn features(&self, now_ms: u64) -> Vec<Feature> {
        let context = &self.decision.context;
        if context.features.is_empty() {
            let ttl_ms = self.envelope.freshness.default_ttl_ms;
            let whole = context.captured_at_ms.map(|at_ms| at_ms.min(now_ms));
            return whole
                .map(|at_ms| Feature { captured_at_ms: at_ms, ttl_ms })
                .into_iter()
                .collect();
        }
        let features = context.features.iter();
        let dated = features.map(|(name, age)| Feature {
            captured_at_ms: captured_at_ms(*age, now_ms),
            ttl_ms: self.envelope.ttl_ms(name),
        });
        dated.collect()
    }

    fn is_required(&self) -> bool {
        let threshold = self.envelope.verification.required_above_blast_radius;
        let Some(tier) = self.decision.tier() else { return false };
        tier.is_above(threshold)
            || !self.pack.required_verifiers.is_empty()
            || self.tier_rules().any(|rules| rules.verification_required)
    }

    fn is_stale_soft(&self) -> bool {
        let threshold = self.envelope.verification.required_above_blast_radius;
        self.envelope.freshness.allow_stale_if_safe
            && self.decision.tier().is_none_or(|tier| !tier.is_above(threshold))
    }

    fn needs_approval(&self) -> bool {
        let hitl = AuthorizationMode::Hitl;
        self.decision.actions.iter().any(|action| action.authorization.mode == hitl)
            || self.tier_rules().any(|rules| rules.authorization_mode == Some(hitl))
    }

    /// What the pack says about the tier of each action.
    fn tier_rules(&self) -> impl Iterator<Item = &TierRules> {
        let of_tier = &self.pack.blast_radius_requirements;
        self.decision.actions.iter().filter_map(|action| of_tier.get(&action.blast_radius_tier))
    }

    fn methods(
        &self,
        registered: &dyn Fn(&str) -> bool,
        findings: &mut Vec<PolicyFinding>,
    ) -> Vec<Method> {
        let timeout_ms = self.envelope.method_timeout_ms();
        let of_pack = self.pack.required_verifiers.iter().map(|name| (name, true));
        let of_envelope = self.envelope.verification.methods.iter().map(|name| (name, false));
        let mut methods: Vec<Method> = Vec::new();
        for (name, required_by_pack) in of_pack.chain(of_envelope) {
            if methods.iter().any(|method| method.name == *name) {
                continue;
            }
            if !registered(name) {
                let whose = if required_by_pack { "pack" } else { "envelope" };
                let message = format!(
                    "the {whose} names the verifier `{name}`, which does not exist; register it or \
                     correct the name"
                );
                let pointer = "/verification/methods";
                findings.push(PolicyFinding::error("method_unknown", pointer, message));
            }
            methods.push(Method { name: name.clone(), timeout_ms, required_by_pack });
        }
        let is_idle = self.decision.actions.is_empty() || timeout_ms == 0;
        if is_idle { Vec::new() } else { methods }
    }

    fn ladder(&self, ready: &[Step], findings: &mut Vec<PolicyFinding>) -> Vec<Rung> {
        let legal = &self.pack.degrade_ladder;
        let mut ladder = Vec::new();
        for (at, rung) in self.envelope.degrade_ladder.iter().enumerate() {
            let step = rung.step;
            if !legal.is_empty() && !legal.contains(&step) {
                let message = format!("`{step}` is not in the pack's ladder, so it is left out");
                let pointer = format!("/degradeLadder/{at}");
                findings.push(PolicyFinding::warning("ladder_step_left_out", pointer, message));
                continue;
            }
            let is_ready = match step {
                Step::Hitl | Step::Abstain => true,
                Step::CacheBundle | Step::SmallModel | Step::RulesOnly => ready.contains(&step),
                Step::Bypass => false,
            };
            ladder.push(Rung { step, max_extra_ms: rung.max_extra_ms, is_ready });
        }
        ladder
    }
}

fn captured_at_ms(age: FeatureAge, now_ms: u64) -> u64 {
    // A feature without either age cannot be parsed; if it was made in code, it is as old as can be.
    // What was captured in the future is taken for captured now: it grows old like everything else.
    match (age.captured_at_ms, age.age_ms) {
        (Some(at_ms), Some(age_ms)) => at_ms.min(now_ms.saturating_sub(age_ms)),
        (Some(at_ms), None) => at_ms.min(now_ms),
        (None, Some(age_ms)) => now_ms.saturating_sub(age_ms),
        (None, None) => 0,
    }
}

fn policy_ref(pack: &Pack) -> PolicyRef {
    PolicyRef {
        policy_pack_id: pack.policy_pack_id.clone(),
        policy_pack_version: pack.version.clone(),
        policy_pack_hash: pack.policy_pack_hash.clone(),
    }
}

fn origin_differs(envelope: &Envelope, pack: &Pack) -> Option<PolicyFinding> {
    let stated = envelope.policy_pack.as_ref()?.policy_pack_hash.as_ref()?;
    if *stated == pack.policy_pack_hash {
        return None;
    }
    let message = format!(
        "the envelope says it was made from the pack `{stated}`, the pack has the hash {}; issue the \
         envelope again from this pack",
        pack.policy_pack_hash
    );
    Some(PolicyFinding::warning("pack_not_origin", "/policyPack/policyPackHash", message))
}
