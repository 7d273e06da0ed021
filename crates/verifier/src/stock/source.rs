//! A source of `read_after_write` and `invariant_check`, read once.
//!
//! What is read is JSON where it is JSON; other text stands for itself, without the line end at its
//! end. A query gives its first row: the first column, or where fields are asked for an object of all
//! its columns.

use probity_core::{Digest, Fault, VerdictKind};
use probity_egress::{Client, EgressError, Request, Response};
use probity_sandbox::{Ended, Finished, Launcher, Status};
use serde_json::Value;

use super::command::{MAX_OUTPUT_BYTES, said, sandbox_fault, shell, unusable};
use super::database::{AskError, Row, ask};
use super::file::link_reason;
use super::place::locate;
use super::sqlite::failed;
use super::{Deps, MAX_READ_BYTES, aside, document, first_words, unanswered};
use crate::CheckContext;
use crate::hash::digest_of;
use crate::spec::Source;
use crate::target::{TargetRef, VARIABLES, as_variables, names_target};
use crate::workspace::{Kind, PathError, path_of};

/// What one read found.
#[derive(Debug)]
pub(super) enum Look {
    /// It was read to its end.
    Found(Reading),
    /// It was reached, and what is there can never be what was asked for.
    Unfit(String),
    /// It was reached, and there is no such thing.
    Missing(String),
    /// It could not be read.
    Failed(String),
    /// It did not answer in time.
    Late,
}

/// What was read.
#[derive(Debug)]
pub(super) struct Reading {
    /// The value as JSON.
    pub(super) value: Value,
    /// What a pattern is looked for in.
    pub(super) text: Vec<u8>,
    /// How the source ended, where that can differ.
    pub(super) ending: Ending,
    /// A few words for the evidence.
    pub(super) observed: String,
    /// Of the bytes that were read.
    pub(super) digest: Digest,
}

/// How a read ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// There is only one way.
    Plain,
    /// With an HTTP status.
    Http(u16),
    /// With the status of a process.
    Process(Status),
}

/// How a source is read.
#[derive(Debug)]
pub(super) struct Reader {
    source: Source,
    query: Option<String>,
    env: Vec<String>,
    wants: Wants,
    launcher: Launcher,
    egress: Client,
}

/// What a check makes use of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wants {
    /// The value: without it a source that is longer than what is read of it is no obstacle.
    pub(super) value: bool,
    /// Fields of a row, not its first column.
    pub(super) fields: bool,
    /// Every ending of the source, not only the good ones.
    pub(super) ending: bool,
}

/// A source with the target of the decision filled in.
#[derive(Debug)]
pub(super) struct Aim {
    /// Path, URL or line.
    at: String,
    target: Option<TargetRef>,
    /// For texts.
    pub(super) shown: String,
}

impl Reader {
    pub(super) fn new(
        source: &Source,
        query: Option<&String>,
        env: &[String],
        wants: Wants,
        deps: &Deps,
    ) -> Self {
        Self {
            source: source.clone(),
            query: query.cloned(),
            env: env.to_vec(),
            wants,
            launcher: deps.launcher.clone(),
            egress: deps.egress.clone(),
        }
    }

    /// Fills in the target.
    ///
    /// # Errors
    /// `no_decision` and `target_unusable`, as [`TargetRef`] says.
    pub(super) fn aim(&self, ctx: &CheckContext) -> Result<Aim, Fault> {
        let (word, text) = self.source.parts();
        let target = if names_target(text) {
            Some(TargetRef::of(ctx)?)
        } else if self.query.is_some() {
            // Whether the query has a place for it is known once it is prepared.
            TargetRef::of(ctx).ok()
        } else {
            None
        };
        let at = match (&self.source, &target) {
            (Source::Command(line), _) => as_variables(line),
            (Source::Http(url), Some(target)) => target.fill_url(url)?,
            (Source::File(path) | Source::Sqlite(path), Some(target)) => target.fill_path(path)?,
            (_, None) => text.to_owned(),
        };
        let said = if self.source.command_line().is_some() { text } else { &at };
        let shown = format!("{word}:{}", first_words(said, 120));
        Ok(Aim { at, target, shown })
    }

