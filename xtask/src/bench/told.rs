//! The kept outputs of one run of all programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::BenchError;

/// Outputs by the names of the programs.
#[derive(Debug, Default)]
pub struct Told {
    /// The folder they were in: the day of the run.
    pub name: String,
    files: BTreeMap<String, Value>,
}

impl Told {
    /// The outputs of the last run below a folder.
    ///
    /// # Errors
    /// There are none, or one of them is damaged.
    pub fn last(results: &Path) -> Result<Self, BenchError> {
        let nothing = || BenchError::Nothing { folder: results.to_path_buf() };
        let entries = fs::read_dir(results).map_err(|_| nothing())?;
        let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let last = folders.filter(|path| path.join("machine.json").is_file()).max();
        Self::read(&last.ok_or_else(nothing)?)
    }

    /// The outputs in a folder.
    ///
    /// # Errors
    /// One of them is damaged.
    pub fn read(folder: &Path) -> Result<Self, BenchError> {
        let name = folder.file_name().map(|it| it.to_string_lossy().into_owned());
        let mut told = Self { name: name.unwrap_or_default(), files: BTreeMap::new() };
        for entry in fs::read_dir(folder).map_err(|error| BenchError::io(folder, error))? {
            let path = entry.map_err(|error| BenchError::io(folder, error))?.path();
            let (Some(stem), Some("json")) =
                (path.file_stem(), path.extension().and_then(|it| it.to_str()))
            else {
                continue;
            };
            let bytes = fs::read(&path).map_err(|error| BenchError::io(&path, error))?;
            let stem = stem.to_string_lossy().into_owned();
            let value = serde_json::from_slice(&bytes);
            told.files.insert(stem, value.map_err(|error| BenchError::Damaged { path, error })?);
        }
        Ok(told)
    }

    /// A file, as it was told by its program.
    #[must_use]
    pub fn of(files: &[(&str, Value)]) -> Self {
        let files = files.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Self { name: "test".to_owned(), files: files.collect() }
    }

    /// A value of one output by its path; null where there is none.
    #[must_use]
    pub fn at(&self, program: &str, pointer: &str) -> &Value {
        self.files.get(program).and_then(|it| it.pointer(pointer)).unwrap_or(&Value::Null)
    }

    /// A number of what a program printed.
    #[must_use]
    pub fn number(&self, program: &str, pointer: &str) -> Option<f64> {
        self.at(program, &format!("/out{pointer}")).as_f64()
    }

    /// The items of a list that a program printed.
    #[must_use]
    pub fn list(&self, program: &str, pointer: &str) -> &[Value] {
        self.at(program, &format!("/out{pointer}")).as_array().map_or(&[], Vec::as_slice)
    }

    /// Names and outputs of all files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.files.iter().map(|(name, value)| (name.as_str(), value))
    }
}
