//! `probity trust`: exactly this version, and no other.

use crate::world::World;

#[test]
fn what_would_run_is_shown_and_an_edit_takes_the_trust_away() {
    let world = World::new();
    world.write("v.star", "def run(result):\n    return True\n");
    world.write(
        ".probity/probity.toml",
        "command = [\"agent\", \"two words\"]\nverify_files = [\"v.star\"]\n\
         [[expect]]\ncommand = \"make test\"\n",
    );
    let asked = world.probity(["trust", "--show"]);
    assert_eq!(asked.code, 1, "{asked:?}");
    assert_eq!(
        world.redact(&asked.stdout),
        "DIR/workspace/.probity/probity.toml is not trusted\n\
         \x20 sha256    DIGEST\n\
         \x20 delegate  agent 'two words'\n\
         \x20 check     make test\n\
         \x20 script    DIR/workspace/v.star\n"
    );
    assert_eq!(world.probity(["trust", ".probity/probity.toml"]).code, 0);
    let json = world.probity(["trust", "--show", "--json"]);
    assert_eq!((json.code, &json.json()["trusted"]), (0, &true.into()));
    world.write("v.star", "def run(result):\n    return False\n");
    assert_eq!(world.probity(["trust", "--show"]).code, 1);
}

#[test]
fn a_configuration_that_runs_nothing_needs_trust_too() {
    let world = World::new();
    world.write("sub/.probity/probity.toml", "may_change = [\"**\"]\n");
    assert_eq!(world.probity(["trust", "sub", "--show"]).code, 1);
    let args = ["run", "x", "--workspace", "sub", "--expect", "file:a", "--json", "--", "true"];
    let ran = world.probity(args);
    assert_eq!((ran.code, ran.error_code()), (64, "project_untrusted".to_owned()), "{ran:?}");
    assert_eq!(world.probity(["trust", "sub"]).code, 0);
    assert_eq!(world.probity(["trust", "sub", "--show"]).code, 0);
}