    /// Reads once, within the time of `ctx`.
    ///
    /// # Errors
    /// A fault when the source cannot be read as it is written down.
    pub(super) async fn look(&self, aim: &Aim, ctx: &CheckContext) -> Result<Look, Fault> {
        match &self.source {
            Source::File(_) => {
                let path = aim.at.clone();
                let read = aside(ctx, move |ctx| read_file(&path, ctx)).await?;
                read.unwrap_or(Ok(Look::Late))
            }
            Source::Sqlite(_) => self.ask(aim, ctx).await,
            Source::Http(_) => self.get(aim, ctx).await,
            Source::Command(line) => self.run(line, aim, ctx).await,
        }
    }

    async fn ask(&self, aim: &Aim, ctx: &CheckContext) -> Result<Look, Fault> {
        let path = aim.at.clone();
        let query = self.query.clone().unwrap_or_default();
        let id = aim.target.as_ref().map(|target| target.id().to_owned());
        let (limit, fields) = (ctx.timeout, self.wants.fields);
        // The query interrupts itself at the limit; the wait gets a little more, to hear of it.
        let mut roomy = ctx.clone();
        roomy.timeout = limit.saturating_add(std::time::Duration::from_millis(400));
        let asked = aside(&roomy, move |ctx| {
            let place = match file_at(&path, ctx) {
                Ok(place) => place,
                Err(look) => return *look,
            };
            let at = ctx.workspace.root().join(path_of(&place).unwrap_or_else(|| path.into()));
            match ask(&at, &query, id.as_deref(), limit) {
                Ok(Some(row)) => of_row(&row, fields),
                Ok(None) => Ok(Look::Missing("no row".to_owned())),
                Err(error) => unasked(&error, &place, limit),
            }
        });
        asked.await?.unwrap_or(Ok(Look::Late))
    }

    async fn get(&self, aim: &Aim, ctx: &CheckContext) -> Result<Look, Fault> {
        let mut request = Request::get(aim.at.as_str());
        request.timeout = Some(ctx.timeout);
        match self.egress.send(&request, &ctx.cancel).await {
            Ok(response) => Ok(self.of_response(&response)),
            Err(EgressError::TimedOut { .. }) => Ok(Look::Late),
            Err(error) if error.is_no_answer() => Ok(Look::Failed(error.to_string())),
            Err(error) => Err(Fault::new(error.code(), error.to_string())),
        }
    }

    fn of_response(&self, response: &Response) -> Look {
        let status = response.status;
        let words = format!("status {status}");
        match status {
            _ if self.wants.ending => {}
            200..=299 => {}
            404 | 410 => return Look::Missing(words),
            _ => return Look::Failed(words),
        }
        if response.truncated && self.wants.value {
            return Look::Failed("the body is longer than what is read of one".to_owned());
        }
        let observed = format!("{words}, {} bytes", response.body.len());
        Look::Found(Reading { ending: Ending::Http(status), observed, ..of_bytes(&response.body) })
    }

    async fn run(&self, line: &str, aim: &Aim, ctx: &CheckContext) -> Result<Look, Fault> {
        let spawn = shell(&aim.at, &self.env, ctx).max_output_bytes(MAX_OUTPUT_BYTES);
        let target =
            aim.target.iter().flat_map(|target| VARIABLES.into_iter().zip(target.values()));
        let spawn = target.fold(spawn, |spawn, (name, value)| spawn.env(name, value));
        let finished = spawn.run(&self.launcher).await.map_err(|error| sandbox_fault(&error))?;
        match finished.ended {
            Ended::TimedOut => Ok(Look::Late),
            Ended::Cancelled => Ok(Look::Failed("it was cancelled".to_owned())),
            Ended::Exited(status) => match status {
                Status::Code(code) => match unusable(code, line, ctx.workspace.root()) {
                    Some(fault) => Err(fault),
                    None => Ok(self.of_process(status, &finished)),
                },
                Status::Signal(_) => Ok(self.of_process(status, &finished)),
            },
        }
    }

