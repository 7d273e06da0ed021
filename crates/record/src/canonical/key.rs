//! Keys of objects as text: texts, characters, names of variants, integers. Nothing else is one.

use serde::Serialize;
use serde::ser::{Impossible, Serializer};

use super::{CanonicalError, Problem};

/// Serialises a key.
pub(super) struct KeyText;

type Never = Impossible<String, CanonicalError>;

fn not_text<T>() -> Result<T, CanonicalError> {
    Err(CanonicalError::new(Problem::KeyNotText))
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, v: $type) -> Result<String, CanonicalError> {
            Ok(v.to_string())
        })*
    };
}

impl Serializer for KeyText {
    type Ok = String;
    type Error = CanonicalError;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_str(self, v: &str) -> Result<String, CanonicalError> {
        Ok(v.to_owned())
    }

    fn serialize_char(self, v: char) -> Result<String, CanonicalError> {
        Ok(v.into())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<String, CanonicalError> {
        Ok(variant.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        v: &T,
    ) -> Result<String, CanonicalError> {
        v.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Result<String, CanonicalError> {
        v.serialize(self)
    }

    fn serialize_bool(self, _: bool) -> Result<String, CanonicalError> {
        not_text()
    }

    fn serialize_f32(self, _: f32) -> Result<String, CanonicalError> {
        not_text()
    }

    fn serialize_f64(self, _: f64) -> Result<String, CanonicalError> {
        not_text()
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<String, CanonicalError> {
        not_text()
    }

    fn serialize_none(self) -> Result<String, CanonicalError> {
        not_text()
    }

    fn serialize_unit(self) -> Result<String, CanonicalError> {
        not_text()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<String, CanonicalError> {
        not_text()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, CanonicalError> {
        not_text()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Never, CanonicalError> {
        not_text()
    }

    fn serialize_tuple(self, _: usize) -> Result<Never, CanonicalError> {
        not_text()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, CanonicalError> {
        not_text()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, CanonicalError> {
        not_text()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Never, CanonicalError> {
        not_text()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Never, CanonicalError> {
        not_text()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, CanonicalError> {
        not_text()
    }
}
