//! The page that sets our verdict beside that of the source system, change by change.
//!
//! Ours is made anew by every run of the test. Theirs is data: `bench/README.md` says how it is made.
//! Both are joined by the name of the change and by a digest of the files, so that neither can be of
//! other files than it says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use probity_trace::compat::{self, CompatError};
use probity_trace::sample::{Ending, Retrieval, SampleRun, canonical, reseal, sha256};
use probity_trace::{FileKind, MemoryFiles, Verdict, VerificationReport};
use serde_json::{Value, json};

use super::{Row, Run, claims, evidence, framing, header, order, plan, tools};

const PAGE: &str = "docs/trace-mutations.md";
const THEIRS: &str = "crates/trace/tests/it/mutation/python.tsv";
const BEGIN: &str = "<!-- begin: written by the test `mutation::table` -->\n";
const END: &str = "<!-- end -->\n";

/// The letter of each group, what it changes, and its changes: those that a new seal does not mend,
/// and those that it does.
const GROUPS: [(&str, &str, &[Row], &[Row]); 8] = [
    ("A", "lines and JSON", framing::ROWS, &[]),
    ("B", "the header", header::ROWS, header::SEALED_ROWS),
    ("C", "order", order::ROWS, &[]),
    ("D", "tools", tools::ROWS, &[]),
    ("E", "evidence, provenance, seal", evidence::ROWS, evidence::SEALED_ROWS),
    ("F", "claims and answers", claims::ROWS, &[]),
    ("G", "plan and problem", plan::ROWS, plan::SEALED_ROWS),
    ("H", "too little evidence", claims::ROWS, &[]),
];

/// Changes of what only a run with a corpus has.
const WITH_CORPUS: [&str; 21] = [
    "B31",
    "D24",
    "D25",
    "D26",
    "D27",
    "D28",
    "D29",
    "D31",
    "D32",
    "D33",
    "E08 p",
    "E08 altered, p",
    "E09",
    "E37",
    "E38",
    "E39",
    "E40",
    "E41",
    "E42",
    "E43",
    "E47 a tool",
];

/// Left out: needs two results of a corpus, and such a run the source system refuses untouched.
const WITHOUT_BASE: [&str; 1] = ["D30 results exchanged"];

/// Changes of form alone, and what the contract leaves to a policy: nobody is held to refuse these.
const LEFT_OPEN: [&str; 22] = [
    "A08 no final newline",
    "A09 CRLF",
    "A10 blank lines",
    "A20 byte order mark",
    "A30 NUL in the question",
    "A31 blanks",
    "A32 keys in another order",
    "D19 alias ok",
    "D21 alias tool_call",
    "D33 no account in the result",
    "E24 link, told of the folder too",
    "E40 a chunk twice",
    "E46 no newline behind the fingerprint",
    "F26 marker twice",
    "F65 kind for type",
    "G28 blanks",
    "G29 problem: blanks",
    "G31 problem: no version",
    "G32 problem: version true",
    "H06 a claim all the same",
    "H08 a type and nothing more",
    "H09 a grounded claim flagged",
];

/// A changed run, and what both sides say of it.
struct Told {
    name: String,
    variant: &'static str,
    /// The name of the run that was changed.
    base: &'static str,
    run: Run,
    report: VerificationReport,
    /// The code that the row is about.
    code: &'static str,
}

/// A row of the page: as it was changed, and with everything sealed again where that is different.
struct Change {
    group: &'static str,
    plain: Told,
    resealed: Option<Told>,
}

impl Told {
    fn new(
        name: &str,
        variant: &'static str,
        base: &'static str,
        run: Run,
        code: &'static str,
    ) -> Self {
        let report = run.audit();
        Self { name: name.to_owned(), variant, base, run, report, code }
    }

    fn is_missed(&self) -> bool {
        matches!(self.report.verdict, Verdict::Valid | Verdict::AcceptedByCompat)
    }

    /// The verdict, and the code that the row is about, else the first that is not the seal's.
    fn ours(&self) -> String {
        let failures = &self.report.failures;
        let first = failures.iter().find(|failure| failure.code == self.code);
        let first = first.or_else(|| failures.iter().find(|failure| failure.check != "seal"));
        let verdict = self.report.verdict.as_str();
        match first.or(failures.first()) {
            None => verdict.to_owned(),
            Some(failure) => format!("{verdict} `{}`", failure.code),
        }
    }

