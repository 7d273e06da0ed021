//! `git:REF`, on real repositories with a bare remote.

use std::process::Command;
use std::time::Duration;

use super::bed::Bed;

/// Runs Git in the workspace, with nothing of the machine's configuration.
fn git(bed: &Bed, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"])
        .args(["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(bed.path("."))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn commit(bed: &Bed, path: &str, content: &str) -> String {
    bed.write(path, content);
    git(bed, &["add", path]);
    git(bed, &["commit", "--quiet", "-m", path]);
    git(bed, &["rev-parse", "HEAD"])
}

/// A repository with one commit, pushed to a bare remote beside the workspace.
fn repository() -> Bed {
    let bed = Bed::new();
    git(&bed, &["init", "--quiet"]);
    git(&bed, &["init", "--quiet", "--bare", "../origin.git"]);
    git(&bed, &["remote", "add", "origin", "../origin.git"]);
    commit(&bed, "a.txt", "1");
    git(&bed, &["push", "--quiet", "origin", "main"]);
    bed
}

#[test]
fn refs_and_commits_exist_or_not() {
    let mut bed = repository();
    let first = git(&bed, &["rev-parse", "HEAD"]);
    git(&bed, &["tag", "-a", "-m", "v1", "v1"]);
    git(&bed, &["branch", "side"]);
    bed.start();
    let second = commit(&bed, "deep/b.txt", "1");
    let blob = git(&bed, &["rev-parse", "HEAD:a.txt"]);
    let zeros = "0".repeat(40);
    bed.table(&[
        ("git:HEAD", "pass"),
        ("git:main,exists", "pass"),
        ("git:refs/heads/main", "pass"),
        ("git:origin/main", "pass"),
        ("git:v1", "pass"),
        ("git:HEAD~1", "pass"),
        (&format!("git:{first}"), "pass"),
        (&format!("git:{}", &second[..10]), "pass"),
        ("git:gone", "revise git_missing"),
        ("git:HEAD~2", "revise git_missing"),
        (&format!("git:{zeros}"), "revise git_missing"),
        (&format!("git:{blob}"), "revise git_missing"),
        ("git:HEAD,contains_path=a.txt,contains_path=deep/b.txt", "pass"),
        ("git:HEAD,contains_path=deep", "pass"),
        ("git:HEAD,contains_path=deep/", "pass"),
        ("git:HEAD,contains_path=gone.txt", "revise git_no_path"),
        ("git:side,contains_path=deep/b.txt", "revise git_no_path"),
        ("git:side,reachable_from=main", "pass"),
        ("git:main,reachable_from=main", "pass"),
        ("git:main,reachable_from=side", "revise git_not_reachable"),
        ("git:main,reachable_from=gone", "revise git_not_reachable"),
    ]);
    let verdict = bed.verify("git:HEAD").unwrap();
    assert_eq!(verdict.evidence[0].observed, second);
    // A file that is in the folder but not in the commit does not count.
    bed.write("staged.txt", "1");
    git(&bed, &["add", "staged.txt"]);
    assert_eq!(bed.says("git:HEAD,contains_path=staged.txt"), "revise git_no_path");
    assert_eq!(bed.red("git:HEAD"), "pass");
}

#[test]
fn created_means_new_since_the_run_started() {
    let mut bed = repository();
    git(&bed, &["branch", "other"]);
    let second = commit(&bed, "b.txt", "1");
    bed.start();
    assert_eq!(bed.says("git:HEAD,created"), "revise git_not_created");
    assert_eq!(bed.red("git:HEAD,created"), "revise git_not_created");
    // A new name for an old commit is not a new commit, and neither is an older one.
    git(&bed, &["branch", "renamed"]);
    git(&bed, &["branch", "older", "HEAD~1"]);
    git(&bed, &["pack-refs", "--all"]);
    bed.table(&[
        ("git:renamed,created", "revise git_not_created"),
        ("git:older,created", "revise git_not_created"),
        (&format!("git:{second},created"), "revise git_not_created"),
        ("git:gone,created", "revise git_missing"),
    ]);
    commit(&bed, "c.txt", "1");
    git(&bed, &["gc", "--quiet", "--prune=now"]);
    bed.table(&[
        ("git:HEAD,created", "pass"),
        ("git:main,created,contains_path=c.txt,reachable_from=main", "pass"),
        ("git:other,created", "revise git_not_created"),
    ]);
    // Going back to what was there before is no new commit.
    git(&bed, &["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(bed.says("git:HEAD,created"), "revise git_not_created");
}

#[test]
fn created_needs_the_refs_of_before() {
    let mut bed = repository();
    bed.start_without_facts();
    assert_eq!(bed.says("git:HEAD,created"), "fault git_no_baseline");
    assert_eq!(bed.says("git:HEAD"), "pass");
    assert_eq!(bed.red("git:HEAD,created"), "revise git_not_created");
}

#[test]
fn a_repository_that_the_delegate_makes_is_all_new() {
    let mut bed = Bed::new();
    bed.start();
    assert_eq!(bed.says("git:HEAD,created"), "revise git_no_repository");
    assert_eq!(bed.red("git:HEAD"), "revise git_no_repository");
    git(&bed, &["init", "--quiet"]);
    assert_eq!(bed.says("git:HEAD,created"), "revise git_missing");
    commit(&bed, "a.txt", "1");
    assert_eq!(bed.says("git:HEAD,created,clean"), "pass");
}

#[test]
fn the_repository_around_a_workspace_is_not_its_own() {
    let mut bed = Bed::new();
    let outside = bed.outside().display().to_string();
    git(&bed, &["init", "--quiet", &outside]);
    git(&bed, &["commit", "--quiet", "--allow-empty", "-m", "outer"]);
    bed.start();
    assert_eq!(bed.says("git:HEAD"), "fault git_not_at_root");
    assert_eq!(bed.red("git:HEAD,created"), "fault git_not_at_root");
    let advice = "make the repository's root the workspace, or run `git init` in the workspace";
    assert!(bed.verify("git:HEAD").unwrap_err().message.ends_with(advice));
    bed.mkdir(".git");
    assert_eq!(bed.says("git:HEAD"), "revise git_no_repository");
    std::fs::remove_dir(bed.path(".git")).unwrap();
    bed.link(".git", "../.git");
    assert_eq!(bed.says("git:HEAD"), "revise path_escapes");
    bed.remove(".git");
    git(&bed, &["init", "--quiet"]);
    commit(&bed, "a.txt", "1");
    assert_eq!(bed.says("git:HEAD,created"), "pass");
    // Once it is there before the run, its removal is the delegate's doing.
    bed.start();
    std::fs::remove_dir_all(bed.path(".git")).unwrap();
    assert_eq!(bed.says("git:HEAD"), "revise git_no_repository");
}

#[test]
fn clean_sees_what_is_uncommitted_untracked_or_hidden() {
    let mut bed = repository();
    bed.write(".gitignore", "*.log\n");
    commit(&bed, ".gitignore", "*.log\n");
    bed.start();
    bed.write("build.log", "ignored");
    assert_eq!(bed.says("git:HEAD,clean"), "pass");

    bed.write("new/file.txt", "1");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    assert_eq!(bed.reason("git:HEAD,clean"), "the working tree is not clean: `new/file.txt`");
    git(&bed, &["config", "status.showUntrackedFiles", "no"]);
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    bed.remove("new/file.txt");
    assert_eq!(bed.says("git:HEAD,clean"), "pass");

    bed.write("a.txt", "2");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        git(&bed, &["update-index", flag, "a.txt"]);
        assert_eq!(git(&bed, &["status", "--porcelain"]), "");
        assert_eq!(
            bed.reason("git:HEAD,clean"),
            "the working tree is not clean: `a.txt`",
            "{flag}"
        );
        git(&bed, &["update-index", &flag.replace("--", "--no-"), "a.txt"]);
    }
    git(&bed, &["add", "a.txt"]);
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
}

#[test]
fn clean_is_not_told_what_to_overlook_after_the_run_began() {
    let mut bed = repository();
    bed.write(".git/info/exclude", "notes.txt\n");
    bed.write("notes.txt", "private");
    bed.start();
    assert_eq!(bed.says("git:HEAD,clean"), "pass");

    bed.write("scratch.txt", "1");
    bed.write(".git/info/exclude", "notes.txt\nscratch.txt\n");
    assert_eq!(git(&bed, &["status", "--porcelain"]), "");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    bed.write(".git/info/exclude", "notes.txt\n");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    bed.remove("scratch.txt");
    assert_eq!(bed.says("git:HEAD,clean"), "pass");

    bed.write("scratch.txt", "1").write(".git/other", "notes.txt\nscratch.txt\n");
    git(&bed, &["config", "core.excludesFile", ".git/other"]);
    assert_eq!(git(&bed, &["status", "--porcelain"]), "");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
}

#[test]
fn clean_goes_by_content_where_size_and_time_are_forged() {
    let mut bed = repository();
    commit(&bed, "a.txt", "good\n");
    bed.start();
    assert_eq!(bed.says("git:HEAD,clean"), "pass");
    // With an old time the index entry does not look as if it could have been missed.
    let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_500_000_000);
    let forge = |bed: &Bed| {
        let file = std::fs::File::options().write(true).open(bed.path("a.txt")).unwrap();
        file.set_modified(old).unwrap();
    };
    git(&bed, &["config", "core.trustctime", "false"]);
    git(&bed, &["config", "core.checkStat", "minimal"]);
    forge(&bed);
    git(&bed, &["update-index", "--refresh"]);
    bed.write("a.txt", "evil\n");
    forge(&bed);
    assert_eq!(git(&bed, &["status", "--porcelain"]), "");
    assert_eq!(bed.reason("git:HEAD,clean"), "the working tree is not clean: `a.txt`");
}

#[test]
fn clean_counts_only_ignore_rules_of_the_commit() {
    let mut bed = repository();
    commit(&bed, ".gitignore", "cache/\n*.log\n");
    bed.start();
    // Rules of the commit reach first, so what is below them does not count.
    bed.write("cache/.gitignore", "*\n").write("cache/deep/.gitignore", "*\n");
    bed.write("a.log", "1");
    assert_eq!(bed.says("git:HEAD,clean"), "pass");
    bed.write("stash/.gitignore", "*\n").write("stash/evil.txt", "1");
    assert_eq!(git(&bed, &["status", "--porcelain"]), "");
    assert_eq!(bed.reason("git:HEAD,clean"), "the working tree is not clean: `stash/.gitignore`");
    git(&bed, &["add", "--force", "stash/.gitignore"]);
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    git(&bed, &["commit", "--quiet", "-m", "stash"]);
    assert_eq!(bed.says("git:HEAD,clean"), "pass");
}

#[test]
fn clean_does_not_believe_the_index() {
    let mut bed = repository();
    commit(&bed, "a.txt", "good\n");
    let head = git(&bed, &["rev-parse", "HEAD:a.txt"]);
    bed.start();
    bed.write("a.txt", "evil\n");
    git(&bed, &["add", "a.txt"]);
    let staged = git(&bed, &["rev-parse", ":a.txt"]);
    // An entry with the size and time of the file and the id of the commit's content. The checksum
    // of zeros means that there is none.
    let bytes = |hex: &str| -> Vec<u8> {
        (0..20).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    let mut index = std::fs::read(bed.path(".git/index")).unwrap();
    let (from, to) = (bytes(&staged), bytes(&head));
    let at = index.windows(20).position(|window| window == from).unwrap();
    index[at..at + 20].copy_from_slice(&to);
    let end = index.len() - 20;
    index[end..].fill(0);
    bed.write(".git/index", &index);
    // The index is younger than the file, so Git sees no reason to look again.
    let later = std::time::SystemTime::now() + Duration::from_secs(60);
    let file = std::fs::File::options().write(true).open(bed.path(".git/index")).unwrap();
    file.set_modified(later).unwrap();
    assert_eq!(git(&bed, &["--no-optional-locks", "status", "--porcelain"]), "");
    assert_eq!(bed.reason("git:HEAD,clean"), "the working tree is not clean: `a.txt`");
    // The check writes nothing to the repository.
    assert_eq!(std::fs::read(bed.path(".git/index")).unwrap(), index);

    // The other way round: the file is the commit's, another content is staged.
    bed.remove(".git/index");
    git(&bed, &["reset", "--quiet", "--hard"]);
    assert_eq!(bed.says("git:HEAD,clean"), "pass");
    bed.write("a.txt", "evil\n");
    git(&bed, &["add", "a.txt"]);
    bed.write("a.txt", "good\n");
    assert_eq!(bed.reason("git:HEAD,clean"), "the working tree is not clean: `a.txt`");
}

#[test]
fn clean_takes_no_setting_or_attribute_of_the_repository() {
    let mut bed = repository();
    commit(&bed, "a.txt", "good\n");
    bed.start();
    git(&bed, &["config", "core.fileMode", "false"]);
    bed.chmod("a.txt", 0o755);
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    bed.chmod("a.txt", 0o644);
    assert_eq!(bed.says("git:HEAD,clean"), "pass");

    git(&bed, &["config", "core.autocrlf", "input"]);
    bed.write("a.txt", "good\r\n");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    git(&bed, &["config", "--unset", "core.autocrlf"]);
    bed.write(".git/info/attributes", "* text\n");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    bed.write("a.txt", "good\n");

    git(&bed, &["config", "core.ignoreCase", "true"]);
    bed.write("A.TXT", "1");
    assert_eq!(bed.reason("git:HEAD,clean"), "the working tree is not clean: `A.TXT`");
    bed.remove("A.TXT").remove("a.txt").link("a.txt", "b");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
}

#[test]
fn clean_looks_into_submodules() {
    let mut bed = repository();
    git(&bed, &["submodule", "--quiet", "add", "../origin.git", "lib/sub"]);
    git(&bed, &["commit", "--quiet", "-m", "sub"]);
    bed.start();
    assert_eq!(bed.says("git:HEAD,clean"), "pass");
    bed.write("lib/sub/a.txt", "evil");
    git(&bed, &["-C", "lib/sub", "update-index", "--assume-unchanged", "a.txt"]);
    assert_eq!(git(&bed, &["status", "--porcelain"]), "");
    assert_eq!(bed.reason("git:HEAD,clean"), "the working tree is not clean: `lib/sub/a.txt`");
    bed.write("lib/sub/a.txt", "1");
    assert_eq!(bed.says("git:HEAD,clean"), "pass");
    commit(&bed, "b.txt", "1");
    git(&bed, &["-C", "lib/sub", "commit", "--quiet", "--allow-empty", "-m", "b"]);
    assert_eq!(bed.reason("git:HEAD,clean"), "the working tree is not clean: `lib/sub`");
    git(&bed, &["submodule", "--quiet", "deinit", "--all", "--force"]);
    assert_eq!(bed.says("git:HEAD,clean"), "pass");
    bed.write("lib/sub/evil.txt", "1");
    assert_eq!(bed.reason("git:HEAD,clean"), "the working tree is not clean: `lib/sub`");
}

#[test]
fn clean_before_the_first_commit_means_empty() {
    let mut bed = repository();
    bed.start();
    git(&bed, &["checkout", "--quiet", "--orphan", "fresh"]);
    assert_eq!(bed.says("git:main,clean"), "revise git_dirty");
    git(&bed, &["rm", "--quiet", "--cached", "a.txt"]);
    assert_eq!(bed.reason("git:main,clean"), "the working tree is not clean: `a.txt`");
    bed.remove("a.txt");
    assert_eq!(bed.says("git:main,clean"), "pass");
}

#[test]
fn clean_works_with_long_ids() {
    let mut bed = Bed::new();
    git(&bed, &["init", "--quiet", "--object-format=sha256"]);
    commit(&bed, "a.txt", "1");
    bed.start();
    assert_eq!(bed.says("git:HEAD,clean"), "pass");
    bed.write("a.txt", "2");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
}

#[test]
fn the_configuration_of_the_repository_starts_nothing() {
    let mut bed = repository();
    bed.start();
    let trap = bed.path("trap.sh");
    bed.write("trap.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/../sprung\"\ncat\n");
    bed.chmod("trap.sh", 0o755);
    let trap = trap.display().to_string();
    bed.write(".git/info/attributes", "* filter=evil diff=evil\n");
    for hook in ["post-index-change", "reference-transaction", "fsmonitor-watchman"] {
        std::fs::copy(&trap, bed.path(&format!(".git/hooks/{hook}"))).unwrap();
    }
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "credential.helper",
        "uploadpack.packObjectsHook",
    ] {
        git(&bed, &["config", key, &trap]);
    }
    git(&bed, &["config", "filter.evil.required", "true"]);
    git(&bed, &["config", "url.ext::sh -c touch% sprung% .insteadOf", "../origin.git"]);
    let sprung = bed.outside().join("sprung");
    let _ = std::fs::remove_file(&sprung);
    // Same size, same second: Git has to look at the content.
    bed.write("a.txt", "2");
    assert_eq!(bed.says("git:HEAD,clean"), "revise git_dirty");
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "pass");
    assert_eq!(bed.says("git:HEAD,contains_path=a.txt,reachable_from=main"), "pass");
    assert!(!sprung.exists());
    // The trap works: Git by itself walks into it.
    let _ = Command::new("git").arg("status").current_dir(bed.path(".")).output().unwrap();
    assert!(sprung.exists());
}

#[test]
fn pushed_means_that_the_remote_has_it() {
    let mut bed = repository();
    bed.start();
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "pass");
    commit(&bed, "b.txt", "1");
    bed.table(&[
        ("git:HEAD,pushed=origin", "revise git_not_pushed"),
        ("git:HEAD~1,pushed=origin", "pass"),
        ("git:HEAD,pushed=upstream", "revise git_no_remote"),
    ]);
    // What this side believes of the remote proves nothing.
    git(&bed, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "revise git_not_pushed");
    git(&bed, &["push", "--quiet", "origin", "HEAD:refs/heads/main"]);
    assert_eq!(bed.says("git:HEAD,created,clean,pushed=origin"), "pass");
    commit(&bed, "c.txt", "1");
    git(&bed, &["push", "--quiet", "origin", "HEAD:refs/heads/main"]);
    assert_eq!(bed.says("git:HEAD~1,pushed=origin"), "pass");
    commit(&bed, "d.txt", "1");
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "revise git_not_pushed");
    std::fs::rename(bed.outside().join("origin.git"), bed.outside().join("moved.git")).unwrap();
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "inconclusive git_remote_unreachable");
}

