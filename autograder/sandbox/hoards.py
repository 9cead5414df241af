"""Attempts to hold memory that neither a process's own limit nor a look at its pages counts.

Each is the text of one cell. It takes up to the given number of bytes, by its own count, and prints
`HELD` and how many of them it was left with; if that is more than is allowed, it holds them until
it is ended. What children hold is counted when they say that they have it. So how fast a machine is
makes no difference: whoever looks comes as late as it may, and only what ended the cell counts.
"""

from autograder.records import CellResult

_BEFORE = """
import array, ctypes, fcntl, mmap, os, signal, socket, struct, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = libc.madvise.argtypes[:2]
MB, MOST, hoard = 1 << 20, {most}, []
def checked(result):
    if result in (-1, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "refused")
    return result
def mapped(size, rights, flags, fd=-1):
    return checked(libc.mmap(None, size, rights, flags, fd, 0))
def pass_on(n_descriptors):
    # to a child, which keeps them open
    if os.fork() == 0:
        signal.pause()
        os._exit(0)
    for each in hoard:
        each.close() if hasattr(each, "close") else os.close(each)
    hoard.clear()
def in_a_child(take_there):
    # a child takes it, says how much it has, and stays; one that ends before was refused
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            take_there(writer)
            signal.pause()
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        told = file.readline()
    if not told.endswith(b"\\n"):
        raise OSError("refused to a child")
    return int(told)
def tell(writer, n):
    os.write(writer, b"%d\\n" % n)
"""
_AFTER = """
held = 0
try:
    while held < MOST:
        held += take()
except (OSError, MemoryError) as error:
    print(error)
print("HELD", held, flush=True)
while held >= MOST // 2:
    signal.pause()
"""
_FILL = """
def fill(writer):
    os.set_blocking(writer, False)
    n = 0
    try:
        while True:
            n += os.write(writer, bytes(1 << 16))
    except BlockingIOError:
        return n
"""

