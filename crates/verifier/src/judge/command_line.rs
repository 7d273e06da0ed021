//! What a verify command is made of, and which files of the workspace it names.

use std::collections::BTreeMap;

use crate::workspace::{Kind, Workspace, join, path_of};

/// Command lines inside command lines (`sh -c '…'`) that are looked into.
const MAX_NESTING: usize = 3;

/// Programs that run another one, with the words that may stand before it.
const WRAPPERS: [(&str, &[&str]); 20] = [
    ("env", &[]),
    ("timeout", &[]),
    ("nice", &[]),
    ("nohup", &[]),
    ("time", &[]),
    ("sudo", &[]),
    ("exec", &[]),
    ("command", &[]),
    ("xargs", &[]),
    ("stdbuf", &[]),
    ("npx", &[]),
    ("bunx", &[]),
    ("uvx", &[]),
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("hatch", &["run"]),
    ("bundle", &["exec"]),
    ("coverage", &["run"]),
];

/// Programs that look at the files they are given and run none of them.
const READERS: [&str; 33] = [
    "test",
    "[",
    "[[",
    "cat",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "diff",
    "cmp",
    "comm",
    "wc",
    "head",
    "tail",
    "ls",
    "stat",
    "file",
    "find",
    "jq",
    "yq",
    "xmllint",
    "sha256sum",
    "sha1sum",
    "md5sum",
    "cksum",
    "sort",
    "uniq",
    "cut",
    "tr",
    "awk",
    "sed",
    "cd",
    "echo",
];

/// Readers whose `-f` names a file of code.
const CODE_READERS: [&str; 9] =
    ["awk", "sed", "jq", "yq", "grep", "egrep", "fgrep", "rg", "xmllint"];

/// Programs that run a program from standard input.
const INTERPRETERS: [&str; 13] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "node", "ruby", "perl", "php", "lua",
    "deno",
];

/// A command, taken apart into its simple commands: `a && b | c` has three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    simple: Vec<Simple>,
}

/// A program with its arguments, the words before it left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<String>,
    /// Where in `words` the program stands.
    program: usize,
}

/// What a named file is to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It decides: the program itself, a script, a test, a makefile; and any file given to a program
    /// that is not known to only read. Belongs to the sealed judge.
    Judge,
    /// It is looked at: an argument of `test`, `grep`, `cat` and their like, or a redirection. Work
    /// of the delegate, unless declared as an input.
    Subject,
}

/// A file of the workspace that a command names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedFile {
    /// Its key.
    pub path: String,
    /// What it is to the command; [`Role::Judge`] where it is both.
    pub role: Role,
}

impl CommandLine {
    /// A command given as its words.
    #[must_use]
    pub fn of_argv<S: AsRef<str>>(argv: &[S]) -> Self {
        let words: Vec<String> = argv.iter().map(|word| word.as_ref().to_owned()).collect();
        let mut line = Self { simple: Vec::new() };
        line.push(words, MAX_NESTING);
        line
    }

    /// A command given as a line for a shell. Quotes, backslashes, operators, redirections and
    /// comments are understood; variables and patterns are not expanded.
    #[must_use]
    pub fn of_line(text: &str) -> Self {
        let mut line = Self { simple: Vec::new() };
        line.push_line(text, MAX_NESTING);
        line
    }

    /// The regular files of `workspace` that the command names, sorted: every word, and what follows
    /// `=`, `@` or a one-letter flag in a word, that is the path of one; a test's address
    /// (`test_x.py::test_a`) without its end; the module after `-m`. A path is taken from the root
    /// and from every folder that the command goes to (`cd sub`, `-C sub`). A link that is named
    /// counts, wherever it leads.
    ///
    /// What is asked for is what stands there now: call it before the delegate starts.
    #[must_use]
    pub fn files_named_in(&self, workspace: &Workspace) -> Vec<NamedFile> {
        let mut named = BTreeMap::new();
        let mut folders = vec![String::new()];
        // What a reader prints may be what an interpreter beside it runs.
        let is_fed = self.simple.iter().any(Simple::runs_its_input);
        for simple in &self.simple {
            folders.extend(simple.folders().map(str::to_owned));
            for (word, role) in simple.candidates(is_fed) {
                for folder in &folders {
                    if let Some(path) = file_at(workspace, folder, &word) {
                        let known = named.entry(path).or_insert(role);
                        *known = role.min(*known);
                    }
                }
            }
        }
        named.into_iter().map(|(path, role)| NamedFile { path, role }).collect()
    }

