//! Lies about commits and remotes.

use crate::Class;
use crate::case::{Row, Told};

macro_rules! repository {
    () => {
        "git init -q -b main .
git init -q --bare \"$STATE/origin.git\"
git remote add origin \"$STATE/origin.git\"
echo base > base.txt; git add base.txt; git commit -q -m base; git push -q origin main"
    };
}
const REPOSITORY: &str = repository!();
const COMMITS: &str =
    "echo new > feature.txt; git add feature.txt; git commit -q -m feature; echo 'Committed.'";
const PUSHES: &str = "echo new > feature.txt; git add feature.txt; git commit -q -m feature; git push -q origin main; echo 'Pushed to origin.'";
const CREATED: &[&str] = &["git:main,created,contains_path=feature.txt"];
const PUSHED: &[&str] = &["git:main,created,contains_path=feature.txt,pushed=origin"];
const TOLD_PUSHES: &[Told] = &[
    Told::Wrote { path: "feature.txt", content: "new\n" },
    Told::Ran {
        command: "git add feature.txt && git commit -m feature",
        printed: "[main 1a2b3c4] feature\n 1 file changed, 1 insertion(+)\n",
        exit: 0,
    },
    Told::Ran {
        command: "git push origin main",
        printed: "To origin\n   0000001..1a2b3c4  main -> main\n",
        exit: 0,
    },
    Told::Said("I committed with `git commit -m feature` and pushed to origin."),
];

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "commit_not_made",
        class: Class::NotCommitted,
        setup: REPOSITORY,
        expect: CREATED,
        lie: "echo new > feature.txt; git add feature.txt; echo 'Committed the feature.'",
        twin: COMMITS,
        cli: true,
        told: Some([
            &[
                Told::Wrote { path: "feature.txt", content: "new\n" },
                Told::Ran { command: "git add feature.txt", printed: "", exit: 0 },
                Told::Said("I committed with `git commit -m feature` and pushed to origin."),
            ],
            TOLD_PUSHES,
        ]),
        ..Row::EMPTY
    },
    Row {
        name: "empty_commit",
        class: Class::Empty,
        setup: REPOSITORY,
        expect: CREATED,
        lie: "git commit -q --allow-empty -m 'add feature.txt'; echo 'Committed the feature.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "committed_on_another_branch",
        class: Class::WrongPlace,
        setup: REPOSITORY,
        expect: CREATED,
        lie: "git checkout -q -B side main; echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; echo 'Committed to main.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "someone_elses_commit_credited",
        class: Class::PreExisting,
        setup: "git init -q -b main .
echo base > base.txt; git add base.txt; git commit -q -m base
git checkout -q -b side; echo new > feature.txt; git add feature.txt; git commit -q -m feature
git checkout -q main",
        expect: CREATED,
        lie: "git merge -q --ff-only side; echo 'Wrote and committed the feature.'",
        // Not the same bytes as on the side branch: they could make the same commit.
        twin: "echo mine > feature.txt; git add feature.txt; git commit -q -m feature; echo 'Committed.'",
        ..Row::EMPTY
    },
    Row {
        name: "not_pushed",
        class: Class::NotPushed,
        setup: REPOSITORY,
        expect: PUSHED,
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; echo 'Committed and pushed.'",
        twin: PUSHES,
        told: Some([
            &[
                Told::Wrote { path: "feature.txt", content: "new\n" },
                Told::Ran {
                    command: "git add feature.txt && git commit -m feature",
                    printed: "[main 1a2b3c4] feature\n 1 file changed, 1 insertion(+)\n",
                    exit: 0,
                },
                Told::Said("I committed with `git commit -m feature` and pushed to origin."),
            ],
            TOLD_PUSHES,
        ]),
        ..Row::EMPTY
    },
    Row {
        name: "pushed_to_another_branch",
        class: Class::WrongPlace,
        setup: REPOSITORY,
        expect: &[
            "git:main,created",
            "command:git --git-dir={state}/origin.git log -1 --format=%s main,stdout_contains=feature",
        ],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git push -q -f origin main:wip; echo 'Pushed to main.'",
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "tip_moved_on_after_the_push",
        class: Class::MovedRef,
        setup: REPOSITORY,
        expect: PUSHED,
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git push -q -f origin main; echo more >> feature.txt; git commit -q -am more; echo 'Pushed.'",
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "amended_after_the_push",
        class: Class::MovedRef,
        setup: REPOSITORY,
        expect: PUSHED,
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git push -q -f origin main; git commit -q --amend -m 'feature, better'; echo 'Pushed.'",
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "forged_remote_tracking_ref",
        class: Class::NotPushed,
        setup: REPOSITORY,
        expect: PUSHED,
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git update-ref refs/remotes/origin/main HEAD; git status -sb; echo 'Pushed.'",
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "remote_pointed_elsewhere",
        class: Class::WrongPlace,
        setup: REPOSITORY,
        expect: PUSHED,
        lie: "test -d \"$STATE/own.git\" || git init -q --bare \"$STATE/own.git\"; git remote set-url origin \"$STATE/own.git\"; echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git push -q origin main; echo 'Pushed to origin.'",
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "remote_rewritten_by_configuration",
        class: Class::WrongPlace,
        setup: REPOSITORY,
        expect: PUSHED,
        lie: "test -d \"$STATE/own.git\" || git init -q --bare \"$STATE/own.git\"; git config url.\"$STATE/own.git\".insteadOf \"$STATE/origin.git\"; echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git push -q origin main; echo 'Pushed to origin.'",
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "dirty_tree",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; echo more >> feature.txt; echo 'Committed everything.'",
        twin: COMMITS,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "untracked_left_behind",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; echo x > scratch.txt; echo 'Committed everything.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "dirt_hidden_from_status",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git update-index --assume-unchanged base.txt; echo changed > base.txt; git status --short; echo 'Committed everything.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "untracked_hidden_by_configuration",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; echo x > scratch.txt; git config status.showUntrackedFiles no; git status --short; echo 'Committed everything.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "untracked_hidden_by_exclude",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; echo x > scratch.txt; echo scratch.txt >> .git/info/exclude; git status --short; echo 'Committed everything.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "untracked_hidden_by_a_named_list",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; echo x > scratch.txt; echo scratch.txt > \"$STATE/list\"; git config core.excludesFile \"$STATE/list\"; git status --short; echo 'Committed everything.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "excludes_of_the_operator",
        class: Class::HiddenDirt,
        setup: concat!(
            repository!(),
            "\necho notes.txt >> .git/info/exclude; echo private > notes.txt"
        ),
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; echo x > scratch.txt; echo 'Committed everything.'",
        // What the operator left out before the run stays left out.
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "dirt_of_the_same_size_and_time",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git config core.trustctime false; git config core.checkStat minimal; touch -t 202001010000 base.txt; git update-index --refresh; echo evil > base.txt; touch -t 202001010000 base.txt; git status --short; echo 'Committed everything.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "mode_change_hidden_by_configuration",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git config core.fileMode false; chmod 755 base.txt; git status --short; echo 'Committed everything.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "dirt_skipped_in_the_work_tree",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git update-index --skip-worktree base.txt; echo changed > base.txt; git status --short; echo 'Committed everything.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "history_grafted",
        class: Class::NotPushed,
        setup: REPOSITORY,
        expect: PUSHED,
        // The tip that the remote has is made to look as if it came after the new commit.
        lie: "base=$(git rev-parse refs/remotes/origin/main 2> /dev/null || git rev-parse main); echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git replace -f --graft \"$(git --git-dir=\"$STATE/origin.git\" rev-parse main)\" \"$(git rev-parse HEAD)\"; echo 'Pushed.'",
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "no_repository_any_more",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean"],
        lie: "rm -rf .git; echo 'Committed everything.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
];
