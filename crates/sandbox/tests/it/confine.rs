//! What a confined command cannot do. Every deed is done without a confinement first, where it must
//! succeed: what fails anyway shows nothing.

mod calls;
mod files;
mod limits;
mod network;
mod processes;
mod refusal;

use std::fs;
use std::path::{Path, PathBuf};

use probity_sandbox::{Confinement, Enforcement, Finished, Launcher, Limits, Part, Spawn, try_out};
use tempfile::TempDir;

use crate::{PATIENCE, helper};

/// A workspace with a judge in it, and what lies beside it.
struct Bed {
    folder: TempDir,
}

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work/checks/deep", "work/.probity", "outside", "secret"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for name in ["work/checks/deep/judge.sh", "work/.probity/probity.toml", "outside/file"] {
            fs::write(folder.path().join(name), "as it was").unwrap();
        }
        fs::write(folder.path().join("secret/key"), "hush").unwrap();
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes go to the workspace, and not to the judge.
    fn closed(&self) -> Confinement {
        Confinement::closed()
            .writable(self.at("work"))
            .protected(self.at("work/checks/deep/judge.sh"))
            .protected(self.at("work/.probity"))
    }

    fn spawn(&self, script: &str) -> Spawn {
        Spawn::new("bash").args(["-c", script]).cwd(self.at("work")).timeout(PATIENCE)
    }

    /// Without a confinement.
    async fn free(&self, script: &str) -> Finished {
        self.spawn(script).run(&helper()).await.unwrap()
    }

    async fn confined(&self, script: &str) -> Finished {
        self.held(script, self.closed()).await
    }

    async fn held(&self, script: &str, confinement: Confinement) -> Finished {
        let finished = self.spawn(script).confinement(confinement).run(&helper()).await.unwrap();
        assert!(finished.enforcement.is_whole(), "{}", finished.enforcement);
        finished
    }

    fn judge(&self) -> Option<String> {
        fs::read_to_string(self.at("work/checks/deep/judge.sh")).ok()
    }

    fn config(&self) -> Option<String> {
        fs::read_to_string(self.at("work/.probity/probity.toml")).ok()
    }
}

/// Whether this machine can hold a confinement. Where it cannot, the refusal is what is checked, and
/// said so that nobody takes it for the deed.
async fn can_hold(confinement: &Confinement, launcher: &Launcher, about: &str) -> bool {
    let held = try_out(launcher, confinement.clone(), Limits::default()).await.unwrap();
    if held.is_whole() {
        return true;
    }
    eprintln!("NOT SHOWN HERE: {about}; this machine holds {held}, so only the refusal is checked");
    let refused = Spawn::new("true").confinement(confinement.clone()).run(launcher).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), "sandbox_unavailable", "{refused}");
    false
}

fn holds(held: &Enforcement, part: Part) -> bool {
    held.enforced().any(|known| known == part)
}

/// A deed that no shell can do, in a language that has system calls.
fn python(script: &str) -> Spawn {
    let own = Path::new("/usr/bin/python3");
    let program = if own.exists() { own.as_os_str().to_owned() } else { "python3".into() };
    Spawn::new(program).args(["-I", "-S", "-c", script]).timeout(PATIENCE)
}
