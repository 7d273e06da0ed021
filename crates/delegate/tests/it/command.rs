//! Command delegates: how they are asked, and every way they can end.

use std::time::{Duration, Instant};

use probity_delegate::{CommandConfig, Conversation, Delegate, DelegateError, Format, OnError};

use crate::{PATIENCE, delegate, request, sh};

#[tokio::test]
async fn a_prompt_comes_by_standard_input_or_as_an_argument() {
    let dir = tempfile::tempdir().unwrap();
    let by_stdin = delegate(sh("cat; echo \" ($#)\""), dir.path());
    let mut by_argument = sh("cat; printf '<%s>' \"$@\"");
    by_argument.argv.extend(["{prompt}".into(), "{task}/{attempt}/{run}".into(), "{x}".into()]);
    let by_argument = delegate(by_argument, dir.path());

    let answered = by_stdin.attempt(&request(1)).await.unwrap();
    assert_eq!(answered.claim.response, "Write the file. (0)");
    assert_eq!((answered.session, answered.usage), (None, Default::default()));
    let answered = by_argument.attempt(&request(1)).await.unwrap();
    assert_eq!(answered.claim.response, "<Write the file.><Write the file./1/run-1><{x}>");

    let fresh = request(2).prompt.render(Conversation::Fresh);
    assert!(fresh.contains("Write the file.") && fresh.contains("> Done!"), "{fresh}");
    let answered = by_stdin.attempt(&request(2)).await.unwrap();
    assert_eq!(answered.claim.response, format!("{fresh} (0)"));
    assert_eq!(by_stdin.conversation(), Conversation::Fresh);
    assert_eq!(by_stdin.describe(), "sh -c cat; echo \" ($#)\" agent");
}

#[tokio::test]
async fn a_prompt_is_never_code_nor_a_placeholder() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = sh("printf '%s' \"$1\"");
    config.argv.push("{prompt}".into());
    let mut request = request(1);
    let task = "$(touch owned) `touch owned` '; touch owned; {session} {run} \"\n";
    request.prompt.task = task.into();
    let answered = delegate(config, dir.path()).attempt(&request).await.unwrap();
    assert_eq!(answered.claim.response, task.trim_end());
    assert!(!dir.path().join("owned").exists());
}

#[tokio::test]
async fn a_prompt_that_cannot_be_passed_is_said_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mut request = request(1);
    request.prompt.task = "x".repeat(200_000).into();
    let config = CommandConfig::new(["touch", "{prompt}"]);
    let result = delegate(config, dir.path()).attempt(&request).await;
    assert!(
        matches!(result, Err(DelegateError::PromptTooLong { bytes: 200_000, .. })),
        "{result:?}"
    );
    // Standard input has room.
    let counted = delegate(sh("wc -c"), dir.path()).attempt(&request).await.unwrap();
    assert_eq!(counted.claim.response.trim(), "200000");
}

/// An agent that remembers: it keeps each session's prompts in a file and answers with all of them.
const REMEMBERING: &str = r#"
case "$1" in
  --resume) id=$2; [ -e "$id" ] || { echo "no such session" >&2; exit 3; } ;;
  *) id=session-$PROBITY_RUN_ID ;;
esac
{ cat; echo; } >> "$id"
printf '{"type":"result","is_error":false,"session_id":"%s","result":"%s"}\n' \
  "$id" "$(tr '\n' '|' < "$id")"
"#;

#[tokio::test]
async fn a_resumed_agent_has_its_earlier_context_and_hears_only_the_correction() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = CommandConfig { format: Format::Claude, ..sh(REMEMBERING) };
    let resume = [config.argv.clone(), vec!["--resume".into(), "{session}".into()]].concat();
    config.resume = Some(resume);
    let agent = delegate(config, dir.path());
    assert_eq!(agent.conversation(), Conversation::Same);

    let first = agent.attempt(&request(1)).await.unwrap();
    assert_eq!(first.claim.response, "Write the file.|");
    assert_eq!(first.session.as_deref(), Some("session-run-1"));

    let mut second = request(2);
    second.session = first.session;
    let second = agent.attempt(&second).await.unwrap();
    assert_eq!(second.claim.response, "Write the file.|Not done: the file is missing.|");

    // Without a session there is nothing to resume: the agent hears the whole story.
    std::fs::remove_file(dir.path().join("session-run-1")).unwrap();
    let lost = agent.attempt(&request(2)).await.unwrap();
    assert!(lost.claim.response.starts_with("Write the file.||---|"), "{lost:?}");
}

#[tokio::test]
async fn a_session_that_is_named_by_the_caller_is_resumed_without_being_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = sh("cat >> \"$1\"; cat \"$1\"");
    config.argv.push("{run}".into());
    config.resume = Some(config.argv.clone());
    let agent = delegate(config, dir.path());
    agent.attempt(&request(1)).await.unwrap();
    let second = agent.attempt(&request(2)).await.unwrap();
    assert_eq!(second.claim.response, "Write the file.Not done: the file is missing.");
    // Only a reported session counts as one.
    assert_eq!(second.session, None);
}

