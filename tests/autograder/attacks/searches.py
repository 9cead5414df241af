"""Cells that look for what they must not see, or reach what they must not change.

Each is the text of one cell, by class and variant, and prints what it found: `FOUND []` is nothing.
"""

from pathlib import Path

ROOT = Path(__file__).parents[3]
PROJECT_PATHS = [str(ROOT / name) for name in ("tests", "assignments", "autograder", ".git")]

_READS = """
import os
def reads(path):
    try:
        return bool(os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1))
    except OSError:
        return False
def below(*folders):
    for folder in folders:
        for place, inner, files in os.walk(folder):
            if place.count("/") > 3:
                inner.clear()
            yield from (os.path.join(place, name) for name in files)
"""
_TRIES = """
def tries(calls):
    found = []
    for name, call in calls.items():
        try:
            call()
            found.append(name)
        except (OSError, ZeroDivisionError, ValueError):
            pass
    return found
"""

SEARCHES: dict[str, dict[str, str]] = {
    "searches memory": {
        "objects and frames": """
import gc, sys
names = ("autograder.grading.judge", "autograder.authoring.checks", "course_pkg", "assignments")
found = [n for n in sys.modules if n.startswith(names)]
found += [o for o in gc.get_objects() if type(o).__name__ in ("Check", "Part", "Mistake")]
frame = sys._getframe()
while frame:
    found += [n for n in frame.f_locals if n in ("expected", "reference", "checks")]
    frame = frame.f_back
print("FOUND", found)
""",
        "texts": """
import gc
words = ("BEGIN SOLUTION", "judge_" + "check", "The products are " + "right")
found = [text for text in gc.get_objects() if type(text) is dict for text in text.values()
         if type(text) is str and any(word in text for word in words)]
print("FOUND", [text[:80] for text in found if "gc.get_objects" not in text])
""",
        "memory of other processes": _TRIES
        + """
import ctypes, os
libc = ctypes.CDLL(None)
print("FOUND", tries({
    "own map": lambda: open("/proc/self/maps").read() and 1 / 0,
    "parent": lambda: open(f"/proc/{os.getppid()}/mem", "rb"),
    "trace": lambda: libc.ptrace(16, os.getppid(), 0, 0) and 1 / 0,
    "read": lambda: libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0) and 1 / 0,
    "descriptors": lambda: libc.syscall(438, 3, 0, 0) < 0 and 1 / 0,
}))
""",
    },
    "reads files": {
        "project": _READS + f"print('FOUND', [p for p in {PROJECT_PATHS} if reads(p)])",
        "grader": _READS
        + """
words = ("check", "judge", "gradebook", "solution", "received")
found = [p for p in below("/home", "/opt/course", "/run", "/tmp", "/srv", "/mnt") if reads(p)]
print("FOUND", [p for p in found if any(word in os.path.basename(p) for word in words)])
""",
        "notebooks of others": _READS
        + """
found = [p for p in below("/home", "/root", "/tmp", "/srv", "/var") if p.endswith(".ipynb")]
print("FOUND", [p for p in found if reads(p)])
""",
        "secrets": _READS
        + """
paths = ["/etc/shadow", "/etc/sudoers", "/root/.ssh", "/root/.bashrc", "/proc/1/environ"]
print("FOUND", [p for p in paths if reads(p)])
""",
        "by a link": _READS
        + f"""
found = []
for n, path in enumerate(["/etc/shadow", *{PROJECT_PATHS}]):
    os.symlink(path, f"link{{n}}")
    if reads(f"link{{n}}"):
        found.append(path)
print("FOUND", found)
""",
    },
    "edits the gradebook": {
        "every database": _READS
        + """
import os, sqlite3
found = []
own = os.path.expanduser("~/.cache/matplotlib")  # matplotlib's list of fonts, made by this process
for path in below("/home", "/tmp", "/srv", "/var"):
    if path.endswith((".db", ".json", ".csv")) and not path.startswith(own):
        try:
            open(path, "r+b")
            found.append(path)
        except OSError:
            pass
print("FOUND", found)
""",
        "by nbgrader": """
found = []
try:
    from nbgrader.api import Gradebook
    with Gradebook("sqlite:////tmp/gradebook.db") as book:
        found = [s.id for s in book.students]
except BaseException:
    pass
print("FOUND", found)
""",
        "folders that can be written": """
import os
allowed = (os.path.expanduser("~"), "/tmp", "/dev/shm", "/dev/mqueue", "/dev/pts")
if allowed[0].startswith("/tmp"):
    allowed = allowed[:1]
found = []
for folder, folders, _ in os.walk("/"):
    if folder.count("/") > 2:
        folders.clear()
    if folder.startswith(allowed):
        continue
    try:
        with open(os.path.join(folder, "owned"), "x"):
            found.append(folder)
    except OSError:
        pass
print("FOUND", found)
""",
        "by a link": """
import os
found = []
for n, path in enumerate(("/etc/owned", "/usr/owned", "/var/tmp/owned", "/run/owned")):
    os.symlink(path, f"link{n}")
    try:
        open(f"link{n}", "x")
        found.append(path)
    except OSError:
        pass
print("FOUND", found)
""",
    },
    "network": {
        "TCP": _TRIES
        + """
import socket
print("FOUND", tries({
    address: lambda address=address: socket.create_connection(address, timeout=0.2)
    for address in (("127.0.0.1", 22), ("1.1.1.1", 53), ("8.8.8.8", 443))
}))
""",
        "datagrams and names": _TRIES
        + """
import socket
print("FOUND", tries({
    "datagram": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53)),
    "name": lambda: socket.getaddrinfo("example.org", 80),
    "raw": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
}))
""",
        "sockets of the machine": _TRIES
        + """
import glob, socket
paths = [p for p in ("/dev/log", "/run/docker.sock", "/run/dbus/system_bus_socket") ]
paths += glob.glob("/tmp/*/*") + ["\\0autograder-user-61184"]
print("FOUND", tries({p: lambda p=p: socket.socket(socket.AF_UNIX).connect(p) for p in paths}))
""",
        "programs": """
import subprocess
found = []
for command in (["curl", "-sm1", "http://1.1.1.1"], ["ping", "-c1", "-W1", "1.1.1.1"],
                ["bash", "-c", "echo x > /dev/tcp/1.1.1.1/53"]):
    try:
        done = subprocess.run(command, capture_output=True, timeout=1)
        found += command[:1] * (done.returncode == 0)
    except (OSError, subprocess.TimeoutExpired):
        pass
print("FOUND", found)
""",
    },
    "detects the grader": {
        "environment": """
import os
words = ("SECRET", "PYTEST", "VIRTUAL", "GRADE", "CANARY")
print("FOUND", [k for k in os.environ if any(word in k for word in words)])
""",
        "other processes": """
import os
try:
    print("FOUND", [n for n in os.listdir("/proc") if n.isdigit()])
except OSError:
    print("FOUND", [])
""",
        "modules and main program": """
import sys
found = [n for n in sys.modules if "grade" in n or n.startswith("course_pkg")]
found += [a for a in sys.argv if "grade" in a] + [p for p in sys.path if "grade" in p]
print("FOUND", found)
""",
        "memory's traces of probes": """
import gc, types
found = [f.__module__ for f in gc.get_objects() if isinstance(f, types.FunctionType)
         and str(f.__module__).startswith("autograder") and "judge" in f.__name__]
print("FOUND", found)
""",
    },
    "rights": {
        "calls of root": _TRIES
        + """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("FOUND", tries({
    "setuid": lambda: os.setuid(0),
    "chroot": lambda: os.chroot("/tmp"),
    "priority": lambda: os.nice(-10),
    "trace": lambda: libc.ptrace(16, 1, 0, 0) and 1 / 0,
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) and 1 / 0,
    "node": lambda: os.mknod("disk", 0o60600, os.makedev(8, 0)),
}))
""",
        "young parts of the kernel": _TRIES
        + """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("FOUND", tries({
    "memory of no process": lambda: os.memfd_create("x"),
    "namespace": lambda: libc.unshare(0x10000000) and 1 / 0,
    "namespace of a child": lambda: libc.syscall(56, 0x10000011, 0, 0, 0, 0) < 0 and 1 / 0,
    "clone3": lambda: libc.syscall(435, None, 0) < 0 and ctypes.get_errno() != 22 and 1 / 0,
    "io_uring": lambda: libc.syscall(425, 1, ctypes.create_string_buffer(120)) < 0 and 1 / 0,
    "bpf": lambda: libc.syscall(321, 0, None, 0) < 0 and ctypes.get_errno() != 22 and 1 / 0,
    "keys": lambda: libc.syscall(248, b"user", b"x", b"x", 1, -3) < 0 and 1 / 0,
}))
""",
        "rarely used parts of the kernel": _TRIES
        + """
import ctypes, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def drive(number):  # 27 does nothing; others are for modems and radios
    fcntl.ioctl(os.open("/dev/ptmx", os.O_RDWR), 0x5423, struct.pack("i", number))
print("FOUND", tries({
    "line discipline": lambda: drive(0),
    "another one": lambda: drive(27),
    "segments": lambda: (
        os.uname().machine == "x86_64" and libc.syscall(154, 0, bytes(64), 64) >= 0 or 1 / 0),
}))
""",
        "programs of root": """
import glob, subprocess
found = []
for program in ("su", "sudo", "passwd", "mount", "newgrp", "pkexec"):
    try:
        done = subprocess.run([program, "-c", "id"], capture_output=True, timeout=1)
        found += [program] * (b"uid=0" in done.stdout)
    except (OSError, subprocess.TimeoutExpired):
        pass
print("FOUND", found)
""",
    },
}

