//! What a key may do.

use std::str::FromStr;

/// One permission. The list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Read definitions.
    ManifestRead,
    /// Register definitions.
    ManifestWrite,
    /// Begin runs, and fork them.
    RunsCreate,
    /// Read runs and their events.
    RunsRead,
    /// Stop, pause and resume runs.
    RunsCancel,
    /// Read what runs leave.
    ArtifactsRead,
    /// Register and remove webhooks.
    WebhooksManage,
    /// Answer what runs wait for.
    ApprovalsRespond,
    /// Submit delegations: whoever may has commands carried out as the workers' user.
    DelegationsCreate,
    /// Read what was claimed, what was observed and what checks said, in words.
    ContentRead,
    /// Answer by name for runs that were not verified.
    WaiversCreate,
    /// Read the figures of this process, which are of all tenants.
    MetricsRead,
}

impl Scope {
    /// Every permission there is.
    pub const ALL: [Self; 12] = [
        Self::ManifestRead,
        Self::ManifestWrite,
        Self::RunsCreate,
        Self::RunsRead,
        Self::RunsCancel,
        Self::ArtifactsRead,
        Self::WebhooksManage,
        Self::ApprovalsRespond,
        Self::DelegationsCreate,
        Self::ContentRead,
        Self::WaiversCreate,
        Self::MetricsRead,
    ];

    /// The word of the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ManifestRead => "manifest:read",
            Self::ManifestWrite => "manifest:write",
            Self::RunsCreate => "runs:create",
            Self::RunsRead => "runs:read",
            Self::RunsCancel => "runs:cancel",
            Self::ArtifactsRead => "artifacts:read",
            Self::WebhooksManage => "webhooks:manage",
            Self::ApprovalsRespond => "approvals:respond",
            Self::DelegationsCreate => "delegations:create",
            Self::ContentRead => "content:read",
            Self::WaiversCreate => "waivers:create",
            Self::MetricsRead => "metrics:read",
        }
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or_else(|| {
            let all = Self::ALL.map(Self::as_str).join(", ");
            format!("`{text}` is no scope: one of {all}")
        })
    }
}
