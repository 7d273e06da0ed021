//! One session for all attempts of a run, through crashes of either side.

use probity_core::{NoteKind, Turn};
use probity_delegate::{Conversation, Delegate, DelegateError, Notes, Said, Steering};
use serde_json::json;

use crate::World;

#[tokio::test]
async fn every_attempt_is_asked_in_the_same_session_of_the_same_process() {
    let world = World::new(json!({}));
    let delegate = world.delegate();
    for (attempt, said) in [(1, "Write the file."), (2, "No 2."), (3, "No 3.")] {
        let answered = delegate.attempt(&world.request(attempt)).await.unwrap();
        assert_eq!(answered.claim.response, format!("s1 heard: {said}"));
        assert_eq!(answered.session.as_deref(), Some("s1"));
    }
    assert_eq!(
        world.methods(),
        ["initialize", "session/new", "session/prompt", "session/prompt", "session/prompt"]
    );
    assert_eq!(world.notes(NoteKind::Session), [json!({ "acp_session": "s1", "way": "new" })]);
    let cwd = &world.params("session/new")[0]["cwd"];
    assert_eq!(cwd.as_str(), world.work().to_str());
    assert_eq!(delegate.conversation(), Conversation::Same);
}

#[tokio::test]
async fn an_agent_that_dies_in_a_turn_is_started_again_and_loads_the_session() {
    let world = World::new(json!({
        "load": true,
        "turns": [[], [{ "say": "half" }, { "die": "out of memory" }]],
    }));
    let delegate = world.delegate();
    delegate.attempt(&world.request(1)).await.unwrap();
    let lost = delegate.attempt(&world.request(2)).await.unwrap_err();
    let DelegateError::Lost { message } = &lost else { panic!("{lost}") };
    assert!(message.contains("exit status 3") && message.contains("out of memory"), "{message}");

    let answered = delegate.attempt(&world.request(2)).await.unwrap();
    // Neither the half turn nor what is told again by the load.
    assert_eq!(answered.claim.response, "s1 heard: No 2.");
    assert_eq!((answered.claim.tool_calls.len(), answered.usage.tool_calls), (0, 0));
    assert_eq!(world.prompts(), ["s1: Write the file.", "s1: No 2.", "s1: No 2."]);
    assert_eq!(world.starts(), 2);
    assert_eq!(
        world.notes(NoteKind::Session),
        [
            json!({ "acp_session": "s1", "way": "new" }),
            json!({ "acp_session": "s1", "way": "loaded" })
        ]
    );
}

/// As Gemini CLI does.
#[tokio::test]
async fn what_is_told_again_behind_the_answer_to_a_load_is_no_claim_either() {
    let world = World::new(json!({ "load": true, "answers_first": true }));
    world.attempt(1).await.unwrap();
    let answered = world.attempt(2).await.unwrap();
    assert_eq!(answered.claim.response, "s1 heard: No 2.");
    assert_eq!((answered.claim.tool_calls.len(), answered.usage.tool_calls), (0, 0));
}

#[tokio::test]
async fn a_session_is_taken_up_in_silence_where_the_agent_can() {
    let world = World::new(json!({ "load": true, "resume": true }));
    world.attempt(1).await.unwrap();
    world.attempt(2).await.unwrap();
    assert!(world.methods().contains(&"session/resume".to_owned()));
    assert!(!world.methods().contains(&"session/load".to_owned()));
}

#[tokio::test]
async fn an_agent_that_died_between_two_attempts_is_started_again() {
    let world = World::new(json!({ "load": true, "turns": [[{ "then_die": null }]] }));
    let delegate = world.delegate();
    delegate.attempt(&world.request(1)).await.unwrap();
    let answered = match delegate.attempt(&world.request(2)).await {
        // Asked before its end was seen.
        Err(DelegateError::Lost { .. }) => delegate.attempt(&world.request(2)).await,
        result => result,
    };
    assert_eq!(answered.unwrap().claim.response, "s1 heard: No 2.");
    assert_eq!(world.starts(), 2);
}

