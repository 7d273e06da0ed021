//! An agent whose every word is stated beforehand: only in definitions named `conformance-*`.

use serde_json::{Map, Value};

use super::Run;
use super::state::Purpose;
use crate::definition::{MockConfig, Node};
use crate::event::{Event, Held};

impl Run {
    pub(super) fn play(&mut self, at: usize, node: &Node, config: &MockConfig) {
        let agent = node.agent.clone().unwrap_or_else(|| format!("mock.{}", node.id));
        if let Some(reasoning) = &config.mock_reasoning {
            let text = reasoning.get("summary").unwrap_or(reasoning).as_str();
            let reasoning = text.unwrap_or_default().to_owned();
            self.emit(Some(at), None, Event::AgentReasoned { agent: agent.clone(), reasoning });
        }
        for (n, called) in config.mock_tool_calls.iter().enumerate() {
            let (agent, tool) = (agent.clone(), called.tool_id.clone());
            let call = format!("{}.{n}", node.id);
            let status = if called.error.is_some() { "error" } else { "ok" }.to_owned();
            let event = Event::AgentToolCalled {
                agent: agent.clone(),
                tool: tool.clone(),
                call: call.clone(),
            };
            let cause = self.emit(Some(at), None, event);
            let event = Event::AgentToolReturned { agent, tool, call, status };
            self.emit(Some(at), Some(cause), event);
        }
        if let Some(handoff) = &config.mock_handoff {
            let (from, to) = (agent.clone(), handoff.to_agent_id.clone());
            self.emit(Some(at), None, Event::AgentHandoff { from, to });
        }
        let mut outputs = Map::new();
        if let Some(decided) = &config.mock_decision {
            let (decision, confidence) = (decided.decision.clone(), decided.confidence);
            outputs.insert("decision".to_owned(), decision.clone());
            let event = Event::AgentDecided { agent: agent.clone(), decision, confidence };
            self.emit(Some(at), None, event);
            let threshold = self.start.terms.escalation_threshold;
            if let Some(observed) = confidence.filter(|sure| *sure < threshold) {
                let held = Held { agent, threshold, observed };
                let decision: Option<Value> = Some(decided.decision.clone());
                return self.ask_about_low_confidence(at, held, decision, Purpose::Mock);
            }
        }
        self.complete_node(at, outputs);
    }
}