    /// Of all files, so that a verdict is of these and no others.
    fn digest(&self) -> String {
        let files = &self.run.files;
        let regular: BTreeMap<&String, String> =
            files.files.iter().map(|(path, bytes)| (path, sha256(bytes))).collect();
        sha256(canonical(&json!({"files": regular, "others": others(files)})).as_bytes())
    }

    /// What the compatible reading says, in the words of the data.
    fn compat(&self) -> Option<String> {
        if self.run.files.others.values().any(|kind| *kind == FileKind::Link) {
            return None;
        }
        Some(match compat::original_report(&self.run.files) {
            Ok(report) => verdict_of(&report),
            Err(CompatError::Raised { exception }) => format!("error:{exception}"),
            Err(CompatError::NotRegular { kind: FileKind::Special, .. }) => "hang".to_owned(),
            Err(error) => format!("ours: {error}"),
        })
    }
}

/// `pass`, or `fail:` with the checks that failed.
fn verdict_of(report: &Value) -> String {
    let checks = report["checks"].as_array().expect("checks");
    let failed: Vec<&str> = checks
        .iter()
        .filter(|check| check["passed"] == false)
        .map(|check| check["name"].as_str().expect("a name"))
        .collect();
    match failed.is_empty() {
        true => "pass".to_owned(),
        false => format!("fail:{}", failed.join(",")),
    }
}

fn others(files: &MemoryFiles) -> BTreeMap<&String, &'static str> {
    let word = |kind: &FileKind| match kind {
        FileKind::Link => "link",
        FileKind::Special => "fifo",
        FileKind::Folder => "folder",
        FileKind::Regular => "regular",
    };
    files.others.iter().map(|(path, kind)| (path, word(kind))).collect()
}

/// The runs that are changed, by name. The source system accepts the first two.
fn bases() -> [(&'static str, SampleRun); 3] {
    let (retrieval, ending) = (Retrieval::Bm25, Ending::Insufficient);
    [
        ("answer", SampleRun { pairs: 2, ..SampleRun::default() }),
        ("corpus", SampleRun { retrieval, ending, ..SampleRun::default() }),
        ("answer-with-corpus", SampleRun { pairs: 2, retrieval, ..SampleRun::default() }),
    ]
}

/// Every change once: one that gives the same files as another before it is left out.
fn changes() -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for (group, _, rows, sealed_rows) in GROUPS {
        let kept = rows.iter().map(|row| (row, true));
        let mended = sealed_rows.iter().map(|row| (row, false));
        for ((name, code, change), is_resealed) in kept.chain(mended) {
            let is_claim_group = matches!(group, "F" | "H");
            if WITHOUT_BASE.contains(name) || (is_claim_group && !is_of(group, name)) {
                continue;
            }
            let has_corpus = WITH_CORPUS.iter().any(|start| name.starts_with(start));
            let [answer, corpus, _] = bases();
            let (base, sample) = if has_corpus { corpus } else { answer };
            let mut run = Run::of(&sample);
            change(&mut run);
            if changes.iter().any(|change| change.plain.run.files == run.files) {
                continue;
            }
            let mut again = run.clone();
            reseal(&mut again.files);
            let resealed = (is_resealed && again.files != run.files)
                .then(|| Told::new(name, "resealed", base, again, code));
            changes.push(Change {
                group,
                plain: Told::new(name, "plain", base, run, code),
                resealed,
            });
        }
    }
    changes
}

/// Of the rows on claims, those with an H are of too little evidence.
fn is_of(group: &str, name: &str) -> bool {
    name.starts_with('H') == (group == "H")
}

fn every(changes: &[Change]) -> impl Iterator<Item = &Told> {
    changes.iter().flat_map(|change| [Some(&change.plain), change.resealed.as_ref()]).flatten()
}

/// What the source system said, by name, variant and digest.
type Theirs = BTreeMap<(String, String, String), String>;

fn read_theirs() -> Theirs {
    let text = fs::read_to_string(root().join(THEIRS)).expect(THEIRS);
    let row = |line: &str| {
        let [name, variant, digest, verdict] =
            <[&str; 4]>::try_from(line.split('\t').collect::<Vec<_>>()).expect("four columns");
        let key = (name.to_owned(), variant.to_owned(), digest.to_owned());
        (key, verdict.to_owned())
    };
    text.lines().map(row).collect()
}

