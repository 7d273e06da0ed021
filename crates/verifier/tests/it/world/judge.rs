//! The sealed judge: every way to tamper with it is seen.

use std::fs;

use probity_core::VerdictKind;
use probity_verifier::{CommandLine, JudgeFiles, JudgeManifest, NamedFile, Role, Seen, Tampered};

use super::{World, without_hanging};

/// A world with a judge in it: a script by name, an operator's verifier outside, tests by pattern.
fn judged() -> (World, JudgeFiles) {
    let world = World::new();
    world.write("verify.sh", "exit 1");
    world.write("tests/test_a.py", "assert False");
    world.write("tests/deep/conftest.py", "");
    world.write("work/out.txt", "");
    fs::write(world.outside("operator.sh"), "exit 1").unwrap();
    let judge = JudgeFiles::new(world.open())
        .file("verify.sh")
        .and_then(|it| it.file(world.outside("operator.sh")))
        .and_then(|it| it.inputs("tests/**"))
        .and_then(|it| it.inputs("**/conftest.py"))
        .unwrap()
        .text("inline", b"def run(result): return False");
    (world, judge)
}

fn paths(tampered: &[Tampered]) -> Vec<&str> {
    tampered.iter().map(|it| it.path.as_str()).collect()
}

#[test]
fn an_untouched_judge_is_the_sealed_one() {
    let (world, judge) = judged();
    let sealed = judge.seal().unwrap();
    let seen: Vec<&str> = sealed.iter().map(|(path, _)| path).collect();
    let outside = world.outside("operator.sh").display().to_string();
    assert_eq!(seen, [&outside, "tests/deep/conftest.py", "tests/test_a.py", "verify.sh"]);
    // Work that is not the judge's, permission bits and times are none of its business.
    world.write("work/out.txt", "done");
    world.write("work/new.py", "");
    world.write("verify.sh", "exit 1");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(world.path("verify.sh"), mode).unwrap();
    judge.check(&sealed).unwrap();
    assert_eq!(judge.seal().unwrap().digest(), sealed.digest());
}

#[test]
fn an_input_that_runners_would_pass_over_now_is_a_difference() {
    let (world, judge) = judged();
    let mode = |bits| std::os::unix::fs::PermissionsExt::from_mode(bits);
    let set = |path: &str, bits| fs::set_permissions(world.path(path), mode(bits)).unwrap();
    set("tests/test_a.py", 0o755);
    set("verify.sh", 0o755);
    let sealed = judge.seal().unwrap();
    for bits in [0o700, 0o755, 0o775] {
        set("tests/test_a.py", bits);
        judge.check(&sealed).unwrap();
    }
    set("tests/test_a.py", 0o644);
    // What is named is run by its name: without the bit it is not run at all.
    set("verify.sh", 0o644);
    for judge in [&judge, &judge.as_sealed(&sealed)] {
        let tampered = judge.check(&sealed).unwrap_err();
        assert_eq!(paths(&tampered), ["tests/test_a.py"]);
        let reason = Tampered::verdict(&tampered).reason;
        assert!(
            reason.contains("was executable file ") && reason.contains(", is file "),
            "{reason}"
        );
    }
}

#[test]
fn a_seal_that_knows_of_no_execute_bits_is_not_held_against_anybody() {
    let (world, judge) = judged();
    let sealed = judge.seal().unwrap();
    let bytes = String::from_utf8(sealed.to_bytes()).unwrap();
    assert!(!bytes.contains("executable"), "{bytes}");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(world.path("tests/test_a.py"), mode).unwrap();
    judge.as_sealed(&sealed).check(&sealed).unwrap();
    assert_eq!(paths(&judge.check(&sealed).unwrap_err()), ["tests/test_a.py"]);
}

