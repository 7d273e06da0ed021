//! A Rust file with the lines that are product code.

use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::{Finding, Tree};

/// One parsed product file.
pub struct Source {
    /// Relative path.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its syntax.
    pub ast: syn::File,
    /// Whether it only serves tests of other crates: a module behind one of the features
    /// `test-util` and `conformance`.
    pub is_support: bool,
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// Parses every product file of the tree: `*/src/**/*.rs` without files that are only compiled
    /// for tests. A file that does not parse is a finding.
    #[must_use]
    pub fn all(tree: &Tree) -> (Vec<Self>, Vec<Finding>) {
        let (mut sources, mut findings) = (Vec::new(), Vec::new());
        for (path, text) in tree.files() {
            if !path.contains("/src/") || !has_extension(path, "rs") || path.starts_with("testdata")
            {
                continue;
            }
            match syn::parse_file(text) {
                Ok(ast) => sources.push(Self::new(path, text, ast)),
                Err(e) => findings.push(Finding::new(path, e.span().start().line, e.to_string())),
            }
        }
        let modules: Vec<(String, Gate)> = sources.iter().flat_map(Self::gated_modules).collect();
        let gated = |path: &str, gate| {
            modules.iter().any(|(module, by)| *by == gate && is_in_module(path, module))
        };
        sources.retain(|source| !gated(&source.path, Gate::Test));
        for source in &mut sources {
            source.is_support = gated(&source.path, Gate::Support);
        }
        (sources, findings)
    }

    /// Whether a line is inside an item that is only compiled for tests.
    #[must_use]
    pub fn is_test(&self, line: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&line))
    }

    /// Lines of the file without its tests.
    #[must_use]
    pub fn product_lines(&self) -> usize {
        let tests: usize = self.tests.iter().map(|r| r.end().saturating_sub(*r.start()) + 1).sum();
        self.text.lines().count().saturating_sub(tests)
    }

    fn new(path: &str, text: &str, ast: syn::File) -> Self {
        let mut found = Gated::default();
        found.visit_file(&ast);
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            ast,
            is_support: false,
            tests: found.tests,
        }
    }

    /// Modules in other files that this file declares behind a gate, as paths without extension.
    fn gated_modules(&self) -> Vec<(String, Gate)> {
        let mut found = Gated::default();
        found.visit_file(&self.ast);
        let folder = module_folder(&self.path);
        found.modules.iter().map(|(name, gate)| (format!("{folder}/{name}"), *gate)).collect()
    }
}

fn is_in_module(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Whether `path` ends in `.extension`.
#[must_use]
pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, found)| found == extension)
}

/// Where the submodules of a file live.
fn module_folder(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    match file {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    }
}

/// What keeps an item out of the shipped product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Test,
    Support,
}

#[derive(Default)]
struct Gated {
    tests: Vec<RangeInclusive<usize>>,
    modules: Vec<(String, Gate)>,
}

impl<'ast> Visit<'ast> for Gated {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let gate = attributes(item).iter().find_map(gate_of);
        if gate == Some(Gate::Test) {
            let span = item.span();
            self.tests.push(span.start().line..=span.end().line);
        }
        match (gate, item) {
            (Some(gate), syn::Item::Mod(syn::ItemMod { ident, content: None, .. })) => {
                self.modules.push((ident.to_string(), gate));
            }
            (Some(Gate::Test), _) => {}
            _ => syn::visit::visit_item(self, item),
        }
    }
}

fn gate_of(attribute: &syn::Attribute) -> Option<Gate> {
    let syn::Meta::List(list) = &attribute.meta else { return None };
    if !list.path.is_ident("cfg") {
        return None;
    }
    match list.tokens.to_string().as_str() {
        "test" => Some(Gate::Test),
        "feature = \"test-util\"" | "feature = \"conformance\"" => Some(Gate::Support),
        _ => None,
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item::{
        Const, Enum, ExternCrate, Fn, Impl, Macro, Mod, Static, Struct, Trait, Type, Use,
    };
    match item {
        Const(i) => &i.attrs,
        Enum(i) => &i.attrs,
        ExternCrate(i) => &i.attrs,
        Fn(i) => &i.attrs,
        Impl(i) => &i.attrs,
        Macro(i) => &i.attrs,
        Mod(i) => &i.attrs,
        Static(i) => &i.attrs,
        Struct(i) => &i.attrs,
        Trait(i) => &i.attrs,
        Type(i) => &i.attrs,
        Use(i) => &i.attrs,
        _ => &[],
    }
}
