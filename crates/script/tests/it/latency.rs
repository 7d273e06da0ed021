//! Figures, not assertions: `cargo nextest run --release -p probity-script --run-ignored only latency --no-capture`.

use std::time::Instant;

use probity_verifier::Verifier as _;
use serde_json::json;

use crate::support::{Setup, World};

const CALLS: u32 = 20_000;

const SOURCE: &str = r#"
def run(result):
    info = fs.stat(args["expected_path"])
    parsed = json.decode(result["response"], default = None)
    return json.encode({
        "verified": info != None and parsed != None,
        "reason": "" if info else "expected file does not exist",
    })
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints figures"]
async fn latency() {
    let world = World::new(&[("out.txt", "x")]).claiming(r#"{"id": 7}"#);
    for (name, mut setup) in [("worker", Setup::worker()), ("in process", Setup::in_process())] {
        setup.args = json!({"expected_path": "out.txt"});
        let verifier = setup.verifier(SOURCE);
        for _ in 0..100 {
            verifier.verify(&world.ctx).await.unwrap();
        }
        let started = Instant::now();
        for _ in 0..CALLS {
            verifier.verify(&world.ctx).await.unwrap();
        }
        println!(
            "{name}: {:.1} µs per call",
            started.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
        );
    }
    let started = Instant::now();
    let cold = Setup::worker();
    cold.run("def run(result):\n    return True\n", &world).await.unwrap();
    println!("cold worker: {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
}
