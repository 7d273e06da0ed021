//! Changes that no table lists: each as it is, sealed again, and with every id made again.

use probity_trace::sample::{Retrieval, SampleRun, canonical, reid, reseal, sha256};
use probity_trace::{FileKind, Verdict};
use serde_json::{Value, json};

use super::mutation::{
    CALL, CLAIM, DERIVED, EVIDENCE, FINALIZED, GATHERED, OTHER_EVIDENCE, RESULT, Run, VERIFIED,
};

/// A change: its name, and how it is made.
type Change = (&'static str, fn(&mut Run));

/// Changes that content rules find: a new seal and new ids mend nothing.
const FOUND: &[Change] = &[
    ("evidence of another run, as long", |run| {
        let other = SampleRun { seed: 1, is_unicode: true, ..SampleRun::default() }.files();
        let path = run.evidence_path();
        let length = run.files.files[&path].len();
        let mut bytes = other.files.values().next().cloned().unwrap();
        bytes.resize(length, b'x');
        run.put(&path, bytes);
    }),
    ("texts of two results exchanged", |run| {
        run.event(RESULT, |event| {
            let items = &mut event["result"]["result"]["evidences"];
            let first = items[0]["text"].take();
            items[0]["text"] = items[1]["text"].take();
            items[1]["text"] = first;
        });
    }),
    ("results exchanged between calls", |run| {
        run.records(|_, events| {
            let at: Vec<usize> =
                (0..events.len()).filter(|at| events[*at]["kind"] == "tool_returned").collect();
            let first = events[at[0]]["result"]["result"].take();
            events[at[0]]["result"]["result"] = events[at[1]]["result"]["result"].take();
            events[at[1]]["result"]["result"] = first;
        });
    }),
    ("claims that support each other", |run| {
        run.records(|_, events| {
            let at: Vec<usize> =
                (0..events.len()).filter(|at| events[*at]["kind"] == "claim_emitted").collect();
            let ids = [0, 1].map(|n| events[at[n]]["claim"]["id"].clone());
            for (n, other) in [(0, 1), (1, 0)] {
                let text = events[at[other]]["claim"]["statement"].as_str().unwrap().to_owned();
                let support = json!({"hash_algo": "sha256", "kind": "claim", "ref_id": ids[other],
                    "snippet_sha256": sha256(text.as_bytes()), "span": [0, text.len()]});
                events[at[n]]["claim"]["supports"].as_array_mut().unwrap().push(support);
            }
        });
    }),
    ("a letter of the answer from another alphabet", |run| {
        run.event(FINALIZED, |event| {
            let text = event["output"]["final_answer"].as_str().unwrap().replacen('e', "е", 1);
            event["output"]["final_answer"] = text.into();
        });
    }),
    ("an invisible character in the answer", |run| {
        run.event(FINALIZED, |event| {
            let text = event["output"]["final_answer"].as_str().unwrap();
            event["output"]["final_answer"] = format!("{text}\u{200b}").into();
        });
    }),
    ("the letter of a quote composed in another way", |run| {
        run.claim(|claim| {
            let text = claim["statement"].as_str().unwrap().replacen('e', "e\u{301}", 1);
            claim["statement"] = text.into();
        });
    }),
    ("a number with an exponent", |run| {
        run.trace(|text| {
            text.replacen("\"confidence\":1.0", "\"confidence\":1E0", 1).replacen(
                "\"confidence\":0.",
                "\"confidence\":00.",
                1,
            )
        });
    }),
    ("minus zero as a number", |run| run.swap("\"idx\":0", "\"idx\":-0")),
    ("a huge span", |run| support(run, "span", json!([0, 9_007_199_254_740_991_u64]))),
    ("a span beyond 32 bits", |run| {
        run.claim(|claim| {
            let [a, b] = [0, 1].map(|at| claim["supports"][0]["span"][at].as_u64().unwrap());
            claim["supports"][0]["span"] = json!([a + (1 << 32), b + (1 << 32)]);
        });
    }),
    ("an evidence span moved by 2^32", |run| {
        run.event(EVIDENCE, |event| {
            let span = &mut event["evidence"]["span"];
            let [a, b] = [0, 1].map(|at| span[at].as_u64().unwrap());
            *span = json!([a + (1 << 32), b + (1 << 32)]);
        });
    }),
    ("a second header in the middle", |run| {
        run.trace(|text| {
            let mut lines: Vec<&str> = text.lines().collect();
            let header = lines[0];
            lines.insert(9, header);
            lines.join("\n") + "\n"
        });
    }),
    ("a header inside an event", |run| {
        run.event(FINALIZED, |event| event["record"] = "trace_header".into());
    }),
    ("an event behind the end", |run| {
        run.events(|events| {
            let mut last = events[EVIDENCE].clone();
            last["step_id"] = events[FINALIZED]["step_id"].clone();
            events.push(last);
        });
    }),
    ("a claim behind the end", |run| {
        run.events(|events| {
            let claim = events[CLAIM].clone();
            events.push(claim);
        });
    }),
    ("a step twice in the plan, with a dependency said twice", |run| {
        run.json("plan.json", |plan| {
            let nodes = plan["nodes"].as_array_mut().unwrap();
            let mut node = nodes[1].clone();
            let dependency = node["dependencies"][0].clone();
            node["dependencies"] = json!([dependency, dependency]);
            let named = json!({"kind": node["kind"], "deps": node["dependencies"],
                "params": node["parameters"]});
            node["id"] = probity_trace::sample::content_id("node", &named).into();
            nodes.push(node);
        });
    }),
    ("a plan without steps", |run| run.json("plan.json", |plan| plan["nodes"] = json!([]))),
    ("no events", |run| run.records(|_, events| events.clear())),
    ("a trace of no bytes", |run| run.put("trace.jsonl", "")),
    ("evidence of no bytes", |run| {
        let path = run.evidence_path();
        run.put(&path, "");
    }),
    ("evidence under another case", |run| respell(run, |path| path.to_uppercase())),
    ("evidence by a longer way", |run| respell(run, |path| path.replace('/', "/./"))),
    ("evidence with a second slash", |run| respell(run, |path| path.replace('/', "//"))),
    ("evidence at the top", |run| respell(run, |path| path.replace("evidence/", ""))),
    ("no claims", |run| {
        run.events(|events| events.retain(|event| event["kind"] != "claim_emitted"));
    }),
    ("the claim observed, not derived", |run| {
        run.records(|_, events| {
            for event in events.iter_mut().filter(|event| event["kind"] == "claim_emitted") {
                event["claim"]["claim_type"] = "observed".into();
            }
        });
    }),
    ("the claim assumed, without support", |run| {
        run.claim(|claim| {
            claim["claim_type"] = "assumed".into();
            claim["supports"] = json!([]);
        });
    }),
    ("an answer that the evidence does not hold, from an assumed claim", |run| {
        run.records(|_, events| {
            let mut claim = events[CLAIM].clone();
            claim["claim"]["claim_type"] = "assumed".into();
            claim["claim"]["supports"] = json!([]);
            claim["claim"]["statement"] = "The moon is made of cheese.".into();
            claim["claim"]["structured"] = Value::Null;
            let id = "claim_v1_".to_owned() + &"1".repeat(64);
            claim["claim"]["id"] = id.clone().into();
            events.insert(CLAIM + 1, claim);
            for (at, event) in events.iter_mut().enumerate() {
                event["idx"] = at.into();
            }
            push(&mut events[DERIVED + 1]["output"]["claim_ids"], &id);
            push(&mut events[VERIFIED + 1]["output"]["validated_claim_ids"], &id);
            events[FINALIZED + 1]["output"]["final_claim_ids"] = json!([id]);
            events[FINALIZED + 1]["output"]["final_answer"] = "The moon is made of cheese.".into();
        });
    }),
    ("a demand for a million supports in the header", |run| demand(run, json!(1_000_000))),
    ("a demand for no support in the header", |run| demand(run, json!(0))),
    ("a demand for supports as a text", |run| demand(run, json!("2"))),
    ("a demand for supports as a float", |run| demand(run, json!(2.0))),
    ("the claim marked insufficient, beside its answer", |run| {
        run.claim(|claim| {
            claim["status"] = "rejected".into();
            claim["structured"]["insufficient"] = true.into();
        });
    }),
    ("insufficiency in the place of the derived claims", |run| {
        run.event(DERIVED, |event| {
            event["output"] = json!({"reason": "insufficient_evidence", "required": 2,
                "retrieved": 1, "type": "insufficient_evidence"});
        });
    }),
    ("the account of the retrieval out of the header", |run| {
        run.header(|header| {
            header["metadata"].as_object_mut().unwrap().remove("retrieval_provenance");
        });
    }),
    ("an account of the retrieval that is null", |run| {
        run.header(|header| header["metadata"]["retrieval_provenance"] = Value::Null);
    }),
    ("the whole provenance folder gone", |run| {
        run.files.files.retain(|path, _| !path.starts_with("provenance/"));
    }),
    ("everything that is said of a corpus gone", without_corpus),
    ("a lazy index, and none there", |run| {
        run.files.files.remove("provenance/index/bm25_index.json");
        everywhere(run, "\"lazy_index\":false", "\"lazy_index\":true");
        config(run);
    }),
    ("retrieved evidence that nobody cites, left out of the list", |run| {
        run.event(GATHERED, |event| {
            event["output"]["evidence_ids"].as_array_mut().unwrap().pop();
        });
    }),
    ("the two pieces of evidence exchanged", |run| {
        run.events(|events| events.swap(EVIDENCE, OTHER_EVIDENCE));
    }),
    ("the seed of the header as a text", |run| {
        run.header(|header| {
            let seed = header["metadata"]["run_meta"]["seed"].to_string();
            header["metadata"]["run_meta"]["seed"] = seed.into();
        });
    }),
    ("a call numbered again from another step", |run| {
        run.event(CALL, |event| event["call"]["call_idx"] = 1.into());
    }),
    ("a carriage return in a key", |run| run.swap("\"record\":", "\"record\\r\":")),
    ("an escape where none is needed", |run| run.swap("trace_event", "trace\\u005fevent")),
    ("a validated claim that nobody made", |run| {
        run.event(VERIFIED, |event| {
            let id = "claim_v1_".to_owned() + &"0".repeat(64);
            push(&mut event["output"]["validated_claim_ids"], &id);
        });
    }),
    ("a supported claim among those without support", |run| {
        run.event(VERIFIED, |event| {
            let ids = event["output"]["validated_claim_ids"].take();
            event["output"]["validated_claim_ids"] = json!([]);
            event["output"]["rejected_claim_ids"] = ids.clone();
            event["output"]["missing_support_claim_ids"] = ids;
        });
        run.event(FINALIZED, |event| {
            event["output"]["final_claim_ids"] = json!([]);
            event["output"]["final_answer"] = Value::Null;
        });
    }),
];

/// Changes of what only the seal holds.
const SEALED: &[Change] = &[
    ("a manifest with a path twice", |run| {
        run.rewrite("manifest.json", |text| {
            let end = text.find(',').expect("two files");
            format!("{{{},{}", &text[1..end], &text[1..])
        });
    }),
    ("a manifest in another order", |run| {
        run.rewrite("manifest.json", |text| {
            let inner = text.trim_end().trim_start_matches('{').trim_end_matches('}');
            let mut members: Vec<&str> = inner.split(',').collect();
            members.reverse();
            format!("{{{}}}\n", members.join(","))
        });
    }),
    ("more than the digest in fingerprint.txt", |run| {
        run.rewrite("fingerprint.txt", |text| text + " ");
        let manifest = sha256(&run.files.files["fingerprint.txt"]);
        run.json("manifest.json", |list| list["fingerprint.txt"] = manifest.into());
    }),
    ("a manifest that lists itself", |run| {
        let digest = sha256(&run.files.files["manifest.json"]);
        run.json("manifest.json", |list| list["manifest.json"] = digest.into());
    }),
    ("a manifest of an array", |run| run.put("manifest.json", "[]\n")),
    ("a manifest without its newline", |run| {
        run.rewrite("manifest.json", |text| text.trim_end().to_owned());
    }),
    ("a manifest path with a backslash", |run| {
        let path = run.evidence_path();
        run.rewrite("manifest.json", |text| text.replace(&path, &path.replace('/', "\\\\")));
    }),
    ("another case in the manifest", |run| {
        run.rewrite("manifest.json", |text| text.replace("run_meta.json", "Run_Meta.json"));
    }),
    ("a digest in upper case", |run| {
        run.json("manifest.json", |list| {
            let digest = list["plan.json"].as_str().unwrap().to_uppercase();
            list["plan.json"] = digest.into();
        });
    }),
    ("a file beside that differs by case", |run| {
        let bytes = run.files.files["plan.json"].clone();
        run.put("Plan.json", bytes);
    }),
    ("a file beside that differs by its composition", |run| {
        let path = run.evidence_path().replace("evidence", "e\u{301}vidence");
        run.put(&path, "x");
    }),
    ("a hidden file among the evidence", |run| run.put("evidence/.hidden", "x")),
    ("a link beside", |run| {
        run.files.others.insert("evidence/link".to_owned(), FileKind::Link);
    }),
    ("a pipe in the place of a report", |run| {
        run.files.files.remove("verify.json");
        run.files.others.insert("verify.json".to_owned(), FileKind::Special);
    }),
    ("a folder beside", |run| {
        run.files.others.insert("evidence/more".to_owned(), FileKind::Folder);
    }),
    ("bytes behind the fingerprint", |run| {
        run.rewrite("fingerprint.txt", |text| text + "\n");
    }),
    ("bytes behind the run metadata", |run| {
        run.rewrite("run_meta.json", |text| text + "{}\n");
    }),
];

fn support(run: &mut Run, key: &str, value: Value) {
    run.claim(|claim| claim["supports"][0][key] = value);
}

fn demand(run: &mut Run, value: Value) {
    run.header(|header| {
        header["metadata"]["reasoning_policy"]["min_supports_per_claim"] = value;
    });
}

fn push(list: &mut Value, id: &str) {
    list.as_array_mut().expect("a list").push(id.into());
}

/// Moves the first evidence to another path, in the trace too.
fn respell(run: &mut Run, spell: fn(&str) -> String) {
    let path = run.evidence_path();
    let bytes = run.files.files.remove(&path).expect("evidence");
    run.put(&spell(&path), bytes);
    run.event(EVIDENCE, |event| event["evidence"]["content_path"] = spell(&path).into());
}

fn everywhere(run: &mut Run, from: &str, to: &str) {
    let texts = |path: &String| !path.starts_with("evidence/");
    let paths: Vec<String> = run.files.files.keys().filter(|path| texts(path)).cloned().collect();
    for path in paths {
        let text = run.text(&path).replace(from, to);
        run.put(&path, text);
    }
}

/// Makes the hash of the retrieval's parameters again.
fn config(run: &mut Run) {
    const KEYS: [&str; 10] = [
        "b",
        "chunk_chars",
        "corpus_max_bytes",
        "k1",
        "lazy_index",
        "max_chunks",
        "max_docs",
        "overlap_chars",
        "parallel_scoring",
        "tokenizer",
    ];
    let text = run.text("provenance/retrieval_provenance.json");
    let account: Value = serde_json::from_str(&text).expect("JSON");
    let mut hashed = account.clone();
    hashed.as_object_mut().unwrap().retain(|key, _| KEYS.contains(&key.as_str()));
    let right = sha256(canonical(&hashed).as_bytes());
    everywhere(run, account["config_sha256"].as_str().unwrap(), &right);
}

fn without_corpus(run: &mut Run) {
    run.files.files.retain(|path, _| !path.starts_with("provenance/"));
    run.records(|header, events| {
        header["metadata"].as_object_mut().unwrap().remove("retrieval_provenance");
        for event in events {
            match event["kind"].as_str() {
                Some("tool_returned") => {
                    event["result"]["result"].as_object_mut().unwrap().remove("provenance");
                }
                Some("step_finished") if event["output"]["type"] == "gather" => {
                    event["output"]["retrieval_provenance"] = json!({});
                }
                _ => {}
            }
        }
    });
}

fn missed(changes: &[Change], is_sealed: bool) -> Vec<String> {
    let mut missed = Vec::new();
    for (name, change) in changes {
        let mut run =
            Run::of(&SampleRun { pairs: 2, retrieval: Retrieval::Bm25, ..Default::default() });
        change(&mut run);
        let mut check = |how: &str, run: &Run| {
            if run.audit().verdict == Verdict::Valid {
                missed.push(format!("{name}, {how}"));
            }
        };
        check("as it is", &run);
        if !is_sealed {
            let mut again = run.clone();
            reseal(&mut again.files);
            check("sealed again", &again);
            reid(&mut run.files);
            check("with new ids", &run);
        }
    }
    missed
}

#[test]
fn changes_that_no_table_lists_are_found() {
    let missed = missed(FOUND, false);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn changes_of_the_seal_that_no_table_lists_are_found() {
    let missed = missed(SEALED, true);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
