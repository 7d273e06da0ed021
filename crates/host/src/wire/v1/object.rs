//! Reading the members of a JSON object, with the place of whatever is wrong.

use serde_json::{Map, Value};

use crate::error::Failure;

/// An object of a request.
pub(crate) struct Fields<'a> {
    members: &'a Map<String, Value>,
    path: String,
}

impl<'a> Fields<'a> {
    /// The body of a request.
    pub(crate) fn of(body: &'a Value) -> Result<Self, Failure> {
        Self::at(body, String::new())
    }

    fn at(value: &'a Value, path: String) -> Result<Self, Failure> {
        match value {
            Value::Object(members) => Ok(Self { members, path }),
            _ => Err(Failure::invalid(place(&path), "must be an object")),
        }
    }

    /// Refuses members other than these.
    pub(crate) fn only(&self, names: &[&str]) -> Result<(), Failure> {
        match self.members.keys().find(|name| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let name: String = name.chars().take(64).collect();
                let known = names.join(", ");
                Err(Failure::invalid(&self.path_of(&name), format!("is not known: one of {known}")))
            }
        }
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, name: &str, max_chars: usize) -> Result<Option<String>, Failure> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.as_str() {
            Some(text) if !text.is_empty() && text.chars().count() <= max_chars => {
                Ok(Some(text.to_owned()))
            }
            _ => Err(self.wrong(name, format!("must be text of 1 to {max_chars} characters"))),
        }
    }

    pub(crate) fn required_text(&self, name: &str, max_chars: usize) -> Result<String, Failure> {
        self.text(name, max_chars)?.ok_or_else(|| self.wrong(name, "is required"))
    }

    pub(crate) fn whole(&self, name: &str, least: u64) -> Result<Option<u64>, Failure> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let number = value.as_u64().or_else(|| whole_float(value));
        number
            .filter(|number| {
                *number >= least && *number <= probity_record::canonical::MAX_SAFE_INTEGER
            })
            .map(Some)
            .ok_or_else(|| self.wrong(name, format!("must be a whole number from {least} on")))
    }

    pub(crate) fn object(&self, name: &str) -> Result<Map<String, Value>, Failure> {
        match self.value(name) {
            None => Ok(Map::new()),
            Some(Value::Object(members)) => Ok(members.clone()),
            Some(_) => Err(self.wrong(name, "must be an object")),
        }
    }

    pub(crate) fn fields(&self, name: &str) -> Result<Option<Self>, Failure> {
        self.value(name).map(|value| Self::at(value, self.path_of(name))).transpose()
    }

    pub(crate) fn texts(
        &self,
        name: &str,
        max_count: usize,
        max_chars: usize,
    ) -> Result<Option<Vec<String>>, Failure> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let wrong = || {
            let what = format!("must be at most {max_count} texts of 1 to {max_chars} characters");
            self.wrong(name, what)
        };
        let items = value.as_array().filter(|items| items.len() <= max_count).ok_or_else(wrong)?;
        let text = |item: &Value| {
            let text = item.as_str().filter(|t| !t.is_empty() && t.chars().count() <= max_chars);
            text.map(str::to_owned).ok_or_else(wrong)
        };
        items.iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    pub(crate) fn wrong(&self, name: &str, what: impl Into<String>) -> Failure {
        Failure::invalid(&self.path_of(name), what)
    }

    fn path_of(&self, name: &str) -> String {
        let name = name.replace('~', "~0").replace('/', "~1");
        format!("{}/{name}", self.path)
    }
}

/// `3.0` is a whole number as well.
fn whole_float(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0)?;
    format!("{number:.0}").parse().ok()
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the body" } else { path }
}
