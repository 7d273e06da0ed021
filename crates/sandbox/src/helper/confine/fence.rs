//! Rules of Landlock: what is written to, who is signalled, which sockets are spoken to. Any of them
//! makes the thread the root of a domain, and nobody in a domain traces or reads what is outside of it.
//!
//! What the kernel can do is found out by asking it for exactly that, part by part.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use crate::confinement::Confinement;
use crate::part::{Lack, Level, Part};

/// The rules without which a write outside could not be told from one inside: from here on the kernel
/// knows of cutting files short.
const LEAST: ABI = ABI::V3;
/// The newest rules on files that are used, where the kernel has them.
const NEWEST: ABI = ABI::V5;

/// Files that nothing is kept in, and that programs open for writing.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

/// Fences the calling thread in.
pub(super) fn raise(confinement: &Confinement) -> Vec<(Part, Level)> {
    let has = Features::of(confinement);
    let raised = has.any() && restrict(confinement, has).is_ok_and(|whole| whole);
    let mut parts = vec![(Part::Tracing, raised), (Part::Signals, raised && has.signals)];
    if confinement.is_closed {
        parts.extend([(Part::Files, raised && has.files), (Part::Sockets, raised && has.sockets)]);
    }
    let level = |holds| if holds { Level::Enforced } else { Level::Unavailable(Lack::Kernel) };
    parts.into_iter().map(|(part, holds)| (part, level(holds))).collect()
}

/// What is asked for and the kernel can do.
#[derive(Clone, Copy)]
struct Features {
    files: bool,
    signals: bool,
    sockets: bool,
    tcp: bool,
}

impl Features {
    fn of(confinement: &Confinement) -> Self {
        let can = |ask: fn(Ruleset) -> Result<Ruleset, RulesetError>| {
            ask(strict()).and_then(Ruleset::create).is_ok()
        };
        Self {
            files: confinement.is_closed
                && can(|rules| rules.handle_access(AccessFs::from_all(LEAST))),
            signals: can(|rules| rules.scope(Scope::Signal)),
            sockets: confinement.is_closed && can(|rules| rules.scope(Scope::AbstractUnixSocket)),
            tcp: confinement.denies_network()
                && can(|rules| rules.handle_access(AccessNet::ConnectTcp)),
        }
    }

    const fn any(self) -> bool {
        self.files || self.signals || self.sockets || self.tcp
    }
}

fn strict() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

/// Whether everything that was handed over holds.
fn restrict(confinement: &Confinement, has: Features) -> Result<bool, RulesetError> {
    let mut rules = strict();
    if has.signals {
        rules = rules.scope(Scope::Signal)?;
    }
    if has.sockets {
        rules = rules.scope(Scope::AbstractUnixSocket)?;
    }
    if has.tcp {
        rules = rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    if has.files {
        rules = rules.handle_access(AccessFs::from_all(LEAST))?;
        rules = rules.set_compatibility(CompatLevel::BestEffort);
        rules = rules.handle_access(AccessFs::from_all(NEWEST))?;
    }
    let mut made = rules.create()?;
    if has.files {
        made = made.set_compatibility(CompatLevel::BestEffort);
        made = allow(made, Path::new("/"), AccessFs::from_read(NEWEST))?;
        for path in DEVICES.map(PathBuf::from).iter().chain(&confinement.writable) {
            made = allow(made, path, AccessFs::from_all(NEWEST))?;
        }
    }
    let status = made.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// One that is not there needs no rule.
fn allow(
    made: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(made) };
    // Of what is no folder, the rights of folders are left out with the best effort.
    made.add_rule(PathBeneath::new(opened, access))
}
