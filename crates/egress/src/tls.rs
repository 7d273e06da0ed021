//! TLS from the machine's certificates, with no process-wide state.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// TLS of a client with its own rules of where it goes: for `https` trusts what the machine trusts, for
/// `http`, where TLS is never spoken, nobody. The store of certificates is read at each call, which takes
/// milliseconds.
///
/// # Errors
/// Why the machine's certificates cannot be used.
pub fn client_tls(is_https: bool) -> Result<ClientConfig, String> {
    match is_https {
        true => trusting_machine(Vec::new()).map_err(|error| error.to_string()),
        false => Tls::trusting_nobody(),
    }
}

/// Builds the two configurations a client needs, each at most once.
#[derive(Debug, Default)]
pub(crate) struct Tls {
    extra_roots: Vec<CertificateDer<'static>>,
    trusted: OnceLock<Result<ClientConfig, String>>,
}

impl Tls {
    pub(crate) fn new(extra_roots: Vec<CertificateDer<'static>>) -> Self {
        Self { extra_roots, trusted: OnceLock::new() }
    }

    /// For `https`: trusts what the machine trusts, and the extra roots. Reading the store takes
    /// milliseconds and is done on the first use.
    pub(crate) fn trusted(&self) -> Result<ClientConfig, String> {
        let build = || trusting_machine(self.extra_roots.clone()).map_err(|e| e.to_string());
        self.trusted.get_or_init(build).clone()
    }

    /// For `http`, where TLS is never spoken: trusts nobody.
    pub(crate) fn trusting_nobody() -> Result<ClientConfig, String> {
        let builder = ClientConfig::builder_with_provider(provider());
        let builder = builder.with_safe_default_protocol_versions().map_err(|e| e.to_string())?;
        Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
    }
}

fn trusting_machine(
    extra_roots: Vec<CertificateDer<'static>>,
) -> Result<ClientConfig, rustls::Error> {
    let verifier = Verifier::new_with_extra_roots(extra_roots, provider())?;
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