_ON_A_SHARED_FILE = (
    _TRIES
    + """
import ctypes, fcntl, mmap, os, struct
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(os.__file__, os.O_RDONLY)
folder = os.open(os.path.dirname(os.__file__), os.O_RDONLY)
buffer = ctypes.create_string_buffer(4096)
"""
)

SEARCHES |= {
    "watches others": {
        "who opens a file": _ON_A_SHARED_FILE
        + """
watch = libc.inotify_init1(0o4000)
print("FOUND", tries({
    "inotify": lambda: watch >= 0 or 1 / 0,
    "its watch": lambda: libc.inotify_add_watch(watch, os.__file__.encode(), 0xfff) >= 0 or 1 / 0,
    "fanotify": lambda: libc.fanotify_init(0x200, 0) >= 0 or 1 / 0,
    "dnotify": lambda: fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_ACCESS),
    "lease": lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK),
}))
""",
        "what was read lately": _ON_A_SHARED_FILE
        + """
print("FOUND", tries({
    "without waiting": lambda: os.preadv(fd, [bytearray(9)], 0, os.RWF_NOWAIT),
    "made to be forgotten": lambda: os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED),
    "fetched": lambda: libc.readahead(fd, 0, 4096) == 0 or 1 / 0,
    "in memory": lambda: libc.mincore(
        ctypes.c_void_p(id(buffer) & -4096), ctypes.c_size_t(1), buffer) == 0 or 1 / 0,
    "counted": lambda: libc.syscall(451, fd, bytes(16), buffer, 0) == 0 or 1 / 0,
    "looked up": lambda: libc.syscall(
        437, -100, os.__file__.encode(), struct.pack("QQQ", 0, 0, 0x20), 24) >= 0 or 1 / 0,
}))
""",
        "who holds a lock": _ON_A_SHARED_FILE
        + """
print("FOUND", tries({
    "whole": lambda: fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB),
    "part": lambda: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 1),
    "look": lambda: fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack("hhqqi", 1, 0, 0, 0, 0)),
    "open": lambda: fcntl.fcntl(fd, 37, struct.pack("hhqqi", 0, 0, 0, 0, 0)),
}))
""",
        "what lies in memory beside": _ON_A_SHARED_FILE
        + """
# One page is read; the kernel maps those around it that are in memory, and this call says which.
libc.mmap.restype = ctypes.c_void_p
shared, n = os.open(ctypes.__file__, os.O_RDONLY), 4
place = libc.mmap(None, ctypes.c_size_t(4096 * n), 1, 1, shared, ctypes.c_long(0))
ctypes.string_at(place, 1)
pages, status = (ctypes.c_void_p * n)(*range(place, place + 4096 * n, 4096)), (ctypes.c_int * n)()
move_pages = 279 if os.uname().machine == "x86_64" else 239
print("FOUND", tries({
    "mapped": lambda: libc.syscall(move_pages, 0, ctypes.c_ulong(n), pages, None, status, 0) == 0
        or 1 / 0,
}))
""",
        "what the kernel tells of all": _READS
        + """
names = ("meminfo", "stat", "locks", "self/smaps", "self/maps", "self/pagemap", "sys/fs/inode-nr")
print("FOUND", [name for name in ("", *names) if reads(f"/proc/{name}")])
""",
        "what the kernel notes": _ON_A_SHARED_FILE
        + """
print("FOUND", tries({
    "log": lambda: libc.klogctl(3, buffer, 4096) >= 0 or 1 / 0,
    "mounts": lambda: libc.syscall(458, None, buffer, 9, 0) >= 0 or ctypes.get_errno() == 14
        or 1 / 0,
    "processes": lambda: libc.syscall(312, os.getpid(), os.getppid(), 0, 0, 0) >= 0 or 1 / 0,
}))
""",
    },
    "leaves something for the next": {
        "a port": _TRIES
        + """
import socket
def serve():
    with socket.create_server(("127.0.0.1", 47113)) as one:
        with socket.create_connection(one.getsockname()) as other:
            one.accept()[0].close()
print("FOUND", tries({"port": serve, "datagrams": lambda: socket.socket(type=socket.SOCK_DGRAM)}))
""",
        "what the kernel keeps for all": _TRIES
        + """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("FOUND", tries({
    "semaphores": lambda: libc.semget(4711, 1, 0o1600) >= 0 or 1 / 0,
    "memory": lambda: libc.shmget(4711, 4096, 0o1600) >= 0 or 1 / 0,
    "messages": lambda: libc.msgget(4711, 0o1600) >= 0 or 1 / 0,
    "requests": lambda: libc.syscall(206, 1, ctypes.create_string_buffer(8)) >= 0 or 1 / 0,
}))
""",
        "flags and times of files": _ON_A_SHARED_FILE
        + """
print("FOUND", tries({
    "flags": lambda: fcntl.ioctl(fd, 0x40086602, struct.pack("q", 0x40)),
    "how long it lives": lambda: fcntl.fcntl(fd, 1036, struct.pack("Q", 4)),
    "the same of one that is open": lambda: fcntl.fcntl(fd, 1038, struct.pack("Q", 4)),
    "read once and for all": lambda: fcntl.ioctl(fd, 0x40806685, bytearray(128)),
    "how it is locked": lambda: fcntl.ioctl(folder, 0x800C6613, bytearray(16)),
    "project": lambda: fcntl.ioctl(fd, 0x401C5820, bytes(28)),
    "times": lambda: os.utime(fd),
    "attribute": lambda: os.setxattr(fd, "user.left", b"1"),
}))
""",
    },
}

