//! The hooks in a tool's settings: how they get in, how they are found again, how they get out.
//!
//! All three tools keep hooks in the same shape: `hooks`, an event, groups, and in each group the handlers. An
//! edit touches our own handlers and nothing else of the text.

use serde_json::Value;

use crate::command::Wiring;
use crate::json_text::{JsonTextError, Kind, Node, parse, with, without};
use crate::tool::Tool;

/// The most edits of one text.
const MAX_EDITS: usize = 256;
/// A settings file that says nothing.
const EMPTY: &str = "{}\n";

/// What a settings file says of us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// Nothing.
    Absent,
    /// What this version would write.
    Current(Wiring),
    /// Something else: by hand, or by another version.
    Changed {
        /// The events under which there is something of ours.
        events: Vec<String>,
    },
}

/// The text with our hooks in it, and whatever was of ours before gone. `None` is a file that is not there.
/// A text in which they are as they should be stays as it is.
///
/// # Errors
/// [`JsonTextError`] for a text that cannot be edited.
pub fn install(text: Option<&str>, wiring: &Wiring) -> Result<String, JsonTextError> {
    let text = text.filter(|text| !text.trim().is_empty()).unwrap_or(EMPTY);
    if installed(Some(text), wiring.tool)? == Installed::Current(wiring.clone()) {
        return Ok(text.to_owned());
    }
    let mut text = uninstall(text, wiring.tool)?;
    for (event, group) in wiring.groups() {
        let root = root(&text)?;
        let Some(hooks) = root.member("hooks").map(|member| member.value.clone()) else {
            let mut hooks = serde_json::Map::new();
            hooks.insert(event.to_owned(), Value::Array(vec![group]));
            text = with(&text, &root, &Value::Object(hooks), Some("hooks"));
            continue;
        };
        text = match hooks.member(event) {
            Some(groups) => with(&text, &groups.value, &group, None),
            None => with(&text, &hooks, &Value::Array(vec![group]), Some(event)),
        };
    }
    Ok(text)
}

/// The text without our hooks. A group, an event and the hooks as a whole go with the last thing in them.
///
/// # Errors
/// As [`install`].
pub fn uninstall(text: &str, tool: Tool) -> Result<String, JsonTextError> {
    let mut text = text.to_owned();
    for _ in 0..MAX_EDITS {
        let root = root(&text)?;
        match found(&text, &root, tool)?.into_iter().next() {
            Some(ours) => text = ours.without(&text, &root),
            None => return Ok(text),
        }
    }
    Ok(text)
}

/// What a text says of us.
///
/// # Errors
/// As [`install`].
pub fn installed(text: Option<&str>, tool: Tool) -> Result<Installed, JsonTextError> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(Installed::Absent);
    };
    let root = root(text)?;
    let ours = found(text, &root, tool)?;
    let Some(first) = ours.iter().find(|ours| tool.role(&ours.event).is_some()) else {
        let events: Vec<String> = ours.into_iter().map(|ours| ours.event).collect();
        return Ok(if events.is_empty() {
            Installed::Absent
        } else {
            Installed::Changed { events }
        });
    };
    let is_guard = |ours: &Ours| tool.role(&ours.event) == Some(crate::tool::Role::Guard);
    let wiring = Wiring { guards: ours.iter().any(is_guard), ..first.wiring.clone() };
    let wanted = wiring.groups();
    let is_wanted = |ours: &Ours| {
        wanted.iter().any(|(event, group)| *event == ours.event && *group == ours.group)
    };
    let is_current = ours.len() == wanted.len()
        && ours.iter().all(is_wanted)
        && wanted.iter().all(|(event, _)| ours.iter().any(|ours| ours.event == *event));
    Ok(match is_current {
        true => Installed::Current(wiring),
        false => Installed::Changed { events: ours.into_iter().map(|ours| ours.event).collect() },
    })
}