#[test]
fn pushed_means_under_the_name_that_was_asked_for() {
    let mut bed = repository();
    bed.start();
    git(&bed, &["checkout", "--quiet", "-b", "release"]);
    let id = commit(&bed, "b.txt", "1");
    git(&bed, &["tag", "-a", "-m", "v1", "v1"]);
    git(&bed, &["push", "--quiet", "origin", "release:refs/heads/junk"]);
    bed.table(&[
        ("git:refs/heads/release,created,pushed=origin", "revise git_not_pushed"),
        ("git:release,pushed=origin", "revise git_not_pushed"),
        ("git:v1,pushed=origin", "revise git_not_pushed"),
        ("git:HEAD,pushed=origin", "revise git_not_pushed"),
        (&format!("git:{id},pushed=origin"), "pass"),
        (&format!("git:{},pushed=origin", &id[..10]), "pass"),
    ]);
    assert_eq!(
        bed.reason("git:refs/heads/release,pushed=origin"),
        "the remote `origin` has no `refs/heads/release`; push `refs/heads/release` to it"
    );
    // Leaving the branch does not make it any name.
    git(&bed, &["checkout", "--quiet", "--detach"]);
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "revise git_not_pushed");
    git(&bed, &["checkout", "--quiet", "release"]);
    // Following another ref since the run started does not make it that name either.
    git(&bed, &["push", "--quiet", "--set-upstream", "origin", "release:refs/heads/junk"]);
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "revise git_not_pushed");
    // Neither does a file that Git takes for a ref of that name.
    bed.write(".git/release", format!("{id}\n"));
    assert_eq!(bed.says("git:release,pushed=origin"), "revise git_not_pushed");
    bed.remove(".git/release");

    git(&bed, &["push", "--quiet", "origin", "main:refs/heads/release", "v1"]);
    assert_eq!(
        bed.reason("git:release,pushed=origin"),
        "`refs/heads/release` of the remote `origin` does not hold the commit of `release`"
    );
    assert_eq!(bed.says("git:v1,pushed=origin"), "pass");
    git(&bed, &["push", "--quiet", "origin", "release"]);
    bed.table(&[
        ("git:refs/heads/release,created,pushed=origin", "pass"),
        ("git:origin/release,pushed=origin", "pass"),
        ("git:release~1,pushed=origin", "pass"),
        ("git:HEAD,pushed=origin", "pass"),
    ]);
}

