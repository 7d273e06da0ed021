//! A row's checks as one shell script, as somebody writes it who has a retry loop and no Probity.
//!
//! Commands are handed on as they are. Of files, folders and commits it asks what a shell can ask:
//! there is no state of before, so `created` and `changed` are "is there", and nothing is sealed.
//! Checks that would need another program (HTTP, JSON, SQL) or a list of all changes are not told.

use std::fmt::Write as _;

use probity::verifier::expect;
use probity::verifier::spec::{CommandSpec, DirSpec, Effect, FileSpec, GitSpec};
use probity_lies::{Case, Site};

/// The script, or nothing where a check cannot be told.
pub(crate) fn script(case: &Case, site: &Site) -> Option<String> {
    if case.verify.is_some() || case.expect.is_empty() {
        return None;
    }
    let mut text = "set -e\n".to_owned();
    for check in case.expect {
        let check = expect::parse(&site.fill(check)).ok()?;
        match check.effect {
            Effect::Command(spec) => command(&spec, check.timeout_ms, &mut text)?,
            Effect::External(spec) => {
                let _ = writeln!(text, "test \"$({})\" = true", spec.line);
            }
            Effect::File(spec) => file(&spec, &mut text),
            Effect::Dir(spec) => folder(&spec, &mut text)?,
            Effect::Git(spec) => git(&spec, &mut text)?,
            _ => return None,
        }
    }
    Some(text)
}

fn command(spec: &CommandSpec, timeout_ms: Option<u64>, text: &mut String) -> Option<()> {
    if spec.exit.is_some_and(|exit| exit != 0) {
        return None;
    }
    let bound = timeout_ms.map(|ms| format!("timeout {} ", ms.div_ceil(1_000))).unwrap_or_default();
    let line = format!("{bound}sh -c {}", quoted(&spec.line));
    if spec.stdout_contains.is_empty() && spec.stdout_matches.is_empty() {
        // Nobody waits for what the command left running to close its output.
        let _ = writeln!(text, "{line} > /dev/null 2>&1");
        return Some(());
    }
    let _ = writeln!(text, "out=$({line})");
    for wanted in &spec.stdout_contains {
        let _ = writeln!(text, "printf '%s\\n' \"$out\" | grep -qF -- {}", quoted(wanted));
    }
    for wanted in &spec.stdout_matches {
        // The words of another dialect for: every line.
        let wanted = wanted.trim_start_matches("(?m)");
        let _ = writeln!(text, "printf '%s\\n' \"$out\" | grep -qE -- {}", quoted(wanted));
    }
    Some(())
}

fn file(spec: &FileSpec, text: &mut String) {
    let path = quoted(&spec.path);
    if spec.absent {
        let _ = writeln!(text, "test ! -e {path}");
        return;
    }
    let _ = writeln!(text, "test -f {path}");
    for wanted in &spec.contains {
        let _ = writeln!(text, "grep -qF -- {} {path}", quoted(wanted));
    }
    for wanted in &spec.matches {
        let _ = writeln!(text, "grep -qE -- {} {path}", quoted(wanted));
    }
    if let Some(digest) = &spec.sha256 {
        let digest = digest.to_string();
        let hex = digest.rsplit(':').next().unwrap_or_default();
        let _ = writeln!(text, "test \"$(sha256sum < {path} | cut -d' ' -f1)\" = {hex}");
    }
    for (bound, word) in [(spec.min_bytes, "-ge"), (spec.max_bytes, "-le")] {
        if let Some(bytes) = bound {
            let _ = writeln!(text, "test \"$(wc -c < {path})\" {word} {bytes}");
        }
    }
    if let Some(mode) = &spec.mode {
        let mode = mode.to_string();
        let _ = writeln!(text, "test \"$(stat -c %a {path})\" = {}", mode.trim_start_matches('0'));
    }
}

fn folder(spec: &DirSpec, text: &mut String) -> Option<()> {
    let path = quoted(&spec.path);
    if spec.absent || spec.mode.is_some() {
        return None;
    }
    let _ = writeln!(text, "test -d {path}");
    for (bound, word) in [(spec.entries, "-eq"), (spec.min_entries, "-ge")] {
        if let Some(count) = bound {
            let _ = writeln!(text, "test \"$(ls -A {path} | wc -l)\" {word} {count}");
        }
    }
    Some(())
}

fn git(spec: &GitSpec, text: &mut String) -> Option<()> {
    if spec.reachable_from.is_some() {
        return None;
    }
    let reference = quoted(&spec.reference);
    let _ = writeln!(text, "commit=$(git rev-parse --verify -q {reference}^{{commit}})");
    for path in &spec.contains_path {
        let _ = writeln!(text, "git cat-file -e \"$commit\":{}", quoted(path));
    }
    if spec.clean {
        text.push_str("test -z \"$(git status --porcelain)\"\n");
    }
    if let Some(remote) = &spec.pushed {
        let names = match spec.reference.as_str() {
            "HEAD" => String::new(),
            // The second is the commit of an annotated tag.
            name if name.starts_with("refs/tags/") => {
                format!("{} {}", quoted(name), quoted(&format!("{name}^{{}}")))
            }
            name => quoted(&format!("refs/heads/{}", name.trim_start_matches("refs/heads/"))),
        };
        let remote = quoted(remote);
        let _ = writeln!(text, "git ls-remote {remote} {names} | grep -q \"^$commit\"");
    }
    Some(())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
