//! `port:HOST:PORT`.

use std::net::TcpListener;

use super::bed::Bed;

#[test]
fn an_open_port_and_a_closed_one() {
    let mut bed = Bed::new();
    bed.start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap().port();
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    bed.table(&[
        (&format!("port:127.0.0.1:{open}"), "pass"),
        (&format!("port:localhost:{open}"), "pass"),
        (&format!("port:127.0.0.1:{open},closed"), "revise port_open"),
        (&format!("port:127.0.0.1:{closed}"), "revise port_closed"),
        (&format!("port:127.0.0.1:{closed},closed"), "pass"),
        ("port:no-such-host.invalid:80", "inconclusive port_unreachable"),
    ]);
    assert_eq!(bed.red(&format!("port:127.0.0.1:{closed}")), "revise port_closed");
}

#[test]
fn every_host_but_loopback_must_be_allowed() {
    let mut bed = Bed::new();
    bed.start();
    for address in ["192.0.2.1:80", "10.0.0.1:22", "169.254.169.254:80", "[fe80::1]:80"] {
        assert_eq!(bed.says(&format!("port:{address}")), "fault egress_denied", "{address}");
    }
    bed.allow = vec!["192.0.2.1".to_owned()];
    assert_eq!(bed.says("port:192.0.2.1:81"), "fault egress_denied");
}
