//! What a CI job is told: it is never green for what is not verified, and nobody's words are more than
//! words in it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::world::{CREATED, HONEST, LIAR, REPENTANT, Ran, World};

/// Reads a JUnit report, holds it to what its schemas ask for, and prints it as JSON.
const READ_JUNIT: &str = r#"
import json, re, sys
from xml.etree import ElementTree
root = ElementTree.parse(sys.argv[1]).getroot()
assert (root.tag, root.attrib) == ("testsuites", {}), root
suite, = root
need = {"id", "package", "name", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time"}
assert suite.tag == "testsuite" and set(suite.attrib) == need, suite.attrib
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp")), suite.attrib
assert re.fullmatch(r"[0-9]{1,3}(\.[0-9]*)?", suite.get("time")), suite.attrib
tags = [child.tag for child in suite]
cases = [child for child in suite if child.tag == "testcase"]
assert tags == ["properties"] + ["testcase"] * len(cases) + ["system-out", "system-err"], tags
for child in suite[0]:
    assert child.tag == "property" and set(child.attrib) == {"name", "value"}, child.attrib
told = []
for case in cases:
    assert set(case.attrib) == {"classname", "name", "time"} and len(case) <= 1, case.attrib
    state, kind, message, text = "passed", "", "", ""
    for child in case:
        assert child.tag in ("failure", "error", "skipped") and len(child) == 0
        state, text = child.tag, child.text or ""
        if state != "skipped":
            assert set(child.attrib) == {"type", "message"}, child.attrib
            kind, message = child.get("type"), child.get("message")
    told.append({"name": case.get("name"), "state": state, "type": kind, "message": message, "text": text})
for name, state in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
    assert int(suite.get(name)) == sum(case["state"] == state for case in told), suite.attrib
assert int(suite.get("tests")) == len(told) > 0, suite.attrib
properties = {child.get("name"): child.get("value") for child in suite[0]}
red = int(suite.get("failures")) + int(suite.get("errors"))
print(json.dumps({"red": red, "cases": told, "properties": properties}))
"#;

fn junit(path: &Path) -> Value {
    let ran: Ran =
        Command::new("python3").args(["-c", READ_JUNIT]).arg(path).output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}\n{}", fs::read_to_string(path).unwrap());
    ran.json()
}

/// Runs a delegate and has everything reported beside the workspace.
fn reported(world: &World, delegate: &[&str], more: &[&str]) -> Ran {
    let at = |name: &str| world.beside(name).display().to_string();
    let (summary, junit, gitlab) = (at("summary.md"), at("junit.xml"), at("gitlab.json"));
    let reports = ["--ci-summary", &summary, "--junit", &junit, "--gitlab-report", &gitlab];
    let words = ["run", "write hello to out.txt"].iter().chain(more).chain(&reports);
    world.probity(words.chain(&["--"]).chain(delegate))
}

/// What was reported: the summary, the JUnit report, the issues for GitLab.
fn reports(world: &World) -> (String, Value, Vec<Value>) {
    let summary = fs::read_to_string(world.beside("summary.md")).unwrap();
    let gitlab: Value =
        serde_json::from_slice(&fs::read(world.beside("gitlab.json")).unwrap()).unwrap();
    let issues = gitlab.as_array().unwrap().clone();
    for issue in &issues {
        assert!(issue["location"]["lines"]["begin"].is_u64() && issue["description"].is_string());
        assert_eq!(issue["fingerprint"].as_str().unwrap().len(), 64);
    }
    (summary, junit(&world.beside("junit.xml")), issues)
}

