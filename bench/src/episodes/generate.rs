//! Episodes that are valid, all different and the same on every machine, written as a folder, as
//! lines and as a list.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use probity::core::Digest;
use probity::record::{blob_digest, candidate_hash};
use serde_json::{Value, json};

use crate::error::BenchError;

/// The decision type of all of them.
const DECISION_TYPE: &str = "ParcelReroute";
const VERSION: &str = "1.2.0";
const PACK_HASH: &str = "pph-parcels-1";

/// The same episodes in three forms, and their envelope.
pub(super) struct Written {
    pub(super) count: u64,
    pub(super) folder: PathBuf,
    pub(super) lines: PathBuf,
    pub(super) list: PathBuf,
    pub(super) envelope: PathBuf,
    /// Of the lines.
    pub(super) bytes: u64,
}

/// Writes the episodes from 0 on. The one at `changed` names another target than it was sealed with.
pub(super) fn write(home: &Path, count: u64, changed: Option<u64>) -> Result<Written, BenchError> {
    let failed = BenchError::io("write episodes");
    let written = Written {
        count,
        folder: home.join("folder"),
        lines: home.join("all.jsonl"),
        list: home.join("list.json"),
        envelope: home.join("envelope.json"),
        bytes: 0,
    };
    std::fs::create_dir(&written.folder).map_err(&failed)?;
    std::fs::write(&written.envelope, envelope().to_string()).map_err(&failed)?;
    let mut list = BufWriter::new(File::create(&written.list).map_err(&failed)?);
    let text = |index| {
        let text = episode(index).to_string();
        if changed == Some(index) { text.replace("\"parcel-", "\"other-") } else { text }
    };
    for index in 0..count {
        let text = text(index);
        let path = written.folder.join(format!("{index:07}.json"));
        std::fs::write(path, &text).map_err(&failed)?;
        let before = if index == 0 { "[" } else { ", " };
        write!(list, "{before}{text}").map_err(&failed)?;
    }
    writeln!(list, "]").and_then(|()| list.flush()).map_err(&failed)?;
    let bytes = lines_of(&written.lines, count, text)?;
    Ok(Written { bytes, ..written })
}

/// The first episode and the envelope.
pub(crate) fn one() -> (String, String) {
    (episode(0).to_string(), envelope().to_string())
}

/// Writes lines alone. Their size in bytes.
pub(super) fn lines(path: &Path, count: u64) -> Result<u64, BenchError> {
    lines_of(path, count, |index| episode(index).to_string())
}

fn lines_of(path: &Path, count: u64, text: impl Fn(u64) -> String) -> Result<u64, BenchError> {
    let failed = BenchError::io("write episodes");
    let mut lines = BufWriter::new(File::create(path).map_err(&failed)?);
    for index in 0..count {
        writeln!(lines, "{}", text(index)).map_err(&failed)?;
    }
    lines.flush().map_err(&failed)?;
    Ok(std::fs::metadata(path).map_err(&failed)?.len())
}

