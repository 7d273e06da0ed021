//! What this machine can hold a command to, found out by holding one to it.

use std::path::Path;
use std::time::Duration;

use crate::confinement::{Confinement, Demand, Network};
use crate::launcher::Launcher;
use crate::part::Enforcement;
use crate::spawn::{Limits, SandboxError, Spawn};

/// What the bounds are tried with: more than the helper takes, less than a machine has.
const PROCESSES: u64 = 4096;
const MEMORY_BYTES: u64 = 1 << 30;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Starts the helper itself as a command, under everything that there is, and says of each part whether
/// it held. `folder` must hold something to protect and something to hide, a file `kept` and a file
/// `hidden`. Without a helper nothing is started, and no part holds.
///
/// # Errors
/// [`SandboxError`] when nothing could be started at all.
pub async fn probe(launcher: &Launcher, folder: &Path) -> Result<Enforcement, SandboxError> {
    let confinement = Confinement::closed()
        .demand(Demand::BestEffort)
        .network(Network::Denied)
        .writable(folder)
        .protected(folder.join("kept"))
        .hidden(folder.join("hidden"));
    let mut held = try_out(launcher, confinement.clone(), Limits::default()).await?;
    let limits = Limits {
        processes: Some(PROCESSES),
        memory_bytes: Some(MEMORY_BYTES),
        ..Limits::default()
    };
    if let Launcher::Helper { .. } = launcher {
        held.join(&try_out(launcher, confinement, limits).await?);
    }
    Ok(held)
}

/// Starts the helper as a command under a confinement and limits, whatever of them holds, and says what
/// did.
///
/// # Errors
/// [`SandboxError`] when it could not be started.
pub async fn try_out(
    launcher: &Launcher,
    confinement: Confinement,
    limits: Limits,
) -> Result<Enforcement, SandboxError> {
    let spawn = match launcher {
        Launcher::Helper { program, prefix } => {
            Spawn::new(program).args(prefix.iter().cloned()).arg("nothing")
        }
        Launcher::InProcess => Spawn::new("true"),
        Launcher::Confined { by, .. } => {
            return Box::pin(try_out(by, confinement, limits)).await;
        }
    };
    let confinement = confinement.demand(Demand::BestEffort);
    let spawn = spawn.confinement(confinement).limits(limits).timeout(TIMEOUT);
    Ok(spawn.run(launcher).await?.enforcement)
}
