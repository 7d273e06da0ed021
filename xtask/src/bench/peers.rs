//! Who is measured beside us: found by the programs that they install, and by what a Python can import.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a program of the bench may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// A Python with retry loops: instructor, and what else of them it has.
    Loops,
    /// A Python with nfactorial.
    Fleet,
    /// The Redis server of nfactorial.
    Redis,
    /// The NATS server of the store.
    Nats,
    /// The command of deepsigma.
    Coherence,
    /// The command of bijux-canon-reason.
    Reason,
    /// The command of claimcheck-receipts.
    Claimcheck,
    /// The command of ralph-cli.
    Ralph,
}

/// Where each of them is.
#[derive(Debug)]
pub(super) struct Peers {
    found: Vec<(Peer, Option<PathBuf>)>,
}

const ALL: [(Peer, &str); 8] = [
    (Peer::Loops, "no Python with instructor, pydantic-ai-slim or openai-agents"),
    (Peer::Fleet, "no Python with nfactorial"),
    (Peer::Redis, "no redis-server"),
    (Peer::Nats, "no NATS server in target/nats; PROBITY_NATS_SERVER names one"),
    (Peer::Coherence, "no coherence, of deepsigma"),
    (Peer::Reason, "no bijux-canon-reason"),
    (Peer::Claimcheck, "no claimcheck, of claimcheck-receipts"),
    (Peer::Ralph, "no ralph, of ralph-cli"),
];

impl Peers {
    /// Looks in the named folders, then on the path.
    pub(super) fn find(root: &Path, named: &[PathBuf]) -> Self {
        let mut folders: Vec<PathBuf> =
            named.iter().flat_map(|folder| [folder.join("bin"), folder.clone()]).collect();
        let path = std::env::var_os("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&path));
        let program = |name: &str| {
            let paths = folders.iter().map(|folder| folder.join(name));
            paths.into_iter().find(|path| path.is_file())
        };
        let python = |modules: &[&str]| {
            let imports: Vec<String> = modules
                .iter()
                .map(|it| format!("__import__('importlib.util').util.find_spec('{it}')"))
                .collect();
            let code = format!("raise SystemExit(0 if {} else 1)", imports.join(" or "));
            let pythons = folders.iter().map(|folder| folder.join("python3"));
            pythons.into_iter().find(|python| python.is_file() && is_good(python, &code))
        };
        let nats = std::env::var_os("PROBITY_NATS_SERVER").map(PathBuf::from);
        let nats = nats.or_else(|| Some(root.join("target/nats/nats-server")));
        let find = |peer| match peer {
            Peer::Loops => python(&["instructor", "pydantic_ai", "agents"]),
            Peer::Fleet => python(&["factorial"]),
            Peer::Redis => program("redis-server"),
            Peer::Nats => nats.clone().filter(|it| it.is_file()).or_else(|| program("nats-server")),
            Peer::Coherence => program("coherence"),
            Peer::Reason => program("bijux-canon-reason"),
            Peer::Claimcheck => program("claimcheck"),
            Peer::Ralph => program("ralph"),
        };
        Self { found: ALL.iter().map(|(peer, _)| (*peer, find(*peer))).collect() }
    }

    /// Where this one is.
    pub(super) fn path(&self, peer: Peer) -> Option<&Path> {
        let found = self.found.iter().find(|(it, _)| *it == peer)?;
        found.1.as_deref()
    }

    /// A line for each that is not here.
    pub(super) fn missing(&self) -> impl Iterator<Item = String> {
        let missing = ALL.iter().filter(|(peer, _)| self.path(*peer).is_none());
        missing.map(|(_, why)| (*why).to_owned())
    }
}

fn is_good(python: &Path, code: &str) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", code]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
