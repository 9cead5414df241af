"""What a process inside the sandbox gives up before it runs student code; Linux only.

Namespaces, capabilities, memory, processes, files and disk, one function each; `inside.isolation`
puts them together.
"""

import _thread
import contextlib
import ctypes
import os
import signal
import stat
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

with contextlib.suppress(ImportError):  # elsewhere one's own code is graded, without any of this
    import resource

    _libc = ctypes.CDLL(None, use_errno=True)
    _libc_in_python = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock meanwhile

_CLONE_NEWNS, _CLONE_NEWIPC = 0x00020000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID = 0x10000000, 0x20000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_PR_SET_CHILD_SUBREAPER = 36
_CAPABILITY_VERSION_3 = 0x20080522
_MADV_COLLAPSE = 25
_HUGE_PAGE = 2 << 20
# Of addresses, beyond what is there and may be filled: enough to load torch, with CUDA, and to map
# files. Each GB that is mapped may cost 2 MB of page tables.
_MORE_ADDRESSES = 8 << 30
# What a socket keeps for whoever does not read: the kernel's default, which nobody may change.
_BUFFER_BYTES = 212_992
# What the kernel keeps of the regions that a process has mapped: 65,530, unless somebody allows
# more, of 256 bytes. To count them takes seconds where student code changes them all the time.
_MAPPING_BYTES = 16 << 20

# Timers and signals that wait, of some 350 bytes; by default as many as the machine has memory for.
_MOST_TIMERS = 4096
_FORK_SECONDS = 5.0

MOST_TERMINALS = 16  # of one submission

HOME = "/home/student"
WRITABLE = (HOME, "/tmp", "/dev/shm")
STUDENT_ID = 1000


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Times are CPU time, so a machine may be busy with other work.

    Attributes:
        cell_seconds: for each cell; a probe's own limit comes with its request.
        submission_seconds: for everything together.
        wall_factor: how often each of these times may pass on the clock, for code that waits
            instead of computing. Code that computes meets this limit only where the machine gives
            it less than one part in `wall_factor` of a core.
        memory_bytes: for each process beyond what torch and numpy need, and for all together.
        disk_bytes: for each of the folders that can be written.
        output_bytes: what is kept of one cell's output.
        keeps_children: no process may end without a trace, so that all CPU time is counted; data
            loaders with worker processes then fail.
    """

    cell_seconds: float = 30.0
    submission_seconds: float = 60.0
    wall_factor: float = 5.0
    memory_bytes: int = 2 << 30
    processes: int = 64
    disk_bytes: int = 64 << 20
    open_files: int = 256
    output_bytes: int = 1 << 20
    keeps_children: bool = False


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def fork() -> int:
    """Fork as `os.fork` does, but leave alone what Python holds for other threads.

    To repair that takes Python half as long as the fork itself, and where there is only one thread
    there is nothing to repair; where there are others, this is `os.fork`.
    """
    if _thread._count():
        return os.fork()
    pid: int = _libc_in_python.fork()
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"fork: {os.strerror(number)}")
    return pid


def fork_soon() -> int:
    """Fork, if need be when others have ended who take all processes that a user may have."""
    deadline = time.monotonic() + _FORK_SECONDS
    while True:
        try:
            return fork()
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def switch_user(uid: int) -> None:
    """Switch from root to this user for good: process limits and file permissions then apply."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none is lost."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "child_subreaper")


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


def mount_empty_folders(limits: Limits) -> None:
    """Mount an empty folder over every writable one and /proc; it dies with this process."""
    _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWIPC), "unshare")
    flags = _MS_NOSUID | _MS_NODEV
    options = f"mode=0700,size={limits.disk_bytes},nr_inodes=16384".encode()
    for folder in WRITABLE:
        _check(_libc.mount(b"none", folder.encode(), b"tmpfs", flags, options), folder)
    # All terminals of a machine are counted together. Where this is refused, the supervisor counts.
    most = f"newinstance,ptmxmode=0666,mode=0600,max={MOST_TERMINALS}".encode()
    _libc.mount(b"devpts", b"/dev/pts", b"devpts", _MS_NOSUID | _MS_NOEXEC, most)
    # With an empty /proc nobody can list processes outside this namespace, or read their memory.
    _check(_libc.mount(b"none", b"/proc", b"tmpfs", flags | _MS_RDONLY, b"mode=0555"), "/proc")
    os.chdir(HOME)


def drop_capabilities() -> None:
    """Give up all capabilities within the new namespaces, for this process and its children."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def set_limits(limits: Limits, others: int = 0) -> None:
    """Limit this process and its children by the kernel's resource limits.

    Args:
        others: threads of the same user elsewhere, which the kernel counts too.
    """
    with open("/proc/self/statm") as file:
        pages = [int(field) * resource.getpagesize() for field in file.read().split()]
    all_now, data_now = pages[0], pages[5]
    cpu = int(limits.submission_seconds) + 1
    for name, value in (
        (resource.RLIMIT_AS, all_now + limits.memory_bytes + _MORE_ADDRESSES),
        (resource.RLIMIT_DATA, data_now + limits.memory_bytes),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, limits.disk_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, limits.processes + others),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        _set_limit(name, value)
    for name, value in (
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, _MOST_TIMERS),
        (resource.RLIMIT_RTPRIO, 0),  # who makes music may let a program run before all others
        (resource.RLIMIT_NICE, 0),
    ):
        with contextlib.suppress(PermissionError):  # gVisor does not have them
            _set_limit(name, value)


def _set_limit(name: int, value: int) -> None:
    hard = resource.getrlimit(name)[1]
    wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(name, (wanted, wanted))


def stop_later(seconds: float, wall_factor: float) -> None:
    """Let this process get SIGPROF after so much CPU time, SIGALRM after a multiple on the clock.

    Args:
        seconds: 0 takes both back.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * wall_factor)