#[test]
fn every_way_to_tamper_is_a_difference() {
    type Tamper = fn(&World);
    let ways: [(&str, &[&str], Tamper); 14] = [
        ("edit", &["verify.sh"], |it| it.write("verify.sh", "exit 0")),
        ("edit outside", &["<outside>"], |it| {
            fs::write(it.outside("operator.sh"), "exit 0").unwrap()
        }),
        ("edit an input", &["tests/test_a.py"], |it| it.write("tests/test_a.py", "assert True")),
        ("delete", &["verify.sh"], |it| fs::remove_file(it.path("verify.sh")).unwrap()),
        ("delete an input", &["tests/test_a.py"], |it| {
            fs::remove_file(it.path("tests/test_a.py")).unwrap()
        }),
        ("a new match", &["tests/test_b.py"], |it| it.write("tests/test_b.py", "")),
        ("a new match elsewhere", &["work/conftest.py"], |it| it.write("work/conftest.py", "")),
        ("rename", &["tests/test_a.py", "tests/test_a.py.off"], |it| {
            fs::rename(it.path("tests/test_a.py"), it.path("tests/test_a.py.off")).unwrap();
        }),
        ("replace by a link to the same content", &["verify.sh"], |it| {
            fs::rename(it.path("verify.sh"), it.path("work/copy.sh")).unwrap();
            it.link("work/copy.sh", "verify.sh");
        }),
        ("replace by a link to a device", &["verify.sh"], |it| {
            fs::remove_file(it.path("verify.sh")).unwrap();
            it.link("/dev/zero", "verify.sh");
        }),
        ("a link that matches", &["tests/evil"], |it| it.link("../work", "tests/evil")),
        ("replace by a folder", &["verify.sh"], |it| {
            fs::remove_file(it.path("verify.sh")).unwrap();
            fs::create_dir(it.path("verify.sh")).unwrap();
        }),
        ("replace by a FIFO", &["verify.sh"], |it| {
            fs::remove_file(it.path("verify.sh")).unwrap();
            it.fifo("verify.sh");
        }),
        ("replace a folder of inputs by a link", &["tests/deep", "tests/deep/conftest.py"], |it| {
            fs::rename(it.path("tests/deep"), it.path("work/deep.off")).unwrap();
            fs::rename(it.path("work/deep.off/conftest.py"), it.path("work/deep.off/c")).unwrap();
            it.link("../work/deep.off", "tests/deep");
        }),
    ];
    for (way, expected, tamper) in ways {
        let (world, judge) = judged();
        let sealed = judge.seal().unwrap();
        tamper(&world);
        let outside = world.outside("operator.sh").display().to_string();
        let tampered = without_hanging(move || judge.check(&sealed)).unwrap_err();
        let found: Vec<&str> = paths(&tampered)
            .into_iter()
            .map(|it| if it == outside { "<outside>" } else { it })
            .collect();
        assert_eq!(found, expected, "{way}");
        assert!(tampered.iter().all(|it| it.was != it.is));
    }
}

#[test]
fn a_link_that_was_sealed_is_held_to_its_target_and_its_content() {
    let world = World::new();
    world.write("a.sh", "exit 1");
    world.write("b.sh", "exit 1");
    world.link("a.sh", "verify.sh");
    let judge = JudgeFiles::new(world.open()).file("verify.sh").unwrap();
    let sealed = judge.seal().unwrap();
    judge.check(&sealed).unwrap();
    fs::remove_file(world.path("verify.sh")).unwrap();
    world.link("b.sh", "verify.sh");
    assert_eq!(paths(&judge.check(&sealed).unwrap_err()), ["verify.sh"]);
    fs::remove_file(world.path("verify.sh")).unwrap();
    world.link("a.sh", "verify.sh");
    judge.check(&sealed).unwrap();
    world.write("a.sh", "exit 0");
    assert_eq!(paths(&judge.check(&sealed).unwrap_err()), ["verify.sh"]);
}

#[test]
fn a_text_or_a_pattern_that_differs_is_a_difference() {
    let (world, judge) = judged();
    let sealed = judge.seal().unwrap();
    let other = judge.clone().text("inline", b"def run(result): return True");
    assert_eq!(paths(&other.check(&sealed).unwrap_err()), ["inline"]);
    assert_eq!(paths(&judge.check(&other.seal().unwrap()).unwrap_err()), ["inline"]);
    let fewer = JudgeFiles::new(world.open());
    assert_eq!(fewer.check(&sealed).unwrap_err().len(), 4 + 1 + 1);
    assert_ne!(sealed.digest(), other.seal().unwrap().digest());
}

