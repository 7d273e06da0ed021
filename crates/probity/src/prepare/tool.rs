//! Tools in Starlark, for a chat model.

use std::path::Component;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use probity_chat::{Tool, ToolContext, ToolError, ToolOutput, ToolReply, ToolSpec};
use probity_core::Fault;
use probity_script::{Host, ScriptTool};
use probity_verifier::path_of;
use serde_json::Value;

use super::PrepareError;
use super::builder::{Builder, limits};
use crate::request::{Millis, ToolScript};

/// Wall time of a call where the tool names none.
const DEFAULT_CALL: Millis = Millis::new(30_000);
/// Faults that every call would end in: a model that asks once more would ask in vain.
const BROKEN: [&str; 4] = ["script_syntax", "script_name", "script_no_run", "script_top_level"];

impl Builder<'_> {
    /// Puts the files of tools under seal: a run that is taken up again with others says so.
    pub(super) fn seal_tools(&mut self) -> Result<(), PrepareError> {
        let tools = self.request.chat.iter().flat_map(|chat| &chat.tools);
        for file in tools.filter_map(|tool| tool.script_file.as_ref()) {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            self.judge = self.judge.clone().file(file)?;
        }
        Ok(())
    }

    /// The tools of a request. They may not change what the judge is made of, nor themselves.
    pub(super) fn tools(&self, scripts: &[ToolScript]) -> Result<Vec<Arc<dyn Tool>>, PrepareError> {
        if scripts.is_empty() {
            return Ok(Vec::new());
        }
        let host = Host { protected: self.protected(scripts), ..self.host() };
        scripts.iter().map(|tool| self.tool(tool, &host)).collect()
    }

    fn tool(&self, tool: &ToolScript, host: &Host) -> Result<Arc<dyn Tool>, PrepareError> {
        let timeout_ms = tool.timeout.unwrap_or(DEFAULT_CALL).get();
        let script = tool.read().map_err(PrepareError::Script)?;
        let (host, workspace) = (host.clone(), Arc::clone(&self.workspace));
        let limits = limits(timeout_ms);
        let script = ScriptTool::new(script, host, limits, self.execution(), workspace)
            .map_err(|fault| PrepareError::Limits(fault.message))?;
        let spec = ToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        };
        Ok(Arc::new(Scripted { spec, script, timeout: Duration::from_millis(timeout_ms) }))
    }

    /// Everything under seal, and the files of the tools: by the names they were given, and by those
    /// that lead to no other place.
    fn protected(&self, scripts: &[ToolScript]) -> Vec<String> {
        let root = self.workspace.root();
        let judge = self.judge.look();
        let sealed =
            judge.iter().map(|(key, _)| root.join(path_of(key).unwrap_or_else(|| key.into())));
        let own = scripts.iter().filter_map(|tool| tool.script_file.as_ref());
        let own = own.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        let mut protected = Vec::new();
        for path in sealed.chain(own) {
            let real = std::fs::canonicalize(&path).ok();
            // A name with `..` in it is refused by whoever keeps off it; the real one says the same.
            let given =
                Some(path).filter(|path| path.components().all(|it| it != Component::ParentDir));
            let names = given.into_iter().chain(real);
            protected.extend(names.map(|path| path.to_string_lossy().into_owned()));
        }
        protected.sort_unstable();
        protected.dedup();
        protected
    }
}

/// A script as a tool.
#[derive(Debug)]
struct Scripted {
    spec: ToolSpec,
    script: ScriptTool,
    timeout: Duration,
}

#[async_trait]
impl Tool for Scripted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolReply, ToolError> {
        let called = self.script.call(arguments, now(ctx), self.timeout, &ctx.cancel).await;
        let output = called.map_err(|fault| self.failed(&fault))?;
        let said = ToolOutput::json(output.content);
        Ok(ToolReply::Done(ToolOutput { is_error: output.is_error, ..said }))
    }

    async fn verify(
        &self,
        ctx: &ToolContext,
        arguments: &Value,
        output: &ToolOutput,
    ) -> Result<(), String> {
        if !self.script.defines_verify() || output.is_error {
            return Ok(());
        }
        // A result that is JSON was made from a value, which the script gets back as it was.
        let result = serde_json::from_str(&output.content)
            .ok()
            .filter(|value: &Value| !value.is_string())
            .unwrap_or_else(|| output.content.as_str().into());
        let (now, cancel) = (now(ctx), &ctx.cancel);
        match self.script.verify(arguments, &result, now, self.timeout, cancel).await {
            Ok(opinion) => opinion,
            Err(fault) => Err(format!("the result could not be checked: {fault}")),
        }
    }
}

impl Scripted {
    fn failed(&self, fault: &Fault) -> ToolError {
        let message = match &fault.location {
            Some(location) => format!("{fault} (at {location})"),
            None => fault.to_string(),
        };
        match BROKEN.contains(&fault.code.as_str()) {
            true => ToolError::Fatal { message: format!("`{}`: {message}", self.spec.name) },
            false => ToolError::Failed { message },
        }
    }
}

fn now(ctx: &ToolContext) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(ctx.now_ms)).unwrap_or(UNIX_EPOCH)
}
