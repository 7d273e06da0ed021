//! Which refs of a remote must hold a commit for it to count as pushed.
//!
//! Git takes a push under any name, so a commit that is somewhere on the remote is not yet where it
//! was asked to be.

use std::collections::BTreeMap;

/// What is known of a repository when its remote is asked.
#[derive(Debug)]
pub(super) struct Known<'a> {
    /// Every ref with its commit.
    pub(super) tips: &'a BTreeMap<String, String>,
    /// Full name of the branch that `HEAD` is on, or was on before the run.
    pub(super) branch: Option<&'a str>,
    /// The ref of this remote that the branch followed before the run.
    pub(super) upstream: Option<&'a str>,
    /// The name of the remote.
    pub(super) remote: &'a str,
}

/// Where on the remote the commit must be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// In the history of any ref.
    Anywhere,
    /// For each entry, in the history of one of its refs.
    Refs(Vec<Vec<String>>),
}

/// Where a reference must be. A name that several refs have must be there under each of them.
pub(super) fn destination(reference: &str, commit: &str, known: &Known<'_>) -> Destination {
    let base = ["~", "^", "@{"]
        .iter()
        .filter_map(|mark| reference.find(mark))
        .min()
        .and_then(|end| reference.get(..end))
        .unwrap_or(reference);
    if ["", "@", "HEAD"].contains(&base) {
        let Some(branch) = known.branch else { return Destination::Anywhere };
        let names = [Some(branch), known.upstream].into_iter().flatten();
        return Destination::Refs(vec![names.map(str::to_owned).collect()]);
    }
    // Git prefers a whole id to a ref of that name, and a ref to a part of an id.
    let is_id = base.len() >= 4 && base.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id && [40, 64].contains(&base.len()) {
        return Destination::Anywhere;
    }
    let places = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
    let mut names: Vec<Vec<String>> = places
        .iter()
        .map(|place| format!("{place}{base}"))
        .chain([format!("refs/remotes/{base}/HEAD")])
        .filter(|name| known.tips.contains_key(name))
        .map(|name| vec![on_the_remote(&name, known.remote)])
        .collect();
    if names.is_empty() {
        // With `base` as part of an id, `reference` may be an ancestor of what it names.
        if is_id && (base.len() < reference.len() || commit.starts_with(&base.to_lowercase())) {
            return Destination::Anywhere;
        }
        names.push(vec![format!("refs/heads/{base}"), format!("refs/tags/{base}")]);
    }
    Destination::Refs(names)
}

/// The remote's name of a ref: that of the branch which a remote-tracking ref follows, else the same.
fn on_the_remote(name: &str, remote: &str) -> String {
    let Some(tracked) = name.strip_prefix("refs/remotes/") else { return name.to_owned() };
    let own = tracked.strip_prefix(remote).and_then(|rest| rest.strip_prefix('/'));
    match own.or_else(|| tracked.split_once('/').map(|(_, branch)| branch)) {
        Some("HEAD") => "HEAD".to_owned(),
        Some(branch) => format!("refs/heads/{branch}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_reference_has_its_destination() {
        let full = "ab12".repeat(10);
        let names = [
            "refs/heads/main",
            "refs/heads/user@x",
            "refs/heads/twin",
            "refs/tags/twin",
            "refs/tags/v1",
            "refs/heads/beef",
            "refs/remotes/origin/main",
            "refs/remotes/origin/HEAD",
            "refs/remotes/fork/topic",
            "refs/notes/n",
        ];
        let tips = names.map(|name| (name.to_owned(), full.clone())).into();
        let known = |branch, upstream| Known { tips: &tips, branch, upstream, remote: "origin" };
        let refs = |names: &[&[&str]]| {
            let owned = |any: &&[&str]| any.iter().map(|name| (*name).to_owned()).collect();
            Destination::Refs(names.iter().map(owned).collect())
        };
        for (reference, expected) in [
            (full.as_str(), Destination::Anywhere),
            ("ab12ab12", Destination::Anywhere),
            ("AB12~1", Destination::Anywhere),
            ("beef", refs(&[&["refs/heads/beef"]])),
            ("cafe", refs(&[&["refs/heads/cafe", "refs/tags/cafe"]])),
            ("main", refs(&[&["refs/heads/main"]])),
            ("main~2", refs(&[&["refs/heads/main"]])),
            ("main^{commit}", refs(&[&["refs/heads/main"]])),
            ("heads/main", refs(&[&["refs/heads/main"]])),
            ("refs/heads/main", refs(&[&["refs/heads/main"]])),
            ("user@x", refs(&[&["refs/heads/user@x"]])),
            ("v1", refs(&[&["refs/tags/v1"]])),
            ("twin", refs(&[&["refs/tags/twin"], &["refs/heads/twin"]])),
            ("origin/main", refs(&[&["refs/heads/main"]])),
            ("origin", refs(&[&["HEAD"]])),
            ("fork/topic", refs(&[&["refs/heads/topic"]])),
            ("notes/n", refs(&[&["refs/notes/n"]])),
            ("stray", refs(&[&["refs/heads/stray", "refs/tags/stray"]])),
        ] {
            assert_eq!(destination(reference, &full, &known(None, None)), expected, "{reference}");
        }
        for reference in ["HEAD", "@", "HEAD~1", "@{1}"] {
            let at = |known| destination(reference, &full, &known);
            assert_eq!(at(known(None, None)), Destination::Anywhere);
            assert_eq!(at(known(Some("refs/heads/a"), None)), refs(&[&["refs/heads/a"]]));
            let followed = known(Some("refs/heads/a"), Some("refs/heads/b"));
            assert_eq!(at(followed), refs(&[&["refs/heads/a", "refs/heads/b"]]));
        }
    }
}
