//! How long a run stands still whose worker was killed with `kill -9`.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::hand::Hands;
use super::mode::{Asked, tasks};
use super::one::Order;
use super::place::Kind;
use super::rig::{Rig, run_of};
use crate::error::BenchError;

/// Longer than a call of the model takes here.
const NEVER: Duration = Duration::from_secs(3600);
/// Until the worker that is killed has asked its model.
const SETTLE: Duration = Duration::from_millis(500);

/// From the kill until another worker has the run, with the lease that the store has by default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recovery {
    pub(crate) store: Kind,
    pub(crate) lease_ttl_ms: u64,
    pub(crate) seconds: Vec<f64>,
}

/// Kills so many workers, one after the other, each in the midst of a call of its model.
pub(crate) async fn measure(order: &Order, kills: u32) -> Result<Recovery, BenchError> {
    let store = order.place.open().await?;
    let lease_ttl_ms = u64::try_from(store.lease_ttl().as_millis()).unwrap_or(u64::MAX);
    let tasks = tasks(order.mode, order.mode.turns(), &Asked::counted())?;
    let rig = Rig::new(store, tasks);
    let mut seconds = Vec::new();
    for number in 0..kills {
        let latency_ms = u64::try_from(NEVER.as_millis()).unwrap_or(u64::MAX);
        let mut stuck = Hands::start(&[Order { latency_ms, ..order.clone() }])?;
        stuck.go()?;
        rig.submit_one(&run_of(number)?).await?;
        stuck.leased()?;
        let mut free = Hands::start(std::slice::from_ref(order))?;
        free.go()?;
        tokio::time::sleep(SETTLE).await;
        let killed = Instant::now();
        stuck.kill()?;
        free.leased()?;
        seconds.push(killed.elapsed().as_secs_f64());
        free.ended(1)?;
        free.finish()?;
    }
    Ok(Recovery { store: order.place.kind, lease_ttl_ms, seconds })
}
