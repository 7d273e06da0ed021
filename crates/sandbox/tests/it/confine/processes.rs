//! Other processes: their memory, their life, and rights that a program would bring.

use std::process::{Child, Command, Stdio};

use probity_sandbox::Confinement;
use rustix::process::geteuid;

use super::{Bed, can_hold, python};
use crate::helper;

/// A process outside, of the same user, that ends with the test.
struct Victim(Child);

impl Victim {
    fn new() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("600").env("VICTIM", "yes").stdin(Stdio::null()).spawn().unwrap())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn guard() -> Confinement {
    Confinement::guard().demand(probity_sandbox::Demand::Required)
}

#[tokio::test]
async fn no_process_outside_is_signalled_neither_the_helper_nor_another() {
    for confinement in [guard(), Bed::new().closed()] {
        if !can_hold(&confinement, &helper(), "signals").await {
            continue;
        }
        let bed = Bed::new();
        let mut victim = Victim::new();
        let kill = format!("kill -9 {}", victim.0.id());
        let stop = "kill -STOP $PPID";
        assert!(!bed.held(&kill, confinement.clone()).await.success());
        assert!(victim.is_alive());
        assert!(!bed.held("kill -9 $PPID", confinement.clone()).await.success());
        assert!(!bed.held(stop, confinement.clone()).await.success());
        // Its own it may.
        let own = "sleep 600 & kill -9 $! && wait $!; test $? = 137";
        assert!(bed.held(own, confinement).await.success());
        assert!(bed.free(&kill).await.success(), "it proves nothing");
        assert!(!victim.0.wait().unwrap().success());
        let without = bed.spawn("kill -9 $PPID; sleep 600").run(&helper()).await;
        assert_eq!(without.unwrap_err().code(), "sandbox_helper");
    }
}

#[tokio::test]
async fn the_memory_and_the_secrets_of_a_process_outside_are_not_read() {
    for confinement in [guard(), Bed::new().closed()] {
        if !can_hold(&confinement, &helper(), "memory of others").await {
            continue;
        }
        let bed = Bed::new();
        let victim = Victim::new();
        let pid = victim.0.id();
        for deed in [
            format!("exec 3<> /proc/{pid}/mem"),
            format!("exec 3< /proc/{pid}/mem"),
            format!("readlink /proc/{pid}/fd/1"),
            format!("readlink /proc/{pid}/exe"),
            format!("ls /proc/{pid}/root/"),
            format!("set -o pipefail; tr '\\0' '\\n' < /proc/{pid}/environ | grep VICTIM"),
        ] {
            if deed.contains("environ") && !confinement.is_closed() && geteuid().is_root() {
                eprintln!("NOT SHOWN HERE: {deed}; root may read it until its rights are given up");
                continue;
            }
            assert!(bed.free(&deed).await.success(), "it proves nothing: {deed}");
            let finished = bed.held(&deed, confinement.clone()).await;
            assert!(!finished.success(), "{deed}: {finished:?}");
        }
        // Its own it may.
        assert!(bed.held("exec 3< /proc/self/mem", confinement).await.success());
    }
}

/// ptrace by attaching, and both ways to another's memory without it.
const TRACE: &str = "
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid, deed = int(sys.argv[1]), sys.argv[2]
if deed == 'ptrace':
    done = libc.ptrace(16, pid, 0, 0)
    if done == 0:
        os.waitpid(pid, 0x40000000); libc.ptrace(17, pid, 0, 0)
elif deed == 'pidfd_getfd':
    done = libc.syscall(438, os.pidfd_open(pid), 0, 0)
else:
    class Vec(ctypes.Structure):
        _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]
    own = ctypes.create_string_buffer(8)
    at = [l for l in open(f'/proc/{pid}/maps') if 'r' in l.split()[1]][0] if os.access(f'/proc/{pid}/maps', 4) else '400000-'
    try:
        at = int([l for l in open(f'/proc/{pid}/maps')][0].split('-')[0], 16)
    except OSError:
        sys.exit(1)
    here, there = Vec(ctypes.addressof(own), 8), Vec(at, 8)
    done = libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
sys.exit(0 if done >= 0 else 1)
";

#[tokio::test]
async fn nobody_outside_is_traced() {
    for confinement in [guard(), Bed::new().closed()] {
        if !can_hold(&confinement, &helper(), "tracing").await {
            continue;
        }
        for deed in ["ptrace", "pidfd_getfd", "process_vm_readv"] {
            let victim = Victim::new();
            let spawn = python(TRACE).args([victim.0.id().to_string().as_str(), deed]);
            let free = spawn.run(&helper()).await.unwrap();
            if !free.success() {
                // Machines forbid tracing what is no descendant.
                eprintln!("NOT SHOWN HERE: {deed} fails without a confinement too: {free:?}");
            }
            let finished = spawn.confinement(confinement.clone()).run(&helper()).await.unwrap();
            assert!(!finished.success(), "{deed}: {finished:?}");
        }
    }
}

#[tokio::test]
async fn a_program_brings_no_rights_of_another_user() {
    let bed = Bed::new();
    let seen = "grep NoNewPrivs /proc/self/status";
    assert!(bed.free(seen).await.stdout.text().contains('0'));
    for confinement in [guard(), bed.closed()] {
        if !can_hold(&confinement, &helper(), "rights").await {
            continue;
        }
        assert!(bed.held(seen, confinement.clone()).await.stdout.text().contains('1'));
        if !geteuid().is_root() {
            eprintln!("NOT SHOWN HERE: set-user-id; only root can make such a program");
            continue;
        }
        let become_root = "cp $(command -v id) ./rooted && chmod 4755 ./rooted && chmod 755 .. && \
             setpriv --reuid=65534 --regid=65534 --clear-groups ./rooted -u";
        let bed = Bed::new();
        assert_eq!(bed.free(become_root).await.stdout.text().trim(), "0");
        let finished = bed.held(become_root, bed_again(&confinement, &bed)).await;
        assert_eq!(finished.stdout.text().trim(), "65534", "{finished:?}");
    }
}

/// The same confinement, for another bed.
fn bed_again(confinement: &Confinement, bed: &Bed) -> Confinement {
    match confinement.writable_paths().is_empty() {
        true => guard(),
        false => Confinement::closed().writable(bed.folder.path()),
    }
}

#[tokio::test]
async fn root_in_a_closed_confinement_is_root_over_files_alone() {
    if !geteuid().is_root() {
        eprintln!("NOT SHOWN HERE: this user has no capabilities to lose");
        return;
    }
    let bed = Bed::new();
    let seen = "awk '/CapEff/ {print $2}' /proc/self/status";
    let bits = |text: &str| u64::from_str_radix(text.trim(), 16).unwrap();
    let free = bits(&bed.free(seen).await.stdout.text());
    let confined = bits(&bed.confined(seen).await.stdout.text());
    // chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service.
    let kept = [0, 1, 3, 4, 5, 6, 7, 10].iter().fold(0_u64, |bits, bit| bits | (1 << bit));
    assert_eq!(confined, free & kept);
    assert_ne!(free, confined);
}
