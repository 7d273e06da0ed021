//! The gate of hot paths: instructions under valgrind, held against what was written down. Load, clock
//! and neighbours do not change them; the compiler does, so its version stands beside them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::BenchError;

/// What was written down.
pub const BASELINES: &str = "bench/instructions.toml";
/// How far a figure may be above its baseline where nothing else is said, in percent.
const TOLERANCE_PERCENT: f64 = 3.0;

/// What is counted, and what is done with it.
#[derive(Debug, Default)]
pub struct Instructions {
    /// The repository.
    pub root: PathBuf,
    /// Write the figures down in the place of those that are there.
    pub update: bool,
    /// A folder with `probity` and `all`, built for release. Default: they are built.
    pub programs: Option<PathBuf>,
    /// The program itself, in their place.
    pub program: Option<PathBuf>,
    /// Only these cases.
    pub only: Vec<String>,
    /// What counts. Default: `valgrind` on the path.
    pub valgrind: Option<PathBuf>,
}

/// What is known of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Instructions of a round.
    pub instructions: u64,
    /// How far above it a figure may be.
    pub tolerance_percent: f64,
}

/// The written file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baselines {
    /// The compiler they are of.
    pub rustc: String,
    /// By the name of the case.
    pub cases: BTreeMap<String, Baseline>,
}

/// Nothing was counted, or a path got longer.
#[derive(Debug)]
pub enum InstructionsError {
    /// The words behind the command are none that it takes.
    Usage,
    /// There is no valgrind.
    NoValgrind,
    /// The program is not there.
    Build(BenchError),
    /// A case cannot be counted.
    Case {
        /// Which.
        name: String,
        /// Why not.
        why: String,
    },
    /// The written file cannot be read.
    Baselines {
        /// Why not.
        why: String,
    },
    /// Cases that are above their baseline, or have none.
    Above {
        /// How many.
        count: usize,
    },
}

impl std::fmt::Display for InstructionsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage => {
                write!(f, "usage: instructions [--update] [--programs DIR] [--only NAME,...]")
            }
            Self::NoValgrind => {
                write!(
                    f,
                    "NOTHING WAS COUNTED: valgrind is not installed (`apt-get install valgrind`)"
                )
            }
            Self::Build(error) => write!(f, "{error}"),
            Self::Case { name, why } => write!(f, "`{name}` cannot be counted: {why}"),
            Self::Baselines { why } => write!(f, "{BASELINES}: {why}"),
            Self::Above { count } => write!(
                f,
                "{count} cases are above their baseline or have none; where that is meant, \
                 `cargo xtask instructions --update` writes the new figures down"
            ),
        }
    }
}

impl std::error::Error for InstructionsError {}

impl Instructions {
    /// Reads the words behind `instructions`.
    ///
    /// # Errors
    /// [`InstructionsError::Usage`].
    pub fn parse(root: &Path, words: &[&str]) -> Result<Self, InstructionsError> {
        let mut asked = Self { root: root.to_path_buf(), ..Self::default() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().copied().ok_or(InstructionsError::Usage);
            match *word {
                "--update" => asked.update = true,
                "--programs" => asked.programs = Some(value()?.into()),
                "--only" => asked.only.extend(value()?.split(',').map(str::to_owned)),
                _ => return Err(InstructionsError::Usage),
            }
        }
        Ok(asked)
    }

