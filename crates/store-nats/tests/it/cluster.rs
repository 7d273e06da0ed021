//! Real servers on loopback: started, killed, started again, and gone with the test.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use probity_store_nats::{NatsOptions, NatsStore};
use tempfile::TempDir;

/// Starts a server and waits on its own input. When the input ends, because the test ends it or
/// because the test is gone, the server is killed.
const KEEPER: &str = r#""$0" -c "$1" >>"$2" 2>&1 </dev/null & server=$!
read -r _; kill -9 "$server" 2>/dev/null; wait "$server" 2>/dev/null; exit 0"#;

/// How long servers may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// One server or a cluster of them, in a folder that goes with the value.
pub(crate) struct Cluster {
    folder: TempDir,
    nodes: Vec<Node>,
}

/// What is asked of the servers besides.
#[derive(Default, Clone)]
pub(crate) struct Setup {
    /// Lines of the configuration, outside every block.
    pub(crate) lines: String,
    /// Without JetStream.
    pub(crate) without_jetstream: bool,
    /// Acknowledges before the disk has it.
    pub(crate) without_sync: bool,
}

struct Node {
    config: PathBuf,
    log: PathBuf,
    client: u16,
    monitor: u16,
    /// Ends with its input.
    keeper: Mutex<Option<Child>>,
}

impl Cluster {
    /// Servers that write to disk before they acknowledge.
    pub(crate) async fn start(count: usize) -> Self {
        Self::with(count, &Setup::default()).await
    }

    /// Servers with more in their configuration.
    pub(crate) async fn with(count: usize, setup: &Setup) -> Self {
        // A port that was free may be taken a moment later.
        for _ in 0..5 {
            let cluster = Self::prepare(count, setup);
            cluster.restart_all();
            if cluster.listens().await {
                return cluster;
            }
        }
        panic!("no server came up");
    }

