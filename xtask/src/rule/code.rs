//! Machine words: every code that the product can give has a page, every page has a code.
//!
//! A code is a string literal in one of these places of shipped code:
//! 1. an argument for a parameter called `code`, of any function of the workspace (this is how
//!    `Verdict::revise`, `Verdict::fail`, `Verdict::inconclusive` and `Fault::new` take theirs),
//!    or the argument of `Code::slug`;
//! 2. the body of a function called `code`, or the value of a variable or field called `code`;
//! 3. the words of `Outcome`, and the budgets that `Accounting::exhausted` names;
//! 4. a table `codes! { NAME = "word", ... }`.
//!
//! A constant or a variable in such a place stands for its value. Literals in patterns, conditions and comparisons
//! are input, not output, and names of checks (`id`) are no codes.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

use crate::{Finding, Source, Tree};

/// Where the pages are.
pub const PAGES: &str = "docs/codes/";
/// Functions whose every word becomes a code elsewhere.
const WORDS: [(&str, &str); 2] = [("Outcome", "as_str"), ("Accounting", "exhausted")];
/// Methods whose arguments are what is looked for, not what is given.
const LOOK_UPS: [&str; 5] = ["get", "pointer", "contains", "contains_key", "strip_prefix"];
const SECTIONS: [&str; 3] = ["## Meaning", "## Cause", "## What to do"];

/// Codes without a page, pages without a code, pages that are not shaped like one.
#[must_use]
pub fn check(sources: &[Source], tree: &Tree) -> Vec<Finding> {
    let codes = codes(sources);
    let mut findings = Vec::new();
    for (code, (path, line)) in &codes {
        if tree.text(&format!("{PAGES}{code}.md")).is_none() {
            let text = format!("code `{code}` has no page {PAGES}{code}.md");
            findings.push(Finding::new(path, *line, text));
        }
    }
    for (path, text) in tree.files() {
        let Some(code) = path.strip_prefix(PAGES).and_then(|name| name.strip_suffix(".md")) else {
            continue;
        };
        if !codes.contains_key(code) {
            findings.push(Finding::new(path, 0, "no code of this name is given anywhere"));
        }
        findings.extend(page_shape(code, text).map(|why| Finding::new(path, 0, why)));
    }
    findings
}

/// Every code with the first place that gives it.
#[must_use]
pub fn codes(sources: &[Source]) -> BTreeMap<String, (String, usize)> {
    let is_shipped = |s: &&Source| s.path.starts_with("crates/") && !s.is_support;
    let shipped = || sources.iter().filter(is_shipped);
    let mut declared = Declarations::default();
    declared.parameters.insert((Some("Code".to_owned()), "slug".to_owned()), 0);
    for source in shipped() {
        declared.visit_file(&source.ast);
    }
    let mut codes = BTreeMap::new();
    for source in shipped() {
        let mut variables = Variables::default();
        variables.visit_file(&source.ast);
        let mut uses = Uses { declared: &declared, owner: None, variables, found: Vec::new() };
        uses.visit_file(&source.ast);
        for (code, line) in uses.found {
            if !source.is_test(line) && is_code(&code) {
                codes.entry(code).or_insert_with(|| (source.path.clone(), line));
            }
        }
    }
    codes
}

fn is_code(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// What is wrong with a page, if anything: a title, a sentence, then the sections in order.
fn page_shape(code: &str, text: &str) -> Option<String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    if lines.next() != Some(&format!("# {code}")) {
        return Some(format!("the first line must be `# {code}`"));
    }
    if lines.next().is_none_or(|line| line.starts_with('#')) {
        return Some("a sentence with the meaning must follow the title".to_owned());
    }
    let sections: Vec<&str> = lines.filter(|line| line.starts_with('#')).collect();
    (sections != SECTIONS).then(|| format!("the sections must be {SECTIONS:?}"))
}

/// Type (for methods and associated functions) and name of a function.
type FunctionName = (Option<String>, String);

/// Functions with a parameter called `code`, and constants that hold text.
#[derive(Default)]
struct Declarations {
    owner: Option<String>,
    parameters: BTreeMap<FunctionName, usize>,
    methods: BTreeSet<(String, usize)>,
    constants: BTreeMap<String, String>,
}

impl Declarations {
    fn signature(&mut self, signature: &syn::Signature) {
        let typed = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(typed) => Some(typed),
            syn::FnArg::Receiver(_) => None,
        });
        let at = typed.enumerate().find_map(|(index, typed)| match &*typed.pat {
            syn::Pat::Ident(name) if name.ident == "code" => Some(index),
            _ => None,
        });
        let Some(at) = at else { return };
        let name = signature.ident.to_string();
        if signature.receiver().is_some() {
            self.methods.insert((name, at));
        } else {
            self.parameters.insert((self.owner.clone(), name), at);
        }
    }
}

impl<'ast> Visit<'ast> for Declarations {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.signature(&item.sig);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outer = std::mem::replace(&mut self.owner, type_name(&item.self_ty));
        syn::visit::visit_item_impl(self, item);
        self.owner = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.signature(&item.sig);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.constant(&item.ident, &item.expr);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(&item.ident, &item.expr);
    }
}

impl Declarations {
    fn constant(&mut self, name: &syn::Ident, value: &syn::Expr) {
        if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = value {
            self.constants.insert(name.to_string(), text.value());
        }
    }
}

/// Places that give a code.
struct Uses<'a> {
    declared: &'a Declarations,
    owner: Option<String>,
    variables: Variables,
    found: Vec<(String, usize)>,
}

/// The literals that each variable of the file can hold. Scopes are not told apart: at worst a page
/// is asked for a word that is no code, and then the variable wants another name.
#[derive(Default)]
struct Variables {
    values: BTreeMap<String, Vec<(String, usize)>>,
}

