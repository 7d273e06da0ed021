//! A verifier under the time of an envelope.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity_core::{Fault, Phase, Verdict};
use probity_verifier::{CheckContext, Method, Verifier};
use tokio_util::sync::CancellationToken;

use super::bed::{Bed, block_on, brief, in_time, until};
use super::server::Server;

type Answer = fn() -> Result<Verdict, Fault>;

/// What a verifier of a test does.
enum Course {
    /// Answers at once.
    Gives(Answer),
    /// Answers once its own time is up.
    GivesLate(Answer),
    /// Answers when it is told to stop.
    Heeds(CancellationToken),
    /// Waits for ever.
    Ignores,
    /// Blocks its thread for ever.
    Blocks,
    Panics,
}

struct Scripted(Course);

#[async_trait]
impl Verifier for Scripted {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        match &self.0 {
            Course::Gives(answer) => answer(),
            Course::GivesLate(answer) => {
                tokio::time::sleep(ctx.timeout).await;
                answer()
            }
            Course::Heeds(stopped) => {
                ctx.cancel.cancelled().await;
                stopped.cancel();
                Ok(Verdict::pass())
            }
            Course::Ignores => std::future::pending().await,
            Course::Blocks => loop {
                std::thread::park();
            },
            Course::Panics => panic!("on purpose"),
        }
    }

    fn red_timeout(&self, timeout: Duration) -> Duration {
        timeout / 2
    }
}

fn method(course: Course, timeout_ms: u64) -> Method {
    Method::new("status_check", Arc::new(Scripted(course)), timeout_ms)
}

/// On a runtime with threads to spare, which is given up with whatever blocks in it.
fn run(method: &Method, timeout_ms: u64) -> Result<Verdict, Fault> {
    let mut bed = Bed::new();
    bed.start();
    bed.timeout = Duration::from_millis(timeout_ms);
    let ctx = bed.context(Phase::After);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let answer = runtime.block_on(method.verify(&ctx));
    runtime.shutdown_background();
    answer
}

#[test]
fn what_comes_in_time_is_passed_on() {
    let rows: [(Answer, &str); 6] = [
        (|| Ok(Verdict::pass()), "pass"),
        (|| Ok(Verdict::revise("a", "b")), "revise a"),
        (|| Ok(Verdict::fail("a", "b")), "fail a"),
        (|| Ok(Verdict::inconclusive("a", "b")), "inconclusive a"),
        (|| Err(Fault::new("a", "b")), "fault a"),
        // In time, so that it speaks of a time of its own.
        (|| Err(Fault::new("script_timeout", "b")), "fault script_timeout"),
    ];
    for (answer, expected) in rows {
        let given = run(&method(Course::Gives(answer), 60_000), 60_000);
        assert_eq!(brief(&given), expected);
    }
    let given = run(&method(Course::Panics, 60_000), 60_000);
    assert_eq!(brief(&given), "fault verifier_panic");
}

#[test]
fn what_comes_at_the_end_of_its_time_is_no_pass() {
    let rows: [(Answer, &str); 7] = [
        (|| Ok(Verdict::pass()), "inconclusive verify_timeout"),
        (|| Err(Fault::new("external_timeout", "b")), "inconclusive verify_timeout"),
        (|| Err(Fault::new("script_timeout", "b")), "inconclusive verify_timeout"),
        // The last read of a poll, and a fault that says more than that time was up.
        (|| Ok(Verdict::revise("mismatch", "b")), "revise mismatch"),
        (|| Ok(Verdict::inconclusive("read_error", "b")), "inconclusive read_error"),
        (|| Err(Fault::new("external_exit", "b")), "fault external_exit"),
        (|| Err(Fault::new("script_raise", "b")), "fault script_raise"),
    ];
    for (answer, expected) in rows {
        in_time(Duration::from_millis(100), || {
            let given = run(&method(Course::GivesLate(answer), 100), 60_000);
            assert_eq!(brief(&given), expected);
        });
    }
}

#[test]
fn one_that_does_not_end_is_given_up_in_time() {
    let stopped = CancellationToken::new();
    let courses: [&dyn Fn() -> Course; 3] =
        [&|| Course::Heeds(stopped.clone()), &|| Course::Ignores, &|| Course::Blocks];
    for course in courses {
        // The shorter of the two times counts.
        for (envelope_ms, check_ms) in [(200, 60_000), (60_000, 200)] {
            in_time(Duration::from_millis(200), || {
                let started = Instant::now();
                let verdict = run(&method(course(), envelope_ms), check_ms).unwrap();
                assert!(started.elapsed() >= Duration::from_millis(200));
                assert_eq!(verdict.code.as_str(), "verify_timeout");
                assert_eq!(verdict.reason, "`status_check` did not end within its 200 ms");
            });
        }
    }
    assert!(stopped.is_cancelled());
}

#[test]
fn a_cancelled_one_ends() {
    let mut bed = Bed::new();
    bed.start();
    bed.timeout = Duration::from_secs(60);
    let ctx = bed.context(Phase::After);
    ctx.cancel.cancel();
    for course in [Course::Heeds(CancellationToken::new()), Course::Ignores] {
        let verdict = block_on(method(course, 60_000).verify(&ctx)).unwrap();
        assert_eq!(verdict.code.as_str(), "cancelled");
        assert_eq!(verdict.reason, "the check was cancelled");
    }
    assert!(ctx.cancel.is_cancelled());
}

#[test]
fn real_verifiers_under_an_envelope() {
    let server = Server::start(|_, path| (path == "/flag").then_some((200, "0")));
    let mut bed = Bed::new();
    bed.start();
    bed.timeout = Duration::from_secs(60);
    bed.allow = vec![server.address.to_string()];
    let flag = format!("read_after_write:http:http://{}/flag,expected=1", server.address);
    let hangs = format!("read_after_write:http:http://{}/hang,expected=1", server.address);
    for (check, expected) in [
        ("external:echo true", "pass"),
        ("external:exit 1", "fault external_exit"),
        ("external:sleep 600 & echo $! > pid; wait", "inconclusive verify_timeout"),
        (flag.as_str(), "revise mismatch"),
        (hangs.as_str(), "inconclusive verify_timeout"),
    ] {
        let limit = if expected == "pass" { 20_000 } else { 400 };
        let method = Method::new("it", Arc::from(bed.verifier(check)), limit);
        let ctx = bed.context(Phase::After);
        in_time(Duration::from_millis(limit), || {
            assert_eq!(brief(&block_on(method.verify(&ctx))), expected, "{check}");
        });
    }
    let pid = std::fs::read_to_string(bed.path("pid")).unwrap();
    until("the child is dead", || !std::path::Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn the_red_run_gets_what_the_inner_one_asks_for() {
    let method = method(Course::Ignores, 300);
    assert_eq!(method.name(), "status_check");
    assert_eq!(method.red_timeout(Duration::from_secs(60)), Duration::from_millis(150));
    assert_eq!(method.red_timeout(Duration::from_millis(100)), Duration::from_millis(50));
}