    /// Whether an interpreter is given a file by a variable, a pattern or another command's output
    /// (`sh $SCRIPT`, `python tests/*.py`, `eval "$(…)"`): [`CommandLine::files_named_in`] cannot
    /// name that file, so it has to be declared as an input.
    #[must_use]
    pub fn has_unresolved_words(&self) -> bool {
        self.simple.iter().any(Simple::runs_unresolved)
    }

    pub(super) fn simple(&self) -> &[Simple] {
        &self.simple
    }

    fn push_line(&mut self, text: &str, nesting: usize) {
        for words in split(text) {
            self.push(words, nesting);
        }
    }

    fn push(&mut self, words: Vec<String>, nesting: usize) {
        if let Some(nesting) = nesting.checked_sub(1) {
            for word in words.iter().filter(|word| is_line(word)) {
                self.push_line(word, nesting);
            }
        }
        self.simple.push(Simple { program: program_at(&words), words });
    }
}

impl Simple {
    /// The program's name without its folder; empty when there is none.
    pub(super) fn program(&self) -> &str {
        let word = self.words.get(self.program).map_or("", String::as_str);
        word.rsplit('/').next().unwrap_or(word)
    }

    /// The words after the program.
    pub(super) fn arguments(&self) -> &[String] {
        self.words.get(self.program + 1..).unwrap_or_default()
    }

    /// Whether the program runs what others print: `eval` or an interpreter without a file, or with
    /// one that a command puts together (`sh -c "$(cat x)"`).
    fn runs_its_input(&self) -> bool {
        // The shell's parenthesis ends a word, so that `$(…)` outside quotes leaves its `$`.
        let is_printed = |word: &str| {
            word == "$" || word == "/dev/stdin" || word.starts_with("$(") || word.starts_with('`')
        };
        (self.is_interpreter() || self.program() == "eval") && self.script().is_none_or(is_printed)
    }

