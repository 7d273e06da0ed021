//! Writes the manual pages of the command into a folder: `cargo run -p probity --example man -- DIR`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory as _;
use probity::cli::args::Cli;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: man DIR");
        return ExitCode::from(64);
    };
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("man: cannot write to {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}
