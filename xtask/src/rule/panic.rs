//! Calls that end the process, and lints that are silenced without a reason.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{Finding, Source};

/// `unwrap` and `expect` in shipped code, and `allow` attributes anywhere. Looks at tokens, so that
/// the bodies of macros are seen too.
#[must_use]
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let shipped = source.path.starts_with("crates/") && !source.is_support;
        // The text has been parsed once already; tokens of it cannot fail to be read.
        let tokens: TokenStream = source.text.parse().unwrap_or_default();
        scan(tokens, &mut |line, message| {
            let is_panic = message == PANIC;
            if !is_panic || (shipped && !source.is_test(line)) {
                findings.push(Finding::new(&source.path, line, message));
            }
        });
    }
    findings
}

const PANIC: &str = "library code returns errors: no `unwrap`, no `expect`";
const ALLOW: &str = "write `#[expect(lint, reason = \"...\")]`";

fn scan(tokens: TokenStream, found: &mut dyn FnMut(usize, &'static str)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for window in tokens.windows(3) {
        if let [TokenTree::Punct(dot), TokenTree::Ident(name), TokenTree::Group(arguments)] = window
            && dot.as_char() == '.'
            && panics(name, arguments)
        {
            found(name.span().start().line, PANIC);
        }
    }
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let before = |back: usize| match index.checked_sub(back).and_then(|i| tokens.get(i)) {
            Some(TokenTree::Punct(punct)) => Some(punct.as_char()),
            _ => None,
        };
        let attribute = group.delimiter() == Delimiter::Bracket
            && (before(1) == Some('#') || (before(1) == Some('!') && before(2) == Some('#')));
        if attribute {
            attribute_tokens(group.stream(), found);
        } else {
            scan(group.stream(), found);
        }
    }
}

/// `unwrap()` and `expect("text")`. A parser's own `expect(b'{')` is something else.
fn panics(name: &proc_macro2::Ident, arguments: &proc_macro2::Group) -> bool {
    let first = arguments.stream().into_iter().next();
    let text = first.as_ref().is_some_and(|token| token.to_string().starts_with('"'));
    arguments.delimiter() == Delimiter::Parenthesis
        && ((name == "unwrap" && first.is_none()) || (name == "expect" && text))
}

fn attribute_tokens(tokens: TokenStream, found: &mut dyn FnMut(usize, &'static str)) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) if name == "allow" => found(name.span().start().line, ALLOW),
            TokenTree::Group(group) => attribute_tokens(group.stream(), found),
            _ => {}
        }
    }
}
