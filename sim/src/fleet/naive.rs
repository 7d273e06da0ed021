//! A worker as it must not be: it drives runs without a lease in their logs.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Entry, WorkerId};
use probity_engine::{Engine, Watch};
use probity_store::{Ask, Pool, Queue as _, Store};
use tokio_util::sync::CancellationToken;

use super::actor::Desk;

struct Nobody;

impl Watch for Nobody {
    fn entry(&self, _: &Entry) {}
}

pub(crate) async fn work(desk: Desk, worker: WorkerId, drain: CancellationToken) {
    let store = desk.store();
    let engine = Engine::new(Arc::clone(&store) as Arc<dyn Store>, desk.clock());
    let wait = Duration::from_secs(1);
    let ask = Ask { worker, pools: vec![Pool::default()], max: 1, wait };
    while !drain.is_cancelled() {
        for lease in store.lease(&ask).await.unwrap_or_default() {
            let Ok(found) = engine.find(&lease.run).await else { continue };
            let Ok(request) = found.request().await else { continue };
            let Ok(plan) = probity_worker::Planner::plan(&desk, &lease.run, request).await else {
                continue;
            };
            let _ = engine.resume(plan, &Nobody, drain.clone()).await;
            let _ = store.settle(&lease).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