/// One episode with its seal.
fn episode(index: u64) -> Value {
    let mut draw = Draw(index);
    let stages = [draw.within(10, 30), draw.within(5, 20), draw.within(5, 35), draw.within(3, 18)];
    let [context, plan, act, verify] = stages;
    let whole = stages.iter().sum::<u64>() + draw.within(0, 10);
    let mut episode = json!({
        "episodeId": format!("ep-{index:012x}"),
        "decisionType": DECISION_TYPE,
        "startedAt": "2026-04-07T10:20:30Z",
        "endedAt": "2026-04-07T10:20:30Z",
        "decisionWindowMs": 150,
        "actor": {"type": "agent", "id": "dispatch-agent", "version": "2.0.1"},
        "dteRef": {"decisionType": DECISION_TYPE, "version": VERSION, "policyPackHash": PACK_HASH},
        "context": {
            "snapshotId": format!("snap-{index:08x}"),
            "capturedAt": "2026-04-07T10:20:30Z",
            "ttlMs": 300,
            "maxFeatureAgeMs": draw.within(0, 290),
            "ttlBreachesCount": 0,
            "evidenceRefs": ["depot_load_1m", "route_delay_5m"],
        },
        "plan": {
            "planner": "rules",
            "summary": "Send the parcel by another depot and read its route back.",
            "planRef": "plan-reroute-1",
        },
        "actions": [action(index, &mut draw)],
        "verification": {
            "required": true, "method": "read_after_write", "result": "pass", "details": {},
        },
        "outcome": {"code": "success", "reason": "", "effects": {"route": "depot-7"}},
        "telemetry": {
            "endToEndMs": whole,
            "stageMs": {"context": context, "plan": plan, "act": act, "verify": verify},
            "p95Ms": 70, "p99Ms": 100, "jitterMs": 11,
            "fallbackUsed": false, "fallbackStep": "", "hopCount": 2, "fanout": 3,
        },
        "policy": {
            "policyPackId": "parcels",
            "policyPackVersion": "1.0.0",
            "policyPackHash": blob_digest(b"a pack that nobody has").to_string(),
        },
        "degrade": {
            "step": "none",
            "rationale": {"reason": "within_envelope", "remaining_ms": 150 - whole},
            "ladder": ["cache_bundle", "rules_only", "hitl", "abstain"],
        },
    });
    let seal =
        json!({ "sealedAt": "2026-04-07T10:20:30Z", "sealHash": seal(&episode).to_string() });
    if let Value::Object(members) = &mut episode {
        members.insert("seal".to_owned(), seal);
    }
    episode
}

fn action(index: u64, draw: &mut Draw) -> Value {
    json!({
        "actionId": "act-reroute-1",
        "actionType": "reroute_parcel",
        "blastRadiusTier": "small",
        "targetRefs": [{"type": "parcel", "id": format!("parcel-{index}")}],
        "constraints": {"rateLimitPerMin": 60, "scope": "single-parcel"},
        "authorization": {"mode": "auto", "policyRef": "parcels-1", "approver": ""},
        "idempotencyKey": format!("idem-{:016x}", draw.next()),
        "rollbackPlan": {
            "type": "revert", "instructions": {"actionType": "restore_route"}, "timeoutMs": 2000,
        },
        "execution": {
            "executionSloMs": 30, "timeoutMs": 40,
            "retryPolicy": {"maxRetries": 1, "backoffMs": 10},
        },
    })
}

/// The published rule: SHA-256 over the episode without its seal, keys sorted, no blanks. What is
/// in these episodes, ASCII and integers, has only one spelling.
fn seal(episode: &Value) -> Digest {
    candidate_hash(episode)
}

fn envelope() -> Value {
    json!({
        "decisionType": DECISION_TYPE,
        "version": VERSION,
        "description": "Send a parcel by another depot when its route is late.",
        "deadlineMs": 150,
        "stageBudgetsMs": {"context": 40, "plan": 30, "act": 50, "verify": 25},
        "freshness": {
            "defaultTtlMs": 300,
            "featureTtls": {"depot_load_1m": 300, "route_delay_5m": 2000},
            "allowStaleIfSafe": false,
        },
        "limits": {"maxHops": 3, "maxFanout": 6, "maxToolCalls": 10, "maxChainDepth": 4},
        "degradeLadder": [
            {"step": "cache_bundle"}, {"step": "small_model"}, {"step": "rules_only"},
            {"step": "hitl"}, {"step": "abstain"},
        ],
        "verification": {
            "requiredAboveBlastRadius": "small",
            "methods": ["read_after_write"],
            "verifyTimeoutMs": 25,
        },
        "safeAction": {
            "requireIdempotency": true,
            "requireRollbackAbove": "small",
            "blastRadiusMax": "medium",
            "allowedActionTypes": ["reroute_parcel", "open_ticket"],
        },
        "policyPack": {"policyPackVersion": "pp-1", "policyPackHash": PACK_HASH},
    })
}

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014), so that an
/// episode depends on its number alone.
struct Draw(u64);

impl Draw {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    const fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }
}