#[test]
fn nothing_is_green_that_is_not_verified() {
    let broken = "def run(result):\n    return 1 / 0\n";
    let exit_3 = ["sh", "-c", "exit 3"];
    let unreachable = "http:http://127.0.0.1:1/,status=200";
    let cases: [(i32, &[&str], &[&str]); 9] = [
        (0, &HONEST, &["--expect", CREATED]),
        (0, &REPENTANT, &["--expect", CREATED]),
        (1, &LIAR, &["--expect", CREATED, "--max-retries", "0"]),
        (2, &HONEST, &["--expect", unreachable, "--allow-host", "127.0.0.1:1"]),
        (3, &HONEST, &[]),
        (0, &HONEST, &["--allow-unverified"]),
        (4, &HONEST, &["--verify", "broken.star"]),
        (5, &exit_3, &["--expect", CREATED]),
        (64, &HONEST, &["--expect", "nonsense"]),
    ];
    for (code, delegate, more) in cases {
        let world = World::new();
        world.write("broken.star", broken);
        let ran = reported(&world, delegate, more);
        assert_eq!(ran.code, code, "{more:?} {ran:?}");
        let (summary, junit, issues) = reports(&world);
        let is_verified = ran.stdout.contains("\nVERIFIED after ");
        assert_eq!(is_verified, more == ["--expect", CREATED] && code == 0, "{ran:?}");
        assert_eq!(junit["red"] == 0, is_verified, "{more:?} {junit}");
        assert_eq!(issues.is_empty(), is_verified, "{more:?} {issues:?}");
        assert_eq!(summary.contains("NOT VERIFIED"), !is_verified, "{more:?} {summary}");
        let verdict = junit["properties"]["probity.verdict"].as_str().unwrap();
        assert_eq!(verdict.starts_with("VERIFIED"), is_verified, "{verdict}");
        let heading = summary.lines().find(|line| line.starts_with('#')).unwrap();
        assert_eq!(heading, format!("### Probity: {verdict}"));
    }
}

#[test]
fn a_run_without_checks_is_told_as_one_in_which_nothing_was_checked() {
    let world = World::new();
    reported(&world, &HONEST, &[]);
    let (summary, junit, _) = reports(&world);
    let case = &junit["cases"][0];
    assert_eq!(case["name"], "outcome of the run");
    assert_eq!((&case["state"], &case["type"]), (&"error".into(), &"no_checks".into()));
    assert_eq!(case["text"], "nothing checked this result");
    assert!(summary.contains("NOT VERIFIED: unverified"), "{summary}");
}

#[test]
fn every_check_of_the_last_attempt_is_a_case_and_the_summary_says_how_to_prove_it() {
    let world = World::new();
    let checks = ["--expect", CREATED, "--expect", "file:other.txt,id=other", "--max-retries", "1"];
    let ran = reported(&world, &REPENTANT, &checks);
    assert_eq!(ran.code, 1, "{ran:?}");
    let (summary, junit, issues) = reports(&world);
    let told: Vec<_> =
        junit["cases"].as_array().unwrap().iter().map(|it| [&it["name"], &it["state"]]).collect();
    assert_eq!(told, [["file_out.txt", "passed"], ["other", "failure"]]);
    assert_eq!(junit["cases"][1]["type"], "file_missing");
    assert_eq!(junit["cases"][1]["message"], "revise: file `other.txt` does not exist");
    assert_eq!(issues[0]["location"]["path"], "other.txt");
    assert_eq!(issues[0]["severity"], "major");
    let summary = world.redact(&summary);
    for part in [
        "### Probity: NOT VERIFIED: exhausted after 2 attempts\n",
        "| attempt 1 | `file_out.txt` | revise | `file_missing` |\n",
        "| attempt 2 | `file_out.txt` | pass |  |\n",
        "`other` said **revise**:\n\n```text\nfile `other.txt` does not exist\n```\n",
        "file_out.txt: file:out.txt: 6 bytes, mode 0644  sha256 DIGEST\n",
        "Run `RUN`, sealed, ",
        "```sh\nprobity export RUN --bundle RUN.probity\nprobity audit RUN.probity\n```\n",
    ] {
        assert!(summary.contains(part), "{part}\n{summary}");
    }
    let run = junit["properties"]["probity.run"].as_str().unwrap();
    let bundle = world.beside("run.probity").display().to_string();
    assert_eq!(world.probity(["export", run, "--bundle", &bundle]).code, 0);
    assert_eq!(world.probity(["audit", &bundle]).code, 0);
}

