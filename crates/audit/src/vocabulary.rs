//! Documents that use other names: snake case, older shapes, other record types.
//!
//! Held against the shape, such a document has a fault in every line. One finding that says which
//! names it uses helps more.

use crate::document::{Node, pointer};
use crate::finding::Findings;
use crate::rule;
use crate::shape::{Record, Shape, check};

/// The most names that are told of one document.
const MAX_HINTS: usize = 6;

/// A name or word of another vocabulary.
#[derive(Debug)]
pub(crate) struct Sign {
    /// Where it stands; `*` is any item of a list.
    path: &'static [&'static str],
    is: Is,
    /// What stands there in this vocabulary.
    ours: &'static str,
}

#[derive(Debug)]
enum Is {
    There,
    Text,
    Number,
    Word(&'static [&'static str]),
}

const fn there(path: &'static [&'static str], ours: &'static str) -> Sign {
    Sign { path, is: Is::There, ours }
}

/// Names that episodes of other systems and versions use.
pub(crate) const EPISODE_SIGNS: &[Sign] = &[
    there(&["decisionId"], "`episodeId`, and this is another kind of record"),
    there(&["truth"], "`context`"),
    there(&["reasoning"], "`plan`"),
    there(&["action"], "`actions`"),
    there(&["claimsUsed"], "`context.evidenceRefs`"),
    there(&["dlr"], "`plan`"),
    there(&["sealedAt"], "`seal.sealedAt`"),
    there(&["actions", "*", "type"], "`actionType`"),
    Sign {
        path: &["actions", "*", "blastRadiusTier"],
        is: Is::Word(&["low", "high", "critical", "account", "service", "none"]),
        ours: "one of `tiny`, `small`, `medium`, `large`",
    },
    Sign { path: &["actions", "*", "rollbackPlan"], is: Is::Text, ours: "an object with `type`" },
    Sign {
        path: &["actions", "*", "targetRefs", "*"],
        is: Is::Text,
        ours: "an object with `type` and `id`",
    },
    there(&["verification", "verifierId"], "`method`"),
    there(&["verification", "passed"], "`result`"),
    there(&["dteRef", "deadlineIso"], "`decisionWindowMs`"),
    there(&["dteRef", "ttlSeconds"], "`context.ttlMs`"),
    there(&["policy", "packId"], "`policyPackId`"),
    there(&["policy", "packHash"], "`policyPackHash`"),
    there(&["seal", "hash"], "`sealHash`"),
    there(&["outcome", "detail"], "`reason`"),
];

/// Names that drift signals of other systems and versions use.
pub(crate) const DRIFT_SIGNS: &[Sign] = &[
    there(&["ds_id"], "`driftId`"),
    there(&["decisionId"], "`episodeId`, and this is another kind of record"),
    there(&["type"], "`driftType`"),
    there(&["trigger"], "`driftType`"),
    there(&["runtime_types"], "`driftType`"),
    Sign {
        path: &["driftType"],
        is: Is::Word(&[
            "new_evidence",
            "evidence_changed",
            "evidence_removed",
            "authority_mismatch",
            "process_gap",
            "contradiction",
            "missing_policy",
            "low_claim_coverage",
            "stale_reference",
        ]),
        ours: "one of `time`, `freshness`, `fallback`, `bypass`, `verify`, `outcome`, `fanout`, \
               `contention`",
    },
    there(&["observedAt"], "`detectedAt`"),
    there(&["patchHint"], "`recommendedPatchType`"),
    Sign {
        path: &["recommendedPatchType"],
        is: Is::Word(&[
            "REPLAN",
            "RETCON",
            "ROLLBACK",
            "escalate_to_human",
            "adjust_degrade_ladder",
            "increase_dte_budget",
            "authority_update",
            "process_fix",
        ]),
        ours: "one of the seven patch types",
    },
    Sign { path: &["fingerprint"], is: Is::Text, ours: "an object with `key` and `version`" },
    Sign { path: &["fingerprint", "version"], is: Is::Number, ours: "a string" },
    there(&["details"], "`notes`"),
    there(&["description"], "`notes`"),
    there(&["metadata"], "`notes`"),
];

