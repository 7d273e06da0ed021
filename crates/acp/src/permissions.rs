//! What is answered when an agent asks for permission.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema;
use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::workspace::Workspace;

/// Ordered rules; the first that matches decides.
///
/// Whatever the rules say, a change of a file outside the workspace is rejected where the agent tells
/// the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permissions {
    /// The rules, in the order in which they are tried.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What is decided where no rule matches.
    #[serde(default)]
    pub default: Decision,
}

/// One rule. It matches when everything it names matches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The kind of tool call; any when not set.
    #[serde(default)]
    pub kind: Option<ToolKind>,
    /// Pattern of the title that the agent gives the call. `*` matches any text.
    #[serde(default)]
    pub title: Option<String>,
    /// Pattern of the files that the call names, relative to the workspace. `*` stops at `/`, `**`
    /// does not. To allow, all files must match, and there must be one; to reject, one is enough.
    #[serde(default)]
    pub path: Option<String>,
    /// What to answer.
    pub decision: Decision,
}

/// What to answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The agent may, this once.
    Allow,
    /// The agent may not.
    #[default]
    Reject,
}

/// The kind of a tool call, as the protocol has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Removes files.
    Delete,
    /// Moves or renames files.
    Move,
    /// Searches.
    Search,
    /// Runs commands.
    Execute,
    /// Reasons.
    Think,
    /// Fetches from elsewhere.
    Fetch,
    /// Changes the session mode.
    SwitchMode,
    /// Anything else, and what the agent does not tell.
    #[default]
    Other,
}

impl ToolKind {
    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::SwitchMode => "switch_mode",
            Self::Other => "other",
        }
    }

    pub(crate) const fn changes_files(self) -> bool {
        matches!(self, Self::Edit | Self::Delete | Self::Move)
    }
}

impl From<schema::ToolKind> for ToolKind {
    fn from(kind: schema::ToolKind) -> Self {
        match kind {
            schema::ToolKind::Read => Self::Read,
            schema::ToolKind::Edit => Self::Edit,
            schema::ToolKind::Delete => Self::Delete,
            schema::ToolKind::Move => Self::Move,
            schema::ToolKind::Search => Self::Search,
            schema::ToolKind::Execute => Self::Execute,
            schema::ToolKind::Think => Self::Think,
            schema::ToolKind::Fetch => Self::Fetch,
            schema::ToolKind::SwitchMode => Self::SwitchMode,
            _ => Self::Other,
        }
    }
}

impl Permissions {
    /// Reads the patterns.
    pub(crate) fn compile(&self) -> Result<Policy, ConfigError> {
        let mut rules = Vec::with_capacity(self.rules.len());
        for (index, rule) in self.rules.iter().enumerate() {
            let glob = |pattern: &Option<String>, stops: bool| {
                let built = pattern
                    .as_deref()
                    .map(|pattern| GlobBuilder::new(pattern).literal_separator(stops).build());
                built.transpose().map(|glob| glob.map(|glob| glob.compile_matcher())).map_err(
                    |error| ConfigError::Glob { rule: index + 1, detail: error.to_string() },
                )
            };
            rules.push(Compiled {
                kind: rule.kind,
                title: glob(&rule.title, false)?,
                path: glob(&rule.path, true)?,
                decision: rule.decision,
            });
        }
        Ok(Policy { rules, default: self.default })
    }
}

/// What an agent asks permission for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The kind of the call.
    pub(crate) kind: ToolKind,
    /// Its title.
    pub(crate) title: String,
    /// The files that it names.
    pub(crate) paths: Vec<PathBuf>,
    /// It names more files than are listed.
    pub(crate) names_more: bool,
    /// The call changes a file, whatever its kind says now: it shows a change, or was said to be one.
    pub(crate) changes: bool,
}

/// A decision and its ground.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) decision: Decision,
    /// `rule 2`, `default`, `outside the workspace`.
    pub(crate) because: String,
}

/// Permissions, ready to decide.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    rules: Vec<Compiled>,
    default: Decision,
}

#[derive(Debug, Clone)]
struct Compiled {
    kind: Option<ToolKind>,
    title: Option<GlobMatcher>,
    path: Option<GlobMatcher>,
    decision: Decision,
}

