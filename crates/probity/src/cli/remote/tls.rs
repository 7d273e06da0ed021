//! TLS from the machine's certificates, with no process-wide state.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// For `https`, trusts what the machine trusts; for `http`, where TLS is never spoken, nobody.
pub(super) fn config(is_https: bool) -> Result<ClientConfig, String> {
    if is_https { trusting_machine() } else { trusting_nobody() }.map_err(|error| error.to_string())
}

fn trusting_machine() -> Result<ClientConfig, rustls::Error> {
    let verifier = Verifier::new_with_extra_roots(Vec::new(), provider())?;
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

fn trusting_nobody() -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
