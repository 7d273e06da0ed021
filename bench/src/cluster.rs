//! A NATS cluster of three servers on loopback, for as long as a measurement lasts.

use std::fmt::Write as _;
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cost;
use crate::error::BenchError;

/// How many servers there are.
const SERVERS: usize = 3;
/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(20);
/// How often is looked whether it does.
const LOOK: Duration = Duration::from_millis(20);

/// The servers. Dropped, they are killed.
pub(crate) struct Cluster {
    program: PathBuf,
    folder: PathBuf,
    nodes: Vec<Node>,
}

struct Node {
    /// For clients, for the other servers, for monitoring.
    ports: [u16; 3],
    child: Child,
}

impl Cluster {
    /// Starts three servers that acknowledge what the disk has, and waits until all listen.
    pub(crate) fn start(program: &Path, folder: &Path) -> Result<Self, BenchError> {
        let mut held = Vec::new();
        let mut ports = Vec::new();
        for _ in 0..SERVERS {
            let mut of_node = [0; 3];
            for port in &mut of_node {
                let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
                *port = listener.local_addr().map_err(failed)?.port();
                held.push(listener);
            }
            ports.push(of_node);
        }
        // From here on somebody else could take them, which the server would say.
        drop(held);
        let routes: Vec<String> =
            ports.iter().map(|[_, route, _]| format!("nats://127.0.0.1:{route}")).collect();
        let mut cluster = Self {
            program: program.to_path_buf(),
            folder: folder.to_path_buf(),
            nodes: Vec::new(),
        };
        for (number, ports) in ports.into_iter().enumerate() {
            let config = config(number, ports, &routes, folder);
            std::fs::write(cluster.config_of(number), config).map_err(failed)?;
            let child = cluster.spawn(number)?;
            cluster.nodes.push(Node { ports, child });
        }
        for number in 0..SERVERS {
            cluster.listens(number)?;
        }
        Ok(cluster)
    }

    /// The URL by which a store finds the cluster, with the lease that is asked for.
    pub(crate) fn url(&self, lease_ttl_ms: u32) -> String {
        let mut servers = String::new();
        let mut monitors = String::new();
        for (number, Node { ports: [client, _, monitor], .. }) in self.nodes.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            // Writing to a text cannot fail.
            let _ = write!(servers, "{comma}127.0.0.1:{client}");
            let _ = write!(monitors, "{comma}http://127.0.0.1:{monitor}");
        }
        format!("nats://{servers}/BENCH?lease-ttl-ms={lease_ttl_ms}&monitor={monitors}")
    }

    /// Kills one of the servers and starts it again on its files.
    pub(crate) fn kill(&mut self, number: usize) -> Result<(), BenchError> {
        if let Some(node) = self.nodes.get_mut(number) {
            node.child.kill().map_err(failed)?;
            node.child.wait().map_err(failed)?;
        }
        Ok(())
    }

    /// Starts a server that was killed.
    pub(crate) fn restart(&mut self, number: usize) -> Result<(), BenchError> {
        let child = self.spawn(number)?;
        if let Some(node) = self.nodes.get_mut(number) {
            node.child = child;
        }
        Ok(())
    }

    /// The servers as they run now.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.child.id()).collect()
    }

    /// Bytes of the files of one server.
    pub(crate) fn bytes_of_one(&self) -> u64 {
        cost::bytes_below(&self.folder.join("data-0"))
    }

    /// What the program calls itself.
    pub(crate) fn version(program: &Path) -> Result<String, BenchError> {
        let output = Command::new(program).arg("--version").output().map_err(failed)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn config_of(&self, number: usize) -> PathBuf {
        self.folder.join(format!("n{number}.conf"))
    }

    fn spawn(&self, number: usize) -> Result<Child, BenchError> {
        let log = self.folder.join(format!("n{number}.log"));
        let log = File::options().create(true).append(true).open(log).map_err(failed)?;
        let again = log.try_clone().map_err(failed)?;
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.config_of(number)).stdin(Stdio::null());
        command.stdout(log).stderr(again).spawn().map_err(failed)
    }

    fn listens(&mut self, number: usize) -> Result<(), BenchError> {
        let started = Instant::now();
        let Some(node) = self.nodes.get_mut(number) else { return Ok(()) };
        let [client, _, _] = node.ports;
        while TcpStream::connect(("127.0.0.1", client)).is_err() {
            let ended = node.child.try_wait().map_err(failed)?;
            if ended.is_some() || started.elapsed() > START {
                let log = self.folder.join(format!("n{number}.log"));
                let said = std::fs::read_to_string(log).unwrap_or_default();
                let last = said.lines().last().unwrap_or("it said nothing").to_owned();
                return Err(BenchError::Measure { what: "a NATS server", detail: last });
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // One that has ended is none to kill.
            let _ = node.child.kill();
            let _ = node.child.wait();
        }
    }
}

fn config(number: usize, ports: [u16; 3], routes: &[String], folder: &Path) -> String {
    let [client, route, monitor] = ports;
    let data = folder.join(format!("data-{number}"));
    format!(
        "server_name: n{number}\nlisten: 127.0.0.1:{client}\nhttp: 127.0.0.1:{monitor}\n\
         jetstream {{ store_dir: {data:?}, max_mem: 256M, max_file: 8G, sync_interval: always }}\n\
         cluster {{ name: bench, listen: 127.0.0.1:{route}, routes: [ {} ] }}\n",
        routes.join(", ")
    )
}

fn failed(source: std::io::Error) -> BenchError {
    BenchError::Io { what: "run a NATS server", source }
}