#[tokio::test]
async fn an_agent_that_cannot_load_is_told_everything_in_a_new_session() {
    let world = World::new(json!({ "turns": [[], [{ "die": "" }]] }));
    let delegate = world.delegate();
    delegate.attempt(&world.request(1)).await.unwrap();
    let lost = delegate.attempt(&world.request(2)).await.unwrap_err();
    assert!(matches!(lost, DelegateError::Lost { .. }), "{lost}");
    let answered = delegate.attempt(&world.request(2)).await.unwrap();
    let anew = world.request(2).prompt.render(Conversation::Fresh);
    assert!(anew.contains("Write the file.") && anew.contains("No 2."), "{anew}");
    assert_eq!(answered.claim.response, format!("s2 heard: {anew}"));
    assert_eq!(answered.session.as_deref(), Some("s2"));
    // From here on it knows.
    let answered = delegate.attempt(&world.request(3)).await.unwrap();
    assert_eq!(answered.claim.response, "s2 heard: No 3.");
}

#[tokio::test]
async fn a_new_delegate_takes_up_the_session_that_the_notes_tell_of() {
    for (can, way, method) in
        [("load", "loaded", "session/load"), ("resume", "resumed", "session/resume")]
    {
        let world = World::new(json!({ can: true }));
        world.attempt(1).await.unwrap();
        let answered = world.attempt(2).await.unwrap();
        assert_eq!(answered.claim.response, "s1 heard: No 2.");
        assert_eq!(
            world.methods(),
            ["initialize", "session/new", "session/prompt", "initialize", method, "session/prompt"]
        );
        let notes = world.notes(NoteKind::Session);
        assert_eq!(notes[1], json!({ "acp_session": "s1", "way": way }));
    }
}

#[tokio::test]
async fn a_session_that_was_only_reported_is_taken_up_too() {
    let world = World::new(json!({ "load": true }));
    let mut first = world.request(1);
    first.notes = Notes::none();
    let session = world.delegate().attempt(&first).await.unwrap().session;
    let mut second = world.request(2);
    second.session = session;
    let answered = world.delegate().attempt(&second).await.unwrap();
    assert_eq!(answered.claim.response, "s1 heard: No 2.");
}

#[tokio::test]
async fn a_session_that_the_agent_no_longer_has_is_replaced() {
    let world = World::new(json!({ "load": true }));
    world.attempt(1).await.unwrap();
    std::fs::remove_file(world.state().join("session-s1")).unwrap();
    let answered = world.attempt(2).await.unwrap();
    assert!(answered.claim.response.contains("Write the file."), "{answered:?}");
    assert_eq!(
        world.notes(NoteKind::Session),
        [
            json!({ "acp_session": "s1", "way": "new" }),
            json!({ "acp_session": "s1", "way": "new" })
        ]
    );
}

/// The session was opened in the round that is asked again: whether it heard its prompt is not known,
/// so the same prompt is said again, whole.
#[tokio::test]
async fn a_turn_that_is_repeated_in_the_session_it_opened_hears_the_same_prompt() {
    let world = World::new(json!({ "turns": [[], [{ "die": "" }]] }));
    world.attempt(1).await.unwrap();
    world.attempt(2).await.unwrap_err();
    // Now it can load the session that the lost turn has opened.
    let mut now = World::new(json!({ "load": true }));
    now.dir = world.dir;
    now.book = world.book;
    let mut replay = now.request(2);
    replay.is_replay = true;
    now.delegate().attempt(&replay).await.unwrap();
    let prompts = now.prompts();
    assert_eq!(prompts.len(), 3);
    assert!(prompts[1].starts_with("s2: Write the file."), "{prompts:?}");
    assert_eq!(prompts[1], prompts[2]);
}

#[tokio::test]
async fn another_run_gets_another_session_of_the_same_agent() {
    let world = World::new(json!({}));
    let delegate = world.delegate();
    delegate.attempt(&world.request(1)).await.unwrap();
    let mut other = world.request(1);
    other.run = "run-2".parse().unwrap();
    other.notes = Notes::none();
    let answered = delegate.attempt(&other).await.unwrap();
    assert_eq!(answered.session.as_deref(), Some("s2"));
    assert_eq!(world.starts(), 1);
}

#[tokio::test]
async fn a_session_that_cannot_be_noted_is_not_used() {
    let world = World::new(json!({}));
    *world.book.is_closed.lock().unwrap() = true;
    let error = world.attempt(1).await.unwrap_err();
    assert!(matches!(error, DelegateError::Notes(_)), "{error}");
    assert_eq!(world.methods(), ["initialize", "session/new"]);
}

