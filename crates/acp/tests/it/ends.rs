//! Agents that do not answer, answer with something else, or have to be stopped.

use std::path::Path;
use std::time::Duration;

use probity_acp::AcpConfig;
use probity_delegate::{Delegate, DelegateError};
use serde_json::json;

use crate::{PATIENCE, World, is_alive};

/// Time for an agent that is never going to answer.
const SHORT_MS: u64 = 300;

#[tokio::test]
async fn an_agent_that_never_initializes_is_named_with_what_it_wrote() {
    for (initialize, wrote) in [("silent", None), ("garbage", Some("`Welcome to the agent!`"))] {
        let world = World::new(json!({ "initialize": initialize }));
        let mut config = world.config();
        config.start_timeout_ms = SHORT_MS;
        let error = world.delegate_of(config).attempt(&world.request(1)).await.unwrap_err();
        let DelegateError::Failed { message } = &error else { panic!("{error}") };
        assert!(message.contains("`initialize` within 300 ms"), "{message}");
        assert!(wrote.is_none_or(|wrote| message.contains(wrote)), "{message}");
    }
}

#[tokio::test]
async fn what_is_no_message_is_passed_over_within_bounds() {
    let world = World::new(json!({
        "initialize": "banner",
        "turns": [[{ "line": "\u{1b}[1mprogress" }, { "line": "42" }, { "say": "Done." }]],
    }));
    assert_eq!(world.attempt(1).await.unwrap().claim.response, "Done.");

    for (initialize, said) in [
        ("garbage_without_end", "`Welcome to the agent!`"),
        ("line_without_end", "longer than 33554432 bytes"),
    ] {
        let world = World::new(json!({ "initialize": initialize }));
        let error = world.attempt(1).await.unwrap_err();
        let DelegateError::Output { format: "acp", detail } = &error else { panic!("{error}") };
        assert!(detail.contains(said), "{detail}");
    }
}

#[tokio::test]
async fn requests_without_end_are_an_error() {
    let world = World::new(json!({ "turns": [[{ "requests_without_end": null }]] }));
    let error = world.attempt(1).await.unwrap_err();
    let DelegateError::Output { format: "acp", detail } = &error else { panic!("{error}") };
    assert!(detail.contains("without reading the answers"), "{detail}");
}

/// Each would be answered with an error, to an agent that does not read.
#[tokio::test]
async fn messages_without_sense_are_an_error_within_bounds() {
    for line in ["{}", r#"{"jsonrpc":"2.0","method":5}"#, r#"{"method":"x","params":{}}"#] {
        let world = World::new(json!({ "turns": [[{ "lines_without_end": line }]] }));
        let error = world.attempt(1).await.unwrap_err();
        let DelegateError::Output { format: "acp", detail } = &error else { panic!("{error}") };
        assert!(detail.contains("are no messages") && detail.contains(line), "{detail}");
    }
}

#[tokio::test]
async fn another_version_of_the_protocol_is_an_error() {
    for version in [0, 2] {
        let world = World::new(json!({ "version": version }));
        let error = world.attempt(1).await.unwrap_err();
        let DelegateError::Failed { message } = &error else { panic!("{error}") };
        let named = message.contains("version 1") && message.contains(&version.to_string());
        assert!(named, "{message}");
        assert_eq!(world.methods(), ["initialize"]);
    }
}

#[tokio::test]
async fn an_agent_that_dies_before_it_initializes_is_not_worth_another_try() {
    let world = World::new(json!({ "die_at_once": 2 }));
    let error = world.attempt(1).await.unwrap_err();
    let DelegateError::Failed { message } = &error else { panic!("{error}") };
    assert!(
        message.contains("exit status 2") && message.contains("cannot work today"),
        "{message}"
    );
    let missing = world.delegate_of(AcpConfig::new(["/nowhere/agent"]));
    let error = missing.attempt(&world.request(1)).await.unwrap_err();
    assert!(matches!(error, DelegateError::Start { .. }), "{error}");
}

