//! Verifiers in files.

use std::path::Path;
use std::time::Duration;

use probity_core::Fault;
use probity_sandbox::{Ended, Spawn, Status};
use probity_script::{Host, Limits, Script, ScriptVerifier};
use serde_json::Value;

use super::Checker;
use crate::cli::init::is_on_path;
use crate::cli::source::read_text;

/// Parses what comes on standard input, as Python; runs none of it.
const PARSE: &str = "import ast, sys\n\
                     try:\n\
                     \x20   ast.parse(sys.stdin.buffer.read(), sys.argv[1])\n\
                     except (SyntaxError, ValueError) as error:\n\
                     \x20   sys.exit(str(error))\n";
/// The longest verifier in Python, in bytes.
const MAX_PYTHON_BYTES: usize = 1 << 20;
/// How long that may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of what Python says that are shown.
const MAX_SAID_BYTES: usize = 1000;

impl Checker<'_> {
    /// A verifier in Starlark or Python; each file once.
    pub(super) async fn verifier_file(&mut self, path: &Path, args: &Value) {
        if self.scripts.iter().any(|checked| checked == path) {
            return;
        }
        self.scripts.push(path.to_path_buf());
        if !self.is_regular(path) {
            return;
        }
        let name = self.name(path, "");
        if path.extension().is_some_and(|ending| ending == "py") {
            return self.python(name, path).await;
        }
        match Script::from_file(path) {
            Ok(script) => self.script(name, script, args).await,
            Err(error) => self.checked.error(name, "script_read", error.to_string()),
        }
    }

    /// A verifier in Starlark: it compiles, defines what is called, and its examples hold.
    pub(super) async fn script(&mut self, name: String, script: Script, args: &Value) {
        let (host, limits) = (Host::default(), Limits::default());
        let made = ScriptVerifier::new(script, args.clone(), host, limits, self.execution());
        let checked = match made {
            Ok(verifier) => verifier.check().await,
            Err(fault) => Err(fault),
        };
        match checked {
            Ok(()) => self.checked.ok(name, "compiles, and its examples hold"),
            Err(fault) => self.fault(name, &fault),
        }
    }

    /// A verifier in Python: it parses. Whether it defines `verify` only a run shows.
    async fn python(&mut self, name: String, path: &Path) {
        let text = match read_text(path, MAX_PYTHON_BYTES) {
            Ok(text) => text,
            Err(error) => return self.checked.error(name, error.code(), error.to_string()),
        };
        if !is_on_path("python3") {
            let message = "`python3` is not on PATH here; the file was not looked at";
            return self.checked.warning(name, "external_start", message);
        }
        let spawn = Spawn::new("python3").args(["-I", "-S", "-c", PARSE]).arg(path.as_os_str());
        let spawn = spawn.stdin(text.into_bytes()).timeout(TIMEOUT);
        match spawn.run(&self.programs.launcher).await {
            Ok(finished) => match finished.ended {
                Ended::Exited(Status::Code(0)) => self.checked.ok(name, "is Python"),
                Ended::Exited(_) => {
                    let said = finished.stderr.last_text(MAX_SAID_BYTES);
                    self.checked.error(name, "verifier_python_syntax", said.trim());
                }
                Ended::TimedOut | Ended::Cancelled => {
                    let message = "python3 did not answer in time; the file was not looked at";
                    self.checked.warning(name, "external_timeout", message);
                }
            },
            Err(error) => self.checked.warning(name, "external_start", error.to_string()),
        }
    }

    /// What a script broke with, and where.
    pub(super) fn fault(&mut self, name: String, fault: &Fault) {
        let place = fault.location.as_ref().map_or(String::new(), |place| format!("\n{place}"));
        self.checked.error(name, fault.code.as_str(), format!("{}{place}", fault.message));
    }
}
