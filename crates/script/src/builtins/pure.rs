//! `hash`, `base64`, `math`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;

use crate::session::raise;

#[starlark_module]
pub(super) fn hash(builder: &mut GlobalsBuilder) {
    /// SHA-256 of a text's UTF-8 bytes as hex.
    fn sha256(#[starlark(require = pos)] text: &str) -> starlark::Result<String> {
        Ok(hex::encode(Sha256::digest(text.as_bytes())))
    }
}

#[starlark_module]
pub(super) fn base64(builder: &mut GlobalsBuilder) {
    /// The text's UTF-8 bytes in the standard alphabet, padded.
    fn encode(#[starlark(require = pos)] text: &str) -> starlark::Result<String> {
        Ok(STANDARD.encode(text))
    }

    /// The text those bytes stand for; bytes that are not UTF-8 are an error.
    fn decode(#[starlark(require = pos)] text: &str) -> starlark::Result<String> {
        let bytes = STANDARD.decode(text).map_err(|error| raise(format!("not base64: {error}")))?;
        String::from_utf8(bytes).map_err(|_| raise("the decoded bytes are not UTF-8 text"))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "`as` saturates; the bound is checked before")]
fn whole(value: f64) -> starlark::Result<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.abs() <= EXACT {
        return Ok(value as i64);
    }
    Err(raise("the number has no exact integer"))
}

#[starlark_module]
pub(super) fn math(builder: &mut GlobalsBuilder) {
    /// The largest integer not above the number.
    fn floor(#[starlark(require = pos)] value: UnpackFloat) -> starlark::Result<i64> {
        whole(value.0.floor())
    }

    /// The smallest integer not below the number.
    fn ceil(#[starlark(require = pos)] value: UnpackFloat) -> starlark::Result<i64> {
        whole(value.0.ceil())
    }

    /// The smaller of two.
    fn min<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
    ) -> starlark::Result<Value<'v>> {
        Ok(if right.compare(left)?.is_lt() { right } else { left })
    }

    /// The larger of two.
    fn max<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
    ) -> starlark::Result<Value<'v>> {
        Ok(if right.compare(left)?.is_gt() { right } else { left })
    }

    /// The distance from zero.
    fn abs<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        heap: starlark::values::Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let zero = heap.alloc(0);
        if value.compare(zero)?.is_lt() { zero.sub(value, heap) } else { Ok(value) }
    }
}
