use probity_record::{Chain, FormatVersion, LineFault, ResumeError, VersionError};
use probity_record::{Record, blob_digest, read_records};

use crate::sample;

fn version(major: u16, minor: u16) -> FormatVersion {
    FormatVersion { major, minor }
}

/// A record whose body was edited and whose hash is right again.
fn rewritten(line: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = std::str::from_utf8(line).unwrap();
    let body = text.strip_prefix("{\"body\":").unwrap().rsplit_once(",\"hash\":").unwrap().0;
    assert!(body.contains(from), "{from} is not in {body}");
    let body = body.replacen(from, to, 1);
    format!("{{\"body\":{body},\"hash\":\"{}\"}}", blob_digest(body.as_bytes())).into_bytes()
}

#[test]
fn versions_have_one_spelling() {
    assert_eq!("1.0".parse(), Ok(version(1, 0)));
    assert_eq!("12.345".parse(), Ok(version(12, 345)));
    for text in ["", "1", "1.", ".0", "1.0.0", "01.0", "1.00", "+1.0", "1.-0", " 1.0", "1.65536"] {
        assert!(text.parse::<FormatVersion>().is_err(), "{text}");
    }
}

#[test]
fn who_may_read_and_who_may_append() {
    let current = FormatVersion::CURRENT;
    let newer = version(current.major, current.minor + 1);
    let major = version(current.major + 1, 0);
    assert_eq!((current.check_readable(), current.check_appendable()), (Ok(()), Ok(())));
    assert_eq!(newer.check_readable(), Ok(()));
    assert_eq!(newer.check_appendable(), Err(VersionError::NewerThanWriter { found: newer }));
    let unreadable = Err(VersionError::Unreadable { found: major });
    assert_eq!(
        (major.check_readable(), major.check_appendable()),
        (unreadable.clone(), unreadable)
    );
}

#[test]
fn a_newer_minor_version_is_read_as_far_as_it_is_known_and_never_appended_to() {
    let lines = sample::lines("unsealed");
    let newer = rewritten(&lines[0], "\"v\":\"1.3\"", "\"v\":\"1.4\"");
    assert_eq!(Record::parse(&newer).unwrap().version, version(1, 4));
    assert_eq!(read_records([&newer]).unwrap().entries.len(), 1);
    assert!(matches!(Chain::resume(&newer), Err(ResumeError::Version(_))));

    let unknown = rewritten(&newer, "\"type\":\"run.opened\"", "\"type\":\"run.wished\"");
    let error = Record::parse(&unknown).unwrap_err();
    assert_eq!(error.code(), "record_newer");
    assert!(error.to_string().contains("run.wished"), "{error}");
    let field = rewritten(&newer, "{\"at_ms\"", "{\"a_wish\":1,\"at_ms\"");
    assert!(matches!(Record::parse(&field), Err(LineFault::Newer { .. })));
}

#[test]
fn a_name_unknown_to_its_own_version_is_malformed() {
    let lines = sample::lines("unsealed");
    let unknown = rewritten(&lines[0], "\"type\":\"run.opened\"", "\"type\":\"run.wished\"");
    assert!(matches!(Record::parse(&unknown), Err(LineFault::Body { .. })));
    for (from, to) in [("\"v\":\"1.3\"", "\"v\":\"2.0\""), ("\"v\":\"1.3\"", "\"v\":\"0.9\"")] {
        let other = rewritten(&lines[0], from, to);
        assert_eq!(Record::parse(&other).unwrap_err().code(), "record_version");
        let with_unknown = rewritten(&other, "\"run.opened\"", "\"run.wished\"");
        assert_eq!(Record::parse(&with_unknown).unwrap_err().code(), "record_version");
    }
    let nonsense = rewritten(&lines[0], "\"v\":\"1.3\"", "\"v\":\"one\"");
    assert_eq!(Record::parse(&nonsense).unwrap_err().code(), "record_body");
}

#[test]
fn a_right_hash_does_not_excuse_another_spelling() {
    let lines = sample::lines("unsealed");
    for (from, to) in [
        ("{\"at_ms\":", "{ \"at_ms\":"),
        ("\"run.opened\"", "\"run\\u002eopened\""),
        ("\"seq\":0", "\"seq\":0.0"),
        ("\"seq\":0", "\"seq\":0,\"seq\":0"),
        ("\"seq\":0,\"v\":\"1.3\"", "\"v\":\"1.3\",\"seq\":0"),
    ] {
        let other = rewritten(&lines[0], from, to);
        assert_eq!(Record::parse(&other).unwrap_err().code(), "record_not_canonical", "{to}");
    }
}

/// A log that an older build began goes on in our version; versions never fall along it.
#[test]
fn a_record_of_an_older_minor_version_is_continued_in_ours() {
    let entries = sample::entries("unsealed");
    let older = rewritten(&sample::lines("unsealed")[0], "\"v\":\"1.3\"", "\"v\":\"1.0\"");
    let mut chain = Chain::resume(&older).unwrap();
    let next = chain.append(&entries[1]).unwrap().into_bytes();
    let versions: Vec<_> =
        [&older, &next].map(|line| Record::parse(line).unwrap().version).into_iter().collect();
    assert_eq!(versions, [version(1, 0), version(1, 3)]);
    assert_eq!(read_records([older, next]).unwrap().entries, entries[..2]);
}

/// What 1.1 to 1.3 added is a name that a record of our own version may not have anywhere else, and one of a
/// newer version may.
#[test]
fn a_field_beside_those_that_are_known_is_malformed_here_and_newer_there() {
    let mut tried = std::collections::BTreeSet::new();
    for name in sample::NAMES {
        for (entry, line) in sample::entries(name).iter().zip(sample::lines(name)) {
            let kind = entry.event.name();
            let from = format!("\"type\":\"{kind}\"");
            // Keys stay sorted, so that only the name is new.
            let more = rewritten(&line, &from, &format!("{from},\"typed_wish\":1"));
            assert!(matches!(Record::parse(&more), Err(LineFault::Body { .. })), "{kind}");
            let newer = rewritten(&more, "\"v\":\"1.3\"", "\"v\":\"1.4\"");
            assert!(matches!(Record::parse(&newer), Err(LineFault::Newer { .. })), "{kind}");
            tried.insert(kind);
        }
    }
    assert_eq!(tried.len(), 27);
}
