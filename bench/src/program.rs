//! The programs of the bench are also the helpers that Probity starts, the tools of the scripts and
//! the command line itself, so that one build has all that a run needs.

use std::path::Path;
use std::process::ExitCode;

use crate::error::BenchError;

/// Answers if this process was started to be something else than the program it is built as: a
/// helper of the sandbox, a script worker, a tool of a row, or `probity` by that name.
#[must_use]
pub fn answer_as_program() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    match words.next().as_deref().and_then(|word| word.to_str()) {
        Some("sandbox-exec") => return Some(probity::sandbox::exec_main(words)),
        Some("script-worker") => return Some(probity::script::worker_main()),
        Some("tool") => {
            let words: Vec<String> = words.map(|word| word.to_string_lossy().into()).collect();
            return Some(match crate::tool::run(&words) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("tool: {error}");
                    ExitCode::FAILURE
                }
            });
        }
        _ => {}
    }
    let is_probity = Path::new(&name).file_name().is_some_and(|name| name == "probity");
    is_probity.then(probity::cli::main)
}

/// Does the work of a program of the bench on a runtime with two threads. `Err` is the code to end with,
/// after the error was printed.
pub(crate) fn block_on<T>(
    name: &str,
    work: impl Future<Output = Result<T, BenchError>>,
) -> Result<T, ExitCode> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(BenchError::io("start the runtime"))
        .and_then(|runtime| runtime.block_on(Box::pin(work)))
        .map_err(|error| {
            eprintln!("{name}: {error}");
            ExitCode::from(2)
        })
}
