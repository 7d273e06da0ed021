//! What rules say and what they match.

use probity_egress::{Denial, EgressPolicy, HostRule, PrivateRule};
use url::Url;

use crate::policy;

#[test]
fn a_rule_matches_what_it_names_and_nothing_else() {
    for (rule, url, allowed) in [
        ("example.com", "http://example.com/", true),
        ("example.com", "https://EXAMPLE.com/a?b", true),
        ("example.com", "http://example.com./", true),
        ("example.com.", "http://example.com/", true),
        ("Example.COM", "http://example.com/", true),
        ("example.com", "http://example.com:443/", true),
        ("example.com", "http://example.com:8080/", false),
        ("example.com", "http://www.example.com/", false),
        ("example.com", "http://example.com.evil.test/", false),
        ("example.com", "http://notexample.com/", false),
        ("example.com:8080", "http://example.com:8080/", true),
        ("example.com:8080", "http://example.com/", false),
        ("*.example.com", "http://a.example.com/", true),
        ("*.example.com", "http://a.b.example.com/", true),
        ("*.example.com", "http://a.example.com./", true),
        ("*.example.com", "http://example.com/", false),
        ("*.example.com", "http://notexample.com/", false),
        ("*.example.com", "http://.example.com/", false),
        ("*.example.com:81", "http://a.example.com:81/", true),
        ("*.example.com:81", "http://a.example.com/", false),
        ("bücher.example", "http://xn--bcher-kva.example/", true),
        ("8.8.8.8", "http://8.8.8.8/", true),
        ("8.8.8.8", "http://134744072/", true),
        ("8.8.8.8", "http://0x8.8.8.8/", true),
        ("8.8.8.8", "http://8.8.8.9/", false),
        ("8.8.8.8", "http://[::ffff:8.8.8.8]/", false),
        ("[2606:4700::1]", "http://[2606:4700::1]/", true),
        ("[2606:4700::1]:81", "http://[2606:4700:0::1]:81/", true),
        ("[2606:4700::1]", "http://[2606:4700::2]/", false),
        ("*.8.8.8", "http://8.8.8.8/", false),
    ] {
        let Ok(rule) = rule.parse::<HostRule>() else {
            assert!(!allowed, "{rule} does not parse");
            continue;
        };
        let policy = EgressPolicy { allow_hosts: vec![rule.clone()], ..EgressPolicy::default() };
        let permitted = policy.permit_url(&Url::parse(url).unwrap());
        assert_eq!(permitted.is_ok(), allowed, "{rule} on {url}: {permitted:?}");
    }
}

#[test]
fn a_rule_that_says_too_much_or_nothing_is_refused() {
    for rule in [
        "",
        "*",
        "*.",
        "*.com",
        "*.localhost",
        "*.*.example.com",
        "a.*.com",
        "exa*mple.com",
        "*:80",
        "example.com:",
        "example.com:0",
        "example.com:65536",
        "example.com:+80",
        "example.com:http",
        "http://example.com",
        "example.com/path",
        "user@example.com",
        "exa mple.com",
        ":80",
        ".",
        "example.com..",
        "2130706433",
        "0x7f.1",
        "127.1",
        "0177.0.0.1",
        "::1",
        "[::1",
        "[fe80::1%eth0]",
    ] {
        let parsed = rule.parse::<HostRule>();
        assert!(parsed.is_err(), "`{rule}` was read as {parsed:?}");
    }
}

#[test]
fn rules_print_as_they_are_read() {
    for rule in ["example.com", "*.example.com:81", "127.0.0.1:8080", "[::1]", "[::1]:81"] {
        assert_eq!(rule.parse::<HostRule>().unwrap().to_string(), rule);
    }
    for rule in ["10.0.0.0/8", "fc00::/7", "db.internal:5000", "127.0.0.1:8080"] {
        assert_eq!(rule.parse::<PrivateRule>().unwrap().to_string(), rule);
    }
    for rule in ["10.0.0.0/33", "10.0.0.0/", "nonsense/8", "*"] {
        assert!(rule.parse::<PrivateRule>().is_err(), "{rule}");
    }
}