def hold_timers(held: bool) -> None:
    """Let what `stop_later` sends wait, or come."""
    how = signal.SIG_BLOCK if held else signal.SIG_UNBLOCK
    signal.pthread_sigmask(how, (signal.SIGPROF, signal.SIGALRM))


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time of these processes and of all children that they have waited for."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
            # After the name, which may hold anything: utime, stime, cutime, cstime.
            ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def processes() -> list[int]:
    """List every process that this one can see."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def descendants(pid: int) -> list[int]:
    """List the children of a process, theirs, and so on."""
    pids, parents = [], [pid]
    while parents:
        parent = parents.pop()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children") as file:
                    children = [int(child) for child in file.read().split()]
                pids += children
                parents += children
    return pids


def n_threads(pids: Iterable[int]) -> int:
    """Count the threads of these processes."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += len(os.listdir(f"/proc/{pid}/task"))
    return total


def n_terminals() -> int:
    """Count the terminals that are open here, of which the machine has some thousands in all."""
    try:
        return len(set(os.listdir("/dev/pts")) - {"ptmx"})
    except OSError:
        return 0


def threads_of_user(uid: int) -> int:
    """Count the threads of all processes of a user."""
    total = 0
    for pid in processes():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
            total += int(fields["Threads"]) * (int(fields["Uid"].split()[0]) == uid)
    return total


def private_bytes(pids: Iterable[int], enough: int) -> int:
    """Memory of these processes together, pages they share divided fairly.

    Counted are pages, here and in the swap, and the tables that lead to them; also what the kernel
    may keep of each process's mappings, and for each descriptor in the buffer of a pipe or a
    socket. The exact figure costs a walk through each process's pages, so it is taken only where a
    cheap upper bound exceeds `enough`.
    """
    seen = dict(filter(None, map(_thread_with_memory, pids)))
    bound = sum(_held(status, _resident(status), status["FDSize:"]) for status in seen.values())
    if bound <= enough:
        return bound
    total = 0
    for folder, status in seen.items():
        rollup = _numbers(f"{folder}/smaps_rollup")
        fair = sum(rollup[name] for name in ("Pss_Anon:", "Pss_Shmem:", "SwapPss:"))
        try:
            n_open = len(os.listdir(f"{folder}/fd"))
        except OSError:  # a process may hide from others what it has, or have ended
            n_open = status["FDSize:"]
        total += _held(status, fair or _resident(status), n_open)
        if total > enough:  # each walk is slow where student code changes what it has mapped
            break
    return total


def nameless_bytes(pids: Iterable[int], device: int, most_each: int) -> int:
    """What these processes hold on a disk in files that have no name any more.

    Args:
        most_each: counted for a file that is mapped and not open, whose size nothing tells.
    """
    bytes_of: dict[int, int] = {}
    mapped = f"{os.major(device):02x}:{os.minor(device):02x}"
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps") as file:
            for line in file:
                _, _, _, where, number, *path = line.split(maxsplit=5)
                if where == mapped and path and path[0].endswith("(deleted)\n"):
                    bytes_of.setdefault(int(number), most_each)
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    seen = os.stat(f"/proc/{pid}/fd/{name}")
                    if stat.S_ISREG(seen.st_mode) and (seen.st_nlink, seen.st_dev) == (0, device):
                        bytes_of[seen.st_ino] = seen.st_blocks * 512
    return sum(bytes_of.values())


def socket_bytes() -> int:
    """What the sockets in this network namespace may hold, those that nobody has accepted too."""
    with contextlib.suppress(OSError), open("/proc/self/net/unix") as file:
        return sum(1 for _ in file) * _BUFFER_BYTES
    return 0


def _thread_with_memory(pid: int) -> tuple[str, Mapping[str, int]] | None:
    """Return a folder of /proc that tells what a process holds, and its `status`; none for zombies.

    The process's own folder tells nothing once its first thread has ended and others go on.
    """
    with contextlib.suppress(OSError):
        for thread in (pid, *os.listdir(f"/proc/{pid}/task")):
            folder = f"/proc/{pid}/task/{thread}"
            status = _numbers(f"{folder}/status")
            if "VmPTE:" in status:
                return folder, status
    return None


def _held(status: Mapping[str, int], pages_kilobytes: int, n_open: int) -> int:
    pages = pages_kilobytes + status["VmPTE:"] << 10
    return pages + _MAPPING_BYTES + n_open * _BUFFER_BYTES


def _resident(status: Mapping[str, int]) -> int:
    return sum(status[name] for name in ("RssAnon:", "RssShmem:", "VmSwap:"))


def _numbers(path: str) -> Mapping[str, int]:
    """Read the numbers of a file in /proc by their names; 0 for what it does not tell.

    Those of memory are in kilobytes.
    """
    numbers: Counter[str] = Counter()
    with contextlib.suppress(OSError), open(path) as file:
        for line in file:
            name, *fields = line.split(maxsplit=2)
            if fields and fields[0].isdecimal():
                numbers[name] = int(fields[0])
    return numbers


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
