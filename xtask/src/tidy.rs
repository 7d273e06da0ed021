//! All rules over the whole repository.

use std::path::Path;

use crate::command::metadata;
use crate::rule::{book, budget, code, edge, link, name, panic, purity, shown, word};
use crate::{Finding, Source, Tree, XtaskError};

/// Every rule that does not hold, in order of path.
///
/// # Errors
/// [`XtaskError`] when the repository cannot be read; a rule that does not hold is a [`Finding`].
pub fn tidy(root: &Path) -> Result<Vec<Finding>, XtaskError> {
    let tree = Tree::read(root).map_err(|error| XtaskError::Read { error })?;
    let packages =
        edge::packages(&metadata(root)?).map_err(|error| XtaskError::Metadata { error })?;
    let (sources, mut findings) = Source::all(&tree);
    findings.extend(edge::check(&packages));
    findings.extend(edge::check_map(&packages, &tree));
    findings.extend(name::check(&tree));
    findings.extend(word::check(&tree));
    findings.extend(link::check(&tree));
    findings.extend(book::check(&tree));
    findings.extend(shown::check(&tree));
    findings.extend(budget::check(&sources));
    findings.extend(panic::check(&sources));
    findings.extend(purity::check(&sources));
    findings.extend(code::check(&sources, &tree));
    findings.sort();
    Ok(findings)
}
