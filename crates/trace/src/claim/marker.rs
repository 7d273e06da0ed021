//! The statement of a claim: quotes and markers in turn, and the markers are its supports.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use probity_grounding::{Fault, Marker, PieceKind, pieces, quoted};
use probity_report::{Failures, Rule};

use super::{CHECK, GROUNDING};
use crate::Quotes;
use crate::model::{Claim, Event, Support, SupportKind};
use crate::scene::Scene;

pub(super) static MALFORMED: Rule =
    Rule::error("citation_marker_malformed", CHECK, "text that looks like a marker and is none")
        .under(GROUNDING);
pub(super) static WITHOUT_SUPPORT: Rule =
    Rule::error("trace_marker_without_support", CHECK, "a marker that is no support of its claim")
        .under(GROUNDING);
pub(super) static SUPPORT_WITHOUT: Rule = Rule::error(
    "trace_support_without_marker",
    CHECK,
    "a support that the statement does not mark",
)
.under(GROUNDING);
pub(super) static ORDER: Rule =
    Rule::error("trace_marker_order", CHECK, "markers in another order than the supports");
pub(super) static QUOTE_DIFFERS: Rule =
    Rule::error("citation_quote_differs", CHECK, "text before a marker that it does not cite");
pub(super) static UNMARKED: Rule =
    Rule::error("citation_unmarked", CHECK, "text of a claim that no marker covers");
pub(super) static NO_CLAIM: Rule =
    Rule::error("citation_no_claim", CHECK, "a claim whose statement says nothing");

/// The text before the marker of each support.
#[derive(Debug)]
pub(super) struct Cites<'c> {
    statement: &'c str,
    quotes: Quotes,
    /// By place among the supports; `None` where no marker is its.
    texts: Vec<Option<Text>>,
}

/// Text before a marker.
#[derive(Debug, Clone)]
struct Text {
    /// Without the blanks that separate it.
    at: Range<usize>,
    /// Whether it stands alone: one blank before the marker, one behind the marker before.
    is_separate: bool,
}

/// A marker with the text before it.
struct Cite<'c> {
    text: Text,
    marker: Marker<'c>,
    at: Range<usize>,
}

impl<'c> Cites<'c> {
    /// Takes a statement apart and finds the support of each marker. A claim that is not derived
    /// needs no markers; what it lacks is told all the same.
    pub(super) fn of(
        scene: &Scene,
        event: &Event,
        claim: &'c Claim,
        failures: &mut Failures,
    ) -> Self {
        let statement = claim.statement.as_ref();
        let quotes = scene.policy.quotes;
        let cites = read(event, statement, quotes, failures);
        let texts = pair(event, &cites, &claim.supports, failures);
        Self { statement, quotes, texts }
    }

    /// Holds the text before the marker of a support against what the support cites.
    pub(super) fn hold(&self, event: &Event, at: usize, cited: &str, failures: &mut Failures) {
        let Some(Some(text)) = self.texts.get(at) else { return };
        if self.quotes == Quotes::Any {
            return;
        }
        let quote = self.statement.get(text.at.clone()).unwrap_or_default();
        let held = match text.is_separate {
            true => quoted(quote, cited),
            false => Err(Fault::QuoteDiffers),
        };
        let Err(fault) = held else { return };
        let rule = if fault == Fault::Unmarked { &UNMARKED } else { &QUOTE_DIFFERS };
        tell(rule, event, &text.at, failures);
    }
}