impl Policy {
    pub(crate) fn decide(&self, wish: &Wish, workspace: &Workspace) -> Decided {
        let inside: Vec<Option<PathBuf>> =
            wish.paths.iter().map(|path| workspace.inside(path)).collect();
        let changes = wish.kind.changes_files() || wish.changes;
        let ground = match changes {
            true if inside.iter().any(Option::is_none) => Some("outside the workspace"),
            true if wish.names_more => Some("too many files to check"),
            _ => None,
        };
        if let Some(because) = ground {
            return Decided { decision: Decision::Reject, because: because.to_owned() };
        }
        // What is outside keeps the path that the agent gave.
        let paths: Vec<&Path> = wish
            .paths
            .iter()
            .zip(&inside)
            .map(|(told, inside)| inside.as_deref().unwrap_or(told))
            .collect();
        let hit = self.rules.iter().position(|rule| rule.matches(wish, &paths));
        match hit.and_then(|index| Some((index, self.rules.get(index)?))) {
            Some((index, rule)) => {
                Decided { decision: rule.decision, because: format!("rule {}", index + 1) }
            }
            None => Decided { decision: self.default, because: "default".to_owned() },
        }
    }
}

impl Compiled {
    fn matches(&self, wish: &Wish, paths: &[&Path]) -> bool {
        let path = self.path.as_ref().is_none_or(|glob| match self.decision {
            Decision::Allow => !paths.is_empty() && paths.iter().all(|path| glob.is_match(path)),
            Decision::Reject => paths.iter().any(|path| glob.is_match(path)),
        });
        path && self.kind.is_none_or(|kind| kind == wish.kind)
            && self.title.as_ref().is_none_or(|glob| glob.is_match(&wish.title))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(kind: ToolKind, title: &str, paths: &[&str]) -> Wish {
        Wish {
            kind,
            title: title.to_owned(),
            paths: paths.iter().map(PathBuf::from).collect(),
            names_more: false,
            changes: false,
        }
    }

    fn policy(json: &str) -> Policy {
        serde_json::from_str::<Permissions>(json).unwrap().compile().unwrap()
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(dir.path());
        let policy = policy(
            r#"{"rules": [
                {"kind": "edit", "path": "**/*.lock", "decision": "reject"},
                {"kind": "edit", "path": "src/**", "decision": "allow"},
                {"kind": "execute", "title": "*cargo test*", "decision": "allow"},
                {"kind": "read", "decision": "allow"}
            ]}"#,
        );
        for (kind, title, paths, decision, because) in [
            (ToolKind::Edit, "", &["src/a.rs"][..], Decision::Allow, "rule 2"),
            (ToolKind::Edit, "", &["src/a.rs", "src/x/b.rs"], Decision::Allow, "rule 2"),
            (ToolKind::Edit, "", &["src/a.rs", "README"], Decision::Reject, "default"),
            (ToolKind::Edit, "", &["src/a.rs", "src/x.lock"], Decision::Reject, "rule 1"),
            (ToolKind::Edit, "", &[], Decision::Reject, "default"),
            (ToolKind::Edit, "", &["src/../../x"], Decision::Reject, "outside the workspace"),
            (ToolKind::Delete, "", &["/etc/x"], Decision::Reject, "outside the workspace"),
            (ToolKind::Move, "", &["src/a", "/x"], Decision::Reject, "outside the workspace"),
            (ToolKind::Execute, "`cargo test -p a/b`", &[], Decision::Allow, "rule 3"),
            (ToolKind::Execute, "rm -rf /", &[], Decision::Reject, "default"),
            (ToolKind::Read, "", &["/etc/hosts"], Decision::Allow, "rule 4"),
            (ToolKind::Other, "cargo test", &[], Decision::Reject, "default"),
        ] {
            let decided = policy.decide(&wish(kind, title, paths), &workspace);
            assert_eq!(
                decided,
                Decided { decision, because: because.to_owned() },
                "{kind:?} {paths:?}"
            );
        }
    }

    #[test]
    fn a_change_that_is_shown_counts_as_one_whatever_the_kind() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(dir.path());
        let policy = policy(r#"{"default": "allow"}"#);
        let mut wish = wish(ToolKind::Other, "", &["/etc/x"]);
        assert_eq!(policy.decide(&wish, &workspace).decision, Decision::Allow);
        wish.changes = true;
        assert_eq!(policy.decide(&wish, &workspace).because, "outside the workspace");
        wish.paths = vec!["x".into()];
        assert_eq!(policy.decide(&wish, &workspace).decision, Decision::Allow);
        wish.names_more = true;
        assert_eq!(policy.decide(&wish, &workspace).because, "too many files to check");
    }
}
