//! Budgets that the attempts of a run share.

use probity_chat::{ChatConfig, ModelReply};
use probity_delegate::{Answered, Budget, DelegateError, Request, Spent};

use crate::stage::{
    Book, Strict, attempt, calls, config, costs, delegate, echo, request, say, submit, typed,
};

async fn run(
    model: &std::sync::Arc<Strict>,
    book: &Book,
    config: ChatConfig,
    budget: Budget,
) -> Result<Answered, DelegateError> {
    let delegate = delegate(model, vec![echo()], config);
    attempt(&delegate, book, Request { budget, ..request(book, 1) }).await
}

fn tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), tool_calls: None }
}

fn tool_calls(tool_calls: u64) -> Budget {
    Budget { tokens: None, tool_calls: Some(tool_calls) }
}

const GOOD: &str = r#"{"count":3}"#;

#[tokio::test]
async fn tokens_that_are_used_up_stop_the_work_but_not_what_is_in_hand() {
    let work = || costs(calls([say("a", "x")]), 60);
    for (limit, is_enough) in [(100, false), (120, false), (121, true)] {
        let again = costs(calls([say("b", "x")]), 60);
        let model = Strict::plays([work(), again, ModelReply::text("Done.")]);
        let book = Book::default();
        let result = run(&model, &book, config(), tokens(limit)).await;
        let is_spent = matches!(result, Err(DelegateError::Budget(Spent::Tokens)));
        assert_eq!(is_spent, !is_enough, "{limit}: {result:?}");
        assert_eq!(book.usage().tool_calls, 1 + u64::from(is_enough), "no call for nothing");
        assert_eq!(book.usage().tokens, 120);
    }
    for last in [calls([say("b", "x"), submit("o", GOOD)]), calls([submit("o", GOOD)])] {
        let model = Strict::plays([work(), costs(last, 60)]);
        let answered = run(&model, &Book::default(), typed(), tokens(100)).await.unwrap();
        assert!(answered.claim.output.is_some(), "the output in hand is handed in");
    }
    let model = Strict::plays([work(), costs(ModelReply::text("Done."), 60)]);
    run(&model, &Book::default(), config(), tokens(100)).await.unwrap();
    let error = run(&model, &Book::default(), config(), tokens(0)).await.unwrap_err();
    assert_eq!(error.code(), "budget_tokens");
}

#[tokio::test]
async fn calls_beyond_the_budget_are_answered_and_the_model_is_to_come_to_an_end() {
    for (config, choice) in [(config(), "none"), (typed(), "final_output")] {
        let is_typed = config.output.is_some();
        let end = if is_typed { calls([submit("o", GOOD)]) } else { ModelReply::text("Done.") };
        let first = calls(["a", "b", "c"].map(|id| say(id, id)));
        let model = Strict::plays([first, end]);
        let book = Book::default();
        let claim = run(&model, &book, config, tool_calls(2)).await.unwrap().claim;
        let asked = model.asked();
        assert_eq!((asked[0].choice.as_str(), asked[1].choice.as_str()), ("auto", choice));
        assert_eq!(asked[1].answer("b"), ("b", false));
        let (text, is_error) = asked[1].answer("c");
        assert!(is_error && text.contains("budget used up: hand in your output"), "{text}");
        assert_eq!(book.usage().tool_calls, 2);
        assert_eq!(claim.tool_results.len(), 3);
    }
}

#[tokio::test]
async fn a_model_that_calls_on_behind_the_budget_is_stopped() {
    let model = Strict::plays([calls([say("a", "x")]), calls([say("b", "x")])]);
    let book = Book::default();
    let error = run(&model, &book, config(), tool_calls(1)).await.unwrap_err();
    assert!(matches!(error, DelegateError::Budget(Spent::ToolCalls)), "{error}");
    assert_eq!((model.asked().len(), book.usage().tool_calls), (2, 1));
}

#[tokio::test]
async fn a_crash_changes_nothing_about_the_calls_that_are_allowed() {
    let first = || calls([say("a", "a"), crate::stage::call("u", "no", "{}"), say("b", "b")]);
    for notes in 0..3 {
        let model = Strict::plays([first(), ModelReply::text("Done.")]);
        let book = Book::default();
        book.fail_at(Some(notes));
        run(&model, &book, config(), tool_calls(2)).await.unwrap_err();
        book.fail_at(None);
        let left = 2 - book.usage().tool_calls;
        run(&model, &book, config(), tool_calls(left)).await.unwrap();
        let asked = model.asked().pop().unwrap();
        assert!(asked.answer("u").0.contains("there is no tool"), "{notes}");
        assert!(asked.answer("b").0.contains("budget used up"), "{notes}: {asked:?}");
        assert_eq!(book.usage().tool_calls, 2, "{notes}");
    }
}

#[tokio::test]
async fn model_calls_are_bounded_over_all_attempts_of_a_run() {
    // P19: the bound holds against a model that ignores what it is told.
    for (config, choice) in [(config(), "none"), (typed(), "final_output")] {
        let config = ChatConfig { max_model_calls: 3, ..config };
        let stubborn = Strict::new(|request| Ok(calls([say(&request.number.to_string(), "x")])));
        let book = Book::default();
        let error = run(&stubborn, &book, config, Budget::default()).await.unwrap_err();
        assert!(matches!(error, DelegateError::Budget(Spent::ModelCalls)), "{error}");
        let choices: Vec<String> = stubborn.asked().into_iter().map(|asked| asked.choice).collect();
        assert_eq!(choices, ["auto", "auto", choice]);
        assert_eq!(book.usage().tool_calls, 2);
    }
    let model = Strict::plays(["a", "b"].map(ModelReply::text));
    let book = Book::default();
    let delegate = delegate(&model, vec![], ChatConfig { max_model_calls: 1, ..config() });
    attempt(&delegate, &book, request(&book, 1)).await.unwrap();
    let error = attempt(&delegate, &book, request(&book, 2)).await.unwrap_err();
    assert_eq!(error.code(), "budget_model_calls");
    assert_eq!(model.asked().len(), 1);
}
