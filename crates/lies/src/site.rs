//! Where one case is played: a fresh workspace, a folder beside it, a service.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::case::Case;
use crate::error::LiesError;
use crate::service::Service;

/// What a site has besides, where somebody else provides it.
#[derive(Debug, Default, Clone)]
pub struct Extras {
    /// Shell variables.
    pub variables: Vec<(&'static str, String)>,
    /// What stands for parts of it in scripts and checks: with the braces.
    pub fills: Vec<(&'static str, String)>,
}

/// The folder of one case. Gone with all its contents when dropped.
#[derive(Debug)]
pub struct Site {
    folder: TempDir,
    service: Service,
    extras: Extras,
}

impl Site {
    /// Makes the folders, starts the service and runs the setup.
    ///
    /// # Errors
    /// [`LiesError`] if the folders or the service cannot be had, or the setup fails.
    pub fn build(case: &Case, extras: Extras) -> Result<Self, LiesError> {
        let failed = LiesError::io("make the folders of a row");
        let folder = tempfile::Builder::new().prefix("lie-").tempdir().map_err(&failed)?;
        let service = Service::start(folder.path().join("state").join("site"))?;
        let site = Self { folder, service, extras };
        for path in [site.workspace(), site.state(), site.state().join("site")] {
            std::fs::create_dir(path).map_err(&failed)?;
        }
        site.setup(case)?;
        if let Some((path, source)) = case.verify {
            std::fs::write(site.path(path), site.fill(source)).map_err(&failed)?;
        }
        std::fs::write(site.script(), site.delegate(case)).map_err(&failed)?;
        Ok(site)
    }

    /// Where the delegate works.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// What is kept beside it.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The delegate.
    #[must_use]
    pub fn script(&self) -> PathBuf {
        self.state().join("delegate.sh")
    }

    /// A path of a row, which is below the workspace unless it says otherwise.
    #[must_use]
    pub fn path(&self, text: &str) -> PathBuf {
        self.workspace().join(self.fill(text))
    }

    /// Hosts that checks may ask.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        let Service { http, dead, hang, .. } = &self.service;
        [http, dead, hang].map(ToString::to_string).into()
    }

    /// Replaces what stands for parts of this site.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        let Service { http, dead, hang, .. } = &self.service;
        let own = [
            ("{state}", self.state().display().to_string()),
            ("{http}", format!("http://{http}")),
            ("{dead}", dead.to_string()),
            ("{hang}", hang.to_string()),
        ];
        own.iter()
            .chain(&self.extras.fills)
            .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// How often the delegate was really started: it says so in a file that nothing else writes.
    #[must_use]
    pub fn invocations(&self) -> u32 {
        let calls = std::fs::read_to_string(self.state().join("calls")).unwrap_or_default();
        u32::try_from(calls.lines().count()).unwrap_or(u32::MAX)
    }

    /// Bytes of correction that the delegate was sent, all attempts together, and the longest one.
    #[must_use]
    pub fn feedback_bytes(&self) -> (usize, usize) {
        let mut lengths = Vec::new();
        for call in 2..=self.invocations() {
            let path = self.state().join(format!("prompt.{call}"));
            let prompt = std::fs::read(path).unwrap_or_default();
            let prompt = String::from_utf8_lossy(&prompt);
            // The last claim is quoted line by line, so only ours stands at the start of a line.
            let at = prompt.find("\nVERIFICATION FAILED on attempt ");
            lengths.push(at.map_or(0, |at| prompt.len() - at - 1));
        }
        (lengths.iter().sum(), lengths.into_iter().max().unwrap_or(0))
    }

    fn prelude(&self) -> String {
        let state = self.state();
        let mut text = String::new();
        let own = [
            ("STATE", state.display().to_string()),
            ("SITE", state.join("site").display().to_string()),
        ];
        for (name, value) in own.iter().chain(&self.extras.variables) {
            text.push_str(&format!("{name}={}; export {name}\n", quoted(Path::new(value))));
        }
        text.push_str(PRELUDE);
        text
    }

    fn delegate(&self, case: &Case) -> String {
        format!(
            "{}echo \"${{PROBITY_ATTEMPT:-1}}\" >> \"$STATE/calls\"\n\
             CALL=$(($(wc -l < \"$STATE/calls\")))\n\
             cat > \"$STATE/prompt.$CALL\"\n{}\n",
            self.prelude(),
            self.fill(case.delegate)
        )
    }

    fn setup(&self, case: &Case) -> Result<(), LiesError> {
        let script = format!("{}set -e\n{}\n", self.prelude(), self.fill(case.setup));
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .output()
            .map_err(LiesError::io("run the setup of a row"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(LiesError::Setup {
            case: case.name.to_owned(),
            status: output.status.to_string(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// What every script begins with. `serve PATH TEXT` is what the service answers from now on; `flood N`
/// prints that many bytes.
const PRELUDE: &str = "\
GIT_CONFIG_GLOBAL=/dev/null; GIT_CONFIG_NOSYSTEM=1
GIT_AUTHOR_NAME=a; GIT_AUTHOR_EMAIL=a@example.com
GIT_COMMITTER_NAME=a; GIT_COMMITTER_EMAIL=a@example.com
export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
umask 022
serve() { mkdir -p \"$SITE/${1%/*}\"; printf '%s' \"$2\" > \"$SITE/$1\"; }
flood() { head -c \"$1\" /dev/zero | tr '\\0' x; echo; }
";

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