/// The switch in a text that keeps the tool from calling our hooks, though they are in its settings.
#[must_use]
pub fn switched_off(text: &str, tool: Tool) -> Option<&'static str> {
    let root: Value = serde_json::from_str(text).ok()?;
    let is = |place: &str, wanted: bool| root.pointer(place) == Some(&Value::Bool(wanted));
    let names_us = |place: &str| {
        let names = root.pointer(place).and_then(Value::as_array).into_iter().flatten();
        let mut names = names.filter_map(Value::as_str);
        names.any(|name| name == "probity" || Wiring::of_command(tool, name).is_some())
    };
    let switches: &[(&'static str, bool)] = match tool {
        Tool::ClaudeCode => &[("disableAllHooks", is("/disableAllHooks", true))],
        Tool::Gemini => &[
            ("hooksConfig.enabled", is("/hooksConfig/enabled", false)),
            ("hooks.enabled", is("/hooks/enabled", false)),
            ("tools.enableHooks", is("/tools/enableHooks", false)),
            ("hooksConfig.disabled", names_us("/hooksConfig/disabled")),
            ("hooks.disabled", names_us("/hooks/disabled")),
        ],
        Tool::Codex => &[],
    };
    switches.iter().find(|(_, is_off)| *is_off).map(|(name, _)| *name)
}

/// One handler of ours.
struct Ours {
    event: String,
    /// The group that it is in, whole.
    group: Value,
    wiring: Wiring,
    /// Number of the event, of the group in it, of the handler in that.
    at: (usize, usize, usize),
}

impl Ours {
    /// The text without this handler, and without what held only it.
    fn without(&self, text: &str, root: &Node) -> String {
        let (event, group, handler) = self.at;
        let Kind::Object(members) = &root.kind else { return text.to_owned() };
        let number =
            members.iter().position(|member| member.key == "hooks").unwrap_or(members.len());
        let Some(hooks) = members.get(number).map(|member| &member.value) else {
            return text.to_owned();
        };
        let Kind::Object(events) = &hooks.kind else { return text.to_owned() };
        let Some(groups) = events.get(event).map(|member| &member.value) else {
            return text.to_owned();
        };
        let handlers = groups.elements().get(group).and_then(|group| group.member("hooks"));
        let Some(handlers) = handlers.map(|member| &member.value) else { return text.to_owned() };
        match (handlers.elements().len(), groups.elements().len(), events.len()) {
            (1, 1, 1) => without(text, root, number),
            (1, 1, _) => without(text, hooks, event),
            (1, ..) => without(text, groups, group),
            _ => without(text, handlers, handler),
        }
    }
}

fn root(text: &str) -> Result<Node, JsonTextError> {
    let root = parse(text)?;
    match root.kind {
        Kind::Object(_) => Ok(root),
        _ => Err(kind("the file", "an object")),
    }
}

/// Every handler of ours, in order. Whatever is not in the shape that the tools read is refused: an edit
/// of it would be a guess.
fn found(text: &str, root: &Node, tool: Tool) -> Result<Vec<Ours>, JsonTextError> {
    let mut ours = Vec::new();
    let Some(hooks) = root.member("hooks").map(|member| &member.value) else { return Ok(ours) };
    let Kind::Object(events) = &hooks.kind else { return Err(kind("hooks", "an object")) };
    for (number, event) in events.iter().enumerate() {
        let Kind::Array(groups) = &event.value.kind else {
            // Some tools keep switches beside the events.
            match tool.role(&event.key) {
                Some(_) => return Err(kind(&format!("hooks.{}", event.key), "a list")),
                None => continue,
            }
        };
        for (of_event, group) in groups.iter().enumerate() {
            let handlers = group.member("hooks").map(|member| member.value.elements());
            for (of_group, handler) in handlers.unwrap_or_default().iter().enumerate() {
                let command = handler.member("command").map(|member| member.value.value(text));
                let line = command.as_ref().and_then(Value::as_str).unwrap_or_default();
                if let Some(wiring) = Wiring::of_command(tool, line) {
                    let (event, group) = (event.key.clone(), group.value(text));
                    ours.push(Ours { event, group, wiring, at: (number, of_event, of_group) });
                }
            }
        }
    }
    Ok(ours)
}

fn kind(member: &str, wanted: &'static str) -> JsonTextError {
    JsonTextError::Kind { member: member.to_owned(), wanted }
}