fn theirs<'t>(all: &'t Theirs, told: &Told) -> &'t str {
    let key = (told.name.clone(), told.variant.to_owned(), told.digest());
    all.get(&key).unwrap_or_else(|| panic!("{key:?} is not in {THEIRS}: see bench/README.md"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Untouched runs, as rows of the data.
fn untouched() -> Vec<Told> {
    let told = |(name, sample)| {
        Told::new(&format!("untouched: {name}"), "plain", name, Run::of(&sample), "")
    };
    bases().map(told).into()
}

#[test]
fn names_are_unique_and_lists_of_names_are_current() {
    let mut names: Vec<&str> = Vec::new();
    for (group, _, rows, sealed_rows) in GROUPS.iter().filter(|group| group.0 != "H") {
        let all = rows.iter().chain(*sealed_rows).map(|row| row.0);
        names.extend(all);
        assert!(!group.is_empty());
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for listed in LEFT_OPEN.iter().chain(&WITHOUT_BASE) {
        assert!(names.contains(listed), "{listed}");
    }
    for start in WITH_CORPUS {
        assert!(names.iter().any(|name| name.starts_with(start)), "{start}");
    }
}

#[test]
fn no_change_is_accepted_and_the_page_says_what_both_say() {
    let changes = changes();
    if let Some(folder) = std::env::var_os("PROBITY_DUMP_MUTATIONS") {
        return dump(Path::new(&folder), &changes);
    }
    let missed: Vec<&String> =
        every(&changes).filter(|told| told.is_missed()).map(|told| &told.name).collect();
    assert!(missed.is_empty(), "{missed:?}");
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let runs = every(&changes).count();
    assert!(readme.contains(&format!("{runs} changed runs")), "{runs}");
    let theirs = read_theirs();
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).expect(PAGE);
    let (before, rest) = page.split_once(BEGIN).expect(BEGIN);
    let (stands, after) = rest.split_once(END).expect(END);
    let right = written(&changes, &theirs);
    if std::env::var_os("PROBITY_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, format!("{before}{BEGIN}{right}{END}{after}")).expect(PAGE);
        return;
    }
    for (at, (stands, right)) in stands.lines().zip(right.lines()).enumerate() {
        assert_eq!(stands, right, "line {at} of the table; PROBITY_BLESS=1 writes it anew");
    }
    assert_eq!(stands, right, "PROBITY_BLESS=1 writes it anew");
}

#[test]
fn the_source_system_accepts_what_was_changed() {
    let theirs_all = read_theirs();
    let said: Vec<&str> = untouched().iter().map(|told| theirs(&theirs_all, told)).collect();
    assert_eq!(said, ["pass", "pass", "fail:support_spans"]);
    assert!(untouched().iter().all(|told| told.report.verdict == Verdict::Valid));
}

#[test]
fn the_compatible_reading_says_what_the_source_system_says() {
    let theirs_all = read_theirs();
    let changes = changes();
    let untouched = untouched();
    let mut seen = 0;
    for told in every(&changes).chain(&untouched) {
        if let Some(ours) = told.compat() {
            assert_eq!(ours, theirs(&theirs_all, told), "{} {}", told.name, told.variant);
            seen += 1;
        }
    }
    assert!(seen > 400, "{seen}");
}

/// Writes every run, and a list of them, for the program that asks the source system.
fn dump(folder: &Path, changes: &[Change]) {
    let write = |name: &str, files: &MemoryFiles| {
        for (path, bytes) in &files.files {
            let path = folder.join(name).join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, bytes).expect("a file");
        }
    };
    let untouched = untouched();
    let mut index = Vec::new();
    for (at, told) in every(changes).chain(&untouched).enumerate() {
        let name = format!("{at:04}");
        write(&name, &told.run.files);
        index.push(json!({
            "base": format!("base-{}", told.base),
            "digest": told.digest(),
            "folder": name,
            "name": told.name,
            "others": others(&told.run.files),
            "variant": told.variant,
        }));
    }
    for (name, sample) in bases() {
        write(&format!("base-{name}"), &sample.files());
    }
    fs::write(folder.join("index.json"), canonical(&json!(index))).expect("an index");
}

/// Both columns of a group, counted.
#[derive(Default)]
struct Totals {
    rows: usize,
    plain: usize,
    resealed: usize,
    /// Changes that must be refused: plain, sealed again.
    must: [usize; 2],
    /// Of these: accepted by the source system, without a report by it, accepted by us.
    missed: [usize; 2],
    unreported: [usize; 2],
    ours: [usize; 2],
}

impl Totals {
    fn count(&mut self, change: &Change, all: &Theirs) {
        self.rows += 1;
        for (at, told) in [Some(&change.plain), change.resealed.as_ref()].into_iter().enumerate() {
            let Some(told) = told else { continue };
            let count = if at == 0 { &mut self.plain } else { &mut self.resealed };
            *count += 1;
            self.ours[at] += usize::from(told.is_missed());
            if !LEFT_OPEN.contains(&told.name.as_str()) {
                let said = theirs(all, told);
                self.must[at] += 1;
                self.missed[at] += usize::from(said == "pass");
                self.unreported[at] += usize::from(said.starts_with("error:") || said == "hang");
            }
        }
    }

    fn line(&self, name: &str) -> String {
        let [must, must_again] = self.must;
        let [missed, missed_again] = self.missed;
        let [unreported, unreported_again] = self.unreported;
        let [ours, ours_again] = self.ours;
        format!(
            "| {name} | {} | {must} | {missed} | {unreported} | {ours} | {must_again} | \
             {missed_again} | {unreported_again} | {ours_again} |\n",
            self.rows
        )
    }
}

/// Whether a file differs that the verifier of the source system opens.
fn is_read(told: &Told) -> bool {
    let is_opened = |path: &str| {
        matches!(path, "trace.jsonl" | "plan.json" | "provenance/chunks.jsonl")
            || path.starts_with("evidence")
    };
    let opened = |files: &MemoryFiles| {
        let mut files = files.clone();
        files.files.retain(|path, _| is_opened(path));
        files.others.retain(|path, _| is_opened(path));
        files
    };
    let base = bases().into_iter().find(|(name, _)| *name == told.base);
    let before = base.map(|(_, sample)| opened(&sample.files()));
    before != Some(opened(&told.run.files))
}

/// The part of the page that is written by the test.
fn written(changes: &[Change], all: &Theirs) -> String {
    let mut text = String::from(
        "| Group | Rows | must be refused | bijux accepts | no report | Probity accepts | resealed: \
         must be refused | bijux accepts | no report | Probity accepts |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut sum = Totals::default();
    for (group, what, ..) in GROUPS {
        let mut totals = Totals::default();
        for change in changes.iter().filter(|change| change.group == group) {
            totals.count(change, all);
            sum.count(change, all);
        }
        text += &totals.line(&format!("{group}: {what}"));
    }
    text += &sum.line("**all**");
    let Totals { rows, plain, resealed, .. } = sum;
    let is_held = |change: &&Change| !LEFT_OPEN.contains(&change.plain.name.as_str());
    let unread = changes.iter().filter(is_held).filter(|change| !is_read(&change.plain)).count();
    writeln!(
        text,
        "\n{rows} changes, {plain} as they are and {resealed} sealed again: {} run directories.\n\
         {unread} of those that must be refused change, as they are, only files that the verifier never opens.",
        plain + resealed
    )
    .expect("a text");
    for (group, what, ..) in GROUPS {
        writeln!(text, "\n### {group}: {what}\n").expect("a text");
        text += "| Change | Probity | bijux | Probity, resealed | bijux, resealed |\n\
                 |---|---|---|---|---|\n";
        for change in changes.iter().filter(|change| change.group == group) {
            text += &line(change, all);
        }
    }
    text
}

fn line(change: &Change, all: &Theirs) -> String {
    let plain = &change.plain;
    let is_open = LEFT_OPEN.contains(&plain.name.as_str());
    let said = |told: &Told| match theirs(all, told).split_once(':') {
        Some(("fail", checks)) => format!("refuses: {}", checks.replace(',', ", ")),
        Some((_, exception)) => format!("`{exception}`"),
        None if theirs(all, told) == "hang" => "hangs".to_owned(),
        None if is_open => "accepts".to_owned(),
        None => "**accepts**".to_owned(),
    };
    let resealed = change.resealed.as_ref();
    let base = if plain.base == "corpus" { " ◇" } else { "" };
    let open = if is_open { " ○" } else { "" };
    format!(
        "| {}{base}{open} | {} | {} | {} | {} |\n",
        plain.name,
        plain.ours(),
        said(plain),
        resealed.map_or("–".to_owned(), Told::ours),
        resealed.map_or("–".to_owned(), said),
    )
}