#[tokio::test]
async fn an_agent_sees_the_callers_environment_and_where_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = sh("env; pwd");
    config.env.insert("EXTRA".into(), "yes".into());
    let agent = delegate(config, dir.path());
    let mut request = request(2);
    request.turn.number = 5;
    let text = agent.attempt(&request).await.unwrap().claim.response;
    for line in [
        "PROBITY_RUN_ID=run-1",
        "PROBITY_ATTEMPT=2",
        "PROBITY_MAX_ATTEMPTS=3",
        "PROBITY_TURN=0.5",
        "EXTRA=yes",
        // Set by cargo for every test; stands for the user's credentials.
        concat!("CARGO_MANIFEST_DIR=", env!("CARGO_MANIFEST_DIR")),
        dir.path().canonicalize().unwrap().to_str().unwrap(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[tokio::test]
async fn a_failed_program_is_an_error_or_a_claim() {
    let dir = tempfile::tempdir().unwrap();
    for (script, status, said, quoted) in [
        ("echo did it; echo oops >&2; exit 3", "exit status 3", "did it", "oops"),
        ("echo did it; exit 1", "exit status 1", "did it", "did it"),
        ("kill -9 $$", "signal 9", "", ""),
    ] {
        let result = delegate(sh(script), dir.path()).attempt(&request(1)).await;
        let Err(DelegateError::Exit { status: found, stderr_tail }) = result else {
            panic!("{result:?}");
        };
        assert_eq!((found.as_str(), stderr_tail.as_str()), (status, quoted));

        let lenient = CommandConfig { on_error: OnError::Claim, ..sh(script) };
        let answered = delegate(lenient, dir.path()).attempt(&request(1)).await.unwrap();
        assert_eq!(answered.claim.response, said);
    }
    let long =
        delegate(sh("head -c 100000 /dev/zero | tr '\\0' x >&2; echo END >&2; exit 1"), dir.path());
    let result = long.attempt(&request(1)).await;
    let Err(DelegateError::Exit { stderr_tail, .. }) = result else { panic!("{result:?}") };
    assert!(stderr_tail.len() <= 2048 && stderr_tail.ends_with("xEND"), "{}", stderr_tail.len());
}

#[tokio::test]
async fn a_missing_program_and_a_missing_workspace_are_errors_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let missing = delegate(CommandConfig::new(["probity-no-such-agent"]), dir.path());
    let error = missing.attempt(&request(1)).await.unwrap_err();
    assert!(matches!(error, DelegateError::Start { .. }), "{error:?}");
    assert_eq!(error.code(), "delegate_start");
    assert!(error.to_string().contains("`probity-no-such-agent`"), "{error}");

    let nowhere = delegate(sh("true"), &dir.path().join("gone"));
    let error = nowhere.attempt(&request(1)).await.unwrap_err();
    assert_eq!(error.code(), "delegate_sandbox");
}

/// Whether a process with `marker` on its command line is alive.
fn alive(marker: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    })
}

#[tokio::test]
async fn on_timeout_and_cancel_nothing_stays_alive() {
    let dir = tempfile::tempdir().unwrap();
    let marker = format!("probity-agent-{}", std::process::id());
    let script = format!(
        "(setsid sh -c 'trap \"\" TERM HUP; : {marker}; touch ready; while :; do sleep 1; done' &) & \
         while [ ! -e ready ]; do sleep 0.01; done; sleep 600"
    );
    let config = CommandConfig { term_grace_ms: 50, timeout_ms: 2_000, ..sh(&script) };
    let agent = delegate(config, dir.path());
    let result = agent.attempt(&request(1)).await;
    assert!(matches!(result, Err(DelegateError::TimedOut { timeout_ms: 2_000 })), "{result:?}");
    assert!(dir.path().join("ready").exists(), "the machine is too slow for this test");
    assert!(!alive(&marker));

    // The request's bound wins when it is the shorter one.
    let mut short = request(1);
    short.timeout = Some(Duration::from_millis(20));
    let result = agent.attempt(&short).await;
    assert!(matches!(result, Err(DelegateError::TimedOut { timeout_ms: 20 })), "{result:?}");

    std::fs::remove_file(dir.path().join("ready")).unwrap();
    let request = request(1);
    let cancel = async {
        let deadline = Instant::now() + PATIENCE;
        while !dir.path().join("ready").exists() && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        request.cancel.cancel();
    };
    let (result, ()) = tokio::join!(agent.attempt(&request), cancel);
    assert!(matches!(result, Err(DelegateError::Cancelled)), "{result:?}");
    assert!(!alive(&marker));
}

#[tokio::test]
async fn output_beyond_the_bound_keeps_its_beginning_and_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let script = "printf begin; head -c 50000000 /dev/zero | tr '\\0' x; printf end";
    let config = CommandConfig { max_output_bytes: 1000, ..sh(script) };
    let text = delegate(config, dir.path()).attempt(&request(1)).await.unwrap().claim.response;
    assert!(text.len() < 1100, "{}", text.len());
    assert!(text.starts_with("beginxxx") && text.ends_with("xxxend"));
    assert!(text.contains("[... 49999008 bytes left out ...]"), "{text}");
}
