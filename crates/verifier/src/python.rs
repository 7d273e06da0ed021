//! Verifiers in Python: a program that gives them the classes they import and turns what they
//! return or raise into a verdict.

use std::path::Path;

use crate::spec::ExternalSpec;

/// The program, for `python3 -I -c`; without `-I` it ends at once. It takes two arguments, the
/// verifier's file and the name of the function in it, reads what an external verifier is given and
/// prints what one prints. It writes no file. How it calls the function, what it makes of the answer
/// and what the verifier may import stands at its head.
pub const PYTHON_SHIM: &str = include_str!("../shim/probity_shim.py");

/// Where the command line of an external verifier finds [`PYTHON_SHIM`].
pub(crate) const SHIM_VARIABLE: &str = "PROBITY_PYTHON_SHIM";

impl ExternalSpec {
    /// The verifier `function` of a Python file, run by the `python3` on `PATH`, in isolated mode. A
    /// relative path is one below the workspace. The path must be UTF-8; what is not is replaced.
    ///
    /// It imports the standard library and the packages that are installed with that `python3`, and
    /// nothing else: not the workspace, not the file's own folder, not `PYTHONPATH`, not the user's
    /// packages. The file is sealed as a whole; a module beside it would not be. An import that fails
    /// is the fault `external_exit`.
    #[must_use]
    pub fn python(path: impl AsRef<Path>, function: &str) -> Self {
        let path = path.as_ref().to_string_lossy();
        let line = format!(
            "exec python3 -I -B -c \"${SHIM_VARIABLE}\" {} {}",
            quoted(&path),
            quoted(function)
        );
        Self { line, ..Self::default() }
    }
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
