//! A serializer that writes canonical text as it goes and loses nothing in silence.
//!
//! `serde_json` turns NaN into `null` and keeps the last of two equal keys. Here both are errors, so
//! that two different values never share a canonical text.

use std::borrow::Cow;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Number;

use super::key::KeyText;
use super::number::SPELLED;
use super::{CanonicalError, Problem, Profile, deeper, utf16_order, write_number, write_string};

/// The value's text, with every number legal in the profile.
pub(super) fn write<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
) -> Result<Vec<u8>, CanonicalError> {
    let mut out = Vec::with_capacity(512);
    value.serialize(Writer { out: &mut out, profile, depth: 0 })?;
    Ok(out)
}

impl serde::ser::Error for CanonicalError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new(Problem::Refused { message: message.to_string() })
    }
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    profile: Profile,
    depth: usize,
}

impl<'a> Writer<'a> {
    fn inside(self) -> Result<Self, CanonicalError> {
        Ok(Self { depth: deeper(self.depth)?, ..self })
    }

    /// Opens the object that names a variant.
    fn tagged(self, variant: &'static str) -> Result<Self, CanonicalError> {
        let inside = self.inside()?;
        inside.out.push(b'{');
        write_string(inside.out, variant);
        inside.out.push(b':');
        Ok(inside)
    }

    fn members(self, is_tagged: bool) -> Result<Members<'a>, CanonicalError> {
        Ok(self.inside()?.object(is_tagged))
    }

    /// An object whose members stand at this depth.
    fn object(self, is_tagged: bool) -> Members<'a> {
        let at = self.out.len();
        self.out.push(b'{');
        let (written, key) = (Vec::new(), None);
        Members { inner: self, at, written, key, is_sorted: true, is_tagged }
    }

    fn items(self, is_tagged: bool) -> Result<Items<'a>, CanonicalError> {
        let inner = self.inside()?;
        inner.out.push(b'[');
        Ok(Items { inner, count: 0, is_tagged })
    }

    fn number(self, number: &Number) -> Result<(), CanonicalError> {
        write_number(self.out, number, self.profile).map_err(CanonicalError::new)
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, v: $type) -> Result<(), CanonicalError> {
            self.number(&v.into())
        })*
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Items<'a>;
    type SerializeTuple = Items<'a>;
    type SerializeTupleStruct = Items<'a>;
    type SerializeTupleVariant = Items<'a>;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Members<'a>;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_bool(self, v: bool) -> Result<(), CanonicalError> {
        self.out.extend_from_slice(if v { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, v: f32) -> Result<(), CanonicalError> {
        self.serialize_f64(v.into())
    }

    fn serialize_f64(self, v: f64) -> Result<(), CanonicalError> {
        let number = Number::from_f64(v).ok_or(CanonicalError::new(Problem::NotFinite))?;
        match self.profile {
            Profile::Record => {
                Err(CanonicalError::new(Problem::Float { text: number.to_string() }))
            }
            Profile::Jcs => self.number(&number),
        }
    }

    fn serialize_char(self, v: char) -> Result<(), CanonicalError> {
        self.serialize_str(v.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, v: &str) -> Result<(), CanonicalError> {
        write_string(self.out, v);
        Ok(())
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<(), CanonicalError> {
        let mut items = self.items(false)?;
        v.iter().try_for_each(|byte| items.push(byte))?;
        items.finish()
    }

    fn serialize_none(self) -> Result<(), CanonicalError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Result<(), CanonicalError> {
        v.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), CanonicalError> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), CanonicalError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), CanonicalError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        v: &T,
    ) -> Result<(), CanonicalError> {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        v: &T,
    ) -> Result<(), CanonicalError> {
        let Writer { out, profile, depth } = self.tagged(variant)?;
        v.serialize(Writer { out, profile, depth }).map_err(|error| error.under(variant))?;
        out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a>, CanonicalError> {
        self.items(false)
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a>, CanonicalError> {
        self.items(false)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Items<'a>, CanonicalError> {
        self.items(false)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a>, CanonicalError> {
        self.tagged(variant)?.items(true)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'a>, CanonicalError> {
        self.members(false)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Members<'a>, CanonicalError> {
        // A number that is handed over as text is no level of its own.
        if name == SPELLED { Ok(self.object(false)) } else { self.members(false) }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'a>, CanonicalError> {
        self.tagged(variant)?.members(true)
    }
}

/// An array at work.
struct Items<'a> {
    inner: Writer<'a>,
    count: usize,
    is_tagged: bool,
}

impl Items<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), CanonicalError> {
        if self.count > 0 {
            self.inner.out.push(b',');
        }
        let Writer { out, profile, depth } = &mut self.inner;
        v.serialize(Writer { out, profile: *profile, depth: *depth })
            .map_err(|error| error.under(&self.count.to_string()))?;
        self.count += 1;
        Ok(())
    }

    fn finish(self) -> Result<(), CanonicalError> {
        self.inner.out.extend_from_slice(if self.is_tagged { b"]}" } else { b"]" });
        Ok(())
    }
}