HOARDS: dict[str, str] = {
    "shared anonymous memory that is not mapped any more": """
def take():
    place = mapped(16 * MB, 3, 0x21)
    ctypes.memset(place, 1, 16 * MB)
    checked(libc.madvise(place, 16 * MB, 4))
    return 16 * MB
""",
    "a device that is mapped for all": """
def take():
    fd = os.open("/dev/zero", os.O_RDWR)
    place = mapped(16 * MB, 3, 0x01, fd)
    os.close(fd)
    ctypes.memset(place, 1, 16 * MB)
    checked(libc.madvise(place, 16 * MB, 4))
    return 16 * MB
""",
    "tables of pages that hold nothing": """
def take():
    place = mapped(1024 * MB, 1, 0x4022)
    libc.madvise(place, 1024 * MB, 15)
    for n in range(0, 1024 * MB, 2 * MB):
        ctypes.string_at(place + n, 1)
    return 512 * 4096
""",
    "tables of pages, in many processes": """
def take_there(writer):
    held = 0
    try:
        for _ in range(16):
            place = mapped(1024 * MB, 1, 0x4022)
            libc.madvise(place, 1024 * MB, 15)
            for n in range(0, 1024 * MB, 2 * MB):
                ctypes.string_at(place + n, 1)
                held += 4096
    except OSError:
        pass
    tell(writer, held)
def take():
    return in_a_child(take_there)
""",
    "lists of who may use a folder": """
entries = [(kind, 0xFFFFFFFF) for kind in (1, 4, 16, 32)]
entries[1:1] = [(2, os.getuid())] * 8000
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", kind, 7, who) for kind, who in entries)
def take():
    hoard.append(f"folder{len(hoard)}")
    os.mkdir(hoard[-1])
    for name in ("system.posix_acl_access", "system.posix_acl_default"):
        os.setxattr(hoard[-1], name, acl)
    return 2 * len(acl)
""",
    "memory that is written and then closed to writing": """
def take():
    place = mapped(16 * MB, 3, 0x22)
    ctypes.memset(place, 1, 16 * MB)
    checked(libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(16 * MB), 1))
    return 16 * MB
""",
    "stacks without a thread": """
def take():
    place = mapped(16 * MB, 3, 0x122)
    ctypes.memset(place, 1, 16 * MB)
    return 16 * MB
""",
    "processes whose first thread has ended": """
def take_there(writer):
    def keep():
        hoard.append(bytearray(b"1") * (32 * MB))
        tell(writer, 32 * MB)
        signal.pause()
    threading.Thread(target=keep).start()
    libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)
def take():
    return in_a_child(take_there)
""",
    "files without a name": """
def take():
    fd = os.memfd_create("hoard")
    hoard.append(fd)
    return sum(os.write(fd, bytes(MB)) for _ in range(16))
""",
    "large pipes": _FILL
    + """
def take():
    reader, writer = os.pipe()
    hoard.extend((reader, writer))
    fcntl.fcntl(writer, 1031, MB)
    n = fill(writer)
    if len(hoard) > 150:
        pass_on(len(hoard))
    return n
""",
    "pages given to a pipe": """
def take():
    reader, writer = os.pipe()
    hoard.extend((reader, writer))
    n = 0
    for _ in range(14):
        place = mapped(4 * MB, 3, 0x22)
        libc.madvise(place, 4 * MB, 14)
        start = (place + 2 * MB - 1) // (2 * MB) * (2 * MB)
        ctypes.memset(start, 1, 2 * MB)
        piece = struct.pack("QQ", start, 4096)
        checked(libc.vmsplice(writer, piece, 1, 0))
        libc.munmap(place, 4 * MB)
        n += 2 * MB
    return n
""",
    "buffers of sockets": _FILL
    + """
def take():
    pair = socket.socketpair()
    hoard.extend(pair)
    for end in pair:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
    n = sum(fill(end.fileno()) for end in pair)
    if len(hoard) > 150:
        pass_on(len(hoard))
    return n
""",
    "small buffers of many sockets": _FILL
    + """
def take():
    pair = socket.socketpair()
    hoard.extend(pair)
    n = sum(fill(end.fileno()) for end in pair)
    if len(hoard) > 150:
        pass_on(len(hoard))
    return n
""",
    "buffers of connections": _FILL
    + """
def take():
    listener = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(listener.getsockname())
    other, _ = listener.accept()
    listener.close()
    hoard.extend((one, other))
    n = 0
    for end in (one, other):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        n += fill(end.fileno())
    if len(hoard) > 150:
        pass_on(len(hoard))
    return n
""",
    "pages of files that are cut, in sockets": """
def take():
    one, other = socket.socketpair()
    hoard.extend((one, other))
    one.setblocking(False)
    n, size = 0, 4 * MB
    with open("cut", "w+b") as file:
        for _ in range(4):
            file.write(bytes(size))
            file.flush()
            try:
                for place in range(0, size, 4096):
                    os.sendfile(one.fileno(), file.fileno(), place, 1)
                    n += 4096
            except BlockingIOError:
                pass
            os.truncate("cut", 0)
            file.seek(0)
    return n
""",
    "connections that nobody accepts": _FILL
    + """
def take():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("")
    listener.listen(4096)
    hoard.append(listener)
    n = 0
    for _ in range(200):
        one = socket.socket(socket.AF_UNIX)
        one.connect(listener.getsockname())
        n += fill(one.fileno())
        one.close()
    return n
""",
    "messages that nobody reads": """
def take():
    reader = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    reader.bind("")
    hoard.append(reader)
    n = 0
    try:
        for _ in range(10000):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            one.setblocking(False)
            n += one.sendto(bytes(200_000), reader.getsockname())
            one.close()
    except BlockingIOError:
        return n
""",
    "a table of futexes": """
def take():
    checked(libc.prctl(78, 1, 1 << 23, 0, 0))
    if os.fork() == 0:
        signal.pause()
    checked(libc.prctl(78, 1, 1 << 23, 0, 0))
    return 64 << 23
""",
    "mappings": """
def take_there(writer):
    n = 60_000
    place = mapped(n * 4096, 0, 0x4022)
    for page in range(0, n, 2):
        checked(libc.mprotect(ctypes.c_void_p(place + page * 4096), ctypes.c_size_t(4096), 1))
    tell(writer, n * 216)
def take():
    return in_a_child(take_there)
""",
    "watches of epoll": """
import select
def take():
    if hoard:
        raise OSError("all descriptors are in use")
    polls, files = [select.epoll() for _ in range(120)], [os.eventfd(0) for _ in range(120)]
    hoard.extend((*polls, *files))
    kept = {0, 1, 2, *(poll.fileno() for poll in polls)}
    n = 0
    for file in files:
        # a child gives it other numbers: a watch of each stays as long as the file is open here
        child = os.fork()
        if child == 0:
            for number in {*range(250)} - kept - {file}:
                os.dup2(file, number)
                for poll in polls:
                    poll.register(number, 0)
            os._exit(77)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77:
            n += 120 * 120 * 192
    return n
""",
    "semaphores": """
def take():
    checked(libc.semget(0, 32000, 0o600))
    return 32000 * 64
""",
    "rules of Landlock": """
def take():
    fd = checked(libc.syscall(444, struct.pack("QQQ", 1, 3, 0), 16, 0))
    hoard.append(fd)
    for port in range(65536):
        checked(libc.syscall(445, fd, 2, struct.pack("QQ", 1, port), 0))
    return 65536 * 64
""",
    "locks on files": """
import random
def take():
    name = f"lock{len(hoard)}"
    file = open(name, "w+b")
    hoard.append(file)
    for place in range(0, 8000, 2):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    return 4000 * 216
""",
}
"""Code that defines `take`, by what it is that it takes; there is no other code in the sandbox."""


def hoarding(name: str, allowed: int) -> str:
    """Return a cell that takes up to twice what is allowed, and keeps what is more than that."""
    return _BEFORE.replace("{most}", str(2 * allowed)) + HOARDS[name] + _AFTER


def held(cell: CellResult) -> int:
    """Return how many bytes a cell was left with, by its own count; 0 if memory has ended it."""
    _, told, number = cell.output.rpartition("HELD ")
    return int(number.split()[0]) if told and not was_ended_by_memory(cell) else 0


def was_ended_by_memory(cell: CellResult) -> bool:
    """Whether a cell's process was ended because it had more memory, or files, than is allowed."""
    return (cell.error or "").startswith("memory: ")
