//! Reading: where a refused number stands, and readers of other languages than JSON.

use probity_record::canonical::{parse_ijson, parse_strict, read_once};
use serde::de::value::{BytesDeserializer, Error, StrDeserializer, StringDeserializer};
use serde::de::{Deserializer, IntoDeserializer as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Value, json};

#[test]
fn a_minus_zero_is_refused_where_it_stands() {
    for (text, line, column) in [
        ("-0", 1, 2),
        ("[1,-0]", 1, 5),
        ("[1,\n -0]", 2, 3),
        ("[\n\n\n-0]", 4, 2),
        (r#"{"-0":"-0","a":-0}"#, 1, 17),
        (r#"["\"-0",-0]"#, 1, 10),
        (r#"["\\",-0]"#, 1, 8),
        ("[-1,10,-0,1]", 1, 9),
    ] {
        let error = parse_strict(text.as_bytes()).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
        assert!(parse_ijson(text.as_bytes()).is_ok(), "{text}");
    }
    for text in [r#""-0""#, r#""\"-0""#, r#""\\-0""#, r#"["a","-0"]"#, "[-1,0,-10]", "\"\\\\\"\n"] {
        assert!(parse_strict(text.as_bytes()).is_ok(), "{text}");
    }
}

#[test]
fn the_largest_safe_integers_are_read_and_none_beyond() {
    for text in ["9007199254740991", "-9007199254740991"] {
        assert_eq!(parse_strict(text.as_bytes()).unwrap().to_string(), text);
    }
    for text in ["9007199254740992", "-9007199254740992"] {
        assert!(parse_strict(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn an_object_that_claims_to_be_a_number_and_is_none_is_refused() {
    for content in ["1", "\"x\"", "[]"] {
        let text = format!("{{\"$serde_json::private::Number\":{content}}}");
        assert!(parse_ijson(text.as_bytes()).is_err(), "{text}");
    }
}

/// A reader that says whether there is something, as those of other languages do.
struct Maybe(Option<&'static str>);

impl<'de> Deserializer<'de> for Maybe {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Some(text) => {
                let inner: StrDeserializer<'_, Error> = text.into_deserializer();
                visitor.visit_some(inner)
            }
            None => visitor.visit_none(),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[test]
fn what_any_reader_describes_is_read() {
    let owned: StringDeserializer<Error> = "owned".to_owned().into_deserializer();
    assert_eq!(read_once(owned).unwrap(), json!("owned"));
    assert_eq!(read_once(Maybe(Some("there"))).unwrap(), json!("there"));
    assert_eq!(read_once(Maybe(None)).unwrap(), Value::Null);
    let bytes: BytesDeserializer<'_, Error> = b"x".as_slice().into_deserializer();
    let refused = read_once(bytes).unwrap_err().to_string();
    assert!(refused.ends_with("expected a value"), "{refused}");
}
