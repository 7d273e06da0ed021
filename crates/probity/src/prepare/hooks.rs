//! Hooks of a request as the engine calls them.

use std::sync::Arc;

use probity_core::{CheckDecl, Code, Fault, HookDecl, Subject};
use probity_engine::{Check, Decider, Handler, Hook, VerifyEvent, VerifyHook};
use probity_policy::{HookArtifact, HookEvent, ToolRules, in_order};
use probity_script::{Script, ScriptHook};

use super::PrepareError;
use super::builder::{Builder, limits, script_error};
use super::refusing::{Callers, Tools};
use crate::handler::ScriptHandler;

/// Wall time of holding tool calls against a list of names.
const TOOLS_MS: u64 = 10_000;

impl Builder<'_> {
    /// Adds the hooks by priority, a caller's behind the operator's: those that verify are checks.
    pub(super) fn add_hooks(&mut self) -> Result<(), PrepareError> {
        let count = self.request.hooks.len().saturating_sub(self.request.callers_hooks);
        let (operators, callers) = self.request.hooks.split_at(count);
        let operators = in_order(operators.to_vec()).into_iter().map(|hook| (hook, false));
        let callers = in_order(callers.to_vec()).into_iter().map(|hook| (hook, true));
        for (artifact, is_callers) in operators.chain(callers) {
            let timeout_ms = artifact.timeout_ms;
            let id = self.free_hook_id(&artifact.name);
            let verifies = match artifact.event {
                HookEvent::PostVerify => Some(VerifyEvent::PostVerify),
                HookEvent::ToolPre => Some(VerifyEvent::ToolPre),
                HookEvent::ToolPost => Some(VerifyEvent::ToolPost),
                _ => None,
            };
            let point = artifact.event.point();
            if verifies.is_none() && point.is_none() {
                // A custom event: nothing in a run raises it.
                continue;
            }
            let handler: Arc<dyn Handler> = Arc::new(ScriptHandler(self.hook(&artifact)?));
            if let Some(event) = verifies {
                let handler = if is_callers { Arc::new(Callers(handler)) } else { handler };
                let decl = CheckDecl { id, subject: Subject::Hook, timeout_ms };
                let by = Decider::Hook(VerifyHook { event, handler });
                self.checks.push(Check { decl, by });
            } else if let Some(point) = point {
                self.hooks.push(Hook { decl: HookDecl { id, point, timeout_ms }, handler });
            }
        }
        Ok(())
    }

    /// Holds the tool calls that a claim reports against the policy pack.
    pub(super) fn add_tool_rules(&mut self, rules: ToolRules) {
        if rules.allowed.is_none() && rules.denied.is_empty() {
            return;
        }
        let id = self.free_hook_id(&Code::slug("policy_pack.tools"));
        let decl = CheckDecl { id, subject: Subject::Hook, timeout_ms: TOOLS_MS };
        let hook = VerifyHook { event: VerifyEvent::ToolPre, handler: Arc::new(Tools(rules)) };
        self.checks.push(Check { decl, by: Decider::Hook(hook) });
    }

    /// A hook's script, under seal.
    pub(crate) fn hook(&mut self, artifact: &HookArtifact) -> Result<ScriptHook, PrepareError> {
        let script = Script::new(artifact.name.as_str(), artifact.script.as_str());
        let script = script.map_err(script_error)?;
        let label = format!("hook {}", artifact.name);
        self.judge = self.judge.clone().text(&label, script.source().as_bytes());
        let (when, limits) = (artifact.when.clone(), limits(artifact.timeout_ms));
        ScriptHook::new(script, when, self.host(), limits, self.execution())
            .map_err(|fault: Fault| PrepareError::Limits(fault.message))
    }

    /// A hook's name; another where a check has it.
    fn free_hook_id(&self, name: &Code) -> Code {
        let is_taken = |id: &Code| {
            self.checks.iter().any(|check| check.decl.id == *id)
                || self.hooks.iter().any(|hook| hook.decl.id == *id)
        };
        if !is_taken(name) {
            return name.clone();
        }
        let numbered = (2_u32..).map(|number| Code::slug(&format!("hook_{number}_{name}")));
        numbered.take(10_000).find(|id| !is_taken(id)).unwrap_or_else(|| name.clone())
    }
}
