"""What a process gives up is gone: tried in children, which give it up for good."""

import contextlib
import ctypes
import errno
import mmap
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder.inside import isolation, landlock, process_limits, seccomp
from autograder.inside.process_limits import Limits
from tests.autograder.users import NOBODY, open_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")

VERSION = landlock.version() if sys.platform == "linux" else 0
COLUMN = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)
HEADERS = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/include/asm-generic/unistd.h"),
)
needs_landlock = pytest.mark.skipif(VERSION == 0, reason="this kernel has no Landlock")
needs_numbers = pytest.mark.skipif(COLUMN is None, reason="system calls of this machine unknown")


def in_child(function):
    """Return what the function returns in a child, as text, or the exception's errno name."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = str(function())
        except OSError as error:
            answer = errno.errorcode.get(error.errno, str(error))
        except BaseException as error:
            answer = repr(error)
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    with open(reader) as file:
        return file.read()


def refused(*names):
    """Filter as in tier B and make one call, by its number; its errno."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long  # an address may look negative in half as many bits

    def call():
        process_limits.drop_capabilities()
        seccomp.deny(seccomp.UNNEEDED | seccomp.WITHOUT_NAMESPACES)
        result = libc.syscall(*names)
        return errno.errorcode[ctypes.get_errno()] if result < 0 else "done"

    return in_child(call)


@pytest.fixture
def folders(tmp_path):
    for name in ("open", "work", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    return tmp_path


def under_landlock(folders, function, network=False):
    def enter_and_call():
        process_limits.drop_capabilities()
        readable = ["/usr", "/lib", "/lib64", sys.base_prefix, str(folders / "open"), "/nowhere"]
        rules = landlock.make_ruleset(readable, [str(folders / "work")], network=network)
        landlock.enter(rules)
        return function()

    return in_child(enter_and_call)


# ------------------------------------------------------------------ Landlock
@needs_landlock
@pytest.mark.parametrize(
    ("expected", "act"),
    [
        ("open", lambda at: (at / "open/file").read_text()),
        ("EACCES", lambda at: (at / "open/file").write_text("x")),
        ("EACCES", lambda at: (at / "open/new").touch()),
        ("EACCES", lambda at: (at / "open/file").unlink()),
        ("EACCES", lambda at: (at / "closed/file").read_text()),
        ("EACCES", lambda at: os.listdir(at / "closed")),
        ("EACCES", lambda at: os.listdir(at)),
        ("EACCES", lambda at: os.listdir("/proc")),
        ("work", lambda at: (at / "work/file").read_text()),
        ("1", lambda at: (at / "work/new").write_text("x")),
        ("None", lambda at: (at / "work/folder").mkdir()),
        ("None", lambda at: (at / "work/file").unlink()),
        ("None", lambda at: os.mkfifo(at / "work/pipe")),
        ("None", lambda at: os.symlink(at / "closed/file", at / "work/link")),
        ("EACCES", lambda at: os.mknod(at / "work/disk", 0o60600, os.makedev(8, 0))),
        ("EACCES", lambda at: os.rename(at / "work/file", at / "open/file")),
        ("EXDEV", lambda at: os.link(at / "open/file", at / "work/linked")),
    ],
)
def test_landlock_allows_only_what_is_named(folders, expected, act):
    assert under_landlock(folders, lambda: act(folders)) == expected


@needs_landlock
def test_landlock_is_not_led_out_by_a_link(folders):
    (folders / "open/link").symlink_to(folders / "closed/file")
    assert under_landlock(folders, (folders / "open/link").read_text) == "EACCES"


@pytest.mark.skipif(VERSION < 3, reason="this Landlock lets files be cut")
def test_landlock_lets_nothing_be_cut(folders):
    assert under_landlock(folders, lambda: os.truncate(folders / "open/file", 0)) == "EACCES"


@pytest.mark.skipif(VERSION < 4, reason="this Landlock lets TCP be")
@pytest.mark.parametrize(("network", "expected"), [(False, "EACCES"), (True, "None")])
def test_landlock_holds_tcp_back_unless_it_is_left_alone(folders, network, expected):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        client = socket.socket()
        with client:
            assert under_landlock(folders, lambda: client.connect(address), network) == expected


@pytest.mark.skipif(VERSION < landlock.SIGNALS_SINCE, reason="this Landlock lets signals pass")
def test_landlock_holds_signals_to_others_back_but_not_to_its_own(folders):
    outside = os.getpid()
    assert under_landlock(folders, lambda: os.kill(outside, 0)) == "EPERM"

    def end_own_child():
        child = os.fork()
        if child == 0:
            signal.pause()
        os.kill(child, signal.SIGKILL)
        return os.waitpid(child, 0)[1]

    assert under_landlock(folders, end_own_child) == "9"


@needs_landlock
def test_rules_cannot_be_widened_after_entering(folders):
    def look():
        return [name for name in range(3, 64) if _points_to_rules(name)]

    assert under_landlock(folders, look) == "[]"


def _points_to_rules(fd):
    try:
        return "landlock" in os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return False


def test_rights_grow_with_the_version_as_the_kernel_documents():
    # Documentation/userspace-api/landlock: 13 rights to files at first; refer, truncate, devices.
    counts = [landlock._all_files(version).bit_count() for version in range(1, 8)]
    assert counts == [13, 14, 15, 15, 16, 16, 16]


def test_kernel_without_landlock_has_version_0(monkeypatch):
    monkeypatch.setattr(landlock, "_CREATE_RULESET", 1023)  # no such call
    assert landlock.version() == 0


# ------------------------------------------------------------------ system calls
@needs_numbers
@pytest.mark.parametrize("name", sorted(seccomp.UNNEEDED | seccomp.WITHOUT_NAMESPACES))
def test_system_call_is_refused(name):
    number = (seccomp.UNNEEDED | seccomp.WITHOUT_NAMESPACES)[name][COLUMN]
    if number is None:
        pytest.skip("this machine has no such call")
    assert refused(number, 0, 0, 0, 0, 0, 0) == "EPERM"


def test_what_docker_denies_is_denied():
    """The list above names what it tries itself, so that a call left out of it would be missed."""
    # Of what Docker's default profile blocks ("Seccomp security profiles for Docker"), all that
    # a process without rights could do otherwise.
    blocked = (
        *("add_key", "bpf", "finit_module", "init_module", "kcmp", "kexec_load", "keyctl", "mbind"),
        *("mount", "move_pages", "open_by_handle_at", "perf_event_open", "personality"),
        *("pivot_root", "process_vm_readv", "process_vm_writev", "ptrace", "request_key", "setns"),
        *("umount2", "unshare", "userfaultfd"),
    )
    assert set(blocked) <= set(seccomp.UNNEEDED)


@pytest.mark.parametrize("column", [0, 1])
def test_numbers_of_system_calls_match_the_kernels_headers(column):
    if not HEADERS[column].exists():
        pytest.skip(f"{HEADERS[column]} is not installed")
    text = HEADERS[column].read_text()
    published = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text))
    named = seccomp.UNNEEDED | seccomp.WITHOUT_NAMESPACES
    by_argument = (
        *("clone", "prlimit64", "socket", "socket", "socketpair", "socketpair", "fcntl"),
        *("ioctl", "mmap", "setsockopt", "prctl", "rt_sigaction"),
    )
    named |= dict(zip(by_argument, _conditional(), strict=True))
    named["clone3"] = (seccomp._CLONE3,) * 2
    known = {name for name, pair in named.items() if name in published and pair[column]}
    assert len(known) > 40
    assert {name: named[name][column] for name in known} == {
        name: int(published[name]) for name in known
    }