#[test]
fn what_may_change_is_left_out_however_it_was_added() {
    let (world, judge) = judged();
    let judge =
        judge.may_change("tests/test_*.py").and_then(|it| it.may_change("verify.sh")).unwrap();
    let sealed = judge.seal().unwrap();
    assert_eq!(sealed.get("tests/test_a.py"), None);
    world.write("tests/test_a.py", "changed");
    world.write("tests/test_new.py", "");
    world.write("verify.sh", "changed");
    judge.check(&sealed).unwrap();
    world.write("tests/helper.py", "");
    assert_eq!(paths(&judge.check(&sealed).unwrap_err()), ["tests/helper.py"]);
    // A pattern of the workspace does not reach outside it.
    let judge = judge.may_change("**").unwrap();
    let sealed = judge.seal().unwrap();
    fs::write(world.outside("operator.sh"), "exit 0").unwrap();
    assert_eq!(judge.check(&sealed).unwrap_err().len(), 1);
}

#[test]
fn what_one_check_may_change_stays_sealed_where_another_check_is_decided_by_it() {
    let world = World::new();
    for path in ["tests/run.sh", "tests/a.txt", "tests/b.txt", "b.sh"] {
        world.write(path, "1");
    }
    let none: &[&str] = &[];
    let all = ["tests/**", "*.sh"];
    let keys = |judge: &JudgeFiles| -> Vec<String> {
        judge.seal().unwrap().iter().map(|(path, _)| path.to_owned()).collect()
    };
    // What a check leaves out it does not seal, by pattern or by name.
    let lax = JudgeFiles::new(world.open())
        .check_inputs(&["tests/**"], &["tests/run.sh", "b.sh"], &all)
        .unwrap();
    assert_eq!(keys(&lax), Vec::<String>::new());
    // Another check's file and pattern are not touched by that, in whatever order they come.
    let named = lax.clone().check_inputs(none, &["tests/run.sh"], none).unwrap();
    assert_eq!(keys(&named), ["tests/run.sh"]);
    let strict = named.clone().check_inputs(&["tests/*.txt"], none, &["tests/b.txt"]).unwrap();
    assert_eq!(keys(&strict), ["tests/a.txt", "tests/run.sh"]);
    let sealed = strict.seal().unwrap();
    world.write("tests/run.sh", "exit 0");
    world.write("tests/b.txt", "2");
    assert_eq!(paths(&strict.check(&sealed).unwrap_err()), ["tests/run.sh"]);
    let first = JudgeFiles::new(world.open()).check_inputs(none, &["tests/run.sh"], none);
    assert_eq!(keys(&first.unwrap().check_inputs(none, none, &all).unwrap()), ["tests/run.sh"]);
    // The request's own exemption goes for every check.
    assert_eq!(keys(&strict.may_change("tests/**").unwrap()), Vec::<String>::new());
    for (inputs, named, may_change) in
        [("a[", "b.sh", "b"), ("a", "../b", "b"), ("a", "b.sh", "a[")]
    {
        let judge = JudgeFiles::new(world.open());
        judge.check_inputs(&[inputs], &[named], &[may_change]).unwrap_err();
    }
}

#[test]
fn a_run_that_is_taken_up_again_has_the_judge_that_was_sealed() {
    let (world, judge) = judged();
    world.link("work", "linked");
    world.write("work/by-link.sh", "");
    world.write("target/tests/ignored.sh", "");
    world.write("odd \\name\n.sh", "");
    let judge = ["linked/by-link.sh", "target/tests/ignored.sh", "odd \\name\n.sh"]
        .into_iter()
        .try_fold(judge, JudgeFiles::file)
        .and_then(|it| it.inputs("**/*.sh"))
        .unwrap();
    let sealed = judge.seal().unwrap();
    // The command line named `hello.sh` all along, and the delegate created it.
    world.write("hello.txt", "");
    let today = judge.clone().file("hello.txt").unwrap();
    assert_ne!(today.look(), sealed);
    assert_eq!(today.as_sealed(&sealed).look(), sealed);
    // Nothing named today, and still all that was.
    let fewer = JudgeFiles::new(world.open())
        .inputs("tests/**")
        .and_then(|it| it.inputs("**/conftest.py"))
        .and_then(|it| it.inputs("**/*.sh"))
        .unwrap()
        .text("inline", b"def run(result): return False");
    let again = fewer.as_sealed(&sealed);
    assert_eq!(again.look(), sealed);
    for path in ["verify.sh", "linked/by-link.sh", "tests/test_a.py", "tests/new.py"] {
        world.write(path, "changed");
        assert_eq!(again.check(&sealed).unwrap_err()[0].path, path);
        fs::remove_file(world.path(path)).unwrap();
        let is_new = path == "tests/new.py";
        assert_eq!(again.check(&sealed).is_ok(), is_new, "{path}");
        if !is_new {
            world.write(path, if path == "tests/test_a.py" { "assert False" } else { "exit 1" });
        }
        if path == "linked/by-link.sh" {
            world.write(path, "");
        }
        again.check(&sealed).unwrap();
    }
    fs::write(world.outside("operator.sh"), "exit 0").unwrap();
    assert_eq!(again.check(&sealed).unwrap_err().len(), 1);
}

