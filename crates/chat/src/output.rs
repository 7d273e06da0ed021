//! The output that a typed agent hands in.

use std::fmt;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use crate::{FINAL_OUTPUT, ToolSpec, schema};

type Normalise = Arc<dyn Fn(Value) -> Result<Value, String> + Send + Sync>;

/// The declared output: the model hands it in by calling `final_output`.
#[derive(Clone)]
pub struct OutputSchema {
    schema: Value,
    validator: Arc<Validator>,
    normalise: Option<Normalise>,
}

/// The schema of an output cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the schema of the output cannot be used: {detail}; describe an object, and a bare value as \
     one of its members"
)]
pub struct OutputSchemaError {
    detail: String,
}

impl OutputSchemaError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "output_schema"
    }
}

impl OutputSchema {
    /// An output of this JSON schema, which must be that of an object.
    ///
    /// # Errors
    /// [`OutputSchemaError`] if it does not compile or is not that of an object.
    pub fn new(schema: Value) -> Result<Self, OutputSchemaError> {
        let validator = schema::compile(&schema).map_err(|detail| OutputSchemaError { detail })?;
        Ok(Self { schema, validator: Arc::new(validator), normalise: None })
    }

    /// The same, with a function that makes of a value that fits the schema the one that is handed
    /// in: a typed agent reads it into its type and writes it back, so that defaults are filled in.
    /// Its error is told to the model as one about the output.
    #[must_use]
    pub fn normalised(
        mut self,
        normalise: Arc<dyn Fn(Value) -> Result<Value, String> + Send + Sync>,
    ) -> Self {
        self.normalise = Some(normalise);
        self
    }

    /// The schema.
    #[must_use]
    pub const fn schema(&self) -> &Value {
        &self.schema
    }

    /// The output in the arguments of a call of `final_output`.
    ///
    /// # Errors
    /// What is wrong with them, in at most 4 KiB of words for the model.
    pub fn read(&self, arguments: &str) -> Result<Value, String> {
        let value = schema::read(&self.validator, arguments)?;
        match &self.normalise {
            Some(normalise) => normalise(value)
                .map_err(|detail| crate::cut::at_the_end(&detail, 3 * 1024).into_owned()),
            None => Ok(value),
        }
    }

    /// The tool by which it is handed in.
    #[must_use]
    pub fn tool(&self) -> ToolSpec {
        ToolSpec {
            name: FINAL_OUTPUT.to_owned(),
            description: "Complete the task and return the final output to the user.".to_owned(),
            parameters: self.schema.clone(),
        }
    }
}

impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputSchema").field("schema", &self.schema).finish_non_exhaustive()
    }
}
