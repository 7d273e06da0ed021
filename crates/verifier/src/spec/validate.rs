//! Bounds of a check that its form alone does not give.

mod reading;

use serde_json::Value;

use super::effect::{
    ChangesOnlySpec, CitationsSpec, DirSpec, Effect, FileSpec, GitSpec, HttpSpec, HumanSpec,
    JsonSpec, PortSpec, ProcessSpec, SchemaSource, SqliteSpec, TextSpec,
};
use super::error::excerpt;
use super::keys::MAX_COUNT;
use super::{CheckSpec, SpecError};
use crate::workspace::compile_glob;

/// Longest target, in bytes.
pub const MAX_TARGET_BYTES: usize = 8_192;
/// Longest text, pattern, query or glob, in bytes.
pub const MAX_TEXT_BYTES: usize = 65_536;
/// Most values of a key that may be given more than once.
pub const MAX_LIST: usize = 64;

type Checked = Result<(), SpecError>;

/// Most pieces of evidence that a statement can be asked to cite.
const MAX_SUPPORTS: u64 = 64;

/// Longest name of a person, in characters.
const MAX_WHO: usize = 128;

pub(super) fn validate(check: &CheckSpec) -> Checked {
    timeout(check)?;
    let target = check.target();
    if target.len() > MAX_TARGET_BYTES || target.contains('\0') {
        return Err(bad_target(check.kind(), "at most 8192 bytes without NUL", &target));
    }
    match &check.effect {
        Effect::File(spec) => file(spec),
        Effect::Dir(spec) => dir(spec),
        Effect::Text(spec) => text(spec),
        Effect::Json(spec) => json(spec),
        Effect::Command(spec) => {
            line("command", &spec.line)?;
            texts("stdout_contains", &spec.stdout_contains)?;
            patterns("stdout_matches", &spec.stdout_matches)?;
            program(&spec.inputs, &spec.may_change, &spec.env)
        }
        Effect::Http(spec) => http(spec),
        Effect::Git(spec) => git(spec),
        Effect::Sqlite(spec) => sqlite(spec),
        Effect::Port(spec) => port(spec),
        Effect::Process(spec) => process(spec),
        Effect::ChangesOnly(spec) => changes_only(spec),
        Effect::External(spec) => {
            line("external", &spec.line)?;
            program(&spec.inputs, &spec.may_change, &spec.env)
        }
        Effect::ReadAfterWrite(spec) => reading::read_after_write(spec),
        Effect::InvariantCheck(spec) => reading::invariant_check(spec),
        Effect::Citations(spec) => citations(spec),
        Effect::Agent(spec) => spec.validate(),
        Effect::Human(spec) => human(spec),
    }
}

fn timeout(check: &CheckSpec) -> Checked {
    let (max_ms, legal) = match &check.effect {
        Effect::Human(_) => (probity_core::MAX_WALL_MS, "from 1ms to 30d"),
        _ => (probity_core::MAX_CHECK_MS, "from 1ms to 1h"),
    };
    match check.timeout_ms.filter(|millis| !(1..=max_ms).contains(millis)) {
        Some(millis) => Err(SpecError::Value {
            key: "timeout",
            legal: legal.to_owned(),
            value: format!("{millis}ms"),
        }),
        None => Ok(()),
    }
}

fn human(spec: &HumanSpec) -> Checked {
    let who = &spec.who;
    let is_name = who.trim() == who
        && (1..=MAX_WHO).contains(&who.chars().count())
        && !who.contains(char::is_control);
    if !is_name {
        return Err(bad_target("human", "the name of a person: 1 to 128 characters", who));
    }
    texts("question", spec.question.as_slice())
}

fn citations(spec: &CitationsSpec) -> Checked {
    if spec.path != "-" {
        path("citations", &spec.path)?;
    }
    if spec.evidence.is_empty() {
        return Err(SpecError::Missing { kind: "citations", needs: "`evidence`, a folder" });
    }
    if !inside(&spec.evidence) {
        return Err(SpecError::Value {
            key: "evidence",
            legal: "a folder below the workspace".to_owned(),
            value: excerpt(&spec.evidence),
        });
    }
    if spec.min_supports.is_some_and(|count| !(1..=MAX_SUPPORTS).contains(&count)) {
        return Err(SpecError::Value {
            key: "min_supports",
            legal: format!("a whole number from 1 to {MAX_SUPPORTS}"),
            value: spec.min_supports.unwrap_or_default().to_string(),
        });
    }
    globs("may_change", &spec.may_change)
}

