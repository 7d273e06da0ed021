//! What the runs of one conductor share, and who drives which of them.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probity_core::RunId;
use probity_engine::Clock;
use probity_store::WorkStore;
use probity_workflow::{Entry, Input, Origin, ReplayError, Snapshot, Start};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::driver::Driver;
use crate::journal::{AppendFailure, as_recorded, text};
use crate::lineage::Lineages;
use crate::shelf::Shelves;
use crate::tale::Tale;
use crate::{Begun, ConductError, ConductorOptions, Definitions, Delegations, Models};

/// How often a run is looked for whose driver ended just when it was asked.
const MAX_LOOKS: u32 = 16;

/// What all drivers share.
pub(crate) struct House {
    pub(crate) store: Arc<dyn WorkStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) delegations: Arc<dyn Delegations>,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) shelves: Shelves,
    pub(crate) lineages: Lineages,
    /// Of nodes that ask a model which says what it was told to.
    pub(crate) models: Arc<Models>,
    pub(crate) options: ConductorOptions,
    /// Every event that was put into a log here.
    pub(crate) told: broadcast::Sender<(RunId, Arc<Entry>)>,
    /// The last clone of the conductor is gone: everything ends where it is.
    pub(crate) gone: CancellationToken,
    /// Runs are let go between two of their steps.
    pub(crate) draining: CancellationToken,
    pub(crate) tasks: TaskTracker,
    /// Whether the store was gone through once.
    pub(crate) is_recovered: AtomicBool,
    live: Mutex<Drivers>,
}

#[derive(Default)]
struct Drivers {
    by_run: HashMap<RunId, Live>,
    /// Of runs that nobody here began as a child.
    top: usize,
    numbered: u64,
}

/// A run that is driven here.
#[derive(Clone)]
struct Live {
    number: u64,
    is_child: bool,
    mail: mpsc::Sender<Message>,
    entries: broadcast::Sender<Arc<Entry>>,
    /// The driver has left.
    left: CancellationToken,
}

/// What a driver may be asked.
pub(crate) enum Message {
    /// Take an input in.
    Tell(Box<Input>, oneshot::Sender<Result<Snapshot, ConductError>>),
    /// Where the run is.
    Look(oneshot::Sender<Result<Snapshot, ConductError>>),
}

impl House {
    pub(crate) fn new(
        store: Arc<dyn WorkStore>,
        clock: Arc<dyn Clock>,
        delegations: Arc<dyn Delegations>,
        options: ConductorOptions,
    ) -> Self {
        let (told, _) = broadcast::channel(options.subscriber_entries.max(1));
        let shelves = Shelves::new(Arc::clone(&store), Arc::clone(&clock));
        Self {
            store,
            clock,
            delegations,
            definitions: Arc::default(),
            shelves,
            lineages: Lineages::default(),
            models: Arc::default(),
            options,
            told,
            gone: CancellationToken::new(),
            draining: CancellationToken::new(),
            tasks: TaskTracker::new(),
            is_recovered: AtomicBool::new(false),
            live: Mutex::default(),
        }
    }

