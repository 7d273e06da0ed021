//! Our own host, held to everything.

use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use probity_conductor::{Conductor, ConductorOptions, Delegations, DelegationsError, Ended, Job};
use probity_conformance::{Disposition, Filter, Key, Kit, Level, Options, Outcome, Report, Silent};
use probity_core::{Code, RunId};
use probity_egress::PrivateRule;
use probity_engine::SystemClock;
use probity_host::{Conducted, Courier, Host, HostConfig, Keys, Runs, SystemIds, serve};
use probity_store::{MemoryStore, WorkStore};
use probity_workflow::{Judgement, MockVerdict};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::broken::{Broken, Rule};

const KEY: &str = "own-key-0123456789";
const OTHER_KEY: &str = "own-key-of-another-tenant";
const KEYS: &str = r#"
[[key]]
key_env = "own-key-0123456789"
tenant = "acme"
[[key]]
key_env = "own-key-of-another-tenant"
tenant = "other"
"#;

/// Critics that say what the definition has them say, break where it has them break, and never answer
/// where it has them hang.
struct Stated;

#[async_trait]
impl Delegations for Stated {
    async fn begin(&self, _: &RunId, _: &Job) -> Result<(), DelegationsError> {
        Ok(())
    }

    async fn ended(&self, _: &RunId, job: &Job) -> Result<Ended, DelegationsError> {
        let never = |word: &'static str| DelegationsError::Never {
            code: Code::slug(word),
            message: word.to_owned(),
        };
        let Job::Verify { digest, mock, .. } = job else { return Err(never("no_delegate")) };
        let verdict = match mock {
            Some(MockVerdict::Fail) => Judgement::Fail,
            Some(MockVerdict::Revise) => Judgement::Revise,
            Some(MockVerdict::Fault) => return Err(never("check_panicked")),
            Some(MockVerdict::Hang) => std::future::pending().await,
            _ => Judgement::Pass,
        };
        let (candidate, criteria) = (digest.clone(), vec![Code::slug("grounded")]);
        Ok(Ended::Verdict { candidate, verdict, criteria, confidence: Some(0.9) })
    }

    async fn stop(&self, _: &RunId, _: &str) -> Result<(), DelegationsError> {
        Ok(())
    }
}

/// What the host does not offer, and says so.
const NOT_OFFERED: &[&str] = &["core/artifacts"];

#[tokio::test(flavor = "multi_thread")]
async fn our_host_passes() {
    let report = held(Filter::default(), None).await;
    assert_eq!(report.failed(), Vec::<&str>::new(), "{}", report.to_text());
    let is_skipped =
        |outcome: &&Outcome| matches!(outcome.disposition, Disposition::Skipped { .. });
    let skipped = report.outcomes.iter().filter(is_skipped).map(|outcome| outcome.id);
    let beyond: Vec<&str> = skipped.filter(|id| !NOT_OFFERED.contains(id)).collect();
    assert_eq!(beyond, Vec::<&str>::new(), "{}", report.to_text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_turned_off_is_caught_by_name() {
    let rules = [
        (Rule::FailKeepsOut, "verifier/fail-keeps-out"),
        (Rule::NoSuccess, "verifier/no-success-after-fail"),
        (Rule::ReviseTurns, "verifier/revise-turns"),
        (Rule::ReviseBounded, "verifier/revise-bounded"),
        (Rule::TargetResolves, "verifier/target-resolves"),
        (Rule::NoContent, "verifier/no-content"),
        (Rule::BrokenCritic, "verifier/broken-critic-keeps-out"),
        (Rule::BrokenCritic, "verifier/silent-critic-keeps-out"),
        (Rule::Contradiction, "verifier/contradiction"),
        (Rule::ReplayKeeps, "verifier/replay-keeps-verdicts"),
        (Rule::VerdictBeforeMerge, "verifier/verdict-before-merge"),
    ];
    for (rule, scenario) in rules {
        let filter = Filter { levels: vec![Level::Verifier], ..Filter::default() };
        let report = held(filter, Some(rule)).await;
        assert!(report.failed().contains(&scenario), "{rule:?}: {}", report.to_text());
        assert!(report.totals.passed > report.totals.failed, "{rule:?}: {}", report.to_text());
    }
}

async fn held(filter: Filter, rule: Option<Rule>) -> Report {
    let keys = Keys::parse(KEYS, |name| Some(name.to_owned())).unwrap();
    let loopback = vec!["127.0.0.1/32".parse::<PrivateRule>().unwrap()];
    let config = HostConfig {
        has_conformance_seams: true,
        courier: Courier::new(loopback),
        ..HostConfig::new(keys, [7; 32])
    };
    let store: Arc<dyn WorkStore> = Arc::new(MemoryStore::new());
    let clock = Arc::new(SystemClock);
    let conductor = Conductor::new(
        Arc::clone(&store),
        clock.clone(),
        Arc::new(Stated),
        ConductorOptions::default(),
    );
    let runs = Conducted::new(conductor, store);
    let runs: Arc<dyn Runs> = match rule {
        Some(rule) => Arc::new(Broken { runs, rule }),
        None => Arc::new(runs),
    };
    let host = Host::new(config, runs, clock, Arc::new(SystemIds)).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(serve(host, listener, CancellationToken::new()));
    let mut options = Options::new("a mark of this test");
    options.other_tenant = Some(Key::new(OTHER_KEY));
    options.receiver = Some((Ipv4Addr::LOCALHOST, 0).into());
    let kit = Kit::new(&url, Key::new(KEY), options).unwrap();
    kit.run(&filter, &Silent).await.unwrap()
}
