//! Names to addresses.

use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;

/// Turns a name into addresses. Its answers are vetted by the client; it need not be trusted.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// The addresses of `name`. Port 0 means the port of the URL; another port is used when the
    /// URL has no explicit one, which lets a test serve `https://example.com` from a free port.
    ///
    /// # Errors
    /// The name has no address, or the resolver did not answer.
    async fn resolve(&self, name: &str) -> io::Result<Vec<SocketAddr>>;
}

/// The machine's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.collect())
    }
}
