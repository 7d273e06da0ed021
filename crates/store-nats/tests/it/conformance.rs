//! The suites, each case on a server of its own.

use std::time::Duration;

use crate::cluster::Cluster;

mod log_and_blobs {
    use super::{Cluster, Duration};

    probity_store::conformance_suite!(async || {
        let cluster = Cluster::start(1).await;
        (cluster.store(Duration::from_secs(30)).await, cluster)
    });
}

mod queue {
    use super::{Cluster, Duration};

    probity_store::queue_conformance_suite!(async |lease_ttl: Duration| {
        // Here a lease is lost a tenth early, and at most a second.
        let lease_ttl = lease_ttl + (lease_ttl / 8).min(Duration::from_secs(1));
        let cluster = Cluster::start(1).await;
        (cluster.store(lease_ttl).await, cluster)
    });
}
