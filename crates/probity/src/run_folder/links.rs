//! Where links of a run directory lead, for the one reading that follows them.

use std::os::fd::AsRawFd as _;

use rustix::fs::{OFlags, readlinkat};
use rustix::io::Errno;

use probity_trace::compat::{LinkTarget, Links};
use probity_trace::{FileError, FileKind};

use super::{FOLDER, RunFolder, again, kind_at};

/// Links that are followed for one path, as many as the kernel follows.
const MAX_LINKS: usize = 40;
/// Names that are still to be looked at, those that links lead over included.
const MAX_NAMES: usize = 4096;

/// Links are read name by name and never through the kernel: of what lies outside the folder not
/// even its being there is looked at. A link may lead over the folders that this one lies in, by
/// their own names; through anything else it leads out, wherever it ends.
impl Links for RunFolder {
    fn follow(&self, path: &str) -> LinkTarget {
        self.resolve(path).unwrap_or_else(|stop| stop)
    }
}

impl RunFolder {
    fn resolve(&self, path: &str) -> Result<LinkTarget, LinkTarget> {
        let way = self.names_above();
        let mut behind = way.clone();
        let mut ahead: Vec<String> = names(path).collect();
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            match name.as_str() {
                "" | "." => continue,
                // Above the topmost folder is that folder.
                ".." => {
                    drop(behind.pop());
                    continue;
                }
                _ => {}
            }
            let Some(inside) = behind.get(way.len()..) else {
                if way.get(behind.len()) != Some(&name) {
                    return Err(LinkTarget::Outside);
                }
                behind.push(name);
                continue;
            };
            let target = match self.look(inside, &name)? {
                Look::Link(target) => target,
                Look::Folder => {
                    behind.push(name);
                    continue;
                }
                // What stands behind a file, be it a dot, is nothing.
                Look::Other if !ahead.is_empty() => return Err(LinkTarget::Missing),
                Look::Other => {
                    behind.push(name);
                    break;
                }
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(LinkTarget::Loop);
            }
            if target.starts_with('/') {
                behind.clear();
            }
            ahead.extend(names(&target));
            if ahead.len() > MAX_NAMES {
                return Err(LinkTarget::Unknown);
            }
        }
        let inside = behind.get(way.len()..).ok_or(LinkTarget::Outside)?;
        Ok(LinkTarget::Inside(inside.join("/")))
    }

    /// The names on the way from the topmost folder to this one, without links. Where the system does
    /// not tell, a name that no path can have: then nothing leads back in.
    fn names_above(&self) -> Vec<String> {
        let told = std::fs::read_link(format!("/proc/self/fd/{}", self.root.as_raw_fd()));
        let told = told.ok().and_then(|path| path.into_os_string().into_string().ok());
        match told.as_deref().and_then(|path| path.strip_prefix('/')) {
            Some("") => Vec::new(),
            Some(path) => path.split('/').map(str::to_owned).collect(),
            None => vec!["/".to_owned()],
        }
    }

    /// What a name in a folder is. The way to the folder has no link in it.
    fn look(&self, folder: &[String], name: &str) -> Result<Look, LinkTarget> {
        let path = if folder.is_empty() { None } else { Some(folder.join("/")) };
        let flags = FOLDER | OFlags::PATH;
        let opened = path.map(|path| self.within(&path, flags)).transpose();
        let opened = opened.map_err(|error| match error {
            FileError::Missing => LinkTarget::Missing,
            _ => LinkTarget::Unknown,
        })?;
        let above = opened.as_ref().unwrap_or(&self.root);
        match kind_at(above, name) {
            None => Err(LinkTarget::Missing),
            Some(FileKind::Folder) => Ok(Look::Folder),
            Some(FileKind::Regular | FileKind::Special) => Ok(Look::Other),
            Some(FileKind::Link) => match again(|| readlinkat(above, name, Vec::new())) {
                Ok(target) => match target.into_string() {
                    Ok(target) if !target.is_empty() => Ok(Look::Link(target)),
                    _ => Err(LinkTarget::Unknown),
                },
                Err(Errno::NOENT) => Err(LinkTarget::Missing),
                Err(_) => Err(LinkTarget::Unknown),
            },
        }
    }
}