/// An object at work: members are written in the order in which they come, and put in order at the
/// end if that was another.
struct Members<'a> {
    inner: Writer<'a>,
    /// Where its brace stands.
    at: usize,
    written: Vec<Member>,
    /// The key whose value comes next.
    key: Option<String>,
    is_sorted: bool,
    is_tagged: bool,
}

/// A member, as it stands in the text: without the comma before it.
struct Member {
    key: Cow<'static, str>,
    from: usize,
    to: usize,
}

impl Members<'_> {
    fn insert<T: Serialize + ?Sized>(
        &mut self,
        key: Cow<'static, str>,
        v: &T,
    ) -> Result<(), CanonicalError> {
        if let Some(last) = self.written.last() {
            self.inner.out.push(b',');
            self.is_sorted &= utf16_order(&last.key, &key).is_lt();
        }
        let from = self.inner.out.len();
        let Writer { out, profile, depth } = &mut self.inner;
        write_string(out, &key);
        out.push(b':');
        v.serialize(Writer { out, profile: *profile, depth: *depth })
            .map_err(|error| error.under(&key))?;
        self.written.push(Member { key, from, to: self.inner.out.len() });
        Ok(())
    }

    fn finish(mut self) -> Result<(), CanonicalError> {
        if let Some(number) = self.spelled().filter(|_| !self.is_tagged) {
            self.inner.out.truncate(self.at);
            return self.inner.number(&number);
        }
        if !self.is_sorted {
            self.sort()?;
        }
        self.inner.out.extend_from_slice(if self.is_tagged { b"}}" } else { b"}" });
        Ok(())
    }

    /// The number that the text of an object of one member spells: so serde_json hands numbers over in
    /// builds in which it keeps their text.
    fn spelled(&self) -> Option<Number> {
        let [Member { key, from, to }] = self.written.as_slice() else { return None };
        if key != SPELLED {
            return None;
        }
        let member = std::str::from_utf8(self.inner.out.get(*from..*to)?).ok()?;
        let value = member.strip_prefix('"')?.strip_prefix(SPELLED)?.strip_prefix("\":\"")?;
        value.strip_suffix('"')?.parse().ok()
    }

    fn sort(&mut self) -> Result<(), CanonicalError> {
        self.written.sort_by(|a, b| utf16_order(&a.key, &b.key));
        let mut sorted = Vec::with_capacity(self.inner.out.len().saturating_sub(self.at));
        let mut before: Option<&str> = None;
        for Member { key, from, to } in &self.written {
            if before == Some(key) {
                let key = key.clone().into_owned();
                return Err(CanonicalError::new(Problem::DuplicateKey { key }));
            }
            if before.is_some() {
                sorted.push(b',');
            }
            sorted.extend_from_slice(self.inner.out.get(*from..*to).unwrap_or_default());
            before = Some(key);
        }
        self.inner.out.truncate(self.at + 1);
        self.inner.out.extend_from_slice(&sorted);
        Ok(())
    }
}

macro_rules! sequence {
    ($($trait:ident :: $method:ident),*) => {
        $(impl $trait for Items<'_> {
            type Ok = ();
            type Error = CanonicalError;

            fn $method<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), CanonicalError> {
                self.push(v)
            }

            fn end(self) -> Result<(), CanonicalError> {
                self.finish()
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
        $(impl $trait for Members<'_> {
            type Ok = ();
            type Error = CanonicalError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                v: &T,
            ) -> Result<(), CanonicalError> {
                self.insert(Cow::Borrowed(key), v)
            }

            fn end(self) -> Result<(), CanonicalError> {
                self.finish()
            }
        })*
    };
}

structure!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Members<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        self.key = Some(key.serialize(KeyText)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), CanonicalError> {
        let key = self.key.take().ok_or(CanonicalError::new(Problem::KeyNotText))?;
        self.insert(Cow::Owned(key), v)
    }

    fn end(self) -> Result<(), CanonicalError> {
        self.finish()
    }
}
