//! Claims: what they cite, how they mark it, and what they say of their own making.

use std::time::{Duration, Instant};

use probity_trace::sample::{SampleRun, sha256};
use probity_trace::{Quotes, TracePolicy};
use serde_json::{Value, json};

use crate::claim_desk::{
    Case, assert_files, assert_policy, changed, found, marker, settle, statement, support,
};
use crate::plan_tamper::{CALL, CLAIM, DERIVE_END, EVIDENCE, FINAL_END, RESULT, Run, VERIFY_END};

/// Ids and contents of the two pieces of evidence of a run.
fn evidence(run: &Run) -> [(String, Vec<u8>); 2] {
    let files = run.files();
    EVIDENCE.map(|at| {
        let evidence = &run.events[at]["evidence"];
        let path = evidence["content_path"].as_str().unwrap();
        (evidence["id"].as_str().unwrap().to_owned(), files.files[path].clone())
    })
}

/// Gives the claim these supports, and the statement that they make up.
fn cite(run: &mut Run, supports: &[Value]) {
    let pieces = evidence(run);
    let quote = |support: &Value| {
        let piece = pieces.iter().find(|(id, _)| support["ref_id"] == id.as_str());
        let bound = |at: usize| usize::try_from(support["span"][at].as_u64().unwrap()).unwrap();
        let bytes = &piece.unwrap().1[bound(0)..bound(1)];
        String::from_utf8_lossy(bytes).into_owned()
    };
    let quotes: Vec<String> = supports.iter().map(quote).collect();
    let quotes: Vec<&str> = quotes.iter().map(String::as_str).collect();
    let claim = &mut run.events[CLAIM]["claim"];
    claim["statement"] = json!(statement(supports, &quotes));
    claim["supports"] = json!(supports);
}

fn restate(run: &mut Run, change: impl FnOnce(&str) -> String) {
    let claim = &mut run.events[CLAIM]["claim"];
    claim["statement"] = json!(change(claim["statement"].as_str().unwrap()));
}

fn first_marker(run: &Run) -> String {
    marker(&run.events[CLAIM]["claim"]["supports"][0])
}

