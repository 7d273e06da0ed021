//! What well-known commands read although their command line does not say so.

use super::command_line::{CommandLine, Simple};
use crate::workspace::compile_glob;

/// One row: programs, the words of which one must follow (none: always), what is read.
type Row = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

const NODE: &[&str] = &[
    "package.json",
    "tsconfig*.json",
    "*.config.{js,cjs,mjs,ts,cts,mts}",
    ".mocharc*",
    "**/__tests__/**",
    "**/*.{test,spec}.{js,jsx,cjs,mjs,ts,tsx}",
    "test/**",
    "tests/**",
];

const PYTHON: &[&str] = &[
    "conftest.py",
    "**/conftest.py",
    "pytest.ini",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    "tests/**",
    "test/**",
    "**/test_*.py",
    "**/*_test.py",
    // `python -m` looks into the folder that it is started in first, and so does the start of Python.
    "unittest.py",
    "unittest/**",
    "pytest.py",
    "pytest/**",
    "sitecustomize.py",
    "usercustomize.py",
];

const TABLE: &[Row] = &[
    (&["make", "gmake"], &[], &["Makefile", "makefile", "GNUmakefile", "*.mk"]),
    (&["just"], &[], &["justfile", "Justfile", ".justfile"]),
    (&["task"], &[], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["pytest", "py.test", "tox", "nox", "unittest"], &[], PYTHON),
    (&["npm", "yarn", "pnpm", "bun"], &["test", "t", "run"], NODE),
    (&["yarn", "pnpm"], &["lint", "check", "build", "typecheck"], NODE),
    (&["jest", "vitest", "mocha", "ava", "playwright"], &[], NODE),
    (
        &["deno"],
        &["test", "task", "lint", "check"],
        &["deno.json", "deno.jsonc", "**/*_test.{ts,js}", "**/*.test.{ts,js}"],
    ),
    (
        &["cargo"],
        &["test", "t", "nextest", "check", "build", "clippy"],
        &[
            "Cargo.toml",
            "**/Cargo.toml",
            ".cargo/config.toml",
            "build.rs",
            "**/tests/**",
            "clippy.toml",
            ".config/nextest.toml",
        ],
    ),
    (
        &["go"],
        &["test", "vet", "build"],
        &["go.mod", "go.work", "*_test.go", "**/*_test.go", "**/testdata/**"],
    ),
    (&["mvn", "mvnw"], &[], &["pom.xml", "**/pom.xml", "**/src/test/**"]),
    (
        &["gradle", "gradlew"],
        &[],
        &[
            "*.gradle",
            "*.gradle.kts",
            "**/*.gradle",
            "**/*.gradle.kts",
            "gradle.properties",
            "**/src/test/**",
        ],
    ),
    (
        &["dotnet"],
        &["test", "build"],
        &["*.sln", "**/*.csproj", "**/*Tests/**", "Directory.Build.props"],
    ),
    (&["rspec"], &[], &[".rspec", "spec/**", "Gemfile"]),
    (&["rake"], &[], &["Rakefile", "rakelib/**", "test/**", "spec/**", "Gemfile"]),
    (
        &["phpunit", "composer"],
        &[],
        &["phpunit.xml", "phpunit.xml.dist", "composer.json", "tests/**"],
    ),
    (&["ctest", "cmake"], &[], &["CMakeLists.txt", "**/CMakeLists.txt", "CMakePresets.json"]),
    (
        &["bazel"],
        &["test", "build"],
        &["BUILD", "BUILD.bazel", "**/BUILD", "**/BUILD.bazel", "MODULE.bazel", "WORKSPACE"],
    ),
    (&["mix"], &["test"], &["mix.exs", "test/**"]),
    (&["swift"], &["test"], &["Package.swift", "Tests/**"]),
    (&["mypy"], &[], &["mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"]),
    (
        &["ruff", "flake8", "pylint", "black"],
        &[],
        &[
            "ruff.toml",
            ".ruff.toml",
            ".flake8",
            ".pylintrc",
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
        ],
    ),
    (
        &["tsc", "eslint", "prettier", "biome"],
        &[],
        &[
            "package.json",
            "tsconfig*.json",
            ".eslintrc*",
            "eslint.config.*",
            ".prettierrc*",
            "biome.json",
        ],
    ),
    (&["pre-commit"], &[], &[".pre-commit-config.yaml"]),
    (
        &["docker", "docker-compose"],
        &["build", "compose", "up", "run"],
        &["Dockerfile", "docker-compose*.y*ml", "compose*.y*ml"],
    ),
];

/// Patterns of the files that the command's programs read by themselves: `make` its makefile,
/// `pytest` its configuration and tests. Sorted, each once. `None` when no program is known: that
/// says nothing about what it reads.
///
/// A suggestion for `inputs` and the ground of a warning, not a proof: a test suite can read
/// anything.
#[must_use]
pub fn known_inputs(command: &CommandLine) -> Option<Vec<String>> {
    let mut inputs: Vec<String> = command.simple().iter().flat_map(inputs_of).collect();
    inputs.sort_unstable();
    inputs.dedup();
    (!inputs.is_empty()).then_some(inputs)
}

