//! One target, chosen by `PROBITY_FUZZ_TARGET`, under libFuzzer; `cargo xtask fuzz` starts it. Its seeds
//! are written to the folder that `PROBITY_FUZZ_SEEDS` names, before libFuzzer looks there.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use probity_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("PROBITY_FUZZ_TARGET").unwrap_or_default();
    let Some(target) = Target::named(&name) else {
        let names: Vec<_> = Target::all().map(|target| target.name()).collect();
        eprintln!("PROBITY_FUZZ_TARGET is one of {}", names.join(", "));
        std::process::exit(64);
    };
    target
});

fn write_seeds() {
    let Some(folder) = std::env::var_os("PROBITY_FUZZ_SEEDS") else { return };
    for (at, bytes) in TARGET.seeds().iter().enumerate() {
        if let Err(error) = std::fs::write(Path::new(&folder).join(format!("seed-{at}")), bytes) {
            eprintln!("{}: {error}", Path::new(&folder).display());
            std::process::exit(74);
        }
    }
}

fuzz_target!(init: write_seeds(), |bytes: &[u8]| TARGET.run(bytes));
