//! What an episode refers to: decision type, envelope, pack.

use super::Case;
use crate::finding::Findings;
use crate::rule;

impl Case<'_> {
    pub(super) fn references(&self, findings: &mut Findings) {
        let own = self.facts.decision_type();
        let referred = self.facts.text(&["dteRef", "decisionType"]);
        if let (Some(own), Some(referred)) = (own, referred)
            && own != referred
        {
            let message = format!("the episode is a `{own}`, its envelope one of `{referred}`");
            findings.add(&rule::DECISION_TYPE_DIFFERS, "/dteRef/decisionType", message);
        }
        let version = self.facts.text(&["dteRef", "version"]);
        if let (Some(envelope), Some(version)) = (self.envelope, version)
            && envelope.version != version
        {
            let message = format!(
                "decided under version `{version}`, held against version `{}`",
                envelope.version
            );
            findings.add(&rule::ENVELOPE_VERSION_DIFFERS, "/dteRef/version", message);
        }
        self.pack_hashes(findings);
    }

    fn pack_hashes(&self, findings: &mut Findings) {
        let given = self.pack.map(|pack| pack.policy_pack_hash.as_str());
        let stated = self.facts.text(&["policy", "policyPackHash"]);
        if let (Some(given), Some(stated)) = (given, stated)
            && given != stated
        {
            let message = format!("decided under pack `{stated}`, held against pack `{given}`");
            findings.add(&rule::PACK_HASH_DIFFERS, "/policy/policyPackHash", message);
        }
        let origin = self.envelope.and_then(|envelope| envelope.policy_pack.as_ref());
        let origin = origin.and_then(|origin| origin.policy_pack_hash.as_deref());
        let referred = self.facts.text(&["dteRef", "policyPackHash"]);
        if let Some(referred) = referred
            && origin.is_some()
            && given != Some(referred)
            && origin != Some(referred)
        {
            let message = format!("`{referred}` is neither the envelope's pack nor the one given");
            findings.add(&rule::PACK_HASH_DIFFERS, "/dteRef/policyPackHash", message);
        }
    }
}
