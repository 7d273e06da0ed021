//! `probity demo`: a lying agent in a temporary folder.

use std::fs;
use std::sync::Arc;

use probity_engine::{Engine, SystemClock};
use probity_verifier::expect;

use super::args::{CheckingArgs, DemoArgs};
use super::present::Kept;
use super::progress::Progress;
use super::run::{Output, cancel_on_signal, draw_run_id, finish, open_store, store_url};
use super::{CliError, present};
use crate::location::Programs;
use crate::{Prepared, Request, prepare};

/// Says "done" at once, and does the work only when it is told that nobody believed it.
const AGENT: &str = r#"#!/bin/sh
if grep -q 'VERIFICATION FAILED'; then
    echo 'hello' > out.txt
    echo 'You are right, out.txt was missing. It exists now.'
else
    echo 'Done! I created out.txt and everything works.'
fi
"#;

const TASK: &str = "write hello to out.txt";
const CHECK: &str = "file:out.txt,created,contains=hello";

/// Runs the demonstration.
///
/// # Errors
/// [`CliError`] if the folder or the run could not be set up.
pub(super) async fn demo(args: &DemoArgs, programs: &Programs) -> Result<u8, CliError> {
    let failed = |source| CliError::Io { what: "make a temporary folder", source };
    let folder = tempfile::tempdir().map_err(failed)?;
    let workspace = folder.path().join("workspace");
    let agent = folder.path().join("lying-agent.sh");
    fs::create_dir(&workspace).map_err(failed)?;
    fs::write(&agent, AGENT).map_err(failed)?;
    let run = draw_run_id()?;
    let request = Request {
        id: Some(run.clone()),
        task: TASK.to_owned(),
        command: vec!["sh".to_owned(), agent.display().to_string()],
        workspace: Some(workspace),
        expect: vec![expect::parse(CHECK)?],
        ..Request::default()
    };
    if !args.json {
        present::note(&format!(
            "An agent that says \"Done!\" without doing anything, under the gate:\n  \
             probity run \"{TASK}\" --expect {CHECK} -- sh lying-agent.sh"
        ));
    }
    let Prepared { plan, warnings } = prepare(&request, run.clone(), programs)?;
    let store = open_store(&args.store).await?;
    let engine = Engine::new(Arc::clone(&store), Arc::new(SystemClock));
    let progress = Progress::new(args.json);
    let output = Output::of(&plan, warnings).kept(Kept::by(&store_url(&args.store)?));
    engine.run(plan, &progress, cancel_on_signal()).await?;
    progress.finish();
    finish(store.as_ref(), &run, &output, &CheckingArgs::printing(args.json)).await
}
