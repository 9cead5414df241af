"""Cells that try to stop, starve or outlive the grader.

Each is the text of one cell, by class and variant. One that defines no `gram` gets a wrong one put
in front of it.
"""

HARM: dict[str, dict[str, str]] = {
    "ends the process": {
        "os._exit in a cell": """import os
os._exit(0)""",
        "os._exit in the call": """import os
def gram(x): os._exit(0)""",
        "the probe process's own status": """import os
def gram(x): os._exit(77)""",
        "sys.exit": """import sys
def gram(x): sys.exit(0)""",
        "segmentation fault": """import ctypes
def gram(x): ctypes.string_at(0)""",
        "abort": """import os
def gram(x): os.abort()""",
        "fork in a cell": """import os
os.fork()""",
        "exception while dying": """
class Last:
    def __del__(self): raise RuntimeError("10 points")
def gram(x):
    Last()
    raise KeyboardInterrupt
""",
        "at exit": """import atexit
atexit.register(print, 'passed')
""",
        "fault handler": """
import faulthandler
def gram(x):
    faulthandler.dump_traceback_later(0.01, repeat=True, exit=True)
    while True: pass
""",
        "no memory for the interpreter": """
import resource
def gram(x):
    resource.setrlimit(resource.RLIMIT_AS, (1, 1))
    return x
""",
        "no descriptors": """
import resource
def gram(x):
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    return x
""",
    },
    "kills others": {
        "kill itself": """import os
def gram(x): os.kill(os.getpid(), 9)""",
        "kill the parent": """import os
def gram(x): os.kill(os.getppid(), 9); return x""",
        "kill everything": """import os
def gram(x): os.kill(-1, 9); return x""",
        "kill everything in a cell": """import os
try:
    os.kill(-1, 9)
except OSError:
    pass""",
        "kill the group": """import os
def gram(x): os.killpg(0, 9); return x""",
        "kill by every number": """
import os
def gram(x):
    for pid in range(2, 4096):
        if pid != os.getpid():
            try: os.kill(pid, 9)
            except OSError: pass
    return x
""",
        "signal at the other end of a file": """
import fcntl, os, signal
def gram(x):
    reader, writer = os.pipe()
    for pid in (os.getppid(), -os.getpgid(os.getppid())):
        try:
            fcntl.fcntl(reader, fcntl.F_SETOWN, pid)
            fcntl.fcntl(reader, 10, signal.SIGKILL)
            fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            os.write(writer, b"x")
        except OSError:
            pass
    return x
""",
        "limits of others": """
import os, resource
def gram(x):
    for pid in range(1, 4096):
        if pid != os.getpid():
            try: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0))
            except OSError: pass
    return x
""",
    },
    "never ends": {
        "signal handlers": """
import signal
for n in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGXCPU):
    signal.signal(n, signal.SIG_IGN)
signal.setitimer = signal.alarm = lambda *a: None
def gram(x):
    while True: pass
""",
        "timers that fire in the handler": """
import signal
def again(*a):
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 1e-5)
    raise KeyboardInterrupt
for n in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF):
    signal.signal(n, again)
def gram(x):
    signal.setitimer(signal.ITIMER_REAL, 1e-5)
    while True: pass
""",
        "exceptions from another thread": """
import ctypes, threading
main = ctypes.c_ulong(threading.main_thread().ident)
def throw():
    while True: ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(SystemExit))
def gram(x):
    threading.Thread(target=throw, daemon=True).start()
    return x
""",
        "swallowed deadline": """
def gram(x):
    while True:
        try:
            while True: pass
        except BaseException:
            pass
""",
        "endless cell": """while True:
    pass""",
        "deadline swallowed in a cell": """
while True:
    try:
        while True: pass
    except BaseException:
        pass
""",
        "sleep": """import time
def gram(x): time.sleep(1000)""",
    },
    "loops that no exception reaches": {
        "loop in C": "def gram(x): return 10 ** 10 ** 8",
        "sum of a range": "def gram(x): return sum(range(10 ** 12))",
        "endless cell in C": "sum(range(10 ** 12))",
        "regular expression": """import re
def gram(x): return re.match('(a+)+$', 'a' * 64 + 'b')""",
        "held lock": """import threading
lock = threading.Lock()
lock.acquire()
def gram(x): lock.acquire()""",
        "stopped process": """import os, signal
def gram(x): os.kill(os.getpid(), signal.SIGSTOP)""",
    },
    "slow imports": {
        "slow import": """import time
time.sleep(1000)""",
        "module of its own": """
open("slow.py", "w").write("while True: pass")
import sys
sys.path.insert(0, ".")
import slow
""",
        "import in the call": """
open("slow.py", "w").write("import time; time.sleep(1000)")
def gram(x):
    import sys
    sys.path.insert(0, ".")
    import slow
""",
    },
    "fork bombs": {
        "processes in a cell": """
import os
try:
    while True:
        if os.fork() == 0:
            import time
            time.sleep(1000)
except OSError as error:
    print(error)
""",
        "processes in the call": """
import os
def gram(x):
    while True: os.fork()
""",
        "threads": """
import threading, time
try:
    while True: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
except RuntimeError:
    pass
""",
        "processes that change their number": """
import os
if os.fork() == 0:
    while True:
        if os.fork() != 0:
            os._exit(0)
""",
    },
    "memory bombs": {
        "memory": "def gram(x): return [bytearray(1 << 26) for _ in range(1000)]",
        "memory in a cell": "hoard = [bytearray(b'1') * (1 << 26) for _ in range(1000)]",
        "memory of torch": """import torch
hoard = [torch.ones(1 << 26) for _ in range(1000)]""",
        "memory of many": """
import os, time
for _ in range(8):
    if os.fork() == 0:
        hoard = bytearray(b"1") * (200 << 20)
        time.sleep(1000)
time.sleep(1000)
""",
        "memory of no process": """
import os
hoard = []
for _ in range(64):
    hoard.append(os.memfd_create("hoard"))
    os.write(hoard[-1], bytes(32 << 20))
""",
        "shared anonymous memory": """
import mmap
hoard = [mmap.mmap(-1, 1 << 26) for _ in range(16)]
for block in hoard:
    block.write(bytes(1 << 26))
""",
        "recursion": "def gram(x): return gram(x)",
    },
    "disk bombs": {
        "disk": """
with open("big", "wb") as file:
    while True: file.write(bytes(1 << 20))
""",
        "disk of many files": """
for n in range(10 ** 9):
    with open(f"/tmp/{n}", "wb") as file: file.write(bytes(1 << 20))
""",
        "files without a name": """
import os
hoard = []
while True:
    hoard.append(open("big", "wb", buffering=0))
    os.remove("big")
    for _ in range(16): hoard[-1].write(bytes(1 << 20))
""",
        "mapped files without a name": """
import ctypes, os
libc = ctypes.CDLL(None)
while True:
    with open("big", "w+b", buffering=0) as file:
        for _ in range(16): file.write(bytes(1 << 20))
        libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file.fileno(), ctypes.c_long(0))
    os.remove("big")
""",
        "files on their way between sockets": """
import os, socket
hoard = []
while True:
    with open("big", "w+b", buffering=0) as file:
        os.remove("big")
        for _ in range(16): file.write(bytes(1 << 20))
        hoard.append(socket.socketpair())
        socket.send_fds(hoard[-1][0], [b"x"], [file.fileno()])
""",
        "shared memory": """
with open("/dev/shm/big", "wb") as file:
    while True: file.write(bytes(1 << 20))
""",
        "deep folders": """
import os
while True:
    os.mkdir("a" * 200)
    os.chdir("a" * 200)
""",
        "many empty files": """
for n in range(10 ** 9):
    open(f"{n}", "w").close()
""",
    },
    "output bombs": {
        "output": """while True:
    print('passed ' * 10_000)""",
        "output of a subprocess": "!yes 'all tests passed'",
        "rich display": """from IPython.display import display, HTML
while True: display(HTML('x' * 10 ** 6))""",
    },
    "zip bombs": {
        "on disk": """
import zipfile
with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bomb:
    for n in range(6):
        bomb.writestr(str(n), bytes(16 << 20))
zipfile.ZipFile("bomb.zip").extractall()
""",
        "in memory": """
import zlib
layer = zlib.compress(bytes(1 << 26), 1)
def gram(x):
    unpacked = [zlib.decompress(layer) for _ in range(1000)]
    return x
""",
        "of torch": """
import torch
torch.save(torch.zeros(1).expand(1 << 20), "small.pt")
def gram(x): return torch.load("small.pt").expand(1 << 20, 1 << 20).clone()
""",
    },
    "outlives grading": {
        "daemon": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(0.01)
    os._exit(0)
""",
        "thread": """
import threading
def work():
    while True: pass
threading.Thread(target=work).start()
""",
        "thread in the call": """
import threading
def gram(x):
    threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()
    return x
""",
        "program in the background": "!nohup sleep 1000 >/dev/null 2>&1 &",
        "scheduled work": """
import atexit, signal, time
atexit.register(time.sleep, 1000)
signal.signal(signal.SIGALRM, lambda *a: time.sleep(1000))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
""",
    },
}
