//! The tools of an agent.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use crate::{FINAL_OUTPUT, Tool, ToolSpec, schema};

/// The tools of an agent: their names are legal and unique, their schemas compile.
#[derive(Clone, Default)]
pub struct Toolbox {
    specs: Vec<ToolSpec>,
    shelf: HashMap<String, Shelved>,
}

#[derive(Clone)]
struct Shelved {
    tool: Arc<dyn Tool>,
    validator: Arc<Validator>,
}

/// A tool cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolboxError {
    /// Its name is not one that providers take.
    #[error("`{name}` is no name of a tool: it takes 1 to 64 of A-Z a-z 0-9 _ -; rename the tool")]
    Name {
        /// The name, cut to 80 bytes.
        name: String,
    },
    /// Its name is taken.
    #[error("there is a tool `{name}` already; rename one of them")]
    Taken {
        /// The name.
        name: String,
    },
    /// Its schema cannot be used.
    #[error("the schema of the tool `{name}` cannot be used: {detail}; correct the schema")]
    Schema {
        /// The tool.
        name: String,
        /// What is wrong.
        detail: String,
    },
}

impl ToolboxError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } => "tool_name",
            Self::Taken { .. } => "tool_name_taken",
            Self::Schema { .. } => "tool_schema",
        }
    }
}

impl Toolbox {
    /// These tools, told to the model in this order.
    ///
    /// # Errors
    /// As [`Toolbox::add`].
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Result<Self, ToolboxError> {
        let mut toolbox = Self::default();
        for tool in tools {
            toolbox.add(tool)?;
        }
        Ok(toolbox)
    }

    /// Puts one tool more behind the others.
    ///
    /// # Errors
    /// [`ToolboxError`] if its name is illegal or taken (`final_output` always is), or its schema does
    /// not compile or is not that of an object.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolboxError> {
        let spec = tool.spec().clone();
        let name = spec.name.clone();
        if !ToolSpec::is_name(&name) {
            let name = crate::cut::at_the_end(&name, 80).into_owned();
            return Err(ToolboxError::Name { name });
        }
        if name == FINAL_OUTPUT || self.shelf.contains_key(&name) {
            return Err(ToolboxError::Taken { name });
        }
        let validator = match schema::compile(&spec.parameters) {
            Ok(validator) => Arc::new(validator),
            Err(detail) => return Err(ToolboxError::Schema { name, detail }),
        };
        self.specs.push(spec);
        self.shelf.insert(name, Shelved { tool, validator });
        Ok(())
    }

    /// What the model is told of them.
    #[must_use]
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The tool of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.shelf.get(name).map(|shelved| &shelved.tool)
    }

    /// The tool that a call means, and the call's arguments.
    ///
    /// # Errors
    /// Why it cannot be made, in at most 4 KiB of words for the model.
    pub fn admit(&self, name: &str, arguments: &str) -> Result<(Arc<dyn Tool>, Value), String> {
        let Some(shelved) = self.shelf.get(name) else {
            return Err(self.unknown(name));
        };
        match schema::read(&shelved.validator, arguments) {
            Ok(arguments) => Ok((Arc::clone(&shelved.tool), arguments)),
            Err(detail) => Err(format!("not executed: the arguments cannot be used: {detail}")),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!(
            "not executed: there is no tool `{}`; there is: {}",
            crate::cut::at_the_end(name, 80),
            crate::cut::at_the_end(&names, 2 * 1024)
        )
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        f.debug_tuple("Toolbox").field(&names).finish()
    }
}
