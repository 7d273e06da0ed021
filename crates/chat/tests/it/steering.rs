//! What people say in the midst of the work.

use std::sync::{Arc, Mutex};

use probity_chat::{ChatConfig, FunctionTool, Message, Model, ModelReply, Tool, Toolbox};
use probity_core::Turn;
use probity_delegate::{Answered, Delegate, DelegateError, Request, Said, Steering};
use probity_testkit::{ScriptedModel, call as scripted_call};
use serde_json::json;
use tokio::sync::watch;

use crate::stage::{
    Book, Echo, Strict, attempt, call, calls, config, delegate, echo, request, say, submit, typed,
};

/// The words of a run, from outside of it.
#[derive(Clone, Default)]
struct Voice(watch::Sender<Vec<Said>>);

impl Voice {
    fn says(&self, text: &str) {
        let said = Said { turn: Turn::FIRST, by: "ana".into(), text: text.into() };
        self.0.send_modify(|all| all.push(said));
    }

    fn to(&self, request: Request) -> Request {
        Request { steering: Steering::new(self.0.subscribe()), ..request }
    }
}

fn told(messages: &[Message], text: &str) -> usize {
    let tells = |message: &&Message| match message {
        Message::User { content } => content.contains(text),
        _ => false,
    };
    messages.iter().filter(tells).count()
}

/// A tool during which something is said.
fn interrupting(voice: &Voice, text: &str) -> Arc<dyn Tool> {
    let (voice, text) = (voice.clone(), text.to_owned());
    let tool = FunctionTool::new("hear", "Somebody speaks.", move |_: Echo, _| {
        voice.says(&text);
        async { Ok::<_, String>("heard") }
    });
    Arc::new(tool.idempotent())
}

fn hear(id: &str) -> probity_chat::Call {
    call(id, "hear", r#"{"text":""}"#)
}

#[tokio::test]
async fn it_arrives_before_the_next_answer_behind_all_results_and_only_once() {
    let model = Strict::plays([
        calls([say("a", "x"), hear("h"), say("b", "y")]),
        calls([say("c", "z")]),
        ModelReply::text("Done."),
        ModelReply::text("Done again."),
    ]);
    let (book, voice) = (Book::default(), Voice::default());
    let works = delegate(&model, vec![echo(), interrupting(&voice, "In German.")], config());
    attempt(&works, &book, voice.to(request(&book, 1))).await.unwrap();
    attempt(&works, &book, voice.to(request(&book, 2))).await.unwrap();
    let asked = model.asked();
    let counts: Vec<usize> = asked.iter().map(|it| told(&it.messages, "In German.")).collect();
    assert_eq!(counts, [0, 1, 1, 1], "the strict model took every request");
    assert!(matches!(asked[1].last(), Message::User { content } if content.contains("by=\"ana\"")));
    assert_eq!(book.conversation().messages()[..asked[3].messages.len()], asked[3].messages);
}

#[tokio::test]
async fn what_is_said_before_a_turn_follows_its_prompt_whatever_a_hook_made_of_that() {
    let model = Strict::plays([ModelReply::text("Done."), ModelReply::text("Done.")]);
    let (book, voice) = (Book::default(), Voice::default());
    let works = delegate(&model, vec![], config());
    voice.says("Early.");
    attempt(&works, &book, voice.to(request(&book, 1))).await.unwrap();
    voice.says("Late.");
    let mut second = voice.to(request(&book, 2));
    second.prompt.rewritten = Some("Only this.".into());
    attempt(&works, &book, second).await.unwrap();
    let asked = model.asked();
    assert_eq!((told(&asked[0].messages, "Early."), told(&asked[1].messages, "Early.")), (1, 1));
    let users: Vec<bool> = asked[1]
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::User { content } => Some(content == "Only this."),
            _ => None,
        })
        .collect();
    assert_eq!(users, [false, false, true, false], "task, early, rewritten, late");
    assert_eq!(told(&asked[1].messages, "Late."), 1);
}

