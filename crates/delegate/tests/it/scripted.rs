//! The scripted delegate holds the driver to the protocol.

use std::path::Path;

use probity_core::{Turn, Usage};
use probity_delegate::{Conversation, Delegate, DelegateError, Request, ScriptedDelegate, Step};

use crate::request;

fn steps() -> Vec<Step> {
    vec![
        Step::claim("Done!").session("s-1").rejected_with("the file is missing"),
        Step::claim("Now it is done.")
            .usage(Usage { tokens: 5, tool_calls: 1 })
            .expects("Not done")
            .does(|workspace: &Path| std::fs::write(workspace.join("file"), "x")),
        Step::fail("out of tokens"),
    ]
}

/// The request a correct driver would make for attempt `attempt`.
fn good(attempt: u32) -> Request {
    let mut request = request(attempt);
    match attempt {
        2 => request.session = Some("s-1".into()),
        3 => request.prompt.last_response = Some("Now it is done.".into()),
        _ => {}
    }
    request
}

#[tokio::test]
async fn a_correct_driver_gets_the_script() {
    let dir = tempfile::tempdir().unwrap();
    let delegate = ScriptedDelegate::new(dir.path(), steps());
    assert_eq!(delegate.conversation(), Conversation::Same);
    let first = delegate.attempt(&good(1)).await.unwrap();
    assert_eq!((first.claim.response.as_str(), first.session.as_deref()), ("Done!", Some("s-1")));
    assert!(!dir.path().join("file").exists());
    let second = delegate.attempt(&good(2)).await.unwrap();
    assert_eq!(second.usage.tokens, 5);
    assert!(dir.path().join("file").exists());
    let third = delegate.attempt(&good(3)).await.unwrap_err();
    assert_eq!(third.to_string(), "the delegate failed: out of tokens");
    assert_eq!(delegate.violations(), Vec::<String>::new());
    assert_eq!(delegate.requests().len(), 3);
}

#[tokio::test]
async fn every_broken_rule_is_answered_and_kept() {
    type Break = fn(&mut Request);
    let cases: [(u32, Break, &str); 15] = [
        (1, |r| r.attempt = 0, "out of range"),
        (1, |r| r.attempt = 4, "out of range"),
        (1, |r| r.attempt = 2, "the first request is attempt 2"),
        (1, |r| r.prompt.correction = Some("x".into()), "attempt 1 carries a correction"),
        (2, |r| r.prompt.correction = None, "carries no correction"),
        (2, |r| r.prompt.correction = Some("Not done.".into()), "does not quote"),
        (2, |r| r.prompt.correction = Some("the file is missing".into()), "lacks `Not done`"),
        (2, |r| r.session = None, "session None"),
        (2, |r| r.session = Some("s-2".into()), "\"s-2\""),
        (2, |r| r.prompt.last_response = Some("Something else".into()), "quotes the last response"),
        (2, |r| r.prompt.task = "Another task.".into(), "the task is not"),
        (2, |r| r.run = "run-2".parse().unwrap(), "`run-2` came after"),
        (2, |r| r.turn = Turn::FIRST, "asked for twice"),
        (2, |r| r.attempt = 1, "attempt 1 came after attempt 1"),
        (2, |r| r.attempt = 3, "attempt 3 came after attempt 1"),
    ];
    let dir = tempfile::tempdir().unwrap();
    for (attempt, spoil, said) in cases {
        let delegate = ScriptedDelegate::new(dir.path(), steps());
        if attempt == 2 {
            delegate.attempt(&good(1)).await.unwrap();
        }
        let mut request = good(attempt);
        spoil(&mut request);
        let error = delegate.attempt(&request).await.unwrap_err();
        assert!(matches!(error, DelegateError::Failed { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{said}: {error}");
        assert_eq!(delegate.violations().len(), 1, "{said}");
        // The refusal changes nothing: the right request is still served.
        delegate.attempt(&good(attempt)).await.unwrap();
    }
    assert!(dir.path().join("file").exists());

    let short = ScriptedDelegate::new(dir.path(), [Step::claim("a")]);
    short.attempt(&good(1)).await.unwrap();
    let mut second = good(2);
    second.prompt.last_response = None;
    let error = short.attempt(&second).await.unwrap_err();
    assert!(error.to_string().contains("the script has 1"), "{error}");
}

#[tokio::test]
async fn turns_do_not_go_back() {
    let dir = tempfile::tempdir().unwrap();
    let delegate = ScriptedDelegate::new(dir.path(), steps());
    let mut first = good(1);
    first.turn.number = 5;
    delegate.attempt(&first).await.unwrap();
    let error = delegate.attempt(&good(2)).await.unwrap_err();
    assert!(error.to_string().contains("came after turn"), "{error}");
}

#[tokio::test]
async fn a_repeated_turn_is_served_only_where_a_crash_is_played() {
    let dir = tempfile::tempdir().unwrap();
    let delegate = ScriptedDelegate::new(dir.path(), steps()).allow_repeats();
    for request in [good(1), good(1), good(2), good(2)] {
        delegate.attempt(&request).await.unwrap();
    }
    let mut renumbered = good(2);
    renumbered.attempt = 3;
    let error = delegate.attempt(&renumbered).await.unwrap_err();
    assert!(error.to_string().contains("came again as another attempt"), "{error}");

    // A delegate that was built anew after the crash goes on in the middle.
    let anew = ScriptedDelegate::new(dir.path(), steps()).allow_repeats().fresh();
    assert_eq!(anew.conversation(), Conversation::Fresh);
    anew.attempt(&good(2)).await.unwrap();
}

#[tokio::test]
async fn an_action_that_fails_is_the_delegates_failure() {
    let dir = tempfile::tempdir().unwrap();
    let step = Step::claim("x").does(|workspace| std::fs::remove_file(workspace.join("nothing")));
    let delegate = ScriptedDelegate::new(dir.path(), [step]);
    let error = delegate.attempt(&good(1)).await.unwrap_err();
    assert!(error.to_string().contains("the action of attempt 1 failed"), "{error}");
    assert_eq!(delegate.violations(), Vec::<String>::new());
}
