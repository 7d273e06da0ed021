//! Takes the pages of `docs/codes/` into the binary, so that `probity explain` works anywhere.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = variable("CARGO_MANIFEST_DIR")?.join("../../docs/codes");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut pages = Vec::new();
    for entry in fs::read_dir(&folder).into_iter().flatten() {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "md") {
            println!("cargo::rerun-if-changed={}", path.display());
            pages.push(path);
        }
    }
    pages.sort();
    let table = table(&pages)?;
    fs::write(variable("OUT_DIR")?.join("code_pages.rs"), table)
}

/// Rust source: one pair of code and page per line, sorted by code.
fn table(pages: &[PathBuf]) -> io::Result<String> {
    let mut table = String::from("&[\n");
    for path in pages {
        let code = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let page = fs::read_to_string(Path::new(path))?;
        // Writing to a `String` cannot fail.
        let _ = writeln!(table, "    ({code:?}, {page:?}),");
    }
    table.push_str("]\n");
    Ok(table)
}

fn variable(name: &str) -> io::Result<PathBuf> {
    let missing = || io::Error::other(format!("cargo sets {name} for build scripts"));
    env::var_os(name).map(PathBuf::from).ok_or_else(missing)
}