#[tokio::test]
async fn an_agent_that_dies_once_it_has_initialized_is_lost() {
    let world = World::new(json!({ "die_at_new": true }));
    let error = world.attempt(1).await.unwrap_err();
    assert!(
        matches!(&error, DelegateError::Lost { message } if message.contains("session/new")),
        "{error}"
    );
}

#[tokio::test]
async fn a_cancelled_attempt_tells_the_agent_and_kills_it() {
    let world = World::new(
        json!({ "load": true, "turns": [[{ "child": null }, { "until_cancel": null }]] }),
    );
    let delegate = world.delegate();
    let request = world.request(1);
    let child = world.state().join("child");
    let cancel = async {
        while !child.exists() {
            tokio::task::yield_now().await;
        }
        request.cancel.cancel();
    };
    let (result, ()) = tokio::join!(delegate.attempt(&request), cancel);
    assert!(matches!(result, Err(DelegateError::Cancelled)), "{result:?}");
    assert_eq!(world.methods().last().unwrap(), "session/cancel");
    assert!(!is_alive(&child));
    // Before anything is done, too.
    assert!(matches!(delegate.attempt(&request).await, Err(DelegateError::Cancelled)));
    assert_eq!(world.starts(), 1);
}

#[tokio::test]
async fn an_agent_out_of_time_is_killed_with_what_it_has_started() {
    let world = World::new(json!({ "turns": [[{ "child": null }, { "hang": null }]] }));
    let delegate = world.delegate();
    let mut request = world.request(1);
    request.timeout = Some(Duration::from_millis(1_500));
    let error = delegate.attempt(&request).await.unwrap_err();
    assert!(matches!(error, DelegateError::TimedOut { timeout_ms: 1_500 }), "{error}");
    assert!(!is_alive(&world.state().join("child")));
}

#[tokio::test]
async fn a_start_that_is_cancelled_is_over_at_once() {
    let world = World::new(json!({ "initialize": "silent" }));
    let delegate = world.delegate();
    let request = world.request(1);
    let log = world.state().join("log");
    let cancel = async {
        while !log.exists() {
            tokio::task::yield_now().await;
        }
        request.cancel.cancel();
    };
    let (result, ()) = tokio::join!(delegate.attempt(&request), cancel);
    assert!(matches!(result, Err(DelegateError::Cancelled)), "{result:?}");
}

#[tokio::test]
async fn an_attempt_that_is_dropped_leaves_no_agent_at_work() {
    let world = World::new(json!({ "turns": [[{ "child": null }, { "hang": null }]] }));
    let delegate = world.delegate();
    let request = world.request(1);
    let child = world.state().join("child");
    let mut attempt = Box::pin(delegate.attempt(&request));
    while !child.exists() {
        tokio::select! {
            biased;
            result = &mut attempt => panic!("{result:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(attempt);
    gone(&child).await;
    // The delegate is as good as new.
    delegate.attempt(&world.request(2)).await.unwrap();
}

#[tokio::test]
async fn a_delegate_that_is_dropped_ends_its_agent() {
    let world = World::new(json!({ "turns": [[{ "child": null }]] }));
    let delegate = world.delegate();
    delegate.attempt(&world.request(1)).await.unwrap();
    let child = world.state().join("child");
    assert!(is_alive(&child));
    drop(delegate);
    gone(&child).await;
}

/// Waits until a process is gone, however loaded the machine is.
async fn gone(pid: &Path) {
    let gone = async {
        while is_alive(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}

#[tokio::test]
async fn bounds_beyond_all_time_are_cut_not_overrun() {
    let world = World::new(json!({}));
    let mut config = world.config();
    (config.timeout_ms, config.start_timeout_ms) = (u64::MAX, u64::MAX);
    let mut request = world.request(1);
    request.timeout = Some(Duration::MAX);
    world.delegate_of(config).attempt(&request).await.unwrap();
}