impl<'ast> Visit<'ast> for Variables {
    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let Some(init) = &local.init {
            let declared = Declarations::default();
            let mut value = |pattern: &syn::Pat, place: Option<usize>| {
                let syn::Pat::Ident(name) = pattern else { return };
                let values = self.values.entry(name.ident.to_string()).or_default();
                let mut literals = Literals { declared: &declared, place, found: values };
                literals.visit_expr(&init.expr);
            };
            match &local.pat {
                syn::Pat::Tuple(tuple) => {
                    tuple.elems.iter().enumerate().for_each(|(at, name)| value(name, Some(at)));
                }
                name => value(name, None),
            }
        }
        syn::visit::visit_local(self, local);
    }
}

impl Uses<'_> {
    fn give(&mut self, value: &syn::Expr) {
        if let syn::Expr::Path(path) = value
            && let Some(name) = path.path.get_ident()
            && let Some(values) = self.variables.values.get(&name.to_string())
        {
            self.found.extend(values.iter().cloned());
        }
        let mut literals =
            Literals { declared: self.declared, place: None, found: &mut self.found };
        literals.visit_expr(value);
    }

    /// Calls inside a macro such as `select!`, whose arguments have no syntax of their own.
    fn calls_in(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (end, token) in tokens.iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            self.calls_in(group.stream());
            let call = tokens.get(end.saturating_sub(4)..=end).unwrap_or_default();
            let call: TokenStream = call.iter().cloned().collect();
            if let Ok(call) = syn::parse2::<syn::ExprCall>(call) {
                self.visit_expr_call(&call);
            }
        }
    }

    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let owner = self.owner.as_deref().unwrap_or_default();
        let words = WORDS.iter().any(|(of, name)| *of == owner && signature.ident == name);
        if signature.ident == "code" || words {
            let mut literals =
                Literals { declared: self.declared, place: None, found: &mut self.found };
            literals.visit_block(block);
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outer = std::mem::replace(&mut self.owner, type_name(&item.self_ty));
        syn::visit::visit_item_impl(self, item);
        self.owner = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.body(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.body(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        if called.path.is_ident("codes") {
            self.found.extend(assigned(called.tokens.clone()));
        }
        self.calls_in(called.tokens.clone());
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(path) = &*call.func {
            let mut segments = path.path.segments.iter().rev().map(|s| s.ident.to_string());
            let name = segments.next().unwrap_or_default();
            let owner = match segments.next() {
                Some(own) if own == "Self" => self.owner.clone(),
                Some(owner) if owner.starts_with(char::is_uppercase) => Some(owner),
                _ => None,
            };
            let at = self.declared.parameters.get(&(owner, name));
            if let Some(value) = at.and_then(|at| call.args.iter().nth(*at)) {
                self.give(value);
            }
        }
        syn::visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        for (index, value) in call.args.iter().enumerate() {
            if self.declared.methods.contains(&(name.clone(), index)) {
                self.give(value);
            }
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let (syn::Pat::Ident(name), Some(init)) = (&local.pat, &local.init) {
            if name.ident == "code" {
                self.give(&init.expr);
            } else if name.ident == "id" {
                return;
            }
        }
        syn::visit::visit_local(self, local);
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if let syn::Member::Named(name) = &field.member {
            if name == "code" {
                self.give(&field.expr);
            } else if name == "id" {
                return;
            }
        }
        syn::visit::visit_field_value(self, field);
    }
}

/// Text that an expression can come to: literals and constants outside patterns and comparisons.
struct Literals<'a> {
    declared: &'a Declarations,
    /// In a tuple, the one element that counts.
    place: Option<usize>,
    found: &'a mut Vec<(String, usize)>,
}

impl<'ast> Visit<'ast> for Literals<'_> {
    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.found.push((literal.value(), literal.span().start().line));
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let Some(name) = path.path.segments.last().map(|segment| &segment.ident) else { return };
        if let Some(value) = self.declared.constants.get(&name.to_string()) {
            self.found.push((value.clone(), name.span().start().line));
        }
    }

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_expr_binary(&mut self, _: &'ast syn::ExprBinary) {}

    fn visit_expr_tuple(&mut self, tuple: &'ast syn::ExprTuple) {
        let place = self.place.take();
        match place {
            Some(at) => tuple.elems.iter().skip(at).take(1).for_each(|one| self.visit_expr(one)),
            None => syn::visit::visit_expr_tuple(self, tuple),
        }
        self.place = place;
    }

    fn visit_expr_index(&mut self, _: &'ast syn::ExprIndex) {}

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        if !LOOK_UPS.iter().any(|name| call.method == name) {
            call.args.iter().for_each(|value| self.visit_expr(value));
        }
    }

    fn visit_expr_if(&mut self, branches: &'ast syn::ExprIf) {
        self.visit_block(&branches.then_branch);
        if let Some((_, otherwise)) = &branches.else_branch {
            self.visit_expr(otherwise);
        }
    }
}

/// Every `NAME = "word"` of a table.
fn assigned(tokens: TokenStream) -> Vec<(String, usize)> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let word = |window: &[TokenTree]| match window {
        [TokenTree::Ident(_), TokenTree::Punct(equals), TokenTree::Literal(value)]
            if equals.as_char() == '=' =>
        {
            let line = value.span().start().line;
            let text: syn::LitStr = syn::parse_str(&value.to_string()).ok()?;
            Some((text.value(), line))
        }
        _ => None,
    };
    tokens.windows(3).filter_map(word).collect()
}

fn type_name(of: &syn::Type) -> Option<String> {
    let syn::Type::Path(path) = of else { return None };
    path.path.segments.last().map(|segment| segment.ident.to_string())
}
