//! E: evidence, provenance and the files around them.

use probity_trace::FileKind;
use probity_trace::sample::sha256;
use serde_json::{Value, json};

use super::{EVIDENCE, OTHER_EVIDENCE, Row, Run};

const CHUNKS: &str = "provenance/chunks.jsonl";
const CORPUS: &str = "provenance/corpus.jsonl";
const INDEX: &str = "provenance/index/bm25_index.json";
const ACCOUNT: &str = "provenance/retrieval_provenance.json";

pub(super) const ROWS: &[Row] = &[
    ("E01 a bit flipped", "trace_evidence_sha256", |run| content(run, |bytes| bytes[0] ^= 1)),
    ("E02 a byte appended", "trace_evidence_length", |run| content(run, |bytes| bytes.push(b'.'))),
    ("E03 cut in half", "trace_evidence_length", |run| {
        content(run, |bytes| bytes.truncate(bytes.len() / 2));
    }),
    ("E04 deleted", "trace_evidence_missing", |run| {
        let path = run.evidence_path();
        run.files.files.remove(&path);
    }),
    ("E05 emptied", "trace_evidence_length", |run| content(run, Vec::clear)),
    ("E06 altered, hash updated", "trace_evidence_chunk_id", |run| forge(run, false)),
    ("E07 altered, hash and chunk updated", "trace_evidence_not_listed", |run| forge(run, true)),
    ("E08 altered, provenance removed", "trace_provenance_missing", |run| {
        forge(run, true);
        run.files.files.retain(|path, _| !path.starts_with("provenance/"));
    }),
    ("E08 provenance removed from files and header", "trace_provenance_absent", |run| {
        run.files.files.retain(|path, _| !path.starts_with("provenance/"));
        run.header(|header| {
            let metadata = header["metadata"].as_object_mut().expect("an object");
            metadata.remove("retrieval_provenance");
        });
    }),
    ("E09 forged with its chunk", "trace_chunk_slice", |run| {
        let before = evidence(run)["chunk_id"].as_str().expect("an id").to_owned();
        forge(run, true);
        let after = evidence(run)["chunk_id"].as_str().expect("an id").to_owned();
        run.rewrite(CHUNKS, |text| text.replace(&before, &after));
    }),
    ("E10 path upwards", "trace_evidence_path", |run| path(run, "../evidence.txt")),
    ("E11 absolute path", "trace_evidence_path", |run| path(run, "/etc/passwd")),
    ("E12 backslash", "trace_evidence_path", |run| path(run, "evidence\\e.txt")),
    ("E13 drive", "trace_evidence_path", |run| path(run, "C:/e.txt")),
    ("E14 inner way up", "trace_evidence_path", |run| path(run, "evidence/../e.txt")),
    ("E15 empty path", "trace_evidence_path", |run| path(run, "")),
    ("E16 the folder itself", "trace_evidence_path", |run| path(run, ".")),
    ("E17 a folder", "trace_evidence_path", |run| path(run, "evidence")),
    ("E18 double slash", "trace_evidence_path", |run| {
        let twice = run.evidence_path().replace('/', "//");
        path(run, &twice);
    }),
    ("E19 leading dot", "trace_evidence_path", |run| {
        let dotted = format!("./{}", run.evidence_path());
        path(run, &dotted);
    }),
    ("E20 encoded dots", "trace_evidence_path", |run| path(run, "%2e%2e/e.txt")),
    ("E21 NUL", "trace_evidence_path", |run| path(run, "evidence/\0.txt")),
    ("E22 nowhere", "trace_evidence_path", |run| path(run, "evidence/none.txt")),
    ("E23 link", "trace_evidence_link", |run| other(run, FileKind::Link)),
    ("E24 link, told of the folder too", "trace_file_not_regular", |run| {
        other(run, FileKind::Link)
    }),
    ("E25 folder of evidence a link", "trace_file_not_regular", |run| {
        run.files.files.retain(|path, _| !path.starts_with("evidence/"));
        run.files.others.insert("evidence".to_owned(), FileKind::Link);
    }),
    ("E27 FIFO", "trace_evidence_not_a_file", |run| other(run, FileKind::Special)),
    ("E28 upper-case hash", "trace_digest_shape", |run| {
        run.event(EVIDENCE, |event| {
            let upper = event["evidence"]["sha256"].as_str().expect("a hash").to_uppercase();
            event["evidence"]["sha256"] = upper.into();
        });
    }),
    ("E29 hashes exchanged", "trace_evidence_sha256", |run| {
        run.records(|_, events| {
            let first = events[EVIDENCE]["evidence"]["sha256"].take();
            events[EVIDENCE]["evidence"]["sha256"] =
                events[OTHER_EVIDENCE]["evidence"]["sha256"].take();
            events[OTHER_EVIDENCE]["evidence"]["sha256"] = first;
        });
    }),
    ("E30 registered twice", "trace_evidence_twice", |run| {
        run.events(|events| events.insert(EVIDENCE, events[EVIDENCE].clone()));
    }),
    ("E31 another id everywhere", "trace_id_evidence", |run| {
        let id = evidence(run)["id"].as_str().expect("an id").to_owned();
        let new = format!("ev_v1_{}", "0".repeat(64));
        let bytes = run.files.files.remove(&format!("evidence/{id}.txt")).expect("a file");
        run.put(&format!("evidence/{new}.txt"), bytes);
        run.trace(|text| text.replace(&id, &new));
    }),
    ("E32 longer span", "trace_evidence_length", |run| {
        run.event(EVIDENCE, |event| {
            let end = event["evidence"]["span"][1].as_u64().expect("an end");
            event["evidence"]["span"][1] = (end + 1).into();
        });
    }),
    ("E34 chunk not hex", "trace_digest_shape", |run| {
        run.event(EVIDENCE, |event| event["evidence"]["chunk_id"] = "x".into());
    }),
    ("E35 unknown chunk", "trace_evidence_not_listed", |run| {
        run.event(EVIDENCE, |event| event["evidence"]["chunk_id"] = "0".repeat(64).into());
    }),
    ("E36 another source", "trace_result_uri", |run| {
        run.event(EVIDENCE, |event| event["evidence"]["uri"] = "corpus://else#0-1".into());
    }),
    ("E37 no chunks", "trace_provenance_missing", |run| {
        run.files.files.remove(CHUNKS);
    }),
    ("E38 chunks no JSON", "trace_document_json", |run| run.put(CHUNKS, "{\n")),
    ("E39 another span of a chunk", "trace_chunk_slice", |run| {
        run.rewrite(CHUNKS, |text| text.replacen("\"start_byte\":0", "\"start_byte\":1", 1));
    }),
    ("E40 a chunk twice, wrong first", "trace_chunk_slice", |run| {
        run.rewrite(CHUNKS, |text| {
            let first = text.lines().next().expect("a line");
            format!("{}\n{text}", first.replace("\"start_byte\":0", "\"start_byte\":1"))
        });
    }),
    ("E40 a chunk twice", "trace_chunk_order", |run| {
        run.rewrite(CHUNKS, |text| {
            format!("{0}\n{0}\n{1}", text.lines().next().expect("a line"), rest(&text))
        });
    }),
    ("E40 a chunk left out", "trace_chunk_left_out", |run| {
        run.rewrite(CHUNKS, |text| {
            let kept = text.lines().count() - 1;
            text.lines().take(kept).map(|line| format!("{line}\n")).collect()
        });
    }),
    ("E41 another corpus", "trace_provenance_sha256", |run| {
        run.rewrite(CORPUS, |text| text.replacen("sinks", "swims", 1));
    }),
    ("E41 a document more", "trace_chunk_left_out", |run| {
        run.rewrite(CORPUS, |text| text + "{\"doc_id\": \"z\", \"text\": \"More.\"}\n");
    }),
    ("E41 a document without a text", "trace_corpus_document", |run| {
        run.rewrite(CORPUS, |text| text + "{\"doc_id\": \"z\", \"text\": \" \"}\n");
    }),
    ("E42 another index", "trace_index_differs", |run| {
        run.json(INDEX, |index| index["doc_tf"][0]["x"] = 1.into());
    }),
    ("E42 index of other words", "trace_index_differs", |run| {
        run.json(INDEX, |index| index["df"]["basalt0"] = 1.into());
    }),
    ("E42 another average", "trace_index_differs", |run| {
        run.json(INDEX, |index| index["avgdl"] = json!(1.5));
    }),
    ("E42 index hash", "trace_provenance_sha256", |run| {
        run.json(INDEX, |index| index["chunks"][0]["title"] = "T".into());
    }),
    ("E43 another account", "trace_provenance_differs", |run| {
        run.json(ACCOUNT, |account| account["k1"] = json!(1.5));
    }),
    ("E43 another account everywhere", "trace_provenance_config", |run| {
        everywhere(run, "\"k1\":1.2", "\"k1\":1.5");
    }),
    ("E43 parameters that nobody asked for", "trace_provenance_constraint", |run| {
        everywhere(run, "\"b\":0.75", "\"b\":0.5");
    }),
    ("E43 another tokenizer", "trace_document_value", |run| {
        everywhere(run, "\"unicode_word\"", "\"other\"");
    }),
    ("E43 another account in the output", "trace_provenance_differs", |run| {
        run.records(|_, events| {
            let is_gather = |event: &&mut Value| event["output"]["type"] == "gather";
            let gathered = events.iter_mut().find(is_gather).expect("an output");
            gathered["output"]["retrieval_provenance"] = json!({});
        });
    }),
    ("E45 a pipe for the manifest", "trace_seal_missing", |run| {
        // A new seal would make one; without its file the fingerprint is missing in both.
        run.files.files.remove("manifest.json");
        run.files.others.insert("manifest.json".to_owned(), FileKind::Special);
    }),
    ("E47 another seed", "trace_run_meta_differs", |run| {
        run.json("run_meta.json", |meta| meta["seed"] = 7.into());
    }),
    ("E47 a tool set up otherwise", "trace_runtime_config", |run| {
        run.json("run_meta.json", |meta| {
            let tool = &mut meta["runtime_descriptor"]["tools"][1];
            tool["config_fingerprint"] = format!("toolcfg_v1_{}", "0".repeat(64)).into();
        });
    }),
    ("E47 another runtime", "trace_runtime_fingerprint", |run| {
        run.json("run_meta.json", |meta| meta["runtime_descriptor"]["kind"] = "Other".into());
    }),
    ("E47 another preset", "trace_preset", |run| {
        run.json("run_meta.json", |meta| meta["preset"] = "other".into());
    }),
    ("E48 report forged", "trace_report_differs", |run| {
        run.json("verify.json", |report| report["checks"][0]["passed"] = false.into());
    }),
    ("E49 another question", "trace_id_spec", |run| {
        run.json("spec.json", |spec| spec["description"] = "Why?".into());
    }),
    ("E50 no problem", "trace_unreadable", |run| {
        run.files.files.remove("spec.json");
    }),
    ("E52 evidence is the problem", "trace_evidence_path", |run| path(run, "spec.json")),
    ("E54 uncited evidence forged", "trace_evidence_not_listed", |run| forge(run, true)),
];