def _conditional():
    conditions = (*seccomp._ONLY_WITH, *seccomp._NEVER_WITH, seccomp._KEEPS_CHILDREN)
    return [numbers for numbers, *_ in conditions]


@needs_numbers
@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        (0, (0x10000000 | 17, 0, 0, 0, 0), "EPERM"),  # clone with a new user namespace
        (1, (os.getpid(), resource.RLIMIT_CORE, 0, 0), "EPERM"),  # limits of another process
        (1, (0, resource.RLIMIT_CORE, 0, 0), "done"),
        (4, (1, 2, 0, None), "EPERM"),  # datagrams
        (4, (1, 1, 0, ctypes.create_string_buffer(8)), "done"),  # streams
        *((6, (0, command, 0), "EPERM") for command in (5, 6, 7, 36, 37, 38, 1024, 1026, 1031)),
        *((6, (0, command, 0), "EPERM") for command in (1036, 1038, 1039, 12345)),  # hints, and new
        *((6, (1, command, 0), "done") for command in (1, 3)),
        *((7, (1, command, 0), "EPERM") for command in (0x40086602, 0x401C5820, 0x5412, 0x5423)),
        *((7, (1, command, 0), "EPERM") for command in (0x40806685, 0x800C6613, 0xC0189436, 99)),
        *((7, (-1, command, 0), "EBADF") for command in (0x5401, 0x541B, 0x5451, 0x80045430)),
        *((8, (0, 4096, 3, flags, -1, 0), "EPERM") for flags in (0x21, 0x23, 0x4021)),  # shared
        (8, (0, 4096, 3, 0x22, -1, 0), "done"),
        (8, (0, 4096, 1, 0x01, -1, 0), "EBADF"),  # of a file: for the kernel to judge
        *((9, (-1, 1, option, None, 0), "EPERM") for option in (7, 8, 32, 33)),
        (9, (-1, 1, 2, None, 0), "EBADF"),
        *((10, (option, 0, 0, 0, 0), "EPERM") for option in (4, 22, 78)),
        (10, (3, 0, 0, 0, 0), "done"),
    ],
)
def test_system_call_is_refused_by_its_arguments(call, arguments, expected):
    assert refused(_conditional()[call][COLUMN], *arguments) == expected


