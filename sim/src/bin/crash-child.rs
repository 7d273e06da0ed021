//! One life of a driver: `crash-child DIR SEED [MOMENT NTH]`.
//!
//! Runs the real engine over SQLite in `DIR/run.db` on the script of a seed, or takes the run up if
//! there is one, and kills itself with SIGKILL at the NTH (from 0) `before` or `after` append, `ask`
//! of the delegate or `look` of a check of this life. Every ask and every look is written to
//! `DIR/world.log`, synced, before anything comes of it; so is every breach of the rule that an
//! effect is announced first and a recorded result never asked for again.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Claim, Digest, Entry, Event, Fault, Phase, RunId, Verdict};
use probity_delegate::{Answered, Conversation, Delegate, DelegateError, Note, Request};
use probity_engine::{Check, Engine, Plan, SystemClock, Watch};
use probity_record::read_records;
use probity_sim::{Does, Says, Script, Sight, TurnScript};
use probity_store::{
    AppendError, Batch, BlobError, Blobs, Cursor, LogState, ReadError, RunLog, RunSummary, read_run,
};
use probity_store_sqlite::{Options, SqliteStore};
use probity_verifier::{CheckContext, Facts, Verifier, Workspace};
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().ok_or("crash-child DIR SEED [MOMENT NTH]")?);
    let seed = args.next().ok_or("no seed")?.parse()?;
    let kill = match (args.next(), args.next()) {
        (Some(moment), Some(nth)) => Some((moment, nth.parse()?)),
        _ => None,
    };
    let store = SqliteStore::open(dir.join("run.db"), Options::default())?;
    let life = Arc::new(Life {
        script: Script::job(seed),
        run: "run".parse()?,
        dir,
        kill,
        store,
        done: AtomicU32::new(0),
    });
    let plan = life.plan()?;
    let engine = Engine::new(Arc::clone(&life) as Arc<_>, Arc::new(SystemClock));
    let cancel = CancellationToken::new();
    let ended = match life.store.state(&life.run).await? {
        None => engine.run(plan, &Nobody, cancel).await?,
        Some(_) => engine.resume(plan, &Nobody, cancel).await?,
    };
    println!("{}", ended.outcome);
    Ok(())
}

/// What this process knows: the script, the store, and when to die.
struct Life {
    script: Script,
    run: RunId,
    dir: PathBuf,
    kill: Option<(String, u32)>,
    store: SqliteStore,
    done: AtomicU32,
}

impl Life {
    fn plan(self: &Arc<Self>) -> Result<Plan, Failure> {
        let root = self.dir.join("workspace");
        std::fs::create_dir_all(&root)?;
        let workspace = Arc::new(Workspace::open(&root)?);
        let checks = self.script.checks.iter().enumerate();
        let checks = checks.map(|(index, decl)| {
            let verifier = Arc::new(ScriptedCheck { life: Arc::clone(self), index });
            Check::verifier(decl.clone(), verifier)
        });
        let work = Arc::new(ScriptedWork(Arc::clone(self)));
        Ok(Plan {
            policy: self.script.policy.clone(),
            checks: checks.collect(),
            ..Plan::new(self.run.clone(), "do it", work, workspace, Arc::new(Nobody))
        })
    }

    /// Dies here if the schedule says so.
    fn pass(&self, moment: &str) {
        let Some((when, nth)) = &self.kill else { return };
        if when == moment && self.done.fetch_add(1, Ordering::SeqCst) == *nth {
            let me = rustix::process::getpid();
            let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
            loop {
                std::thread::park();
            }
        }
    }

    /// Writes a line to the world's own account and syncs it.
    fn note(&self, line: &str) -> std::io::Result<()> {
        let path = self.dir.join("world.log");
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_all()
    }

    async fn log(&self) -> Result<Vec<Entry>, Failure> {
        Ok(read_records(&read_run(&self.store, &self.run).await?)?.entries)
    }

    async fn ask(&self, request: &Request) -> Result<Answered, Failure> {
        let (turn, attempt) = (request.turn, request.attempt);
        let log = self.log().await?;
        let asked = Event::DelegateDispatched { turn, attempt, step: None };
        let is_note =
            |event: &&Event| matches!(event, Event::DelegateNoted { turn: of, .. } if *of == turn);
        if steps(&log).find(|event| !is_note(event)) != Some(&asked) {
            self.note(&format!("breach: asked behind {:?}", log.last()))?;
        }
        self.note(&format!("ask {}", turn.number))?;
        let happens = self.script.turn(turn.number).ok_or("no turns")?;
        std::fs::write(self.dir.join("turn"), turn.number.to_string())?;
        let edits = self.script.edits_until(turn.number).to_string();
        std::fs::write(self.dir.join("workspace/out.txt"), edits)?;
        self.write_notes(request, happens).await?;
        self.pass("ask");
        let Says::Done(candidate) = happens.says else { return Err("the script says so".into()) };
        Ok(Answered {
            usage: happens.usage(),
            ..Answered::of(Claim::text(format!("done {candidate}")))
        })
    }

