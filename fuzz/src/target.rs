//! The targets, one file for each area.

mod agent;
mod check;
mod egress;
mod harness;
mod host;
mod log;
mod machine;
mod model;
mod policy;
mod record;
mod trace;
mod view;
mod words;
mod workflow;
mod world;

/// A parser or a machine, and what it must never do.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    name: &'static str,
    run: fn(&[u8]),
    seeds: fn() -> Vec<Vec<u8>>,
}

/// The targets of each area, in the order of the README.
const AREAS: [&[Target]; 15] = [
    &trace::TARGETS,
    &log::TARGETS,
    &record::TARGETS,
    &machine::TARGETS,
    &world::TARGETS,
    &workflow::TARGETS,
    &policy::TARGETS,
    &check::TARGETS,
    &harness::TARGETS,
    &agent::TARGETS,
    &egress::TARGETS,
    &host::TARGETS,
    &model::TARGETS,
    &view::TARGETS,
    &words::TARGETS,
];

impl Target {
    const fn new(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Self {
        Self { name, run, seeds }
    }

    /// Every target.
    pub fn all() -> impl Iterator<Item = Self> {
        AREAS.into_iter().flatten().copied()
    }

    /// Its name, and that of its folder in the corpus.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The target of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|target| target.name == name)
    }

    /// Runs it.
    ///
    /// # Panics
    /// If it does what it must not.
    pub fn run(&self, bytes: &[u8]) {
        (self.run)(bytes);
    }

    /// Inputs to start from.
    #[must_use]
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        (self.seeds)()
    }
}