#[test]
fn a_private_rule_reaches_as_far_as_it_says() {
    for (private, url, address, allowed) in [
        ("10.0.0.0/8", "http://db.test/", "10.2.3.4", true),
        ("10.0.0.0/8", "http://db.test/", "192.168.0.1", false),
        ("10.0.0.0/8", "http://db.test/", "::ffff:10.2.3.4", false),
        ("10.2.3.4", "http://db.test/", "10.2.3.4", true),
        ("10.2.3.4", "http://db.test/", "10.2.3.5", false),
        ("db.test", "http://db.test/", "10.2.3.4", true),
        ("db.test", "http://db.test:81/", "10.2.3.4", false),
        ("db.test:81", "http://db.test:81/", "10.2.3.4", true),
        ("other.test", "http://db.test/", "10.2.3.4", false),
        ("*.test", "http://db.test/", "10.2.3.4", false),
        ("::1", "http://db.test/", "::1", true),
    ] {
        let Ok(rule) = private.parse::<PrivateRule>() else {
            assert!(!allowed, "{private} does not parse");
            continue;
        };
        let policy = EgressPolicy { allow_private: vec![rule], ..EgressPolicy::default() };
        let url = Url::parse(url).unwrap();
        let port = url.port_or_known_default().unwrap();
        let permitted = policy.permit_address(&url.host().unwrap(), port, address.parse().unwrap());
        assert_eq!(permitted.is_ok(), allowed, "{private} for {url} at {address}");
    }
}

#[test]
fn naming_a_private_host_does_not_allow_the_host() {
    let url = Url::parse("http://10.1.1.1/").unwrap();
    assert_eq!(policy(&[], &["10.0.0.0/8"]).permit_url(&url), Err(Denial::HostNotAllowed));
}

#[test]
fn localhost_names_loopback_and_no_more() {
    let policy = policy(&["localhost:81"], &[]);
    let url = Url::parse("http://localhost:81/").unwrap();
    let permit =
        |ip: &str| policy.permit_address(&url.host().unwrap(), 81, ip.parse().unwrap()).is_ok();
    assert!(permit("127.0.0.1") && permit("::1"));
    assert!(!permit("10.0.0.1") && !permit("169.254.169.254") && !permit("::ffff:127.0.0.1"));
    let other = Url::parse("http://localhost:82/").unwrap();
    assert_eq!(policy.permit_url(&other), Err(Denial::PortNotAllowed { port: 82 }));
}

#[test]
fn limits_outside_their_bounds_are_refused() {
    use std::time::Duration;
    let base = EgressPolicy::default();
    assert_eq!(base.validate(), Ok(()));
    let widest = EgressPolicy {
        max_body_bytes: EgressPolicy::MAX_BODY_BYTES,
        max_redirects: EgressPolicy::MAX_REDIRECTS,
        total_timeout: EgressPolicy::MAX_TIMEOUT,
        ..base.clone()
    };
    assert_eq!(widest.validate(), Ok(()));
    for (policy, limit) in [
        (
            EgressPolicy { max_body_bytes: EgressPolicy::MAX_BODY_BYTES + 1, ..base.clone() },
            "max_body_bytes",
        ),
        (
            EgressPolicy { max_redirects: EgressPolicy::MAX_REDIRECTS + 1, ..base.clone() },
            "max_redirects",
        ),
        (EgressPolicy { total_timeout: Duration::ZERO, ..base.clone() }, "total_timeout"),
        (EgressPolicy { total_timeout: Duration::from_secs(601), ..base.clone() }, "total_timeout"),
        (EgressPolicy { connect_timeout: Duration::ZERO, ..base.clone() }, "connect_timeout"),
    ] {
        let error = policy.validate().unwrap_err().to_string();
        assert!(error.contains(limit), "{error}");
    }
}
