//! Files: outside, protected, hidden, and the temporary folder.

use std::fs;

use probity_sandbox::Confinement;

use super::{Bed, can_hold};
use crate::helper;

/// Ways to make the judge another, each of which works where nobody keeps it.
const TRICKS: [&str; 17] = [
    "printf x > checks/deep/judge.sh",
    "printf x >> checks/deep/judge.sh",
    ": > checks/deep/judge.sh",
    "truncate -s 1 checks/deep/judge.sh",
    "rm -f checks/deep/judge.sh",
    "mv checks/deep/judge.sh away",
    "printf x > new; mv -f new checks/deep/judge.sh",
    "ln checks/deep/judge.sh twin; printf x > twin",
    "ln -sf /etc/hostname checks/deep/judge.sh",
    "ln -s checks/deep/judge.sh link; printf x > link",
    "mv checks/deep away; mkdir checks/deep; printf x > checks/deep/judge.sh",
    "mv checks away; mkdir -p checks/deep; printf x > checks/deep/judge.sh",
    "cd checks/deep; printf x > judge.sh",
    "printf x > /proc/self/cwd/checks/deep/judge.sh",
    "printf x > /proc/self/root$PWD/checks/deep/judge.sh",
    "printf x > /proc/$PPID/root$PWD/checks/deep/judge.sh",
    "exec 3< checks/deep/judge.sh; printf x > /proc/self/fd/3",
];

#[tokio::test]
async fn no_trick_makes_the_judge_another() {
    let about = "protected paths";
    if !can_hold(&Bed::new().closed(), &helper(), about).await {
        return;
    }
    for trick in TRICKS {
        let bed = Bed::new();
        bed.free(trick).await;
        assert_ne!(bed.judge().as_deref(), Some("as it was"), "it proves nothing: {trick}");
        let bed = Bed::new();
        let finished = bed.confined(&format!("{trick}; true")).await;
        assert_eq!(bed.judge().as_deref(), Some("as it was"), "{trick}: {finished:?}");
    }
}

#[tokio::test]
async fn a_protected_folder_takes_nothing_new_and_loses_nothing() {
    if !can_hold(&Bed::new().closed(), &helper(), "protected folders").await {
        return;
    }
    for (trick, made) in [
        ("printf x > .probity/probity.toml", None),
        ("rm -rf .probity", None),
        ("mv .probity away; mkdir .probity; printf x > .probity/probity.toml", None),
        ("mkdir new; printf x > new/probity.toml; rm -rf .probity; mv -T new .probity", None),
        ("mkdir .probity/hooks", Some(".probity/hooks")),
        ("printf x > .probity/new.md", Some(".probity/new.md")),
    ] {
        let is_done = |bed: &Bed| match made {
            Some(made) => bed.at("work").join(made).exists(),
            None => bed.config().as_deref() != Some("as it was"),
        };
        let bed = Bed::new();
        bed.free(trick).await;
        assert!(is_done(&bed), "it proves nothing: {trick}");
        let bed = Bed::new();
        bed.confined(&format!("{trick}; true")).await;
        assert!(!is_done(&bed), "{trick}");
    }
}

#[tokio::test]
async fn nothing_is_written_outside_and_honest_work_inside_is_done() {
    let deeds = [
        "printf x > ../outside/file",
        "printf x > ../outside/new",
        "rm ../outside/file",
        "mv ../outside/file .",
        "truncate -s 1 ../outside/file",
        "ln ../outside/file twin && printf x > twin",
        "ln -s ../outside/file link; printf x > link",
        "mkdir ../outside/folder",
        "mv ../work ../elsewhere",
        "mkfifo ../outside/pipe",
    ];
    let about = "writes outside";
    if !can_hold(&Bed::new().closed(), &helper(), about).await {
        return;
    }
    for deed in deeds {
        let bed = Bed::new();
        assert!(bed.free(deed).await.success(), "it proves nothing: {deed}");
        let bed = Bed::new();
        let finished = bed.confined(deed).await;
        assert!(!finished.success(), "{deed}: {finished:?}");
        assert_eq!(fs::read_to_string(bed.at("outside/file")).unwrap(), "as it was", "{deed}");
        assert_eq!(fs::read_dir(bed.at("outside")).unwrap().count(), 1, "{deed}");
    }
    let bed = Bed::new();
    let honest = "printf y > made.txt && mkdir -p src/a && mv made.txt src/a/ && rm -rf src/b && \
                  printf z > checks/deep/other.sh && cp checks/deep/judge.sh copy && cat copy";
    let finished = bed.confined(honest).await;
    assert!(finished.success(), "{finished:?}");
    assert_eq!(fs::read_to_string(bed.at("work/src/a/made.txt")).unwrap(), "y");
    assert_eq!(fs::read_to_string(bed.at("work/checks/deep/other.sh")).unwrap(), "z");
}

#[tokio::test]
async fn what_is_hidden_is_empty_and_stays_so() {
    let bed = Bed::new();
    let hidden = bed.closed().hidden(bed.at("secret")).hidden(bed.at("outside/file"));
    if !can_hold(&hidden, &helper(), "hidden paths").await {
        return;
    }
    for (deed, said) in [
        ("cat ../secret/key", "hush"),
        ("cat ../outside/file", "as it was"),
        ("ls ../secret", "key"),
    ] {
        assert_eq!(bed.free(deed).await.stdout.text().trim(), said);
        let finished = bed.held(deed, hidden.clone()).await;
        assert_eq!(finished.stdout.text(), "", "{deed}");
    }
    assert!(!bed.held("umount ../secret", hidden).await.success());
    assert_eq!(fs::read_to_string(bed.at("secret/key")).unwrap(), "hush");
}

#[tokio::test]
async fn the_temporary_folder_is_its_own_and_goes_with_it() {
    let bed = Bed::new();
    if !can_hold(&bed.closed(), &helper(), "a folder of its own").await {
        return;
    }
    let finished = bed.confined("printf x > $TMPDIR/a && mktemp >&2 && printf %s $TMPDIR").await;
    assert!(finished.success(), "{finished:?}");
    let folder = finished.stdout.text().into_owned();
    assert!(folder.contains("probity-"), "{folder}");
    assert!(!std::path::Path::new(&folder).exists());
    let other = bed.confined("printf %s $TMPDIR").await.stdout.text().into_owned();
    assert_ne!(folder, other);
}

/// Any folder of the system can be put under the mount of a workspace: what lies above it is kept in place, too.
#[tokio::test]
async fn a_workspace_that_is_not_the_writable_root_itself_is_kept_in_place() {
    let bed = Bed::new();
    let wide = Confinement::closed()
        .writable(bed.folder.path())
        .protected(bed.at("work/checks/deep/judge.sh"));
    if !can_hold(&wide, &helper(), "folders above").await {
        return;
    }
    let trick = "mv ../work ../away; mkdir -p ../work/checks/deep; \
                 printf x > ../work/checks/deep/judge.sh; true";
    bed.free(trick).await;
    assert_ne!(bed.judge().as_deref(), Some("as it was"));
    let bed = Bed::new();
    let wide = Confinement::closed()
        .writable(bed.folder.path())
        .protected(bed.at("work/checks/deep/judge.sh"));
    bed.held(trick, wide).await;
    assert_eq!(bed.judge().as_deref(), Some("as it was"));
}
