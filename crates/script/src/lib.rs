//! Starlark verifiers, hooks and tools, and the worker process they run in.
//!
//! A [`Script`] is text with a digest; a [`ScriptVerifier`] is that text with its arguments, its
//! [`Limits`] and what it may reach ([`Host`]). A [`ScriptTool`] may write to its workspace, the
//! others only read. Scripts run in the processes of a [`WorkerPool`]
//! unless the caller opts into [`Execution::InProcess`]. The language is described in
//! `docs/verifier-language.md`.

mod answer;
mod builtins;
mod condition;
mod conversation;
mod data;
mod database;
mod example;
mod failure;
mod fault;
mod files;
mod frame;
mod gate;
mod hands;
mod hook;
mod host;
mod interpreter;
mod limits;
mod output;
mod pool;
mod process;
mod returned;
mod runner;
mod script;
mod session;
mod tool;
mod verifier;
mod worker;

pub use answer::HookAnswer;
pub use fault::{FAULT_CODES, FaultCode};
pub use gate::{EgressGate, GitCommand, NamedCommands};
pub use hook::{MAX_PAYLOAD_BYTES, ScriptHook};
pub use host::{
    CommandGate, CommandOutput, CommandRequest, GateError, GitGate, GitRequest, Host, HttpGate,
    HttpMethod, HttpRequest, HttpResponse,
};
pub use limits::{LimitError, Limits};
pub use output::ScriptToolOutput;
pub use pool::{PoolConfig, PoolError, WorkerPool, WorkerProgram};
pub use runner::Execution;
pub use script::{MAX_SOURCE_BYTES, Script, ScriptError};
pub use tool::ScriptTool;
pub use verifier::{Call, ScriptVerifier};
pub use worker::worker_main;
