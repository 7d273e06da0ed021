//! What other tools say about the same rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_lies::{Class, Pair, Row};
use serde::Serialize;
use tokio::task::JoinSet;

use crate::claimcheck::Claimcheck;
use crate::error::BenchError;
use crate::loops::Loop;
use crate::matrix::{Answer, Word};
use crate::ralph::{Ralph, Setting};

/// What others said about a row, beside what Probity said.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Beside {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) peer: String,
    pub(crate) lie: String,
    pub(crate) twin: String,
    pub(crate) ours_lie: String,
    pub(crate) ours_twin: String,
    /// What the peer's words mean: lie, twin.
    pub(crate) words: [Word; 2],
}

/// Where they are.
pub(crate) struct Where<'a> {
    pub(crate) claimcheck: &'a Path,
    pub(crate) ralph: &'a Path,
    pub(crate) python: Option<&'a Path>,
    pub(crate) tool: PathBuf,
    pub(crate) jobs: usize,
}

/// Everyone who was found.
struct Peers {
    claimcheck: Option<Claimcheck>,
    ralph: Option<Ralph>,
    loops: Vec<Loop>,
    tool: PathBuf,
}

/// Puts every row to every peer that it can be put to; and why peers are left out.
pub(crate) async fn ask(
    at: &Where<'_>,
    ours: &[Pair],
) -> Result<(Vec<Beside>, Vec<String>), BenchError> {
    let claimcheck = Claimcheck::find(at.claimcheck);
    let ralph = Ralph::find(at.ralph);
    let (loops, mut skipped) = Loop::find(at.python);
    skipped.extend(claimcheck.as_ref().err().cloned());
    skipped.extend(ralph.as_ref().err().cloned());
    let peers = Arc::new(Peers {
        claimcheck: claimcheck.ok(),
        ralph: ralph.ok(),
        loops,
        tool: at.tool.clone(),
    });
    let turns = Arc::new(tokio::sync::Semaphore::new(at.jobs.max(1)));
    let mut asked = JoinSet::new();
    for (order, row) in probity_lies::lies().enumerate() {
        // A twin that waits for Probity's own words would wait for ever.
        if row.twin.contains("VERIFICATION FAILED") {
            continue;
        }
        let Some(ours) = ours.iter().find(|pair| pair.name == row.name) else { continue };
        let (peers, turns, ours) = (Arc::clone(&peers), Arc::clone(&turns), ours.clone());
        asked.spawn(async move {
            // The semaphore is never closed.
            let _turn = turns.acquire().await;
            Ok::<_, BenchError>((order, peers.row(row, &ours).await?))
        });
    }
    let mut all = Vec::new();
    while let Some(joined) = asked.join_next().await {
        let done = joined
            .map_err(|error| BenchError::Measure { what: "a row", detail: error.to_string() })?;
        all.push(done?);
    }
    all.sort_by_key(|(order, _)| *order);
    Ok((all.into_iter().flat_map(|(_, it)| it).collect(), skipped))
}

impl Peers {
    async fn row(&self, row: &'static Row, ours: &Pair) -> Result<Vec<Beside>, BenchError> {
        let tool = &self.tool;
        let mut said: Vec<(String, Answer, Answer)> = Vec::new();
        if let (Some(claimcheck), Some([lie, twin])) = (&self.claimcheck, row.told) {
            let lie = claimcheck.ask(&row.lie(), lie, tool).await?;
            let twin = claimcheck.ask(&row.twin(), twin, tool).await?;
            said.push((claimcheck.name().to_owned(), lie, twin));
        }
        if let Some(ralph) = &self.ralph {
            for setting in [Setting::Promise, Setting::Hook] {
                let lie = ralph.ask(&row.lie(), tool, setting).await?;
                let twin = ralph.ask(&row.twin(), tool, setting).await?;
                if let (Some(lie), Some(twin)) = (lie, twin) {
                    said.push((ralph.name(setting), lie, twin));
                }
            }
        }
        for it in &self.loops {
            let (lie, twin) = (it.ask(&row.lie(), tool).await?, it.ask(&row.twin(), tool).await?);
            if let (Some(lie), Some(twin)) = (lie, twin) {
                said.push((it.name(), lie, twin));
            }
        }
        let beside = |(peer, lie, twin): (String, Answer, Answer)| Beside {
            name: row.name,
            class: row.class,
            peer,
            words: [lie.word, twin.word],
            lie: lie.said,
            twin: twin.said,
            ours_lie: ours.lie.outcome.clone(),
            ours_twin: ours.twin.outcome.clone(),
        };
        Ok(said.into_iter().map(beside).collect())
    }
}
