//! Requests in files.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{Method, Request, Sandbox, rooted};

/// The longest request file, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Keys of seed 000's request that are those of `chat`.
const OF_CHAT: [&str; 2] = ["model", "tools"];

/// How a request is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
}

/// The request cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The file cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is longer than a request may be.
    #[error("`{path}` is larger than {MAX_FILE_BYTES} bytes, which no request is")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The ending says nothing.
    #[error("cannot tell the format of `{path}`; name it .json, .yaml, .yml or .toml")]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// The text is not what its ending says, or not a request.
    #[error("`{name}` is no request: {detail}")]
    Parse {
        /// The file, or where the text came from.
        name: String,
        /// What is wrong, with its place.
        detail: String,
    },
    /// A key of the chat model stands at the top and under `chat`.
    #[error("`{name}` says `{key}` twice, at the top and under `chat`; remove one")]
    Twice {
        /// The file, or where the text came from.
        name: String,
        /// The key.
        key: &'static str,
    },
}

impl RequestError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "request_read",
            Self::TooLarge { .. } => "request_too_large",
            Self::Ending { .. } => "request_ending",
            Self::Parse { .. } => "request_parse",
            Self::Twice { .. } => "request_key_twice",
        }
    }
}

impl Request {
    /// Reads a request file. Its `workspace` and `verify_files` are taken as relative to its folder.
    ///
    /// # Errors
    /// [`RequestError`] if it cannot be read or is no request.
    pub fn load(path: &Path) -> Result<Self, RequestError> {
        let failed = |source| RequestError::Read { path: path.to_path_buf(), source };
        let mut request = Self::read_file(path)?;
        request.rebase(path.parent().unwrap_or(Path::new("")));
        request.sealed.push(std::path::absolute(path).map_err(failed)?);
        Ok(request)
    }

    /// Reads a request file, its paths as they stand there.
    ///
    /// # Errors
    /// As [`Request::load`].
    pub(crate) fn read_file(path: &Path) -> Result<Self, RequestError> {
        let failed = |source| RequestError::Read { path: path.to_path_buf(), source };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(failed(std::io::Error::other("it is no regular file")));
        }
        if metadata.len() > MAX_FILE_BYTES {
            return Err(RequestError::TooLarge { path: path.to_path_buf() });
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let format = match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Format::Json,
            Some("yaml" | "yml") => Format::Yaml,
            Some("toml") => Format::Toml,
            _ => return Err(RequestError::Ending { path: path.to_path_buf() }),
        };
        Self::parse(&text, format, &path.display().to_string())
    }

    /// Reads a request from text; `name` says in messages where it came from.
    ///
    /// # Errors
    /// [`RequestError::Parse`] or [`RequestError::Twice`].
    pub fn parse(text: &str, format: Format, name: &str) -> Result<Self, RequestError> {
        let failed = |detail: String| RequestError::Parse {
            name: name.to_owned(),
            detail: detail.trim().to_owned(),
        };
        let value: Value = match format {
            Format::Json => {
                serde_json::from_str(text).map_err(|error| failed(error.to_string()))?
            }
            Format::Yaml => yaml(text).map_err(|error| failed(error.to_string()))?,
            Format::Toml => toml::from_str(text).map_err(|error| failed(error.to_string()))?,
        };
        Self::read(value, name)
    }

    /// Reads a request from the value that a text holds; `name` says in messages where it came from.
    ///
    /// # Errors
    /// [`RequestError::Parse`] or [`RequestError::Twice`].
    pub fn read(mut value: Value, name: &str) -> Result<Self, RequestError> {
        if let Value::Object(keys) = &mut value {
            gather(keys).map_err(|key| RequestError::Twice { name: name.to_owned(), key })?;
        }
        serde_json::from_value(value).map_err(|error| RequestError::Parse {
            name: name.to_owned(),
            detail: error.to_string().trim().to_owned(),
        })
    }

    /// The files of verifiers and tools that the request names.
    pub(crate) fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let methods = self.methods.values_mut().filter_map(Method::file_mut);
        let tools = self.chat.iter_mut().flat_map(|chat| &mut chat.tools);
        let tools = tools.filter_map(|tool| tool.script_file.as_mut());
        self.verify_files.iter_mut().chain(methods).chain(tools)
    }

    fn rebase(&mut self, folder: &Path) {
        if let Some(workspace) = &mut self.workspace {
            *workspace = folder.join(&*workspace);
        }
        for path in self.files_mut() {
            *path = folder.join(&*path);
        }
        self.root_sandbox(folder);
    }

    /// Makes the paths of the sandbox absolute.
    pub(crate) fn root_sandbox(&mut self, folder: &Path) {
        for path in self.sandbox.iter_mut().flat_map(Sandbox::paths_mut) {
            *path = rooted(path, folder);
        }
    }
}

/// Puts the keys of a chat model that stand at the top, as seed 000 has them, under `chat`.
///
/// # Errors
/// The key that is there already.
fn gather(keys: &mut Map<String, Value>) -> Result<(), &'static str> {
    for key in OF_CHAT {
        let Some(value) = keys.remove(key) else { continue };
        let chat = keys.entry("chat").or_insert_with(|| Value::Object(Map::new()));
        // Anything but a map is refused where the request as a whole is read.
        if let Value::Object(chat) = chat
            && chat.insert(key.to_owned(), value).is_some()
        {
            return Err(key);
        }
    }
    Ok(())
}

/// Reads YAML: `off` is a word, as in `red_first: off`, and nothing stands for anything else.
///
/// # Errors
/// What is wrong, with its place.
pub(crate) fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 64, max_aliases: 0, max_anchors: 0 },
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text, options)
}
