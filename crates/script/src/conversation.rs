//! One job on one worker: load if it must, call, answer its questions, and never wait beyond the
//! deadlines.

use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fault::{self, FaultFrame};
use crate::frame::{FromWorker, ToWorker};
use crate::hands::Hands;
use crate::host::{GateError, Host, HostAnswer, HostCall};
use crate::interpreter::{Product, Report, Source};
use crate::limits::Limits;
use crate::pool::GRACE;
use crate::process::WorkerProcess;
use crate::session::Input;
use crate::session::Missed;

/// What to run and within what bounds.
pub(crate) struct Job<'a> {
    /// Names the loaded script in the worker's cache.
    pub(crate) key: &'a str,
    pub(crate) source: &'a Source,
    /// `None`: load it (examples included) and call nothing.
    pub(crate) input: Option<&'a Input>,
    pub(crate) workspace: &'a Path,
    pub(crate) host: &'a Host,
    /// What makes the changes that the script asks for; only the `run` of a tool has it.
    pub(crate) hands: Option<&'a Arc<Hands>>,
    pub(crate) limits: Limits,
    /// The end of the check's own time.
    pub(crate) until: Instant,
    pub(crate) cancel: &'a CancellationToken,
}

/// Why there is no report.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The script did not load. The worker is fine.
    Refused(FaultFrame),
    /// The worker is lost or must be.
    Fault(FaultFrame),
    /// No worker was free in time.
    Busy,
}

impl Ended {
    pub(crate) fn cancelled() -> Self {
        Self::Fault(FaultFrame::new(fault::CANCELLED, "the run was cancelled while the script ran"))
    }
}

/// Runs the job to its end.
pub(crate) async fn converse(worker: &mut WorkerProcess, job: &Job<'_>) -> Result<Report, Ended> {
    let mut talk = Talk { worker, job, left: job.own_time(), until: job.until };
    let Some(input) = job.input else {
        talk.load().await?;
        return Ok(Report {
            result: Ok(Product::Unreachable(Missed { reason: String::new(), is_late: false })),
            ticks: 0,
            printed: String::new(),
        });
    };
    talk.call(input).await?;
    loop {
        match talk.receive().await? {
            FromWorker::Done { report } => return Ok(*report),
            FromWorker::Ask { call, within_ms } => {
                let answer = talk.answer(&call, within_ms).await?;
                talk.send(&ToWorker::Answer { answer }).await?;
            }
            FromWorker::Missing => {
                talk.load().await?;
                talk.call(input).await?;
            }
            FromWorker::Loaded { .. } => return Err(out_of_turn()),
        }
    }
}

impl Job<'_> {
    /// Wall time of the script itself, with the time it gets to say that it is over.
    fn own_time(&self) -> Duration {
        Duration::from_millis(self.limits.wall_ms) + GRACE
    }
}

struct Talk<'a> {
    worker: &'a mut WorkerProcess,
    job: &'a Job<'a>,
    /// What is left of the script's own time.
    left: Duration,
    /// The end of the check's time.
    until: Instant,
}

impl Talk<'_> {
    async fn load(&mut self) -> Result<(), Ended> {
        self.left = self.job.own_time();
        let load = ToWorker::Load {
            key: self.job.key.to_owned(),
            source: self.job.source.clone(),
            limits: self.job.limits,
        };
        self.send(&load).await?;
        let reply = self.receive().await?;
        self.left = self.job.own_time();
        match reply {
            FromWorker::Loaded { result } => result.map_err(Ended::Refused),
            _ => Err(out_of_turn()),
        }
    }

    async fn call(&mut self, input: &Input) -> Result<(), Ended> {
        let left = self.until.saturating_duration_since(Instant::now()).as_millis();
        let call = ToWorker::Call {
            key: self.job.key.to_owned(),
            input: Box::new(input.clone()),
            limits: self.job.limits,
            left_ms: u64::try_from(left).unwrap_or(u64::MAX),
        };
        self.send(&call).await
    }

    async fn send(&mut self, frame: &ToWorker) -> Result<(), Ended> {
        let sent =
            bounded(self.worker.send(frame), &mut self.left, self.until, self.job.cancel).await?;
        self.or_autopsy(sent).await
    }

    async fn receive(&mut self) -> Result<FromWorker, Ended> {
        let got =
            bounded(self.worker.receive(), &mut self.left, self.until, self.job.cancel).await?;
        self.or_autopsy(got).await
    }

    /// The pipe ended: say how the worker did.
    async fn or_autopsy<T>(&mut self, result: io::Result<T>) -> Result<T, Ended> {
        match result {
            Ok(value) => Ok(value),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(Ended::Fault(FaultFrame::new(fault::WORKER, error.to_string())))
            }
            Err(_) => Err(Ended::Fault(self.worker.autopsy().await)),
        }
    }

    /// Asks the host, for no longer than the script's poll. At the end of the check's time the
    /// script is told that ground truth did not answer and gets a moment to end.
    async fn answer(
        &mut self,
        call: &HostCall,
        within_ms: Option<u64>,
    ) -> Result<HostAnswer, Ended> {
        let job = self.job;
        if let (HostCall::Change(change), Some(hands)) = (call, job.hands) {
            return Ok(hands.make(change).await);
        }
        tokio::select! {
            answer = within(within_ms, job.host.answer(job.workspace, call)) => Ok(answer),
            () = job.cancel.cancelled() => Err(Ended::cancelled()),
            () = tokio::time::sleep_until(self.until) => {
                self.until = Instant::now() + GRACE;
                let message = "ground truth did not answer within the check's time".to_owned();
                Ok(Err(GateError::Late(message)))
            }
        }
    }
}

/// The host's answer, or that it was not given in time.
pub(crate) async fn within(
    limit_ms: Option<u64>,
    answer: impl Future<Output = HostAnswer>,
) -> HostAnswer {
    let Some(limit_ms) = limit_ms else { return answer.await };
    let late = "ground truth did not answer before the poll was over";
    let answer = tokio::time::timeout(Duration::from_millis(limit_ms), answer).await;
    answer.unwrap_or_else(|_| Err(GateError::Late(late.to_owned())))
}

/// Waits for the worker no longer than the script's own time, the check's time, and the run.
async fn bounded<T>(
    work: impl Future<Output = T>,
    left: &mut Duration,
    until: Instant,
    cancel: &CancellationToken,
) -> Result<T, Ended> {
    let started = Instant::now();
    let own_end = started + *left;
    let result = tokio::select! {
        biased;
        result = work => Ok(result),
        () = cancel.cancelled() => Err(Ended::cancelled()),
        () = tokio::time::sleep_until(own_end.min(until)) => {
            let whose = if own_end <= until { "its own wall time" } else { "the check's time" };
            let message = format!("the script did not end within {whose} and was killed");
            Err(Ended::Fault(FaultFrame::new(fault::TIMEOUT, message)))
        }
    };
    *left = left.saturating_sub(started.elapsed());
    result
}

fn out_of_turn() -> Ended {
    Ended::Fault(FaultFrame::new(fault::WORKER, "the worker answered out of turn"))
}
