//! What decides a check is put under seal, and what the seal cannot see is said.

use probity_core::Code;
use probity_verifier::spec::CheckSpec;
use probity_verifier::{CommandLine, Role, undeclared_inputs};

use super::builder::Builder;
use super::{PrepareError, build_folders};
use crate::project::critic::command_line;

impl Builder<'_> {
    /// Puts everything a check is decided by under seal: declared inputs, and files of the
    /// workspace that its command line runs.
    pub(super) fn seal_inputs(&mut self, spec: &CheckSpec, id: &Code) -> Result<(), PrepareError> {
        let inputs = spec.inputs();
        let command = command_line(spec).map(|line| CommandLine::of_line(&line));
        let named = command.as_ref().map(|command| command.files_named_in(&self.workspace));
        let judges = named.into_iter().flatten().filter(|file| file.role == Role::Judge);
        let judges: Vec<String> = judges.map(|file| file.path).collect();
        self.judge = self.judge.clone().check_inputs(&inputs, &judges, spec.may_change())?;
        // One pattern alone may be meant for files that are not to appear, so this is no error.
        let matches =
            |glob: &String| !self.workspace.glob(glob, 1).is_ok_and(|found| found.is_empty());
        if !inputs.is_empty() && !inputs.iter().any(matches) {
            self.warnings.push(format!(
                "check `{id}` seals no file: nothing matches `{}`; write inputs= once for each pattern",
                inputs.join("`, `")
            ));
        }
        if let Some(command) = &command {
            self.warn_of_undeclared(spec, id, command);
        }
        Ok(())
    }

    fn warn_of_undeclared(&mut self, spec: &CheckSpec, id: &Code, command: &CommandLine) {
        if command.has_unresolved_words() {
            self.warnings.push(format!(
                "check `{id}` runs a script that its command line does not spell out, so it is not \
                 sealed: name it plainly, or declare it with inputs="
            ));
        }
        let undeclared = undeclared_inputs(command, &spec.inputs());
        if !undeclared.is_empty() {
            self.warnings.push(format!(
                "check `{id}` does not declare all the files that decide it, so the delegate could \
                 edit them: add inputs={}",
                undeclared.join(",inputs=")
            ));
        }
    }

    /// What the snapshot leaves out, `changes_only` does not see.
    pub(super) fn warn_of_ignored(&mut self, id: &Code) {
        let is_there = |name: &&str| matches!(self.workspace.stat_link(name), Ok(Some(_)));
        let unseen: Vec<&str> = build_folders().filter(is_there).collect();
        if !unseen.is_empty() {
            self.warnings.push(format!(
                "check `{id}` does not look into {}: the snapshot leaves these folders out",
                unseen.join(", ")
            ));
        }
    }

    /// A target inside an ignored folder is looked at all the same.
    pub(super) fn watch_target(&mut self, spec: &CheckSpec) -> Result<(), PrepareError> {
        if let Some(path) = spec.compared_path() {
            let rules = std::mem::take(&mut self.rules);
            self.rules = rules.always(&self.workspace, [path])?;
        }
        Ok(())
    }
}
