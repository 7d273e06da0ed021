//! System calls that a closed confinement refuses: those that change what the other parts stand on, that
//! reach into the kernel, or that go around the filter.
//!
//! The filter is written by hand: when it is put on, the kernel tries it with every call that there is, and
//! one that compares each number once takes less of that than a generated one.

use seccompiler::{BpfProgram, apply_filter, sock_filter};

use crate::part::Lack;

/// Refused with EPERM.
const REFUSED: [i64; 40] = [
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Mounts, roots, namespaces; files by handle, which know no path.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    // Keys, which no process owns alone.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The kernel and the machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Answered as by a kernel that does not have them, so that programs take the older way: the ring does
/// what no filter sees, and the flags of `clone3` lie where none can read.
const ABSENT: [i64; 4] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
];

/// Flags of `clone` that make namespaces.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Requests of `ioctl` that put words into the mouth of a terminal.
const TYPED: [u32; 2] = [0x5412, 0x541c];

// Where the kernel puts what a call says; of arguments the low half, where all that is asked for lies.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST: u32 = 16;
const SECOND: u32 = 24;

// What the kernel does with the call.
const KILL: u32 = 0x8000_0000;
const ALLOW: u32 = 0x7fff_0000;
const ANSWER: u32 = 0x0005_0000;
const REFUSE: u32 = ANSWER | libc::EPERM.unsigned_abs();
const ABSENCE: u32 = ANSWER | libc::ENOSYS.unsigned_abs();

/// The architecture by the kernel's number; a call of another one ends the process.
#[cfg(target_arch = "x86_64")]
const OWN: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const OWN: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const OWN: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const OWN: Option<u32> = None;

/// On x86-64 every call has a second number, from here on, that reads the same architecture: those are
/// absent. Elsewhere there are none so high.
const SECOND_NUMBERS: u32 = 0x4000_0000;

/// Puts the filter on the calling thread.
pub(super) fn deny(network: bool) -> Result<(), Lack> {
    let own = OWN.ok_or(Lack::Kernel)?;
    apply_filter(&program(own, network)?).map_err(|_| Lack::Kernel)
}

fn program(own: u32, network: bool) -> Result<BpfProgram, Lack> {
    let number = |call: i64| u32::try_from(call).map_err(|_| Lack::Failed);
    let mut all = vec![load(ARCHITECTURE), skip_if(EQUAL, own), answer(KILL), load(NUMBER)];
    all.extend([skip_unless(AT_LEAST, SECOND_NUMBERS), answer(ABSENCE)]);
    for call in ABSENT {
        all.extend([skip_unless(EQUAL, number(call)?), answer(ABSENCE)]);
    }
    for call in REFUSED {
        all.extend([skip_unless(EQUAL, number(call)?), answer(REFUSE)]);
    }
    let mut on = |call: i64, then: &[sock_filter]| -> Result<(), Lack> {
        let length = u8::try_from(then.len()).map_err(|_| Lack::Failed)?;
        all.push(sock_filter { jf: length, ..jump(EQUAL, number(call)?) });
        all.extend_from_slice(then);
        Ok(())
    };
    let flags = NAMESPACES.unsigned_abs();
    on(
        libc::SYS_clone,
        &[load(FIRST), skip_unless(ANY_BIT, flags), answer(REFUSE), answer(ALLOW)],
    )?;
    let [typed, other] = TYPED;
    on(
        libc::SYS_ioctl,
        &[
            load(SECOND),
            skip_unless(EQUAL, typed),
            answer(REFUSE),
            skip_unless(EQUAL, other),
            answer(REFUSE),
            answer(ALLOW),
        ],
    )?;
    if network {
        let local = libc::AF_UNIX.unsigned_abs();
        on(libc::SYS_socket, &[load(FIRST), skip_if(EQUAL, local), answer(REFUSE), answer(ALLOW)])?;
    }
    all.push(answer(ALLOW));
    Ok(all)
}

// The language of filters: a register, comparisons that jump forward, and an end.
const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const END: u16 = 0x06;

const fn load(at: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: at }
}

const fn answer(action: u32) -> sock_filter {
    sock_filter { code: END, jt: 0, jf: 0, k: action }
}

const fn jump(compare: u16, with: u32) -> sock_filter {
    sock_filter { code: compare, jt: 0, jf: 0, k: with }
}

/// The next step is left out where it holds.
const fn skip_if(compare: u16, with: u32) -> sock_filter {
    sock_filter { jt: 1, ..jump(compare, with) }
}

/// The next step is left out where it does not hold.
const fn skip_unless(compare: u16, with: u32) -> sock_filter {
    sock_filter { jf: 1, ..jump(compare, with) }
}
