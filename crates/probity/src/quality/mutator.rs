//! The delegate of a trial: it changes one thing, and says that the work is done.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use probity_core::Claim;
use probity_delegate::{Answered, Conversation, Delegate, DelegateError, Request};
use probity_quality::{MAX_CONTENT_BYTES, Mutant, Operator, Role, Tree, TreeError};

use super::repository::{self, Moved, Remote};
use crate::location::Programs;

/// Who changes one thing.
pub(super) struct Mutator {
    pub(super) work: Arc<Mutex<Tree>>,
    pub(super) whole: Arc<Tree>,
    /// Where a database may be opened.
    pub(super) scratch: PathBuf,
    /// What is put back first: it was not there before.
    pub(super) new_path: Option<String>,
    /// Nothing, where things are to be as they are.
    pub(super) mutant: Option<Mutant>,
    pub(super) remote: Option<Remote>,
    /// What is to be moved back when the check is done: the copy of a remote is in no tree.
    pub(super) moved: Arc<Mutex<Option<Moved>>>,
    pub(super) claim: Claim,
    pub(super) programs: Programs,
}

impl Mutator {
    /// Carries out what is about files.
    fn change(&self) -> Result<(), String> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let said = |error: TreeError| error.to_string();
        work.tick();
        if let Some(path) = &self.new_path {
            work.put_back(&self.whole, path).map_err(said)?;
        }
        match &self.mutant {
            Some(mutant) if !mutant.operator.is_of_git() => self.apply(mutant, &work),
            _ => Ok(()),
        }
    }

    fn apply(&self, mutant: &Mutant, work: &Tree) -> Result<(), String> {
        let (path, said) = (mutant.path.as_str(), |error: TreeError| error.to_string());
        match mutant.operator {
            Operator::Nothing => Ok(()),
            Operator::Touch => work.touch(path).map_err(said),
            Operator::Delete => work.remove(path).map_err(said),
            Operator::Folder => work.put_folder(path).map_err(said),
            Operator::File => {
                work.remove(path).map_err(said)?;
                work.write(path, b"").map_err(said)
            }
            Operator::Create => {
                let inside = format!("{path}/probity-mutant");
                let path = if mutant.role == Role::NamedFolder { &inside } else { path };
                work.write(path, b"").map_err(said)
            }
            Operator::Link => work.put_link(path).map_err(said),
            Operator::Mode => work.turn_mode(path).map_err(said),
            Operator::RenameCase => match work.rename_case(path).map_err(said)? {
                true => Ok(()),
                false => Err("its name has no letter".to_owned()),
            },
            operator => {
                let bytes = self.whole.read(path, MAX_CONTENT_BYTES).map_err(said)?;
                let bytes = bytes.ok_or_else(|| "it is too large, or gone".to_owned())?;
                let edited = mutant.change.edit(operator, &bytes, &self.scratch);
                work.write(path, &edited.map_err(|error| error.to_string())?).map_err(said)
            }
        }
    }

    async fn move_refs(&self, mutant: &Mutant) -> Result<(), String> {
        let root = {
            let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
            match mutant.operator {
                Operator::Dirty => {
                    let bytes = work.read(&mutant.path, MAX_CONTENT_BYTES).ok().flatten();
                    let mut bytes = bytes.ok_or("it is too large, or gone")?;
                    bytes.push(b'\n');
                    return work.write(&mutant.path, &bytes).map_err(|error| error.to_string());
                }
                Operator::Untracked => {
                    return work.write(&mutant.path, b"").map_err(|error| error.to_string());
                }
                _ => work.root().to_path_buf(),
            }
        };
        let at = match (mutant.operator, &self.remote) {
            (Operator::Unpush, Some(remote)) => remote.path.clone(),
            _ => root,
        };
        let moved = repository::move_back(&at, &mutant.path, &self.programs).await?;
        if mutant.operator == Operator::Unpush {
            *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Some(moved);
        }
        Ok(())
    }
}

#[async_trait]
impl Delegate for Mutator {
    async fn attempt(&self, _: &Request) -> Result<Answered, DelegateError> {
        let failed = |message| DelegateError::Failed { message };
        tokio::task::block_in_place(|| self.change()).map_err(failed)?;
        if let Some(mutant) = self.mutant.as_ref().filter(|it| it.operator.is_of_git()) {
            self.move_refs(mutant).await.map_err(failed)?;
        }
        Ok(Answered::of(self.claim.clone()))
    }

    fn conversation(&self) -> Conversation {
        Conversation::Fresh
    }

    fn describe(&self) -> String {
        "one change of the workspace".to_owned()
    }
}
