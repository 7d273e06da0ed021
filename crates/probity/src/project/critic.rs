//! Critics: profiles that checks name as who is asked, and the files that decide what they say.

use probity_verifier::spec::{AgentSpec, CheckSpec, Effect};
use serde_json::{Map, Value};

use super::ProjectError;
use crate::Request;
use crate::request::Method;

/// Puts the delegate of a profile in the place of its name, in every check that asks one: what is
/// recorded must say who was asked.
///
/// # Errors
/// As `profile` has it, or the profile cannot be written down.
pub(super) fn resolve(
    request: &mut Request,
    profile: impl Fn(&str) -> Result<Request, ProjectError>,
) -> Result<(), ProjectError> {
    let methods = request.methods.values_mut().filter_map(Method::check_mut);
    for check in request.expect.iter_mut().chain(methods) {
        let Effect::Agent(agent) = &mut check.effect else { continue };
        if let Some(name) = agent.profile.take() {
            fill(agent, &name, profile(&name)?)?;
        }
    }
    Ok(())
}

fn fill(agent: &mut AgentSpec, name: &str, profile: Request) -> Result<(), ProjectError> {
    let failed = |error: serde_json::Error| ProjectError::Profile {
        profile: name.to_owned(),
        detail: error.to_string(),
    };
    agent.command = profile.command;
    agent.chat = profile.chat.map(map).transpose().map_err(failed)?;
    agent.acp = profile.acp.map(map).transpose().map_err(failed)?;
    agent.system_prompt = agent.system_prompt.take().or(profile.system_prompt);
    let format = profile.format.map(serde_json::to_value).transpose().map_err(failed)?;
    agent.format = format.and_then(|word| word.as_str().map(str::to_owned));
    Ok(())
}

fn map(part: impl serde::Serialize) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::to_value(part)? {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

/// The command line that a check runs, its critic's included.
pub(crate) fn command_line(check: &CheckSpec) -> Option<String> {
    if let Some(line) = check.command_line() {
        return Some(line.to_owned());
    }
    let Effect::Agent(agent) = &check.effect else { return None };
    let acp = || -> Option<Vec<String>> {
        let words = agent.acp.as_ref()?.get("command")?.as_array()?;
        Some(words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect())
    };
    let words = if agent.command.is_empty() { acp()? } else { agent.command.clone() };
    shlex::try_join(words.iter().map(String::as_str)).ok()
}
