//! One target, chosen by `PROBITY_FUZZ_TARGET`, under libFuzzer. `cargo xtask fuzz` starts it.
#![no_main]
#![expect(unsafe_code, reason = "the macro exports the symbol that libFuzzer calls")]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use probity_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("PROBITY_FUZZ_TARGET").unwrap_or_default();
    let Some(target) = Target::named(&name) else {
        eprintln!("PROBITY_FUZZ_TARGET is one of {}", Target::names());
        std::process::exit(64);
    };
    target
});

fuzz_target!(|bytes: &[u8]| TARGET.run(bytes));