    fn of_process(&self, status: Status, finished: &Finished) -> Look {
        if status != Status::Code(0) && !self.wants.ending {
            return Look::Failed(format!("it ended with {status}{}", said(finished)));
        }
        if finished.stdout.truncated() && self.wants.value {
            return Look::Failed("its output is longer than what is held of one".to_owned());
        }
        let observed = format!("{status}, {} bytes out", finished.stdout.total_bytes);
        Look::Found(Reading {
            ending: Ending::Process(status),
            observed,
            ..of_bytes(&finished.stdout.head)
        })
    }
}

/// What bytes say.
fn of_bytes(bytes: &[u8]) -> Reading {
    let as_text = || {
        let text = String::from_utf8_lossy(bytes);
        Value::String(text.trim_end_matches(['\n', '\r']).to_owned())
    };
    Reading {
        value: document::read(bytes).unwrap_or_else(|_| as_text()),
        text: bytes.to_vec(),
        ending: Ending::Plain,
        observed: format!("{} bytes", bytes.len()),
        digest: digest_of(bytes),
    }
}

fn of_row(row: &Row, fields: bool) -> Result<Look, Fault> {
    let value = if fields {
        row.to_object().ok_or_else(|| {
            let message = "two columns of the query have one name; rename them with AS";
            Fault::new("sqlite_query", message)
        })?
    } else {
        row.first().to_json()
    };
    let observed = if fields { "a row" } else { row.first().kind() };
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned).into_bytes();
    let digest = digest_of(value.to_string().as_bytes());
    let observed = observed.to_owned();
    Ok(Look::Found(Reading { value, text, ending: Ending::Plain, observed, digest }))
}

fn unasked(error: &AskError, path: &str, limit: std::time::Duration) -> Result<Look, Fault> {
    let verdict = failed(error, path, limit)?;
    Ok(match (error, verdict.kind) {
        (AskError::Late, _) => Look::Late,
        (_, VerdictKind::Revise) if verdict.code.as_str() == "sqlite_no_such" => {
            Look::Missing("no such table or column".to_owned())
        }
        (_, VerdictKind::Revise) => Look::Unfit(verdict.reason),
        _ => Look::Failed(verdict.reason),
    })
}

/// Key of the regular file that the path leads to, or what else there is to say of it.
fn file_at(path: &str, ctx: &CheckContext) -> Result<String, Box<Result<Look, Fault>>> {
    let place = locate(ctx, path).map_err(|error| Box::new(unread(&error)))?;
    let look = match (place.stat.map(|stat| stat.kind), &place.new_link) {
        (None, _) => Look::Missing("absent".to_owned()),
        (Some(kind), _) if kind != Kind::File => {
            Look::Unfit(format!("it is a {kind}, not a regular file"))
        }
        (Some(_), Some(link)) => Look::Unfit(link_reason(path, link, &place.key)),
        (Some(_), None) => return Ok(place.key),
    };
    Err(Box::new(Ok(look)))
}

fn read_file(path: &str, ctx: &CheckContext) -> Result<Look, Fault> {
    let key = match file_at(path, ctx) {
        Ok(key) => key,
        Err(look) => return *look,
    };
    let at = path_of(&key).unwrap_or_else(|| path.into());
    match ctx.workspace.read(&at, MAX_READ_BYTES) {
        Ok(Some(bytes)) => Ok(Look::Found(of_bytes(&bytes))),
        Ok(None) => Ok(Look::Missing("absent".to_owned())),
        Err(error) => unread(&error),
    }
}

fn unread(error: &PathError) -> Result<Look, Fault> {
    let verdict = unanswered(error)?;
    Ok(match verdict.kind {
        VerdictKind::Revise => Look::Unfit(verdict.reason),
        _ => Look::Failed(verdict.reason),
    })
}
