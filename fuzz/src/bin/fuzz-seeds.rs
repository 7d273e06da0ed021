//! Writes the inputs that fuzzing starts from: `fuzz-seeds FOLDER`, one folder for each target.

use std::path::Path;
use std::process::ExitCode;

use probity_fuzz::Target;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: fuzz-seeds FOLDER");
        return ExitCode::from(64);
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fuzz-seeds: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> std::io::Result<()> {
    for target in Target::ALL {
        let folder = folder.join(target.name());
        std::fs::create_dir_all(&folder)?;
        for (at, bytes) in target.seeds().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{at}")), bytes)?;
        }
    }
    Ok(())
}
