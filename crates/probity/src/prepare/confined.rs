//! Checks and delegate, each confined as the request says. What must be kept off, only the finished judge
//! knows: so what is closed is put together once to know it, and once more with it.

use std::sync::Arc;

use probity_core::Step;
use probity_delegate::Delegate;
use probity_sandbox::{Confinement, Enforcement, Launcher, Limits};
use probity_verifier::Workspace;

use super::builder::Builder;
use super::decision::Governed;
use super::delegate::{self, Keys, Seat};
use super::{PrepareError, Who, own_secrets, sandbox};
use crate::location::Programs;
use crate::request::{Held, Request, Sandboxing};

/// The parts of a plan, confined.
pub(super) struct Confined<'a> {
    pub(super) builder: Builder<'a>,
    pub(super) governed: Option<Governed>,
    pub(super) delegate: Arc<dyn Delegate>,
    pub(super) rungs: Vec<(Step, Arc<dyn Delegate>)>,
    pub(super) held: Outcome,
}

/// What held of the sandboxes that were asked for.
#[derive(Default)]
pub(super) struct Outcome {
    checks: Option<Enforcement>,
    delegate: Option<Enforcement>,
}

impl Outcome {
    /// The request as it is recorded: with what held.
    pub(super) fn noted(&self, request: &Request) -> Request {
        let mut request = request.clone();
        if let Some(sandbox) = &mut request.sandbox {
            sandbox.held = self.said();
        }
        request
    }

    /// The same in words; none where nothing was closed.
    fn said(&self) -> Option<Held> {
        if self.checks.is_none() && self.delegate.is_none() {
            return None;
        }
        let said =
            |held: &Option<Enforcement>| held.as_ref().map(ToString::to_string).unwrap_or_default();
        Some(Held { checks: said(&self.checks), delegate: said(&self.delegate) })
    }
}

type Rungs = Vec<(Step, Arc<dyn Delegate>)>;

impl<'a> Confined<'a> {
    pub(super) fn of(
        request: &'a Request,
        programs: &'a Programs,
        workspace: Arc<Workspace>,
        who: Who,
        keys: Keys,
    ) -> Result<Self, PrepareError> {
        let asked = request.sandbox.clone().unwrap_or_default();
        let (of_checks, of_delegate) = (asked.of_checks(), asked.of_delegate());
        let seat = seat(request, &workspace, programs, &who, keys)?;
        own_secrets::refuse(request)?;
        let rungs = rungs(request, &workspace, programs)?;
        let actors: Vec<String> =
            rungs.iter().map(|(_, rung)| rung.identity()).chain([seat.identity()]).collect();
        let build = |launcher: Launcher| {
            let workspace = Arc::clone(&workspace);
            built(Builder::new(request, programs, workspace, actors.clone(), keys, launcher)?)
        };
        let mut held = Outcome::default();
        let plain = &programs.launcher;
        let first = match of_checks {
            // Nothing of it depends on the judge.
            Sandboxing::Guard => plain.confined(Confinement::guard(), Limits::default()),
            Sandboxing::Off | Sandboxing::BestEffort | Sandboxing::On => plain.clone(),
        };
        let (mut builder, mut governed) = build(first)?;
        if of_checks.is_closed() {
            let judge = &builder.judge;
            let launcher = sandbox::launcher(request, of_checks, &workspace, judge, plain);
            held.checks = try_launcher(&launcher, keys)?;
            (builder, governed) = build(launcher)?;
        }
        let is_started = matches!(who, Who::Named);
        let launcher = match is_started {
            true => sandbox::launcher(request, of_delegate, &workspace, &builder.judge, plain),
            false => plain.clone(),
        };
        let (seat, rungs) = match launcher {
            Launcher::Confined { .. } => {
                held.delegate = try_launcher(&launcher, keys)?;
                let confined = sandbox::with_launcher(programs, launcher.clone());
                let seat = self::seat(request, &workspace, &confined, &who, keys)?;
                (seat, self::rungs(request, &workspace, &confined)?)
            }
            _ => (seat, rungs),
        };
        for (whose, enforcement) in [("checks", &held.checks), ("the delegate", &held.delegate)] {
            let warning = enforcement.as_ref().and_then(|it| sandbox::warning(whose, it));
            builder.warnings.extend(warning);
        }
        let delegate = seat.fill(&builder, launcher)?;
        Ok(Self { builder, governed, delegate, rungs, held })
    }
}

/// Nothing is tried where nothing will be run: another machine may hold more, or less.
fn try_launcher(launcher: &Launcher, keys: Keys) -> Result<Option<Enforcement>, PrepareError> {
    match keys {
        Keys::Needed => sandbox::try_launcher(launcher),
        Keys::Left => Ok(None),
    }
}

/// Whoever does the work.
fn seat(
    request: &Request,
    workspace: &Workspace,
    programs: &Programs,
    who: &Who,
    keys: Keys,
) -> Result<Seat, PrepareError> {
    match who {
        Who::Named => Seat::of(request, workspace, programs, keys),
        Who::Given(delegate) => Ok(Seat::Taken(Arc::clone(delegate))),
    }
}

/// Those to whom the work falls.
fn rungs(
    request: &Request,
    workspace: &Workspace,
    programs: &Programs,
) -> Result<Rungs, PrepareError> {
    let mut rungs = Vec::new();
    for (step, rung) in &request.rungs {
        let command = delegate::command(request, &rung.command, rung.format, workspace, programs)?;
        rungs.push((Step::from(*step), command));
    }
    Ok(rungs)
}

fn built(mut builder: Builder<'_>) -> Result<(Builder<'_>, Option<Governed>), PrepareError> {
    builder.add_stock_checks()?;
    builder.add_scripts()?;
    builder.refuse_reserved()?;
    let governed = builder.govern()?;
    builder.add_hooks()?;
    builder.seal_tools()?;
    Ok((builder, governed))
}
