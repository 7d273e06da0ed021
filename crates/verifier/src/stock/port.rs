//! `port:HOST:PORT`: whether something accepts TCP connections.
//!
//! | Situation | Result |
//! |---|---|
//! | every address refuses | revise `port_closed`; with `closed` a pass |
//! | an address accepts | a pass; with `closed` revise `port_open` |
//! | no address for the name, no route, no answer in time | inconclusive `port_unreachable`, `port_timeout` |
//! | the host is not loopback and the egress policy does not allow it and this port | fault `egress_denied` |
//!
//! Loopback is allowed because the operator names it. A name is looked up once and the connection
//! goes to the addresses that were judged. Nothing is sent.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Verdict};
use probity_egress::{Denial, EgressPolicy};
use tokio::net::{TcpStream, lookup_host};
use url::{Host, Url};

use super::tally::Tally;
use super::{cancelled, late};
use crate::spec::{PortSpec, SpecError, split_address};
use crate::{CheckContext, Verifier};

/// Addresses of a name that are tried.
const MAX_ADDRESSES: usize = 8;

/// The effect `port`.
#[derive(Debug)]
pub struct Port {
    spec: PortSpec,
    url: Url,
    host: String,
    port: u16,
    policy: EgressPolicy,
}

impl Port {
    /// The effect of a spec.
    ///
    /// # Errors
    /// [`SpecError::Target`] when the target is not `HOST:PORT`.
    pub fn new(spec: PortSpec, policy: EgressPolicy) -> Result<Self, SpecError> {
        let bad = || SpecError::Target {
            kind: "port",
            legal: "HOST:PORT with a port from 1 to 65535",
            target: spec.address.chars().take(80).collect(),
        };
        let (host, port) = split_address(&spec.address).ok_or_else(bad)?;
        // The rules of URLs decide what a host is, here as for `http`.
        let url = Url::parse(&format!("http://{}/", spec.address)).map_err(|_| bad())?;
        let host = host.to_owned();
        Ok(Self { url, host, port, policy, spec })
    }

    async fn look(&self, limit: Duration) -> Result<Verdict, Fault> {
        let addresses = match self.addresses().await {
            Ok(addresses) if addresses.is_empty() => {
                return Ok(unreachable(&self.spec.address, "the name has no address"));
            }
            Ok(addresses) => addresses,
            Err(error) => return Ok(unreachable(&self.spec.address, &error.to_string())),
        };
        if !addresses.iter().all(|address| address.ip().is_loopback()) {
            self.permitted(&addresses)?;
        }
        let mut last_error = None;
        for address in &addresses {
            match TcpStream::connect(address).await {
                Ok(_) => return Ok(self.judge(true)),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => last_error = Some(error),
            }
        }
        Ok(match last_error {
            None => self.judge(false),
            Some(error) if error.kind() == io::ErrorKind::TimedOut => {
                timed_out(&self.spec.address, limit)
            }
            Some(error) => unreachable(&self.spec.address, &error.to_string()),
        })
    }

    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let literal = match self.url.host() {
            Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            _ => None,
        };
        match literal {
            Some(ip) => Ok(vec![SocketAddr::new(ip, self.port)]),
            None => {
                let found = lookup_host((self.host.as_str(), self.port)).await?;
                Ok(found.take(MAX_ADDRESSES).collect())
            }
        }
    }

    fn permitted(&self, addresses: &[SocketAddr]) -> Result<(), Fault> {
        let denied = |why: Denial| {
            Fault::new(
                "egress_denied",
                format!("connection to `{}` denied: {why}", self.spec.address),
            )
        };
        self.policy.permit_url(&self.url).map_err(denied)?;
        let Some(host) = self.url.host() else { return Err(denied(Denial::HostNotAllowed)) };
        addresses.iter().try_for_each(|address| {
            self.policy.permit_address(&host, self.port, address.ip()).map_err(denied)
        })
    }

    fn judge(&self, open: bool) -> Verdict {
        let address = &self.spec.address;
        let mut tally = Tally::default();
        if self.spec.closed {
            tally.key("closed");
        }
        tally.saw(Evidence::new(format!("port:{address}"), if open { "open" } else { "closed" }));
        match (open, self.spec.closed) {
            (false, false) => tally.miss(
                "port_closed",
                format!("nothing accepts connections on `{address}`, expected an open port"),
            ),
            (true, true) => tally.miss(
                "port_open",
                format!("something accepts connections on `{address}`, expected a closed port"),
            ),
            _ => {}
        }
        tally.verdict()
    }
}

#[async_trait]
impl Verifier for Port {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        tokio::select! {
            biased;
            () = ctx.cancel.cancelled() => Ok(cancelled()),
            looked = tokio::time::timeout(ctx.timeout, self.look(ctx.timeout)) => match looked {
                Ok(verdict) => verdict,
                Err(_) => Ok(timed_out(&self.spec.address, ctx.timeout)),
            },
        }
    }

    fn red_timeout(&self, timeout: Duration) -> Duration {
        timeout.min(super::RED_TIMEOUT)
    }
}

fn timed_out(address: &str, limit: Duration) -> Verdict {
    Verdict::inconclusive("port_timeout", late(&format!("`{address}`"), limit))
}

fn unreachable(address: &str, why: &str) -> Verdict {
    Verdict::inconclusive("port_unreachable", format!("`{address}` could not be reached: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_http_decide_which_addresses_may_be_tried() {
        let policy = EgressPolicy::allowing(["db.example:5432", "10.0.0.7:22"], []).unwrap();
        for (target, address, allowed) in [
            ("db.example:5432", "93.184.216.34:5432", true),
            ("db.example:5433", "93.184.216.34:5433", false),
            ("db.example:5432", "10.0.0.7:5432", false),
            ("other.example:5432", "93.184.216.34:5432", false),
            ("10.0.0.7:22", "10.0.0.7:22", true),
        ] {
            let spec = PortSpec { address: target.to_owned(), closed: false };
            let port = Port::new(spec, policy.clone()).unwrap();
            let permitted = port.permitted(&[address.parse().unwrap()]);
            assert_eq!(permitted.is_ok(), allowed, "{target} at {address}");
        }
    }
}