/// The markers of a statement, each with the text before it.
fn read<'c>(
    event: &Event,
    statement: &'c str,
    quotes: Quotes,
    failures: &mut Failures,
) -> Vec<Cite<'c>> {
    let mut cites: Vec<Cite> = Vec::new();
    let mut text = 0..0;
    let mut says_something = false;
    for piece in pieces(statement) {
        match piece.kind {
            PieceKind::Text => {
                says_something |= match quotes {
                    Quotes::Exact => !piece.text.trim().is_empty(),
                    Quotes::Any => piece.text.chars().any(char::is_alphanumeric),
                };
                text = piece.at;
                continue;
            }
            PieceKind::Marker(marker) => {
                let text = Text::of(statement, text.clone(), cites.is_empty());
                cites.push(Cite { text, marker, at: piece.at.clone() });
            }
            PieceKind::Malformed(malformation) => {
                let message = format!("{} ({})", malformation.reason(), bytes(&piece.at));
                failures.add(&MALFORMED, event.place("/claim/statement"), message);
            }
        }
        text = piece.at.end..piece.at.end;
    }
    let rest = statement.get(text.clone()).unwrap_or_default();
    let is_open = match quotes {
        Quotes::Exact => !rest.is_empty(),
        Quotes::Any => rest.chars().any(char::is_alphanumeric),
    };
    if is_open {
        tell(&UNMARKED, event, &text, failures);
    }
    if !says_something {
        failures.add(&NO_CLAIM, event.place("/claim/statement"), NO_CLAIM.finds);
    }
    cites
}

impl Text {
    fn of(statement: &str, at: Range<usize>, is_first: bool) -> Self {
        let text = statement.get(at.clone()).unwrap_or_default();
        let begins = is_first || text.starts_with(' ');
        let is_separate = begins && text.ends_with(' ');
        let start = at.start.saturating_add(usize::from(!is_first && begins));
        let end = at.end.saturating_sub(usize::from(text.ends_with(' ')));
        Self { at: start..end.max(start), is_separate }
    }
}

/// Finds the support of each marker, and the text of each support.
fn pair(
    event: &Event,
    cites: &[Cite],
    supports: &[Support],
    failures: &mut Failures,
) -> Vec<Option<Text>> {
    let mut open: HashMap<Marker, VecDeque<usize>> = HashMap::new();
    let marked = supports.iter().enumerate().filter(|(_, s)| s.kind == SupportKind::Evidence);
    for (at, support) in marked.clone() {
        open.entry(marker_of(support)).or_default().push_back(at);
    }
    let mut texts = vec![None; supports.len()];
    let mut last = None;
    let mut is_ordered = true;
    for cite in cites {
        let Some(at) = open.get_mut(&cite.marker).and_then(VecDeque::pop_front) else {
            tell(&WITHOUT_SUPPORT, event, &cite.at, failures);
            continue;
        };
        is_ordered &= last < Some(at);
        last = Some(at);
        if let Some(text) = texts.get_mut(at) {
            *text = Some(cite.text.clone());
        }
    }
    for (at, _) in marked {
        let is_unmarked = texts.get(at).is_some_and(Option::is_none);
        if is_unmarked && !failures.is_only_counted(&SUPPORT_WITHOUT) {
            let place = event.place(&format!("/claim/supports/{at}"));
            failures.add(&SUPPORT_WITHOUT, place, SUPPORT_WITHOUT.finds);
        }
    }
    if !is_ordered {
        failures.add(&ORDER, event.place("/claim/statement"), ORDER.finds);
    }
    texts
}

fn marker_of<'s>(support: &'s Support) -> Marker<'s> {
    let (start, end) = support.span;
    Marker { id: &support.ref_id, start, end, sha256: &support.snippet_sha256 }
}

fn tell(rule: &'static Rule, event: &Event, at: &Range<usize>, failures: &mut Failures) {
    let message = format!("{} ({})", rule.finds, bytes(at));
    failures.add(rule, event.place("/claim/statement"), message);
}

fn bytes(at: &Range<usize>) -> String {
    format!("bytes {} to {} of the statement", at.start, at.end)
}

#[cfg(test)]
mod tests {
    use probity_grounding::Malformation;

    use super::*;

    #[test]
    fn a_fault_has_the_code_of_its_rule() {
        let pairs = [
            (&MALFORMED, Fault::MarkerMalformed(Malformation::Parts)),
            (&QUOTE_DIFFERS, Fault::QuoteDiffers),
            (&UNMARKED, Fault::Unmarked),
            (&NO_CLAIM, Fault::NoClaim),
        ];
        for (rule, fault) in pairs {
            assert_eq!(rule.code, fault.code());
        }
    }
}