    /// Begins a run and has it driven, unless it has begun with the same.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        run: RunId,
        start: Start,
    ) -> Result<Begun, ConductError> {
        let is_child = matches!(start.origin, Some(Origin::Child { .. }));
        self.check_room(is_child)?;
        let (mut tale, step) = self.open(run.clone(), start)?;
        match tale.append(std::slice::from_ref(&step)).await {
            Ok(()) => {
                let snapshot = tale.machine.snapshot();
                self.tell_subscribers(&run, &step.entries);
                self.drive(&run, is_child, Some(tale))?;
                Ok(Begun { snapshot, is_new: true })
            }
            Err(AppendFailure::Overtaken) => {
                let there = self.start_of(&run).await?;
                match there.map(|start| text(&start)).transpose()?
                    == Some(text_of_start(&step.input)?)
                {
                    true => self.begun(&run).await,
                    false => Err(ConductError::Exists { run }),
                }
            }
            Err(AppendFailure::Failed(error)) => Err(error),
        }
    }

    /// A run that there is: it is driven if it has not ended.
    pub(crate) async fn begun(self: &Arc<Self>, run: &RunId) -> Result<Begun, ConductError> {
        let snapshot = self.ask(run, Message::Look).await?;
        Ok(Begun { snapshot, is_new: false })
    }

    /// The machine of a run that is about to begin, and its first step.
    pub(crate) fn open(
        &self,
        run: RunId,
        start: Start,
    ) -> Result<(Tale, probity_workflow::Step), ConductError> {
        let Input::Start(start) = as_recorded(&Input::Start(Box::new(start)))? else {
            return Err(ConductError::NotForTelling);
        };
        Tale::open(Arc::clone(&self.store), self.clock.now_ms(), run, *start)
    }

    /// What a run began with; `None` if there is no workflow run of that name.
    pub(crate) async fn start_of(&self, run: &RunId) -> Result<Option<Start>, ConductError> {
        let mut journal = crate::journal::Journal::new(Arc::clone(&self.store), run.clone());
        let first = match journal.read(1).await {
            Err(ConductError::Missing { .. }) => return Ok(None),
            read => read?.into_iter().next(),
        };
        match first.map(|first| first.step.input) {
            None => Ok(None),
            Some(Input::Start(start)) => Ok(Some(*start)),
            Some(_) => Err(crate::tale::illegal(&journal, &ReplayError::NoStart)),
        }
    }

    /// Asks whoever drives a run, which is driven from now on if it is not.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        run: &RunId,
        message: impl Fn(oneshot::Sender<Result<Snapshot, ConductError>>) -> Message,
    ) -> Result<Snapshot, ConductError> {
        for _ in 0..MAX_LOOKS {
            let mail = match self.mail(run) {
                Some(mail) => mail,
                None => self.drive(run, true, None)?,
            };
            let (reply, answer) = oneshot::channel();
            if mail.send(message(reply)).await.is_err() {
                tokio::task::yield_now().await;
                continue;
            }
            // No answer: the driver ended before it came to the question.
            if let Ok(answer) = answer.await {
                return answer;
            }
        }
        Err(ConductError::Overtaken { run: run.clone() })
    }

    /// Has a run driven, unless it is.
    pub(crate) fn drive(
        self: &Arc<Self>,
        run: &RunId,
        is_child: bool,
        tale: Option<Tale>,
    ) -> Result<mpsc::Sender<Message>, ConductError> {
        if self.is_stopping() {
            return Err(ConductError::Stopping);
        }
        let mut drivers = self.drivers();
        if let Some(live) = drivers.by_run.get(run) {
            return Ok(live.mail.clone());
        }
        let (mail, mailbox) = mpsc::channel(self.options.mailbox.max(1));
        let (entries, _) = broadcast::channel(self.options.follower_entries.max(1));
        drivers.numbered = drivers.numbered.saturating_add(1);
        let number = drivers.numbered;
        let left = CancellationToken::new();
        let live = Live { number, is_child, mail: mail.clone(), entries: entries.clone(), left };
        drivers.by_run.insert(run.clone(), live);
        drivers.top = drivers.top.saturating_add(usize::from(!is_child));
        drop(drivers);
        let seat = Seat { house: Arc::clone(self), run: run.clone(), number };
        let driver = Driver::new(Arc::clone(self), run.clone(), mailbox, entries);
        let gone = self.gone.clone();
        self.tasks.spawn(async move {
            let seat = seat;
            gone.run_until_cancelled(driver.drive(tale, &seat)).await;
        });
        Ok(mail)
    }

    /// The events of a run that is driven here, from now on.
    pub(crate) fn listen(&self, run: &RunId) -> Option<broadcast::Receiver<Arc<Entry>>> {
        self.drivers().by_run.get(run).map(|live| live.entries.subscribe())
    }

    /// Waits until nobody here drives the run.
    pub(crate) async fn left(&self, run: &RunId) {
        let left = self.drivers().by_run.get(run).map(|live| live.left.clone());
        if let Some(left) = left {
            left.cancelled().await;
        }
    }

    pub(crate) fn is_live(&self, run: &RunId) -> bool {
        self.drivers().by_run.contains_key(run)
    }

    pub(crate) fn live_runs(&self) -> usize {
        self.drivers().by_run.len()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.draining.is_cancelled() || self.gone.is_cancelled()
    }

    /// Children always have room: those who began them wait for them.
    pub(crate) fn check_room(&self, is_child: bool) -> Result<(), ConductError> {
        if self.is_stopping() {
            return Err(ConductError::Stopping);
        }
        let max = self.options.max_live_runs;
        match is_child || self.drivers().top < max {
            true => Ok(()),
            false => Err(ConductError::Busy { max }),
        }
    }

    pub(crate) fn tell_subscribers(&self, run: &RunId, entries: &[Entry]) {
        if self.told.receiver_count() == 0 {
            return;
        }
        for entry in entries {
            // Nobody listening is no error.
            let _ = self.told.send((run.clone(), Arc::new(entry.clone())));
        }
    }

    fn mail(&self, run: &RunId) -> Option<mpsc::Sender<Message>> {
        self.drivers().by_run.get(run).map(|live| live.mail.clone())
    }

    /// Held for short, panic-free stretches only.
    fn drivers(&self) -> MutexGuard<'_, Drivers> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A driver's place, which is free again once it is dropped, however that comes.
pub(crate) struct Seat {
    house: Arc<House>,
    run: RunId,
    number: u64,
}

impl Seat {
    /// Frees the place.
    pub(crate) fn leave(&self) {
        let mut drivers = self.house.drivers();
        if let Some(live) = drivers.by_run.get(&self.run).filter(|it| it.number == self.number) {
            let is_top = !live.is_child;
            live.left.cancel();
            drivers.by_run.remove(&self.run);
            drivers.top = drivers.top.saturating_sub(usize::from(is_top));
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}

fn text_of_start(input: &Input) -> Result<Vec<u8>, ConductError> {
    match input {
        Input::Start(start) => text(start.as_ref()),
        _ => Err(ConductError::NotForTelling),
    }
}
