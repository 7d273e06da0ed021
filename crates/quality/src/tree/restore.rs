//! Putting the copy right again.

use std::collections::BTreeMap;

use rustix::fs::FileType;

use super::door::Door;
use super::{Seen, Tree, TreeError, failed};

impl Tree {
    /// Makes the copy what it was when it was copied: what is new goes, what differs or is gone comes from
    /// `whole`, a copy of the same folder that nobody touches. What `pass_over` says may stay: folders that
    /// tools fill while they build. Whether something differs is read from inodes, sizes and times of change,
    /// which no program can set back.
    ///
    /// # Errors
    /// [`TreeError`]; the copy is then of no use.
    pub fn restore(
        &mut self,
        whole: &Self,
        pass_over: &dyn Fn(&str, bool) -> bool,
    ) -> Result<(), TreeError> {
        self.tick();
        let now = look(&self.door, &|path, is_folder| {
            !self.seen.contains_key(path) && pass_over(path, is_folder)
        })?;
        let mut gone: Option<&str> = None;
        for path in now.keys().filter(|path| !self.seen.contains_key(*path)) {
            if gone.is_some_and(|gone| is_below(path, gone)) {
                continue;
            }
            self.remove(path)?;
            gone = Some(path);
        }
        let differs = |(path, seen): &(&String, &Seen)| now.get(*path) != Some(*seen);
        let paths: Vec<String> =
            self.seen.iter().filter(differs).map(|(path, _)| path.clone()).collect();
        for path in paths {
            self.take(whole, &path)?;
        }
        Ok(())
    }

    /// Puts what stood at a path, with all that was below it, back there.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn put_back(&mut self, whole: &Self, path: &str) -> Result<(), TreeError> {
        let at_or_below = |key: &&String| *key == path || is_below(key, path);
        let paths: Vec<String> = self.seen.keys().filter(at_or_below).cloned().collect();
        for path in paths {
            self.take(whole, &path)?;
        }
        Ok(())
    }

    /// Keeps in mind what stands where.
    pub(super) fn remember(&mut self) -> Result<(), TreeError> {
        self.seen = look(&self.door, &|_, _| false)?;
        Ok(())
    }

    /// Makes one entry what it is in the other copy.
    fn take(&mut self, whole: &Self, path: &str) -> Result<(), TreeError> {
        let io = |source| failed(path, source);
        let Some(stat) = whole.door.stat(path).map_err(io)? else { return Ok(()) };
        let mode = stat.st_mode & 0o7777;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let is_folder = self.door.enter(path).is_ok();
                if !is_folder {
                    self.door.clear(path).map_err(io)?;
                    self.door.folder(path).map_err(io)?;
                }
                self.door.chmod_folder(path, mode).map_err(io)?;
            }
            FileType::Symlink => {
                let target = whole.door.target(path).map_err(io)?;
                let target = match target.strip_prefix(&whole.root) {
                    Ok(below) => self.root.join(below),
                    Err(_) => target,
                };
                self.door.clear(path).map_err(io)?;
                self.door.link(path, &target).map_err(io)?;
            }
            _ => {
                let Some((source, _)) = whole.door.file(path).map_err(io)? else { return Ok(()) };
                self.door.clear(path).map_err(io)?;
                let max_bytes = u64::MAX - 1;
                let modified = (self.stamp_s, 0);
                let made = self.door.create_from(path, &source, max_bytes, mode, modified);
                made.map_err(io)?;
            }
        }
        if let Some(stat) = self.door.stat(path).map_err(io)? {
            self.seen.insert(path.to_owned(), Seen::of(&stat));
        }
        Ok(())
    }
}

/// Everything below a folder, but what is passed over.
fn look(
    door: &Door,
    pass_over: &dyn Fn(&str, bool) -> bool,
) -> Result<BTreeMap<String, Seen>, TreeError> {
    let mut seen = BTreeMap::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let names = door.names(&folder).map_err(|error| failed(&folder, error))?;
        for name in names {
            // What a check makes under a name that is no UTF-8 is not found under this one, and stays.
            let name = name.to_string_lossy();
            let path = match folder.is_empty() {
                true => name.into_owned(),
                false => format!("{folder}/{name}"),
            };
            let Some(stat) = door.stat(&path).map_err(|error| failed(&path, error))? else {
                continue;
            };
            let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            if pass_over(&path, is_folder) {
                continue;
            }
            if is_folder {
                folders.push(path.clone());
            }
            seen.insert(path, Seen::of(&stat));
        }
    }
    Ok(seen)
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
