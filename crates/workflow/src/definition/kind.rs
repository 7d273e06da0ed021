//! What a node does, by its `typeId`, with its `config`.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::dispatch::DispatchConfig;
use super::problem::Problems;
use super::read::{list, typed};
use super::sub::SubConfig;
use super::supervisor::{self, SupervisorConfig};

/// Questions of one node, approvers of a gate, calls of a stated agent.
const MAX_ENTRIES: usize = 100;

/// What a request to a model that says what it was told to is known by.
pub const MOCK_MODEL: &str = "conformanceMockModel";

/// What a node does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Noop,
    Fail { code: String, message: String },
    Delay { delay: Option<Value> },
    Identity,
    Approval(ApprovalConfig),
    Questions(QuestionsConfig),
    Supervisor(SupervisorConfig),
    Dispatch(DispatchConfig),
    Sub(SubConfig),
    Delegation(DelegationConfig),
    Mock(MockConfig),
}

/// Somebody is to let something through. Whatever else the config says goes to them as it is.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ApprovalConfig {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) artifact_id: Option<String>,
    pub(crate) artifact_type: Option<String>,
    pub(crate) artifact_data: Option<Value>,
    pub(crate) actions: Vec<String>,
    pub(crate) required_approvals: Option<u64>,
    pub(crate) approvers_list: Vec<String>,
    pub(crate) rejection_policy: Option<RejectionPolicy>,
    pub(crate) timeout_ms: Option<u64>,
}

/// When rejections outweigh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RejectionPolicy {
    /// One is enough.
    SingleVeto,
    /// More than half of the approvals that are asked for.
    Majority,
}

/// Questions are to be answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct QuestionsConfig {
    pub(crate) questions: Vec<Value>,
    pub(crate) timeout_ms: Option<u64>,
}

/// Work for the delegation engine.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DelegationConfig {
    pub(crate) request: Map<String, Value>,
    #[serde(default)]
    pub(crate) output_variable: Option<String>,
    #[serde(default)]
    pub(crate) agent_id: Option<String>,
}

/// What a stated agent does.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MockConfig {
    pub(crate) mock_reasoning: Option<Value>,
    pub(crate) mock_tool_calls: Vec<MockCall>,
    pub(crate) mock_handoff: Option<MockHandoff>,
    pub(crate) mock_decision: Option<MockDecision>,
}

/// A call that it makes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MockCall {
    #[serde(alias = "toolName")]
    pub(crate) tool_id: String,
    #[serde(default)]
    pub(crate) error: Option<Value>,
}

/// Whom it hands over to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MockHandoff {
    pub(crate) to_agent_id: String,
}

/// What it decides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct MockDecision {
    pub(crate) decision: Value,
    #[serde(default)]
    pub(crate) confidence: Option<f64>,
}

/// The kind of a type, `None` where nobody here knows it.
pub(super) fn read(
    problems: &mut Problems,
    type_id: &str,
    config: Option<&Value>,
    path: &str,
    is_conformance: bool,
) -> Option<Kind> {
    let given = |key: &str| config.and_then(|config| config.get(key)).and_then(Value::as_str);
    let stated = config.and_then(|config| config.get("code").or_else(|| config.get("errorCode")));
    Some(match type_id {
        "core.noop" => Kind::Noop,
        "core.fail" => Kind::Fail {
            code: stated.and_then(Value::as_str).unwrap_or("node_failed").to_owned(),
            message: given("message").unwrap_or("the node is made to fail").to_owned(),
        },
        "core.delay" => {
            let delay = config.and_then(|c| c.get("delayMs").or_else(|| c.get("durationMs")));
            Kind::Delay { delay: delay.cloned() }
        }
        "core.identity" => Kind::Identity,
        "core.approvalGate" => Kind::Approval(approval(problems, config, path)),
        "core.clarificationGate" => Kind::Questions(questions(problems, config, path)),
        "core.orchestrator.supervisor" => {
            Kind::Supervisor(supervisor::read(problems, config, path, is_conformance))
        }
        "core.dispatch" => Kind::Dispatch(super::dispatch::read(problems, config, path)),
        "core.subWorkflow" => Kind::Sub(super::sub::read(problems, config, path)),
        "probity.delegation" => Kind::Delegation(delegation(problems, config, path)),
        "core.ai.structuredOutput" if is_conformance => Kind::Delegation(mock_model(config)),
        "core.conformance.mock-agent" if is_conformance => Kind::Mock(mock(problems, config, path)),
        _ => return None,
    })
}

