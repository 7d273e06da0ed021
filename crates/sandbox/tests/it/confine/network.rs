//! The network, and sockets without a path.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use probity_sandbox::{Confinement, Network};

use super::{Bed, can_hold, python};
use crate::helper;

fn denied(bed: &Bed) -> Confinement {
    bed.closed().network(Network::Denied)
}

#[tokio::test]
async fn where_the_network_is_denied_loopback_is_too() {
    let bed = Bed::new();
    if !can_hold(&denied(&bed), &helper(), "network").await {
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let tcp = format!("exec 3<> /dev/tcp/127.0.0.1/{}", server.local_addr().unwrap().port());
    assert!(!bed.held(&tcp, denied(&bed)).await.success());
    assert!(server.accept().is_err());
    assert!(bed.confined(&tcp).await.success(), "only what is denied is");
    assert!(server.accept().is_ok());
    assert!(bed.free(&tcp).await.success(), "it proves nothing");
    assert!(server.accept().is_ok());

    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let udp = format!("printf x > /dev/udp/127.0.0.1/{}", socket.local_addr().unwrap().port());
    assert!(!bed.held(&udp, denied(&bed)).await.success());
    assert!(socket.recv(&mut [0; 8]).is_err());
    assert!(bed.free(&udp).await.success(), "it proves nothing");
    assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 1);
}

/// Families besides those of the Internet: netlink, packets, the kernel's ciphers, virtual machines.
#[tokio::test]
async fn only_sockets_of_the_file_system_are_left() {
    let bed = Bed::new();
    if !can_hold(&denied(&bed), &helper(), "families of sockets").await {
        return;
    }
    for (family, kind) in [(2, 1), (2, 2), (10, 1), (16, 3), (38, 5), (40, 1)] {
        let script = format!("import socket; socket.socket({family}, {kind})");
        if !python(&script).run(&helper()).await.unwrap().success() {
            eprintln!("NOT SHOWN HERE: this machine has no sockets of family {family}");
        }
        let confined = python(&script).confinement(denied(&bed)).run(&helper()).await.unwrap();
        assert!(!confined.success(), "{family}");
        assert!(confined.stderr.text().contains("not permitted"), "{confined:?}");
    }
    let pair = "import socket; socket.socketpair(); socket.socket(1, 1)";
    assert!(python(pair).confinement(denied(&bed)).run(&helper()).await.unwrap().success());
}

#[tokio::test]
async fn no_abstract_socket_outside_is_connected_to() {
    let bed = Bed::new();
    if !can_hold(&bed.closed(), &helper(), "abstract sockets").await {
        return;
    }
    let name = format!("probity-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let server = UnixListener::bind_addr(&address).unwrap();
    server.set_nonblocking(true).unwrap();
    let connect = format!("import socket; socket.socket(1, 1).connect(b'\\0{name}')");
    let confined = python(&connect).confinement(bed.closed()).run(&helper()).await.unwrap();
    assert!(!confined.success(), "{confined:?}");
    assert!(server.accept().is_err());
    assert!(python(&connect).run(&helper()).await.unwrap().success(), "it proves nothing");
    assert!(server.accept().is_ok());
}