/// What a new seal mends.
pub(super) const SEALED_ROWS: &[Row] = &[
    ("E44 another hash in the manifest", "trace_manifest_hash", |run| {
        run.json("manifest.json", |manifest| manifest["plan.json"] = "0".repeat(64).into());
    }),
    ("E45 no manifest", "trace_seal_missing", |run| {
        run.files.files.remove("manifest.json");
    }),
    ("E45 a file not listed", "trace_manifest_core", |run| {
        run.json("manifest.json", |manifest| {
            manifest.as_object_mut().expect("an object").remove("plan.json");
        });
    }),
    ("E45 a file listed that is not there", "trace_manifest_absent", |run| {
        run.json("manifest.json", |manifest| manifest["none.txt"] = "0".repeat(64).into());
    }),
    ("E45 a path upwards", "trace_manifest_path", |run| {
        run.json("manifest.json", |manifest| manifest["../x"] = "0".repeat(64).into());
    }),
    ("E46 another fingerprint", "trace_fingerprint", |run| {
        run.put("fingerprint.txt", format!("{}\n", "0".repeat(64)));
    }),
    ("E46 no newline behind the fingerprint", "trace_fingerprint", |run| {
        run.rewrite("fingerprint.txt", |text| text.trim_end().to_owned());
    }),
    ("E46 no fingerprint", "trace_seal_missing", |run| {
        run.files.files.remove("fingerprint.txt");
    }),
    ("E47 no run metadata", "trace_seal_missing", |run| {
        run.files.files.remove("run_meta.json");
    }),
    ("E47 another run id", "trace_id_run", |run| {
        run.json("run_meta.json", |meta| meta["run_id"] = "run_v1_0".into());
    }),
    ("E47 another checksum", "trace_invariant_checksum", |run| {
        run.json("run_meta.json", |meta| meta["invariant_checksum"] = "0".repeat(64).into());
    }),
    ("E47 another trace", "trace_run_meta_differs", |run| {
        run.json("run_meta.json", |meta| meta["trace_id"] = "trace_v1_0".into());
    }),
    ("E48 report forged, consistent", "trace_manifest_hash", |run| {
        run.json("verify.json", |report| {
            report["checks"][0]["details"] = "Fine.".into();
            let named = json!({"checks": report["checks"], "failures": report["failures"]});
            let id = sha256(probity_trace::sample::canonical(&named).as_bytes());
            report["id"] = id.into();
        });
    }),
    ("E51 an extra file", "trace_file_unlisted", |run| run.put("evidence/extra.txt", "extra")),
    ("E53 another name for a file", "trace_file_unlisted", |run| {
        let bytes = run.files.files[&run.evidence_path()].clone();
        run.put("evidence/copy.txt", bytes);
    }),
];

