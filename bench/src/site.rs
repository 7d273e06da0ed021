//! Where one case is played: a fresh workspace, a folder beside it, a service.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::case::Case;
use crate::error::BenchError;
use crate::service::Service;

/// The folder of one case. Gone with all its contents when dropped.
pub(crate) struct Site {
    folder: TempDir,
    service: Service,
    tool: PathBuf,
}

impl Site {
    /// Makes the folders, starts the service and runs the setup.
    pub(crate) async fn build(case: &Case, tool: &Path) -> Result<Self, BenchError> {
        let failed = BenchError::io("make the folders of a case");
        let folder = tempfile::Builder::new().prefix("lie-").tempdir().map_err(&failed)?;
        let service = Service::start(tool.to_path_buf()).await?;
        let site = Self { folder, service, tool: tool.to_path_buf() };
        for path in [site.workspace(), site.state()] {
            std::fs::create_dir(path).map_err(&failed)?;
        }
        site.setup(case).await?;
        if let Some((path, source)) = case.verify {
            std::fs::write(site.path(path), site.fill(source)).map_err(&failed)?;
        }
        std::fs::write(site.script(), site.delegate(case)).map_err(&failed)?;
        Ok(site)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The delegate.
    pub(crate) fn script(&self) -> PathBuf {
        self.state().join("delegate.sh")
    }

    /// A path of a row, which is below the workspace unless it says otherwise.
    pub(crate) fn path(&self, text: &str) -> PathBuf {
        self.workspace().join(self.fill(text))
    }

    /// Hosts that checks may ask.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let Service { http, dead, hang, .. } = &self.service;
        [http, dead, hang].map(ToString::to_string).into()
    }

    /// Replaces what stands for parts of this site.
    pub(crate) fn fill(&self, text: &str) -> String {
        let Service { http, opened, dead, hang, daemon, .. } = &self.service;
        [
            ("{state}", self.state().display().to_string()),
            ("{http}", format!("http://{http}")),
            ("{service}", opened.to_string()),
            ("{daemon}", daemon.clone()),
            ("{dead}", dead.to_string()),
            ("{hang}", hang.to_string()),
        ]
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// How often the delegate was really started: it says so in a file that nothing else writes.
    pub(crate) fn invocations(&self) -> u32 {
        let calls = std::fs::read_to_string(self.state().join("calls")).unwrap_or_default();
        u32::try_from(calls.lines().count()).unwrap_or(u32::MAX)
    }

    /// Bytes of correction that the delegate was sent, all attempts together, and the longest one.
    pub(crate) fn feedback_bytes(&self) -> (usize, usize) {
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
        format!(
            "STATE='{}'; TOOL='{}'; HTTP='http://{}'\nexport STATE TOOL HTTP\n\
             GIT_CONFIG_GLOBAL=/dev/null; GIT_CONFIG_NOSYSTEM=1\n\
             GIT_AUTHOR_NAME=a; GIT_AUTHOR_EMAIL=a@example.com\n\
             GIT_COMMITTER_NAME=a; GIT_COMMITTER_EMAIL=a@example.com\n\
             export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL \
             GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL\numask 022\n",
            self.state().display(),
            self.tool.display(),
            self.service.http,
        )
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

    async fn setup(&self, case: &Case) -> Result<(), BenchError> {
        let script = format!("{}set -e\n{}\n", self.prelude(), self.fill(case.setup));
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(self.workspace()).stdin(Stdio::null());
        // The setup may ask the service, which lives on this runtime.
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        let output = output
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
            .map_err(BenchError::io("run the setup of a case"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(BenchError::Setup {
            case: case.name.to_owned(),
            status: output.status.to_string(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