fn file(spec: &FileSpec) -> Checked {
    path("file", &spec.path)?;
    let content = [
        ("created", spec.created),
        ("changed", spec.changed),
        ("contains", !spec.contains.is_empty()),
        ("matches", !spec.matches.is_empty()),
        ("sha256", spec.sha256.is_some()),
        ("min_bytes", spec.min_bytes.is_some()),
        ("max_bytes", spec.max_bytes.is_some()),
        ("mode", spec.mode.is_some()),
        ("newer_than", spec.newer_than.is_some()),
    ];
    excludes("absent", spec.absent, &content)?;
    texts("contains", &spec.contains)?;
    patterns("matches", &spec.matches)?;
    count("min_bytes", spec.min_bytes)?;
    count("max_bytes", spec.max_bytes)?;
    ordered("min_bytes", spec.min_bytes, "max_bytes", spec.max_bytes)
}

fn dir(spec: &DirSpec) -> Checked {
    path("dir", &spec.path)?;
    let content = [
        ("created", spec.created),
        ("changed", spec.changed),
        ("mode", spec.mode.is_some()),
        ("newer_than", spec.newer_than.is_some()),
        ("entries", spec.entries.is_some()),
        ("min_entries", spec.min_entries.is_some()),
    ];
    excludes("absent", spec.absent, &content)?;
    count("entries", spec.entries)?;
    count("min_entries", spec.min_entries)?;
    ordered("min_entries", spec.min_entries, "entries", spec.entries)
}

fn text(spec: &TextSpec) -> Checked {
    if spec.contains.is_empty() && spec.matches.is_empty() {
        return Err(SpecError::Missing { kind: "text", needs: "`contains` or `matches`" });
    }
    texts("contains", &spec.contains)?;
    patterns("matches", &spec.matches)
}

fn json(spec: &JsonSpec) -> Checked {
    if spec.path != "-" {
        path("json", &spec.path)?;
    }
    pointer(spec.pointer.as_deref())?;
    match &spec.schema {
        Some(SchemaSource::Path(schema)) => {
            inside(schema).then_some(()).ok_or_else(|| SpecError::Value {
                key: "schema",
                legal: "a path below the workspace".to_owned(),
                value: excerpt(schema),
            })
        }
        Some(SchemaSource::Inline(schema)) => crate::stock::compile_schema(schema)
            .map(drop)
            .map_err(|detail| SpecError::Schema { detail }),
        None => Ok(()),
    }
}

fn http(spec: &HttpSpec) -> Checked {
    web_url(&spec.url).ok_or_else(|| bad_target("http", "an http or https URL", &spec.url))?;
    texts("body_contains", &spec.body_contains)?;
    patterns("body_matches", &spec.body_matches)?;
    pointer(spec.pointer.as_deref())
}

