//! Who would do the work: a program that is not there, a key that is not set, a tool that does not
//! compile.

use std::path::Path;
use std::sync::Arc;

use probity_script::{Host, Limits, ScriptTool};
use probity_verifier::Workspace;
use probity_verifier::spec::Effect;
use serde_json::Value;

use super::Checker;
use crate::prepare::missing_keys;
use crate::request::{Chat, Request, ToolScript};

impl Checker<'_> {
    /// The delegate of a request, and the critics of its checks. Nothing of them is started.
    pub(super) async fn delegate(&mut self, path: &Path, request: &Request) {
        self.warn_of_missing_program(path, "command", &request.command);
        if let Some(acp) = &request.acp {
            self.checked.ok(self.name(path, "acp"), acp.command.join(" "));
            self.warn_of_missing_program(path, "acp", &acp.command);
        }
        if let Some(chat) = &request.chat {
            self.chat(path, chat).await;
        }
        for check in &request.expect {
            let Effect::Agent(agent) = &check.effect else { continue };
            self.warn_of_missing_program(path, "agent", &agent.command);
            let chat = agent.chat.clone().map(|chat| serde_json::from_value(Value::Object(chat)));
            if let Some(Ok(chat)) = chat {
                self.warn_of_missing_key(path, "agent", &chat);
            }
        }
    }

    async fn chat(&mut self, path: &Path, chat: &Chat) {
        if let (Some(endpoint), Some(model)) = (&chat.endpoint, &chat.model) {
            let tools: Vec<&str> = chat.tools.iter().map(|tool| tool.name.as_str()).collect();
            let servers: Vec<&str> = chat.mcp.keys().map(String::as_str).collect();
            let mut text = format!("{model} at {endpoint}");
            for (what, names) in [("tools", tools), ("servers", servers)] {
                if !names.is_empty() {
                    text.push_str(&format!("; {what} {}", names.join(", ")));
                }
            }
            self.checked.ok(self.name(path, "chat"), text);
            self.warn_of_missing_key(path, "chat", chat);
        }
        for (server, mcp) in &chat.mcp {
            self.warn_of_missing_program(path, &format!("mcp {server}"), &mcp.command);
        }
        for tool in &chat.tools {
            self.tool(path, tool).await;
        }
    }

    fn warn_of_missing_key(&mut self, path: &Path, key: &str, chat: &Chat) {
        for variable in missing_keys([chat]) {
            let message =
                format!("`{variable}` is not set here, which should hold the model's key");
            self.checked.warning(self.name(path, key), "model_key_missing", message);
        }
    }

    /// A tool compiles, and its top level runs.
    async fn tool(&mut self, path: &Path, tool: &ToolScript) {
        let name = self.name(path, &format!("tool {}", tool.name));
        let script = match tool.read() {
            Ok(script) => script,
            Err(message) => return self.checked.error(name, "script_read", message),
        };
        let Ok(workspace) = Workspace::open(&self.root) else { return };
        let (host, limits) = (Host::default(), Limits::default());
        let made = ScriptTool::new(script, host, limits, self.execution(), Arc::new(workspace));
        let checked = match made {
            Ok(tool) => tool.check().await,
            Err(fault) => Err(fault),
        };
        match checked {
            Ok(()) => self.checked.ok(name, "compiles"),
            Err(fault) => self.fault(name, &fault),
        }
    }
}