@needs_numbers
@pytest.mark.parametrize("family", range(1, 46))
def test_only_unix_sockets_open_where_there_are_namespaces(family):
    def call():
        process_limits.drop_capabilities()
        seccomp.deny(seccomp.UNNEEDED)
        for make in (socket.socket, socket.socketpair):
            with contextlib.suppress(OSError):
                make(family, socket.SOCK_STREAM)
                return "opened"
        socket.socket(family, socket.SOCK_DGRAM)

    assert in_child(call) == ("opened" if family == socket.AF_UNIX else "EPERM")


@needs_numbers
def test_clone3_seems_not_to_exist_so_that_libraries_do_without():
    assert refused(seccomp._CLONE3, 0, 0) == "ENOSYS"


@needs_numbers
def test_sigchld_keeps_its_action_only_where_children_must_be_counted():
    def act(keeps_children):
        process_limits.drop_capabilities()
        seccomp.deny({}, keeps_children)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        return "done"

    assert in_child(lambda: act(False)) == "done"
    assert in_child(lambda: act(True)) == "EPERM"


@needs_numbers
@pytest.mark.parametrize("keeps_children", [False, True])
def test_threads_and_programs_start_in_spite_of_the_filter(keeps_children):
    def act():
        process_limits.drop_capabilities()
        seccomp.deny(seccomp.UNNEEDED | seccomp.WITHOUT_NAMESPACES, keeps_children)
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        return subprocess.run(["true"]).returncode

    assert in_child(act) == "0"


# ------------------------------------------------------------------ processes
def test_descendants_are_found_even_where_their_parent_has_ended():
    reader, writer = os.pipe()

    def leave_an_orphan():
        process_limits.adopt_orphans()
        child = os.fork()
        if child == 0:
            if os.fork() == 0:
                os.write(writer, b"!")
                time.sleep(20)  # not for ever: whoever waits for this test's pipe waits for it
                os._exit(0)
            os.read(reader, 1)
            os._exit(0)
        os.waitpid(child, 0)
        (orphan,) = process_limits.descendants(os.getpid())
        os.kill(orphan, signal.SIGKILL)
        return os.waitpid(orphan, 0)[0] == orphan

    assert in_child(leave_an_orphan) == "True"


def test_no_program_runs_before_all_others(monkeypatch):
    """Some systems let those who make music do so; here the limits may be 0 already."""
    asked = {}
    monkeypatch.setattr(process_limits, "_set_limit", asked.__setitem__)
    process_limits.set_limits(Limits())
    assert asked[resource.RLIMIT_RTPRIO] == asked[resource.RLIMIT_NICE] == 0


def test_threads_of_processes_are_counted():
    ended = threading.Event()
    before = process_limits.n_threads([os.getpid()])
    others = [threading.Thread(target=ended.wait) for _ in range(3)]
    for other in others:
        other.start()
    assert process_limits.n_threads([os.getpid(), 1 << 30]) == before + 3
    ended.set()
    for other in others:
        other.join()


def test_threads_of_this_user_are_counted():
    assert process_limits.threads_of_user(os.getuid()) >= threading.active_count()
    assert process_limits.threads_of_user(61000) == 0


def test_memory_of_a_process_is_counted_exactly_only_where_it_may_be_too_much():
    hoard = bytearray(64 << 20)
    hoard[:: 4 << 10] = b"1" * (16 << 10)
    assert process_limits.private_bytes([os.getpid()], enough=1) > 64 << 20
    assert process_limits.private_bytes([os.getpid()], enough=1 << 40) > 64 << 20
    assert process_limits.private_bytes([], enough=1) == 0
    gone = subprocess.Popen(["true"])
    os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)  # a zombie holds nothing
    assert process_limits.private_bytes([gone.pid], enough=1) == 0
    gone.wait()


def test_timers_are_bounded():
    """Each takes memory of the kernel's, and by default their number grows with the machine."""

    def make_many():
        process_limits.set_limits(Limits())
        libc = ctypes.CDLL(None, use_errno=True)
        create = {"x86_64": 222, "aarch64": 107}[os.uname().machine]
        no_signal, made = struct.pack("@qii48x", 0, 0, 1), ctypes.c_int()
        n = 0
        while n < 10_000 and libc.syscall(create, 1, no_signal, ctypes.byref(made)) == 0:
            n += 1
        return n

    assert 0 < int(in_child(make_many)) <= process_limits._MOST_TIMERS


