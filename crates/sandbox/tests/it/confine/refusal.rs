//! What does not hold is refused, or told.

use probity_sandbox::{
    Confinement, Demand, Enforcement, Lack, Launcher, Part, SandboxError, Spawn, probe,
};

use super::Bed;
use crate::{helper, run};

fn lack_of(enforcement: &Enforcement, part: Part) -> Option<Lack> {
    enforcement.missing().find_map(|(known, lack)| (known == part).then_some(lack))
}

#[tokio::test]
async fn a_part_that_does_not_hold_is_refused_where_it_is_required() {
    let bed = Bed::new();
    std::os::unix::fs::symlink(".probity", bed.at("work/link")).unwrap();
    let confinement = bed.closed().protected(bed.at("work/link"));
    let spawn = bed.spawn("printf x > made");
    let refused = spawn.clone().confinement(confinement.clone()).run(&helper()).await.unwrap_err();
    let SandboxError::Unenforced { enforcement } = &refused else { unreachable!("{refused}") };
    assert!(lack_of(enforcement, Part::Protected).is_some(), "{enforcement}");
    assert!(refused.to_string().contains("protected"), "{refused}");
    assert!(!bed.at("work/made").exists(), "nothing is started");
    let child = spawn.clone().confinement(confinement.clone()).start(&helper()).await;
    assert_eq!(child.unwrap_err().code(), "sandbox_unavailable");

    let lenient = spawn.confinement(confinement.demand(Demand::BestEffort));
    let finished = lenient.run(&helper()).await.unwrap();
    assert!(finished.success() && bed.at("work/made").exists());
    assert!(!finished.enforcement.is_whole());
    assert!(lack_of(&finished.enforcement, Part::Protected).is_some());
}

#[tokio::test]
async fn without_the_helper_no_part_holds() {
    for confinement in [Confinement::guard(), Confinement::closed()] {
        let asked = confinement.parts();
        let required = Spawn::new("true").confinement(confinement.clone().demand(Demand::Required));
        let refused = required.run(&Launcher::InProcess).await.unwrap_err();
        assert_eq!(refused.code(), "sandbox_unavailable");
        let lenient = Spawn::new("true").confinement(confinement.demand(Demand::BestEffort));
        let told = lenient.run(&Launcher::InProcess).await.unwrap().enforcement;
        let expected: Vec<_> = asked.iter().map(|part| (*part, Lack::Helper)).collect();
        let mut missing: Vec<_> = told.missing().collect();
        missing.sort_by_key(|(part, _)| asked.iter().position(|known| known == part));
        assert_eq!(missing, expected);
    }
}

#[tokio::test]
async fn a_launcher_confines_what_does_not_say_itself_how() {
    let launcher = helper().confined(Confinement::guard(), probity_sandbox::Limits::default());
    let plain = Spawn::new("true").run(&launcher).await.unwrap();
    assert_eq!(plain.enforcement.parts().count(), Confinement::guard().parts().len());
    let own = Confinement::closed().demand(Demand::BestEffort);
    let other = Spawn::new("true").confinement(own.clone()).run(&launcher).await.unwrap();
    assert_eq!(other.enforcement.parts().count(), own.parts().len());
    assert!(run(&Spawn::new("true")).await.enforcement.is_empty());
}

#[tokio::test]
async fn a_path_that_is_not_meant_is_refused() {
    for path in ["relative", "/nul\0"] {
        let spawn = Spawn::new("true").confinement(Confinement::closed().writable(path));
        assert_eq!(spawn.run(&helper()).await.unwrap_err().code(), "sandbox_path", "{path:?}");
    }
}

#[tokio::test]
async fn a_probe_tells_of_every_part() {
    let bed = Bed::new();
    std::fs::write(bed.at("kept"), "").unwrap();
    std::fs::write(bed.at("hidden"), "").unwrap();
    let held = probe(&helper(), bed.folder.path()).await.unwrap();
    let told: Vec<Part> = held.parts().map(|(part, _)| part).collect();
    assert_eq!(told, Part::ALL);
    eprintln!("this machine holds {held}");
}