#[test]
fn what_patterns_could_not_read_is_left_to_them_when_a_run_is_taken_up_again() {
    let (world, judge) = judged();
    world.fifo("tests/fifo");
    fs::create_dir_all(world.path("tests/locked")).unwrap();
    let mode = |bits| std::os::unix::fs::PermissionsExt::from_mode(bits);
    fs::set_permissions(world.path("tests/locked"), mode(0o000)).unwrap();
    let sealed = judge.seal().unwrap();
    assert_eq!(sealed.get("tests/fifo"), Some(Seen::Other));
    let again = judge.as_sealed(&sealed).look();
    fs::set_permissions(world.path("tests/locked"), mode(0o755)).unwrap();
    assert_eq!(again, sealed);
}

#[test]
fn ignored_folders_are_passed_over_unless_a_pattern_spells_their_name() {
    let world = World::new();
    world.write("node_modules/x/conftest.py", "");
    world.write("target/tests/a", "");
    let judge = JudgeFiles::new(world.open()).inputs("**/conftest.py").unwrap();
    assert_eq!(judge.seal().unwrap().iter().len(), 0);
    let judge = judge.inputs("target/tests/**").unwrap();
    let sealed = judge.seal().unwrap();
    assert_eq!(sealed.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["target/tests/a"]);
}

#[test]
fn a_file_declared_by_name_must_be_there_to_be_sealed() {
    let world = World::new();
    fs::create_dir(world.path("folder")).unwrap();
    world.link("nowhere", "dangling");
    let judge = || JudgeFiles::new(world.open());
    for (path, code) in [("absent.sh", "judge_file_missing"), ("folder", "judge_file_not_a_file")] {
        let judge = judge().file(path).unwrap();
        assert_eq!(judge.seal().unwrap_err().code(), code, "{path}");
    }
    let absent = judge().file(world.outside("absent")).unwrap();
    assert_eq!(absent.seal().unwrap_err().code(), "judge_file_missing");
    for (path, code) in [("../relative", "path_outside"), ("", "path_empty")] {
        assert_eq!(judge().file(path).unwrap_err().code(), code);
    }
    assert_eq!(judge().inputs("/etc/*").unwrap_err().code(), "pattern_invalid");
    assert_eq!(judge().may_change("a[").unwrap_err().code(), "pattern_invalid");
}