#[test]
fn head_is_pushed_to_what_its_branch_followed_before_the_run() {
    let mut bed = repository();
    git(&bed, &["push", "--quiet", "--set-upstream", "origin", "main:refs/heads/trunk"]);
    bed.start();
    commit(&bed, "b.txt", "1");
    assert_eq!(
        bed.reason("git:HEAD,pushed=origin"),
        "`refs/heads/main` or `refs/heads/trunk` of the remote `origin` does not hold the commit of `HEAD`"
    );
    git(&bed, &["push", "--quiet", "origin", "main:refs/heads/trunk"]);
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "pass");
    assert_eq!(bed.says("git:main,pushed=origin"), "revise git_not_pushed");
}

#[test]
fn a_head_that_was_never_on_a_branch_is_pushed_anywhere() {
    let mut bed = repository();
    git(&bed, &["checkout", "--quiet", "--detach"]);
    bed.start();
    commit(&bed, "b.txt", "1");
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "revise git_not_pushed");
    git(&bed, &["push", "--quiet", "origin", "HEAD:refs/heads/topic"]);
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "pass");
}

#[test]
fn a_remote_is_asked_where_it_was_before_the_run() {
    let mut bed = repository();
    bed.start();
    commit(&bed, "b.txt", "1");
    git(&bed, &["init", "--quiet", "--bare", "../fake.git"]);
    git(&bed, &["remote", "set-url", "origin", "../fake.git"]);
    git(&bed, &["push", "--quiet", "origin", "main"]);
    assert_eq!(bed.says("git:HEAD,pushed=origin"), "revise git_not_pushed");
    git(&bed, &["remote", "add", "mine", "../fake.git"]);
    assert_eq!(bed.says("git:HEAD,pushed=mine"), "revise git_no_remote");
}

