//! Whether the address of a remote may be asked.

use probity_core::Fault;
use probity_egress::{Denial, EgressPolicy};
use tokio::net::lookup_host;
use url::Url;

use super::plumbing::Stop;

/// What an address leads to.
#[derive(Debug, PartialEq, Eq)]
enum Address<'a> {
    /// A path on this machine.
    Local(&'a str),
    /// A host, a port.
    Host { host: &'a str, port: u16 },
    /// Anything else.
    Other,
}

/// Lets local paths through, and hosts that the egress policy allows.
pub(super) async fn permit(url: &str, policy: &EgressPolicy) -> Result<(), Stop> {
    let denied = |what: &str, why: String| {
        Stop::Fault(Fault::new("egress_denied", format!("the remote at `{what}` is denied: {why}")))
    };
    let (host, port) = match address(url) {
        Address::Local(_) => return Ok(()),
        Address::Host { host, port } => (host, port),
        Address::Other => {
            return Err(denied(
                "an unknown address",
                "use a path, http, https, ssh or git".to_owned(),
            ));
        }
    };
    let as_url = Url::parse(&format!("http://{host}:{port}/"))
        .map_err(|_| denied(host, "it is not a host name".to_owned()))?;
    let refuse = |why: Denial| denied(host, why.to_string());
    policy.permit_url(&as_url).map_err(refuse)?;
    let Some(name) = as_url.host() else { return Err(refuse(Denial::HostNotAllowed)) };
    let found = lookup_host((host.trim_matches(['[', ']']), port)).await.map_err(|error| {
        Stop::inconclusive(
            "git_remote_unreachable",
            format!("the host `{host}` of the remote does not resolve: {error}"),
        )
    })?;
    for address in found {
        policy.permit_address(&name, port, address.ip()).map_err(refuse)?;
    }
    Ok(())
}

/// The path, where the address is one.
pub(super) fn local_path(url: &str) -> Option<&str> {
    match address(url) {
        Address::Local(path) => Some(path),
        _ => None,
    }
}

fn address(url: &str) -> Address<'_> {
    if let Some((scheme, rest)) = url.split_once("://") {
        let default = match scheme {
            "file" => return Address::Local(rest),
            "http" => 80,
            "https" => 443,
            "ssh" => 22,
            "git" => 9418,
            _ => return Address::Other,
        };
        let authority = rest.split('/').next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        return with_port(host, default);
    }
    if url.contains("::") && !url.starts_with(['/', '.', '[']) {
        return Address::Other;
    }
    // `user@host:path`, unless a slash comes before the colon: then it is a path.
    match url.split_once(':') {
        Some((before, _)) if !before.contains('/') => {
            let host = before.rsplit_once('@').map_or(before, |(_, host)| host);
            with_port(host, 22)
        }
        _ => Address::Local(url),
    }
}

fn with_port(host: &str, default: u16) -> Address<'_> {
    let (host, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse().ok()),
        _ => (host, Some(default)),
    };
    match port {
        Some(port) if !host.is_empty() && !host.starts_with('-') => Address::Host { host, port },
        _ => Address::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_of_a_remote_is_told_apart() {
        let host = |host, port| Address::Host { host, port };
        for (url, expected) in [
            ("/srv/repo.git", Address::Local("/srv/repo.git")),
            ("../repo.git", Address::Local("../repo.git")),
            ("./a:b", Address::Local("./a:b")),
            ("file:///srv/repo.git", Address::Local("/srv/repo.git")),
            ("https://example.com/a/b.git", host("example.com", 443)),
            ("https://user:pw@example.com:8443/a", host("example.com", 8443)),
            ("http://[::1]:80/a", host("[::1]", 80)),
            ("ssh://git@example.com/a", host("example.com", 22)),
            ("git@example.com:a/b.git", host("example.com", 22)),
            ("git://example.com/a", host("example.com", 9418)),
            ("ext::sh -c touch% x", Address::Other),
            ("helper::https://example.com/", Address::Other),
            ("ftp://example.com/a", Address::Other),
            ("ssh://-oProxyCommand=x/a", Address::Other),
            ("https://example.com:port/a", Address::Other),
        ] {
            assert_eq!(address(url), expected, "{url}");
        }
    }
}
