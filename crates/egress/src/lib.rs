//! The one way out to HTTP: denied by default, guarded at every step.
//!
//! A verifier asks the network whether a claim is true. The delegate under judgement may have
//! written the URL, own the server behind it, or answer its DNS. So nothing is trusted:
//!
//! 1. **The parsed URL.** `http` and `https` only, no user information, the host and port named by
//!    the operator. An address literal in any spelling (`127.1`, `0x7f.1`, `2130706433`) is the
//!    address it means, because the WHATWG parser reads it.
//! 2. **Every redirect.** Each hop passes the same gate as the first URL; a hop from `https` to
//!    `http` is refused.
//! 3. **Every resolved address.** If one answer of the resolver is not public, the name is refused.
//!    The connection goes to exactly the addresses that were vetted: the name is not resolved a
//!    second time.
//!
//! Proxies, cookies, credentials and other ambient state of the process are not used. The trusted
//! certificates are those of the machine.
//!
//! Not defended: an allowed public host that lies, and an allowed public host that relays to a
//! private one.

mod address;
mod client;
mod error;
mod policy;
mod provider;
mod resolver;
mod rule;
#[cfg(feature = "test-util")]
pub mod stub;
mod tls;

pub use address::{REFUSED_RANGES, RefusedRange, refused_range};
pub use client::{Client, Method, Request, Response};
pub use error::{Denial, EgressError, Unreachable};
pub use policy::{EgressPolicy, PolicyError};
pub use provider::{Answer, ProviderClient};
pub use resolver::{Resolve, SystemResolver};
pub use rule::{HostRule, PrivateRule, RuleError};
pub use tls::client_tls;
