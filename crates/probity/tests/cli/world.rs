//! A place of its own for each test: workspace, state and configuration folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

/// Says "Done." and does nothing.
pub(crate) const LIAR: [&str; 3] = ["sh", "-c", "cat > /dev/null; echo Done."];
/// Does the work once it was told that nobody believed it.
pub(crate) const REPENTANT: [&str; 3] =
    ["sh", "-c", "if grep -q 'VERIFICATION FAILED'; then echo hello > out.txt; fi; echo Done."];
/// Does the work at once.
pub(crate) const HONEST: [&str; 3] =
    ["sh", "-c", "cat > /dev/null; echo hello > out.txt; echo Done."];

/// The check of the examples.
pub(crate) const CREATED: &str = "file:out.txt,created,contains=hello";

/// The folders.
pub(crate) struct World {
    folder: TempDir,
}

/// What a process came to.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit code; -1 after a signal.
    pub(crate) code: i32,
    /// As text.
    pub(crate) stdout: String,
    /// As text.
    pub(crate) stderr: String,
}

impl World {
    /// Empty folders.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["workspace", "state", "config", "home", "bin"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// A path beside the workspace.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in the workspace.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.beside("workspace").join(name)
    }

    /// Writes a file of the workspace, with its folders.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Reads a file of the workspace.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// As [`World::read`]; empty where there is nothing to read.
    pub(crate) fn read_if_there(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    /// The command, in the workspace, away from the user's own folders.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(args)
            .current_dir(self.at(""))
            .env("XDG_STATE_HOME", self.beside("state"))
            .env("XDG_CONFIG_HOME", self.beside("config"))
            .env("HOME", self.beside("home"))
            .env("PATH", format!("{}:{path}", self.beside("bin").display()))
            .env("COLUMNS", "100")
            .env_remove("PROBITY_STORE")
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub(crate) fn probity<S: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// Runs a delegate under the gate, with the example's check.
    pub(crate) fn gate(&self, delegate: &[&str], more: &[&str]) -> Ran {
        let head = ["run", "write hello to out.txt", "--expect", CREATED];
        self.probity(head.iter().chain(more).chain(&["--"]).chain(delegate))
    }

    /// The text with what differs from run to run replaced: ids, digests, times, folders.
    pub(crate) fn redact(&self, text: &str) -> String {
        let folder = self.folder.path().display().to_string();
        let mut text = text.replace(&folder, "DIR");
        for (pattern, word) in [
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "RUN"),
            (r"\b[0-9a-f]{64}\b", "DIGEST"),
            (r"\b[0-9a-f]{12}\b", "HEAD"),
            (r"\b[0-9]+ ms\b", "T ms"),
            (r"\b[0-9]+\.[0-9]{3}s", "Ts"),
            (r#""elapsed_ms":[0-9]+"#, r#""elapsed_ms":0"#),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
        ] {
            text = Regex::new(pattern).unwrap().replace_all(&text, word).into_owned();
        }
        text
    }
}

impl Ran {
    /// Standard output as the one JSON value that it is.
    pub(crate) fn json(&self) -> Value {
        let line = self.stdout.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {self:?}"));
        assert!(!line.contains('\n'), "more than one line: {self:?}");
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of the error object on standard output.
    pub(crate) fn error_code(&self) -> String {
        let object = self.json();
        assert!(object["error"]["message"].is_string(), "{self:?}");
        object["error"]["code"].as_str().unwrap().to_owned()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Puts a text of the same length in the place of another one, wherever a store keeps it. Says in how many
/// rows it was.
pub(crate) fn alter(store: &Path, from: &str, to: &str) -> usize {
    assert_eq!(from.len(), to.len());
    let store = rusqlite::Connection::open(store).unwrap();
    let mut read = store.prepare("SELECT number, bytes FROM pack").unwrap();
    let rows = read.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let rows: Vec<(i64, Vec<u8>)> = rows.map(|row| row.unwrap()).collect();
    let mut changed = 0;
    for (number, mut bytes) in rows {
        let before = bytes.clone();
        for at in 0..bytes.len().saturating_sub(from.len() - 1) {
            if bytes[at..].starts_with(from.as_bytes()) {
                bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            }
        }
        if bytes != before {
            let put = "UPDATE pack SET bytes = ?1 WHERE number = ?2";
            changed += store.execute(put, (bytes, number)).unwrap();
        }
    }
    changed
}

/// Makes a file that the system will run.
pub(crate) fn make_executable(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
