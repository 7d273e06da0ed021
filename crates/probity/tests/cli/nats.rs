//! A fleet on a NATS server: submitted, worked off, watched, looked at.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::http::{Host, KEY};
use crate::world::{CREATED, REPENTANT, Ran, World};

/// Ends the server when its own input ends: also where the test is gone.
const KEEPER: &str = r#""$0" -c "$1" </dev/null >/dev/null 2>"$2" & server=$!
read -r _; kill -9 "$server" 2>/dev/null; wait "$server" 2>/dev/null; exit 0"#;
/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that goes with the value.
struct Server {
    keeper: Child,
    url: String,
}

impl Server {
    fn start(world: &World) -> Self {
        // A port that was free may be taken a moment later.
        (0..5).find_map(|number| Self::attempt(world, number)).unwrap()
    }

    fn attempt(world: &World, number: u32) -> Option<Self> {
        let bound: Vec<TcpListener> =
            (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = bound.iter().map(|it| it.local_addr().unwrap().port()).collect();
        drop(bound);
        let config = world.beside(&format!("nats-{number}.conf"));
        let data = world.beside(&format!("nats-{number}"));
        let text = format!(
            "listen: 127.0.0.1:{}\nhttp: 127.0.0.1:{}\njetstream {{\n  store_dir: \"{}\"\n  \
             sync_interval: always\n}}\n",
            ports[0],
            ports[1],
            data.display()
        );
        std::fs::write(&config, text).unwrap();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER])
            .args([binary(), config, world.beside("nats.log")])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if ports.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok()) {
                let (port, monitor) = (ports[0], ports[1]);
                let url = format!(
                    "nats://127.0.0.1:{port}/?replicas=1&lease-ttl-ms=2000&\
                     monitor=http://127.0.0.1:{monitor}"
                );
                return Some(Self { keeper, url });
            }
            std::thread::yield_now();
        }
        drop(keeper.stdin.take());
        keeper.wait().unwrap();
        None
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// The server: as the environment says, else as the path has it, else as `cargo xtask test` fetched it.
fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("PROBITY_NATS_SERVER") {
        return PathBuf::from(named);
    }
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/nats/nats-server");
    match fetched.is_file() {
        true => fetched,
        false => PathBuf::from("nats-server"),
    }
}

#[test]
fn a_run_is_left_on_servers_and_everything_reads_it_there() {
    let world = World::new();
    let server = Server::start(&world);
    let probity = |args: &[&str]| {
        Ran::from(world.command(args).env("PROBITY_STORE", &server.url).output().unwrap())
    };
    let head = ["submit", "write hello to out.txt", "--id", "it", "--expect", CREATED, "--"];
    let submitted = probity(&[&head[..], &REPENTANT].concat());
    assert_eq!((submitted.code, submitted.stdout.as_str()), (0, "it\n"), "{submitted:?}");
    let worked = probity(&["worker", "--once", "--idle", "1s", "--name", "ada"]);
    assert_eq!(worked.code, 0, "{worked:?}");
    assert!(worked.stderr.contains("leases of 2000 ms"), "{worked:?}");
    let watched = probity(&["watch", "it", "--json"]);
    assert_eq!(watched.code, 0, "{watched:?}");
    assert_eq!(watched.json()["attempts"], 2);
    let list = probity(&["log", "list"]);
    assert_eq!(world.redact(&list.stdout), "it  TIME  verified         write hello to out.txt\n");
    assert!(probity(&["log", "tail", "it"]).stdout.contains("ada  epoch 1"));
    assert_eq!(probity(&["recheck", "it"]).code, 0);
    assert_eq!(probity(&["audit", "it"]).code, 0);
    let bundle = world.beside("it.probity").display().to_string();
    assert_eq!(probity(&["export", "it", "--bundle", &bundle]).code, 0);
    let index = world.beside("index.db").display().to_string();
    let filled = probity(&["log", "index", &index, "--json"]);
    assert_eq!((filled.code, &filled.json()["new"]), (0, &1.into()), "{filled:?}");
    let doctor = probity(&["doctor"]);
    assert_eq!(doctor.code, 0, "{doctor:?}");
    let mut log = String::new();
    let read = std::fs::File::open(world.beside("nats.log"));
    read.unwrap().read_to_string(&mut log).unwrap();
    assert!(!log.contains("[ERR]"), "{log}");
}

#[test]
fn a_host_takes_delegations_on_servers_and_another_one_tells_of_them() {
    let world = World::new();
    let server = Server::start(&world);
    let root = world.at("").display().to_string();
    // The URL of the store is where a password would stand: in the environment.
    let start = |args: &[&str]| {
        let envs = [("PROBITY_STORE", server.url.as_str())];
        Host::start_in(&world, &[&["--workspace-root", &root], args].concat(), &envs)
    };
    let (one, two) = (start(&[]), start(&["--workers", "0"]));
    let script = "cat > /dev/null; env > ../seen.txt; cat /proc/$PPID/environ >> ../seen.txt; \
                  echo hello > out.txt";
    let args =
        ["submit", "t", "--expect", CREATED, "--workspace", ".", "--wait", "--json", "--host"];
    let url = format!("http://{}", two.address);
    let args = [&args[..], &[url.as_str(), "--", "sh", "-c", script]].concat();
    let ran: Ran = world.command(args).env("PROBITY_API_KEY", KEY).output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}");
    let run = ran.json()["run_id"].as_str().unwrap().to_owned();
    let merge = one.get(&format!("/api/v1/delegations/{run}/may-merge")).json();
    assert_eq!((&merge["mayMerge"], &merge["stale"]), (&true.into(), &false.into()), "{merge}");
    let bundle = two.get(&format!("/api/v1/delegations/{run}/bundle"));
    std::fs::write(world.beside("it.probity"), &bundle.body).unwrap();
    assert_eq!(world.probity(["audit", "../it.probity"]).code, 0);
    let seen = std::fs::read(world.beside("seen.txt")).unwrap();
    assert!(!String::from_utf8_lossy(&seen).contains("nats://"), "the store is not a delegate's");
    one.end();
    two.end();
}
