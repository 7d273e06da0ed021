//! Which addresses are not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A block of addresses that is refused unless the operator names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedRange {
    /// The block.
    pub net: IpNet,
    /// What it is, in words for an operator.
    pub name: &'static str,
}

/// Every refused block; where blocks overlap, the narrower one comes first. Blocks that embed an
/// IPv4 address in an IPv6 one are refused whole: what a translator makes of them is not ours to
/// know. Of IPv6 only 2000::/3 is handed out as global unicast, so the rest is refused too.
pub const REFUSED_RANGES: [RefusedRange; 33] = [
    v4(0, 0, 0, 0, 8, "this network"),
    v4(10, 0, 0, 0, 8, "private"),
    v4(100, 64, 0, 0, 10, "carrier-grade NAT"),
    v4(127, 0, 0, 0, 8, "loopback"),
    v4(169, 254, 0, 0, 16, "link-local and cloud metadata"),
    v4(172, 16, 0, 0, 12, "private"),
    v4(192, 0, 0, 0, 24, "protocol assignments"),
    v4(192, 0, 2, 0, 24, "documentation"),
    v4(192, 88, 99, 0, 24, "6to4 relay"),
    v4(192, 168, 0, 0, 16, "private"),
    v4(198, 18, 0, 0, 15, "benchmarking"),
    v4(198, 51, 100, 0, 24, "documentation"),
    v4(203, 0, 113, 0, 24, "documentation"),
    v4(224, 0, 0, 0, 4, "multicast"),
    v4(240, 0, 0, 0, 4, "reserved and broadcast"),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 96, "unspecified, loopback and IPv4-compatible"),
    v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, "IPv4-mapped"),
    v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, "IPv4-translated"),
    v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, "NAT64"),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, "local NAT64"),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, "discard"),
    v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64, "dummy"),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "protocol assignments and Teredo"),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation"),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4"),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation"),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, "segment routing"),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "unique local"),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 9, "link-local and site-local"),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "multicast"),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 3, "not global unicast"),
    v6([0x4000, 0, 0, 0, 0, 0, 0, 0], 2, "not global unicast"),
    v6([0x8000, 0, 0, 0, 0, 0, 0, 0], 1, "not global unicast"),
];

/// The refused block that holds `address`, or `None` when the address is public.
#[must_use]
pub fn refused_range(address: IpAddr) -> Option<&'static RefusedRange> {
    REFUSED_RANGES.iter().find(|range| range.net.contains(&address))
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8, name: &'static str) -> RefusedRange {
    let net = Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix);
    RefusedRange { net: IpNet::V4(net), name }
}

const fn v6(s: [u16; 8], prefix: u8, name: &'static str) -> RefusedRange {
    let [a, b, c, d, e, f, g, h] = s;
    let net = Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix);
    RefusedRange { net: IpNet::V6(net), name }
}
