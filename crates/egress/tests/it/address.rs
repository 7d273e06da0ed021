//! The table of refused addresses, whole.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use probity_egress::{REFUSED_RANGES, refused_range};

/// First and last address of every refused block, and the name it must be refused under.
#[rustfmt::skip]
const REFUSED: [(&str, &str, &str); 33] = [
    ("0.0.0.0", "0.255.255.255", "this network"),
    ("10.0.0.0", "10.255.255.255", "private"),
    ("100.64.0.0", "100.127.255.255", "carrier-grade NAT"),
    ("127.0.0.0", "127.255.255.255", "loopback"),
    ("169.254.0.0", "169.254.255.255", "link-local and cloud metadata"),
    ("172.16.0.0", "172.31.255.255", "private"),
    ("192.0.0.0", "192.0.0.255", "protocol assignments"),
    ("192.0.2.0", "192.0.2.255", "documentation"),
    ("192.88.99.0", "192.88.99.255", "6to4 relay"),
    ("192.168.0.0", "192.168.255.255", "private"),
    ("198.18.0.0", "198.19.255.255", "benchmarking"),
    ("198.51.100.0", "198.51.100.255", "documentation"),
    ("203.0.113.0", "203.0.113.255", "documentation"),
    ("224.0.0.0", "239.255.255.255", "multicast"),
    ("240.0.0.0", "255.255.255.255", "reserved and broadcast"),
    ("::", "::ffff:ffff", "unspecified, loopback and IPv4-compatible"),
    ("::ffff:0.0.0.0", "::ffff:255.255.255.255", "IPv4-mapped"),
    ("::ffff:0:0.0.0.0", "::ffff:0:255.255.255.255", "IPv4-translated"),
    ("64:ff9b::", "64:ff9b::ffff:ffff", "NAT64"),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "local NAT64"),
    ("100::", "100::ffff:ffff:ffff:ffff", "discard"),
    ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", "dummy"),
    ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "protocol assignments and Teredo"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "6to4"),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "segment routing"),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "unique local"),
    ("fe80::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local and site-local"),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
    ("::1:0:0:0:0:0", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "not global unicast"),
    ("4000::", "7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "not global unicast"),
    ("8000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "not global unicast"),
];

/// The public neighbours of refused blocks, and some public addresses far from any.
const PUBLIC: [&str; 36] = [
    "1.0.0.0",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.1.255",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::",
    "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:200::",
    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db9::",
    "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2003::",
    "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff:1000::",
    "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
];

fn name_of(address: &str) -> Option<&'static str> {
    refused_range(address.parse().unwrap()).map(|range| range.name)
}

#[test]
fn both_ends_of_every_block_are_refused_under_its_name() {
    assert_eq!(REFUSED.len(), REFUSED_RANGES.len(), "a block without a row here");
    for (first, last, name) in REFUSED {
        assert_eq!(name_of(first), Some(name), "{first}");
        assert_eq!(name_of(last), Some(name), "{last}");
    }
}

#[test]
fn public_neighbours_are_not_refused() {
    for address in PUBLIC {
        assert_eq!(name_of(address), None, "{address}");
    }
}

#[test]
fn every_neighbour_of_a_block_is_in_one_of_the_two_lists() {
    for (first, last, _) in REFUSED {
        for neighbour in [before(first.parse().unwrap()), after(last.parse().unwrap())] {
            let Some(neighbour) = neighbour else { continue };
            let public = PUBLIC.iter().any(|p| p.parse::<IpAddr>().unwrap() == neighbour);
            let refused = refused_range(neighbour).is_some();
            assert!(public != refused, "{neighbour}: public {public}, refused {refused}");
        }
    }
}

#[test]
fn well_known_targets_are_refused() {
    for address in [
        "127.0.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "255.255.255.255",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        "fd00:ec2::254",
        "fe80::1",
    ] {
        assert!(name_of(address).is_some(), "{address}");
    }
}

fn before(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(ip) => u32::from(ip).checked_sub(1).map(|n| Ipv4Addr::from(n).into()),
        IpAddr::V6(ip) => u128::from(ip).checked_sub(1).map(|n| Ipv6Addr::from(n).into()),
    }
}

fn after(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(ip) => u32::from(ip).checked_add(1).map(|n| Ipv4Addr::from(n).into()),
        IpAddr::V6(ip) => u128::from(ip).checked_add(1).map(|n| Ipv6Addr::from(n).into()),
    }
}
