//! `probity init`: from nothing to a checked configuration.

use crate::world::{World, make_executable};

#[test]
fn a_rust_project_gets_its_tests_sealed_and_trusted() {
    let world = World::new();
    world.write("Cargo.toml", "[package]\nname = \"a\"\n");
    let ran = world.probity(["init"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("found Cargo.toml: its tests are `cargo test`\n"), "{ran:?}");
    assert!(ran.stdout.contains("wrote .probity/probity.toml\n"));
    assert!(ran.stdout.ends_with("next: probity check, then probity run \"TASK\" -- YOUR-AGENT\n"));
    let config = world.read(".probity/probity.toml");
    assert!(config.contains("command = \"cargo test\"\n") && config.contains("\"**/tests/**\""));
    assert!(!world.at(".probity/verifiers").exists());
    assert_eq!(world.probity(["trust", "--show"]).code, 0);
    let checked = world.probity(["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(!checked.stdout.contains("warning"), "{checked:?}");
}

#[test]
fn every_known_project_gives_a_configuration_that_loads() {
    for (file, text, command) in [
        ("package.json", r#"{"scripts": {"test": "jest"}}"#, "npm test"),
        ("pyproject.toml", "[project]\n", "pytest"),
        ("pytest.ini", "", "pytest"),
        ("setup.cfg", "", "pytest"),
        ("go.mod", "module a\n", "go test ./..."),
        ("pom.xml", "<project/>", "mvn test"),
        ("build.gradle", "", "gradle test"),
        ("Makefile", "test:\n\ttrue\n", "make test"),
    ] {
        let world = World::new();
        world.write(file, text);
        let ran = world.probity(["init", "--json"]);
        assert_eq!(ran.code, 0, "{file}: {ran:?}");
        let setup = ran.json();
        assert_eq!(setup["project"]["command"], command, "{file}");
        assert_eq!(setup["trusted"], true, "{file}");
        let checked = world.probity(["check", "--json"]);
        assert_eq!(checked.code, 0, "{file}: {checked:?}");
        assert!(!checked.stdout.contains("\"warning\""), "{file}: {checked:?}");
    }
}

#[test]
fn a_gated_run_uses_what_init_wrote() {
    let world = World::new();
    world.write("Makefile", "test:\n\ttest -f out.txt\n");
    assert_eq!(world.probity(["init"]).code, 0);
    let lied = world.probity(["run", "write out.txt", "--max-retries=0", "--", "true"]);
    assert_eq!(lied.code, 1, "{lied:?}");
    assert!(lied.stdout.contains("tests"), "{lied:?}");
    let done = world.probity(["run", "write out.txt", "--", "touch", "out.txt"]);
    assert_eq!(done.code, 0, "{done:?}");
    let edit = "cat > /dev/null; printf 'test:\\n\\ttrue\\n' > Makefile";
    let cheated = world.probity(["run", "fix", "--", "sh", "-c", edit]);
    assert_eq!(cheated.code, 1, "{cheated:?}");
    assert!(cheated.stdout.contains("judge_tampered"), "{cheated:?}");
}

#[test]
fn an_unknown_project_gets_an_example_and_a_hint() {
    let world = World::new();
    let ran = world.probity(["init"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("recognised no test command"));
    assert!(world.at(".probity/verifiers/example.star").exists());
    assert_eq!(world.probity(["check"]).code, 0);
    let example = ["run", "x", "--verify", ".probity/verifiers/example.star", "--"];
    assert_eq!(world.probity(example.iter().chain(&["true"])).code, 1);
    assert_eq!(world.probity(example.iter().chain(&["touch", "out.txt"])).code, 0);
}

#[test]
fn what_is_there_is_only_overwritten_by_force() {
    let world = World::new();
    world.write(".probity/probity.toml", "max_verify_retries = 7\n");
    let refused = world.probity(["init", "--json"]);
    assert_eq!((refused.code, refused.error_code()), (64, "usage".to_owned()));
    assert_eq!(world.read(".probity/probity.toml"), "max_verify_retries = 7\n");
    assert!(!world.at(".probity/verifiers").exists());
    assert_eq!(world.probity(["init", "--force"]).code, 0);
    assert!(world.read(".probity/probity.toml").contains("max_verify_retries = 2"));
}

#[test]
fn installed_agents_are_suggested_but_not_chosen() {
    let world = World::new();
    for agent in ["claude", "codex", "gemini"] {
        make_executable(&world.beside("bin").join(agent), "#!/bin/sh\n");
    }
    let ran = world.probity(["init", "--json"]);
    assert_eq!(ran.json()["agents"], serde_json::json!(["claude", "codex", "gemini"]));
    let config = world.read(".probity/probity.toml");
    assert!(config.contains("# command = [\"claude\", \"-p\""), "{config}");
    assert!(!config.contains("\ncommand"), "{config}");
}
