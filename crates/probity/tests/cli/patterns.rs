//! Seed 000's verification scripts, in files of a project: existence, reachability, shape.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::world::{HONEST, Ran, World};

/// A server that answers every request with one status, until the test is over.
fn serve(status: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let answer =
                format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

fn run(world: &World, config: &str, script: &str, delegate: &[&str]) -> Ran {
    world.write(".probity/verifiers/pattern.star", script);
    let config = format!("verify_files = [\".probity/verifiers/pattern.star\"]\n{config}");
    world.write(".probity/probity.toml", &config);
    assert_eq!(world.probity(["trust"]).code, 0);
    let args = ["run", "write", "--max-retries", "0", "--json", "--"];
    world.probity(args.iter().chain(delegate))
}

#[test]
fn an_existence_check_reads_its_path_from_the_arguments() {
    let script = r#"
def run(result):
    info = fs.stat(args["expected_path"])
    return json.encode({
        "verified": info != None,
        "reason": "" if info else "expected file does not exist",
    })
"#;
    let config = "verify_args = { expected_path = \"out.txt\" }\n";
    assert_eq!(run(&World::new(), config, script, &HONEST).code, 0);
    let lied = run(&World::new(), config, script, &["true"]);
    assert_eq!(
        (lied.code, &lied.json()["checks"][0]["reason"]),
        (1, &"expected file does not exist".into())
    );
}

#[test]
fn a_reachability_check_asks_the_endpoint_and_not_the_claim() {
    let script = r#"
def run(result):
    resp = http.get(args["url"])
    ok = resp["status"] in [200, 204]
    return json.encode({
        "verified": ok,
        "reason": "" if ok else "endpoint returned %d" % resp["status"],
    })
"#;
    for (status, code, reason) in [(204, 0, ""), (404, 1, "endpoint returned 404")] {
        let port = serve(status);
        let config = format!(
            "allow_hosts = [\"127.0.0.1:{port}\"]\n\
             verify_args = {{ url = \"http://127.0.0.1:{port}/x\" }}\n"
        );
        let ran = run(&World::new(), &config, script, &["echo", "it is up"]);
        assert_eq!(
            (ran.code, &ran.json()["checks"][0]["reason"]),
            (code, &reason.into()),
            "{ran:?}"
        );
    }
}

#[test]
fn a_shape_check_tells_what_is_missing() {
    let script = r#"
def run(result):
    out = result.get("response", "")
    parsed = json.decode(out, default=None)
    if parsed == None:
        return json.encode({"verified": False, "reason": "response is not valid JSON"})
    if "id" not in parsed:
        return json.encode({"verified": False, "reason": "response missing required 'id' field"})
    return json.encode({"verified": True})
"#;
    for (said, code, reason) in [
        ("{\"id\": 1}", 0, ""),
        ("{}", 1, "response missing required 'id' field"),
        ("Done.", 1, "response is not valid JSON"),
    ] {
        let ran = run(&World::new(), "", script, &["echo", said]);
        assert_eq!(
            (ran.code, &ran.json()["checks"][0]["reason"]),
            (code, &reason.into()),
            "{ran:?}"
        );
    }
}