/// Holds a document against its shape. A document of another vocabulary gets one finding.
pub(crate) fn shape(
    node: &Node,
    shape: &'static Record,
    signs: &'static [Sign],
    findings: &mut Findings,
) {
    let mut faults = Findings::default();
    check(node, shape, &mut faults);
    if faults.count() == 0 {
        return;
    }
    let mut hints = Vec::new();
    snake(node, shape, "", &mut hints);
    for sign in signs {
        look(node, sign, sign.path, "", &mut hints);
    }
    nested(node, &mut hints);
    let Some((first, _)) = hints.first() else {
        findings.append(faults);
        return;
    };
    let place = if hints.len() == 1 { first.clone() } else { String::new() };
    let more = hints.len().saturating_sub(MAX_HINTS);
    let mut told: Vec<String> = hints.into_iter().take(MAX_HINTS).map(|(_, hint)| hint).collect();
    if more > 0 {
        told.push(format!("{more} more names"));
    }
    let message =
        format!("not in this vocabulary ({} faults of shape): {}", faults.count(), told.join("; "));
    findings.add(&rule::OTHER_VOCABULARY, place, message);
}

/// Members whose name is one of the shape's in snake case.
fn snake(node: &Node, shape: &'static Record, at: &str, hints: &mut Vec<(String, String)>) {
    for member in node.members() {
        let field = |name: &str| shape.fields.iter().find(|field| field.name == name);
        if let Some(known) = field(&member.key) {
            if let Shape::Record(inner) = &known.shape {
                snake(&member.value, inner, &format!("{at}{}", pointer(&member.key)), hints);
            }
        } else if member.key.contains('_')
            && let Some(known) = field(&camel(&member.key))
        {
            let place = format!("{at}{}", pointer(&member.key));
            let hint = format!("`{}` is `{}` here", member.key, known.name);
            hints.push((place, hint));
        }
    }
}

fn look(node: &Node, sign: &Sign, path: &[&str], at: &str, hints: &mut Vec<(String, String)>) {
    let Some((step, rest)) = path.split_first() else {
        let is_sign = match (&sign.is, node) {
            (Is::There, _) | (Is::Text, Node::Text(_)) | (Is::Number, Node::Number(_)) => true,
            (Is::Word(words), Node::Text(text)) => words.iter().any(|word| word == text),
            _ => false,
        };
        if is_sign {
            let name = sign.path.iter().rev().find(|step| **step != "*").copied().unwrap_or("");
            let found = match (&sign.is, node) {
                (Is::There, _) => format!("`{name}`"),
                (Is::Word(_), Node::Text(text)) => format!("`{name}: {text}`"),
                _ => format!("`{name}` as {}", node.kind()),
            };
            hints.push((at.to_owned(), format!("{found} is {} here", sign.ours)));
        }
        return;
    };
    if *step == "*" {
        // One item tells as much as all of them.
        if let Some(item) = node.items().first() {
            look(item, sign, rest, &format!("{at}/0"), hints);
        }
    } else if let Some(member) = node.get(step) {
        look(member, sign, rest, &format!("{at}{}", pointer(step)), hints);
    }
}

/// Episodes that stand under names of their own in one object.
fn nested(node: &Node, hints: &mut Vec<(String, String)>) {
    if node.get("episodeId").is_some() || node.get("driftId").is_some() {
        return;
    }
    let inner = node.members().iter().find(|member| member.value.get("episodeId").is_some());
    if let Some(member) = inner {
        let hint = format!("`{}` holds an episode; here a file is one or a list", member.key);
        hints.push((pointer(&member.key), hint));
    }
}

/// `blast_radius_tier` as `blastRadiusTier`.
pub(crate) fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}
