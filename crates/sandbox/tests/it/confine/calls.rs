//! System calls that a closed confinement refuses.

use super::{Bed, can_hold, python};
use crate::helper;

/// The number, its arguments, and how it fails where it is let through: none of these calls succeeds, so
/// what is compared is what the kernel says.
const CALLS: &str = "
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
for word in sys.argv[1:]:
    name, *arguments = word.split(',')
    call = [ctypes.c_long(int(argument, 0)) for argument in arguments]
    done = libc.syscall(*call)
    print(name, 'done' if done >= 0 else errno.errorcode[ctypes.get_errno()])
";

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn calls_that_undo_a_confinement_are_refused_by_every_number() {
    let bed = Bed::new();
    if !can_hold(&bed.closed(), &helper(), "system calls").await {
        return;
    }
    // With arguments that the kernel finds wrong, so that nothing happens where they are let through.
    let calls = [
        ("mount,165,0,0,0,0,0", "EPERM"),
        ("umount2,166,0,0", "EPERM"),
        ("unshare,272,0", "EPERM"),
        ("setns,308,-1,0", "EPERM"),
        ("chroot,161,0", "EPERM"),
        ("open_tree,428,-1,0,0", "EPERM"),
        ("move_mount,429,-1,0,-1,0,0", "EPERM"),
        ("open_by_handle_at,304,-1,0,0", "EPERM"),
        ("keyctl,250,0,-3,0", "EPERM"),
        ("bpf,321,0,0,0", "EPERM"),
        ("perf_event_open,298,0,0,-1,-1,0", "EPERM"),
        ("process_vm_writev,311,1,0,0,0,0,0", "EPERM"),
        ("clone_newuser,56,0x10000200,0,0,0,0", "EPERM"),
        ("clone_newns,56,0x00020200,0,0,0,0", "EPERM"),
        ("io_uring_setup,425,0,0", "ENOSYS"),
        ("clone3,435,0,0", "ENOSYS"),
        ("second_number_of_mount,0x400000a5,0,0,0,0,0", "ENOSYS"),
    ];
    let spawn = python(CALLS).args(calls.map(|(call, _)| call));
    let free = spawn.run(&helper()).await.unwrap();
    let confined = spawn.confinement(bed.closed()).run(&helper()).await.unwrap();
    let (free, confined) = (free.stdout.text().into_owned(), confined.stdout.text().into_owned());
    for (line, (call, refused)) in confined.lines().zip(calls) {
        let name = call.split(',').next().unwrap();
        assert_eq!(line, format!("{name} {refused}"), "{confined}");
    }
    assert_eq!(confined.lines().count(), calls.len(), "{confined}");
    // As root, without a filter, the kernel finds other faults with nearly all of them.
    if rustix::process::geteuid().is_root() {
        let same = free.lines().filter(|line| confined.lines().any(|other| other == *line)).count();
        assert!(same <= 3, "it proves nothing: {free}");
    }
}

#[tokio::test]
async fn what_programs_need_goes_on() {
    let bed = Bed::new();
    if !can_hold(&bed.closed(), &helper(), "system calls").await {
        return;
    }
    let threads = "
import threading, subprocess, tempfile, os
done = []
all = [threading.Thread(target=lambda: done.append(1)) for _ in range(8)]
[one.start() for one in all]; [one.join() for one in all]
assert len(done) == 8 and os.fork() >= 0
";
    let spawn = python(threads).confinement(bed.closed());
    let finished = spawn.run(&helper()).await.unwrap();
    assert!(finished.success(), "{finished:?}");
    let pipeline = "seq 1000 | sort -r | tail -1; (sleep 0 & wait); diff <(echo a) <(echo a)";
    let finished = bed.confined(pipeline).await;
    assert!(finished.success() && finished.stdout.text() == "1\n", "{finished:?}");
}
