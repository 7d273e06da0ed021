//! `probity hook run`: one event of a coding agent, answered in its protocol and in its time.

use std::io;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use probity_harness::{
    Answer, Event, MAX_EVENT_BYTES, Role, Spoken, Tool, Unchecked, Wiring, guarded,
    nothing_checked, read, speak, unchecked, unchecked_and_released,
};
use probity_store::Store;
use tokio::time::{Instant, timeout_at};

use super::arrival::read_within;
use super::chain::{Chain, Identity};
use super::gate::{Gate, Given};
use super::queue::Place;
use crate::cli::CliError;
use crate::cli::args::HookRunArgs;
use crate::cli::run::store_url;
use crate::location::{Programs, StoreUrl};

/// By when an event that is no claim is answered.
const SHORT: Duration = Duration::from_secs(20);
/// How long the event itself may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(10);
/// What is kept of the time for the record and the answer.
const RESERVE: Duration = Duration::from_millis(1_500);

/// Answers one event. Whatever happens, what is written is an answer that the tool understands; nothing
/// that goes wrong here is an exit code that it would take for consent without a word.
pub(super) async fn run(args: &HookRunArgs, programs: &Programs) -> u8 {
    let started = Instant::now();
    let (role, answer) = match arrived(args) {
        Ok(event) => (event.role, answer(&event, args, programs, started).await),
        Err(why) => (role_of(args), Answer::Note(nothing_checked(&why))),
    };
    let Spoken { stdout, stderr, exit_code } = speak(args.tool, role, &answer);
    // A tool that no longer listens has decided by itself; the next event says so.
    let _ = io::stderr().lock().write_all(stderr.as_bytes());
    let _ = io::stdout().lock().write_all(stdout.as_bytes());
    exit_code
}

fn role_of(args: &HookRunArgs) -> Role {
    let named = args.event.as_deref().and_then(|event| args.tool.role(event));
    named.unwrap_or(Role::Stop)
}

/// Reads the event from standard input, whole and in time. On this thread: nothing else goes on before.
fn arrived(args: &HookRunArgs) -> Result<Event, String> {
    let bytes = read_within(&io::stdin(), MAX_EVENT_BYTES, ARRIVAL)
        .map_err(|error| format!("the event cannot be read: {error}"))?;
    read(args.tool, args.event.as_deref(), &bytes)
        .map_err(|error| format!("{error} [{}]", error.code()))
}

async fn answer(
    event: &Event,
    args: &HookRunArgs,
    programs: &Programs,
    started: Instant,
) -> Answer {
    if event.role == Role::Guard {
        let file = event.uses.as_ref().and_then(|(_, input)| guarded(input));
        return file.map_or(Answer::Allow, |file| Answer::Deny(guard(event.tool, &file)));
    }
    let (hard, by) = bounds(event, args, started);
    // On a thread of its own: a file system that hangs, or a defect, must not keep the answer back.
    let work = tokio::spawn(recorded(event.clone(), args.clone(), programs.clone(), by));
    match timeout_at(hard, work).await {
        Ok(Ok(Ok(answer))) => answer,
        Ok(Ok(Err(error))) => unrecorded(event, args, &format!("{error} [{}]", error.code())),
        Ok(Err(_)) => unrecorded(event, args, "probity itself broke; please report it"),
        Err(_) => unrecorded(event, args, "it did not end before the hook had to answer"),
    }
}

/// When the answer must be given, and when the checks must have ended for that.
fn bounds(event: &Event, args: &HookRunArgs, started: Instant) -> (Instant, Instant) {
    if !event.role.is_claim() {
        return (started + SHORT, started + SHORT - RESERVE);
    }
    let millis = args.deadline.map_or(Wiring::DEFAULT_DEADLINE_MS, crate::request::Millis::get);
    let millis = millis.clamp(Wiring::MIN_DEADLINE_MS, Wiring::MAX_DEADLINE_MS);
    let deadline = Duration::from_millis(millis);
    let reserve = RESERVE.min(deadline / 2);
    (started + deadline, started + deadline - reserve)
}

async fn recorded(
    event: Event,
    args: HookRunArgs,
    programs: Programs,
    by: Instant,
) -> Result<Answer, CliError> {
    let (event, programs) = (&event, &programs);
    let url = store_url(&args.store)?;
    if matches!(url, StoreUrl::Memory) {
        // The next hook would know of no claim before it, and hold the agent for ever.
        let why =
            "a store in memory keeps no count from one hook to the next; name another with --store";
        return Err(CliError::Usage(why.to_owned()));
    }
    let (chain, identity) = (Chain::of(event), Identity::of(event));
    let failed = |source| CliError::Io { what: "queue up behind other events", source };
    let place = Place::take(chain.name()).await.map_err(failed)?;
    let has_waited = place.has_waited;
    let shared = url.open_briefly().await?;
    let store: Arc<dyn Store> = shared;
    let unchecked = args.unchecked.into();
    let given = Given { event, programs, store, url, unchecked, by };
    let gate = Gate::new(given, chain, identity);
    match event.role {
        Role::Begin => gate.begin().await,
        Role::End => gate.end().await,
        Role::Stop | Role::Subagent | Role::Task => gate.claim(has_waited).await,
        Role::Guard => Ok(Answer::Allow),
    }
}

/// What is said where nothing could be recorded, so that nothing counts: the agent is held once, since
/// only the tool's own flag says how often it was held before.
fn unrecorded(event: &Event, args: &HookRunArgs, why: &str) -> Answer {
    let choice: Unchecked = args.unchecked.into();
    match (event.role.is_claim(), event.is_continued, choice) {
        (false, ..) => Answer::Note(format!("probity: {why}")),
        // A tool that does not say whether it held the agent before would hold it for ever.
        (true, Some(true) | None, _) | (true, _, Unchecked::Note) => {
            Answer::Note(unchecked_and_released(None, why))
        }
        (true, ..) => Answer::Block(unchecked(None, why)),
    }
}

fn guard(tool: Tool, file: &str) -> String {
    format!(
        "`{file}` decides how the work is checked, or whether {tool} asks for the checks at all; whoever \
         is checked does not change it. Leave it as it is, and tell the user what you would change"
    )
}
