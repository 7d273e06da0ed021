//! The built-ins: each expression below must be true.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use probity_core::VerdictKind;
use probity_sandbox::Launcher;
use probity_script::{GitCommand, Host, NamedCommands};
use probity_verifier::{Manifest, SnapshotRules, snapshot};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Setup, World, page, table};

async fn all_true(setup: &Setup, world: &World, expressions: &[&str]) {
    for expression in expressions {
        let source = format!("def run(result):\n    return bool({expression})\n");
        let verdict = setup.run(&source, world).await.unwrap_or_else(|f| {
            panic!("{expression}: {f}\n{}", f.location.clone().unwrap_or_default())
        });
        assert_eq!(verdict.kind, VerdictKind::Pass, "{expression}: {}", verdict.reason);
    }
}

#[tokio::test]
async fn files() {
    let world = World::new(&[("a.txt", "one\ntwo\nthree\n"), ("d/b.md", "x"), ("d/e/c.md", "")]);
    let absolute = format!("fs.read('{}/d/b.md') == 'x'", world.dir.path().display());
    for setup in Setup::both() {
        all_true(
            &setup,
            &world,
            &[
                "fs.read('a.txt') == 'one\\ntwo\\nthree\\n'",
                "fs.read('d/../a.txt').startswith('one')",
                "fs.read('none', default = 'x') == 'x'",
                "fs.read('none', default = None) == None",
                "fs.exists('a.txt') and fs.exists('d') and not fs.exists('none')",
                "not fs.exists('a.txt/below')",
                "fs.stat('none') == None",
                "fs.stat('a.txt').size == 14 and fs.stat('a.txt').name == 'a.txt'",
                "not fs.stat('a.txt').is_dir and fs.stat('d').is_dir",
                "fs.stat('a.txt').mode % 8 >= 0",
                "fs.list('.') == ['a.txt', 'd'] and fs.list('d') == ['b.md', 'e']",
                "fs.glob('**/*.md') == ['d/b.md', 'd/e/c.md']",
                "fs.glob('*.txt') == ['a.txt'] and fs.glob('d/?.md') == ['d/b.md']",
                "fs.read_lines('a.txt') == ['one', 'two', 'three']",
                "fs.read_lines('a.txt', 2) == ['two', 'three']",
                "fs.read_lines('a.txt', start = 2, end = 2) == ['two']",
                "fs.line_count('a.txt') == 3 and fs.line_count('d/e/c.md') == 0",
                "[hit.line_num for hit in fs.find('a.txt', 't')] == [2, 3]",
                "fs.find('a.txt', 'two')[0].text == 'two'",
                "fs.sha256('d/b.md') == hash.sha256('x')",
                "fs.sha256('none', default = None) == None",
                &absolute,
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn links_that_lead_out_are_faults_and_pipes_never_block() {
    let world = World::new(&[("in.txt", "x")]);
    let root = world.dir.path();
    symlink("/etc/passwd", root.join("out")).unwrap();
    symlink("in.txt", root.join("inside")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    for setup in Setup::both() {
        all_true(&setup, &world, &["fs.read('inside') == 'x'", "fs.exists('pipe')"]).await;
        for (call, code) in [
            ("fs.read('out')", "path_escapes"),
            ("fs.stat('out')", "path_escapes"),
            ("fs.exists('out')", "path_escapes"),
            ("fs.read('pipe')", "script_raise"),
            ("fs.read('.')", "script_raise"),
            ("fs.read('')", "script_raise"),
            ("fs.list('in.txt')", "script_raise"),
            ("fs.glob('/etc/*')", "script_raise"),
        ] {
            let source = format!("def run(result):\n    {call}\n    return True\n");
            let fault = setup.run(&source, &world).await.expect_err(call);
            assert_eq!(fault.code.as_str(), code, "{call}: {fault}");
        }
    }
}

#[tokio::test]
async fn text_and_numbers() {
    let world = World::new(&[]);
    for setup in Setup::both() {
        all_true(&setup, &world, &[
            "json.decode('{\"a\": [1, 2.5, null, true]}') == {'a': [1, 2.5, None, True]}",
            "json.decode('x', default = 3) == 3",
            "json.encode({'b': (1, 2), 'a': [None, True], 3: set([1])}) == '{\"3\":[1],\"a\":[null,true],\"b\":[1,2]}'",
            "json.encode(struct(x = 1.5)) == '{\"x\":1.5}'",
            "json.encode('\\u00e4\\n') == '\"\\u00e4\\\\n\"'",
            "re.match('(\\\\w)(\\\\d)?', 'a!')['groups'] == ['a', None]",
            "re.match('b', 'ab') == None",
            "re.search('b+', '\\u00e4bb')['start'] == 1 and re.search('b+', '\\u00e4bb')['end'] == 3",
            "re.search('(?P<n>\\\\d+)', 'x42')['named_groups']['n'] == '42'",
            "re.search('b', 'a') == None",
            "re.search('b', 'ab')['matched'] and re.search('b', 'ab')['full_match'] == 'b'",
            "re.find_all('\\\\d', 'a1b2') == ['1', '2']",
            "re.replace('(\\\\d)', '<$1>', 'a1') == 'a<1>'",
            "hash.sha256('') == 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'",
            "base64.encode('hi') == 'aGk=' and base64.decode('aGk=') == 'hi'",
            "url.parse('https://u@h.test:81/p?a=1&a=2#f')['query'] == {'a': ['1', '2']}",
            "url.parse('https://h.test:81/p')['host'] == 'h.test:81'",
            "url.parse('https://h.test/p')['port'] == ''",
            "url.encode({'a': 'x y', 'b': '&'}) == 'a=x+y&b=%26'",
            "validate.url('https://h.test') and not validate.url('nope')",
            "validate.json('[1]') and not validate.json('[1')",
            "string.upper('a') == 'A' and string.lower('A') == 'a' and string.trim(' a ') == 'a'",
            "string.split('a,b', ',') == ['a', 'b'] and string.join(['a', 'b'], '-') == 'a-b'",
            "string.truncate('\\u00e4bc', 2) == '\\u00e4b'",
            "string.pad_left('a', 3) == '  a' and string.pad_right('a', 3, '.') == 'a..'",
            "math.floor(1.5) == 1 and math.ceil(1.5) == 2 and math.floor(3) == 3",
            "math.min(1, 2) == 1 and math.max(1, 2) == 2 and math.abs(-3) == 3 and math.abs(2.5) == 2.5",
            "'%d of %s' % (3, 'x') == '3 of x'",
            "map(lambda x: x + 1, [1]) == [2] and filter(lambda x: x, [0, 1]) == [1]",
        ])
        .await;
    }
}

#[tokio::test]
async fn the_claim_and_the_facts_of_the_call() {
    let mut world = World::new(&[]).claiming("hello");
    world.ctx.run_started = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for mut setup in Setup::both() {
        setup.args = json!({"n": 3, "list": ["a"]});
        setup.host.env = BTreeMap::from([("MODE".to_owned(), "strict".to_owned())]);
        all_true(
            &setup,
            &world,
            &[
                "result['response'] == 'hello'",
                "result['tool_calls'] == [] and result['tool_results'] == []",
                "result.get('output') == None",
                "args['n'] == 3 and args['list'] == ['a'] and args.get('none') == None",
                "time.now() == '2023-11-14T22:13:20Z'",
                "env('MODE') == 'strict'",
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn args_cannot_be_changed() {
    let source = "def run(result):\n    args['x'] = 1\n    return True\n";
    let fault = Setup::worker().run(source, &World::new(&[])).await.unwrap_err();
    assert_eq!(fault.code.as_str(), "script_raise");
}

#[tokio::test]
async fn responses() {
    for mut setup in Setup::both() {
        setup.host = table([("https://x.test/", page(201, "body"))]);
        all_true(&setup, &World::new(&[]), &[
            "http.get('https://x.test/')['status'] == 201",
            "http.get('https://x.test/')['ok']",
            "http.get('https://x.test/')['body'] == 'body'",
            "http.get('https://x.test/')['url'] == 'https://example.test/'",
            "http.get('https://x.test/')['headers'] == {'Content-Type': 'text/plain'}",
            "not http.get('https://x.test/')['truncated']",
            "http.head('https://x.test/', headers = {'A': 'b'}, timeout_seconds = 5)['status'] == 201",
        ])
        .await;
    }
}

#[tokio::test]
async fn evidence_reaches_the_verdict() {
    let source = r#"
def run(result):
    evidence("file:out.txt", "3 lines")
    evidence("note", "seen", text = "abc")
    http.get("https://x.test/")
    return True
"#;
    for mut setup in Setup::both() {
        setup.host = table([("https://x.test/", page(200, "body"))]);
        let verdict = setup.run(source, &World::new(&[])).await.unwrap();
        let seen: Vec<(&str, &str, bool)> = verdict
            .evidence
            .iter()
            .map(|item| (item.source.as_str(), item.observed.as_str(), item.digest.is_some()))
            .collect();
        assert_eq!(
            seen[..3],
            [
                ("file:out.txt", "3 lines", false),
                ("note", "seen", true),
                ("http:https://example.test/", "status 200", true),
            ]
        );
        assert_eq!(seen[3].0, "script:check.star");
        assert!(seen[3].1.ends_with(" ticks"));
    }
}

#[tokio::test]
async fn evidence_is_bounded() {
    let source = "def run(result):\n    for i in range(1000):\n        evidence('x' * 5000, str(i))\n    return True\n";
    let verdict = Setup::worker().run(source, &World::new(&[])).await.unwrap();
    assert_eq!(verdict.evidence.len(), 65);
    assert!(verdict.evidence[0].source.len() <= 512);
}

#[tokio::test]
async fn changes_since_before() {
    let mut world = World::new(&[("kept", "x"), ("edited", "old"), ("gone", "x")]);
    let take = |world: &World| -> Manifest {
        snapshot(&world.ctx.workspace, &SnapshotRules::default(), &CancellationToken::new())
            .unwrap()
    };
    world.ctx.before = Arc::new(take(&world));
    let root = world.dir.path().to_owned();
    std::fs::write(root.join("edited"), "new").unwrap();
    std::fs::write(root.join("made"), "x").unwrap();
    std::fs::remove_file(root.join("gone")).unwrap();
    world.ctx.after = Arc::new(take(&world));
    for setup in Setup::both() {
        all_true(
            &setup,
            &world,
            &[
                "changes.created() == ['made']",
                "changes.modified() == ['edited']",
                "changes.deleted() == ['gone']",
                "changes.mode_changed() == [] and changes.undecided() == []",
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn prints_are_kept_for_the_author() {
    let source = "def run(result):\n    print('a', 1)\n    log('b')\n    return True\n";
    for setup in Setup::both() {
        let call = setup.verifier(source).call(&World::new(&[]).ctx).await.unwrap();
        assert_eq!(call.printed, "a 1\nb\n");
    }
}

#[tokio::test]
async fn commands_that_the_policy_names() {
    let commands = BTreeMap::from([("shell".to_owned(), "/bin/sh".into())]);
    let gate = NamedCommands::new(Launcher::InProcess, commands);
    for mut setup in Setup::both() {
        setup.host = Host { commands: Some(Arc::new(gate.clone())), ..Host::default() };
        let world = World::new(&[("x.txt", "here")]);
        all_true(
            &setup,
            &world,
            &[
                "exec.run('shell', ['-c', 'cat x.txt'])['stdout'] == 'here'",
                "exec.run('shell', args = ['-c', 'exit 3'])['exit_code'] == 3",
                "not exec.run('shell', ['-c', 'exit 3'])['ok']",
                "exec.run('shell', ['-c', 'echo no >&2'])['stderr'] == 'no\\n'",
            ],
        )
        .await;
        let fault =
            setup.run("def run(result):\n    return exec.run('ls')\n", &world).await.unwrap_err();
        assert_eq!(fault.code.as_str(), "exec_denied");
        let late = "def run(result):\n    exec.run('shell', ['-c', 'sleep 60'], timeout_ms = 50)\n    return True\n";
        assert_eq!(setup.run(late, &world).await.unwrap().kind, VerdictKind::Inconclusive);
        let polled = "def run(result):\n    return read_after_write(lambda: exec.run('shell', ['-c', 'sleep 60'], timeout_ms = 50), 1, timeout_ms = 300)\n";
        let verdict = setup.run(polled, &world).await.unwrap();
        assert_eq!(verdict.code.as_str(), "verify_timeout");
    }
}

fn git(dir: &std::path::Path, args: &[&str]) {
    let status = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.test",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "git {args:?}");
}

#[tokio::test]
async fn questions_to_git() {
    let mut setup = Setup::worker();
    setup.host =
        Host { git: Some(Arc::new(GitCommand::new(Launcher::InProcess))), ..Host::default() };
    let world = World::new(&[("a.txt", "x")]);
    all_true(&setup, &world, &["git.rev_parse('HEAD') == None", "not git.is_ancestor('a', 'b')"])
        .await;
    let source = "def run(result):\n    return git.is_clean()\n";
    assert_eq!(setup.run(source, &world).await.unwrap_err().code.as_str(), "script_raise");

    let dir = world.dir.path();
    git(dir, &["init"]);
    git(dir, &["add", "."]);
    git(dir, &["commit", "-m", "one"]);
    git(dir, &["tag", "one"]);
    git(dir, &["commit", "--allow-empty", "-m", "two"]);
    all_true(
        &setup,
        &world,
        &[
            "len(git.rev_parse('HEAD')) == 40",
            "git.rev_parse('main') == git.rev_parse('HEAD')",
            "git.rev_parse('nope') == None and git.rev_parse('--help') == None",
            "git.is_ancestor('one', 'main') and not git.is_ancestor('main', 'one')",
            "git.is_clean()",
        ],
    )
    .await;
    std::fs::write(dir.join("b.txt"), "x").unwrap();
    all_true(&setup, &world, &["not git.is_clean()"]).await;
}

#[tokio::test]
async fn databases_are_read_and_left_alone() {
    let world = World::new(&[("note.txt", "no database")]);
    let path = world.dir.path().join("data.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "journal_mode", "WAL").unwrap();
    db.execute_batch(
        "CREATE TABLE t (id INTEGER, name TEXT, share REAL, raw BLOB);
         INSERT INTO t VALUES (1, 'a', 0.5, x'00ff'), (2, NULL, 1.5, NULL);",
    )
    .unwrap();
    db.close().unwrap();
    let before = entries(&world);
    for setup in Setup::both() {
        all_true(&setup, &world, &[
            "sqlite.query('data.db', 'SELECT id, name FROM t ORDER BY id') == [{'id': 1, 'name': 'a'}, {'id': 2, 'name': None}]",
            "sqlite.query('data.db', 'SELECT count(*) AS n FROM t')[0]['n'] == 2",
            "sqlite.query('data.db', 'SELECT share, raw FROM t WHERE id = 1') == [{'share': 0.5, 'raw': '00ff'}]",
            "sqlite.query('none.db', 'SELECT 1', default = None) == None",
            "sqlite.query('note.txt', 'SELECT 1 FROM t', default = None) == None",
            "sqlite.query('data.db', 'SELECT x FROM nope', default = []) == []",
        ])
        .await;
        for (call, code) in [
            ("sqlite.query('none.db', 'SELECT 1')", "script_raise"),
            ("sqlite.query('data.db', 'SELEC 1', default = None)", "script_raise"),
            ("sqlite.query('data.db', 'DELETE FROM t', default = None)", "script_raise"),
            ("sqlite.query('data.db', 'SELECT 1; SELECT 2', default = None)", "script_raise"),
            ("sqlite.query('../x.db', 'SELECT 1', default = None)", "path_outside"),
        ] {
            let source = format!("def run(result):\n    {call}\n    return True\n");
            let fault = setup.run(&source, &world).await.expect_err(call);
            assert_eq!(fault.code.as_str(), code, "{call}: {fault}");
        }
    }
    assert_eq!(entries(&world), before);
}

#[tokio::test]
async fn an_endless_query_is_stopped() {
    let world = World::new(&[]);
    rusqlite::Connection::open(world.dir.path().join("data.db"))
        .unwrap()
        .execute_batch("CREATE TABLE t (id INTEGER)")
        .unwrap();
    let sql =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let source =
        format!("def run(result):\n    sqlite.query('data.db', '{sql}')\n    return True\n");
    for mut setup in Setup::both() {
        setup.limits.wall_ms = 1_000;
        let fault = setup.run(&source, &world).await.unwrap_err();
        assert_eq!(fault.code.as_str(), "script_timeout", "{fault}");
    }
}

fn entries(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.dir.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}
