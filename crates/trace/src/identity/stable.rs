//! Content ids: a kind, a version, and the SHA-256 of a canonical text.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::canonical::canonical_without;
use crate::tape::Value;

/// Whether an id is the one of a text, given in pieces.
pub(crate) fn names(id: &str, kind: &str, pieces: &[&str]) -> bool {
    let digest = id.strip_prefix(kind).and_then(|rest| rest.strip_prefix("_v1_"));
    digest.is_some_and(|digest| {
        let mut hex = [0; 64];
        // A digest is 32 bytes, so there is room.
        let is_written = hex::encode_to_slice(sha256(pieces), &mut hex).is_ok();
        is_written && digest.as_bytes() == hex
    })
}

/// The id of a text.
pub(crate) fn name(kind: &str, pieces: &[&str]) -> String {
    format!("{kind}_v1_{}", hex::encode(sha256(pieces)))
}

/// The id that an object should have over all but some members, where it has another one.
///
/// The object is hashed as it stands, without a copy. Where that gives another id it may not be
/// canonical, so its canonical text is made then.
pub(crate) fn differs_from(
    id: &str,
    kind: &str,
    object: Value,
    left_out: &[&str],
) -> Option<String> {
    if let Some([before, after]) = cut(object, left_out)
        && names(id, kind, &[before, after])
    {
        return None;
    }
    let text = canonical_without(object, left_out);
    let right = name(kind, &[&text]);
    (right != id).then_some(right)
}

/// An object's text before and behind members that stand next to each other and are not the last;
/// `None` where they do not stand as they do in a canonical text.
fn cut<'a>(object: Value<'a>, members: &[&str]) -> Option<[&'a str; 2]> {
    let all = object.span();
    let mut gap: Option<Range<usize>> = None;
    for key in members {
        let value = object.get(key)?.span();
        // Quotes and colon before it, a comma behind it.
        let start = value.start.checked_sub(key.len().checked_add(3)?)?;
        let end = value.end.checked_add(1)?;
        gap = match gap {
            None => Some(start..end),
            Some(gap) if gap.end == start => Some(gap.start..end),
            Some(_) => return None,
        };
    }
    let gap = gap?;
    let raw = object.raw();
    let before = raw.get(..gap.start.checked_sub(all.start)?)?;
    let after = raw.get(gap.end.checked_sub(all.start)?..)?;
    after.starts_with('"').then_some([before, after])
}

fn sha256(pieces: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update(piece);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use crate::tape::Tape;

    use super::*;

    const PLAIN: &str = r#"{"a":1,"b":2,"id":"x","z":[3]}"#;

    fn with<T>(text: &str, f: impl FnOnce(Value) -> T) -> T {
        let mut tape = Tape::default();
        tape.read(text).expect("JSON");
        f(tape.root(text))
    }

    #[test]
    fn a_member_is_cut_out_of_a_canonical_text() {
        let cut = |keys: &[&str]| with(PLAIN, |value| cut(value, keys).map(|cut| cut.concat()));
        assert_eq!(cut(&["id"]).as_deref(), Some(r#"{"a":1,"b":2,"z":[3]}"#));
        assert_eq!(cut(&["b", "id"]).as_deref(), Some(r#"{"a":1,"z":[3]}"#));
        assert_eq!(cut(&["a", "id"]), None);
        assert_eq!(cut(&["z"]), None);
        assert_eq!(cut(&["y"]), None);
    }

    #[test]
    fn an_id_is_the_same_however_the_object_is_spelled() {
        let id = name("thing", &[r#"{"a":1,"b":2,"z":[3]}"#]);
        for text in [PLAIN, r#"{ "z" :[3], "id":"x", "b":2,"a":1 }"#, r#"{"z":[3],"a":1,"b":2}"#] {
            assert_eq!(with(text, |value| differs_from(&id, "thing", value, &["id"])), None);
        }
        for wrong in ["", "thing", "thing_v1_", &id.to_uppercase(), &id.replace("_v1_", "_v2_")] {
            let right = with(PLAIN, |value| differs_from(wrong, "thing", value, &["id"]));
            assert_eq!(right.as_ref(), Some(&id), "{wrong}");
        }
    }

    #[test]
    fn the_digest_is_that_of_the_source_system() {
        // stable_id("thing", {"a": 1}) of bijux-canon-reason 0.3.8.
        let id = "thing_v1_015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
        assert_eq!(name("thing", &["{\"a\"", ":1}"]), id);
    }
}
