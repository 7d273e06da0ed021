//! Runs as the machine makes them, with all their content.

use std::collections::{BTreeMap, VecDeque};

use probity_audit::SealedEpisode;
use probity_audit::log::{Blob, Content};
use probity_audit::project::{self, RunFacts};
use probity_core::{
    Charter, CheckDecl, Claim, Code, Delegation, Digest, Effect, Entry, Finding, Input, NoteKind,
    Policy, RedFirst, RunId, Subject, Usage, VerdictKind,
};
use probity_policy::{Decision, Envelope, Format, compile};
use probity_record::{Chain, blob_digest, claim_candidate, submission_id};
use serde_json::{Value, json};

/// What stands in every piece of content, and nowhere else.
pub(crate) const SECRET: &str = "xylophone-4711";

/// 2026-03-02T09:15:04Z.
const OPENED_AT_MS: u64 = 1_772_442_904_000;

/// A run that has ended.
pub(crate) struct Sample {
    pub(crate) log: Vec<u8>,
    pub(crate) blobs: BTreeMap<Digest, Vec<u8>>,
    pub(crate) episode: Option<SealedEpisode>,
}

impl Content for Sample {
    fn blob(&self, digest: &Digest) -> Blob<'_> {
        self.blobs.get(digest).map_or(Blob::Absent, |bytes| Blob::Bytes(bytes.into()))
    }
}

/// A file that is missing after the first attempt and there after the second.
pub(crate) fn plain() -> Sample {
    let mut stage = Stage::new("run-plain");
    let check = CheckDecl { id: Code::slug("file-1"), subject: Subject::World, timeout_ms: 30_000 };
    let findings = vec![
        stage.finding(VerdictKind::Revise, "file_missing"),
        stage.finding(VerdictKind::Revise, "file_missing"),
        stage.finding(VerdictKind::Pass, "ok"),
    ];
    stage.run(Charter::new(Policy::default(), vec![check]), findings);
    stage.finish(None)
}

/// A run that is stopped at once: as small as a bundle can be, for tests that try every byte.
pub(crate) fn stopped() -> Sample {
    let mut stage = Stage::new("run-stopped");
    let check = CheckDecl { id: Code::slug("file-1"), subject: Subject::World, timeout_ms: 30_000 };
    let request = stage.keep_json(&json!({ "task": SECRET }));
    let charter = Charter::new(Policy::default(), vec![check]);
    let mut machine = Delegation::open(OPENED_AT_MS, stage.run.clone(), request, charter).unwrap();
    machine.handle(OPENED_AT_MS, Input::Cancel { code: Code::slug("user") }).unwrap();
    while let Some(effect) = machine.poll_effect() {
        match effect {
            Effect::Append(entries) => stage.entries.extend(entries),
            Effect::Seal(entry) => stage.entries.push(entry),
            _ => {}
        }
    }
    stage.finish(None)
}

/// What the delegate of [`noted`] writes and waits for, what its check says besides, and what others
/// have to say.
pub(crate) const NOTE: &[u8] = b"{\"model\":\"an answer of secret length\"}";
pub(crate) const WAIT: &[u8] = b"{\"key\":\"which\",\"question\":\"Which one?\"}";
pub(crate) const ANSWER: &[u8] = b"{\"by\":\"kim\",\"value\":\"the blue one\"}";
pub(crate) const METADATA: &[u8] = b"{\"failed_tests\":[\"t1\"]}";

pub(crate) const STEER: &[u8] = b"{\"by\":\"kim\",\"text\":\"mind the newline\"}";
pub(crate) const REQUEST: &[u8] = b"{\"by\":\"lee\",\"text\":\"no longer needed\"}";

/// A run with a note, a wait, an answer to it, and a refusal with metadata; a worker drives it, and others
/// have something to say.
pub(crate) fn noted() -> Sample {
    let mut stage = Stage::new("run-noted");
    stage.is_chatty = true;
    let check = CheckDecl { id: Code::slug("file"), subject: Subject::World, timeout_ms: 30_000 };
    let policy = Policy { red_first: RedFirst::Off, ..Policy::default() };
    let findings = vec![
        stage.finding(VerdictKind::Revise, "file_missing"),
        stage.finding(VerdictKind::Pass, "ok"),
    ];
    let parent = Some("run-parent".parse().unwrap());
    stage.run(Charter { parent, ..Charter::new(policy, vec![check]) }, findings);
    stage.finish(None)
}

/// A decision under an envelope, with its episode.
pub(crate) fn decision() -> Sample {
    let mut stage = Stage::new("run-card");
    let data = |name: &str| -> Value { serde_json::from_slice(&crate_data(name)).unwrap() };
    let mut action = data("01_success.json")["actions"][0].clone();
    action["execution"]["timeoutMs"] = json!(60);
    let decision = Decision::parse(&json!({
        "decisionType": "FreezeCard",
        "actor": { "type": "agent", "id": "card-agent" },
        "context": { "features": { "payments_1m": { "ageMs": 150 }, "device": { "ageMs": 3000 } } },
        "plan": { "planner": "hybrid", "summary": SECRET },
        "actions": [action],
        "chain": { "hops": 2, "fanout": 3 },
    }));
    let decision = decision.unwrap();
    let envelope = Envelope::parse(&data("envelope.json").to_string(), Format::Json).unwrap();
    let compiled = compile(&envelope, None, &decision, OPENED_AT_MS, &[], |_| true).unwrap();
    stage.keep(compiled.bytes.clone());
    let checks = compiled.methods.iter().map(|method| CheckDecl {
        id: Code::slug(&method.name),
        subject: Subject::World,
        timeout_ms: method.timeout_ms.max(1),
    });
    let checks: Vec<CheckDecl> = checks.collect();
    let findings = checks.iter().map(|_| stage.finding(VerdictKind::Pass, "ok")).collect();
    let policy = Policy {
        max_attempts: 1,
        max_verify_tries: 1,
        wall_ms: Some(compiled.deadline_ms),
        red_first: RedFirst::Off,
        ..Policy::default()
    };
    let charter = Charter { terms: Some(compiled.terms.clone()), ..Charter::new(policy, checks) };
    stage.run(charter, findings);
    let episode = project::episode(&stage.entries, &decision, &RunFacts::new(&compiled)).unwrap();
    stage.finish(Some(episode))
}

