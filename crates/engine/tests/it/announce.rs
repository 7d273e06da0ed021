//! Append before act: the log announces every effect before it is performed.

use probity_core::Outcome;

use crate::rig::{Account, Eye, Rig, late_worker};

#[tokio::test]
async fn every_effect_stands_behind_the_append_that_announces_it() {
    let (rig, _) = Rig::watched();
    let checks = ["a", "b"].map(|id| Eye::file(&rig, "out.txt").check(id));
    let ended = rig.run(rig.plan(late_worker(&rig), checks)).await;
    assert_eq!(ended.outcome, Outcome::Verified);
    assert_eq!(
        rig.account.lines(),
        [
            "append run.opened",
            "read",
            "append world.observed check.started",
            "look before a",
            "append check.red check.started",
            "look before b",
            "append check.red",
            "read",
            "append world.observed delegate.dispatched",
            "ask 0",
            "append claim.received",
            "read",
            "append world.observed check.started",
            "look after a",
            "append check.finished check.started",
            "look after b",
            "append check.finished verdict.merged delegate.dispatched",
            "ask 1",
            "append claim.received",
            "read",
            "append world.observed check.started",
            "look after a",
            "append check.finished check.started",
            "look after b",
            "append check.finished verdict.merged outcome.decided run.sealed",
        ]
    );
}

/// The one who watches is told of what is durable, and of nothing else.
#[tokio::test]
async fn who_watches_is_told_once_an_entry_is_durable() {
    struct Echo(Account);
    impl probity_engine::Watch for Echo {
        fn entry(&self, entry: &probity_core::Entry) {
            self.0.note(format!("told {}", entry.event.name()));
        }
    }
    let (rig, _) = Rig::watched();
    let account = rig.account.clone();
    let plan = rig.plan(late_worker(&rig), [Eye::file(&rig, "out.txt").check("a")]);
    let engine = rig.engine();
    engine
        .run(plan, &Echo(account.clone()), tokio_util::sync::CancellationToken::new())
        .await
        .unwrap();
    let mut durable = Vec::new();
    let mut told = 0;
    for line in account.lines() {
        if let Some(names) = line.strip_prefix("append ") {
            durable.extend(names.split(' ').map(str::to_owned));
        } else if let Some(name) = line.strip_prefix("told ") {
            assert_eq!(durable.get(told).map(String::as_str), Some(name));
            told += 1;
        }
    }
    assert_eq!(told, durable.len());
    assert_eq!(told, rig.records().await.len());
}
