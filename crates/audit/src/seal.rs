//! The seal of an episode held against its bytes.

use probity_record::blob_digest;

use crate::document::{Node, Without, jcs, sorted};
use crate::finding::{Findings, legible};
use crate::report::{SealRule, SealState};
use crate::rule;

/// SHA-256 of the empty input: what is found where a hash was computed over nothing.
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The most characters of a declared digest that are shown.
const MAX_SHOWN: usize = 128;

/// The member that holds the seal.
pub(crate) const MEMBER: &str = "seal";

/// The digest that [`SealRule::Sorted`] gives for an episode, sealed or not.
pub(crate) fn digest(node: &Node) -> String {
    hash(&sorted(node, Without::Member(MEMBER)))
}

fn hash(bytes: &[u8]) -> String {
    blob_digest(bytes).to_string()
}

/// Holds the seal against the bytes. `None` where there is no digest to hold.
pub(crate) fn check(node: &Node, findings: &mut Findings) -> Option<SealState> {
    check_at(node, "", findings)
}

/// The same for an episode that stands somewhere in a document.
pub(crate) fn check_at(node: &Node, above: &str, findings: &mut Findings) -> Option<SealState> {
    let seal = node.get(MEMBER)?;
    let (name, declared) =
        ["sealHash", "hash"].iter().find_map(|name| Some((name, seal.get(name)?.text()?)))?;
    let place = format!("{above}/{MEMBER}/{name}");
    let expected = declared.strip_prefix("sha256:").unwrap_or(declared);
    if expected.len() < declared.len() {
        let message = "a seal is 64 hexadecimal digits without `sha256:` in front";
        findings.add(&rule::SEAL_PREFIXED, &place, message);
    }
    let found = digest(node);
    if expected == found {
        return Some(state(Some(SealRule::Sorted), declared, found));
    }
    let by_value = jcs(node, MEMBER).map(|bytes| hash(&bytes));
    if let Some(found) = by_value.filter(|found| expected == found) {
        let message = "matches by RFC 8785; as it is spelled here, the digest differs";
        findings.add(&rule::SEAL_BY_VALUE, &place, message);
        return Some(state(Some(SealRule::Jcs), declared, found));
    }
    let in_place = hash(&sorted(node, Without::Content(MEMBER)));
    if expected == in_place {
        let message = "matches only with `\"seal\": {}` in the bytes; leave the member out";
        findings.add(&rule::SEAL_WITH_PLACE, &place, message);
        return Some(state(Some(SealRule::SealPresent), declared, in_place));
    }
    refuse(expected, &found, place, findings);
    Some(state(None, declared, found))
}

fn state(rule: Option<SealRule>, expected: &str, found: String) -> SealState {
    SealState { rule, matches: rule.is_some(), expected: legible(expected, MAX_SHOWN), found }
}

fn refuse(expected: &str, found: &str, place: String, findings: &mut Findings) {
    let shown = legible(expected, MAX_SHOWN);
    if expected == OF_NOTHING {
        let message = format!(
            "`{expected}` is SHA-256 of the empty input: nothing was hashed; the bytes give `{found}`"
        );
        findings.add(&rule::SEAL_OF_NOTHING, place, message);
    } else if !is_digest(expected) {
        let message =
            format!("`{shown}` is not 64 lower-case hexadecimal digits; the bytes give `{found}`");
        findings.add(&rule::SEAL_NOT_A_DIGEST, place, message);
    } else if is_patterned(expected) {
        let message =
            format!("`{expected}` follows a pattern, as no digest does; the bytes give `{found}`");
        findings.add(&rule::SEAL_NOT_A_DIGEST, place, message);
    } else {
        let message = format!(
            "the seal says `{expected}`, the bytes give `{found}`: the episode was changed after \
             it was sealed, or sealed by a rule that does not cover it"
        );
        findings.add(&rule::SEAL_MISMATCH, place, message);
    }
}

/// 64 lower-case hexadecimal digits.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a digest counts up, repeats or does both: for some distance, most digits differ from the
/// digit that far behind by the same amount. Of 48 random digits 3 agree on average; 32 do for fewer
/// than one digest in 10^20.
fn is_patterned(digest: &str) -> bool {
    let digits: Vec<u32> = digest.chars().filter_map(|digit| digit.to_digit(16)).collect();
    (1..=16).any(|distance| {
        let mut counts = [0_usize; 16];
        let pairs = digits.iter().zip(digits.iter().skip(distance));
        for (one, next) in pairs {
            let step = (next + 16 - one) % 16;
            if let Some(count) = usize::try_from(step).ok().and_then(|at| counts.get_mut(at)) {
                *count += 1;
            }
        }
        counts.iter().any(|count| count * 2 >= digits.len())
    })
}
