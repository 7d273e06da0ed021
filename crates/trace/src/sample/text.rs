//! What the evidence says.

use super::SampleRun;

const PLAIN: &str = "Further remarks follow here. ";
const UNICODE: &str = "Weiteres über \"Gestein\" – 岩石 \\ 🪨\u{2028}\u{7f}\ttab. ";

/// A piece of evidence: the text, and where in it the sentence stands that is quoted, in bytes.
#[derive(Debug, Clone)]
pub(super) struct Passage {
    pub(super) text: String,
    pub(super) quote: std::ops::Range<usize>,
}

/// The text of a piece of evidence: it opens or it ends with the sentence that is quoted.
pub(super) fn passage(run: &SampleRun, pair: u64, side: u64) -> Passage {
    let quote = match (side, run.is_unicode) {
        (0, false) => format!("Basalt{pair} sinks in water."),
        (0, true) => format!("Basalt{pair} sinkt, sagt «Müller» \u{1f30a}."),
        (_, false) => format!("Mercury lifts basalt{pair} up."),
        (_, true) => format!("水銀 hebt basalt{pair} — e\u{301}."),
    };
    let room = run.text_bytes.saturating_sub(quote.len().saturating_add(1));
    let pad = padding(run.is_unicode, room);
    if side == 0 {
        let end = quote.len();
        Passage { text: format!("{quote} {pad}"), quote: 0..end }
    } else {
        let start = pad.len().saturating_add(1);
        let end = start.saturating_add(quote.len());
        Passage { text: format!("{pad} {quote}"), quote: start..end }
    }
}

/// So many characters that say nothing of the matter.
pub(super) fn filler(is_unicode: bool, chars: usize) -> String {
    pad_unit(is_unicode).chars().cycle().take(chars).collect()
}

/// At least so many bytes, whole characters.
fn padding(is_unicode: bool, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes.saturating_add(4));
    for c in pad_unit(is_unicode).chars().cycle() {
        if text.len() >= bytes {
            break;
        }
        text.push(c);
    }
    text
}

const fn pad_unit(is_unicode: bool) -> &'static str {
    if is_unicode { UNICODE } else { PLAIN }
}
