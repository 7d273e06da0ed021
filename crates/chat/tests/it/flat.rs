//! The cost of a turn does not grow with the conversation.

use probity_chat::{ChatConfig, ModelReply};
use probity_delegate::Request;

use crate::stage::{Book, Strict, attempt, calls, config, costs, delegate, echo, request, say};

const TURNS: u32 = 1000;

/// P18: nfactorial writes the whole payload at every turn.
#[tokio::test]
async fn a_thousand_turns_note_the_same_bytes_each() {
    let model = Strict::new(|request| {
        let number = request.number;
        Ok(if number < TURNS {
            costs(calls([say(&format!("c{number:04}"), &"x".repeat(200))]), 10)
        } else {
            ModelReply::text("Done.")
        })
    });
    let book = Book::default();
    let config = ChatConfig { max_model_calls: TURNS + 1, ..config() };
    let delegate = delegate(&model, vec![echo()], config);
    attempt(&delegate, &book, request(&book, 1)).await.unwrap();
    let kept = book.kept();
    assert_eq!(kept.len(), 2 * TURNS as usize + 1);
    let per_turn: Vec<usize> =
        kept.chunks(2).map(|turn| turn.iter().map(|note| note.content.len()).sum()).collect();
    // The first tells the task besides.
    let (first, rest) = per_turn.split_first().unwrap();
    let rest = &rest[..rest.len() - 1];
    assert!(rest.iter().all(|bytes| *bytes == rest[0]), "{:?}", &rest[..10]);
    assert!(*first < rest[0] + 200 && rest[0] < 800, "{first} {}", rest[0]);
}

#[tokio::test]
async fn a_thousand_attempts_note_the_same_bytes_each() {
    let model = Strict::new(|_| Ok(costs(ModelReply::text("Done."), 10)));
    let book = Book::default();
    let config = ChatConfig { max_model_calls: TURNS, ..config() };
    let delegate = delegate(&model, vec![], config);
    for k in 1..=TURNS {
        let mut request: Request = request(&book, k);
        if k > 1 {
            request.prompt.correction = Some("try again".into());
        }
        attempt(&delegate, &book, request).await.unwrap();
    }
    let kept = book.kept();
    assert_eq!(kept.len(), TURNS as usize);
    let bytes = kept[1].content.len();
    assert!(kept[1..].iter().all(|note| note.content.len() == bytes) && bytes < 300, "{bytes}");
}
