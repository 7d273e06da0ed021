//! A serializer into `Value` that loses nothing in silence.
//!
//! `serde_json::to_value` turns NaN into `null` and keeps the last of two equal keys. Here both are
//! errors, so that two different values never share a canonical text.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Map, Number, Value};

use super::number::spelled;
use super::{CanonicalError, Problem, Profile, deeper};

/// The value's tree, with every number legal in the profile.
pub(super) fn strict_value<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
) -> Result<Value, CanonicalError> {
    value.serialize(ToValue { profile, depth: 0 })
}

impl serde::ser::Error for CanonicalError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new(Problem::Refused { message: message.to_string() })
    }
}

#[derive(Clone, Copy)]
struct ToValue {
    profile: Profile,
    depth: usize,
}

impl ToValue {
    fn inside(self) -> Result<Self, CanonicalError> {
        Ok(Self { depth: deeper(self.depth)?, ..self })
    }

    fn members(self) -> Result<Members, CanonicalError> {
        Ok(Members { inner: self.inside()?, map: Map::new(), key: None, tag: None })
    }

    fn items(self) -> Result<Items, CanonicalError> {
        Ok(Items { inner: self.inside()?, items: Vec::new(), tag: None })
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, v: $type) -> Result<Value, CanonicalError> {
            Ok(Value::Number(v.into()))
        })*
    };
}

impl Serializer for ToValue {
    type Ok = Value;
    type Error = CanonicalError;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Members;
    type SerializeStruct = Members;
    type SerializeStructVariant = Members;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_bool(self, v: bool) -> Result<Value, CanonicalError> {
        Ok(Value::Bool(v))
    }

    fn serialize_f32(self, v: f32) -> Result<Value, CanonicalError> {
        self.serialize_f64(v.into())
    }

    fn serialize_f64(self, v: f64) -> Result<Value, CanonicalError> {
        let number = Number::from_f64(v).ok_or(CanonicalError::new(Problem::NotFinite))?;
        match self.profile {
            Profile::Record => {
                Err(CanonicalError::new(Problem::Float { text: number.to_string() }))
            }
            Profile::Jcs => Ok(Value::Number(number)),
        }
    }

    fn serialize_char(self, v: char) -> Result<Value, CanonicalError> {
        Ok(Value::String(v.into()))
    }

    fn serialize_str(self, v: &str) -> Result<Value, CanonicalError> {
        Ok(Value::String(v.to_owned()))
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<Value, CanonicalError> {
        Ok(Value::Array(v.iter().map(|byte| Value::from(*byte)).collect()))
    }

    fn serialize_none(self) -> Result<Value, CanonicalError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Result<Value, CanonicalError> {
        v.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, CanonicalError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, CanonicalError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, CanonicalError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        v: &T,
    ) -> Result<Value, CanonicalError> {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        v: &T,
    ) -> Result<Value, CanonicalError> {
        let inner = v.serialize(self.inside()?).map_err(|error| error.under(variant))?;
        Ok(tagged(Some(variant), inner))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items, CanonicalError> {
        self.items()
    }

    fn serialize_tuple(self, _: usize) -> Result<Items, CanonicalError> {
        self.items()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items, CanonicalError> {
        self.items()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items, CanonicalError> {
        Ok(Items { tag: Some(variant), ..self.inside()?.items()? })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members, CanonicalError> {
        self.members()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members, CanonicalError> {
        self.members()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members, CanonicalError> {
        Ok(Members { tag: Some(variant), ..self.inside()?.members()? })
    }
}

fn tagged(tag: Option<&'static str>, value: Value) -> Value {
    match tag {
        Some(tag) => Value::Object(Map::from_iter([(tag.to_owned(), value)])),
        None => value,
    }
}

struct Items {
    inner: ToValue,
    items: Vec<Value>,
    tag: Option<&'static str>,
}

impl Items {
    fn push<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), CanonicalError> {
        let index = self.items.len();
        let item = v.serialize(self.inner).map_err(|error| error.under(&index.to_string()))?;
        self.items.push(item);
        Ok(())
    }

    fn finish(self) -> Value {
        tagged(self.tag, Value::Array(self.items))
    }
}

struct Members {
    inner: ToValue,
    map: Map<String, Value>,
    key: Option<String>,
    tag: Option<&'static str>,
}

impl Members {
    fn insert<T: Serialize + ?Sized>(&mut self, key: String, v: &T) -> Result<(), CanonicalError> {
        let value = v.serialize(self.inner).map_err(|error| error.under(&key))?;
        if self.map.contains_key(&key) {
            return Err(CanonicalError::new(Problem::DuplicateKey { key }));
        }
        self.map.insert(key, value);
        Ok(())
    }

    fn finish(self) -> Value {
        match spelled(&self.map).filter(|_| self.tag.is_none()) {
            Some(number) => Value::Number(number),
            None => tagged(self.tag, Value::Object(self.map)),
        }
    }
}

macro_rules! sequence {
    ($($trait:ident :: $method:ident),*) => {
        $(impl $trait for Items {
            type Ok = Value;
            type Error = CanonicalError;

            fn $method<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), CanonicalError> {
                self.push(v)
            }

            fn end(self) -> Result<Value, CanonicalError> {
                Ok(self.finish())
            }
        })*
    };
}

sequence!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! structure {
    ($($trait:ident),*) => {
        $(impl $trait for Members {
            type Ok = Value;
            type Error = CanonicalError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                v: &T,
            ) -> Result<(), CanonicalError> {
                self.insert(key.to_owned(), v)
            }

            fn end(self) -> Result<Value, CanonicalError> {
                Ok(self.finish())
            }
        })*
    };
}

structure!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Members {
    type Ok = Value;
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        let key = match key.serialize(self.inner)? {
            Value::String(text) => text,
            Value::Number(number) if !number.is_f64() => number.to_string(),
            _ => return Err(CanonicalError::new(Problem::KeyNotText)),
        };
        self.key = Some(key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), CanonicalError> {
        let key = self.key.take().ok_or(CanonicalError::new(Problem::KeyNotText))?;
        self.insert(key, v)
    }

    fn end(self) -> Result<Value, CanonicalError> {
        Ok(self.finish())
    }
}