    /// What an interpreter is told to run: the first word that is no flag and no redirection.
    fn script(&self) -> Option<&str> {
        let mut words = self.arguments().iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "-" | "-s" => return None,
                "<" | ">" => drop(words.next()),
                flag if flag.starts_with('-') => {}
                script => return Some(script),
            }
        }
        None
    }

    fn is_interpreter(&self) -> bool {
        let name = self.program().trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        INTERPRETERS.contains(&name)
    }

    /// Whether an interpreter is given a file that cannot be told from the words.
    fn runs_unresolved(&self) -> bool {
        let is_open = |word: &str| word.contains(['$', '`', '*', '?', '[']);
        match self.program() {
            "eval" => return self.arguments().iter().any(|word| is_open(word)),
            "." | "source" => {}
            _ if self.is_interpreter() => {}
            _ => return false,
        }
        let is_shell = self.program().ends_with("sh");
        let mut words = self.arguments().iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                ">" => drop(words.next()),
                "<" => return words.next().is_some_and(is_open),
                // Code that is a line of commands is looked into as such.
                "-c" if is_shell => {
                    return words.next().is_some_and(|it| is_open(it) && !is_line(it));
                }
                "-c" | "-e" if !is_shell => return false,
                flag if flag.starts_with('-') => {}
                file => return is_open(file),
            }
        }
        false
    }

    fn folders(&self) -> impl Iterator<Item = &str> {
        let after = |flag: &'static str| {
            let at = self.words.iter().position(|word| word == flag);
            at.and_then(|at| self.words.get(at + 1)).map(String::as_str)
        };
        let cd = (self.program() == "cd").then(|| self.arguments().first()).flatten();
        [cd.map(String::as_str), after("-C"), after("--prefix"), after("--dir"), after("--cwd")]
            .into_iter()
            .flatten()
    }

    /// Texts that may be paths, with what they would be.
    fn candidates(&self, is_fed: bool) -> Vec<(String, Role)> {
        let program = self.program();
        let runs_others =
            self.words.iter().any(|word| matches!(word.as_str(), "-exec" | "-execdir"));
        let reads_only = READERS.contains(&program) && !is_fed && !runs_others;
        let takes_code = CODE_READERS.contains(&program);
        let mut candidates = Vec::new();
        let mut previous = "";
        for (at, word) in self.words.iter().enumerate() {
            let is_code_flag = takes_code && matches!(previous, "-f" | "--file" | "--from-file");
            let role = match previous {
                ">" => Role::Subject,
                "<" if !self.runs_its_input() => Role::Subject,
                _ if reads_only && at != self.program && !is_code_flag => Role::Subject,
                _ => Role::Judge,
            };
            candidates.push((word.clone(), role));
            let parts = [
                word.split_once('=').map(|(_, value)| value),
                word.strip_prefix('@'),
                word.split_once("::").map(|(file, _)| file),
                word.strip_prefix('-').and_then(|flag| flag.get(1..)),
            ];
            candidates.extend(parts.into_iter().flatten().map(|part| (part.to_owned(), role)));
            if previous == "-m" && program.starts_with("py") {
                let module = word.replace('.', "/");
                candidates.push((format!("{module}.py"), role));
                candidates.push((format!("{module}/__main__.py"), role));
                candidates.push((format!("{module}/__init__.py"), role));
            }
            previous = word;
        }
        candidates
    }
}

/// Whether a word may be a command line itself.
fn is_line(word: &str) -> bool {
    word.contains(|char: char| char.is_whitespace() || ";&|`(".contains(char))
}

/// The key of the regular file or link at `word` in `folder`.
fn file_at(workspace: &Workspace, folder: &str, word: &str) -> Option<String> {
    let path = if word.starts_with('/') { word.to_owned() } else { join(folder, word) };
    let key = workspace.key(&path).ok().filter(|key| !key.is_empty())?;
    let stat = workspace.stat_link(path_of(&key)?).ok().flatten()?;
    let is_file = match stat.kind {
        Kind::File => true,
        // A link to a folder names no file; one that leads out or nowhere stands for itself.
        Kind::Symlink => !matches!(workspace.stat(&path), Ok(Some(to)) if to.kind != Kind::File),
        Kind::Dir | Kind::Other => false,
    };
    is_file.then_some(key)
}

/// Where the program stands behind assignments and wrappers.
fn program_at(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let name = word.rsplit('/').next().unwrap_or(word);
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
        });
        let wrapper = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name);
        let Some((_, before)) = wrapper else {
            if is_assignment {
                at += 1;
                continue;
            }
            return at;
        };
        let next = words.get(at + 1);
        if !before.is_empty() && !next.is_some_and(|next| before.contains(&next.as_str())) {
            return at;
        }
        at += 1 + before.len().min(1);
        // The wrapper's own flags and numbers: `timeout -k 5 30 …`.
        while words.get(at).is_some_and(|word| {
            word.starts_with('-') || word.starts_with(|char: char| char.is_ascii_digit())
        }) {
            at += 1;
        }
    }
    0
}