fn approval(problems: &mut Problems, config: Option<&Value>, path: &str) -> ApprovalConfig {
    const ACTIONS: [&str; 4] = ["accept", "reject", "refine", "edit-accept"];
    let mut approval: ApprovalConfig = typed(problems, config, path);
    if approval.actions.is_empty() {
        approval.actions = vec!["accept".to_owned(), "reject".to_owned()];
    }
    if !approval.actions.iter().all(|action| ACTIONS.contains(&action.as_str())) {
        problems.add(format!("{path}/actions"), format!("give some of {ACTIONS:?}"));
    }
    if approval.required_approvals == Some(0) {
        problems.add(format!("{path}/requiredApprovals"), "at least one");
    }
    if approval.approvers_list.len() > MAX_ENTRIES {
        problems.add(format!("{path}/approversList"), format!("no more than {MAX_ENTRIES}"));
    }
    let asked = approval.required_approvals.unwrap_or(1);
    let most = if approval.approvers_list.is_empty() {
        MAX_ENTRIES
    } else {
        approval.approvers_list.len()
    };
    if asked > u64::try_from(most).unwrap_or(u64::MAX) {
        problems
            .add(format!("{path}/requiredApprovals"), format!("no more than {most} can approve"));
    }
    approval.timeout_ms = approval.timeout_ms.filter(|ms| *ms > 0);
    approval
}

fn questions(problems: &mut Problems, config: Option<&Value>, path: &str) -> QuestionsConfig {
    let given = config.and_then(|config| config.get("questions"));
    let path = format!("{path}/questions");
    let questions = list(problems, given, &path, MAX_ENTRIES).to_vec();
    if questions.is_empty() {
        problems.add(&path, "give at least one question");
    }
    let mut ids: Vec<&str> = Vec::new();
    for (at, question) in questions.iter().enumerate() {
        let id = question.get("id").and_then(Value::as_str).unwrap_or_default();
        let text = question.get("question").and_then(Value::as_str).unwrap_or_default();
        if id.is_empty() || text.is_empty() || ids.contains(&id) {
            problems.add(format!("{path}/{at}"), "give `id`, used once, and `question`");
        }
        ids.push(id);
    }
    let stated = config.and_then(|config| config.get("timeoutMs")).filter(|ms| !ms.is_null());
    let timeout_ms = stated.and_then(Value::as_u64);
    if stated.is_some() && timeout_ms.is_none() {
        problems.add(&path, "`timeoutMs` beside them must be a whole number of milliseconds");
    }
    QuestionsConfig { questions, timeout_ms: timeout_ms.filter(|ms| *ms > 0) }
}

fn delegation(problems: &mut Problems, config: Option<&Value>, path: &str) -> DelegationConfig {
    let config: DelegationConfig = typed(problems, config, path);
    if config.request.is_empty() {
        problems.add(format!("{path}/request"), "give the request of a delegation");
    }
    if config.agent_id.as_ref().is_some_and(|id| !(3..=256).contains(&id.chars().count())) {
        problems.add(format!("{path}/agentId"), "give 3 to 256 characters");
    }
    if config.output_variable.as_ref().is_some_and(String::is_empty) {
        problems.add(format!("{path}/outputVariable"), "give the name of a variable");
    }
    config
}

/// A call of a model that says what it was told to. It is carried out as every delegation is.
fn mock_model(config: Option<&Value>) -> DelegationConfig {
    let mut request = Map::new();
    request.insert(MOCK_MODEL.to_owned(), Value::Bool(true));
    request.extend(config.map(|config| ("call".to_owned(), config.clone())));
    let named = |key: &str| config.and_then(|config| config.get(key)).and_then(Value::as_str);
    let output_variable = named("outputVariable").map(str::to_owned);
    DelegationConfig { request, output_variable, agent_id: None }
}

fn mock(problems: &mut Problems, config: Option<&Value>, path: &str) -> MockConfig {
    let mock: MockConfig = typed(problems, config, path);
    if mock.mock_tool_calls.len() > MAX_ENTRIES {
        problems.add(format!("{path}/mockToolCalls"), format!("no more than {MAX_ENTRIES}"));
    }
    mock
}
