//! Which URL may be asked, judged once more by somebody else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use probity_egress::{EgressPolicy, HostRule, PrivateRule, refused_range};
use url::{Host, Url};

use super::Target;
use crate::seed;
use crate::tape::Tape;

pub(super) const TARGETS: [Target; 2] =
    [Target::new("address", address, addresses), Target::new("url", url, || seed::texts(&URLS))];

const URLS: [&str; 8] = [
    "example.com\nhttp://example.com/a",
    "*.example.com:8080\nhttps://a.b.example.com:8080/?q",
    "0x7f.1\nhttp://0x7f.1/",
    "example.com\nhttp://example.com@127.0.0.1/",
    "[::1]\nhttp://[::ffff:127.0.0.1]:80/",
    "localhost\nhttp://LOCALHOST./",
    "10.1.2.3\nhttp://167838211/",
    "10.0.0.0/8\nhttps://10.1.2.3/",
];

/// Any address: what no list of the registries calls public is refused, and so is every form in which
/// an address of version 6 holds one of version 4.
fn address(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let is_four = tape.one_in(2);
    let taken = tape.take(if is_four { 4 } else { 16 });
    let address = match <[u8; 4]>::try_from(taken) {
        Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
        Err(_) => match <[u8; 16]>::try_from(taken) {
            Ok(sixteen) => IpAddr::V6(Ipv6Addr::from(sixteen)),
            Err(_) => return,
        },
    };
    assert!(is_public(address) || refused_range(address).is_some(), "{address} is let through");
    if let IpAddr::V4(four) = address {
        for six in [four.to_ipv6_mapped(), four.to_ipv6_compatible()] {
            assert!(refused_range(IpAddr::V6(six)).is_some(), "{six} is let through");
        }
    }
    let policy = EgressPolicy::default();
    assert!(
        policy.permit_address(&Host::Domain("a.example"), 443, address).is_ok()
            == refused_range(address).is_none()
    );
}

fn addresses() -> Vec<Vec<u8>> {
    let four =
        [[10, 0, 0, 1], [127, 0, 0, 1], [169, 254, 169, 254], [8, 8, 8, 8], [192, 88, 99, 1]];
    let six = ["::1", "::ffff:7f00:1", "64:ff9b::1", "fd00::1", "2606:4700::1111", "2002:7f00:1::"];
    let six = six.iter().filter_map(|text| text.parse::<Ipv6Addr>().ok());
    let mut seeds: Vec<Vec<u8>> =
        four.iter().map(|four| [&[2], four.as_slice()].concat()).collect();
    seeds.extend(six.map(|six| [&[1], six.octets().as_slice()].concat()));
    seeds
}

/// Written anew, by the standard library and bits, and not by our list. It need not be as strict.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            let [a, b, ..] = four.octets();
            !(four.is_private()
                || four.is_loopback()
                || four.is_link_local()
                || four.is_multicast()
                || four.is_broadcast()
                || four.is_documentation()
                || four.is_unspecified()
                || a == 0
                || a >= 224
                || (a == 100 && b & 0xc0 == 64)
                || (a == 198 && b & 0xfe == 18))
        }
        IpAddr::V6(six) => {
            let embedded = six.to_ipv4().is_none_or(|four| is_public(IpAddr::V4(four)));
            let [first, second, ..] = six.segments();
            let is_six_to_four = first == 0x2002;
            embedded
                && !six.is_loopback()
                && !six.is_unspecified()
                && !six.is_multicast()
                && !six.is_unique_local()
                && !six.is_unicast_link_local()
                && !is_six_to_four
                && !(first == 0x2001 && (second == 0 || second == 0xdb8))
                && !(first == 0x64 && second == 0xff9b)
        }
    }
}

/// An operator's rule, and a URL: what is let through has the host that was named, at a port that was
/// meant, and is no private address unless that address was named.
fn url(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let (Ok(rule), Ok(text)) = (std::str::from_utf8(tape.line()), std::str::from_utf8(tape.rest()))
    else {
        return;
    };
    if let Ok(private) = rule.parse::<PrivateRule>() {
        let _ = private.matches(&Host::Domain("a.example"), 80, IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    let Ok(named) = rule.parse::<HostRule>() else { return };
    let written = named.to_string();
    assert_eq!(written.parse::<HostRule>().as_ref(), Ok(&named), "{rule:?} is written {written:?}");
    let Ok(url) = Url::parse(text) else { return };
    let policy = EgressPolicy { allow_hosts: vec![named], ..EgressPolicy::default() };
    if policy.permit_url(&url).is_err() {
        return;
    }
    let Some(host) = url.host() else { return assert!(url.has_host(), "a URL without a host") };
    let literal = match host {
        Host::Ipv4(four) => Some(IpAddr::V4(four)),
        Host::Ipv6(six) => Some(IpAddr::V6(six)),
        Host::Domain(_) => None,
    };
    let plain = written.strip_prefix("*.").unwrap_or(&written).to_lowercase();
    match literal {
        Some(address) => {
            assert!(plain.contains(&address.to_string()), "{rule:?} does not name {text:?}");
        }
        None => {
            let name = host.to_string().trim_end_matches('.').to_lowercase();
            let bare = plain.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
            let bare = bare.map_or(plain.as_str(), |(bare, _)| bare);
            let is_below = written.starts_with("*.") && name.ends_with(&format!(".{bare}"));
            assert!(is_below || name == bare, "{rule:?} does not name {text:?}");
            let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let permits =
                policy.permit_address(&host, url.port_or_known_default().unwrap_or(0), loopback);
            assert!(permits.is_err() || bare == "localhost", "{rule:?} lets {text:?} go home");
        }
    }
}