fn web_url(text: &str) -> Option<url::Url> {
    let url = url::Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

fn git(spec: &GitSpec) -> Checked {
    if !revision(&spec.reference) {
        return Err(bad_target("git", "a ref or a commit id", &spec.reference));
    }
    for (key, value) in [("pushed", &spec.pushed), ("reachable_from", &spec.reachable_from)] {
        if let Some(value) = value.as_deref().filter(|value| !revision(value)) {
            return Err(SpecError::Value {
                key,
                legal: "a name that Git accepts, not starting with `-`".to_owned(),
                value: excerpt(value),
            });
        }
    }
    texts("contains_path", &spec.contains_path)?;
    match spec.contains_path.iter().find(|path| !inside(path)) {
        Some(path) => Err(SpecError::Value {
            key: "contains_path",
            legal: "a path below the repository".to_owned(),
            value: excerpt(path),
        }),
        None => Ok(()),
    }
}

/// Nothing that Git would read as an option, a range or a search.
fn revision(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 512
        && !text.starts_with('-')
        && !text.contains("..")
        && !text.contains(|c: char| c.is_control() || c.is_whitespace() || ":?*[\\".contains(c))
}

fn sqlite(spec: &SqliteSpec) -> Checked {
    path("sqlite", &spec.path)?;
    query("sqlite", spec.query.as_deref())?;
    match (&spec.equals, &spec.at_least) {
        (Some(_), Some(_)) => Err(SpecError::Conflict { first: "equals", second: "at_least" }),
        (None, None) => Err(SpecError::Missing { kind: "sqlite", needs: "`equals` or `at_least`" }),
        (Some(Value::Array(_) | Value::Object(_)), None) => Err(SpecError::Value {
            key: "equals",
            legal: "a number, a text, `true`, `false` or `null`".to_owned(),
            value: "a list or a map".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn query(kind: &'static str, query: Option<&str>) -> Checked {
    let Some(query) = query else {
        return Err(SpecError::Missing { kind, needs: "`query`" });
    };
    if query.trim().is_empty() || query.len() > MAX_TEXT_BYTES {
        return Err(SpecError::Value {
            key: "query",
            legal: "one SELECT of at most 65536 bytes".to_owned(),
            value: excerpt(query),
        });
    }
    Ok(())
}

fn port(spec: &PortSpec) -> Checked {
    split_address(&spec.address)
        .map(drop)
        .ok_or_else(|| bad_target("port", "HOST:PORT with a port from 1 to 65535", &spec.address))
}

/// Host without brackets, and port. `None` if it is not `HOST:PORT`.
pub(crate) fn split_address(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let port = port.parse::<u16>().ok().filter(|port| *port != 0)?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?,
        None if host.contains(':') => return None,
        None => host,
    };
    let legal =
        !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "/@[]".contains(c));
    legal.then_some((host, port))
}

fn process(spec: &ProcessSpec) -> Checked {
    if spec.name.is_empty() || spec.name.contains('/') {
        return Err(bad_target("process", "the file name of a program", &spec.name));
    }
    Ok(())
}

fn changes_only(spec: &ChangesOnlySpec) -> Checked {
    texts("changes_only", &spec.globs)?;
    globs("changes_only", &spec.globs)
}

fn program(inputs: &[String], may_change: &[String], env: &[String]) -> Checked {
    for (key, list) in [("inputs", inputs), ("may_change", may_change)] {
        texts(key, list)?;
        globs(key, list)?;
    }
    texts("env", env)?;
    let legal = |name: &&String| name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    match env.iter().find(legal) {
        Some(name) => Err(SpecError::Value {
            key: "env",
            legal: "the name of an environment variable".to_owned(),
            value: excerpt(name),
        }),
        None => Ok(()),
    }
}

fn line(kind: &'static str, line: &str) -> Checked {
    if line.trim().is_empty() {
        return Err(bad_target(kind, "a command line", line));
    }
    Ok(())
}

fn path(kind: &'static str, path: &str) -> Checked {
    if inside(path) {
        return Ok(());
    }
    Err(bad_target(kind, "a relative path below the workspace, without `..`", path))
}

fn inside(path: &str) -> bool {
    !path.is_empty()
        && path.len() <= 4_096
        && !path.starts_with('/')
        && !path.contains('\0')
        && path.split('/').all(|part| part != "..")
}

fn pointer(pointer: Option<&str>) -> Checked {
    match pointer {
        Some(text) if !(text.is_empty() || text.starts_with('/')) => Err(SpecError::Value {
            key: "pointer",
            legal: "a JSON pointer: empty, or starting with `/`".to_owned(),
            value: excerpt(text),
        }),
        _ => Ok(()),
    }
}

fn texts(key: &'static str, list: &[String]) -> Checked {
    if list.len() > MAX_LIST {
        return Err(SpecError::Value {
            key,
            legal: format!("at most {MAX_LIST} values"),
            value: format!("{} values", list.len()),
        });
    }
    match list.iter().find(|text| text.is_empty() || text.len() > MAX_TEXT_BYTES) {
        Some(text) => Err(SpecError::Value {
            key,
            legal: format!("from 1 to {MAX_TEXT_BYTES} bytes"),
            value: excerpt(text),
        }),
        None => Ok(()),
    }
}

fn patterns(key: &'static str, list: &[String]) -> Checked {
    texts(key, list)?;
    for pattern in list {
        crate::stock::pattern(pattern).map_err(|error| SpecError::Regex {
            key,
            // The last line of the compiler's message names the cause; the lines above draw it.
            detail: excerpt(error.to_string().lines().last().unwrap_or_default()),
        })?;
    }
    Ok(())
}

fn globs(key: &'static str, list: &[String]) -> Checked {
    for glob in list {
        compile_glob(glob)
            .map_err(|error| SpecError::Glob { key, detail: excerpt(&error.to_string()) })?;
    }
    Ok(())
}

fn count(key: &'static str, value: Option<u64>) -> Checked {
    match value.filter(|value| *value > MAX_COUNT) {
        Some(value) => Err(SpecError::Value {
            key,
            legal: format!("a whole number from 0 to {MAX_COUNT}"),
            value: value.to_string(),
        }),
        None => Ok(()),
    }
}

fn ordered(low: &'static str, min: Option<u64>, high: &'static str, max: Option<u64>) -> Checked {
    match (min, max) {
        (Some(min), Some(max)) if min > max => {
            Err(SpecError::Conflict { first: low, second: high })
        }
        _ => Ok(()),
    }
}

fn excludes(first: &'static str, set: bool, others: &[(&'static str, bool)]) -> Checked {
    match others.iter().find(|(_, other)| set && *other) {
        Some((second, _)) => Err(SpecError::Conflict { first, second }),
        None => Ok(()),
    }
}

fn bad_target(kind: &'static str, legal: &'static str, target: &str) -> SpecError {
    SpecError::Target { kind, legal, target: excerpt(target) }
}