enum Look {
    Link(String),
    Folder,
    Other,
}

/// The names of a path, the last one first.
fn names(path: &str) -> impl Iterator<Item = String> {
    path.rsplit('/').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::run_folder::Way;

    fn inside(path: &str) -> LinkTarget {
        LinkTarget::Inside(path.to_owned())
    }

    #[test]
    fn links_are_followed_within_the_folder_and_nowhere_else() {
        let beside = tempfile::tempdir().unwrap();
        let at = |name: &str| beside.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("run/evidence/deep")).unwrap();
        symlink("run", at("alias")).unwrap();
        fs::write(at("run/evidence/a.txt"), "a").unwrap();
        fs::write(at("run/evidence/deep/b.txt"), "b").unwrap();
        fs::write(at("secret"), "s").unwrap();
        let absolute = at("run/evidence/a.txt").display().to_string();
        let links = [
            ("one", "evidence/a.txt"),
            ("two", "one"),
            ("evidence/back", "../two"),
            ("folder", "evidence/deep"),
            ("dotted", "./evidence/./deep/../a.txt"),
            ("round", "round"),
            ("there", "here"),
            ("here", "there"),
            ("out", "../secret"),
            ("out_and_in", "../run/evidence/a.txt"),
            ("above", ".."),
            ("alias", "../alias/evidence/a.txt"),
            ("absolute", absolute.as_str()),
            ("top", "/"),
            ("nowhere", "evidence/none"),
            ("outside_nowhere", "../none"),
            ("through_a_file", "evidence/a.txt/x"),
            ("as_a_folder", "evidence/a.txt/"),
            ("file_and_up", "evidence/a.txt/../a.txt"),
            ("self", "."),
        ];
        for (name, target) in links {
            symlink(target, at("run").join(name)).unwrap();
        }
        let table = [
            ("one", inside("evidence/a.txt")),
            ("two", inside("evidence/a.txt")),
            ("evidence/back", inside("evidence/a.txt")),
            ("folder", inside("evidence/deep")),
            ("folder/b.txt", inside("evidence/deep/b.txt")),
            ("folder/none", LinkTarget::Missing),
            ("dotted", inside("evidence/a.txt")),
            ("self/self/evidence/a.txt", inside("evidence/a.txt")),
            ("self", inside("")),
            ("evidence/a.txt", inside("evidence/a.txt")),
            ("round", LinkTarget::Loop),
            ("here", LinkTarget::Loop),
            ("out", LinkTarget::Outside),
            ("out_and_in", inside("evidence/a.txt")),
            ("above", LinkTarget::Outside),
            ("alias", LinkTarget::Outside),
            ("outside_nowhere", LinkTarget::Outside),
            ("absolute", inside("evidence/a.txt")),
            ("top", LinkTarget::Outside),
            ("nowhere", LinkTarget::Missing),
            ("through_a_file", LinkTarget::Missing),
            ("as_a_folder", LinkTarget::Missing),
            ("file_and_up", LinkTarget::Missing),
            ("none", LinkTarget::Missing),
        ];
        for way in [Way::Whole, Way::Stepwise] {
            let folder = RunFolder { way, ..RunFolder::open(&at("run")).unwrap() };
            for (path, expected) in &table {
                assert_eq!(folder.follow(path), *expected, "{path} {way:?}");
            }
        }
    }

    #[test]
    fn a_chain_of_links_ends_where_the_kernel_ends_it() {
        let beside = tempfile::tempdir().unwrap();
        let at = |number: usize| beside.path().join(number.to_string());
        fs::write(at(0), "x").unwrap();
        for number in 1..=MAX_LINKS + 1 {
            symlink((number - 1).to_string(), at(number)).unwrap();
        }
        let folder = RunFolder::open(beside.path()).unwrap();
        for number in [1, MAX_LINKS, MAX_LINKS + 1] {
            let expected =
                if fs::read(at(number)).is_ok() { inside("0") } else { LinkTarget::Loop };
            assert_eq!(folder.follow(&number.to_string()), expected, "{number}");
        }
    }
}
