//! A named human as a check, and as the way out of an escalation: `probity log answer`.

use std::time::{Duration, Instant};

use crate::world::{LIAR, Ran, World};

const ASKS: &str = "human:Ada,question=Is the text kind?";

/// A run that waits for Ada. Its delegate keeps every prompt.
fn waiting(world: &World) -> Ran {
    let delegate = "n=$(ls | wc -l); cat > prompt.$n; echo Done.";
    world.probity(["run", "write", "--id", "it", "--expect", ASKS, "--", "sh", "-c", delegate])
}

fn answer(world: &World, words: &[&str]) -> Ran {
    world.probity(["log", "answer", "it"].iter().chain(words))
}

#[test]
fn a_human_sends_the_delegate_back_and_approves_in_another_process() {
    let world = World::new();
    let asked = waiting(&world);
    assert_eq!(asked.code, 7, "{asked:?}");
    assert_eq!(
        world.redact(&asked.stdout),
        "ESCALATED: waits for Ada: Is the text kind?\n\
         \x20 answer with: probity log answer it --by Ada --claim RUN --approve\n\
         run it · not sealed\n"
    );
    assert!(asked.stderr.contains("waits for a human"), "{asked:?}");
    let list = world.probity(["log", "list", "--json"]).json();
    assert_eq!(list[0]["outcome"], "escalated");
    let resumed = world.probity(["run", "--resume", "it"]);
    assert_eq!(resumed.code, 7, "it waits still: {resumed:?}");
    assert!(resumed.stdout.contains("waits for Ada: Is the text kind?"), "{resumed:?}");
    let shown = world.probity(["log", "show", "it", "--json"]).json();
    // The log names the check, not the person.
    assert_eq!((&shown["asks"]["who"], &shown["waits_for"]), (&"Ada".into(), &"human".into()));

    let revised = answer(&world, &["--by", "Ada", "--revise", "say it softly"]);
    assert_eq!(revised.code, 7, "{revised:?}");
    let prompts: Vec<String> = ["prompt.0", "prompt.1"].map(|name| world.read(name)).into();
    assert!(!prompts[0].contains("softly") && prompts[1].contains("say it softly"), "{prompts:?}");

    let approved = answer(&world, &["--by", "Ada", "--approve", "--json"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let report = approved.json();
    assert_eq!((&report["outcome"], &report["attempts"]), (&"verified".into(), &2.into()));
    assert_eq!(report["checks"][0]["code"], "human_approved");
    assert_eq!(report["checks"][0]["evidence"][0]["source"], "human:Ada");
    let again = answer(&world, &["--by", "Ada", "--approve", "--json"]);
    assert_eq!((again.code, again.error_code()), (64, "answer_refused".to_owned()));
    assert!(again.stderr.contains("has ended verified"), "{again:?}");
}

#[test]
fn a_human_who_rejects_ends_the_run() {
    let world = World::new();
    waiting(&world);
    let rejected = answer(&world, &["--by", "Ada", "--reject", "never like this"]);
    assert_eq!(rejected.code, 1, "{rejected:?}");
    assert!(rejected.stdout.contains("never like this  [human_rejected]"), "{rejected:?}");
    let silent = World::new();
    waiting(&silent);
    let rejected = answer(&silent, &["--by", "Ada", "--reject"]);
    assert!(rejected.stdout.contains("rejected by Ada"), "{rejected:?}");
}

#[test]
fn an_answer_that_does_not_fit_says_whom_the_run_asks_and_what() {
    let world = World::new();
    waiting(&world);
    for (words, code, told) in [
        (&["--by", "Bob", "--approve"][..], "answer_not_asked", "asks Ada: Is the text kind?"),
        (&["--by", "Ada", "--waive"], "answer_refused", "asks Ada: Is the text kind?"),
        (&["--by", "Ada", "--continue", "2"], "answer_refused", "--approve, --revise REASON"),
        (&["--by", "Ada", "--revise", " "], "usage", "--revise must say what is wrong"),
        (&["--by", "  ", "--approve"], "usage", "--by must name who says this"),
    ] {
        let ran = answer(&world, &[words, &["--json"]].concat());
        assert_eq!((ran.code, ran.error_code().as_str()), (64, code), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{words:?}: {ran:?}");
    }
    // Nothing of that was taken for an answer.
    assert_eq!(answer(&world, &["--by", "Ada", "--approve"]).code, 0);
}

/// An answer that names the claim it is about does not reach the next one.
#[test]
fn an_answer_about_a_claim_that_is_gone_is_refused() {
    let world = World::new();
    waiting(&world);
    let asked_about = || {
        let shown = world.probity(["log", "show", "it", "--json"]).json();
        shown["asked_about"].as_str().unwrap().to_owned()
    };
    let first = asked_about();
    let wrong = answer(&world, &["--by", "Ada", "--claim", "no id!", "--approve", "--json"]);
    assert_eq!((wrong.code, wrong.error_code()), (64, "usage".to_owned()));
    assert_eq!(answer(&world, &["--by", "Ada", "--claim", &first, "--revise", "softly"]).code, 7);
    let late = answer(&world, &["--by", "Ada", "--claim", &first, "--approve", "--json"]);
    assert_eq!((late.code, late.error_code()), (64, "answer_refused".to_owned()), "{late:?}");
    let second = asked_about();
    assert!(late.stderr.contains(&first) && late.stderr.contains(&second), "{late:?}");
    assert_eq!(answer(&world, &["--by", "Ada", "--claim", &second, "--approve"]).code, 0);
}

#[test]
fn exactly_one_answer_is_taken() {
    let world = World::new();
    waiting(&world);
    for words in [&["--by", "Ada"][..], &["--by", "Ada", "--approve", "--waive"], &["--approve"]] {
        let ran = answer(&world, words);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{words:?}");
    }
    let missing = world.probity(["log", "answer", "zzz", "--by", "A", "--approve", "--json"]);
    assert_eq!((missing.code, missing.error_code()), (64, "run_missing".to_owned()));
}

#[test]
fn an_escalated_run_is_waived_continued_or_rejected_and_not_approved() {
    for (words, code, told) in [
        (&["--waive"][..], 1, "EXHAUSTED (waived by a human) after 1 attempt"),
        (&["--reject"], 1, "EXHAUSTED after 1 attempt"),
        (&["--continue", "1"], 7, "ESCALATED after 2 attempts"),
    ] {
        let world = World::new();
        let escalated =
            world.gate(&LIAR, &["--id", "it", "--max-retries", "0", "--on-failure", "escalate"]);
        assert_eq!(escalated.code, 7, "{escalated:?}");
        assert!(escalated.stderr.contains("log answer it --by NAME --waive"), "{escalated:?}");
        for refused in [&["--approve"][..], &["--revise", "x"], &["--reject", "a reason"]] {
            let ran = answer(&world, &[&["--by", "Ada", "--json"], refused].concat());
            assert_eq!((ran.code, ran.error_code().as_str()), (64, "answer_refused"), "{ran:?}");
            assert!(ran.stderr.contains("is escalated"), "{ran:?}");
        }
        let ran = answer(&world, &[&["--by", "Ada"], words].concat());
        assert_eq!(ran.code, code, "{words:?}: {ran:?}");
        assert!(ran.stdout.contains(told), "{words:?}: {ran:?}");
    }
}

#[test]
fn an_action_that_needs_approval_is_not_started_before_somebody_says_so() {
    let world = crate::decision::as_is();
    world.write(
        "decision.json",
        r#"{"actions": [{"actionId": "a1", "actionType": "quarantine", "blastRadiusTier": "medium",
            "targetRefs": [{"type": "account", "id": "svc-demo"}], "constraints": {},
            "authorization": {"mode": "hitl"}, "idempotencyKey": "k1",
            "rollbackPlan": {"type": "revert"}}]}"#,
    );
    assert_eq!(world.probity(["trust"]).code, 0);
    let args = ["run", "x", "--id", "it", "--decision-type", "AccountQuarantine"];
    let more = ["--decision", "decision.json", "--", "touch", "svc-demo"];
    let asked = world.probity(args.iter().chain(&more));
    assert_eq!(asked.code, 7, "{asked:?}");
    assert!(!world.at("svc-demo").exists());
    assert!(
        asked.stdout.contains(
            "fallback  to hitl at claim 1, because of approval\n\
             ESCALATED: an action needs the approval of a human, and nothing was done\n"
        ),
        "{asked:?}"
    );
    assert!(asked.stderr.contains("log answer it --by NAME --approve (or --reject)"), "{asked:?}");
    let refused = answer(&world, &["--by", "Ada", "--revise", "x", "--json"]);
    assert_eq!((refused.code, refused.error_code()), (64, "answer_refused".to_owned()));
    assert!(refused.stderr.contains("it takes --approve, --continue N or --reject"), "{refused:?}");
    assert_eq!(answer(&world, &["--by", "Ada", "--approve"]).code, 0);
    let episode = world.probity(["episode", "show", "it", "--json"]).json();
    assert_eq!(episode["actions"][0]["authorization"]["approver"], "Ada");
}

