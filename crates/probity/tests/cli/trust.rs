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
fn what_is_no_configuration_is_not_trusted() {
    let world = World::new();
    world.write(".probity/probity.toml", "tools = []\n");
    let ran = world.probity(["trust", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "request_unbuilt".to_owned()));
    let absent = world.probity(["trust", "absent.toml", "--json"]);
    assert_eq!((absent.code, absent.error_code()), (64, "request_read".to_owned()));
}
