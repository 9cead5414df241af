"""What a process inside the sandbox gives up before it runs student code; Linux only.

bubblewrap builds one room for many submissions; here each submission gets a cell within it: its
own process, mount and IPC namespaces, its own empty folders, no capability, limits on memory,
processes, files and disk. Only the standard library: the worker inside the sandbox imports it.
"""

import ctypes
import os
import resource
import struct
from dataclasses import dataclass

_libc = ctypes.CDLL(None, use_errno=True)

_CLONE_NEWNS, _CLONE_NEWIPC = 0x00020000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID = 0x10000000, 0x20000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV = 1, 2, 4
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_CAPABILITY_VERSION_3 = 0x20080522
_MADV_COLLAPSE = 25
_HUGE_PAGE = 2 << 20

# What student code has no use for, by its number on x86_64 and on aarch64.
_FORBIDDEN = {
    # into other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    # memory that belongs to no process, so that no limit would count it
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    # other views of the file system
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    # large and young parts of the kernel
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "personality": (135, 92),
}
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

HOME = "/home/student"
WRITABLE = (HOME, "/tmp", "/dev/shm")
STUDENT_ID = 1000


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Times are wall time.

    Attributes:
        cell_seconds: for each cell; a probe's own limit comes with its request.
        submission_seconds: for everything together.
        memory_bytes: for each process beyond what torch and numpy need, and for all together.
        disk_bytes: for each of the folders that can be written.
        output_bytes: what is kept of one cell's output.
    """

    cell_seconds: float = 30.0
    submission_seconds: float = 120.0
    memory_bytes: int = 2 << 30
    processes: int = 64
    disk_bytes: int = 64 << 20
    open_files: int = 256
    output_bytes: int = 1 << 20


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def become(uid: int) -> None:
    """Leave root for good, so that limits on processes bind and root's files are shut."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def hide_memory(hidden: bool) -> None:
    """Let no process of the same user trace this one or read its memory."""
    _libc.prctl(_PR_SET_DUMPABLE, int(not hidden), 0, 0, 0)


def enter_user_namespace() -> None:
    """Become STUDENT_ID in a new user namespace whose children live in a new process namespace."""
    uid, gid = os.getuid(), os.getgid()
    hide_memory(False)  # or /proc/self would belong to root
    _check(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWPID), "unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{STUDENT_ID} {uid} 1"),
        ("gid_map", f"{STUDENT_ID} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def enter_empty_folders(limits: Limits) -> None:
    """Cover every writable folder, and /proc, by an empty one that dies with this process."""
    _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWIPC), "unshare")
    flags = _MS_NOSUID | _MS_NODEV
    options = f"mode=0700,size={limits.disk_bytes},nr_inodes=16384".encode()
    for folder in WRITABLE:
        _check(_libc.mount(b"none", folder.encode(), b"tmpfs", flags, options), folder)
    # Without it no process can see, and so none can signal or read, what is outside this cell.
    _check(_libc.mount(b"none", b"/proc", b"tmpfs", flags | _MS_RDONLY, b"mode=0555"), "/proc")
    os.chdir(HOME)


def drop_capabilities() -> None:
    """Give up all rights within the new namespaces, for this process and its children."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def forbid_system_calls() -> None:
    """Answer with EPERM what student code has no use for and kernels have been broken by.

    On other machines than the two whose numbers are known the namespaces must do alone.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        return
    arch, column = _ARCHITECTURES[machine], list(_ARCHITECTURES).index(machine)
    numbers = [of_machine[column] for of_machine in _FORBIDDEN.values()]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    kill, refuse, allow = 0x80000000, 0x00050001, 0x7FFF0000
    program = [(load, 0, 0, 4), (equal, 1, 0, arch), (give, 0, 0, kill), (load, 0, 0, 0)]
    program.append((at_least, len(numbers) + 1, 0, 0x40000000))  # the x32 numbering
    program += [(equal, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    program += [(give, 0, 0, allow), (give, 0, 0, refuse)]
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0), "seccomp")


def set_limits(limits: Limits) -> None:
    """Bind this process and its children by the kernel's own limits."""
    with open("/proc/self/statm") as file:
        data_now = int(file.read().split()[5]) * resource.getpagesize()
    cpu = int(limits.submission_seconds) + 1
    for name, value in (
        (resource.RLIMIT_DATA, data_now + limits.memory_bytes),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, limits.disk_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        hard = resource.getrlimit(name)[1]
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (wanted, wanted))


def private_bytes(exclude: frozenset[int], enough: int) -> int:
    """Memory of all visible processes but those excluded, pages they share divided fairly.

    The exact figure costs a walk through each process's pages, so it is looked up only where a
    cheap bound from above exceeds `enough`.
    """
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    pids = [pid for pid in pids if pid not in exclude]
    bound = sum(_resident(pid) for pid in pids)
    return bound if bound <= enough else sum(map(_proportional, pids))


def _resident(pid: int) -> int:
    return _kilobytes(pid, "status", ("RssAnon:", "RssShmem:")) << 10


def _proportional(pid: int) -> int:
    fair = _kilobytes(pid, "smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) << 10
    return fair or _resident(pid)  # a process may hide its map from others


def _kilobytes(pid: int, file_name: str, names: tuple[str, ...]) -> int:
    """Add up lines of a file in /proc; 0 if the process has ended or hides it."""
    try:
        with open(f"/proc/{pid}/{file_name}") as file:
            lines = [line.split() for line in file]
    except OSError:
        return 0
    return sum(int(line[1]) for line in lines if line[0] in names)


def collapse_memory() -> None:
    """Put this process's memory into huge pages: a fork then copies a page table half as long.

    Where the kernel cannot (before Linux 6.1), forks are slower and nothing else changes.
    """
    with open("/proc/self/maps") as file:
        regions = [line.split() for line in file]
    for region in regions:
        anonymous = len(region) == 5 or region[5] == "[heap]"
        if region[1] != "rw-p" or not anonymous:
            continue
        first, last = (int(address, 16) for address in region[0].split("-"))
        for start in range(-(-first // _HUGE_PAGE) * _HUGE_PAGE, last, _HUGE_PAGE):
            if start + _HUGE_PAGE > last:
                break
            pointer, size = ctypes.c_void_p(start), ctypes.c_size_t(_HUGE_PAGE)
            _libc.madvise(pointer, size, _MADV_COLLAPSE)
