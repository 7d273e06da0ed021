//! The original's checks of the files: evidence and the table of chunks.

use std::collections::{BTreeMap, HashMap};

use probity_report::Place;
use sha2::{Digest as _, Sha256};

use super::checks::{Part, claims, message, place};
use super::chunk::Chunks;
use super::directory::{Directory, Found};
use super::model::{Body, Event, Evidence, Span, Support, SupportKind, Trace};
use super::outcome::Outcome;
use super::text::Text;
use super::{CompatError, rule};

/// The most bytes of one evidence file.
pub const MAX_EVIDENCE_BYTES: u64 = 1 << 30;

/// The most bytes that the cited spans of one run may come to.
pub const MAX_CITED_BYTES: u64 = 1 << 34;

/// The longest path, and the longest part of one, that a system takes.
const MAX_PATH_BYTES: usize = 4095;
const MAX_PART_BYTES: usize = 255;

/// Runs the last two checks.
///
/// # Errors
/// [`CompatError`] where the original raises or waits for ever, or beyond a bound.
pub(super) fn run(
    trace: &Trace,
    directory: &Directory<'_>,
    out: &mut Outcome,
) -> Result<(), CompatError> {
    let contents = evidence_hashes(trace, directory, out)?;
    let registered = registered(trace, &contents);
    chunk_table(trace, directory, &contents, out)?;
    support_spans(trace, directory, &registered, out)
}

/// An evidence file that was read.
#[derive(Debug, Clone)]
struct Content {
    path: String,
    sha256: String,
    len: usize,
}

/// Files by the path that the trace states; `None` for those that are not there.
type Contents<'a> = HashMap<&'a Text, Option<Content>>;

/// The evidences whose files were read, by their ids: of those of one id, the last counts.
type Registered<'a> = HashMap<&'a Text, (&'a Content, &'a Span)>;

fn registered<'a>(trace: &'a Trace, contents: &'a Contents<'a>) -> Registered<'a> {
    let with_file = |(evidence, _): (&'a Evidence, _)| {
        let content = contents.get(&evidence.content_path)?.as_ref()?;
        Some((&evidence.id, (content, &evidence.span)))
    };
    evidences(trace).filter_map(with_file).collect()
}

fn evidences(trace: &Trace) -> impl Iterator<Item = (&Evidence, &Event)> {
    trace.events.iter().filter_map(|event| match &event.body {
        Body::EvidenceRegistered(evidence) => Some((evidence, event)),
        _ => None,
    })
}

fn evidence_hashes<'a>(
    trace: &'a Trace,
    directory: &Directory<'_>,
    out: &mut Outcome,
) -> Result<Contents<'a>, CompatError> {
    let mut contents = Contents::new();
    let mut buffer = Vec::new();
    for (evidence, event) in evidences(trace) {
        let path = &evidence.content_path;
        if !contents.contains_key(path) {
            contents.insert(path, content(path, directory, &mut buffer)?);
        }
        match contents.get(path).and_then(Option::as_ref) {
            None => {
                let text = message(&[&"Evidence path escapes artifacts_dir: ", path]);
                out.add(&rule::EVIDENCE_PATH, place(event), text)?;
            }
            Some(content) if content.sha256.as_bytes() != evidence.sha256.bytes() => {
                let text = message(&[&"Evidence ", &evidence.id, &" sha256 mismatch"]);
                out.add(&rule::EVIDENCE_HASH, place(event), text)?;
            }
            Some(_) => {}
        }
    }
    Ok(contents)
}

fn content(
    stated: &Text,
    directory: &Directory<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Option<Content>, CompatError> {
    let Some(path) = stated.as_str().filter(|path| is_path(path)) else { return Ok(None) };
    match directory.read(path, MAX_EVIDENCE_BYTES, buffer)? {
        Found::File => Ok(Some(Content {
            path: path.to_owned(),
            sha256: hex::encode(Sha256::digest(&buffer)),
            len: buffer.len(),
        })),
        Found::Nothing | Found::Outside => Ok(None),
        Found::Folder => Err(CompatError::Raised { exception: "IsADirectoryError" }),
        Found::Loop => Err(CompatError::Raised { exception: "RuntimeError" }),
    }
}

/// Whether a file can have the path at all.
fn is_path(path: &str) -> bool {
    let is_short =
        path.len() <= MAX_PATH_BYTES && path.split('/').all(|part| part.len() <= MAX_PART_BYTES);
    is_short && !path.contains('\0')
}

fn chunk_table(
    trace: &Trace,
    directory: &Directory<'_>,
    contents: &Contents<'_>,
    out: &mut Outcome,
) -> Result<(), CompatError> {
    let Some(chunks) = Chunks::read(directory)? else { return Ok(()) };
    for (evidence, event) in evidences(trace) {
        let Some(Some(content)) = contents.get(&evidence.content_path) else { continue };
        let id = &evidence.chunk_id;
        let is_moved = chunks.span(id).is_some_and(|span| *span != evidence.span);
        if let (true, Some(span)) = (is_moved, chunks.span(id)) {
            let says: [&dyn Part; 6] = [
                &"support_spans: evidence span ",
                &evidence.span.to_string(),
                &" does not match chunk span ",
                &span.to_string(),
                &" for chunk ",
                id,
            ];
            out.add(&rule::CHUNK_SPAN, place(event), message(&says))?;
        } else if chunks
            .sha256(id)
            .is_some_and(|sha256| sha256.bytes() != content.sha256.as_bytes())
        {
            let text = message(&[&"support_spans: evidence hash mismatch vs chunk hash for ", id]);
            out.add(&rule::CHUNK_HASH, place(event), text)?;
        }
    }
    Ok(())
}

/// A cited span of a file, as offsets that lie in it.
type Cited<'a> = (&'a str, usize, usize);

