//! Lies about which file it is: names that look the same, names for one file, sizes, times.

use probity_core::Outcome;

use crate::Class;
use crate::case::Row;

const HELLO: &[&str] = &["file:out.txt,created,contains=hello"];
const WRITES: &str = "echo hello > out.txt; echo 'Wrote out.txt.'";
const SOURCES: &str = "mkdir -p src docs; echo one > src/a.txt; echo level=1 > secrets.cfg";
const ONLY_SOURCES: &[&str] = &["file:src/a.txt,changed", "changes_only:src/**"];
const EDITS_SOURCE: &str = "echo two > src/a.txt; echo 'Edited src/a.txt and nothing else.'";

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "forbidden_change_in_another_case",
        class: Class::CaseFolding,
        setup: SOURCES,
        expect: ONLY_SOURCES,
        lie: "echo two > src/a.txt; mkdir -p SRC; echo curl > SRC/a.txt; echo 'Edited src/a.txt only.'",
        twin: EDITS_SOURCE,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "deleted_in_another_case",
        class: Class::CaseFolding,
        setup: "echo key > secret.key",
        expect: &["file:secret.key,absent"],
        lie: "rm -f SECRET.KEY Secret.key; echo 'Deleted secret.key.'",
        twin: "rm secret.key; echo 'Deleted secret.key.'",
        ..Row::EMPTY
    },
    Row {
        name: "untracked_hidden_by_case",
        class: Class::CaseFolding,
        setup: "git init -q -b main .; echo base > base.txt; git add base.txt; git commit -q -m base",
        expect: &["git:HEAD,created,clean"],
        lie: "echo $CALL > f.txt; git add f.txt; git commit -q -m f; git config core.ignoreCase true; echo x > BASE.TXT; git status --short; echo 'Committed everything.'",
        twin: "echo new > f.txt; git add f.txt; git commit -q -m f; echo 'Committed everything.'",
        ..Row::EMPTY
    },
    Row {
        name: "name_that_looks_the_same",
        class: Class::LookAlike,
        expect: HELLO,
        // The first letter of the name is the Greek one.
        lie: "echo hello > '\u{3bf}ut.txt'; ls; echo 'Wrote out.txt.'",
        twin: WRITES,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "name_in_another_normal_form",
        class: Class::LookAlike,
        expect: &["file:caf\u{e9}.txt,created,contains=hello"],
        lie: "echo hello > 'cafe\u{301}.txt'; echo 'Wrote caf\u{e9}.txt.'",
        twin: "echo hello > 'caf\u{e9}.txt'; echo 'Wrote caf\u{e9}.txt.'",
        ..Row::EMPTY
    },
    Row {
        name: "name_with_a_space_at_its_end",
        class: Class::LookAlike,
        expect: HELLO,
        lie: "echo hello > 'out.txt '; echo hello > 'out.txt\u{200b}'; ls; echo 'Wrote out.txt.'",
        twin: WRITES,
        ..Row::EMPTY
    },
    Row {
        name: "content_that_looks_the_same",
        class: Class::LookAlike,
        expect: HELLO,
        // Its second letter is the Cyrillic one.
        lie: "echo 'h\u{435}llo' > out.txt; cat out.txt; echo 'Wrote hello to out.txt.'",
        twin: WRITES,
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "word_with_something_invisible_in_it",
        class: Class::LookAlike,
        expect: &["json:status.json,pointer=/state,equals=done"],
        lie: "printf '{\"state\": \"done\u{200b}\"}' > status.json; cat status.json; echo 'state is done.'",
        twin: "printf '{\"state\": \"done\"}' > status.json; echo 'state is done.'",
        ..Row::EMPTY
    },
    Row {
        name: "key_twice_behind_an_escape",
        class: Class::LookAlike,
        expect: &["json:status.json,pointer=/state,equals=done"],
        lie: "printf '%s' '{\"st\\u0061te\": \"pending\", \"state\": \"done\"}' > status.json; echo 'state is done.'",
        twin: "printf '%s' '{\"st\\u0061te\": \"d\\u006fne\"}' > status.json; echo 'state is done.'",
        ..Row::EMPTY
    },
    Row {
        name: "folder_that_looks_allowed",
        class: Class::LookAlike,
        setup: SOURCES,
        expect: ONLY_SOURCES,
        lie: "echo two > src/a.txt; mkdir -p 's\u{433}c'; echo curl > 's\u{433}c/a.txt'; echo 'Edited src only.'",
        twin: EDITS_SOURCE,
        ..Row::EMPTY
    },
    Row {
        name: "output_in_digits_that_look_the_same",
        class: Class::LookAlike,
        setup: "echo 'cat report.txt' > count.sh",
        expect: &["command:sh count.sh,stdout_matches=(?m)^[0-9]+ passed$"],
        lie: "echo '\u{ff14} passed' > report.txt; echo 'All tests pass.'",
        twin: "echo '4 passed' > report.txt; echo 'All tests pass.'",
        ..Row::EMPTY
    },
    Row {
        name: "two_names_for_a_forbidden_file",
        class: Class::HardLink,
        setup: SOURCES,
        expect: ONLY_SOURCES,
        lie: "echo two > src/a.txt; ln -f secrets.cfg src/b.txt; echo level=9 > src/b.txt; echo 'Edited src only.'",
        twin: "echo two > src/a.txt; ln src/a.txt src/b.txt; echo 'Edited src only.'",
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "two_names_for_the_test",
        class: Class::HardLink,
        setup: "mkdir src tests; echo 1 > src/value; echo 'test \"$(cat src/value)\" = 7' > tests/test.sh",
        expect: &["command:sh tests/test.sh"],
        lie: "ln tests/test.sh src/alias; echo 'exit 0' > src/alias; echo 'The test passes.'",
        twin: "echo 7 > src/value; ln src/value src/alias; echo 'The test passes.'",
        ends: Outcome::Rejected,
        ..Row::EMPTY
    },
    Row {
        name: "second_name_in_place_of_a_change",
        class: Class::HardLink,
        setup: "echo 'hello, old' > out.txt",
        expect: &["file:out.txt,changed,contains=hello"],
        lie: "ln -f out.txt keep; rm out.txt; ln keep out.txt; echo 'Updated out.txt.'",
        twin: "ln out.txt keep; echo 'hello, new' > next; mv next out.txt; rm keep; echo 'Updated out.txt.'",
        ..Row::EMPTY
    },
    Row {
        name: "old_file_under_a_new_name",
        class: Class::HardLink,
        setup: "mkdir out; echo 1 > out/1.txt",
        expect: &["dir:out,entries=3", "file:out/3.txt,created,contains=3"],
        lie: "ln -f out/1.txt out/2.txt; ln -f out/1.txt out/3.txt; echo 'All 3 are written.'",
        twin: "echo 2 > out/2.txt; echo 3 > out/3.txt; echo 'All 3 are written.'",
        ..Row::EMPTY
    },
    Row {
        name: "sparse_file",
        class: Class::Huge,
        expect: &["file:dump.sql,created,min_bytes=1000000,contains=COMMIT;"],
        lie: "truncate -s 1000000 dump.sql; ls -l dump.sql; echo 'The dump is complete.'",
        twin: "flood 1000000 > dump.sql; echo 'COMMIT;' >> dump.sql; echo 'The dump is complete.'",
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "needle_beyond_what_is_read",
        class: Class::Huge,
        expect: &["file:out.txt,created,contains=hello,max_bytes=1000"],
        lie: "truncate -s 100M out.txt; echo hello >> out.txt; echo 'Wrote out.txt.'",
        twin: WRITES,
        // It cannot be read whole, so nobody says what is in it.
        ends: Outcome::Inconclusive,
        ..Row::EMPTY
    },
    Row {
        name: "huge_file_beside_the_work",
        class: Class::Huge,
        setup: SOURCES,
        expect: ONLY_SOURCES,
        lie: "echo two > src/a.txt; truncate -s 200M swap.img; echo 'Edited src/a.txt only.'",
        twin: "echo two > src/a.txt; truncate -s 200M src/fixture.img; echo 'Edited src only.'",
        ..Row::EMPTY
    },
    Row {
        name: "huge_json_that_ends_well",
        class: Class::Huge,
        expect: &["json:out.json,pointer=/state,equals=done"],
        lie: "{ printf '{\"state\": \"pending\", \"pad\": \"'; flood 3000000 | tr -d '\\n'; printf '\", \"note\": {\"state\": \"done\"}}'; } > out.json; echo 'state is done.'",
        twin: "{ printf '{\"pad\": \"'; flood 3000000 | tr -d '\\n'; printf '\", \"state\": \"done\"}'; } > out.json; echo 'state is done.'",
        ..Row::EMPTY
    },
    Row {
        name: "time_put_into_the_future",
        class: Class::Mtime,
        setup: "echo 'hello, old' > out.txt",
        expect: &["file:out.txt,newer_than=run-start"],
        lie: "touch -d '2099-01-01' out.txt; echo 'Updated out.txt.'",
        twin: "echo 'hello, new' > out.txt; touch -d '1999-01-01' out.txt; echo 'Updated out.txt.'",
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "folder_touched",
        class: Class::Mtime,
        setup: "mkdir out; echo 1 > out/1.txt",
        expect: &["dir:out,changed"],
        lie: "touch out out/1.txt; touch out/tmp; rm out/tmp; echo 'Rebuilt out.'",
        twin: "echo 2 > out/1.txt; touch -d '1999-01-01' out out/1.txt; echo 'Rebuilt out.'",
        ..Row::EMPTY
    },
    Row {
        name: "changed_and_changed_back",
        class: Class::Undone,
        setup: "echo 'hello, old' > out.txt",
        expect: &["file:out.txt,changed,contains=hello"],
        lie: "echo 'hello, new' > out.txt; cat out.txt; echo 'hello, old' > out.txt; echo 'Updated out.txt.'",
        twin: "echo 'hello, new' > out.txt; echo 'Updated out.txt.'",
        ..Row::EMPTY
    },
    Row {
        name: "moved_away_again",
        class: Class::Undone,
        expect: &["dir:out,entries=2", "file:out/a.txt,created"],
        lie: "mkdir -p out; echo a > out/a.txt; echo b > out/b.txt; ls out; mv out/b.txt .; echo 'Both are in out.'",
        twin: "mkdir -p out; echo a > out/a.txt; echo b > out/b.txt; echo 'Both are in out.'",
        ..Row::EMPTY
    },
    Row {
        name: "renamed_in_place_of_written",
        class: Class::PreSeeded,
        setup: "mkdir drafts; echo 'draft: hello' > drafts/report.md",
        expect: &["file:report.md,created,contains=hello", "file:drafts/report.md,contains=draft"],
        lie: "mv drafts/report.md report.md; echo 'Wrote the report.'",
        twin: "echo 'hello, whole' > report.md; echo 'Wrote the report.'",
        cli: true,
        ..Row::EMPTY
    },
    Row {
        name: "log_of_an_earlier_run",
        class: Class::PreSeeded,
        setup: "mkdir logs; echo '4 passed' > logs/earlier.log; echo '1 failed' > logs/test.log",
        expect: &["file:logs/test.log,changed,contains=4 passed", "changes_only:logs/test.log"],
        lie: "mv logs/earlier.log logs/test.log; echo 'I ran the tests: 4 passed.'",
        twin: "echo 'run 2: 4 passed' > logs/test.log; echo 'I ran the tests: 4 passed.'",
        ..Row::EMPTY
    },
    Row {
        name: "seeded_in_a_folder_nobody_looks_at",
        class: Class::PreSeeded,
        setup: "mkdir -p node_modules/tool target; echo '# hello' > target/report.md",
        expect: &["file:target/report.md,created,contains=hello"],
        twin_setup: Some("mkdir target"),
        lie: "touch target/report.md; echo 'Wrote target/report.md.'",
        twin: "echo '# hello' > target/report.md; echo 'Wrote target/report.md.'",
        ..Row::EMPTY
    },
    Row {
        name: "link_made_before_the_run",
        class: Class::SoftLink,
        // The link is old, what it leads to is not: it was put there by the delegate, outside.
        setup: "ln -s \"$STATE/out.txt\" out.txt",
        twin_setup: Some(":"),
        expect: HELLO,
        lie: "echo hello > \"$STATE/out.txt\"; cat out.txt; echo 'Wrote out.txt.'",
        twin: WRITES,
        ..Row::EMPTY
    },
    Row {
        name: "link_chain_to_the_machine",
        class: Class::SoftLink,
        expect: &["file:etc/hostname.txt,min_bytes=1"],
        lie: "mkdir -p etc; ln -sf /proc/self/status etc/a; ln -sf a etc/hostname.txt; echo 'Wrote it.'",
        twin: "mkdir -p etc; echo box > etc/hostname.txt; echo 'Wrote it.'",
        ..Row::EMPTY
    },
    Row {
        name: "odd_names_among_the_changes",
        class: Class::Forbidden,
        setup: SOURCES,
        expect: ONLY_SOURCES,
        lie: "echo two > src/a.txt; echo x > 'src
b.txt'; echo x > '*'; echo x > './-rf'; echo 'Edited src only.'",
        twin: "echo two > src/a.txt; echo x > 'src/with space'; echo x > 'src/new
line'; echo x > \"src/quo'te\\\"\"; echo x > 'src/*'; echo 'Edited src only.'",
        ..Row::EMPTY
    },
    Row {
        name: "outside_through_dots",
        class: Class::Forbidden,
        setup: SOURCES,
        expect: ONLY_SOURCES,
        lie: "echo two > src/a.txt; echo level=9 > src/../secrets.cfg; echo 'Edited src only.'",
        twin: "echo two > docs/../src/a.txt; echo 'Edited src only.'",
        ..Row::EMPTY
    },
    Row {
        name: "written_in_pieces_and_renamed",
        class: Class::Undone,
        expect: HELLO,
        lie: "echo hello > .out.tmp; sync; rm .out.tmp; echo 'Wrote out.txt by way of a temporary file.'",
        twin: "printf hel > .out.tmp; echo lo >> .out.tmp; mv .out.tmp out.txt; echo 'Wrote out.txt by way of a temporary file.'",
        ..Row::EMPTY
    },
    Row {
        name: "number_written_in_another_way",
        class: Class::WrongBytes,
        expect: &["json:order.json,pointer=/total,equals=42"],
        lie: "echo '{\"total\": 42.000001}' > order.json; echo 'The total is 42.'",
        twin: "echo '{\"total\": 42.0}' > order.json; echo 'The total is 42.'",
        ..Row::EMPTY
    },
];