    /// Goes on behind the notes that it is given. What was once told to be kept is there, once.
    async fn write_notes(&self, request: &Request, happens: &TurnScript) -> Result<(), Failure> {
        let number = request.turn.number;
        let kept = request.notes.read().await?;
        let kept: Vec<_> = kept.iter().map(|it| String::from_utf8_lossy(&it.content)).collect();
        let world = std::fs::read_to_string(self.dir.join("world.log"))?;
        let told: Vec<_> = world.lines().filter_map(|line| line.strip_prefix("kept ")).collect();
        let mut sorted = kept.clone();
        sorted.sort();
        sorted.dedup();
        if sorted != kept || !told.iter().all(|told| kept.iter().any(|kept| kept == told)) {
            self.note(&format!("breach: given {kept:?}, told of {told:?}"))?;
        }
        let mine = format!("{number:03} ");
        let done = kept.iter().filter(|kept| kept.starts_with(&mine)).count();
        for (place, beat) in happens.beats.iter().enumerate().skip(done) {
            let Does::Notes(kind, usage) = beat.does else { continue };
            let text = format!("{mine}{place}");
            let content = text.as_bytes().to_vec();
            request.notes.keep(Note { kind, content, usage }).await?;
            self.note(&format!("kept {text}"))?;
        }
        Ok(())
    }

    async fn look(&self, index: usize, ctx: &CheckContext) -> Result<Sight, Failure> {
        let log = self.log().await?;
        let tries = match steps(&log).next() {
            Some(Event::CheckStarted { phase, check, tries })
                if *phase == ctx.phase && check.as_usize() == index =>
            {
                *tries
            }
            other => {
                self.note(&format!("breach: looked behind {other:?}"))?;
                1
            }
        };
        let turn = match ctx.phase {
            Phase::Before => None,
            Phase::After => Some(std::fs::read_to_string(self.dir.join("turn"))?.parse()?),
        };
        let of = turn.map_or_else(|| "red".to_owned(), |turn: u32| turn.to_string());
        self.note(&format!("look {of} {index} {tries}"))?;
        self.pass("look");
        let saw = match turn {
            None => self.script.red.get(index).copied(),
            Some(turn) => self.script.sight(turn, index, tries),
        };
        Ok(saw.ok_or("no such check")?.sight)
    }
}

/// The entries from the last one on back, resumptions aside.
fn steps(log: &[Entry]) -> impl Iterator<Item = &Event> {
    let events = log.iter().rev().map(|entry| &entry.event);
    events.filter(|event| !matches!(event, Event::RunResumed { .. }))
}

struct ScriptedWork(Arc<Life>);

#[async_trait]
impl Delegate for ScriptedWork {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        let answer = self.0.ask(request).await;
        answer.map_err(|error| DelegateError::Failed { message: error.to_string() })
    }

    fn conversation(&self) -> Conversation {
        Conversation::Same
    }

    fn describe(&self) -> String {
        "scripted".to_owned()
    }
}

struct ScriptedCheck {
    life: Arc<Life>,
    index: usize,
}

#[async_trait]
impl Verifier for ScriptedCheck {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let sight = self.life.look(self.index, ctx).await;
        let sight = sight.map_err(|error| Fault::new("script_lost", error.to_string()))?;
        match sight {
            Sight::Good | Sight::Moot => Ok(Verdict::pass()),
            Sight::Bad => Ok(Verdict::revise(sight.code(), "the file is not there")),
            Sight::Wrong => Ok(Verdict::fail(sight.code(), "no")),
            Sight::Away | Sight::Late | Sight::Cut | Sight::Overrun | Sight::Silent => {
                Ok(Verdict::inconclusive(sight.code(), "no answer"))
            }
            Sight::Broken => Err(Fault::new(sight.code(), "broken")),
        }
    }
}

/// Has no facts, and watches nothing.
struct Nobody;

#[async_trait]
impl Facts for Nobody {
    async fn read(
        &self,
        _: &Workspace,
        _: &CancellationToken,
    ) -> Result<BTreeMap<String, String>, Fault> {
        Ok(BTreeMap::new())
    }
}

impl Watch for Nobody {
    fn entry(&self, _: &Entry) {}
}

#[async_trait]
impl RunLog for Life {
    async fn append(
        &self,
        run: &RunId,
        expected_len: u64,
        batch: Batch,
    ) -> Result<u64, AppendError> {
        self.pass("before");
        let appended = self.store.append(run, expected_len, batch).await;
        self.pass("after");
        appended
    }

    async fn read(
        &self,
        run: &RunId,
        from_seq: u64,
        max_records: usize,
    ) -> Result<Vec<Vec<u8>>, ReadError> {
        self.store.read(run, from_seq, max_records).await
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.store.state(run).await
    }

    async fn list(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, ReadError> {
        self.store.list(after, limit).await
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        self.store.wait_beyond(run, len, timeout).await
    }
}

#[async_trait]
impl Blobs for Life {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.store.put(bytes).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.store.get(digest, max_bytes).await
    }
}