/// What is done to a support of evidence of some length.
type Wrong = (&'static str, fn(&mut Value, usize), &'static [&'static str]);

/// What is done to a statement.
type Rewrite = (&'static str, fn(&str) -> String, &'static [&'static str]);

#[test]
fn other_bytes_that_are_cited_rightly_are_as_good() {
    let files = changed(|run| {
        let [(a, first), (b, second)] = evidence(run);
        let whole = [support(&a, &first, (0, first.len())), support(&b, &second, (3, 9))];
        cite(run, &whole);
    });
    assert_files("other spans", &files, &[]);
}

#[test]
fn bytes_that_are_not_there_are_not_cited() {
    let wrong: [Wrong; 3] = [
        (
            "behind the end",
            |support, len| support["span"][1] = json!(len + 1),
            &["citation_out_of_bounds"],
        ),
        (
            "far behind the end",
            |support, _| support["span"] = json!([1_u64 << 50, 1_u64 << 51]),
            &["citation_out_of_bounds"],
        ),
        (
            "another hash",
            |support, _| support["snippet_sha256"] = json!("0".repeat(64)),
            &["citation_hash_mismatch"],
        ),
    ];
    for (name, change, expected) in wrong {
        let files = changed(|run| {
            let [(_, content), _] = evidence(run);
            let old = first_marker(run);
            change(&mut run.events[CLAIM]["claim"]["supports"][0], content.len());
            let new = first_marker(run);
            restate(run, |text| text.replace(&old, &new));
        });
        assert_files(name, &files, expected);
    }
}

#[test]
fn a_span_that_cuts_a_character_is_told() {
    let sample = SampleRun { is_unicode: true, ..SampleRun::default() };
    let mut run = Run::of(&sample);
    let [(a, first), (b, second)] = evidence(&run);
    let inside = first.iter().position(|byte| byte & 0xc0 == 0x80).unwrap();
    cite(&mut run, &[support(&a, &first, (inside, first.len())), support(&b, &second, (0, 2))]);
    let codes = found(&run.files(), &TracePolicy::default());
    assert!(codes.contains("citation_split_character"), "{codes:?}");
}

#[test]
fn supports_refer_to_what_came_before() {
    let unknown = changed(|run| {
        let old = run.events[CLAIM]["claim"]["supports"][0]["ref_id"].as_str().unwrap().to_owned();
        let new = format!("{}0", &old[..old.len() - 1]);
        run.events[CLAIM]["claim"]["supports"][0]["ref_id"] = json!(new);
        restate(run, |text| text.replace(&old, &new));
    });
    assert_files("evidence that was not registered", &unknown, &["citation_fabricated"]);
    let extra = |kind: &str, id: &str| {
        let (kind, id) = (kind.to_owned(), id.to_owned());
        changed(move |run| {
            let mut support = support("", b"x", (0, 1));
            support["kind"] = json!(kind);
            support["ref_id"] = match id.as_str() {
                "itself" => run.events[CLAIM]["claim"]["id"].clone(),
                _ => json!(id),
            };
            run.events[CLAIM]["claim"]["supports"].as_array_mut().unwrap().push(support);
        })
    };
    let cases = [
        ("claim", "claim_nowhere", "trace_support_claim_unknown"),
        ("claim", "itself", "trace_support_itself"),
        ("tool_call", "call_nowhere", "trace_support_call_unknown"),
    ];
    for (kind, id, code) in cases {
        assert_files(id, &extra(kind, id), &[code]);
    }
}

#[test]
fn a_tool_call_supports_by_the_canonical_text_of_its_result() {
    let with = |change: fn(&mut Value)| {
        changed(move |run| {
            let result = probity_trace::sample::canonical(&run.events[RESULT]["result"]["result"]);
            let id = run.events[CALL]["call"]["id"].as_str().unwrap();
            let mut support = support(id, result.as_bytes(), (2, 11));
            support["kind"] = json!("tool_call");
            change(&mut support);
            run.events[CLAIM]["claim"]["supports"].as_array_mut().unwrap().push(support);
        })
    };
    assert_files("right", &with(|_| {}), &[]);
    let shifted = with(|support| support["span"] = json!([3, 12]));
    assert_files("shifted", &shifted, &["citation_hash_mismatch"]);
    let far = with(|support| support["span"] = json!([3, 1_000_000]));
    assert_files("far", &far, &["citation_out_of_bounds"]);
}

#[test]
fn the_text_before_a_marker_is_what_the_marker_cites() {
    let rewrite: [Rewrite; 8] = [
        ("a word", |text| text.replacen(' ', " not ", 1), &["citation_quote_differs"]),
        ("words before", |text| format!("We know: {text}"), &["citation_unmarked"]),
        ("words behind", |text| format!("{text} So it is."), &["citation_unmarked"]),
        ("a blank behind", |text| format!("{text} "), &["citation_unmarked"]),
        ("a blank before", |text| format!(" {text}"), &["citation_quote_differs"]),
        ("no blank", |text| text.replacen(" [evi", "[evi", 1), &["citation_quote_differs"]),
        ("two blanks", |text| text.replacen(" [evi", "  [evi", 1), &["citation_quote_differs"]),
        ("a line break", |text| text.replacen(" [evi", "\n[evi", 1), &["citation_quote_differs"]),
    ];
    let any = TracePolicy { quotes: Quotes::Any, ..TracePolicy::default() };
    for (name, change, expected) in rewrite {
        let files = changed(|run| restate(run, change));
        assert_files(name, &files, expected);
        let loosely: &[&str] = if name == "words behind" { &["citation_unmarked"] } else { &[] };
        assert_policy(name, &files, &any, loosely);
    }
}

#[test]
fn the_markers_are_the_supports() {
    let cases: [Case<Run>; 6] = [
        (
            "a marker that is no support",
            |run| {
                let [(id, content), _] = evidence(run);
                let more = support(&id, &content, (0, 4));
                let quote = String::from_utf8(content[..4].to_vec()).unwrap();
                restate(run, |text| format!("{text} {quote} {}", marker(&more)));
            },
            &["trace_marker_without_support"],
        ),
        (
            "a support without its marker",
            |run| {
                let [(id, content), _] = evidence(run);
                let more = support(&id, &content, (0, 4));
                run.events[CLAIM]["claim"]["supports"].as_array_mut().unwrap().push(more);
            },
            &["trace_support_without_marker"],
        ),
        (
            "a marker twice",
            |run| {
                restate(run, |text| {
                    let end = text.find(']').unwrap() + 1;
                    format!("{} {text}", &text[..end])
                });
            },
            &["trace_marker_without_support"],
        ),
        (
            "supports in another order",
            |run| {
                run.events[CLAIM]["claim"]["supports"].as_array_mut().unwrap().reverse();
            },
            &["trace_marker_order"],
        ),
        (
            "the old form of a marker",
            |run| restate(run, |text| format!("{text} [evidence:ev_1]")),
            &["citation_marker_malformed"],
        ),
        (
            "an upper-case hash",
            |run| {
                let hash = run.events[CLAIM]["claim"]["supports"][1]["snippet_sha256"].clone();
                let hash = hash.as_str().unwrap().to_owned();
                restate(run, |text| text.replace(&hash, &hash.to_uppercase()));
            },
            &["citation_marker_malformed", "trace_support_without_marker"],
        ),
    ];
    for (name, change, expected) in cases {
        assert_files(name, &changed(change), expected);
    }
}

#[test]
fn an_escaped_quote_of_marker_like_evidence_is_accepted() {
    let mut run = Run::new();
    let [(a, _), (b, second)] = evidence(&run);
    let content = format!("Basalt [evidence:ev_fake:0-5:{}] says this page.", "a".repeat(64));
    let first = support(&a, content.as_bytes(), (0, content.len()));
    let other = support(&b, &second, (0, 5));
    let quotes = [content.replace("[evidence", "[\\evidence"), content.clone()];
    for (quote, expected) in quotes.iter().zip([None, Some("trace_marker_without_support")]) {
        let supports = [first.clone(), other.clone()];
        let claim = &mut run.events[CLAIM]["claim"];
        let tail = std::str::from_utf8(&second[..5]).unwrap();
        claim["statement"] = json!(statement(&supports, &[quote, tail]));
        claim["supports"] = json!(supports);
        let evidence = &mut run.events[EVIDENCE[0]]["evidence"];
        evidence["sha256"] = json!(sha256(content.as_bytes()));
        evidence["chunk_id"] = evidence["sha256"].clone();
        evidence["span"] = json!([0, content.len()]);
        let path = evidence["content_path"].as_str().unwrap().to_owned();
        let mut files = run.files();
        files.files.insert(path, content.clone().into_bytes());
        let codes = found(&files, &TracePolicy::default());
        let on_markers = |code: &&String| code.contains("marker") || code.starts_with("citation");
        let codes: Vec<&String> = codes.iter().filter(on_markers).collect();
        match expected {
            None => assert!(codes.is_empty(), "{codes:?}"),
            Some(code) => assert!(codes.contains(&&code.to_owned()), "{codes:?}"),
        }
    }
}

#[test]
fn one_piece_of_evidence_counts_once() {
    let files = changed(|run| {
        let [(id, content), _] = evidence(run);
        cite(run, &[support(&id, &content, (0, 8)), support(&id, &content, (4, 12))]);
    });
    assert_files("overlapping", &files, &["citation_too_few_supports"]);
    let one = changed(|run| {
        let [(id, content), _] = evidence(run);
        cite(run, &[support(&id, &content, (0, 8))]);
    });
    assert_files("one", &one, &["citation_too_few_supports"]);
    let none = changed(|run| cite(run, &[]));
    assert_files("none", &none, &["trace_claim_unsupported", "citation_no_claim"]);
    let bare = changed(|run| restate(run, |_| "It rains.".to_owned()));
    assert_files("bare", &bare, &["citation_unmarked", "trace_support_without_marker"]);
}

#[test]
fn a_quote_may_be_of_signs_alone() {
    let files = changed(|run| {
        let supports = evidence(run).map(|(id, content)| {
            let at = content.iter().position(|byte| *byte == b'.').unwrap();
            support(&id, &content, (at, at + 1))
        });
        cite(run, &supports);
    });
    assert_files("signs", &files, &[]);
    let any = TracePolicy { quotes: Quotes::Any, ..TracePolicy::default() };
    assert_policy("any", &files, &any, &["citation_no_claim"]);
}

#[test]
fn the_caller_may_raise_the_minimum_and_never_lower_it() {
    let two = Run::new().files();
    let one = changed(|run| {
        let [(id, content), _] = evidence(run);
        cite(run, &[support(&id, &content, (0, 8))]);
    });
    for (minimum, of_two, of_one) in [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 1, 1)] {
        let policy = TracePolicy { min_supports: Some(minimum), ..TracePolicy::default() };
        for (files, errors) in [(&two, of_two), (&one, of_one)] {
            let codes = found(files, &policy);
            let count = codes.iter().filter(|code| *code == "citation_too_few_supports").count();
            assert_eq!((count, codes.len()), (errors, errors), "{minimum}: {codes:?}");
        }
    }
}

#[test]
fn the_header_repeats_the_minimum_of_the_problem() {
    for minimum in
        [json!(1), json!(3), json!("junk"), json!(-5), json!(true), json!(2.0), json!(null)]
    {
        let files = changed(|run| {
            run.header["metadata"]["reasoning_policy"]["min_supports_per_claim"] = minimum
        });
        assert_files("another minimum", &files, &["trace_policy_min_supports"]);
    }
    let gone = changed(|run| {
        run.header["metadata"].as_object_mut().unwrap().remove("reasoning_policy");
    });
    assert_files("no minimum", &gone, &["trace_policy_min_supports"]);
}

#[test]
fn a_claim_says_how_it_was_made() {
    let zeros = || json!("0".repeat(64));
    let cases: [Case<Value>; 8] = [
        ("no hash", |made| drop(take(made, "result_sha256")), &["trace_claim_result_sha256"]),
        ("a short hash", |made| made["result_sha256"] = json!("z"), &["trace_claim_result_sha256"]),
        (
            "no reasoner",
            |made| drop(take(made, "reasoner")),
            &["trace_claim_picked", "trace_claim_question", "trace_claim_reasoner"],
        ),
        ("no name", |made| made["reasoner"]["reasoner"] = json!(null), &["trace_claim_reasoner"]),
        (
            "an empty name",
            |made| made["reasoner"]["reasoner"] = json!(""),
            &["trace_claim_reasoner"],
        ),
        (
            "another span",
            |made| made["reasoner"]["picked"][0]["span"][0] = json!(1_000),
            &["trace_claim_picked"],
        ),
        (
            "one pick less",
            |made| drop(made["reasoner"]["picked"].as_array_mut().unwrap().pop()),
            &["trace_claim_picked"],
        ),
        (
            "another question",
            |made| made["reasoner"]["question"] = json!("Why?"),
            &["trace_claim_question"],
        ),
    ];
    for (name, change, expected) in cases {
        let mut run = Run::new();
        change(&mut run.events[CLAIM]["claim"]["structured"]);
        assert_files(name, &run.files(), expected);
    }
    let mut run = Run::new();
    run.events[CLAIM]["claim"]["structured"] = json!(null);
    let expected = [
        "trace_claim_result_sha256",
        "trace_claim_picked",
        "trace_claim_question",
        "trace_claim_reasoner",
    ];
    assert_files("nothing", &run.files(), &expected);
    let told: [(&str, Value, &[&str]); 5] = [
        ("result_sha256", zeros(), &["trace_reasoning_result_sha256"]),
        ("reasoning_trace_sha256", zeros(), &["trace_reasoning_result_sha256"]),
        ("question", json!("Why?"), &["trace_reasoning_question"]),
        ("evidence_ids", json!([]), &["trace_reasoning_evidence_ids"]),
        ("evidence_ids", json!("none"), &["trace_reasoning_evidence_ids"]),
    ];
    for (key, value, expected) in told {
        let mut run = Run::new();
        run.header["metadata"]["reasoning_trace"][key] = value;
        assert_files(key, &run.files(), expected);
    }
    let mut run = Run::new();
    let listed = &mut run.header["metadata"]["reasoning_trace"]["evidence_ids"];
    listed.as_array_mut().unwrap().reverse();
    assert_files("reversed", &run.files(), &["trace_reasoning_evidence_ids"]);
    let mut run = Run::new();
    drop(take(&mut run.header["metadata"], "reasoning_trace"));
    assert_files("no reasoning", &run.files(), &["trace_reasoning_missing"]);
}

fn take(object: &mut Value, key: &str) -> Option<Value> {
    object.as_object_mut().unwrap().remove(key)
}

/// A run with a second claim, made by a change of the first.
fn with_second(change: impl FnOnce(&Run, &mut Value)) -> Run {
    let mut run = Run::new();
    let mut second = run.events[CLAIM].clone();
    second["claim"]["id"] = json!("claim_2");
    change(&run, &mut second["claim"]);
    run.events.insert(CLAIM + 1, second);
    run.renumber();
    let ids = json!([run.events[CLAIM]["claim"]["id"], "claim_2"]);
    run.events[DERIVE_END + 1]["output"]["claim_ids"] = ids.clone();
    run.events[VERIFY_END + 1]["output"]["validated_claim_ids"] = ids;
    run
}

#[test]
fn a_second_claim_has_its_own_result() {
    let run = with_second(|run, claim| {
        let [(a, first), (b, second)] = evidence(run);
        let supports = [support(&a, &first, (0, 6)), support(&b, &second, (0, 7))];
        let quote = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let quotes = [quote(&first[..6]), quote(&second[..7])];
        claim["statement"] = json!(statement(&supports, &[&quotes[0], &quotes[1]]));
        claim["supports"] = json!(supports);
        settle(claim);
    });
    assert_files("two claims", &run.files(), &[]);
    let stale = with_second(|_, claim| claim["statement"] = json!("It rains."));
    let codes = found(&stale.files(), &TracePolicy::default());
    assert!(codes.contains("trace_claim_result_sha256") && codes.contains("citation_unmarked"));
}

#[test]
fn a_claim_supports_another_by_its_statement() {
    let with = |shift: usize| {
        with_second(move |run, claim| {
            let first = &run.events[CLAIM]["claim"];
            let statement = first["statement"].as_str().unwrap();
            let mut by = support("", statement.as_bytes(), (3, 12));
            by["kind"] = json!("claim");
            by["ref_id"] = first["id"].clone();
            by["span"] = json!([3 + shift, 12 + shift]);
            claim["supports"].as_array_mut().unwrap().push(by);
        })
    };
    assert_files("right", &with(0).files(), &[]);
    assert_files("shifted", &with(1).files(), &["citation_hash_mismatch"]);
}

/// A statement of more than a MiB is not held.
#[test]
fn a_support_that_cannot_be_looked_up_does_not_pass() {
    let run = with_second(|run, claim| {
        let mut by = support("", b"x", (0, 1));
        by["kind"] = json!("claim");
        by["ref_id"] = run.events[CLAIM]["claim"]["id"].clone();
        claim["supports"].as_array_mut().unwrap().push(by);
    });
    let mut long = run.clone();
    long.events[CLAIM]["claim"]["statement"] = json!("x".repeat((1 << 20) + 1));
    for (run, is_held) in [(run, true), (long, false)] {
        let codes = found(&run.files(), &TracePolicy::default());
        assert_eq!(codes.contains("citation_hash_mismatch"), is_held, "{codes:?}");
        assert_eq!(codes.contains("citation_limit"), !is_held, "{codes:?}");
    }
}

#[test]
fn ids_stand_once_and_statuses_are_not_rejected() {
    let mut run = with_second(|_, _| {});
    run.events[CLAIM + 1]["claim"]["id"] = run.events[CLAIM]["claim"]["id"].clone();
    let codes = found(&run.files(), &TracePolicy::default());
    assert!(codes.contains("trace_claim_twice"), "{codes:?}");
    let rejected = changed(|run| run.events[CLAIM]["claim"]["status"] = json!("rejected"));
    assert_files("rejected", &rejected, &["trace_claim_rejected", "trace_verify_rejected"]);
}

/// What costs a pass over all supports for each would take minutes.
#[test]
fn a_claim_with_thousands_of_supports_is_held_in_linear_time() {
    let mut run = Run::new();
    let [(a, first), (b, second)] = evidence(&run);
    let supports: Vec<Value> = (0..4000)
        .map(|n| match n % 2 {
            0 => support(&a, &first, (n / 2 % 20, 40)),
            _ => support(&b, &second, (n / 2 % 20, 40)),
        })
        .collect();
    cite(&mut run, &supports);
    settle(&mut run.events[CLAIM]["claim"]);
    let answer = run.events[CLAIM]["claim"]["statement"].clone();
    run.events[FINAL_END]["output"]["final_answer"] = answer;
    let result = run.events[CLAIM]["claim"]["structured"]["result_sha256"].clone();
    run.header["metadata"]["reasoning_trace"]["result_sha256"] = result.clone();
    run.header["metadata"]["reasoning_trace"]["reasoning_trace_sha256"] = result;
    let files = run.files();
    let start = Instant::now();
    assert_files("many supports", &files, &[]);
    assert!(start.elapsed() < Duration::from_secs(20));
}
