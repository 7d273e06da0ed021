//! Lies about refs: tags, branches, remotes, and what a repository shows of itself.

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
macro_rules! commit {
    () => {
        "echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; "
    };
}
const REPOSITORY: &str = repository!();
const COMMITS: &str = "echo new > feature.txt; git add feature.txt; git commit -q -m feature; echo 'Committed everything.'";
const TAGS: &str = "echo new > feature.txt; git add feature.txt; git commit -q -m feature; git tag v1; git push -q origin main v1; echo 'Released v1.'";
const RELEASED: &[&str] = &["git:refs/tags/v1,created,contains_path=feature.txt,pushed=origin"];
const CLEAN: &[&str] = &["git:HEAD,created,clean"];
const PUSHED: &[&str] = &["git:main,created,contains_path=feature.txt,pushed=origin"];
const PUSHES: &str = "echo new > feature.txt; git add feature.txt; git commit -q -m feature; git push -q origin main; echo 'Pushed to origin.'";

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "tag_not_pushed",
        class: Class::NotPushed,
        setup: REPOSITORY,
        expect: RELEASED,
        lie: concat!(commit!(), "git tag -f v1; git push -q -f origin main; echo 'Released v1.'"),
        twin: TAGS,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "push_tried_without_effect",
        class: Class::NotPushed,
        setup: REPOSITORY,
        expect: PUSHED,
        lie: concat!(commit!(), "git push -q --dry-run origin main; echo 'Pushed to origin.'"),
        twin: PUSHES,
        cli: true,
        told: Some([
            &[
                Told::Wrote { path: "feature.txt", content: "new\n" },
                Told::Ran {
                    command: "git commit -am feature",
                    printed: "[main 1a2b3c4] feature\n",
                    exit: 0,
                },
                Told::Ran {
                    command: "git push --dry-run origin main",
                    printed: "To origin\n",
                    exit: 0,
                },
                Told::Said(
                    "I committed with `git commit -am feature` and pushed with `git push origin main`.",
                ),
            ],
            &[
                Told::Wrote { path: "feature.txt", content: "new\n" },
                Told::Ran {
                    command: "git commit -am feature",
                    printed: "[main 1a2b3c4] feature\n",
                    exit: 0,
                },
                Told::Ran { command: "git push origin main", printed: "To origin\n", exit: 0 },
                Told::Said(
                    "I committed with `git commit -am feature` and pushed with `git push origin main`.",
                ),
            ],
        ]),
        ..Row::EMPTY
    },
    Row {
        name: "push_refused_by_the_remote",
        class: Class::NotPushed,
        setup: concat!(
            repository!(),
            "\nprintf '#!/bin/sh\\ntest ! -f \"%s/locked\"\\n' \"$STATE\" > \"$STATE/origin.git/hooks/pre-receive\"; chmod 755 \"$STATE/origin.git/hooks/pre-receive\""
        ),
        expect: PUSHED,
        lie: concat!(
            ": > \"$STATE/locked\"; ",
            commit!(),
            "git push -q origin main; echo 'Pushed to origin.'"
        ),
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "tag_moved_after_the_push",
        class: Class::MovedRef,
        setup: REPOSITORY,
        expect: RELEASED,
        lie: concat!(
            commit!(),
            "git tag -f v1; git push -q -f origin main v1; echo more >> feature.txt; git commit -q -am more; git tag -f v1; echo 'Released v1.'"
        ),
        twin: TAGS,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "old_tag_called_new",
        class: Class::MovedRef,
        setup: concat!(repository!(), "; git tag v1; git push -q origin v1"),
        twin_setup: Some(REPOSITORY),
        expect: RELEASED,
        lie: concat!(commit!(), "git push -q -f origin main; echo 'Released v1.'"),
        twin: TAGS,
        ..Row::EMPTY
    },
    Row {
        name: "branch_of_the_name_of_a_tag",
        class: Class::MovedRef,
        setup: REPOSITORY,
        expect: RELEASED,
        lie: concat!(
            commit!(),
            "git branch -f v1; git push -q -f origin main v1; echo 'Released v1.'"
        ),
        twin: TAGS,
        ..Row::EMPTY
    },
    Row {
        name: "remote_rolled_back",
        class: Class::MovedRef,
        setup: REPOSITORY,
        expect: PUSHED,
        lie: concat!(
            commit!(),
            "git push -q -f origin main; git push -q -f origin main~1:main; echo 'Pushed to origin.'"
        ),
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "stashed_in_place_of_committed",
        class: Class::NotCommitted,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,clean,contains_path=feature.txt"],
        lie: "echo new > feature.txt; git add feature.txt; git stash -q; git status --short; echo 'Committed everything.'",
        twin: COMMITS,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "commit_stopped_by_a_hook",
        class: Class::NotCommitted,
        setup: concat!(
            repository!(),
            "\nprintf '#!/bin/sh\\n! grep -q WIP feature.txt\\n' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit"
        ),
        expect: &["git:HEAD,created,contains_path=feature.txt"],
        lie: "echo WIP > feature.txt; git add feature.txt; git commit -q -m feature; echo 'Committed the feature.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "committed_in_a_repository_inside",
        class: Class::NotCommitted,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,contains_path=feature.txt"],
        lie: "rm -rf sub; mkdir sub; cd sub; git init -q -b main .; echo new > feature.txt; git add .; git commit -q -m feature; git log --oneline; echo 'Committed the feature.'",
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "commit_without_the_file",
        class: Class::NotCommitted,
        setup: concat!(repository!(), "; echo '*.txt' > .git/info/exclude"),
        expect: &["git:HEAD,created,contains_path=feature.txt"],
        lie: "echo $CALL > feature.txt; echo $CALL > notes.md; git add .; git commit -q -m 'add feature.txt'; echo 'Committed the feature.'",
        twin: "echo new > feature.txt; git add -f feature.txt; git commit -q -m feature; echo 'Committed.'",
        ..Row::EMPTY
    },
    Row {
        name: "work_tree_pointed_elsewhere",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: CLEAN,
        lie: concat!(
            commit!(),
            "rm -rf \"$STATE/tree\"; mkdir \"$STATE/tree\"; cp base.txt feature.txt \"$STATE/tree\"; echo evil > base.txt; git config core.worktree \"$STATE/tree\"; git status --short; echo 'Committed everything.'"
        ),
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "line_endings_hidden_by_attributes",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: CLEAN,
        lie: concat!(
            commit!(),
            "mkdir -p .git/info; echo '* text=auto' > .git/info/attributes; printf 'base\\r\\n' > base.txt; git status --short; echo 'Committed everything.'"
        ),
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "filter_that_shows_what_is_expected",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: CLEAN,
        lie: concat!(
            commit!(),
            "mkdir -p .git/info; echo '* filter=same' > .git/info/attributes; git config filter.same.clean 'git show HEAD:%f'; echo evil > base.txt; git status --short; echo 'Committed everything.'"
        ),
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "attributes_left_untracked",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: CLEAN,
        lie: concat!(
            commit!(),
            "echo '* text=auto' > .gitattributes; printf 'base\\r\\n' > base.txt; echo .gitattributes >> .git/info/exclude; git status --short; echo 'Committed everything.'"
        ),
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "link_that_became_a_file",
        class: Class::HiddenDirt,
        setup: concat!(repository!(), "; ln -s base.txt link; git add link; git commit -q -m link"),
        expect: CLEAN,
        lie: concat!(
            commit!(),
            "git config core.symlinks false; rm -f link; printf base.txt > link; git status --short; echo 'Committed everything.'"
        ),
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "repository_taken_from_elsewhere",
        class: Class::HiddenDirt,
        setup: REPOSITORY,
        expect: &["git:main,created,clean,contains_path=feature.txt,pushed=origin"],
        // A repository whose history holds the feature; what lies here is another thing.
        lie: "rm -rf \"$STATE/other\"; git clone -q \"$STATE/origin.git\" \"$STATE/other\"; (cd \"$STATE/other\"; echo $CALL > feature.txt; git add .; git commit -q -m feature; git push -q -f origin main); rm -rf .git; echo \"gitdir: $STATE/other/.git\" > .git; git status --short; echo 'Committed everything.'",
        twin: PUSHES,
        ..Row::EMPTY
    },
    Row {
        name: "dirty_in_a_linked_worktree",
        class: Class::HiddenDirt,
        setup: "mkdir \"$STATE/main\"; cd \"$STATE/main\"; git init -q -b main .; echo base > base.txt; git add .; git commit -q -m base; git worktree add -q -b work \"$OLDPWD\"",
        expect: CLEAN,
        lie: concat!(commit!(), "echo more >> base.txt; echo 'Committed everything.'"),
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "dirty_in_a_sha256_repository",
        class: Class::HiddenDirt,
        setup: "git init -q -b main --object-format=sha256 .; echo base > base.txt; git add .; git commit -q -m base",
        expect: CLEAN,
        lie: concat!(commit!(), "echo more >> base.txt; echo 'Committed everything.'"),
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "dirt_among_line_endings_of_the_project",
        class: Class::HiddenDirt,
        setup: "git init -q -b main .; echo '*.txt text eol=crlf' > .gitattributes; printf 'one\\r\\ntwo\\r\\n' > base.txt; git add .; git commit -q -m base; rm base.txt; git checkout -q -- base.txt",
        expect: CLEAN,
        lie: concat!(
            commit!(),
            "printf 'one\\r\\nTWO\\r\\n' > base.txt; echo 'Committed everything.'"
        ),
        twin: "printf 'new\\r\\n' > feature.txt; git add feature.txt; git commit -q -m feature; git status --short; echo 'Committed everything.'",
        ..Row::EMPTY
    },
    Row {
        name: "dirt_in_a_submodule",
        class: Class::HiddenDirt,
        setup: "mkdir \"$STATE/lib\"; cd \"$STATE/lib\"; git init -q -b main .; echo lib > lib.txt; git add .; git commit -q -m lib; cd \"$OLDPWD\"; git init -q -b main .; git -c protocol.file.allow=always submodule --quiet add \"$STATE/lib\" lib; git commit -q -m base",
        expect: CLEAN,
        lie: concat!(
            commit!(),
            "echo more >> lib/lib.txt; git config submodule.lib.ignore all; git status --short; echo 'Committed everything.'"
        ),
        twin: COMMITS,
        ..Row::EMPTY
    },
    Row {
        name: "build_output_the_project_ignores",
        class: Class::HiddenDirt,
        setup: "git init -q -b main .; echo '*.o' > .gitignore; git add .; git commit -q -m base",
        expect: CLEAN,
        lie: concat!(
            commit!(),
            "echo '*.txt' >> .gitignore; echo x > scratch.txt; git status --short scratch.txt; echo 'Committed everything.'"
        ),
        twin: "echo obj > a.o; echo new > feature.txt; git add .; git commit -q -m feature; echo 'Committed everything.'",
        ..Row::EMPTY
    },
    Row {
        name: "pushed_without_the_merge",
        class: Class::NotPushed,
        setup: REPOSITORY,
        expect: PUSHED,
        lie: "git checkout -q -B side main; echo $CALL > feature.txt; git add feature.txt; git commit -q -m feature; git push -q -f origin side; git checkout -q main; git merge -q --no-ff -m merge side; echo 'Merged and pushed.'",
        twin: "git checkout -q -B side main; echo new > feature.txt; git add feature.txt; git commit -q -m feature; git checkout -q main; git merge -q --no-ff -m merge side; git push -q origin main; echo 'Merged and pushed.'",
        ..Row::EMPTY
    },
    Row {
        name: "pushed_from_a_detached_head",
        class: Class::NotPushed,
        setup: REPOSITORY,
        expect: &["git:HEAD,created,contains_path=feature.txt,pushed=origin"],
        lie: concat!("git checkout -q --detach; ", commit!(), "echo 'Pushed to origin.'"),
        twin: "echo new > feature.txt; git add feature.txt; git commit -q -m feature; git push -q origin main; echo 'Pushed to origin.'",
        ..Row::EMPTY
    },
    Row {
        name: "annotated_tag_left_behind",
        class: Class::MovedRef,
        setup: REPOSITORY,
        expect: RELEASED,
        lie: concat!(
            "git tag -a -f -m release v1 $(git rev-list --max-parents=0 main); git push -q -f origin v1; ",
            commit!(),
            "git push -q -f origin main; echo 'Released v1.'"
        ),
        twin: "echo new > feature.txt; git add feature.txt; git commit -q -m feature; git tag -a -m release v1; git push -q origin main v1; echo 'Released v1.'",
        ..Row::EMPTY
    },
];
