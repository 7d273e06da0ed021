//! `submit`, `watch`, `cancel`, `steer` at a host: what a store would have said, over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use crate::delegations::{serve, store};
use crate::fleet::{pipe, signal};
use crate::http::{Host, KEY};
use crate::world::{CREATED, HONEST, LIAR, REPENTANT, Ran, World};

/// Stands before a host, keeps what it was asked, and breaks the first streams of events.
struct Proxy {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Breaks so many streams, each behind so many bytes; and changes a word on the way, where one is
    /// named.
    fn before(
        host: &Host,
        breaks: usize,
        bytes: usize,
        word: Option<(&'static str, &'static str)>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (told, host) = (Arc::clone(&asked), host.address.clone());
        std::thread::spawn(move || {
            let mut broken = 0;
            for client in listener.incoming() {
                let head = head(client.as_ref().unwrap());
                let lower = head.to_lowercase();
                let is_stream = lower.contains("/events");
                let is_broken = is_stream && broken < breaks;
                broken += usize::from(is_broken);
                told.lock().unwrap().push(lower);
                pass(client.unwrap(), &host, &head, is_broken.then_some(bytes), word);
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn head(client: &TcpStream) -> String {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    head
}

fn pass(
    mut client: TcpStream,
    host: &str,
    head: &str,
    bytes: Option<usize>,
    word: Option<(&'static str, &'static str)>,
) {
    let mut server = TcpStream::connect(host).unwrap();
    let once = head.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    server.write_all(once.as_bytes()).unwrap();
    let (mut left, mut piece) = (bytes.unwrap_or(usize::MAX), vec![0; 1 << 16]);
    while left > 0 {
        let Ok(read @ 1..) = server.read(&mut piece) else { return };
        let mut part = piece[..read.min(left)].to_vec();
        if let Some((from, to)) = word {
            part = String::from_utf8_lossy(&part).replace(from, to).into_bytes();
        }
        left -= read.min(left);
        if client.write_all(&part).is_err() {
            return;
        }
    }
}

fn at(world: &World, url: &str, args: &[&str]) -> std::process::Command {
    let mut command = world.command(args);
    command.env("PROBITY_API_KEY", KEY).args(["--host", url]);
    command
}

/// Submits the example.
fn submit(world: &World, url: &str, more: &[&str], delegate: &[&str]) -> Ran {
    let head = ["submit", "write hello to out.txt", "--workspace", ".", "--expect", CREATED];
    let args = [&head[..], more, &["--host", url, "--"], delegate].concat();
    world.command(args).env("PROBITY_API_KEY", KEY).output().unwrap().into()
}

fn url(host: &Host) -> String {
    format!("http://{}", host.address)
}

#[test]
fn a_host_is_submitted_to_and_watched_as_a_store_is() {
    let world = World::new();
    let host = serve(&world, &[]);
    let waited = submit(&world, &url(&host), &["--wait"], &REPENTANT);
    assert_eq!(waited.code, 0, "{waited:?}");
    assert!(waited.stdout.contains("VERIFIED after 2 attempts"), "{waited:?}");
    assert!(waited.stderr.contains("file_out.txt revise [file_missing]"), "{waited:?}");
    std::fs::remove_file(world.at("out.txt")).unwrap();
    let submitted = submit(&world, &url(&host), &["--idempotency-key", "k", "--json"], &LIAR);
    assert_eq!((submitted.code, &submitted.json()["new"]), (0, &true.into()), "{submitted:?}");
    let run = submitted.json()["run_id"].as_str().unwrap().to_owned();
    let again = submit(&world, &url(&host), &["--idempotency-key", "k", "--json"], &LIAR).json();
    assert_eq!((&again["run_id"], &again["new"]), (&run.as_str().into(), &false.into()));
    for more in [&[][..], &["--json"]] {
        let remote: Ran =
            at(&world, &url(&host), &[&["watch", &run], more].concat()).output().unwrap().into();
        let here = world.probity(["watch", &run, "--store", &store(&world)].iter().chain(more));
        assert_eq!((remote.code, here.code), (1, 1), "{remote:?} {here:?}");
        if more.is_empty() {
            assert_eq!(remote.stdout, here.stdout);
            continue;
        }
        let (remote, mut here) = (remote.json(), here.json());
        // How it would be continued, only who prepares it knows.
        here.as_object_mut().unwrap().remove("conversation");
        assert_eq!(remote, here);
    }
    host.end();
}

#[test]
fn a_watch_goes_on_behind_the_last_record_when_its_connection_breaks() {
    let world = World::new();
    let host = serve(&world, &[]);
    let run = submit(&world, &url(&host), &[], &HONEST).stdout.trim().to_owned();
    let proxy = Proxy::before(&host, 3, 2_500, None);
    let watched: Ran = at(&world, &proxy.url, &["watch", &run]).output().unwrap().into();
    assert_eq!(watched.code, 0, "{watched:?}");
    assert_eq!(watched.stderr.matches("claim received").count(), 1, "{watched:?}");
    let streams: Vec<String> =
        proxy.asked().into_iter().filter(|head| head.contains("/events")).collect();
    assert!(streams.len() >= 4, "{streams:?}");
    assert!(!streams[0].contains("last-event-id"), "{streams:?}");
    assert!(streams[3].contains("last-event-id: "), "{streams:?}");
    assert!(streams.iter().all(|head| head.contains(&format!("authorization: bearer {KEY}"))));
    host.end();
}

#[test]
fn a_host_that_tells_another_log_is_not_believed() {
    let world = World::new();
    let host = serve(&world, &[]);
    let run = submit(&world, &url(&host), &["--wait"], &LIAR);
    assert_eq!(run.code, 1, "{run:?}");
    let listed = world.probity(["log", "list", "--json", "--store", &store(&world)]).json();
    let run = listed[0]["run_id"].as_str().unwrap().to_owned();
    let proxy = Proxy::before(&host, 0, 0, Some(("exhausted", "verified!")));
    let watched: Ran = at(&world, &proxy.url, &["watch", &run, "--json"]).output().unwrap().into();
    assert_eq!(
        (watched.code, watched.error_code().as_str()),
        (74, "remote_log_differs"),
        "{watched:?}"
    );
    host.end();
}

#[test]
fn a_run_at_a_host_is_steered_cancelled_and_left_alone() {
    let world = World::new();
    pipe(&world, "never");
    let host = serve(&world, &[]);
    let run = submit(&world, &url(&host), &[], &["sh", "-c", "read word < ../never"]);
    let run = run.stdout.trim().to_owned();
    host.until_at(&format!("/api/v1/delegations/{run}/events"), "delegate.dispatched");
    let over: Ran =
        at(&world, &url(&host), &["watch", &run, "--timeout", "100ms"]).output().unwrap().into();
    assert_eq!(over.code, 75, "{over:?}");
    assert!(
        over.stderr.contains(&format!("probity watch --host {} {run}", url(&host))),
        "{over:?}"
    );
    let watching = at(&world, &url(&host), &["watch", &run]).stderr(Stdio::piped()).spawn();
    let mut watching: Child = watching.unwrap();
    let mut told = BufReader::new(watching.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("the delegate works")));
    signal(&watching, "-INT");
    assert_eq!(watching.wait().unwrap().code(), Some(130));
    let steered: Ran =
        at(&world, &url(&host), &["steer", &run, "be quick"]).output().unwrap().into();
    assert_eq!(steered.code, 0, "{steered:?}");
    let args = ["cancel", &run, "--reason", "no more", "--wait"];
    let cancelled: Ran = at(&world, &url(&host), &args).output().unwrap().into();
    assert_eq!(cancelled.code, 6, "{cancelled:?}");
    assert!(cancelled.stdout.contains("CANCELLED: by default: no more"), "{cancelled:?}");
    let again: Ran = at(&world, &url(&host), &["cancel", &run]).output().unwrap().into();
    let said = format!("run {run} asked to stop before, or has ended\n");
    assert_eq!((again.code, again.stdout.as_str()), (0, said.as_str()), "{again:?}");
    host.end();
}

#[test]
fn a_run_that_waits_for_somebody_ends_the_watch() {
    let world = World::new();
    let host = serve(&world, &[]);
    let args = ["submit", "t", "--workspace", ".", "--expect", "human:ada", "--wait", "--host"];
    let address = url(&host);
    let args = [&args[..], &[address.as_str(), "--"], &HONEST].concat();
    let ran: Ran = world.command(args).env("PROBITY_API_KEY", KEY).output().unwrap().into();
    assert_eq!(ran.code, 7, "{ran:?}");
    host.end();
}

#[test]
fn what_a_host_cannot_be_asked_is_said_at_once() {
    let world = World::new();
    let host = serve(&world, &[]);
    let here = url(&host);
    for (args, url, exit, code) in [
        (&["watch", "no-such-run"][..], here.as_str(), 64, "remote_refused"),
        (&["watch", "no such run"], &here, 64, "name"),
        (&["watch", "--all"], &here, 64, "usage"),
        (&["watch", "it"], "http://10.1.2.3", 64, "remote_address"),
        (&["watch", "it"], "ftp://127.0.0.1", 64, "remote_address"),
        (&["watch", "it"], "http://user:secret@127.0.0.1", 64, "remote_address"),
        (&["submit", "t", "--id", "mine"], &here, 64, "usage"),
        (&["submit", "t", "--no-project"], &here, 64, "usage"),
        (&["submit", "t", "--workspace", "/etc"], &here, 64, "remote_refused"),
        (&["cancel", "no-such-run"], &here, 64, "remote_refused"),
        (&["steer", "no-such-run", "text"], "http://127.0.0.1:1", 74, "remote_unreachable"),
    ] {
        let ran: Ran = at(&world, url, &[args, &["--json"]].concat()).output().unwrap().into();
        assert_eq!((ran.code, ran.error_code().as_str()), (exit, code), "{args:?} {ran:?}");
        assert!(!ran.stdout.contains("secret"), "{ran:?}");
    }
    let mut keyless = world.command(["watch", "it", "--json", "--host", &here]);
    let ran: Ran = keyless.env_remove("PROBITY_API_KEY").output().unwrap().into();
    assert_eq!((ran.code, ran.error_code().as_str()), (64, "usage"), "{ran:?}");
    host.end();
}