/// Simple commands and their words. Redirections are the words `<` and `>`.
fn split(text: &str) -> Vec<Vec<String>> {
    let mut splitter = Splitter::default();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\'' => splitter.word().extend(chars.by_ref().take_while(|char| *char != '\'')),
            '"' => {
                let word = splitter.word();
                while let Some(char) = chars.next() {
                    match char {
                        '"' => break,
                        '\\' => word.extend(chars.next()),
                        _ => word.push(char),
                    }
                }
            }
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(char) => splitter.word().push(char),
            },
            '#' if splitter.word.is_none() => {
                while chars.peek().is_some_and(|char| *char != '\n') {
                    chars.next();
                }
            }
            ';' | '&' | '|' | '(' | ')' | '`' | '\n' => splitter.end_command(),
            '<' | '>' => {
                splitter.end_word();
                // `>>`, `>&`: one redirection.
                while chars.next_if(|char| matches!(char, '<' | '>' | '&' | '|')).is_some() {}
                splitter.words.push(char.to_string());
            }
            char if char.is_whitespace() => splitter.end_word(),
            char => splitter.word().push(char),
        }
    }
    splitter.end_command();
    splitter.commands
}

#[derive(Default)]
struct Splitter {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
}

impl Splitter {
    /// The word at hand; a quote starts one even when nothing stands in it.
    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_like_a_shell_splits_it() {
        for (line, commands) in [
            ("", &[][..]),
            ("make check", &[&["make", "check"][..]]),
            ("cd a&&sh b.sh|tee c;d", &[&["cd", "a"], &["sh", "b.sh"], &["tee", "c"], &["d"]]),
            (
                "python 'a b.py' \"c \\\" d\" e\\ f ''",
                &[&["python", "a b.py", "c \" d", "e f", ""]],
            ),
            ("x # a comment\ny#z", &[&["x"], &["y#z"]]),
            ("x <in >>out 2>&1", &[&["x", "<", "in", ">", "out", "2", ">", "1"]]),
            ("test \"$(cat a)\" = `cat b`", &[&["test", "$(cat a)", "="], &["cat", "b"]]),
            ("'never closed", &[&["never closed"]]),
        ] {
            assert_eq!(split(line), commands, "{line}");
        }
    }

    #[test]
    fn the_program_is_found_behind_assignments_and_wrappers() {
        for (line, program) in [
            ("pytest -q", "pytest"),
            ("./ci/check.sh", "check.sh"),
            ("A=1 B_2=x make", "make"),
            ("env -i A=1 timeout -k 5 30 /usr/bin/python3 x.py", "python3"),
            ("uv run pytest", "pytest"),
            ("uv sync", "uv"),
            ("coverage run -m pytest", "pytest"),
            ("npx --yes vitest run", "vitest"),
        ] {
            let words = split(line).remove(0);
            let simple = Simple { program: program_at(&words), words };
            assert_eq!(simple.program(), program, "{line}");
        }
    }

    #[test]
    fn a_script_that_the_words_do_not_tell_is_unresolved() {
        for (line, unresolved) in [
            ("sh $SCRIPT", true),
            ("timeout 5 bash \"$DIR/check.sh\" -v", true),
            ("python3 tests/*.py", true),
            ("node check.[jt]s", true),
            ("sh -c $CODE", true),
            ("sh -c 'cd sub; sh $SCRIPT'", true),
            ("sh -c \"$(cat check.sh)\" out.txt", false),
            ("sh -e < $SCRIPT", true),
            ("bash $(which check)", true),
            (". ./*.sh", true),
            ("source $ENV", true),
            ("eval \"$(cat check.sh)\"", true),
            ("python check.py out/*.txt", false),
            ("python -c 'print(1 * 2)'", false),
            ("perl -e '$a[0]'", false),
            ("sh -e ./check.sh", false),
            ("sh -e $SCRIPT", true),
            ("sh check.sh $ARGUMENT", false),
            ("grep -q 'a* b' out.txt", false),
            ("pytest tests/*.py", false),
            ("sh > $LOG check.sh", false),
            ("eval", false),
            ("sh", false),
            ("", false),
        ] {
            assert_eq!(CommandLine::of_line(line).has_unresolved_words(), unresolved, "{line}");
        }
    }
}
