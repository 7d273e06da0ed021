//! What the compiler says of a verifier that is none: the message names what is wrong, and a note says
//! what is right.
//!
//! `rustc` reads each source against the library that these tests are linked to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What all sources begin with.
const PREAMBLE: &str = "
    #![allow(unused)]
    use probity_agent::{Agent, AgentContext, Reject};
    struct Plain;
    fn agent() -> probity_agent::AgentBuilder<Vec<u8>, Vec<u8>> {
        Agent::builder(\"x\").output::<Vec<u8>>()
    }
";

/// The libraries of this crate beside this program, newest first: of several builds with other
/// features, the last one is that of this program.
fn libraries() -> Vec<PathBuf> {
    let program = std::env::current_exe().unwrap();
    let entries = fs::read_dir(program.parent().unwrap()).unwrap().map(Result::unwrap);
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libprobity_agent-") && name.ends_with(".rlib")
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
    found.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    found.reverse();
    found
}

fn rustc(library: &Path, source: &str) -> (bool, String) {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("sample.rs");
    fs::write(&file, format!("{PREAMBLE}{source}")).unwrap();
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let dependencies = format!("dependency={}", library.parent().unwrap().display());
    let extern_agent = format!("probity_agent={}", library.display());
    let output = Command::new(compiler)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "-L", &dependencies])
        .args(["--extern", &extern_agent, "--out-dir"])
        .arg(dir.path())
        .arg(&file)
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The library that a source which is right compiles with.
fn library() -> PathBuf {
    let right = "
        async fn verify(output: Vec<u8>, run: AgentContext) -> Result<u32, Reject> { Ok(1) }
        fn works() { let agent = agent().verifier(verify).build(); }
    ";
    let mut said = Vec::new();
    for library in libraries() {
        let (is_right, text) = rustc(&library, right);
        if is_right {
            return library;
        }
        said.push(text);
    }
    panic!("no library compiles what is right: {said:#?}");
}

#[test]
fn what_is_wrong_with_a_verifier_is_said_with_what_is_right() {
    let library = library();
    let by_value = "whose first argument is the output, `Vec<u8>`, by value";
    let returns = "it returns `Result<R, Reject>`, or another error, where `R` implements";
    let extractors = "its further arguments are extractors: `AgentContext`, `ExecutionContext`";
    let table: [(&str, &str, &[&str]); 7] = [
        (
            "the output by reference",
            "async fn verify(output: &Vec<u8>) -> Result<u32, Reject> { Ok(1) }
             fn fails() { agent().verifier(verify); }",
            &["this is no verifier of `Vec<u8>`", by_value, extractors, returns],
        ),
        (
            "another type first",
            "async fn verify(output: u32) -> Result<u32, Reject> { Ok(1) }
             fn fails() { agent().verifier(verify); }",
            &["this is no verifier of `Vec<u8>`", by_value, extractors, returns],
        ),
        (
            "an argument that nobody has",
            "async fn verify(output: Vec<u8>, plain: Plain) -> Result<u32, Reject> { Ok(1) }
             fn fails() { agent().verifier(verify); }",
            &["this is no verifier of `Vec<u8>`", "fn(Vec<u8>, Plain)", extractors],
        ),
        (
            "no result",
            "async fn verify(output: Vec<u8>) -> u32 { 1 }
             fn fails() { agent().verifier(verify); }",
            &["this is no verifier of `Vec<u8>`", by_value, returns],
        ),
        (
            "an error that is none",
            "fn verify(output: Vec<u8>) -> Result<u32, Plain> { Ok(1) }
             fn fails() { agent().verifier(verify); }",
            &["this is no verifier of `Vec<u8>`", by_value, returns],
        ),
        (
            "a result without JSON form",
            "async fn verify(output: Vec<u8>) -> Result<Plain, Reject> { Ok(Plain) }
             fn fails() { agent().verifier(verify); }",
            &["this is no verifier of `Vec<u8>`", "Result<Plain, Reject>", returns, "`Serialize`"],
        ),
        (
            "an output without a schema",
            "fn fails() { Agent::builder(\"x\").output::<Plain>(); }",
            &[
                "`Plain` cannot be the output of an agent",
                "derive `Serialize`, `Deserialize` and `JsonSchema` for it",
            ],
        ),
    ];
    let mut poor = Vec::new();
    for (what, source, words) in table {
        let (is_right, text) = rustc(&library, source);
        assert!(!is_right, "{what} compiles");
        let missing: Vec<_> = words.iter().filter(|words| !text.contains(**words)).collect();
        if !missing.is_empty() {
            poor.push(format!("{what}: {missing:?} is not in\n{text}"));
        }
    }
    assert!(poor.is_empty(), "{}", poor.join("\n"));
}