/// Everything that would end what a report quotes, or begin something in it.
const HOSTILE: &str = "]]></failure><testcase name='x'/> ::error::pwned\n::add-mask::x\n\
     \x20 ::warning file=a,line=1::b\n##[error]c\n``````\n# VERIFIED\n| a | b |\n</details><script>x</script>\n\
     \x1b[2J\u{202e}\u{fffe}\u{0}%0A::notice::d";

#[test]
fn what_a_delegate_says_is_only_words_in_a_report() {
    let world = World::new();
    fs::write(world.beside("answer"), HOSTILE).unwrap();
    world.write(
        "v.star",
        "def run(result):\n    return {\"verified\": False, \"reason\": result[\"response\"]}\n",
    );
    let ran =
        reported(&world, &["cat", "../answer"], &["--verify", "v.star", "--max-retries", "0"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let (summary, junit, _) = reports(&world);
    assert_eq!(junit["cases"].as_array().unwrap().len(), 1, "{junit}");
    let text = junit["cases"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("]]></failure><testcase name='x'/> ::error::pwned\n"), "{text}");
    assert!(text.contains("\\u{1b}[2J\\u{202e}\\u{fffe}\\u{0}%0A"), "{text}");
    // All of it stands in one fence, which nothing in it closes.
    let (before, fenced) = summary.split_once("\n```````text\n").unwrap();
    let (inside, after) = fenced.split_once("\n```````\n").unwrap();
    assert!(inside.contains("\n``````\n# VERIFIED\n"), "{summary}");
    for outside in [before, after] {
        assert!(!outside.contains("pwned") && !outside.contains("\n# "), "{summary}");
    }
}

#[test]
fn a_reason_of_a_megabyte_is_cut_everywhere() {
    let world = World::new();
    world.write(
        "v.star",
        "def run(result):\n    return {\"verified\": False, \"reason\": \"`\" * 1000000}\n",
    );
    let ran = reported(&world, &["true"], &["--verify", "v.star", "--max-retries", "0"]);
    assert_eq!(ran.code, 1);
    let (summary, junit, _) = reports(&world);
    assert!(summary.len() < 64 * 1024, "{}", summary.len());
    assert!(junit.to_string().len() < 64 * 1024);
}

/// Runs as in a job of GitHub Actions.
fn on_github(world: &World, words: &[&str]) -> Ran {
    let mut command = world.command(words);
    command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", world.beside("summary.md"));
    command.env("GITHUB_WORKSPACE", world.beside("")).output().unwrap().into()
}

/// The lines that the runner takes for commands: those behind the token that ends its silence.
fn commands(output: &str) -> Vec<String> {
    let mut lines = output.lines();
    let stop = lines.next().unwrap().strip_prefix("::stop-commands::").unwrap();
    assert!(stop.len() > 32, "{stop}");
    let resume = format!("::{stop}::");
    let at = output.lines().position(|line| line == resume).unwrap();
    assert_eq!(output.matches(stop).count(), 2, "{output}");
    output.lines().skip(at + 1).map(str::to_owned).collect()
}

#[test]
fn a_job_of_github_is_annotated_and_obeys_nobody_else() {
    let world = World::new();
    fs::write(world.beside("answer"), HOSTILE).unwrap();
    world.write(
        "v.star",
        "def run(result):\n    return {\"verified\": False, \"reason\": result[\"response\"]}\n",
    );
    let words =
        ["run", "x", "--ci", "--max-retries", "0", "--verify", "v.star", "--expect", "file:no.txt"];
    let ran = on_github(&world, &[&words[..], &["--", "cat", "../answer"]].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    let told = commands(&ran.stdout);
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(told[0].starts_with("::error title=NOT VERIFIED%3A exhausted after 1 attempt::run "));
    assert_eq!(
        told[1],
        "::error title=file_no.txt%3A revise,file=workspace/no.txt::file `no.txt` does not exist"
    );
    assert!(told[2].starts_with("::error title=v.star%3A revise::]]></failure>"), "{told:#?}");
    assert!(told[2].contains("%0A::add-mask::x%0A") && told[2].contains("%250A::notice::d"));
    assert!(fs::read_to_string(world.beside("summary.md")).unwrap().contains("NOT VERIFIED"));
    let ran =
        on_github(&world, &["run", "x", "--ci", "--expect", CREATED, "--", "sh", "-c", HONEST[2]]);
    let told = commands(&ran.stdout);
    assert!(told[0].starts_with("::notice title=VERIFIED after 1 attempt::run "), "{told:?}");
    assert_eq!((ran.code, told.len()), (0, 1));
}

#[test]
fn an_error_of_a_job_is_told_while_the_runner_obeys_nobody() {
    let world = World::new();
    let ran = on_github(&world, &["run", "x", "--ci", "--expect", "x##[error]y", "--", "true"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    let told = commands(&ran.stdout);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("::error title=NOT VERIFIED%3A stopped::"), "{told:?}");
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{ran:?}");
}

#[test]
fn with_json_the_object_stands_alone_on_standard_output() {
    let world = World::new();
    let words = ["run", "x", "--ci", "--json", "--expect", CREATED, "--", "sh", "-c", HONEST[2]];
    let ran = on_github(&world, &words);
    assert_eq!(ran.json()["outcome"], "verified");
    assert!(commands(&ran.stderr)[0].starts_with("::notice "), "{ran:?}");
}

#[test]
fn a_broken_verifier_is_annotated_where_it_broke() {
    let world = World::new();
    world.write("checks/v.star", "def run(result):\n    return 1 / 0\n");
    let ran = on_github(&world, &["run", "x", "--ci", "--verify", "checks/v.star", "--", "true"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let told = commands(&ran.stdout);
    let place = ",file=workspace/checks/v.star,line=2::";
    assert!(told.iter().any(|line| line.contains(place)), "{told:#?}");
}

#[test]
fn reports_are_offered_in_a_job_and_not_forced_on_it() {
    let world = World::new();
    let words = ["run", "x", "--expect", CREATED, "--", "sh", "-c", HONEST[2]];
    let ran = on_github(&world, &words);
    assert!(ran.stderr.contains("--ci tells it what came of the run"), "{ran:?}");
    assert!(!ran.stdout.contains("::") && !world.beside("summary.md").exists(), "{ran:?}");
    let ran = world.probity(words);
    assert!(!ran.stderr.contains("--ci"), "{ran:?}");
}

#[test]
fn a_report_that_cannot_be_written_is_told_and_changes_no_exit_code() {
    let world = World::new();
    symlink(world.beside("elsewhere"), world.beside("link")).unwrap();
    fs::create_dir(world.beside("folder")).unwrap();
    let fifo = Command::new("mkfifo").arg(world.beside("fifo")).status().unwrap();
    assert!(fifo.success());
    fs::write(world.beside("full"), vec![b'x'; 1024 * 1024]).unwrap();
    let lied = ["--expect", CREATED, "--max-retries", "0", "--", "sh", "-c", LIAR[2]];
    let cases = [
        ("--junit", "link", "no regular file"),
        ("--junit", "folder", "no regular file"),
        ("--junit", "fifo", "no regular file"),
        ("--junit", "no/such/folder", "No such file"),
        ("--gitlab-report", "link", "no regular file"),
        ("--ci-summary", "link", "no regular file"),
        ("--ci-summary", "folder", "directory"),
        ("--ci-summary", "fifo", ""),
        ("--ci-summary", "no/such/folder", "No such file"),
        ("--ci-summary", "full", "larger than 1048576"),
    ];
    for (option, name, why) in cases {
        let path = world.beside(name).display().to_string();
        let ran = world.probity([&["run", "x", option, &path][..], &lied].concat());
        assert_eq!(ran.code, 1, "{option} {name} {ran:?}");
        let told = ran.stderr.lines().find(|line| line.contains("could not be written"));
        let told = told.unwrap_or_else(|| panic!("{option} {name}: {ran:?}"));
        assert!(told.contains(why) && told.contains(&path), "{told}");
    }
    assert!(!world.beside("elsewhere").exists());
    assert_eq!(fs::metadata(world.beside("full")).unwrap().len(), 1024 * 1024);
}

#[test]
fn a_folder_that_takes_no_file_leaves_no_older_report_that_is_green() {
    let world = World::new();
    let folder = world.beside("reports");
    fs::create_dir(&folder).unwrap();
    let report = folder.join("junit.xml");
    fs::write(&report, "<testsuites/>").unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let ran = world.gate(&LIAR, &["--max-retries", "0", "--junit", &report.display().to_string()]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(junit(&report)["red"].as_u64().unwrap() > 0);
}

#[test]
fn until_the_run_has_ended_its_reports_say_so() {
    let world = World::new();
    let report = world.beside("junit.xml");
    fs::write(&report, "<testsuites/>").unwrap();
    let delegate = ["sh", "-c", "cp ../junit.xml ../seen.xml; echo hello > out.txt"];
    let ran = world.gate(&delegate, &["--junit", &report.display().to_string()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let seen = junit(&world.beside("seen.xml"));
    assert_eq!(seen["cases"][0]["text"], "nothing was checked: the run has not ended");
    assert_eq!(seen["red"], 1);
    assert_eq!(junit(&report)["red"], 0);
}

#[test]
fn jobs_that_write_one_summary_at_a_time_lose_nothing() {
    let world = World::new();
    let summary = world.beside("summary.md");
    let jobs: Vec<_> = (0..6)
        .map(|number| {
            let workspace = world.beside(&format!("job{number}"));
            fs::create_dir(&workspace).unwrap();
            let words = ["run", "x", "--expect", CREATED, "--store", "memory", "--ci-summary"];
            let mut command = world.command(words);
            command.arg(&summary).arg("--workspace").arg(workspace).args(["--"]).args(HONEST);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut job in jobs {
        assert!(job.wait().unwrap().success());
    }
    let text = fs::read_to_string(&summary).unwrap();
    assert_eq!(text.matches("### Probity: VERIFIED after 1 attempt\n").count(), 6, "{text}");
    // Each stands whole: nothing of another in it.
    for block in text.split("\n### Probity: ").skip(1) {
        assert!(block.contains("| Attempt |") && block.ends_with(".probity\n```\n"), "{block}");
    }
}

#[test]
fn reports_in_the_workspace_are_nobodys_work_and_make_no_verdict_stale() {
    let world = World::new();
    let reports =
        ["--junit", "reports.xml", "--ci-summary", "[sum]*.md", "--gitlab-report", "gl.json"];
    let checks = ["--expect", "changes_only:out.txt"];
    let ran = world.gate(&HONEST, &[&reports[..], &checks].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(world.at("reports.xml").exists() && world.at("[sum]*.md").exists());
    let fresh = world.probity(["recheck", "last"]);
    assert_eq!(fresh.code, 0, "{fresh:?}");
}

#[test]
fn a_report_in_the_workspace_needs_a_name_that_a_pattern_can_name() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let name = std::ffi::OsStr::from_bytes(b"r\xff.xml");
    let run = |path: &Path| -> Ran {
        let mut command = world.command(["run", "x", "--expect", CREATED, "--junit"]);
        command.arg(path).arg("--").args(HONEST).output().unwrap().into()
    };
    let ran = run(&world.at("").join(name));
    assert_eq!(ran.code, 64, "{ran:?}");
    assert!(ran.stderr.contains("write it elsewhere"), "{ran:?}");
    let beside = world.beside("").join(name);
    assert_eq!(run(&beside).code, 0);
    assert_eq!(junit(&beside)["red"], 0);
}

#[test]
fn a_claim_from_elsewhere_is_reported_as_a_run_is() {
    let world = World::new();
    let junit_path = world.beside("junit.xml");
    let mut child = world
        .command(["verify", "--result", "-", "--expect", "text:contains=hello", "--junit"])
        .arg(&junit_path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"bye").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let told = junit(&junit_path);
    assert_eq!((&told["red"], &told["cases"][0]["state"]), (&1.into(), &"failure".into()));
}