/// A claim that was made without knowing what was said meanwhile is not handed in.
#[tokio::test]
async fn a_claim_is_held_back_until_its_model_knows_what_was_said() {
    for is_typed in [false, true] {
        let voice = Voice::default();
        let speaks = voice.clone();
        let claim = move |n: u32| match is_typed {
            true => calls([submit(&format!("s{n}"), r#"{"count":1}"#), say(&format!("b{n}"), "x")]),
            false => ModelReply::text("Done."),
        };
        let model = Strict::new(move |request| {
            if request.number == 0 {
                speaks.says("One thing more.");
            }
            Ok(claim(request.number))
        });
        let config = if is_typed { typed() } else { config() };
        let book = Book::default();
        let works = delegate(&model, vec![echo()], config.clone());
        let answered = attempt(&works, &book, voice.to(request(&book, 1))).await.unwrap();
        assert_eq!(answered.claim.output.is_some(), is_typed);
        let asked = model.asked();
        assert_eq!((asked.len(), told(&asked[1].messages, "One thing more.")), (2, 1));
        if is_typed {
            assert!(asked[1].answer("s0").0.starts_with("not taken yet"));
            assert!(asked[1].answer("b0").0.starts_with("not executed"));
        }
        assert_eq!(book.usage().tool_calls, 0);
        // The last answer that is allowed is taken as it is.
        let (book, voice) = (Book::default(), Voice::default());
        let speaks = voice.clone();
        let model = Strict::new(move |_| {
            speaks.says("Too late.");
            Ok(if is_typed {
                calls([submit("s", r#"{"count":1}"#)])
            } else {
                ModelReply::text("Done.")
            })
        });
        let works = delegate(&model, vec![], ChatConfig { max_model_calls: 1, ..config });
        attempt(&works, &book, voice.to(request(&book, 1))).await.unwrap();
        assert_eq!(model.asked().len(), 1);
    }
}

/// Everything at once: dies at each note, and the model is told each word once, in the same place.
#[tokio::test]
async fn a_death_at_any_note_tells_no_word_twice_and_moves_none() {
    let script = |voice: &Voice| {
        let voice = voice.clone();
        let spoken = Mutex::new(std::collections::HashSet::new());
        Strict::new(move |request| {
            // What is said is said once, however often the model is asked.
            let is_first = spoken.lock().unwrap().insert(request.number);
            if is_first && request.number == 2 {
                voice.says("Second.");
            }
            Ok(match request.number {
                0 => calls([say("a", "a"), call("u", "no.such", "{}")]),
                1 => calls([submit("bad", "{}"), say("b", "b")]),
                2 => calls([submit("held", r#"{"count":1}"#)]),
                3 => calls([submit("o", r#"{"count":2}"#)]),
                4 => calls([say("c", "c")]),
                _ => calls([submit("p", r#"{"count":3}"#)]),
            })
        })
    };
    let play = async |at: Option<usize>| {
        let (book, voice) = (Book::default(), Voice::default());
        voice.says("First.");
        let model = script(&voice);
        book.fail_at(at);
        let tool = || -> Arc<dyn Tool> {
            let tool = FunctionTool::new("echo", "Says it back.", |echo: Echo, _| async move {
                Ok::<_, String>(echo.text)
            });
            Arc::new(tool.idempotent())
        };
        let mut works = delegate(&model, vec![tool()], typed());
        for k in 1..=2 {
            let mut is_replay = false;
            loop {
                let request = voice.to(Request { is_replay, ..request(&book, k) });
                match attempt(&works, &book, request).await {
                    Ok(_) => break,
                    Err(error) => {
                        assert!(!is_replay, "it dies once: {error}");
                        (is_replay, works) = (true, delegate(&model, vec![tool()], typed()));
                        book.fail_at(None);
                    }
                }
            }
        }
        (book, model)
    };
    let (whole, _) = play(None).await;
    let notes = whole.kept().len();
    let expected = whole.conversation();
    assert_eq!(notes, 11, "6 answers, 3 results, 2 words");
    let is_held = |kept: &probity_delegate::Kept| {
        String::from_utf8_lossy(&kept.content).contains("\"id\":\"held\"")
    };
    let held = whole.kept().iter().position(is_held).unwrap();
    for at in 0..notes {
        let (book, model) = play(Some(at)).await;
        // The answer during which it was said is lost: by the time of the next one it is known.
        let is_known_sooner = at == held;
        if !is_known_sooner {
            assert_eq!(book.conversation().messages(), expected.messages(), "at {at}");
            assert_eq!(book.usage(), whole.usage(), "at {at}");
        }
        for text in ["First.", "Second."] {
            assert_eq!(told(book.conversation().messages(), text), 1, "at {at}: {text}");
        }
        assert!(model.asked().len() <= 7, "at {at}");
    }
}

/// The note of the words is kept, the call is not made: the next life asks with the words in place.
#[tokio::test]
async fn a_death_between_the_words_and_the_call_asks_with_them_and_says_them_once() {
    let model = Arc::new(
        ScriptedModel::new()
            .reply(ModelReply::calls([scripted_call("", "hear", json!({ "text": "" }))]))
            .step(|_| Err(probity_chat::ModelError::Cancelled))
            .reply(ModelReply::text("Done.")),
    );
    let (book, voice) = (Book::default(), Voice::default());
    let works = |model: &Arc<ScriptedModel>| {
        let (model, tools): (Arc<dyn Model>, _) =
            (model.clone(), Toolbox::new([interrupting(&voice, "Mind the gap.")]).unwrap());
        probity_chat::ChatDelegate::new(model, tools, config())
    };
    let died = works(&model).attempt(&voice.to(request(&book, 1))).await;
    assert!(matches!(died, Err(DelegateError::Cancelled)));
    assert_eq!(book.kept().len(), 3, "the answer, the result, the words");
    let replay = voice.to(Request { is_replay: true, ..request(&book, 1) });
    let Answered { claim, .. } = works(&model).attempt(&replay).await.unwrap();
    assert_eq!(claim.response, "Done.");
    let asked = model.asked();
    assert_eq!((asked.len(), model.violations().len()), (3, 0));
    assert_eq!(asked[1].messages, asked[2].messages);
    assert_eq!(told(&asked[2].messages, "Mind the gap."), 1);
}