    fn prepare(count: usize, setup: &Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // All at once, so that no two are the same.
        let bound: Vec<TcpListener> =
            (0..count * 3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = bound.iter().map(|it| it.local_addr().unwrap().port()).collect();
        drop(bound);
        let routes: Vec<String> =
            (0..count).map(|n| format!("nats://127.0.0.1:{}", ports[n * 3 + 1])).collect();
        let node = |n: usize| {
            let (client, route, monitor) = (ports[n * 3], ports[n * 3 + 1], ports[n * 3 + 2]);
            let path = |name: String| folder.path().join(name);
            let sync = if setup.without_sync { "" } else { "sync_interval: always" };
            let mut text = format!(
                "server_name: n{n}\nlisten: 127.0.0.1:{client}\nhttp: 127.0.0.1:{monitor}\n{}\n",
                setup.lines
            );
            if !setup.without_jetstream {
                let store = path(format!("data-{n}"));
                let store = store.display();
                text += &format!("jetstream {{ store_dir: \"{store}\", max_file: 4G, {sync} }}\n");
            }
            if count > 1 {
                let routes = routes.join(", ");
                text += &format!(
                    "cluster {{ name: c, listen: 127.0.0.1:{route}, routes: [{routes}] }}\n"
                );
            }
            let config = path(format!("{n}.conf"));
            std::fs::write(&config, text).unwrap();
            Node {
                config,
                log: path(format!("{n}.log")),
                client,
                monitor,
                keeper: Mutex::default(),
            }
        };
        let nodes = (0..count).map(node).collect();
        Self { folder, nodes }
    }

    /// Options for this cluster: its servers, its monitors, as many replicas as it has servers.
    pub(crate) fn options(&self) -> NatsOptions {
        NatsOptions {
            servers: self.nodes.iter().map(|it| format!("127.0.0.1:{}", it.client)).collect(),
            monitors: self
                .nodes
                .iter()
                .map(|it| format!("http://127.0.0.1:{}", it.monitor))
                .collect(),
            replicas: u8::try_from(self.nodes.len()).unwrap(),
            ..NatsOptions::default()
        }
    }

    /// A store with leases of that length.
    pub(crate) async fn store(&self, lease_ttl: Duration) -> NatsStore {
        let lease_ttl_ms = u64::try_from(lease_ttl.as_millis()).unwrap();
        self.open(NatsOptions { lease_ttl_ms, ..self.options() }).await
    }

    /// A store with these options, which must open.
    pub(crate) async fn open(&self, options: NatsOptions) -> NatsStore {
        match NatsStore::connect(options).await {
            Ok(store) => store,
            Err(error) => panic!("{error}"),
        }
    }

    /// The address of a server.
    pub(crate) fn address(&self, node: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.nodes[node].client))
    }

    /// Ends a server as loss of power would, except that the disk keeps what it was given.
    pub(crate) fn kill(&self, node: usize) {
        let keeper = self.nodes[node].keeper.lock().unwrap().take();
        if let Some(mut keeper) = keeper {
            drop(keeper.stdin.take());
            keeper.wait().unwrap();
        }
    }

    /// Starts a server that was killed, with what it has on disk.
    pub(crate) fn restart(&self, node: usize) {
        let Node { config, log, keeper, .. } = &self.nodes[node];
        let child = Command::new("sh")
            .args(["-c", KEEPER])
            .args([server(), config, log])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        *keeper.lock().unwrap() = Some(child);
    }

    /// Takes the disk of a server that was killed.
    pub(crate) fn wipe(&self, node: usize) {
        std::fs::remove_dir_all(self.folder.path().join(format!("data-{node}"))).unwrap();
    }

    /// Starts all of them.
    pub(crate) fn restart_all(&self) {
        (0..self.nodes.len()).for_each(|node| self.restart(node));
    }

    /// How many servers there are.
    pub(crate) fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Waits until a server says that it is whole: it has caught up with the others.
    pub(crate) async fn healthy(&self, node: usize) -> bool {
        let started = Instant::now();
        while started.elapsed() < PATIENCE * 2 {
            if self.health(node).is_some_and(|answer| answer.starts_with("HTTP/1.0 200")) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }

    /// Messages that the first server has got from its clients.
    pub(crate) fn messages(&self) -> u64 {
        let answer = self.monitored(0, "/varz").unwrap();
        let (_, count) = answer.split_once("\"in_msgs\":").unwrap();
        let count: String = count.trim_start().chars().take_while(char::is_ascii_digit).collect();
        count.parse().unwrap()
    }

    fn health(&self, node: usize) -> Option<String> {
        self.monitored(node, "/healthz")
    }

    fn monitored(&self, node: usize, path: &str) -> Option<String> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.nodes[node].monitor));
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// What a server has said.
    pub(crate) fn log(&self, node: usize) -> String {
        std::fs::read_to_string(&self.nodes[node].log).unwrap_or_default()
    }

    async fn listens(&self) -> bool {
        let started = Instant::now();
        for node in 0..self.nodes.len() {
            while TcpStream::connect(self.address(node)).is_err() {
                if started.elapsed() > PATIENCE || self.log(node).contains("address already in use")
                {
                    return false;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        true
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|node| self.kill(node));
    }
}

/// The server: as the environment says, else as the path has it, else as `cargo xtask test` fetched
/// it.
fn server() -> &'static Path {
    static SERVER: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    SERVER.get_or_init(|| {
        if let Some(named) = std::env::var_os("PROBITY_NATS_SERVER") {
            return PathBuf::from(named);
        }
        let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/nats/nats-server");
        let candidates = [PathBuf::from("nats-server"), fetched];
        candidates.into_iter().find(|it| fits(it)).expect(
            "no nats-server 2.12.3 or newer: `cargo xtask test` fetches one, or name one with \
             PROBITY_NATS_SERVER",
        )
    })
}

fn fits(server: &Path) -> bool {
    let output = Command::new(server).arg("--version").output();
    let Ok(text) = output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()) else {
        return false;
    };
    let version = text.trim().rsplit('v').next().unwrap_or_default();
    let numbers: Vec<u32> = version.split('.').filter_map(|it| it.parse().ok()).collect();
    numbers >= vec![2, 12, 3]
}