/// What [`known_inputs`] suggests and the declared patterns do not cover, sorted: `inputs=Makefile`
/// leaves `GNUmakefile`, which `make` prefers. Empty when no program is known.
///
/// A declared pattern covers a suggestion when it is the same, when it matches it and the suggestion
/// is no pattern itself, or when it is a folder's `**` and the suggestion lies in that folder.
#[must_use]
pub fn undeclared_inputs(command: &CommandLine, declared: &[String]) -> Vec<String> {
    let mut known = known_inputs(command).unwrap_or_default();
    known.retain(|wanted| !declared.iter().any(|pattern| covers(pattern, wanted)));
    known
}

fn covers(declared: &str, wanted: &str) -> bool {
    const META: [char; 5] = ['*', '?', '[', '{', '\\'];
    let declared = declared.strip_prefix("./").unwrap_or(declared);
    if declared == wanted || declared == "**" || declared == "**/*" {
        return true;
    }
    if !wanted.contains(META) {
        return compile_glob(declared).is_ok_and(|glob| glob.compile_matcher().is_match(wanted));
    }
    let folder = declared.strip_suffix("/**").filter(|folder| !folder.contains(META));
    folder.and_then(|folder| wanted.strip_prefix(folder)).is_some_and(|rest| rest.starts_with('/'))
}

fn inputs_of(simple: &Simple) -> Vec<String> {
    let mut program = simple.program();
    let mut arguments = simple.arguments();
    // `python -m pytest`
    if program.starts_with("python")
        && let Some(at) = arguments.iter().position(|word| word == "-m")
        && let Some([module, rest @ ..]) = arguments.get(at + 1..)
    {
        program = module;
        arguments = rest;
    }
    let mut inputs = Vec::new();
    for (programs, words, patterns) in TABLE {
        let follows =
            words.is_empty() || arguments.iter().any(|word| words.contains(&word.as_str()));
        if programs.contains(&program) && follows {
            inputs.extend(patterns.iter().map(|pattern| (*pattern).to_owned()));
        }
    }
    // Folders of tests that are named: `pytest checks/`.
    if matches!(program, "pytest" | "py.test") {
        let folders = arguments.iter().filter(|word| {
            !word.starts_with(['-', '/'])
                && !word.contains("::")
                && !word.contains("..")
                && word.contains('/')
        });
        let folders = folders.filter(|word| !word.rsplit('/').next().unwrap_or("").contains('.'));
        inputs.extend(
            folders.map(|folder| format!("{}/**", globset::escape(folder.trim_end_matches('/')))),
        );
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_the_table_is_a_glob() {
        for (programs, _, patterns) in TABLE {
            assert!(!programs.is_empty() && !patterns.is_empty());
            for pattern in *patterns {
                compile_glob(pattern).unwrap();
            }
        }
    }

    #[test]
    fn every_program_of_the_table_is_known_and_others_are_not() {
        for (programs, words, patterns) in TABLE {
            for program in *programs {
                let mut argv = vec![*program];
                argv.extend(words.first());
                let inputs = known_inputs(&CommandLine::of_argv(&argv)).unwrap();
                assert!(patterns.iter().all(|it| inputs.contains(&(*it).to_owned())), "{program}");
            }
        }
        for line in
            ["python check.py", "sh verify.sh", "cargo fmt", "npm install", "go version", ""]
        {
            assert_eq!(known_inputs(&CommandLine::of_line(line)), None, "{line}");
        }
    }

    #[test]
    fn runners_are_seen_through_wrappers_modules_and_shells() {
        for line in [
            "python -m pytest -q",
            "python3.12 -W error -m pytest",
            "uv run pytest",
            "cd sub && FOO=1 timeout 60 pytest",
            "sh -c 'pytest tests'",
        ] {
            let inputs = known_inputs(&CommandLine::of_line(line)).unwrap();
            assert!(inputs.contains(&"**/conftest.py".to_owned()), "{line}");
        }
        let inputs = known_inputs(&CommandLine::of_line("pytest checks/unit/ -k a")).unwrap();
        assert!(inputs.contains(&"checks/unit/**".to_owned()));
    }

    #[test]
    fn what_is_declared_is_no_longer_suggested() {
        let left = |line: &str, declared: &[&str]| {
            let declared: Vec<String> = declared.iter().map(|it| (*it).to_owned()).collect();
            undeclared_inputs(&CommandLine::of_line(line), &declared)
        };
        assert_eq!(left("make", &["Makefile"]), ["*.mk", "GNUmakefile", "makefile"]);
        assert_eq!(left("make", &["?akefile", "./*.mk"]), ["GNUmakefile"]);
        assert_eq!(left("make", &["?.mk", "sub/**", "GNU*", "[Mm]akefile"]), ["*.mk"]);
        assert_eq!(left("make", &["**"]), [""; 0]);
        assert_eq!(left("rspec", &["spec/**", "{.rspec,Gemfile}"]), [""; 0]);
        assert_eq!(left("rspec", &["spec/*"]), [".rspec", "Gemfile", "spec/**"]);
        assert_eq!(
            left("pytest checks/unit", &["checks/**", "**/*.py", "*.*"]),
            [
                "**/*_test.py",
                "**/conftest.py",
                "**/test_*.py",
                "pytest/**",
                "test/**",
                "tests/**",
                "unittest/**",
            ]
        );
        assert_eq!(left("python check.py", &[]), [""; 0]);
    }
}
