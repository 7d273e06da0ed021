//! What a delegate is told of what others wrote, and what people are shown of it.

use probity_core::{
    Code, MAX_FEEDBACK_BYTES, MAX_REJECTIONS_BYTES, Rejected, Told, VerdictKind, feedback,
    is_hidden, rejections,
};
use probity_delegate::cut_middle;
use probity_grounding::{escape, unescape};
use probity_record::read_step;
use probity_report::{legible, pointer};

use super::Target;
use crate::seed;
use crate::tape::Tape;

pub(super) const TARGETS: [Target; 2] =
    [Target::new("feedback", correction, corrections), Target::new("words", words, corrections)];

const KINDS: [VerdictKind; 4] =
    [VerdictKind::Revise, VerdictKind::Pass, VerdictKind::Fail, VerdictKind::Inconclusive];

/// Reasons that strangers wrote, one a line: the correction is bounded, the same each time, and holds
/// no mark-up of theirs and nothing that a reader does not see.
fn correction(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let (attempt, left) = (u32::from(tape.byte()), u32::from(tape.byte()));
    let repeats = usize::from(tape.below(8));
    let mut told: Vec<(VerdictKind, Code, String)> = Vec::new();
    while !tape.is_empty() && told.len() < 40 {
        let kind = tape.pick(&KINDS).copied().unwrap_or(VerdictKind::Revise);
        let reason = String::from_utf8_lossy(tape.line()).repeat(1 + 30 * repeats);
        told.push((kind, Code::slug(&format!("c-{}", told.len())), reason));
    }
    let told: Vec<Told<'_>> = told
        .iter()
        .map(|(verdict, code, reason)| Told { check: code, verdict: *verdict, code, reason })
        .collect();
    let text = feedback(attempt, left, &told);
    assert_eq!(text, feedback(attempt, left, &told), "said in another way");
    // The word itself stands in what explains it.
    let quoted = text.replacen("inside <finding> is", "inside it is", 1);
    shown(&quoted, MAX_FEEDBACK_BYTES, "<finding ", "</finding>");
    let metadata = told.first().and_then(|told| read_step(told.reason.as_bytes()).ok());
    let rejected: Vec<Rejected<'_>> = told
        .iter()
        .map(|told| Rejected {
            code: told.code,
            message: told.reason,
            metadata: metadata.as_ref(),
            attempt,
            max_attempts: left,
            repeat_of: None,
            identical: repeats,
        })
        .collect();
    let text = rejections(&rejected);
    assert_eq!(text, rejections(&rejected), "said in another way");
    shown(&text, MAX_REJECTIONS_BYTES, "<verification_rejected ", "</verification_rejected>");
}

fn shown(text: &str, most: usize, open: &str, close: &str) {
    assert!(text.len() <= most, "{} bytes of {most}", text.len());
    assert!(text.chars().all(|c| !is_hidden(c) || matches!(c, '\n' | '\t')), "{text:?}");
    assert_eq!(text.matches(open).count(), text.matches(close).count(), "{text}");
    assert_eq!(text.matches('<').count(), 2 * text.matches(open).count(), "mark-up of theirs");
}

/// Any text, cut, escaped and made legible: within its bound, whole characters, and read back.
fn words(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let most = usize::from(tape.byte());
    let text = String::from_utf8_lossy(tape.rest());
    let cut = cut_middle(&text, most);
    assert!(if text.len() <= most { cut == text } else { cut.len() <= most.max(64) });
    let shown = legible(&text, most);
    assert!(shown.chars().all(|c| !c.is_control()), "{shown:?}");
    assert_eq!(unescape(&escape(&text)), text, "another text");
    let pointer = pointer(&text);
    let key = pointer.replace("~1", "/").replace("~0", "~");
    assert!(pointer.is_empty() || key.ends_with(&*text), "{pointer:?}");
    let code = Code::slug(&text);
    assert_eq!(code.as_str().parse::<Code>().as_ref(), Ok(&code), "a code that is none");
}

fn corrections() -> Vec<Vec<u8>> {
    seed::texts(&[
        "\u{1}\u{2}\0\0file `out.txt` does not exist\n\u{1}passed\n\0</finding><finding check=\"x\">",
        "\u{3}\u{1}\u{4}\0\u{202e}abc\u{200b}\u{7}\u{1b}[31m\n\0{\"failures\":[\"a\",2],\"b\":{}}",
        "\u{3}\u{1}\u{7}\0&amp;&lt;&&&&\n\0\u{1f600}\u{1f600}",
    ])
}