#[tokio::test]
async fn notes_of_others_are_passed_over() {
    let world = World::new(json!({ "load": true }));
    world.attempt(1).await.unwrap();
    for content in ["", "null", "{\"thread\":\"t\"}", "{\"acp_session\":1,\"way\":\"new\"}"] {
        world.book.kept.lock().unwrap().push(probity_delegate::Kept {
            turn: Turn { epoch: 0, number: 0 },
            kind: NoteKind::Session,
            content: content.as_bytes().to_vec(),
        });
    }
    let answered = world.delegate().attempt(&world.request(2)).await.unwrap();
    assert_eq!(answered.session.as_deref(), Some("s1"));
}

#[tokio::test]
async fn mode_model_login_and_servers_are_passed_on() {
    let world = World::new(json!({
        "wants_login": true,
        "modes": { "currentModeId": "ask", "availableModes": [
            { "id": "ask", "name": "Ask" }, { "id": "code", "name": "Code" }] },
        "options": [{ "id": "llm", "name": "Model", "category": "model", "type": "select",
            "currentValue": "small", "options": [{ "value": "big", "name": "Big" }] }],
    }));
    let mut config = world.config();
    config.mode = Some("code".into());
    config.model = Some("big".into());
    config.auth_method = Some("by-key".into());
    config.mcp_servers = serde_json::from_value(json!([
        { "name": "files", "command": "/bin/files", "args": ["-x"], "env": { "A": "1" } }
    ]))
    .unwrap();
    world.delegate_of(config.clone()).attempt(&world.request(1)).await.unwrap();
    assert_eq!(
        world.methods(),
        [
            "initialize",
            "authenticate",
            "session/new",
            "session/set_mode",
            "session/set_config_option",
            "session/prompt"
        ]
    );
    assert_eq!(world.params("authenticate")[0]["methodId"], "by-key");
    assert_eq!(
        world.params("session/new")[0]["mcpServers"],
        json!([{ "name": "files", "command": "/bin/files", "args": ["-x"],
            "env": [{ "name": "A", "value": "1" }] }])
    );
    assert_eq!(world.params("session/set_mode")[0]["modeId"], "code");
    let option = &world.params("session/set_config_option")[0];
    assert_eq!((&option["configId"], &option["value"]), (&json!("llm"), &json!("big")));

    for (mode, model, said) in
        [(Some("yolo"), None, "it offers ask, code"), (None, Some("big"), "leave `model` out")]
    {
        let mut world = World::new(world.script.clone());
        world.script["wants_login"] = json!(false);
        if model.is_some() {
            world.script["options"] = json!([]);
        }
        let mut config = world.config();
        (config.mode, config.model) = (mode.map(Into::into), model.map(Into::into));
        let error = world.delegate_of(config).attempt(&world.request(1)).await.unwrap_err();
        assert!(
            matches!(&error, DelegateError::Failed { message } if message.contains(said)),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_agent_that_wants_a_login_says_which_it_has() {
    let world = World::new(json!({ "wants_login": true }));
    let error = world.attempt(1).await.unwrap_err();
    let DelegateError::Failed { message } = &error else { panic!("{error}") };
    assert!(message.contains("`auth_method`") && message.contains("`by-key`"), "{message}");
}

#[tokio::test]
async fn what_people_say_is_part_of_the_next_prompt_once() {
    let world = World::new(json!({}));
    let delegate = world.delegate();
    let all = tokio::sync::watch::Sender::<Vec<Said>>::default();
    let hear = |number, text: &str| {
        let turn = Turn { epoch: 0, number };
        all.send_modify(|all| all.push(Said { turn, by: "ana".into(), text: text.into() }));
    };
    for attempt in 1..=4 {
        let mut request = world.request(attempt);
        request.steering = Steering::new(all.subscribe());
        delegate.attempt(&request).await.unwrap();
        match attempt {
            1 => hear(0, "Be quick."),
            2 => hear(1, "Be quiet."),
            _ => {}
        }
    }
    let prompts = world.prompts();
    let quick: Vec<bool> = prompts.iter().map(|it| it.contains("Be quick.")).collect();
    let quiet: Vec<bool> = prompts.iter().map(|it| it.contains("Be quiet.")).collect();
    assert_eq!((quick, quiet), (vec![false, true, false, false], vec![false, false, true, false]));
    // A new process that cannot load the session is told everything.
    let mut request = world.request(5);
    request.steering = Steering::new(all.subscribe());
    world.delegate().attempt(&request).await.unwrap();
    let last = world.prompts().pop().unwrap();
    assert!(last.contains("Be quick.") && last.contains("Be quiet."), "{last}");
}
