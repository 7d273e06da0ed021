//! How long one audit takes: `cargo run --release --example measure [FILE [ENVELOPE PACK]]`.
//!
//! The numbers are wall time of one thread; compare them on a quiet machine.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an example that prints")]

use std::path::PathBuf;
use std::time::Instant;

use probity_audit::EpisodeAuditor;
use probity_policy::{Envelope, Format, Pack};

const ROUNDS: u32 = 20_000;

fn main() {
    let mut args = std::env::args().skip(1).map(PathBuf::from);
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut text = |name: &str| {
        let path = args.next().unwrap_or_else(|| data.join(name));
        std::fs::read_to_string(path).unwrap()
    };
    let episode: serde_json::Value = serde_json::from_str(&text("01_success.json")).unwrap();
    let episode = episode.to_string();
    let auditor = EpisodeAuditor::new()
        .with_envelope(Envelope::parse(&text("envelope.json"), Format::Json).unwrap())
        .with_pack(Pack::parse(&text("pack.json"), Format::Json).unwrap());
    let report = auditor.episode(episode.as_bytes(), "measure");
    println!("{} bytes, {:?}, {} findings", episode.len(), report.verdict, report.findings.len());
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            std::hint::black_box(auditor.episode(std::hint::black_box(episode.as_bytes()), "m"));
        }
        println!("{:?} each", start.elapsed() / ROUNDS);
    }
}
