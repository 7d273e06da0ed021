//! Inputs to start from, out of the repository.

use std::path::{Path, PathBuf};

use probity_sim::Rng;

/// The files of a folder below the root of the repository, those in folders below it included.
pub(crate) fn files(folder: impl AsRef<Path>) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    walk(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(folder), &mut found);
    found.sort();
    found.into_iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// Those of them with that ending.
pub(crate) fn files_named(folder: impl AsRef<Path>, ending: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    walk(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(folder), &mut found);
    found.retain(|path| path.to_string_lossy().ends_with(ending));
    found.sort();
    found.into_iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// So many tapes of random bytes, the same on every machine.
pub(crate) fn tapes(count: u64, bytes: usize) -> Vec<Vec<u8>> {
    let tape = |seed| {
        let mut rng = Rng::new(seed);
        (0..bytes).map(|_| u8::try_from(rng.below(256)).unwrap_or(0)).collect()
    };
    (0..count).map(tape).collect()
}

/// Texts as inputs.
pub(crate) fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