#[test]
fn a_sealed_judge_reads_back_and_only_in_its_own_form() {
    let (_world, judge) = judged();
    let sealed = judge.seal().unwrap();
    let bytes = sealed.to_bytes();
    assert_eq!(JudgeManifest::from_bytes(&bytes).unwrap(), sealed);
    judge.check(&JudgeManifest::from_bytes(&bytes).unwrap()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    for other in [
        text.replacen(':', ": ", 1),
        format!("{text} "),
        text.replace("files", "flies"),
        String::new(),
    ] {
        assert!(JudgeManifest::from_bytes(other.as_bytes()).is_err(), "{other}");
    }
}

#[test]
fn the_verdict_names_what_was_changed() {
    let (world, judge) = judged();
    let sealed = judge.seal().unwrap();
    world.write("verify.sh", "exit 0");
    let verdict = Tampered::verdict(&judge.check(&sealed).unwrap_err());
    assert_eq!(verdict.kind, VerdictKind::Fail);
    assert_eq!(verdict.code.as_str(), "judge_tampered");
    assert!(verdict.reason.contains("`verify.sh` was file "), "{}", verdict.reason);
    assert_eq!(verdict.evidence[0].source, "file:verify.sh");
    for number in 0..30 {
        world.write(&format!("tests/{number}"), "");
    }
    let many = Tampered::verdict(&judge.check(&sealed).unwrap_err());
    assert_eq!(many.evidence.len(), 20);
    assert!(many.reason.ends_with(" and 11 more"), "{}", many.reason);
}

#[test]
fn the_files_that_a_command_names_are_found() {
    let world = World::new();
    for path in [
        "check.py",
        "verify.sh",
        "tests/test_x.py",
        "ci/build.mk",
        "ci/run me.sh",
        "Makefile",
        "out.txt",
        "pkg/mod.py",
        "pkg/tool/__main__.py",
        "words.txt",
        "-",
        "expected.json",
    ] {
        world.write(path, "");
    }
    world.link("../elsewhere.sh", "link.sh");
    world.link("ci", "folder-link");
    let workspace = world.open();
    let root = workspace.root().display().to_string();
    let judge = |path: &str| NamedFile { path: path.to_owned(), role: Role::Judge };
    let subject = |path: &str| NamedFile { path: path.to_owned(), role: Role::Subject };
    for (line, expected) in [
        ("python check.py".to_owned(), vec![judge("check.py")]),
        ("sh ./verify.sh --strict".to_owned(), vec![judge("verify.sh")]),
        ("./verify.sh".to_owned(), vec![judge("verify.sh")]),
        (format!("{root}/verify.sh"), vec![judge("verify.sh")]),
        ("pytest -q tests/test_x.py::test_a".to_owned(), vec![judge("tests/test_x.py")]),
        ("make --file=ci/build.mk check".to_owned(), vec![judge("ci/build.mk")]),
        ("make -fci/build.mk".to_owned(), vec![judge("ci/build.mk")]),
        ("make -C ci -f build.mk".to_owned(), vec![judge("ci/build.mk")]),
        ("cd ci && sh 'run me.sh'".to_owned(), vec![judge("ci/run me.sh")]),
        ("sh -c \"cd ci; sh 'run me.sh'\"".to_owned(), vec![judge("ci/run me.sh")]),
        ("FOO=1 timeout 5 python3 -m pkg.mod".to_owned(), vec![judge("pkg/mod.py")]),
        ("python -m pkg.tool".to_owned(), vec![judge("pkg/tool/__main__.py")]),
        ("tool @words.txt".to_owned(), vec![judge("words.txt")]),
        ("link.sh".to_owned(), vec![judge("link.sh")]),
        ("test -s out.txt".to_owned(), vec![subject("out.txt")]),
        ("grep -f words.txt out.txt".to_owned(), vec![subject("out.txt"), judge("words.txt")]),
        ("cat out.txt | python check.py".to_owned(), vec![judge("check.py"), subject("out.txt")]),
        (
            "python check.py <out.txt >check.py".to_owned(),
            vec![judge("check.py"), subject("out.txt")],
        ),
        ("cat check.py && python check.py".to_owned(), vec![judge("check.py")]),
        ("test \"$(sh verify.sh)\" = ok".to_owned(), vec![judge("verify.sh")]),
        ("true # check.py".to_owned(), vec![]),
        (
            "make check; ls tests folder-link; cat ../verify.sh /etc/passwd absent".to_owned(),
            vec![],
        ),
    ] {
        assert_eq!(CommandLine::of_line(&line).files_named_in(&workspace), expected, "{line}");
    }
    let argv = CommandLine::of_argv(&["sh", "-c", "python check.py"]);
    assert_eq!(argv.files_named_in(&workspace), [judge("check.py")]);
    let argv = CommandLine::of_argv(&["sh", "ci/run me.sh"]);
    assert_eq!(argv.files_named_in(&workspace), [judge("ci/run me.sh")]);
}

#[test]
fn what_is_seen_is_said_in_words() {
    let digest = probity_core::Digest::from_bytes([0xab; 32]);
    for (seen, words) in [
        (Seen::Absent, "absent"),
        (Seen::File { digest, executable: false }, "file abababababab"),
        (Seen::File { digest, executable: true }, "executable file abababababab"),
        (Seen::Link { target: digest, content: Some(digest) }, "link to abababababab"),
        (Seen::Link { target: digest, content: None }, "link to no file"),
        (Seen::Dir, "directory"),
        (Seen::Other, "special file"),
        (Seen::Unreadable, "unreadable"),
        (Seen::TooLarge, "too large"),
    ] {
        assert_eq!(seen.to_string(), words);
    }
}

#[test]
fn one_checks_exemption_leaves_another_checks_files_sealed() {
    let world = World::new();
    world.write("tests/run.sh", "true");
    let judge = JudgeFiles::new(world.open())
        .check_inputs(&["tests/**"], &[], &["tests/**"])
        .and_then(|it| it.check_inputs(&[], &["tests/run.sh"], &[]))
        .unwrap();
    let sealed = judge.seal().unwrap();
    world.write("tests/other.sh", "true");
    assert!(judge.check(&sealed).is_ok(), "the check that names it exempts it");
    world.write("tests/run.sh", "false");
    assert_eq!(paths(&judge.check(&sealed).unwrap_err()), ["tests/run.sh"]);
}

#[test]
fn a_run_taken_up_again_keeps_the_files_that_were_sealed() {
    let world = World::new();
    world.write("a.sh", "true");
    let judge = |named: &[&str]| {
        JudgeFiles::new(world.open()).check_inputs(&["conftest.py"], named, &[]).unwrap()
    };
    let sealed = judge(&["a.sh"]).seal().unwrap();
    world.write("b.sh", "true");
    let now = judge(&["a.sh", "b.sh"]);
    assert_eq!(paths(&now.check(&sealed).unwrap_err()), ["b.sh"]);
    assert!(now.as_sealed(&sealed).check(&sealed).is_ok());
    world.write("conftest.py", "");
    let tampered = now.as_sealed(&sealed).check(&sealed).unwrap_err();
    assert_eq!(paths(&tampered), ["conftest.py"], "a pattern that comes to match");
}

#[test]
fn what_an_interpreter_is_fed_decides_and_what_is_tested_does_not() {
    let world = World::new();
    world.write("check.sh", "true");
    world.write("out.txt", "done");
    let workspace = world.open();
    let roles = |line: &str| {
        let named = CommandLine::of_line(line).files_named_in(&workspace);
        named.into_iter().map(|NamedFile { path, role }| (path, role)).collect::<Vec<_>>()
    };
    for line in [
        "sh check.sh",
        "sh < check.sh",
        "cat check.sh | sh",
        "cat check.sh | python3 -",
        "cat check.sh | sh -s -- --strict",
        "timeout 5 bash -e < check.sh",
        "sh -c \"$(cat check.sh)\"",
        "bash $(cat check.sh)",
        "bash <(cat check.sh)",
        "eval \"$(cat check.sh)\"",
        "eval `cat check.sh`",
        "find . -exec sh check.sh {} +",
        "find . -name check.sh -exec sh {} +",
        "jq -f check.sh .",
    ] {
        assert_eq!(roles(line), [("check.sh".to_owned(), Role::Judge)], "{line}");
    }
    for line in [
        "test -f out.txt",
        "[ -f out.txt ]",
        "grep -q done out.txt",
        "wc < out.txt",
        "sh -c 'test \"$(cat out.txt)\" = done'",
        "test \"$(cat out.txt)\" = done",
        "python -c 'import sys; sys.stdin.read()' < out.txt",
    ] {
        assert_eq!(roles(line), [("out.txt".to_owned(), Role::Subject)], "{line}");
    }
}

#[test]
fn what_python_would_run_in_the_place_of_its_own_modules_is_an_input() {
    for line in ["python3 -m unittest tests.test_a", "python -m pytest", "pytest -q"] {
        let inputs = probity_verifier::known_inputs(&CommandLine::of_line(line)).unwrap();
        for planted in ["unittest.py", "pytest.py", "sitecustomize.py", "usercustomize.py"] {
            assert!(inputs.iter().any(|it| it == planted), "{line}: {planted}");
        }
    }
}
