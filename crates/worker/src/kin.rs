//! What the end of a run means for those around it: the run that waits for it hears of it, the runs
//! that it waits for are asked to stop.

use probity_core::{Event, RunId};
use probity_engine::{EngineError, Found, Post, read_entries, read_json};
use probity_record::Record;
use probity_store::{Enqueued, Store};
use serde::Deserialize;

use crate::kit::Kit;
use crate::trouble::Trouble;

/// Who asks the children of a run that has ended to stop.
const PARENT: &str = "parent";

/// What of a recorded wait matters here.
#[derive(Deserialize)]
struct WaitedFor {
    #[serde(default)]
    children: Vec<RunId>,
}

impl Kit {
    /// Has the run looked at that waits for this one. False if its job was there already: whoever holds
    /// that may have looked before this run ended.
    ///
    /// A parent that is not parked needs no word: it looks at its children once it is. One that is
    /// parked has a job that is parked too, or about to be, and whoever parks it looks once more
    /// afterwards. The repetition is for a holder that dies between the two; it ends because the
    /// holder goes on, or its lease does not.
    pub(crate) async fn tell_parent(&self, parent: &RunId, child: &RunId) -> Result<bool, Trouble> {
        let (waits, epoch) = match self.wait_of(parent).await.map_err(Trouble::from) {
            Ok(found) => found,
            Err(trouble) if trouble.may_pass() && trouble.code.as_str() != "run_missing" => {
                return Err(trouble);
            }
            // There is nobody to tell, or its own worker will find what is wrong with it.
            Err(_) => return Ok(true),
        };
        if !waits.contains(child) {
            return Ok(true);
        }
        Ok(match self.fleet.look(parent, epoch, false).await? {
            Enqueued::Added | Enqueued::Dead => true,
            Enqueued::Present => false,
        })
    }

    async fn wait_of(&self, parent: &RunId) -> Result<(Vec<RunId>, u64), EngineError> {
        let found = self.engine().find(parent).await?;
        let children = found.wait().await?.map(|wait| wait.children).unwrap_or_default();
        Ok((children, found.machine().epoch()))
    }

    /// Asks the runs that an ended run still waited for to stop.
    pub(crate) async fn stop_children(&self, found: &Found) -> Result<(), Trouble> {
        if found.machine().waits() == 0 {
            return Ok(());
        }
        let run = found.machine().run();
        let text = format!("the run that waits for this one, `{run}`, has ended");
        let cancel = Post::Cancel { by: PARENT.to_owned(), text };
        for child in self.waited_for(run).await? {
            let posted = match self.engine().post(&child, &cancel).await.map_err(Trouble::from) {
                Ok(posted) => posted,
                // It has ended or is not there, which is what is wanted; or it cannot be read.
                Err(trouble) if is_done_with(&trouble) => continue,
                Err(trouble) => return Err(trouble),
            };
            self.fleet.look_unless_driven(&child, posted.epoch, false).await?;
        }
        Ok(())
    }

    /// The children of the wait that was not over when the run ended.
    async fn waited_for(&self, run: &RunId) -> Result<Vec<RunId>, Trouble> {
        let store: &dyn Store = self.fleet.store().as_ref();
        let mut waits = None;
        for entry in read_entries(store, run).await? {
            match entry.event {
                Event::DelegateParked { detail, .. } => waits = Some(detail),
                Event::DelegateWoken { .. } => waits = None,
                _ => {}
            }
        }
        let Some(detail) = waits else { return Ok(Vec::new()) };
        Ok(read_json::<WaitedFor>(store, detail, "wait").await?.children)
    }

    /// The run that waits for this one, by the first record alone: the rest of the log may be what is
    /// wrong with it.
    pub(crate) async fn parent_of(&self, run: &RunId) -> Result<Option<RunId>, Trouble> {
        let first = self.store().read(run, 0, 1).await?;
        let opened = first.first().and_then(|line| Record::parse(line).ok());
        Ok(opened.and_then(|record| match record.entry.event {
            Event::RunOpened { parent, .. } => parent,
            _ => None,
        }))
    }
}

fn is_done_with(trouble: &Trouble) -> bool {
    !trouble.may_pass() || matches!(trouble.code.as_str(), "answer_refused" | "run_missing")
}
