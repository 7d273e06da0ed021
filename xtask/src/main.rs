//! `cargo xtask`: one word per job, so that a newcomer, CI and the README run the same commands.

use std::path::Path;
use std::process::ExitCode;

use xtask::bench::Bench;
use xtask::instructions::Instructions;
use xtask::{Dist, book, ci, fuzz, mutants, test, tidy};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test   documentation tests, then every test of the workspace; installs cargo-nextest if missing
  tidy   what the compiler does not check: crate edges, budgets, names, error-code pages, links
  fuzz   TARGET|all [SECONDS]: coverage-guided fuzzing on the committed corpus, of one target or of
         every one in turn; default 600 s each; fuzz/README.md lists them
  mutants [CRATE] [OPTION...]: changes the code in one place after another and runs the tests on each
         change; without CRATE the crates that decide; options are those of cargo-mutants
  dist   [--binary PATH] [--man DIR] [--out DIR] [--target TRIPLE]: packs a release into target/dist
  book   the documentation as a book in target/book; built into target/site where mdbook is installed
  bench  [--quick] [--peers DIR]... [--programs DIR] [--folder DIR] [--only NAME,...] [--page]:
         every bar beside its peers, the outputs in bench/results, the page in docs/benchmarks.md
  instructions [--update] [--programs DIR] [--only NAME,...]: what hot paths take, under valgrind,
         held against bench/instructions.toml
  ci     formatting, lints, documentation, tidy, deny where installed, then test";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new("."));
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| Path::new(first).file_stem() == Some("rustc".as_ref())) {
        return ended(xtask::compile(&args));
    }
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test", rest @ ..] => test(root, rest),
        ["tidy"] => report(root),
        ["fuzz", target] => fuzz(root, target, "600"),
        ["fuzz", target, seconds] => fuzz(root, target, seconds),
        ["mutants", rest @ ..] => mutants(root, rest),
        ["dist", rest @ ..] => dist(root, rest),
        ["book"] => book(root),
        ["bench", rest @ ..] => bench(root, rest),
        ["instructions", rest @ ..] => Instructions::parse(root, rest)
            .and_then(|asked| asked.run())
            .map_err(xtask::XtaskError::Instructions),
        ["ci"] => ci(root),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(64);
        }
    };
    ended(done)
}

fn ended(done: Result<(), xtask::XtaskError>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

fn dist(root: &Path, words: &[&str]) -> Result<(), xtask::XtaskError> {
    let packed = Dist::parse(root, words).and_then(|dist| dist.pack());
    println!("{}", packed.map_err(xtask::XtaskError::Dist)?.display());
    Ok(())
}

fn bench(root: &Path, words: &[&str]) -> Result<(), xtask::XtaskError> {
    let page = Bench::parse(root, words).and_then(|bench| bench.run());
    println!("{}", page.map_err(xtask::XtaskError::Bench)?.display());
    Ok(())
}

fn report(root: &Path) -> Result<(), xtask::XtaskError> {
    let findings = tidy(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(xtask::XtaskError::Untidy { count }),
    }
}
