//! Registrations as the store keeps them: a list for each tenant, which every host on the store reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use probity_conductor::{Heard, Roll, RollError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::wrap::{unwrap, wrap};
use super::{Wanted, Webhooks};
use crate::error::{Failure, Reason};
use crate::host::Host;

/// Registrations of one tenant.
const MAX_PER_TENANT: usize = 100;
/// How often somebody who was overtaken decides again.
const MAX_RACES: u32 = 32;
/// How long a host may not know of what another one registered.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What one tenant registered.
#[derive(Default)]
pub(super) struct Kept {
    /// None where nothing outlives the host.
    roll: Option<Roll>,
    /// Registrations by their names, as they are kept.
    entries: BTreeMap<String, Value>,
}

/// An entry of the list.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum Entry {
    #[serde(rename = "webhook.registered")]
    Registered {
        id: String,
        events: BTreeSet<String>,
        /// Where to and with what secret, wrapped.
        target: String,
    },
    #[serde(rename = "webhook.removed")]
    Removed { id: String },
}

#[derive(Serialize, Deserialize)]
struct Target {
    url: String,
    secret: String,
}

/// Registers somebody under a name that nobody has. Known to the store before it is to the caller.
pub(crate) async fn register(host: &Arc<Host>, id: &str, wanted: Wanted) -> Result<(), Failure> {
    let tenant = wanted.tenant.clone();
    let kept = host.webhooks.kept(host, &tenant)?;
    let mut kept = kept.lock().await;
    let entry = entry(host, id, &wanted)?;
    for _ in 0..MAX_RACES {
        kept.read_on(host, &tenant).await?;
        if kept.entries.len() >= MAX_PER_TENANT {
            let why = format!("{MAX_PER_TENANT} webhooks are registered: remove one first");
            return Err(Failure::new(Reason::LimitReached, why).detail("max", MAX_PER_TENANT));
        }
        if kept.put(host, entry.clone()).await? {
            kept.take(host, &tenant, entry);
            return Ok(());
        }
    }
    Err(contended())
}

/// Removes a registration of that tenant. False if there is none.
pub(crate) async fn remove(host: &Arc<Host>, tenant: &str, id: &str) -> Result<bool, Failure> {
    let kept = host.webhooks.kept(host, tenant)?;
    let mut kept = kept.lock().await;
    let entry = json!({"type": "webhook.removed", "id": id});
    for _ in 0..MAX_RACES {
        kept.read_on(host, tenant).await?;
        if !kept.entries.contains_key(id) {
            return Ok(false);
        }
        if kept.put(host, entry.clone()).await? {
            kept.take(host, tenant, entry);
            return Ok(true);
        }
    }
    Err(contended())
}

/// Learns what the store holds, now and from time to time, until the host ends. Where the store does not
/// say, it is asked again the next time.
pub(crate) async fn look_again(host: Arc<Host>) {
    while !host.stop.is_cancelled() {
        look(&host).await;
        let stop = host.stop.clone();
        let _ = tokio::time::timeout(LOOK_EVERY, stop.cancelled()).await;
    }
}

/// Learns what the store holds of all tenants.
pub(crate) async fn look(host: &Arc<Host>) {
    for tenant in host.config.keys.tenants() {
        let Ok(kept) = host.webhooks.kept(host, tenant) else { continue };
        let _ = kept.lock().await.read_on(host, tenant).await;
    }
}

impl Kept {
    pub(super) fn new(host: &Host, tenant: &str) -> Result<Self, Failure> {
        let roll = host.runs.store().map(|store| Roll::new(store, "webhooks", tenant));
        Ok(Self { roll: roll.transpose()?, entries: BTreeMap::new() })
    }

    async fn read_on(&mut self, host: &Arc<Host>, tenant: &str) -> Result<(), Failure> {
        let Some(roll) = &mut self.roll else { return Ok(()) };
        let Heard { is_anew, entries } = roll.read().await?;
        if is_anew {
            let before = std::mem::take(&mut self.entries);
            let named = |id: &&String| {
                entries.iter().any(|entry| entry.get("id").is_some_and(|it| it == id.as_str()))
            };
            before.keys().filter(|id| !named(id)).for_each(|id| host.webhooks.drop_one(id));
        }
        for entry in entries {
            self.take(host, tenant, entry);
        }
        Ok(())
    }

    /// False where somebody else was faster.
    async fn put(&mut self, host: &Host, entry: Value) -> Result<bool, Failure> {
        let Some(roll) = &mut self.roll else { return Ok(true) };
        let counting = || self.entries.values().cloned().collect();
        match roll.append(host.now_ms(), counting, entry).await {
            Ok(()) => Ok(true),
            Err(RollError::Overtaken) => Ok(false),
            Err(RollError::Conduct(error)) => Err(error.into()),
        }
    }

    fn take(&mut self, host: &Arc<Host>, tenant: &str, json: Value) {
        // What this build does not understand stays what it is, for those who do.
        let Ok(entry) = Entry::deserialize(&json) else { return };
        match entry {
            Entry::Removed { id } => {
                self.entries.remove(&id);
                host.webhooks.drop_one(&id);
            }
            Entry::Registered { id, events, target } => {
                self.entries.insert(id.clone(), json);
                // Of a host with another secret: it sends there, and this one cannot.
                let target = unwrap(&host.config.token_secret, &id, &target);
                let target = target.and_then(|text| serde_json::from_str::<Target>(&text).ok());
                let Some(Target { url, secret }) = target else { return };
                host.webhooks.send(
                    host,
                    &id,
                    Wanted { tenant: tenant.to_owned(), url, events, secret },
                );
            }
        }
    }
}

impl Webhooks {
    /// What a tenant registered.
    fn kept(&self, host: &Host, tenant: &str) -> Result<Arc<tokio::sync::Mutex<Kept>>, Failure> {
        let mut tenants = self.tenants();
        if let Some(kept) = tenants.get(tenant) {
            return Ok(Arc::clone(kept));
        }
        let kept = Arc::new(tokio::sync::Mutex::new(Kept::new(host, tenant)?));
        tenants.insert(tenant.to_owned(), Arc::clone(&kept));
        Ok(kept)
    }
}

fn entry(host: &Host, id: &str, wanted: &Wanted) -> Result<Value, Failure> {
    let unkept = || Failure::new(Reason::Internal, "the webhook cannot be kept");
    let target = Target { url: wanted.url.clone(), secret: wanted.secret.clone() };
    let text = serde_json::to_string(&target).map_err(|_| unkept())?;
    let target = wrap(&host.config.token_secret, host.ids.draw(), id, &text).ok_or_else(unkept)?;
    let (id, events) = (id.to_owned(), wanted.events.clone());
    serde_json::to_value(Entry::Registered { id, events, target }).map_err(|_| unkept())
}

fn contended() -> Failure {
    Failure::new(Reason::Unavailable, "others register faster: come again later")
}
