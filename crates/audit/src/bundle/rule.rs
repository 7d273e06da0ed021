//! What an audit of a bundle can find.

use probity_report::{Failures, Place, Rule};

/// Checks of a bundle, in the order in which a report lists them. Those of the log stand behind, and
/// that of its content is one with the bundle's.
pub(crate) const CONTAINER: &str = "container";
pub(crate) const MANIFEST: &str = "manifest";
pub(crate) const DIGESTS: &str = "digests";
pub(crate) const STATEMENT: &str = "statement";
pub(crate) const SIGNATURE: &str = "signature";
pub(crate) const EPISODE: &str = "episode";
pub(crate) const CONTENT: &str = "content";

/// The first thing that makes the rest of a container unreadable.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) rule: &'static Rule,
    pub(crate) place: Place,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(rule: &'static Rule, place: Place, message: impl Into<String>) -> Self {
        Self { rule, place, message: message.into() }
    }

    pub(crate) fn tell(self, failures: &mut Failures) {
        failures.add(self.rule, self.place, self.message);
    }
}

macro_rules! rules {
    ($($name:ident = $rule:expr;)*) => {
        $(pub(crate) static $name: Rule = $rule;)*

        /// Every rule of a bundle, without those of its log and its episode.
        pub static BUNDLE_RULES: &[&Rule] = &[$(&$name),*];
    };
}

#[rustfmt::skip]
rules! {
    UNREADABLE = Rule::malformed("bundle_unreadable", CONTAINER, "bytes that could not be read");
    TRUNCATED = Rule::malformed("bundle_truncated", CONTAINER, "a container that ends too early");
    TRAILING = Rule::malformed("bundle_trailing", CONTAINER, "bytes behind the end");
    HEADER = Rule::malformed("bundle_header", CONTAINER, "a header that no writer of bundles writes");
    ENTRY_TYPE = Rule::malformed("bundle_entry_type", CONTAINER, "a link, a folder or an extension");
    ENTRY_NAME = Rule::malformed("bundle_entry_name", CONTAINER, "a name that leads elsewhere");
    ENTRY_TWICE = Rule::malformed("bundle_entry_twice", CONTAINER, "an entry that stood before");
    ENTRY_ORDER = Rule::malformed("bundle_entry_order", CONTAINER, "an entry out of order");
    ENTRY_UNLISTED = Rule::malformed("bundle_entry_unlisted", CONTAINER, "an entry that is not listed");
    ENTRY_MISSING = Rule::malformed("bundle_entry_missing", CONTAINER, "a listed entry that is not there");
    ENTRY_SIZE = Rule::malformed("bundle_entry_size", CONTAINER, "another size than is listed");
    TOO_LARGE = Rule::limit("bundle_too_large", CONTAINER, "more than is read");
    MANIFEST_SHAPE = Rule::malformed("bundle_manifest", MANIFEST, "a manifest that is none");
    VERSION = Rule::malformed("bundle_version", MANIFEST, "another version of the format");
    MANIFEST_DIFFERS = Rule::error("bundle_manifest_differs", MANIFEST, "the manifest says otherwise than the log");
    ENTRY_DIGEST = Rule::error("bundle_entry_digest", DIGESTS, "other bytes than are listed");
    REDACTED = Rule::withheld("bundle_redacted", CONTENT, "content that was taken out");
    ABSENT = Rule::withheld("bundle_absent", CONTENT, "content that was not there when the bundle was made");
    NOT_REDACTED = Rule::error("bundle_redaction_refused", CONTENT, "content is missing, and all is asked for");
    STATEMENT_SHAPE = Rule::malformed("bundle_statement", STATEMENT, "an envelope that is none");
    STATEMENT_DIFFERS = Rule::error("bundle_statement_differs", STATEMENT, "the statement is about something else");
    UNSIGNED = Rule::note("bundle_unsigned", SIGNATURE, "nobody signed");
    UNANCHORED = Rule::note("bundle_signature_unanchored", SIGNATURE, "a signature that no key was given for");
    SIGNATURE_WRONG = Rule::error("bundle_signature_wrong", SIGNATURE, "not signed by the given key");
    SIGNATURE_MISSING = Rule::error("bundle_signature_missing", SIGNATURE, "not signed, and a signature is asked for");
    EPISODE_RUN = Rule::error("bundle_episode_differs", EPISODE, "the episode of another run");
    EPISODE_RECEIPT = Rule::error("bundle_receipt", EPISODE, "a receipt that is none");
}