#[test]
fn an_edit_of_a_script_that_a_check_runs_revokes_trust() {
    let world = World::new();
    world.write("check.sh", "true\n");
    world.write(".probity/probity.toml", "[[expect]]\ncommand = \"sh check.sh\"\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    assert_eq!(world.probity(["trust", "--show"]).code, 0);
    world.write("check.sh", "false\n");
    assert_eq!(world.probity(["trust", "--show"]).code, 1);
}

#[test]
fn an_edit_of_anything_that_a_delegate_brings_along_revokes_trust() {
    let chat = "endpoint: http://localhost/v1\nmodel: m\n";
    let table = [
        ("command: a\nverify_files: [v.star]", "v.star"),
        ("command: a\nexpect: ['command:sh check.sh']", "check.sh"),
        ("command: [sh, agent.sh, notes.md]", "agent.sh"),
        ("command: [./agent.sh]", "agent.sh"),
        ("command: [env, A=b, python3, -u, agent.py]", "agent.py"),
        ("command: a\nresume: [sh, again.sh, '{session}']", "again.sh"),
        ("command: a\nrungs: {rules_only: {command: [sh, rules.sh]}}", "rules.sh"),
        ("acp: {command: [node, agent.js]}", "agent.js"),
        (
            &format!("{chat}mcp: {{s: {{command: [python3, server.py, --db, notes.md]}}}}"),
            "server.py",
        ),
        (&format!("{chat}mcp: {{s: {{command: [npx, ./server.sh]}}}}"), "server.sh"),
        (&format!("{chat}tools: [{{name: t, description: d, script_file: t.star}}]"), "t.star"),
        ("command: a\nexpect: [{agent: {command: [sh, judge.sh], criteria: {a: b}}}]", "judge.sh"),
    ];
    for (profile, file) in table {
        let world = World::new();
        world.write(".probity/agents/scribe.md", &format!("---\n{profile}\n---\n"));
        world.write(file, "# one\n");
        world.write("notes.md", "one");
        if file.ends_with(".sh") {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(world.at(file), mode).unwrap();
        }
        assert_eq!(world.probity(["trust"]).code, 0, "{profile}");
        world.write("notes.md", "two");
        assert_eq!(world.probity(["trust", "--show"]).code, 0, "work of {profile}");
        world.write(file, "# two\n");
        assert_eq!(world.probity(["trust", "--show"]).code, 1, "{profile}");
    }
}

#[test]
fn what_models_agents_and_critics_would_reach_is_shown() {
    let world = World::new();
    world.write("t.star", "def run(args):\n    return 1\n");
    world.write(
        ".probity/probity.toml",
        "[chat]\nendpoint = \"https://models.example/v1\"\nmodel = \"m\"\nkey_env = \"SOME_TOKEN\"\n\
         [[chat.tools]]\nname = \"t\"\ndescription = \"d\"\nscript_file = \"t.star\"\n\
         [chat.mcp.s]\ncommand = [\"serve\", \"two words\"]\nenv_keep = [\"OTHER_TOKEN\"]\n\
         [[expect]]\n[expect.agent]\nprofile = \"coder\"\ncriteria = {a = \"b\"}\n\
         [[expect]]\n[expect.agent]\nchat = {endpoint = \"https://j.example/v1\", model = \"j\"}\n\
         criteria = {a = \"b\"}\n",
    );
    world.write(".probity/agents/coder.md", "---\nacp: {command: [coder, --acp]}\n---\n");
    let shown = world.probity(["trust", "--show"]);
    assert_eq!(
        world.redact(&shown.stdout),
        "DIR/workspace/.probity/probity.toml is not trusted\n\
         \x20 sha256    DIGEST\n\
         \x20 delegate  m at https://models.example/v1 (key: SOME_TOKEN)\n\
         \x20 tool      t (DIR/workspace/t.star)\n\
         \x20 server    s: serve 'two words' (keeps OTHER_TOKEN)\n\
         \x20 critic    profile coder\n\
         \x20 critic    j at https://j.example/v1 (key: OPENAI_API_KEY)\n\
         \x20 profile   coder: coder --acp\n"
    );
}

#[test]
fn what_is_no_configuration_is_not_trusted() {
    let world = World::new();
    world.write(".probity/probity.toml", "retrys = 2\n");
    let ran = world.probity(["trust", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "request_parse".to_owned()));
    let absent = world.probity(["trust", "absent.toml", "--json"]);
    assert_eq!((absent.code, absent.error_code()), (64, "request_read".to_owned()));
}

#[test]
fn a_folder_of_policy_is_trusted_without_a_configuration_and_shown_whole() {
    let world = crate::decision::as_is();
    std::fs::remove_file(world.at(".probity/probity.toml")).unwrap();
    world.write(".probity/hooks/guard.md", "---\nevent: tool.pre\nscript: 'x = 1'\n---\n");
    world.write(
        ".probity/agents/scribe.md",
        "---\ncommand: [scribe, --print]\nrungs: {small_model: {command: [mini]}}\n\
         expect: ['command:make test']\n---\n",
    );
    let asked = world.probity(["trust", "--show"]);
    assert_eq!(asked.code, 1, "{asked:?}");
    assert_eq!(
        world.redact(&asked.stdout),
        "DIR/workspace/.probity is not trusted\n\
         \x20 sha256    DIGEST\n\
         \x20 hook      guard at tool.pre\n\
         \x20 profile   scribe: scribe --print\n\
         \x20 check     scribe: make test\n\
         \x20 rung      scribe: small_model: mini\n\
         \x20 envelope  AccountQuarantine version 1.0.0\n\
         \x20 verifier  DIR/workspace/.probity/verifiers/status_check.star\n"
    );
    for named in [&["trust"][..], &["trust", ".probity"], &["trust", "."]] {
        assert_eq!(world.probity(named).code, 0, "{named:?}");
    }
    assert_eq!(world.probity(["trust", "--show"]).code, 0);
    for (file, text) in [
        (".probity/hooks/guard.md", "---\nevent: tool.pre\nscript: 'x = 2'\n---\n"),
        (".probity/hooks/new.md", "---\nevent: tool.pre\nscript: 'x = 2'\n---\n"),
        (".probity/verifiers/status_check.star", "def verify(context):\n    return True\n"),
    ] {
        world.write(file, text);
        assert_eq!(world.probity(["trust", "--show"]).code, 1, "{file}");
        assert_eq!(world.probity(["trust"]).code, 0);
    }
}
