//! Writes the manual pages of the command into a folder: `cargo run -p probity --example man -- DIR`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory as _};
use probity::cli::args::Cli;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: man DIR");
        return ExitCode::from(64);
    };
    match fs::create_dir_all(&folder).and_then(|()| write_pages(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("man: cannot write to {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

/// One page for the command, one for each of its subcommands.
fn write_pages(folder: &Path) -> io::Result<()> {
    // `help` has no page of its own: each page is what it would print.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_page(folder, command, None)
}

fn write_page(folder: &Path, command: Command, above: Option<&str>) -> io::Result<()> {
    let name = match above {
        Some(above) => format!("{above}-{}", command.get_name()),
        None => command.get_name().to_owned(),
    };
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_page(folder, below.clone().disable_help_subcommand(true), Some(&name))?;
    }
    let file = fs::File::create(folder.join(format!("{name}.1")))?;
    // Without a date: the same sources write the same pages.
    clap_mangen::Man::new(command.name(name)).date("").render(&mut io::BufWriter::new(file))
}
