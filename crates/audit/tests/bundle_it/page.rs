//! The page: what a browser is told, and what a stranger cannot tell it.

use probity_audit::bundle::Inclusion;
use probity_audit::page::{
    MAX_CONTENT_CHARS, MAX_ROWS, Row, Shown, Timeline, bundle_timeline, render_page,
};
use probity_core::{Digest, Entry, Event};
use probity_record::Chain;
use probity_report::{Draft, Failures, Place, Rule, SubjectKind, VerificationReport};

use crate::sample::SECRET;
use crate::{audit, bundle, sample, signing_key, write};

const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "</td></table></main><img src=x onerror=alert(1)>",
    "\"><a href='javascript:alert(1)'>",
    "' onmouseover='alert(1)",
    "&lt;script&gt;",
    "</pre></style></title><svg/onload=alert(1)>",
    "a\u{202e}b\u{2066}c\u{200b}d\u{feff}",
    "\u{0}\u{1b}[31m\r\n<!-- -->",
];

fn page_of(bytes: &[u8]) -> String {
    render_page(&audit(bytes), bundle_timeline(&mut &*bytes).as_ref())
}

/// The tags of a page, in order, without what stands between them.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()).collect()
}

fn timeline(text: &str) -> Timeline {
    let shown =
        Shown { role: "claim", digest: Digest::from_bytes([1; 32]), text: Some(text.to_owned()) };
    let row = Row {
        at_ms: 1_772_442_904_000,
        event: "claim.received",
        turn: None,
        came_to: text.to_owned(),
        content: vec![shown],
    };
    Timeline { rows: vec![row], left_off: 0 }
}

fn report(text: &str) -> VerificationReport {
    static RULE: Rule = Rule::error("bundle_header", "container", "a header");
    let mut failures = Failures::new();
    let place = Place::file(text).line(3).bytes(1, 2).pointer(text);
    failures.differs(&RULE, place.clone(), text, text);
    failures.add(&RULE, place, text);
    let mut draft = Draft::new(SubjectKind::Bundle, text, &["container"]);
    draft.failures = failures;
    draft.binds.insert("log", text.to_owned());
    draft.finish()
}

/// Whatever the text, the page has the same tags: nothing of a stranger becomes markup.
#[test]
fn a_strangers_text_is_text() {
    let plain = render_page(&report("x"), Some(&timeline("x")));
    for text in HOSTILE {
        let page = render_page(&report(text), Some(&timeline(text)));
        assert_eq!(tags(&page), tags(&plain), "{text:?}");
        for c in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{0}', '\u{1b}', '\r'] {
            assert!(!page.contains(c), "{text:?} leaves {c:?}");
        }
    }
}

#[test]
fn the_page_fetches_and_runs_nothing() {
    let page = page_of(&bundle(&sample::decision(), None));
    assert!(page.contains(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\">"
    ));
    for tag in tags(&page) {
        let name = tag.split([' ', '\n']).next().unwrap();
        let legal = [
            "!doctype", "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p",
            "table", "caption", "thead", "tbody", "tr", "th", "td", "pre",
        ];
        assert!(legal.contains(&name.trim_start_matches('/')), "{tag}");
        for attribute in ["src=", "href=", "onload", "onerror", "style="] {
            assert!(!tag.contains(attribute), "{tag}");
        }
    }
    assert!(!page.contains("url(") && !page.contains("@import"));
    assert!(page.contains("prefers-color-scheme: dark"));
}

/// Every tag that is opened is closed, in order.
#[test]
fn the_page_is_well_formed() {
    for bytes in [bundle(&sample::decision(), None), b"no bundle".to_vec()] {
        let page = page_of(&bytes);
        let mut open = Vec::new();
        for tag in tags(&page) {
            let name = tag.split([' ', '\n']).next().unwrap();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None if ["!doctype", "meta"].contains(&name) => {}
                None => open.push(name),
            }
        }
        assert!(open.is_empty());
    }
}

