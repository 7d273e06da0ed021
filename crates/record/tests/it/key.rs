//! What may be the key of an object, and what each shape of serde becomes.

use std::collections::BTreeMap;

use probity_record::canonical::{MAX_SAFE_INTEGER, Problem, check, jcs, to_canonical};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

/// As serde_json hands a number over where it keeps its text.
const SPELLED: &str = "$serde_json::private::Number";

/// An object with one key of any type.
struct Under<K>(K);

impl<K: Serialize> Serialize for Under<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(&self.0, &0)?;
        map.end()
    }
}

/// Bytes, as serde knows them.
struct Bytes(&'static [u8]);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

#[derive(Serialize)]
struct Id(&'static str);

#[derive(Serialize)]
struct Marker;

#[derive(Serialize)]
enum Kind {
    Plain,
    Of(u8),
    Named {
        #[serde(rename = "$serde_json::private::Number")]
        number: &'static str,
    },
}

fn text<T: Serialize>(value: &T) -> String {
    String::from_utf8(to_canonical(value).unwrap()).unwrap()
}

fn assert_no_key<K: Serialize>(key: K, what: &str) {
    let problem = to_canonical(&Under(key)).unwrap_err().problem;
    assert_eq!(problem, Problem::KeyNotText, "{what}");
}

#[test]
fn texts_characters_words_and_integers_are_keys() {
    assert_eq!(text(&Under("k")), r#"{"k":0}"#);
    assert_eq!(text(&Under('k')), r#"{"k":0}"#);
    assert_eq!(text(&Under(Id("k"))), r#"{"k":0}"#);
    assert_eq!(text(&Under(Some("k"))), r#"{"k":0}"#);
    assert_eq!(text(&Under(Kind::Plain)), r#"{"Plain":0}"#);
    assert_eq!(text(&Under(-7)), r#"{"-7":0}"#);
}

#[test]
fn nothing_else_is_a_key() {
    assert_no_key(true, "a truth value");
    assert_no_key(1.5_f32, "a float");
    assert_no_key(1.5_f64, "a double");
    assert_no_key(Bytes(b"k"), "bytes");
    assert_no_key(None::<u8>, "nothing");
    assert_no_key((), "a unit");
    assert_no_key(Marker, "a unit of its own");
    assert_no_key(Kind::Of(1), "a variant with content");
}

#[test]
fn a_wrapper_is_what_it_wraps_and_bytes_are_numbers() {
    assert_eq!(text(&Id("x")), r#""x""#);
    assert_eq!(text(&Bytes(b"ab")), "[97,98]");
    assert_eq!(jcs(&1.5_f32).unwrap(), b"1.5");
}

#[test]
fn an_object_that_spells_a_number_is_that_number_unless_it_is_a_variant() {
    assert_eq!(text(&BTreeMap::from([(SPELLED, "12")])), "12");
    assert_eq!(text(&BTreeMap::from([("other", "12")])), r#"{"other":"12"}"#);
    let named = Kind::Named { number: "12" };
    assert_eq!(text(&named), format!(r#"{{"Named":{{"{SPELLED}":"12"}}}}"#));
}

#[test]
fn keys_with_escapes_are_ordered_by_what_they_stand_for() {
    assert_eq!(check(br#"{"\u0002":1,"\u0011":2,"a":3}"#), Ok(()));
    assert!(check(br#"{"\u0011":2,"\u0002":1}"#).is_err());
}

#[test]
fn the_largest_integer_is_the_one_that_every_reader_holds() {
    assert_eq!(MAX_SAFE_INTEGER, 9_007_199_254_740_991);
}