SEARCHES["takes away what all share"] = {
    "terminals": """
import os, time
def take(keep):
    try:
        while len(keep) < 100:
            keep.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        pass
    return len(keep)
n = 0
for _ in range(3):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, b"%d" % take([]))
        time.sleep(3)
        os._exit(0)
    n += int(os.read(reader, 9))
print("FOUND", [n] if n > 64 else [])
""",
    "memory for the kernel's own programs": _TRIES
    + """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
header = struct.pack("HP", 1, ctypes.addressof(program))
seccomp = 317 if os.uname().machine == "x86_64" else 277
print("FOUND", tries({
    "by its own call": lambda: libc.syscall(seccomp, 1, 0, header) == 0 or 1 / 0,
    "by prctl": lambda: libc.prctl(22, 2, header, 0, 0) == 0 or 1 / 0,
}))
""",
    "the processor": _TRIES
    + """
import os
print("FOUND", tries({
    "first in, first out": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "in turn": lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)),
    "before others": lambda: os.setpriority(os.PRIO_PROCESS, 0, -1),
}))
""",
}

LEAKS: dict[str, str] = {
    "code of the caller": """
import sys
def gram(x):
    print("PROBE", sys._getframe(1).f_code, sys._getframe(1).f_globals)
    return x
""",
    "source of the caller": """
import inspect, os, sys
def gram(x):
    for fd in (1, 2):
        os.write(fd, f"PROBE {inspect.stack()}".encode())
    return x
""",
    "inputs in an exception": """
def gram(x):
    raise ValueError(f"PROBE {x}")
""",
    "inputs as a result": "def gram(x):\n    return f'PROBE {x}'",
    "inputs in the name of an exception": """
def gram(x):
    raise type(f"PROBE {x}", (Exception,), {})
""",
    "inputs in a file": """
import os
if os.path.exists("PROBE"):
    print(open("PROBE").read())
def gram(x):
    open("PROBE", "w").write(f"PROBE {x}")
    os._exit(0)
""",
    "inputs for a visible test that is run late": """
import os
def gram(x):
    if x == "hang":
        while True: pass
    if x == "look":
        return open("PROBE").read() if os.path.exists("PROBE") else "nothing"
    open("PROBE", "a").write(f"PROBE {x}")
    return x
""",
    "inputs in which exception is raised": """
def gram(x):
    if type(x) is str:
        return x
    raise [LookupError, KeyError, IndexError, OSError][int(abs(float(x[0, 0])) * 100) % 4]("PROBE")
""",
}
"""Cells that try to get hidden tests, marked PROBE, into what the student reads."""
