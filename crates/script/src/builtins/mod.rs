//! The names a script may use. Each reads; those that write are for tools only.

mod fs;
mod host;
mod json;
mod poll;
mod pure;
mod sqlite;
mod text;
mod write;

use std::sync::LazyLock;

use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension};

use crate::interpreter::Role;

/// The names of a script of this role, built once per process.
pub(crate) fn globals(role: Role) -> &'static Globals {
    static JUDGES: LazyLock<Globals> = LazyLock::new(|| build(|_| {}));
    static TOOLS: LazyLock<Globals> = LazyLock::new(|| build(write::members));
    match role {
        Role::Verifier | Role::Hook => &JUDGES,
        Role::Tool => &TOOLS,
    }
}

fn build(writes: fn(&mut GlobalsBuilder)) -> Globals {
    let mut builder = GlobalsBuilder::extended_by(&[
        LibraryExtension::StructType,
        LibraryExtension::SetType,
        LibraryExtension::Map,
        LibraryExtension::Filter,
        LibraryExtension::Partial,
        LibraryExtension::Print,
    ]);
    builder.namespace("json", json::members);
    builder.namespace("fs", |fs| {
        fs::paths(fs);
        fs::contents(fs);
        fs::lines(fs);
        writes(fs);
    });
    builder.namespace("http", host::http);
    builder.namespace("git", host::git);
    builder.namespace("sqlite", sqlite::members);
    builder.namespace("exec", host::exec);
    builder.namespace("time", host::time);
    builder.namespace("changes", host::changes);
    host::top_level(&mut builder);
    poll::members(&mut builder);
    builder.namespace("re", text::re);
    builder.namespace("string", text::string);
    builder.namespace("url", text::url);
    builder.namespace("validate", text::validate);
    builder.namespace("hash", pure::hash);
    builder.namespace("base64", pure::base64);
    builder.namespace("math", pure::math);
    builder.build()
}
