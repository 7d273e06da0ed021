//! How long a file and a function may be.

use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::{Finding, Source};

/// Lines of a file, its tests not counted.
pub const MAX_FILE_LINES: usize = 500;
/// Lines of a function from its signature to its last brace.
pub const MAX_FUNCTION_LINES: usize = 70;

/// Files and functions over their budget.
#[must_use]
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let lines = source.product_lines();
        if lines > MAX_FILE_LINES {
            let text = format!("{lines} product lines, more than {MAX_FILE_LINES}: split it");
            findings.push(Finding::new(&source.path, 0, text));
        }
        let mut functions = Functions { source, findings: &mut findings };
        functions.visit_file(&source.ast);
    }
    findings
}

struct Functions<'a> {
    source: &'a Source,
    findings: &'a mut Vec<Finding>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let lines = block.span().end().line.saturating_sub(first) + 1;
        if lines > MAX_FUNCTION_LINES && !self.source.is_test(first) {
            let name = &signature.ident;
            let text = format!("`{name}` has {lines} lines, more than {MAX_FUNCTION_LINES}");
            self.findings.push(Finding::new(&self.source.path, first, text));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.measure(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.measure(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.measure(&item.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }
}