def test_files_without_a_name_are_counted(tmp_path):
    """Also those that are mapped, and open no more; each once, whoever has it."""
    size, device = 1 << 16, os.stat(tmp_path).st_dev
    with open(tmp_path / "named", "wb") as named:
        named.write(bytes(size))
        named.flush()
        assert process_limits.nameless_bytes([os.getpid()], device, 5) == 0
        with open(tmp_path / "open", "wb") as file:
            file.write(bytes(size))
            file.flush()
            os.fsync(file.fileno())
            os.remove(file.name)
            pids = [os.getpid(), os.getpid()]
            assert size <= process_limits.nameless_bytes(pids, device, 5) < 2 * size
    with open(tmp_path / "mapped", "wb+") as file:
        file.write(bytes(size))
        file.flush()
        mapped = mmap.mmap(file.fileno(), 4096, mmap.MAP_SHARED, mmap.PROT_READ)
        os.remove(file.name)
    libc = ctypes.CDLL(None)
    own = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    for name in os.listdir(own):  # mmap keeps a descriptor of its own
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").endswith("/mapped (deleted)"):
                libc.close(int(name))
    os.close(own)
    assert process_limits.nameless_bytes([os.getpid()], device, 777) == 777
    del mapped


def test_sockets_that_a_network_holds_are_counted():
    pairs = [socket.socketpair() for _ in range(50)]
    assert process_limits.socket_bytes() >= 100 * 212_992
    for pair in pairs:
        for end in pair:
            end.close()


# ------------------------------------------------------------------ isolation
@needs_numbers
def test_where_namespaces_are_forbidden_bubblewrap_serves_one_submission():
    def choose():
        process_limits.drop_capabilities()
        seccomp.deny(seccomp.UNNEEDED)
        chosen = isolation.choose_isolation({"tier": "A", "within": "bubblewrap"}, Limits())
        return f"{type(chosen).__name__} {chosen.reusable} {chosen.description}"

    chosen = in_child(choose)
    assert chosen.startswith(
        "PerSubmission False tier A: bubblewrap, started afresh for each submission"
    )


def test_tier_b_needs_another_user_or_a_landlock_that_holds_signals_back(monkeypatch, tmp_path):
    monkeypatch.setattr(landlock, "version", lambda: landlock.SIGNALS_SINCE - 1)
    with pytest.raises(OSError, match=r"Landlock is 5 here; Linux 6\.12"):
        isolation.UserOrLandlock(Limits(), None, [], str(tmp_path))


def test_tier_b_needs_the_numbers_of_system_calls(monkeypatch, tmp_path):
    monkeypatch.setattr(seccomp, "architecture_is_known", lambda: False)
    monkeypatch.setattr(landlock, "version", lambda: 9)
    with pytest.raises(OSError, match="seccomp: the system calls of this machine are not known"):
        isolation.UserOrLandlock(Limits(), None, [], str(tmp_path))


def test_files_below_a_folder_are_added_up_until_it_is_enough(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("/usr")
    found = isolation._bytes_below(str(tmp_path), 1 << 30)
    assert 100_000 <= found < 200_000
    assert isolation._bytes_below(str(tmp_path), 1) > 1


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become others")
def test_folder_that_cannot_be_looked_into_counts_as_too_many_bytes():
    with open_folder() as place:
        hidden = place / "hidden"
        hidden.mkdir(mode=0o300)
        (hidden / "file").write_bytes(b"x" * 100_000)
        os.chown(hidden, NOBODY, NOBODY)
        child = os.fork()
        if child == 0:
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os._exit(isolation._bytes_below(str(place), 1 << 30) <= 1 << 30)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become others")
def test_session_starts_in_an_empty_folder_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation.process_limits, "adopt_orphans", lambda: None)
    tier = isolation.UserOrLandlock(Limits(), NOBODY, [], str(tmp_path))
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "by the one before").touch()
    tier.prepare()
    assert os.listdir(tmp_path) == []
    monkeypatch.setattr(isolation, "empty_folder", lambda _: None)
    (tmp_path / "left").touch()
    with pytest.raises(OSError, match="could not be emptied"):
        tier.prepare()


def test_too_many_files_count_as_too_many_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation, "_MOST_FILES", 5)
    for n in range(6):
        (tmp_path / f"{n}").touch()
    assert isolation._bytes_below(str(tmp_path), 1 << 30) > 1 << 30
