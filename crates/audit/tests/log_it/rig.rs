//! A delegation with its log, its content and a clock that only the test moves.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use probity_audit::log::{Blob, Content};
use probity_core::{
    Answer, Charter, CheckDecl, Claim, Code, Delegation, Digest, Effect, Entry, Event, Finding,
    Handled, HookDecision, HookDecl, HookPoint, Input, NoteKind, Phase, Policy, Rewrite, Stage,
    Subject, Turn, Usage, VerdictKind,
};
use probity_record::{Chain, blob_digest, claim_candidate, submission_id};
use serde_json::json;

/// When every run begins.
pub(crate) const OPENED_MS: u64 = 1_000;

pub(crate) fn code(text: &str) -> Code {
    text.parse().unwrap()
}

/// Content, some of it taken out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf {
    pub(crate) blobs: BTreeMap<Digest, Vec<u8>>,
    pub(crate) withheld: BTreeSet<Digest>,
}

impl Shelf {
    pub(crate) fn keep(&mut self, text: &str) -> Digest {
        let digest = blob_digest(text.as_bytes());
        self.blobs.insert(digest, text.as_bytes().to_vec());
        digest
    }
}

impl Content for Shelf {
    fn blob(&self, digest: &Digest) -> Blob<'_> {
        if self.withheld.contains(digest) {
            return Blob::Withheld;
        }
        match self.blobs.get(digest) {
            Some(bytes) => Blob::Bytes(Cow::Borrowed(bytes)),
            None => Blob::Absent,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Rig {
    pub(crate) machine: Delegation,
    pub(crate) log: Vec<Entry>,
    pub(crate) shelf: Shelf,
    pub(crate) now_ms: u64,
    /// The workspace, as the next reading finds it.
    pub(crate) tree: u32,
    /// The judge's files, as the next look finds them.
    pub(crate) judge: &'static str,
    pub(crate) work: u64,
    pub(crate) usage: Usage,
    seal: Option<Entry>,
}

pub(crate) fn check(id: &str, subject: Subject) -> CheckDecl {
    CheckDecl { id: code(id), subject, timeout_ms: 10_000 }
}

pub(crate) fn hook(id: &str, point: HookPoint) -> HookDecl {
    HookDecl { id: code(id), point, timeout_ms: 10_000 }
}

impl Rig {
    /// With one check of the world.
    pub(crate) fn new(policy: Policy) -> Self {
        Self::of(Charter::new(policy, vec![check("file-1", Subject::World)]))
    }

    pub(crate) fn of(charter: Charter) -> Self {
        let mut shelf = Shelf::default();
        let request = shelf.keep("the request");
        shelf.keep("the envelope");
        let machine =
            Delegation::open(OPENED_MS, "run-1".parse().unwrap(), request, charter).unwrap();
        let mut rig = Self {
            machine,
            log: vec![],
            shelf,
            now_ms: OPENED_MS,
            tree: 0,
            judge: "the judge",
            work: 0,
            usage: Usage { tokens: 10, tool_calls: 1 },
            seal: None,
        };
        rig.drain();
        rig
    }

    /// Up to the first dispatch or hook: every check of the world finds nothing done.
    pub(crate) fn start(mut self) -> Self {
        self.observe(Phase::Before);
        let mut has_run = false;
        while matches!(self.machine.stage(), Stage::RedChecking { .. }) {
            self.finish("revise");
            has_run = true;
        }
        if has_run {
            self.observe(Phase::Before);
        }
        self
    }

    pub(crate) fn feed(&mut self, input: Input) -> Result<Handled, probity_core::Refusal> {
        let is_seal = input == Input::Sealed;
        let handled = self.machine.handle(self.now_ms, input);
        if handled == Ok(Handled::Accepted) && is_seal {
            self.log.extend(self.seal.take());
        }
        self.drain();
        handled
    }

    pub(crate) fn ok(&mut self, input: Input) -> &mut Self {
        self.now_ms += 10;
        let (name, stage) = (input.name(), self.machine.stage());
        assert_eq!(self.feed(input), Ok(Handled::Accepted), "{name} in {stage:?}");
        self
    }

    pub(crate) fn observed(&mut self, phase: Phase) -> Input {
        let manifest = self.shelf.keep(&format!("tree {}", self.tree));
        Input::Observed { phase, manifest, judge: self.shelf.keep(self.judge) }
    }

    pub(crate) fn observe(&mut self, phase: Phase) -> &mut Self {
        let input = self.observed(phase);
        self.ok(input)
    }

    /// A claim as a delegate makes it, with its content.
    pub(crate) fn claimed(&mut self, turn: Turn, text: &str) -> Input {
        let (claim, candidate) = self.claim_blob(text);
        Input::Claimed {
            turn,
            submission: submission_id(self.machine.run(), turn, &candidate),
            candidate,
            claim,
            work: self.work,
            usage: self.usage,
        }
    }

    fn claim_blob(&mut self, text: &str) -> (Digest, Digest) {
        let claim = Claim::text(text);
        let candidate = claim_candidate(&claim);
        (self.shelf.keep(&json!({ "claim": claim, "session": "s-1" }).to_string()), candidate)
    }

    pub(crate) fn rewrite(&mut self, text: &str) -> Rewrite {
        let (claim, candidate) = self.claim_blob(text);
        Rewrite { candidate, claim, delta: self.shelf.keep("a delta") }
    }

    pub(crate) fn claim(&mut self, text: &str) -> &mut Self {
        let turn = self.machine.turn();
        self.work += 1;
        let input = self.claimed(turn, text);
        self.ok(input).observe(Phase::After)
    }

    pub(crate) fn noted(&mut self, turn: Turn) -> Input {
        let content = self.shelf.keep(&format!("note {}", self.machine.notes().len()));
        Input::Noted { turn, kind: NoteKind::Model, content, usage: self.usage }
    }

    /// The delegate at work writes something down.
    pub(crate) fn note(&mut self) -> &mut Self {
        let input = self.noted(self.machine.turn());
        self.ok(input)
    }

    pub(crate) fn parked(&mut self, turn: Turn, until_ms: Option<u64>) -> Input {
        let detail = self.shelf.keep(r#"{"key":"which","question":"Which one?"}"#);
        Input::Parked { turn, until_ms, detail }
    }

    /// The delegate at work waits: for so long, or for an answer.
    pub(crate) fn park(&mut self, for_ms: Option<u64>) -> &mut Self {
        let until_ms = for_ms.map(|for_ms| self.now_ms + for_ms);
        let input = self.parked(self.machine.turn(), until_ms);
        self.ok(input)
    }

    pub(crate) fn waking(&mut self) -> Input {
        Input::Woken { answer: self.shelf.keep(r#"{"by":"kim","value":"the blue one"}"#) }
    }

    pub(crate) fn wake(&mut self) -> &mut Self {
        let input = self.waking();
        self.ok(input)
    }

    /// Whoever drives the run leaves it.
    pub(crate) fn release(&mut self) -> &mut Self {
        self.ok(Input::Release)
    }

    /// A worker takes the run up.
    pub(crate) fn lease(&mut self, epoch: u64) -> &mut Self {
        let worker = format!("worker-{epoch}").parse().unwrap();
        self.ok(Input::Lease { epoch, worker })
    }

    pub(crate) fn request(&mut self, text: &str) -> &mut Self {
        let by = self.shelf.keep(text);
        self.ok(Input::RequestCancel { by })
    }

    pub(crate) fn steer(&mut self, text: &str) -> &mut Self {
        let content = self.shelf.keep(text);
        self.ok(Input::Steer { content })
    }

    pub(crate) fn wait(&mut self, for_ms: u64) -> &mut Self {
        self.now_ms += for_ms;
        self
    }

    /// The delegate used up a budget that it keeps.
    pub(crate) fn spent(&mut self, word: &str) -> &mut Self {
        let (turn, detail) = (self.machine.turn(), self.shelf.keep("none left"));
        self.ok(Input::DelegateFailed { turn, code: code(word), detail })
    }

    /// What a check can say, in a word.
    pub(crate) fn finding(&mut self, word: &str) -> Finding {
        let (verdict, text) = match word {
            "pass" => (VerdictKind::Pass, "ok"),
            "revise" => (VerdictKind::Revise, "file_missing"),
            "fail" => (VerdictKind::Fail, "forbidden"),
            "timeout" => (VerdictKind::Inconclusive, "http_timeout"),
            "unread" => (VerdictKind::Inconclusive, "refused"),
            "fault" => {
                let detail = self.shelf.keep("it broke");
                return Finding::Fault { code: code("script_raised"), detail };
            }
            _ => return Finding::NotApplicable,
        };
        Finding::Verdict {
            verdict,
            code: code(text),
            reason: (verdict != VerdictKind::Pass).then(|| self.shelf.keep("a reason")),
            criteria: vec![],
            confidence_bp: None,
            evidence: Some(self.shelf.keep("evidence")),
            metadata: (verdict == VerdictKind::Revise).then(|| self.shelf.keep("[\"t1\"]")),
            output: None,
        }
    }

    pub(crate) fn finished(&mut self, finding: Finding, rewrite: Option<Rewrite>) -> Input {
        let (Stage::RedChecking { check, .. } | Stage::Checking { check, .. }) =
            self.machine.stage()
        else {
            panic!("no check in flight: {:?}", self.machine.stage());
        };
        let judge = Some(self.shelf.keep(self.judge));
        Input::CheckFinished { check, finding, judge, elapsed_ms: 5, rewrite }
    }

    /// Answers the check in flight.
    pub(crate) fn finish(&mut self, word: &str) -> &mut Self {
        let finding = self.finding(word);
        let input = self.finished(finding, None);
        self.ok(input)
    }

    pub(crate) fn rewriting(&mut self, text: &str) -> &mut Self {
        let (finding, rewrite) = (self.finding("pass"), self.rewrite(text));
        let input = self.finished(finding, Some(rewrite));
        self.ok(input)
    }

    /// A claim and what its checks say.
    pub(crate) fn turn(&mut self, text: &str, words: &[&str]) -> &mut Self {
        self.claim(text);
        for word in words {
            self.finish(word);
        }
        self
    }

    pub(crate) fn hooked(&mut self, decision: HookDecision) -> &mut Self {
        let Stage::Hooking { hook, .. } = self.machine.stage() else {
            panic!("no hook in flight: {:?}", self.machine.stage());
        };
        self.ok(Input::HookAnswered { hook, decision, elapsed_ms: 4 })
    }

    pub(crate) fn said(&mut self, finding: Finding) -> Input {
        let Stage::Awaiting { check, .. } = self.machine.stage() else {
            panic!("no human is asked: {:?}", self.machine.stage());
        };
        let submission = self.machine.submission().unwrap().clone();
        let (by, judge) = (self.shelf.keep("kim"), self.shelf.keep(self.judge));
        Input::CheckAnswered { check, submission, finding, by, judge }
    }

    /// Answers as the human whom a check asks.
    pub(crate) fn human(&mut self, word: &str) -> &mut Self {
        let finding = self.finding(word);
        let input = self.said(finding);
        self.ok(input)
    }

    pub(crate) fn answer(&mut self, answer: Answer) -> &mut Self {
        let by = self.shelf.keep("kim: see ticket 7");
        self.ok(Input::Answered { by, answer })
    }

    pub(crate) fn sealed(&mut self) -> Self {
        self.ok(Input::Sealed);
        self.clone()
    }

    fn drain(&mut self) {
        while let Some(effect) = self.machine.poll_effect() {
            match effect {
                Effect::Append(entries) => self.log.extend(entries),
                Effect::Seal(entry) => self.seal = Some(entry),
                _ => {}
            }
        }
    }
}

/// The entries as a store keeps them, chained and sealed anew.
pub(crate) fn records(entries: &[Entry]) -> Vec<Vec<u8>> {
    let Event::RunOpened { run, .. } = &entries[0].event else { panic!("opens no run") };
    let mut chain = Chain::new(run.clone());
    entries.iter().map(|entry| chain.append(entry).unwrap().into_bytes()).collect()
}

/// The same as a file.
pub(crate) fn jsonl(entries: &[Entry]) -> Vec<u8> {
    join(&records(entries))
}

pub(crate) fn join(records: &[Vec<u8>]) -> Vec<u8> {
    records.iter().flat_map(|line| [line.as_slice(), b"\n"]).flatten().copied().collect()
}