#[test]
fn a_remote_on_a_host_must_be_allowed() {
    let mut bed = repository();
    for (name, url) in [
        ("web", "https://git.example/a.git"),
        ("shell", "git@git.example:a.git"),
        ("daemon", "git://127.0.0.1/a.git"),
        ("ext", "ext::sh -c touch% sprung"),
    ] {
        git(&bed, &["remote", "add", name, url]);
    }
    bed.start();
    for name in ["web", "shell", "daemon", "ext"] {
        assert_eq!(bed.says(&format!("git:HEAD,pushed={name}")), "fault egress_denied", "{name}");
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    git(&bed, &["remote", "add", "refusing", &format!("http://{closed}/a.git")]);
    bed.start();
    bed.allow = vec![closed.to_string()];
    assert_eq!(bed.says("git:HEAD,pushed=refusing"), "inconclusive git_remote_unreachable");
}

#[test]
fn replaced_objects_and_a_damaged_repository_deceive_nobody() {
    let mut bed = repository();
    let first = git(&bed, &["rev-parse", "HEAD"]);
    bed.start();
    let second = commit(&bed, "b.txt", "1");
    git(&bed, &["reset", "--quiet", "--hard", &first]);
    git(&bed, &["replace", &first, &second]);
    assert_eq!(git(&bed, &["ls-tree", "--name-only", "HEAD", "b.txt"]), "b.txt");
    assert_eq!(bed.says("git:HEAD,contains_path=b.txt"), "revise git_no_path");
    assert_eq!(bed.says("git:HEAD,created"), "revise git_not_created");

    bed.write(".git/config", "[core\n");
    assert_eq!(bed.says("git:HEAD"), "inconclusive git_failed");
}