fn evidence(run: &Run) -> Value {
    let text = run.text("trace.jsonl");
    let mut record: Value =
        serde_json::from_str(text.lines().nth(EVIDENCE + 1).expect("a line")).expect("JSON");
    record["event"]["evidence"].take()
}

fn content(run: &mut Run, change: impl FnOnce(&mut Vec<u8>)) {
    let path = run.evidence_path();
    change(run.files.files.get_mut(&path).expect("a file"));
}

/// Changes a byte of the file, and the hashes that say so.
fn forge(run: &mut Run, with_chunk: bool) {
    content(run, |bytes| bytes[0] ^= 1);
    let digest = sha256(&run.files.files[&run.evidence_path()]);
    run.event(EVIDENCE, |event| {
        event["evidence"]["sha256"] = digest.clone().into();
        if with_chunk {
            event["evidence"]["chunk_id"] = digest.into();
        }
    });
}

fn path(run: &mut Run, path: &str) {
    run.event(EVIDENCE, |event| event["evidence"]["content_path"] = path.into());
}

fn other(run: &mut Run, kind: FileKind) {
    let path = run.evidence_path();
    run.files.files.remove(&path);
    run.files.others.insert(path, kind);
}

/// Changes a text in every copy of the account.
fn everywhere(run: &mut Run, from: &str, to: &str) {
    run.trace(|text| text.replace(from, to));
    run.rewrite(ACCOUNT, |text| text.replace(from, to));
}

fn rest(text: &str) -> &str {
    text.split_once('\n').expect("lines").1
}