fn support_spans(
    trace: &Trace,
    directory: &Directory<'_>,
    registered: &Registered<'_>,
    out: &mut Outcome,
) -> Result<(), CompatError> {
    let hashes = cited_hashes(trace, directory, registered)?;
    for (claim, place) in claims(trace) {
        for support in claim.supports.iter().filter(|it| it.kind == SupportKind::Evidence) {
            if let Some((rule, text)) = fault(support, &claim.id, registered, &hashes) {
                out.add(rule, Place::clone(&place), text)?;
            }
        }
    }
    Ok(())
}

fn fault(
    support: &Support,
    claim: &Text,
    registered: &Registered<'_>,
    hashes: &BTreeMap<Cited<'_>, String>,
) -> Option<(&'static probity_report::Rule, Text)> {
    let id = &support.ref_id;
    let Some((content, of_evidence)) = registered.get(id) else {
        let parts: [&dyn Part; 4] =
            [&"support_spans: evidence ", id, &" bytes missing for claim ", claim];
        return Some((&rule::EVIDENCE_BYTES, message(&parts)));
    };
    let span = support.span.to_string();
    let Some(cited) = cited(support, content) else {
        let says: &str = "support_spans: invalid span ";
        let parts: [&dyn Part; 6] = [&says, &span, &" for evidence ", id, &" in claim ", claim];
        return Some((&rule::SPAN_BEYOND, message(&parts)));
    };
    if !is_within(&support.span, of_evidence) {
        let parts: [&dyn Part; 6] = [
            &"support_spans: support span ",
            &span,
            &" not within evidence span ",
            &of_evidence.to_string(),
            &" for ",
            id,
        ];
        return Some((&rule::SPAN_OUTSIDE, message(&parts)));
    }
    let is_same =
        hashes.get(&cited).is_some_and(|hash| hash.as_bytes() == support.snippet_sha256.bytes());
    (!is_same).then(|| {
        let says: &str = "support_spans: snippet hash mismatch for evidence ";
        (&rule::SNIPPET_HASH, message(&[&says, id, &" in claim ", claim]))
    })
}

/// The digests of all cited spans: every file is read once more, whatever the order of the claims.
fn cited_hashes<'a>(
    trace: &'a Trace,
    directory: &Directory<'_>,
    registered: &Registered<'a>,
) -> Result<BTreeMap<Cited<'a>, String>, CompatError> {
    let mut hashes: BTreeMap<Cited<'a>, String> = BTreeMap::new();
    let mut cited_bytes = 0_u64;
    for support in claims(trace).flat_map(|(claim, _)| &claim.supports) {
        let Some((content, of_evidence)) = registered.get(&support.ref_id) else { continue };
        let is_looked_at =
            support.kind == SupportKind::Evidence && is_within(&support.span, of_evidence);
        let Some(cited) = cited(support, content).filter(|_| is_looked_at) else { continue };
        if hashes.insert(cited, String::new()).is_none() {
            cited_bytes = cited_bytes.saturating_add((cited.2 - cited.1) as u64);
        }
    }
    if cited_bytes > MAX_CITED_BYTES {
        return Err(CompatError::Limit { what: "bytes of cited spans", max: MAX_CITED_BYTES });
    }
    let mut buffer = Vec::new();
    let mut open = None;
    for ((path, start, end), hash) in &mut hashes {
        if open != Some(*path) {
            directory.read(path, MAX_EVIDENCE_BYTES, &mut buffer)?;
            open = Some(*path);
        }
        // A file that became shorter since gives no digest, which no support states.
        if let Some(bytes) = buffer.get(*start..*end) {
            *hash = hex::encode(Sha256::digest(bytes));
        }
    }
    Ok(hashes)
}

/// The span of a support, if it lies in the file.
fn cited<'a>(support: &Support, content: &'a Content) -> Option<Cited<'a>> {
    let offset = |of: &super::number::Integer| of.small().and_then(|at| usize::try_from(at).ok());
    let (start, end) = (offset(&support.span.start)?, offset(&support.span.end)?);
    (end <= content.len).then_some((&content.path, start, end))
}

fn is_within(inner: &Span, outer: &Span) -> bool {
    inner.start >= outer.start && inner.end <= outer.end
}