pub(crate) fn crate_data(name: &str) -> Vec<u8> {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

struct Stage {
    /// The delegate writes a note and waits for an answer, and its check has more to say.
    is_chatty: bool,
    run: RunId,
    entries: Vec<Entry>,
    blobs: BTreeMap<Digest, Vec<u8>>,
}

impl Stage {
    fn new(run: &str) -> Self {
        Self {
            is_chatty: false,
            run: run.parse().unwrap(),
            entries: Vec::new(),
            blobs: BTreeMap::new(),
        }
    }

    fn keep(&mut self, bytes: Vec<u8>) -> Digest {
        let digest = blob_digest(&bytes);
        self.blobs.insert(digest, bytes);
        digest
    }

    fn keep_json(&mut self, value: &Value) -> Digest {
        self.keep(value.to_string().into_bytes())
    }

    fn finding(&mut self, verdict: VerdictKind, code: &str) -> Finding {
        let reason = (verdict != VerdictKind::Pass)
            .then(|| self.keep(format!("`{SECRET}` does not exist").into_bytes()));
        let evidence = json!([{ "source": "file:out.txt", "observed": SECRET }]);
        Finding::Verdict {
            verdict,
            code: code.parse().unwrap(),
            reason,
            criteria: vec![],
            confidence_bp: None,
            evidence: Some(self.keep_json(&evidence)),
            metadata: self.is_chatty.then(|| self.keep(METADATA.to_vec())),
            output: None,
        }
    }

    fn run(&mut self, charter: Charter, findings: Vec<Finding>) {
        let request = self.keep_json(&json!({ "task": SECRET }));
        let manifest = self.keep_json(&json!([{ "path": SECRET }]));
        let judge = self.keep_json(&json!({ "judge": SECRET }));
        let mut machine =
            Delegation::open(OPENED_AT_MS, self.run.clone(), request, charter).unwrap();
        let (mut now_ms, mut findings, mut due) =
            (OPENED_AT_MS, findings.into_iter(), VecDeque::new());
        loop {
            while let Some(effect) = machine.poll_effect() {
                due.push_back(effect);
            }
            let Some(effect) = due.pop_front() else { return };
            now_ms += 5;
            let input = match effect {
                Effect::Append(entries) => {
                    self.entries.extend(entries);
                    continue;
                }
                Effect::Snapshot { phase } => Input::Observed { phase, manifest, judge },
                Effect::RunCheck { check, .. } => Input::CheckFinished {
                    check,
                    finding: findings.next().unwrap(),
                    judge: Some(judge),
                    elapsed_ms: 5,
                    rewrite: None,
                },
                Effect::Dispatch { .. } if self.is_chatty && machine.epoch() == 0 => {
                    let left = machine.handle(now_ms, Input::Release);
                    left.unwrap_or_else(|refusal| panic!("{refusal}"));
                    Input::Lease { epoch: 3, worker: "worker-3".parse().unwrap() }
                }
                Effect::Dispatch { turn, .. } if self.is_chatty && machine.notes().is_empty() => {
                    let (kind, usage) = (NoteKind::Model, Usage { tokens: 3, tool_calls: 0 });
                    let by = self.keep(REQUEST.to_vec());
                    let wishes = [
                        Input::Steer { content: self.keep(STEER.to_vec()) },
                        Input::RequestCancel { by },
                    ];
                    for wish in wishes {
                        machine.handle(now_ms, wish).unwrap_or_else(|refusal| panic!("{refusal}"));
                    }
                    let content = self.keep(NOTE.to_vec());
                    let note = Input::Noted { turn, kind, content, usage };
                    machine.handle(now_ms, note).unwrap_or_else(|refusal| panic!("{refusal}"));
                    Input::Parked { turn, until_ms: None, detail: self.keep(WAIT.to_vec()) }
                }
                Effect::Park { .. } => Input::Woken { answer: self.keep(ANSWER.to_vec()) },
                Effect::Dispatch { turn, .. } => {
                    let claim = Claim::text(format!("{SECRET}, attempt {}", turn.number));
                    let candidate = claim_candidate(&claim);
                    Input::Claimed {
                        turn,
                        submission: submission_id(&self.run, turn, &candidate),
                        candidate,
                        claim: self.keep_json(&json!({ "claim": claim })),
                        work: u64::from(turn.number),
                        usage: Usage { tokens: 12, tool_calls: 0 },
                    }
                }
                Effect::Seal(entry) => {
                    self.entries.push(entry);
                    Input::Sealed
                }
                Effect::Commit { .. } | Effect::Reject { .. } => continue,
                effect => panic!("{effect:?}"),
            };
            machine.handle(now_ms, input).unwrap_or_else(|refusal| panic!("{refusal}"));
        }
    }

    fn finish(self, episode: Option<SealedEpisode>) -> Sample {
        let mut chain = Chain::new(self.run);
        let mut log = Vec::new();
        for entry in &self.entries {
            log.extend(chain.append(entry).unwrap().into_bytes());
            log.push(b'\n');
        }
        Sample { log, blobs: self.blobs, episode }
    }
}
