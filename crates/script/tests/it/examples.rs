//! `accepts` and `rejects` run when the script is loaded.

use crate::support::{Setup, World};

const SHAPE: &str = r#"
def run(result):
    ok = json.decode(result["response"], default = None) != None
    return {"verified": ok, "reason": "not JSON"}
"#;

async fn loads(source: &str) -> Result<(), (String, String)> {
    let mut results = Vec::new();
    for setup in Setup::both() {
        let verifier = setup.verifier(source);
        let checked = verifier.check().await.map_err(|f| (f.code.as_str().to_owned(), f.message));
        let called = verifier.call(&World::new(&[]).ctx).await;
        assert_eq!(checked.is_err(), called.is_err(), "a call must not get past a failed load");
        results.push(checked);
    }
    assert_eq!(results[0], results[1]);
    results.remove(0)
}

#[tokio::test]
async fn examples_that_hold_let_the_script_load() {
    let source = format!(
        "accepts = [{{'response': '[1]'}}, {{'result': {{'response': '2'}}}}]\nrejects = [{{'response': 'Done.'}}]\n{SHAPE}"
    );
    loads(&source).await.unwrap();
}

#[tokio::test]
async fn an_example_that_does_not_hold_is_a_fault() {
    for (examples, which) in [
        ("accepts = [{'response': 'Done.'}]", "`accepts[0]` must be pass, it is revise"),
        (
            "rejects = [{'response': 'x'}, {'response': '[]'}]",
            "`rejects[1]` must be revise or fail, it is pass",
        ),
        ("accepts = [1]", "`accepts[0]` must be a dict"),
        ("accepts = {}", "`accepts` must be a list"),
        ("rejects = [{'result': {}, 'nope': 1}]", "unknown field `nope`"),
    ] {
        let (code, message) = loads(&format!("{examples}\n{SHAPE}")).await.unwrap_err();
        assert_eq!(code, "script_example");
        assert!(message.contains(which), "{message}");
    }
}

#[tokio::test]
async fn an_example_brings_its_own_world() {
    let source = r#"
accepts = [
    {"result": {}, "args": {"path": "a/out.txt"}, "files": {"a/out.txt": "hello"},
     "http": {"https://x.test/": {"status": 200, "body": "up"}}},
]
rejects = [
    {"result": {}, "args": {"path": "out.txt"}, "files": {"other.txt": "hello"}},
]

def run(result):
    text = fs.read(args["path"], default = None)
    if text == None:
        return {"verified": False, "reason": "missing"}
    ok = http.get("https://x.test/")["body"] == "up" and changes.created() == ["a/out.txt"]
    return {"verified": ok and fs.list("a") == ["out.txt"] and fs.glob("**/*.txt") == ["a/out.txt"]}
"#;
    let mut setup = Setup::worker();
    setup.args = serde_json::json!({"path": "real.txt"});
    setup.verifier(source).check().await.unwrap();
}

#[tokio::test]
async fn a_fault_inside_an_example_keeps_its_code_and_names_the_example() {
    let (code, message) =
        loads(&format!("accepts = [{{'result': {{'response': 1}}}}]\n{SHAPE}")).await.unwrap_err();
    assert_eq!(code, "script_raise");
    assert!(message.contains("accepts[0]"), "{message}");
}

#[tokio::test]
async fn a_reject_that_cannot_be_decided_does_not_hold() {
    let source = "rejects = [{'result': {}}]\ndef run(result):\n    return http.get('https://x.test/')['ok']\n";
    let (code, message) = loads(source).await.unwrap_err();
    assert_eq!(code, "script_example");
    assert!(message.contains("inconclusive"), "{message}");
}