/// The verdict stands first and in words.
#[test]
fn the_page_says_what_the_report_says() {
    let signed = bundle(&sample::plain(), Some(&signing_key()));
    let page = page_of(&signed);
    assert!(page.contains("<h1>✓ valid</h1>"));
    assert!(page.find("<h1>").unwrap() < page.find("<h2>Checks</h2>").unwrap());
    assert!(page.contains("bundle_signature_unanchored"));
    assert!(page.contains("<h2>Timeline</h2>"));
    assert!(page.contains("2026-03-02T09:15:04"));
    for word in [
        "run.opened",
        "verdict.merged",
        "file-1: revise (file_missing)",
        "revise (file_missing), charged",
        "verified",
    ] {
        assert!(page.contains(word), "{word}");
    }
    let page = page_of(&signed[..signed.len() - 1]);
    assert!(page.contains("<h1>✗ malformed</h1>") && page.contains("bundle_truncated"));
    assert!(!page.contains("Timeline"), "of a bundle that cannot be read nothing is told");
}

#[test]
fn the_page_tells_who_drove_the_run_and_what_others_asked() {
    let sample = sample::noted();
    let timeline = Timeline::of(&sample.log, &sample).unwrap();
    let row = |event: &str| timeline.rows.iter().find(|row| row.event == event).unwrap();
    let told = |event: &str| {
        let row = row(event);
        let content = row.content.iter().map(|it| (it.role, it.text.clone().unwrap()));
        (row.came_to.as_str(), content.collect::<Vec<_>>())
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(row("run.opened").came_to, "1 checks declared, child of run-parent");
    let leased = "epoch 3, worker worker-3, 0 interruptions so far";
    assert_eq!(told("lease.taken"), (leased, vec![]));
    assert_eq!(told("run.released"), ("", vec![]));
    assert_eq!(told("run.steered"), ("", vec![("steer", text(sample::STEER))]));
    assert_eq!(told("run.cancel_requested"), ("", vec![("by", text(sample::REQUEST))]));
}

#[test]
fn content_is_shown_only_where_it_is_included() {
    let sample = sample::decision();
    assert!(page_of(&write(&sample, &Inclusion::All, None)).contains(SECRET));
    let redacted = page_of(&write(&sample, &Inclusion::Nothing, None));
    assert!(!redacted.contains(SECRET));
    assert!(redacted.contains("not shown") && redacted.contains("<h1>– integrity only</h1>"));
}

#[test]
fn long_content_is_cut() {
    let mut sample = sample::plain();
    let long = "é".repeat(MAX_CONTENT_CHARS + 1);
    let claims = probity_record::read_jsonl(&sample.log).unwrap().entries;
    for digest in sample.blobs.values_mut() {
        *digest = long.clone().into_bytes();
    }
    let timeline = Timeline::of(&sample.log, &sample).unwrap();
    assert_eq!(timeline.rows.len(), claims.len());
    assert_eq!(timeline.left_off, 0);
    let texts = timeline.rows.iter().flat_map(|row| &row.content);
    for text in texts.filter_map(|shown| shown.text.as_ref()) {
        assert_eq!(text.chars().count(), MAX_CONTENT_CHARS + 1);
        assert!(text.ends_with('…'));
    }
    assert!(Timeline::of(&sample.log[..sample.log.len() - 1], &sample).is_none());
}

/// A log of more events than a page shows.
#[test]
fn a_long_run_is_cut() {
    let sample = sample::plain();
    let opened = probity_record::read_jsonl(&sample.log).unwrap().entries.remove(0);
    let mut chain = Chain::new("run-plain".parse().unwrap());
    let mut log = chain.append(&opened).unwrap().into_bytes();
    for interruptions in 0..MAX_ROWS + 1 {
        let interruptions = u32::try_from(interruptions).unwrap();
        let event = Event::RunResumed { interruptions };
        log.push(b'\n');
        log.extend(chain.append(&Entry { at_ms: 1, event }).unwrap().into_bytes());
    }
    log.push(b'\n');
    let timeline = Timeline::of(&log, &sample).unwrap();
    assert_eq!((timeline.rows.len(), timeline.left_off), (MAX_ROWS, 2));
    assert!(render_page(&report("x"), Some(&timeline)).contains("2000 events; 2 more"));
}

#[test]
fn equal_reports_give_equal_pages() {
    let bytes = bundle(&sample::plain(), None);
    assert_eq!(page_of(&bytes), page_of(&bytes));
}
