//! Done means done: run any agent, check the world, let only a verified result through.
//!
//! This crate is the library under the `probity` command. A [`Request`] says what is to be done, by
//! whom, and how it is checked; [`prepare`] turns it into a plan; the engine drives it; a
//! [`Report`] says what came of it.

#[doc(hidden)]
pub mod cli;
mod episode;
mod exporter;
mod freshness;
mod given;
mod handler;
mod job_planner;
pub mod location;
mod mcp_tools;
mod own_store;
mod planner;
mod prepare;
mod project;
mod quality;
mod recorded;
pub mod request;
pub mod run_folder;
mod stored;
mod submitter;
mod workspace_roots;

pub use episode::{EpisodeError, RunEpisode};
pub use exporter::{BundleExporter, ExportError};
pub use job_planner::JobPlanner;
pub use mcp_tools::{McpOptions, McpTools};
pub use planner::RecordedPlanner;
pub use prepare::{PrepareError, Prepared, open_workspace, prepare, prepare_with};
pub use probity_acp as acp;
pub use probity_agent as agent;
pub use probity_audit as audit;
pub use probity_chat as chat;
pub use probity_conductor as conductor;
pub use probity_conformance as conformance;
pub use probity_core as core;
pub use probity_delegate as delegate;
pub use probity_egress as egress;
pub use probity_engine as engine;
pub use probity_engine::Report;
pub use probity_grounding as grounding;
pub use probity_host as host;
pub use probity_llm as llm;
pub use probity_mcp as mcp;
pub use probity_policy as policy;
pub use probity_projection as projection;
pub use probity_record as record;
pub use probity_report as report;
pub use probity_sandbox as sandbox;
pub use probity_script as script;
pub use probity_store as store;
pub use probity_trace as trace;
pub use probity_verifier as verifier;
pub use probity_worker as worker;
pub use probity_workflow as workflow;
pub use project::{CONFIG_PATH, POLICY_PATH, Project, ProjectError};
pub use recorded::Recorded;
pub use request::Request;
pub use run_folder::RunFolder;
pub use submitter::WireSubmitter;
pub use workspace_roots::{RootError, WorkspaceRoots};
