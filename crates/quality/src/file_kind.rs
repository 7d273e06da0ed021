//! What a file is taken for, by its name and its first bytes. Language-free: a name's ending decides which
//! rules are tried, and nothing is parsed but JSON.

/// What a file is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Source code.
    Code {
        /// What begins a comment, where the ending tells.
        comment: Option<&'static str>,
        /// A line that ends the program successfully, where the ending tells.
        exit: Option<&'static str>,
    },
    /// JSON.
    Json,
    /// A SQLite database.
    Database,
    /// Words for people.
    Prose,
    /// Other text.
    Text,
    /// Everything else.
    Binary,
}

/// Endings, what begins a comment, what ends the program.
type Row = (&'static [&'static str], Option<&'static str>, Option<&'static str>);

const HASH: Option<&str> = Some("# ");
const SLASHES: Option<&str> = Some("// ");
const DASHES: Option<&str> = Some("-- ");

const CODE: &[Row] = &[
    (&["py", "pyi"], HASH, Some("raise SystemExit(0)\n")),
    (&["rb"], HASH, Some("exit 0\n")),
    (&["pl", "pm", "t"], HASH, Some("exit 0;\n")),
    (&["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"], SLASHES, Some("process.exit(0);\n")),
    (&["sh", "bash", "bats"], HASH, Some("exit 0\n")),
    (&["star", "bzl", "r", "jl", "ex", "exs", "tcl", "nim", "cr"], HASH, None),
    (
        &[
            "rs", "go", "c", "h", "cc", "cpp", "cxx", "hpp", "java", "kt", "kts", "cs", "swift",
            "scala", "php", "dart", "zig", "groovy", "gradle", "fs", "m", "mm", "proto", "v",
            "sol",
        ],
        SLASHES,
        None,
    ),
    (&["sql", "lua", "hs", "elm", "ada", "adb"], DASHES, None),
    (&["clj", "cljs", "lisp", "el", "scm", "rkt"], Some("; "), None),
    (&["erl", "tex"], Some("% "), None),
    (&["vue", "svelte", "html", "css", "ml", "mli"], None, None),
];

const PROSE: [&str; 7] = ["md", "rst", "adoc", "txt", "org", "markdown", "lock"];
const PROSE_NAMES: [&str; 8] =
    ["license", "licence", "copying", "notice", "authors", "changelog", "readme", ".gitignore"];
/// How every SQLite database begins.
const DATABASE: &[u8] = b"SQLite format 3\0";

impl FileKind {
    /// What the file of this name and content is taken for.
    #[must_use]
    pub fn of(key: &str, bytes: &[u8]) -> Self {
        if bytes.starts_with(DATABASE) {
            return Self::Database;
        }
        if bytes.contains(&0) || std::str::from_utf8(bytes).is_err() {
            return Self::Binary;
        }
        let name = key.rsplit('/').next().unwrap_or(key).to_lowercase();
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name.as_str(), ""));
        if ending == "json" && serde_json::from_slice::<serde_json::Value>(bytes).is_ok() {
            return Self::Json;
        }
        let row = CODE.iter().find(|(endings, ..)| !stem.is_empty() && endings.contains(&ending));
        if let Some((_, comment, exit)) = row {
            return Self::Code { comment: *comment, exit: *exit };
        }
        let is_prose = PROSE.contains(&ending)
            || PROSE_NAMES.iter().any(|known| name == *known || stem == *known);
        if is_prose { Self::Prose } else { Self::Text }
    }
}

/// Whether the name is that of a test, by the customs of common tools.
#[must_use]
pub fn looks_like_test(key: &str) -> bool {
    const FOLDERS: [&str; 5] = ["test", "tests", "spec", "specs", "__tests__"];
    let mut folders: Vec<&str> = key.split('/').collect();
    let name = folders.pop().unwrap_or_default().to_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    folders.iter().any(|folder| FOLDERS.contains(&folder.to_lowercase().as_str()))
        || stem.starts_with("test_")
        || ["_test", "_spec"].iter().any(|end| stem.ends_with(end))
        || [".test.", ".spec."].iter().any(|part| name.contains(part))
        || ["test", "tests", "conftest"].contains(&stem)
}
