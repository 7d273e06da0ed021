//! How delegations ended, counted by who did the work.

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_core::Outcome;
use serde_json::{Value, json};

use super::delegating;
use super::delegations::{Seen, Wanted, paged, seen};
use crate::call::{Call, answer};
use crate::delegated::Glance;
use crate::error::Failure;
use crate::question::{DELEGATE, OUTCOME, Question, SINCE};
use crate::route::{Access, Route};
use crate::scope::Scope;

pub(super) const READ: Route = Route {
    name: "countOutcomes",
    method: Method::GET,
    paths: &["/api/v1/outcomes"],
    access: Access::Key(Scope::RunsRead),
    summary: "How delegations ended, by kind of delegate. Of many, a part: add up the pages.",
    takes: None,
    gives: &[(200, Some("OutcomeCounts"))],
    query: &[
        Question::word("by", &["delegate"], "which is what is meant without it"),
        SINCE,
        DELEGATE,
        OUTCOME,
        Question::whole("cursor", 0, u64::MAX, "`nextCursor` of the answer before"),
    ],
    is_served: delegating,
    handler: |call| Box::pin(read(call)),
};

#[derive(Default)]
struct Count {
    total: u64,
    open: u64,
    waived: u64,
    outcomes: BTreeMap<Outcome, u64>,
}

async fn read(call: Call) -> Result<Response, Failure> {
    if call.query.get("by").is_some_and(|by| by != "delegate") {
        return Err(Failure::invalid("?by", "must be `delegate`"));
    }
    let Seen { runs, next } = seen(&call, &Wanted::of(&call)?, usize::MAX).await?;
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for run in &runs {
        counts.entry(&run.delegate).or_default().add(run);
    }
    let groups: Vec<Value> = counts.iter().map(|(name, count)| count.told(name)).collect();
    let body = json!({"by": "delegate", "groups": groups});
    Ok(answer(StatusCode::OK, &paged(body, next)))
}

impl Count {
    fn add(&mut self, run: &Glance) {
        self.total += 1;
        self.waived += u64::from(run.is_waived);
        match run.outcome {
            Some(outcome) => *self.outcomes.entry(outcome).or_default() += 1,
            None => self.open += 1,
        }
    }

    fn told(&self, delegate: &str) -> Value {
        let Self { total, open, waived, outcomes } = self;
        json!({
            "delegate": delegate,
            "total": total,
            "open": open,
            "waived": waived,
            "outcomes": outcomes,
        })
    }
}