    /// Counts, prints a table, and compares or writes down.
    ///
    /// # Errors
    /// [`InstructionsError`].
    pub fn run(&self) -> Result<(), InstructionsError> {
        let valgrind = self.valgrind.clone().unwrap_or_else(|| "valgrind".into());
        let version = Command::new(&valgrind).arg("--version").stderr(Stdio::null()).output();
        let version = version.map_err(|_| InstructionsError::NoValgrind)?.stdout;
        let path = self.root.join(BASELINES);
        let mut known = match fs::read_to_string(&path) {
            Ok(text) => Baselines::parse(&text)?,
            Err(_) => Baselines::default(),
        };
        let program = match &self.program {
            Some(program) => program.clone(),
            None => crate::bench::built::programs(&self.root, self.programs.as_deref())
                .map_err(InstructionsError::Build)?
                .join("instructions"),
        };
        let rustc = said(&self.root, "rustc", &["--version"]);
        println!("{}; {rustc}", String::from_utf8_lossy(&version).trim());
        if known.rustc != rustc && !known.rustc.is_empty() {
            println!("the baselines are of {}: other code, other counts", known.rustc);
        }
        let (mut above, mut failed) = (0, None);
        for name in self.cases(&program)? {
            let before = known.cases.get(&name);
            let counted = match count(&valgrind, &program, &name) {
                Ok(counted) => counted,
                // The others are counted all the same.
                Err(error) => {
                    println!("{name:<22} {error}");
                    failed = Some(error);
                    continue;
                }
            };
            let (line, is_above) = judged(&name, counted, before);
            println!("{line}");
            above += usize::from(is_above);
            let tolerance = before.map_or(TOLERANCE_PERCENT, |it| it.tolerance_percent);
            if self.update {
                let now = Baseline { instructions: counted, tolerance_percent: tolerance };
                known.cases.insert(name, now);
            }
        }
        if self.update {
            known.rustc = rustc;
            let wrong = |error: std::io::Error| error.to_string();
            let written = fs::write(&path, known.text()).map_err(wrong);
            written.map_err(|why| InstructionsError::Baselines { why })?;
            above = 0;
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if above > 0 { Err(InstructionsError::Above { count: above }) } else { Ok(()) }
    }

    fn cases(&self, program: &Path) -> Result<Vec<String>, InstructionsError> {
        let output = Command::new(program).output();
        let output = output.map_err(|error| InstructionsError::Case {
            name: program.display().to_string(),
            why: error.to_string(),
        })?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = text.lines().filter_map(|line| line.split('\t').next());
        let is_asked = |name: &&str| self.only.is_empty() || self.only.iter().any(|it| it == name);
        Ok(names.filter(is_asked).map(str::to_owned).collect())
    }
}

impl Baselines {
    /// Reads the file: a table for each case, `instructions` and `tolerance_percent` in it, and `rustc`
    /// before all of them.
    ///
    /// # Errors
    /// [`InstructionsError::Baselines`].
    pub fn parse(text: &str) -> Result<Self, InstructionsError> {
        let wrong = |why: String| InstructionsError::Baselines { why };
        let table: toml::Table = text.parse().map_err(|error| wrong(format!("{error}")))?;
        let mut known = Self::default();
        for (name, value) in table {
            match value {
                toml::Value::String(rustc) if name == "rustc" => known.rustc = rustc,
                toml::Value::Table(case) => {
                    let count = case.get("instructions").and_then(toml::Value::as_integer);
                    let count = count.and_then(|count| u64::try_from(count).ok());
                    let tolerance = case.get("tolerance_percent").and_then(toml::Value::as_float);
                    let (Some(instructions), Some(tolerance_percent)) = (count, tolerance) else {
                        return Err(wrong(format!("`{name}` has no figure")));
                    };
                    known.cases.insert(name, Baseline { instructions, tolerance_percent });
                }
                _ => return Err(wrong(format!("`{name}` is no case"))),
            }
        }
        Ok(known)
    }

    /// The file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "# Instructions of a round, by case: `cargo xtask instructions` counts and compares, \
             `--update` writes.\n\nrustc = {:?}\n",
            self.rustc
        );
        for (name, it) in &self.cases {
            let _ = write!(
                text,
                "\n[{name}]\ninstructions = {}\ntolerance_percent = {:?}\n",
                it.instructions, it.tolerance_percent
            );
        }
        text
    }
}

/// The line of a case, and whether it is above what it may be.
fn judged(name: &str, counted: u64, before: Option<&Baseline>) -> (String, bool) {
    let Some(before) = before else {
        return (format!("{name:<22} {counted:>12}  NEW: no baseline"), true);
    };
    let percent = change_percent(counted, before.instructions);
    let is_above = percent > before.tolerance_percent;
    let word = match is_above {
        true => "ABOVE",
        false if percent < -before.tolerance_percent => "below: write it down with --update",
        false => "",
    };
    let line =
        format!("{name:<22} {counted:>12} {:>12} {percent:>+8.2} %  {word}", before.instructions);
    (line.trim_end().to_owned(), is_above)
}

#[expect(clippy::cast_precision_loss, reason = "a percentage, to be read by people")]
fn change_percent(counted: u64, before: u64) -> f64 {
    (counted as f64 / before.max(1) as f64 - 1.0) * 100.0
}

/// Rounds before those that count: what is made once is made in them.
const WARM: u32 = 2;
/// Instructions of a case that are worth counting, all rounds together.
const WORTH: u64 = 4_000_000;
/// The most rounds.
const MOST: u64 = 2000;

/// Instructions of one round: what more rounds take than few, by their number.
fn count(valgrind: &Path, program: &Path, name: &str) -> Result<u64, InstructionsError> {
    let few = collected(valgrind, program, name, WARM)?;
    let one = collected(valgrind, program, name, WARM + 1)?.saturating_sub(few).max(1);
    let more = u32::try_from((WORTH / one).clamp(3, MOST)).unwrap_or(3);
    let many = collected(valgrind, program, name, WARM + more)?;
    Ok(many.saturating_sub(few) / u64::from(more))
}

/// Instructions of the whole process.
fn collected(
    valgrind: &Path,
    program: &Path,
    name: &str,
    rounds: u32,
) -> Result<u64, InstructionsError> {
    let wrong = |why: String| InstructionsError::Case { name: name.to_owned(), why };
    let output = Command::new(valgrind)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([name, &rounds.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| wrong(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = said.lines().find_map(|line| {
        line.split_once("Collected :")?.1.split_whitespace().next()?.parse::<u64>().ok()
    });
    match count {
        Some(count) if output.status.success() => Ok(count),
        _ => {
            // Its own words, not those of the tool.
            let own = said.lines().rfind(|line| !line.starts_with("=="));
            Err(wrong(own.unwrap_or("it said nothing").to_owned()))
        }
    }
}

fn said(root: &Path, program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).current_dir(root).output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}
