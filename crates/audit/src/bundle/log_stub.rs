use probity_core::Digest;
use probity_report::Draft;
pub trait Content {
    fn blob(&self, digest: &Digest) -> Blob;
}
pub enum Blob {
    Bytes(Vec<u8>),
    Withheld,
    Absent,
}
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPolicy;
pub(crate) fn audit_within(
    _log: &[u8],
    _file: &str,
    _content: &dyn Content,
    _policy: &LogPolicy,
    _draft: &mut Draft,
) {
}