#[test]
fn an_answer_that_comes_too_late_ends_the_run_as_nobodys() {
    let world = World::new();
    world.write(
        "request.yaml",
        "id: it\ntask: write\ncommand: [echo, Done.]\nexpect: [{human: Ada, timeout: 1s}]\n",
    );
    assert_eq!(world.probity(["run", "--request", "request.yaml"]).code, 7);
    let asked = Instant::now();
    // The time of the question is the matter here, and nothing happens when it is over.
    while asked.elapsed() < Duration::from_millis(1_100) {
        std::thread::yield_now();
    }
    let late = answer(&world, &["--by", "Ada", "--approve"]);
    assert_eq!(late.code, 2, "{late:?}");
    assert!(late.stderr.contains("Ada did not answer in time"), "{late:?}");
    assert!(late.stdout.contains("INCONCLUSIVE") && late.stdout.contains("[human_timeout]"));
    let sealed = world.probity(["run", "--resume", "it", "--answer", "reject", "--by", "Ada"]);
    assert_eq!(sealed.code, 64, "{sealed:?}");
    assert!(
        sealed.stderr.contains("run it has ended inconclusive; it waits for nobody"),
        "{sealed:?}"
    );
}

#[test]
fn a_decision_about_a_run_that_asks_a_human_says_how_to_answer() {
    let world = World::new();
    waiting(&world);
    let args = ["run", "--resume", "it", "--answer", "waive", "--by", "Ada", "--json"];
    let ran = world.probity(args);
    assert_eq!((ran.code, ran.error_code()), (64, "answer_refused".to_owned()), "{ran:?}");
    assert!(ran.stderr.contains("and --approve, --revise or --reject"), "{ran:?}");
    assert_eq!(answer(&world, &["--by", "Ada", "--approve"]).code, 0);
}
