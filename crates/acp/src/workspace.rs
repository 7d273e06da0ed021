//! Which paths are inside the workspace.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The folder that an agent works in, with every link in its own path followed.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The folder at `root`. One that does not exist yet is taken as it is written.
    pub(crate) fn new(root: &Path) -> Self {
        let absolute = std::path::absolute(root).unwrap_or_else(|_| root.to_path_buf());
        Self { root: std::fs::canonicalize(&absolute).unwrap_or(absolute) }
    }

    /// Its absolute path.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// `path` relative to the workspace, where it is inside once every link on the way is followed;
    /// `None` where it is not, or where a link cannot be followed. What only an agent or a shell would
    /// make a path of (`~/x`, `file:///x`) is not.
    pub(crate) fn inside(&self, path: &Path) -> Option<PathBuf> {
        let first = path.components().next().map(|first| first.as_os_str().as_encoded_bytes());
        if first.is_some_and(|first| first.starts_with(b"~") || first.ends_with(b":")) {
            return None;
        }
        let real = resolve(&self.root.join(path))?;
        real.strip_prefix(&self.root).ok().map(Path::to_path_buf)
    }
}

/// The real path: the longest part that exists has its links followed, the rest has no `..`.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut rest: Vec<OsString> = Vec::new();
    let mut there = path;
    loop {
        match std::fs::canonicalize(there) {
            Ok(mut real) => {
                real.extend(rest.iter().rev());
                return Some(real);
            }
            // A link that leads nowhere yet may lead anywhere once its target is made.
            Err(_) if there.is_symlink() => return None,
            Err(_) => match there.components().next_back()? {
                Component::Normal(name) => {
                    rest.push(name.to_os_string());
                    there = there.parent()?;
                }
                _ => return None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_are_followed_before_a_path_is_called_inside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(dir.path().join("secret"), "").unwrap();
        std::os::unix::fs::symlink(dir.path(), root.join("up")).unwrap();
        std::os::unix::fs::symlink(root.join("src"), root.join("in")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("later"), root.join("dangling")).unwrap();
        let workspace = Workspace::new(&root);
        let text = root.to_str().unwrap();
        for (path, inside) in [
            ("src/new.rs".to_owned(), Some("src/new.rs")),
            (format!("{text}/src/a/b.rs"), Some("src/a/b.rs")),
            (format!("{text}/src/../x"), Some("x")),
            ("in/x".to_owned(), Some("src/x")),
            (String::new(), Some("")),
            ("../secret".to_owned(), None),
            (format!("{text}/../secret"), None),
            ("up/secret".to_owned(), None),
            ("up/new".to_owned(), None),
            ("dangling".to_owned(), None),
            ("dangling/x".to_owned(), None),
            ("none/../../secret".to_owned(), None),
            (format!("{text}-other/x"), None),
            ("/etc/passwd".to_owned(), None),
            ("~/x".to_owned(), None),
            ("~root/x".to_owned(), None),
            (format!("file://{text}/x"), None),
            ("src/~/x:".to_owned(), Some("src/~/x:")),
        ] {
            assert_eq!(
                workspace.inside(Path::new(&path)).as_deref(),
                inside.map(Path::new),
                "{path}"
            );
        }
    }
}
