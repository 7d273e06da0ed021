//! The benchmarks of the bars: every program of the bench in turn, each beside its peers or a physical
//! floor on the same machine in the same run; what they printed, kept as it was; a page made of that.

pub(crate) mod built;
mod error;
mod host;
mod page;
mod peers;
mod program;
mod row;
mod rows;
mod told;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use error::BenchError;
pub use page::page;
pub use row::{Row, Verdict};
pub use rows::rows;
pub use told::Told;

use peers::Peers;
use program::PROGRAMS;

/// Where the outputs of full runs are kept, a folder for each, named by its day.
pub const RESULTS: &str = "bench/results";
/// The page that is made of the last of them.
pub const PAGE: &str = "docs/benchmarks.md";

/// What is run, and where its outputs are put.
#[derive(Debug, Default)]
pub struct Bench {
    /// The repository.
    pub root: PathBuf,
    /// Small sizes, at most three minutes; nothing is kept in the repository.
    pub quick: bool,
    /// A folder with `probity` and `all`, built for release. Default: they are built.
    pub programs: Option<PathBuf>,
    /// The commit that those are of. Default: that of the checkout.
    pub commit: Option<String>,
    /// Folders with the programs of peers: virtual environments of Python, or their `bin`.
    pub peers: Vec<PathBuf>,
    /// Only these programs; the outputs of the others stay as they are.
    pub only: Vec<String>,
    /// Where durable stores are put. Default: the folder for temporary files.
    pub folder: Option<PathBuf>,
    /// Nothing is run; the page is made anew.
    pub page_only: bool,
}

impl Bench {
    /// Reads the words behind `bench`.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn parse(root: &Path, words: &[&str]) -> Result<Self, BenchError> {
        let mut bench = Self { root: root.to_path_buf(), ..Self::default() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().copied().ok_or(BenchError::Usage);
            match *word {
                "--quick" => bench.quick = true,
                "--page" => bench.page_only = true,
                "--programs" => bench.programs = Some(absolute(value()?)?),
                "--commit" => bench.commit = Some(value()?.to_owned()),
                "--peers" => bench.peers.push(absolute(value()?)?),
                "--folder" => bench.folder = Some(absolute(value()?)?),
                "--only" => bench.only.extend(value()?.split(',').map(str::to_owned)),
                _ => return Err(BenchError::Usage),
            }
        }
        match bench.only.iter().find(|name| PROGRAMS.iter().all(|it| it.name != name.as_str())) {
            Some(name) => Err(BenchError::NoSuch { name: name.clone() }),
            None => Ok(bench),
        }
    }

    /// Runs what was asked for, keeps the outputs and writes the page. Gives the path of the page.
    ///
    /// # Errors
    /// [`BenchError`] if the programs cannot be built, or nothing can be written. A program that fails
    /// is a row that was not measured, not an error.
    pub fn run(&self) -> Result<PathBuf, BenchError> {
        let (results, page_path) = match self.quick {
            true => (self.root.join("target/bench"), self.root.join("target/bench/benchmarks.md")),
            false => (self.root.join(RESULTS), self.root.join(PAGE)),
        };
        if !self.page_only {
            let day = host::day()?;
            let out = results.join(if self.quick { "quick" } else { &day });
            self.measure(&out, &day)?;
        }
        let told = Told::last(&results)?;
        write(&page_path, &page(&told))?;
        Ok(page_path)
    }

    fn measure(&self, out: &Path, day: &str) -> Result<(), BenchError> {
        let programs = built::programs(&self.root, self.programs.as_deref())?;
        let peers = Peers::find(&self.root, &self.peers);
        for line in peers.missing() {
            eprintln!("xtask: {line}");
        }
        let folder = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        fs::create_dir_all(out).map_err(|error| BenchError::io(out, error))?;
        // A part that is run again belongs to the machine that is told already.
        let told = self.only.is_empty().then(|| self.told(&peers, &folder, day));
        let machine = out.join("machine.json");
        let keep = |told: &Option<Value>| match told {
            Some(told) => write(&machine, &text(told)?),
            None => Ok(()),
        };
        // Also before the end, for a run that is stopped.
        keep(&told)?;
        for program in PROGRAMS {
            if self.only.is_empty() || self.only.iter().any(|name| name == program.name) {
                let told = program.run(self, &programs, &peers, &folder);
                write(&out.join(format!("{}.json", program.name)), &text(&told)?)?;
            }
        }
        keep(&told.map(|told| with(told, "load_after", json!(host::load()))))
    }

    fn told(&self, peers: &Peers, folder: &Path, day: &str) -> Value {
        let missing: Vec<String> = peers.missing().collect();
        let told = with(host::machine(&self.root, folder), "day", json!(day));
        let told = with(told, "is_quick", json!(self.quick));
        let told = match &self.commit {
            Some(commit) => with(told, "commit", json!(commit)),
            None => told,
        };
        let told = with(told, "load_before", json!(host::load()));
        with(told, "without", json!(missing))
    }
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Value::Object(members) = &mut object {
        members.insert(name.to_owned(), value);
    }
    object
}

fn absolute(path: &str) -> Result<PathBuf, BenchError> {
    std::path::absolute(path).map_err(|error| BenchError::io(Path::new(path), error))
}

fn text(value: &Value) -> Result<String, BenchError> {
    let mut text = serde_json::to_string_pretty(value).map_err(BenchError::Print)?;
    text.push('\n');
    Ok(text)
}

fn write(path: &Path, text: &str) -> Result<(), BenchError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| BenchError::io(folder, error))?;
    }
    fs::write(path, text).map_err(|error| BenchError::io(path, error))
}
