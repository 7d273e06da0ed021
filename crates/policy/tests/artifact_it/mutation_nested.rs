//! What stands inside the keys of a profile removed, retyped and made huge: items of lists, the keys
//! of a hook written inline, the keys of a rung. What stays legal is listed; all else is refused by a
//! code.

use std::collections::{BTreeMap, BTreeSet};

use probity_policy::Profile;
use serde_json::{Map, Value, json};

use crate::written;

fn profile() -> Value {
    json!({
        "description": "who",
        "command": ["agent", "-p"],
        "resume": ["agent", "--resume", "{session}"],
        "hooks": [
            "audit",
            {
                "name": "a", "event": "tool.pre", "priority": 3, "when": "True",
                "script": "x", "timeout": "5s", "description": "why"
            }
        ],
        "rungs": {"small_model": {"command": ["small", "-p"], "format": "text"}},
        "allow_hosts": ["example.com"],
        "expect": ["file:out.txt"],
        "verify_files": ["a.star"],
        "verify_args": {"a": {"b": [1]}},
    })
}

fn read(profile: &Value) -> Result<(), &'static str> {
    let keys = profile.as_object().unwrap();
    Profile::parse("dir/a.md", &written::file(keys, "")).map(drop).map_err(|error| error.code())
}

/// Pointers of everything inside of a key.
fn pointers() -> Vec<String> {
    fn walk(value: &Value, place: &str, found: &mut Vec<String>) {
        let mut member = |key: &str, item: &Value| {
            let pointer = format!("{place}/{key}");
            if !place.is_empty() {
                found.push(pointer.clone());
            }
            walk(item, &pointer, found);
        };
        match value {
            Value::Object(map) => map.iter().for_each(|(key, item)| member(key, item)),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| member(&at.to_string(), item));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(&profile(), "", &mut found);
    found
}

fn removed(pointer: &str) -> Value {
    let mut profile = profile();
    let (above, name) = pointer.rsplit_once('/').unwrap();
    match profile.pointer_mut(above).unwrap() {
        Value::Object(map) => drop(map.remove(name)),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        _ => panic!("{pointer}"),
    }
    profile
}

/// Each pointer with each of these in its place. What is accepted, as lines.
fn accepted(name: &str, others: &[(&str, Value)], same_kind: bool) -> BTreeSet<String> {
    read(&profile()).unwrap();
    let mut accepted = BTreeSet::new();
    let (mut changes, mut codes) = (0, BTreeMap::<&str, usize>::new());
    for pointer in pointers() {
        let kind = profile().pointer(&pointer).map(std::mem::discriminant).unwrap();
        let is_asked = |other: &Value| same_kind || std::mem::discriminant(other) != kind;
        for (what, other) in others.iter().filter(|(_, other)| is_asked(other)) {
            let mut changed = profile();
            *changed.pointer_mut(&pointer).unwrap() = other.clone();
            changes += 1;
            match read(&changed) {
                Ok(()) => drop(accepted.insert(format!("{what} {pointer}"))),
                Err(code) => *codes.entry(code).or_default() += 1,
            }
        }
    }
    println!("{name}: {changes} changes, {} legal, {codes:?}", accepted.len());
    accepted
}

fn lines(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

#[test]
fn removed_members() {
    let mut accepted = BTreeSet::new();
    for pointer in pointers() {
        match read(&removed(&pointer)) {
            Ok(()) => drop(accepted.insert(pointer)),
            Err(code) => assert!(!code.is_empty()),
        }
    }
    println!("profile, removed: {} changes, {} legal", pointers().len(), accepted.len());
    // One item less is a shorter list; a hook's keys but event and script, a rung and its format may
    // be left out; arguments of the verifier are the author's.
    let legal = lines(
        "
        /allow_hosts/0
        /command/0
        /command/1
        /expect/0
        /hooks/0
        /hooks/1
        /hooks/1/description
        /hooks/1/name
        /hooks/1/priority
        /hooks/1/timeout
        /hooks/1/when
        /resume/0
        /resume/1
        /resume/2
        /rungs/small_model
        /rungs/small_model/command/0
        /rungs/small_model/command/1
        /rungs/small_model/format
        /verify_args/a
        /verify_args/a/b
        /verify_args/a/b/0
        /verify_files/0
        ",
    );
    assert_eq!(accepted, legal);
}

#[test]
fn retyped_members() {
    let others = [
        ("string", json!("x")),
        ("number", json!(7)),
        ("bool", json!(true)),
        ("null", Value::Null),
        ("list", json!([])),
        ("object", json!({})),
    ];
    // A hook may be named in place of written, a command be one text, and arguments of the verifier
    // are the author's.
    let legal = lines(
        "
        string /hooks/1
        string /rungs/small_model/command
        string /verify_args/a
        number /verify_args/a
        bool /verify_args/a
        null /verify_args/a
        list /verify_args/a
        string /verify_args/a/b
        number /verify_args/a/b
        bool /verify_args/a/b
        null /verify_args/a/b
        object /verify_args/a/b
        string /verify_args/a/b/0
        bool /verify_args/a/b/0
        null /verify_args/a/b/0
        list /verify_args/a/b/0
        object /verify_args/a/b/0
        ",
    );
    assert_eq!(accepted("profile, retyped", &others, false), legal);
}

#[test]
fn huge_members() {
    let deep = (0..200).fold(json!([]), |inner, _| json!([inner]));
    let many: Map<String, Value> = (0..10_000).map(|n| (format!("k{n}"), json!(n))).collect();
    let others = [
        ("1 MB", json!("x".repeat(1_000_000))),
        ("100 kB", json!("x".repeat(100_000))),
        ("10^18", json!(1_000_000_000_000_000_000_u64)),
        ("depth 200", deep),
        ("10,000 members", Value::Object(many)),
        ("10,000 items", json!(vec!["x"; 10_000])),
    ];
    // Texts of people and scripts may be long, and so may be what the author gives the verifier,
    // within the bound of the file.
    let legal = lines(
        "
        100 kB /hooks/1/description
        100 kB /hooks/1/script
        100 kB /verify_args/a
        10^18 /verify_args/a
        10,000 items /verify_args/a
        100 kB /verify_args/a/b
        10^18 /verify_args/a/b
        10,000 items /verify_args/a/b
        100 kB /verify_args/a/b/0
        10^18 /verify_args/a/b/0
        10,000 items /verify_args/a/b/0
        ",
    );
    assert_eq!(accepted("profile, huge", &others, true), legal);
}
