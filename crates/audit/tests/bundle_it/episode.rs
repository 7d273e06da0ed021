//! The episode of a bundle against the log of its run.

use probity_audit::bundle::{BundleInput, Inclusion, write_bundle};
use probity_audit::{OpenEpisode, SealedEpisode};
use probity_report::Verdict;
use serde_json::{Value, json};

use crate::sample::Sample;
use crate::{audit, codes, sample};

/// An episode, changed and sealed anew, with everything else of its run.
fn with_episode(sample: &Sample, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let sealed = sample.episode.as_ref().unwrap();
    let mut document: Value = serde_json::from_slice(sealed.bytes()).unwrap();
    let sealed_at_ms = 1_772_442_904_000;
    document.as_object_mut().unwrap().remove("seal");
    change(&mut document);
    let open = OpenEpisode::parse(document.to_string().as_bytes()).unwrap();
    let episode = open.seal(sealed_at_ms + 3_600_000).unwrap();
    let (mut sink, inclusion) = (Vec::new(), &Inclusion::All);
    let (log, episode) = (&*sample.log, Some(&episode));
    let input = BundleInput { log, content: sample, episode, inclusion, key: None };
    write_bundle(&input, &mut sink).unwrap();
    sink
}

#[test]
fn an_episode_that_tells_another_course_than_the_log_is_never_valid() {
    let sample = sample::decision();
    let report = audit(&with_episode(&sample, |_| {}));
    assert_eq!(report.verdict, Verdict::Valid, "{:#?}", report.failures);
    let lies = [
        ("/outcome/code", json!("partial")),
        ("/outcome/code", json!("fail")),
        ("/outcome/reason", json!("better")),
        ("/verification/required", json!(true)),
        ("/verification/result", json!("fail")),
        ("/verification/result", json!("na")),
        ("/degrade/step", json!("small_model")),
        ("/degrade/ladder", json!([])),
        ("/degrade/rationale/reason", json!("time")),
        ("/telemetry/endToEndMs", json!(1)),
        ("/telemetry/stageMs/act", json!(0)),
        ("/telemetry/stageMs/verify", json!(0)),
        ("/telemetry/fallbackUsed", json!(true)),
        ("/telemetry/fallbackStep", json!("abstain")),
    ];
    for (pointer, lie) in lies {
        let bytes = with_episode(&sample, |episode| {
            let member = episode.pointer_mut(pointer).unwrap();
            assert_ne!(*member, lie, "{pointer}");
            *member = lie.clone();
        });
        let report = audit(&bytes);
        assert_eq!(report.verdict, Verdict::Invalid, "{pointer} {lie}");
        assert!(report.has("bundle_episode_differs"), "{pointer}: {:?}", codes(&report));
    }
}

#[test]
fn a_run_without_a_decision_has_no_episode() {
    let mut sample = sample::plain();
    let card = sample::decision();
    let text = String::from_utf8(card.episode.unwrap().bytes().to_vec()).unwrap();
    sample.episode = Some(SealedEpisode::parse(text.as_bytes()).unwrap());
    let bytes = with_episode(&sample, |episode| episode["episodeId"] = json!("run-plain"));
    let report = audit(&bytes);
    assert_eq!(report.verdict, Verdict::Invalid);
    let told = report.failures.iter().any(|it| it.message.contains("no terms of a decision"));
    assert!(told, "{:#?}", report.failures);
}
