//! `json:PATH`: a JSON document in a file, or with the target `-` the claim itself: its output, or
//! else its response read as JSON.
//!
//! | Situation | Result |
//! |---|---|
//! | nothing at the path; not a regular file; a new link | revise `json_missing`, `json_kind`, `json_link` |
//! | the link leads out of the workspace; links in a circle | revise `path_escapes`, `path_loop` |
//! | the content is not JSON, or an object holds a key twice | revise `json_syntax` |
//! | the schema is not fulfilled; at most three violations are named | revise `json_schema` |
//! | no value at `pointer`, or another than `equals` | revise `json_value` |
//! | no permission, read error, over 64 MiB, no answer in time | inconclusive `path_denied`, `path_unreadable`, `path_too_large`, `read_timeout` |
//! | path outside the workspace | fault `path_outside` |
//! | the schema's file is missing, over 1 MiB or not JSON | fault `schema_unreadable` |
//! | the schema does not compile, or refers to another document | fault `schema_invalid` |
//!
//! Patterns in a schema match in linear time, so those with look-around or back-references do not
//! compile.

use std::sync::Arc;

use async_trait::async_trait;
use jsonschema::{PatternOptions, Validator};
use probity_core::{Evidence, Fault, Verdict};
use serde_json::Value;

use super::file::link_reason;
use super::place::locate;
use super::tally::Tally;
use super::{MAX_READ_BYTES, blocking, document, first_words, unanswered};
use crate::hash::digest_of;
use crate::spec::{JsonSpec, SchemaSource, SpecError};
use crate::workspace::{Kind, PathError, path_of};
use crate::{CheckContext, Verifier};

const MAX_SCHEMA_BYTES: u64 = 1 << 20;
/// Violations of a schema that are named.
const MAX_VIOLATIONS: usize = 3;

/// The effect `json`.
#[derive(Debug, Clone)]
pub struct Json {
    spec: Arc<JsonSpec>,
    /// Compiled where the schema is inline; a schema in a file is read for each verdict.
    inline: Option<Arc<Validator>>,
}

impl Json {
    /// The effect of a spec.
    ///
    /// # Errors
    /// [`SpecError::Schema`] when an inline schema does not compile.
    pub fn new(spec: JsonSpec) -> Result<Self, SpecError> {
        let inline = match &spec.schema {
            Some(SchemaSource::Inline(schema)) => {
                Some(Arc::new(compile(schema).map_err(|detail| SpecError::Schema { detail })?))
            }
            _ => None,
        };
        Ok(Self { spec: Arc::new(spec), inline })
    }

    fn judge(&self, ctx: &CheckContext) -> Result<Result<Verdict, Fault>, PathError> {
        let mut tally = Tally::default();
        let (what, document) = if self.spec.path == "-" {
            ("the response".to_owned(), claimed(ctx, &mut tally))
        } else {
            (format!("`{}`", self.spec.path), self.read(ctx, &mut tally)?)
        };
        let Some(document) = document else { return Ok(Ok(tally.verdict())) };
        match self.validator(ctx) {
            Ok(Some(validator)) => schema(&what, &validator, &document, &mut tally),
            Ok(None) => {}
            Err(fault) => return Ok(Err(fault)),
        }
        let pointer = self.spec.pointer.as_deref();
        let equals = self.spec.equals.as_ref();
        document::judge(&what, "json_value", &document, pointer, equals, &mut tally);
        Ok(Ok(tally.verdict()))
    }

    /// The document in the file; `None` when what is there is noted as a difference.
    fn read(&self, ctx: &CheckContext, tally: &mut Tally) -> Result<Option<Value>, PathError> {
        let path = &self.spec.path;
        let source = format!("json:{path}");
        let place = locate(ctx, path)?;
        let kind = place.stat.map(|stat| stat.kind);
        if let Some(kind) = kind.filter(|kind| *kind != Kind::File) {
            tally.saw(Evidence::new(source, kind.to_string()));
            tally.miss("json_kind", format!("`{path}` is a {kind}, not a regular file"));
            return Ok(None);
        }
        if let (Some(_), Some(link)) = (kind, &place.new_link) {
            tally.saw(Evidence::new(source, format!("link to {}", place.key)));
            tally.miss("json_link", link_reason(path, link, &place.key));
            return Ok(None);
        }
        let at = path_of(&place.key).unwrap_or_else(|| path.into());
        let bytes = match kind {
            Some(_) => ctx.workspace.read(&at, MAX_READ_BYTES)?,
            None => None,
        };
        let Some(bytes) = bytes else {
            tally.saw(Evidence::new(source, "absent"));
            tally.miss("json_missing", format!("file `{path}` does not exist"));
            return Ok(None);
        };
        Ok(parsed(&format!("`{path}`"), source, &bytes, tally))
    }

    fn validator(&self, ctx: &CheckContext) -> Result<Option<Arc<Validator>>, Fault> {
        let path = match &self.spec.schema {
            None => return Ok(None),
            Some(SchemaSource::Inline(_)) => return Ok(self.inline.clone()),
            Some(SchemaSource::Path(path)) => path,
        };
        let unreadable = |why: String| {
            Fault::new("schema_unreadable", format!("the schema `{path}` cannot be read: {why}"))
        };
        let bytes = ctx
            .workspace
            .read(path, MAX_SCHEMA_BYTES)
            .map_err(|error| unreadable(error.to_string()))?
            .ok_or_else(|| unreadable("it does not exist".to_owned()))?;
        let schema: Value =
            document::read(&bytes).map_err(|error| unreadable(error.to_string()))?;
        compile(&schema).map(|validator| Some(Arc::new(validator))).map_err(|detail| {
            Fault::new("schema_invalid", format!("the schema `{path}` does not compile: {detail}"))
        })
    }
}

#[async_trait]
impl Verifier for Json {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let this = self.clone();
        blocking(ctx, move |ctx| match this.judge(ctx) {
            Ok(verdict) => verdict,
            Err(error) => unanswered(&error),
        })
        .await
    }
}

/// Compiles a schema; the error is the compiler's words.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| first_words(&error.to_string(), 200))
}

fn claimed(ctx: &CheckContext, tally: &mut Tally) -> Option<Value> {
    match &ctx.claim.output {
        Some(output) => {
            let bytes = output.to_string();
            let evidence = Evidence::new("json:output", format!("{} bytes", bytes.len()));
            tally.saw(evidence.with_digest(digest_of(bytes.as_bytes())));
            Some(output.clone())
        }
        None => {
            let source = "json:response".to_owned();
            parsed("the response", source, ctx.claim.response.as_bytes(), tally)
        }
    }
}

fn parsed(what: &str, source: String, bytes: &[u8], tally: &mut Tally) -> Option<Value> {
    let evidence = Evidence::new(source, format!("{} bytes", bytes.len()));
    tally.saw(evidence.with_digest(digest_of(bytes)));
    match document::read(bytes) {
        Ok(document) => Some(document),
        Err(error) => {
            tally.miss("json_syntax", format!("{what} is not JSON: {error}"));
            None
        }
    }
}

fn schema(what: &str, validator: &Validator, document: &Value, tally: &mut Tally) {
    tally.key("schema");
    let violations: Vec<String> = validator
        .iter_errors(document)
        .take(MAX_VIOLATIONS)
        .map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the root".to_owned() } else { format!("`{place}`") };
            format!("at {place}: {}", first_words(&error.to_string(), 120))
        })
        .collect();
    if !violations.is_empty() {
        let reason = format!("{what} does not fulfil the schema: {}", violations.join(", "));
        tally.miss("json_schema", reason);
    }
}
