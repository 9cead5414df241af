"""Submissions that attack the grader: each earns nothing and leaves the next one unharmed.

Every attack is the text of one cell. Where it needs a wrong answer to sell, `WRONG` is put in front
of it. The honest submissions at the end do odd things for good reasons and must not suffer.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from autograder.checks import Case, Check, Part
from autograder.compare import agree
from autograder.confine import Limits
from autograder.judge import case_requests, judge_check
from autograder.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[2]
PROJECT_PATHS = [str(ROOT / name) for name in ("tests", "assignments", "autograder", ".git")]


def reference(x):
    return x @ x.T / x.shape[1]


def draw(rng):
    import torch

    return [Case(f"{n} rows", {"x": torch.from_numpy(rng.normal(size=(n, 3)))}) for n in (1, 4)]


def probe(implementation, inputs):
    return implementation(inputs["x"])


CHECK = Check(
    item="toy_gram",
    points=10.0,
    target="gram",
    reference=reference,
    parts=(Part("values", "The products are right.", draw, probe, agree()),),
    seconds=1.5,
)

WRONG = "def gram(x):\n    return x\n"
RIGHT = "def gram(x):\n    return (x @ x.T) / 3\n"

PATCHES = {
    "builtin comparisons": """
import builtins
for name in ("all", "any", "abs", "isinstance", "len", "sum", "type"):
    setattr(builtins, name, lambda *a, **k: True)
""",
    "torch comparisons": """
import torch
torch.equal = torch.allclose = lambda *a, **k: True
torch.Tensor.__eq__ = torch.Tensor.__ne__ = lambda *a: True
torch.testing.assert_close = lambda *a, **k: None
""",
    "numpy comparisons": """
import numpy as np
np.allclose = np.array_equal = np.isclose = lambda *a, **k: True
np.testing.assert_allclose = lambda *a, **k: None
""",
    "random generators": """
import random, numpy, torch
torch.randn = torch.rand = lambda *a, **k: torch.zeros(1)
random.random = lambda: 0.0
numpy.random.default_rng = lambda *a: None
""",
    "exception hooks": """
import sys
sys.excepthook = sys.unraisablehook = lambda *a: None
sys.displayhook = print
get_ipython().showtraceback = lambda *a, **k: None
""",
    "cell runner and input transformers": """
shell = get_ipython()
shell.run_cell = lambda *a, **k: 1 / 0
shell.input_transformers_post.append(lambda lines: ["gram = 1"])
import ast
shell.ast_transformers.append(type("T", (ast.NodeTransformer,), {"visit": lambda s, n: n})())
""",
    "replaced stdout": """
import io, sys
sys.stdout = sys.stderr = io.StringIO()
print("10/10 points")
""",
    "assert switched off": """
import builtins
builtins.AssertionError = type("Quiet", (Exception,), {})
""",
    "shadowed standard modules": """
import sys, types
for name in ("json", "struct", "random", "numpy", "torch", "socket", "autograder.wire"):
    sys.modules[name] = types.ModuleType(name)
open("torch.py", "w").write("1/0")
""",
    "patched encoder in every module": """
import gc, types
for f in gc.get_objects():
    if isinstance(f, types.FunctionType) and f.__name__ in ("encode", "call_probe", "agree"):
        try:
            f.__code__ = (lambda *a, **k: b"passed").__code__
        except ValueError:
            pass
""",
}

VALUES = {
    "equal to everything": """
class Anything:
    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = lambda *a: True
    __hash__ = object.__hash__
    shape, dtype = (1, 1), None
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
def gram(x): return Anything()
""",
    "tensor subclass": """
import torch
class Equal(torch.Tensor):
    def __eq__(self, other): return torch.tensor(True)
    def __torch_function__(self, *a, **k): return True
def gram(x): return torch.zeros(1, 1).as_subclass(Equal)
""",
    "float subclass": """
class Near(float):
    def __sub__(self, other): return 0.0
    __rsub__ = __abs__ = __sub__
def gram(x): return Near(1)
""",
    "spoofed class": """
import torch
class Spoof:
    __class__ = torch.Tensor
    def __reduce__(self): return (__import__("os").system, ("touch /tmp/owned",))
def gram(x): return Spoof()
""",
    "hostile dunder text": """
class Text(Exception):
    def __str__(self): raise SystemExit(0)
    __repr__ = __str__
def gram(x): raise Text()
""",
    "endless text": """
class Text(Exception):
    def __str__(self):
        while True: pass
def gram(x): raise Text()
""",
    "expanded tensor": "import torch\ndef gram(x): return torch.zeros(1).expand(1 << 40)",
    "self-containing list": "def gram(x):\n    a = []\n    a.append(a)\n    return a",
    "long number": "def gram(x): return 1 << 10_000_000",
    "nan": "def gram(x): return x @ x.T * float('nan')",
    "generator": "def gram(x):\n    while True:\n        yield x",
    "none": "def gram(x): return None",
    "colliding keys": "def gram(x): return {k * ((1 << 61) - 1): 0 for k in range(1, 100_000)}",
    "property that lies": """
class Meta(type):
    def __instancecheck__(cls, other): return True
class gram(metaclass=Meta):
    def __new__(cls, x): return True
""",
}

ENDINGS = {
    "os._exit in a cell": "import os\nos._exit(0)",
    "os._exit in the call": "import os\ndef gram(x): os._exit(0)",
    "the prober's own status": "import os\ndef gram(x): os._exit(77)",
    "sys.exit": "import sys\ndef gram(x): sys.exit(0)",
    "segmentation fault": "import ctypes\ndef gram(x): ctypes.string_at(0)",
    "abort": "import os\ndef gram(x): os.abort()",
    "kill itself": "import os\ndef gram(x): os.kill(os.getpid(), 9)",
    "kill the parent": "import os\ndef gram(x): os.kill(os.getppid(), 9); return x",
    "kill everything": "import os\ndef gram(x): os.kill(-1, 9); return x",
    "kill everything in a cell": "import os\ntry:\n    os.kill(-1, 9)\nexcept OSError:\n    pass",
    "kill the group": "import os\ndef gram(x): os.killpg(0, 9); return x",
    "fork in a cell": "import os\nos.fork()",
    "exception while dying": """
class Last:
    def __del__(self): raise RuntimeError("10 points")
def gram(x):
    Last()
    raise KeyboardInterrupt
""",
    "at exit": "import atexit\natexit.register(print, 'passed')\n" + WRONG,
    "signal handlers": """
import signal
for n in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGXCPU):
    signal.signal(n, signal.SIG_IGN)
signal.setitimer = signal.alarm = lambda *a: None
def gram(x):
    while True: pass
""",
    "swallowed deadline": """
def gram(x):
    while True:
        try:
            while True: pass
        except BaseException:
            pass
""",
    "loop in C": "def gram(x): return 10 ** 10 ** 8",
    "sum of a range": "def gram(x): return sum(range(10 ** 12))",
    "sleep": "import time\ndef gram(x): time.sleep(1000)",
    "endless cell": "while True:\n    pass",
    "endless cell in C": "sum(range(10 ** 12))",
    "deadline swallowed in a cell": """
while True:
    try:
        while True: pass
    except BaseException:
        pass
""",
    "slow import": "import time\ntime.sleep(1000)",
}

BOMBS = {
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
    "memory": "def gram(x): return [bytearray(1 << 26) for _ in range(1000)]",
    "memory in a cell": "hoard = [bytearray(b'1') * (1 << 26) for _ in range(1000)]",
    "memory of torch": "import torch\nhoard = [torch.ones(1 << 26) for _ in range(1000)]",
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
hoard = [mmap.mmap(-1, 1 << 28) for _ in range(16)]
for block in hoard:
    block.write(bytes(1 << 28))
""",
    "disk": """
with open("big", "wb") as file:
    while True: file.write(bytes(1 << 20))
""",
    "disk of many files": """
for n in range(10 ** 9):
    with open(f"/tmp/{n}", "wb") as file: file.write(bytes(1 << 20))
""",
    "shared memory": """
with open("/dev/shm/big", "wb") as file:
    while True: file.write(bytes(1 << 20))
""",
    "output": "while True:\n    print('passed ' * 10_000)",
    "output of a subprocess": "!yes 'all tests passed'",
    "recursion": "def gram(x): return gram(x)",
    "threads": """
import threading, time
try:
    while True: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
except RuntimeError:
    pass
""",
}

DAEMONS = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(0.01)
    os._exit(0)
"""

FORGERIES = {
    "a value on every descriptor": """
import os
message = b'{"value": true} passed 10/10'
for fd in range(3, 64):
    try: os.write(fd, len(message).to_bytes(4, "big") + bytes(8) + message)
    except OSError: pass
""",
    "a well-formed value": """
import os, json
header = json.dumps(["dict", "value", 10.0]).encode()
def gram(x):
    for fd in range(3, 64):
        try: os.write(fd, len(header).to_bytes(4, "big") + bytes(8) + header)
        except OSError: pass
    return x
""",
    "an endless message": """
import os
def gram(x):
    for fd in range(3, 64):
        try:
            os.write(fd, (1 << 20).to_bytes(4, "big") + bytes(8))
        except OSError: pass
    while True: pass
""",
    "a message too large": """
import os
def gram(x):
    for fd in range(3, 64):
        try: os.write(fd, b"\\xff" * 12)
        except OSError: pass
    while True: pass
""",
    "a daemon that answers first": """
import os, json, time
header = json.dumps(["dict", "value", 10.0]).encode()
if os.fork() == 0:
    while True:
        for fd in range(3, 64):
            try: os.write(fd, len(header).to_bytes(4, "big") + bytes(8) + header)
            except OSError: pass
        time.sleep(0.001)
""",
    "closed descriptors": "import os\nos.closerange(3, 256)",
    "closed output": "import os\nos.close(1)\nos.close(2)",
}

ATTACKS = {
    **{f"patched: {name}": text + WRONG for name, text in PATCHES.items()},
    **{f"value: {name}": text for name, text in VALUES.items()},
    **{f"ending: {name}": text for name, text in ENDINGS.items()},
    **{f"bomb: {name}": text for name, text in BOMBS.items()},
    **{f"forged: {name}": WRONG + text for name, text in FORGERIES.items()},
    "daemon": DAEMONS + WRONG,
}

# Each prints what it found; nothing may be found.
SEARCHES = {
    "files of the project": f"""
import os
print("FOUND", [p for p in {PROJECT_PATHS} if os.path.exists(p)])
""",
    "files of the grader": """
import os
found = []
for folder in ("/", "/home", "/opt", "/opt/course", "/run", "/run/inside/autograder", "/tmp"):
    found += [n for n in os.listdir(folder) if "check" in n or "judge" in n or "grade" in n]
print("FOUND", [n for n in found if n != "autograder"])
""",
    "environment": """
import os
print("FOUND", [k for k in os.environ if "SECRET" in k or "PYTEST" in k or "VIRTUAL" in k])
""",
    "other processes": """
import os
print("FOUND", [n for n in os.listdir("/proc") if n.isdigit()])
""",
    "expected values in memory": """
import gc, sys
names = ("autograder.judge", "autograder.checks", "course_pkg", "assignments")
found = [n for n in sys.modules if n.startswith(names)]
found += [o for o in gc.get_objects() if type(o).__name__ in ("Check", "Part", "Mistake")]
frame = sys._getframe()
while frame:
    found += [n for n in frame.f_locals if n in ("expected", "reference", "checks")]
    frame = frame.f_back
print("FOUND", found)
""",
    "network": """
import socket
found = []
for address in (("127.0.0.1", 22), ("1.1.1.1", 53), ("8.8.8.8", 443)):
    try:
        socket.create_connection(address, timeout=0.2)
        found.append(address)
    except OSError:
        pass
print("FOUND", found)
""",
    "folders that can be written": """
import os
allowed = ("/home/student", "/tmp", "/dev/shm", "/dev/mqueue", "/dev/pts")
found = []
for folder, folders, _ in os.walk("/"):
    if folder.count("/") > 2:
        folders.clear()
    if folder.startswith(allowed):
        continue
    try:
        with open(os.path.join(folder, "owned"), "w"):
            found.append(folder)
    except OSError:
        pass
print("FOUND", found)
""",
    "rights": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
found = []
for name, call in (
    ("setuid", lambda: os.setuid(0)),
    ("chroot", lambda: os.chroot("/tmp")),
    ("priority", lambda: os.nice(-10)),
    ("trace", lambda: libc.ptrace(16, 1, 0, 0) and 1 / 0),
    ("mount", lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) and 1 / 0),
    ("memory of no process", lambda: os.memfd_create("x")),
    ("namespace", lambda: libc.unshare(0x10000000) and 1 / 0),
    ("node", lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0))),
):
    try:
        call()
        found.append(name)
    except (OSError, ZeroDivisionError):
        pass
print("FOUND", found)
""",
}

HONEST = {
    "warnings": "import warnings, sys\nwarnings.warn('careful')\nprint('!', file=sys.stderr)",
    "progress bar": "from tqdm.auto import tqdm\nfor _ in tqdm(range(20)): pass",
    "plot": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "inline plot": "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    "input": "name = input('your name? ')",
    "display": "from IPython.display import display, HTML\ndisplay(HTML('<b>hi</b>'))\n1 + 1",
    "magics": "%timeit -n1 -r1 1+1\n!ls -la\n%pwd",
    "help": "len?",
    "failing cell": "1 / 0",
    "syntax error": "def f(:",
    "await": "import asyncio\nawait asyncio.sleep(0)",
    "temporary file": "open('notes.txt', 'w').write('x')\nprint(open('notes.txt').read())",
    "thread": "import threading\nthreading.Thread(target=print, args=('hi',)).start()",
    "pool": "from concurrent.futures import ThreadPoolExecutor\n"
    "list(ThreadPoolExecutor(4).map(abs, range(9)))",
    "data loader": "from torch.utils.data import DataLoader\nimport torch\n"
    "list(DataLoader(torch.arange(8), batch_size=3, num_workers=2))",
    "long output": "print('x' * 3_000_000)",
    "seeds": "import torch\ntorch.manual_seed(0)",
    "more threads": "import torch\ntorch.set_num_threads(2)\n"
    "torch.randn(300, 300) @ torch.randn(300, 300)",
    "gradients": "import torch\ntorch.ones(3, requires_grad=True).sum().backward()",
    "training": "import torch\nm = torch.nn.Linear(2, 1)\no = torch.optim.Adam(m.parameters())\n"
    "m(torch.ones(3, 2)).sum().backward()\no.step()",
    "left-over breakpoint": "exit",
}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    limits = Limits(cell_seconds=1.5, submission_seconds=30, memory_bytes=1 << 30, processes=32)
    with Sandbox(limits=limits) as room:
        yield room


def grade(sandbox, *cells, seed=7):
    """Return the verdict and the run of a submission made of these cells."""
    run = sandbox.run(cells, case_requests(CHECK, seed))
    assert len(run.cells) == len(cells)
    return judge_check(CHECK, seed, run.observations), run


def assert_next_is_unharmed(sandbox):
    server = sandbox._process
    verdict, run = grade(sandbox, RIGHT, seed=8)
    assert verdict.points == 10.0, run
    assert run.problems == ()
    assert sandbox._process is server, "the warm server had to be started again"


@pytest.mark.parametrize("cell", ATTACKS.values(), ids=ATTACKS.keys())
def test_attack_earns_nothing_and_harms_nobody(sandbox, cell):
    server = sandbox._process
    verdict, run = grade(sandbox, cell)
    assert verdict.points == 0.0, run
    assert verdict.fault == ""
    assert "x @ x.T" not in "".join(part.message for part in verdict.parts)
    assert sandbox._process is server
    assert_next_is_unharmed(sandbox)


@pytest.mark.parametrize("cell", SEARCHES.values(), ids=SEARCHES.keys())
def test_search_finds_nothing(sandbox, cell):
    verdict, run = grade(sandbox, cell)
    assert "FOUND []" in run.cells[0].output, run.cells[0]
    assert verdict.points == 0.0


@pytest.mark.parametrize("cell", HONEST.values(), ids=HONEST.keys())
def test_honest_oddity_costs_nothing(sandbox, cell):
    verdict, run = grade(sandbox, cell, RIGHT, cell)
    assert verdict.points == 10.0, run
    assert run.problems == ()


def test_attack_does_not_take_other_cells_away(sandbox):
    for cell in (ENDINGS["os._exit in a cell"], ENDINGS["endless cell in C"]):
        verdict, run = grade(sandbox, RIGHT, cell, "after = 1")
        assert verdict.points == 10.0
        assert run.cells[1].error is not None
        assert run.cells[2].error is None
        assert len(run.problems) == 1


def test_probe_prints_nothing_into_the_output(sandbox):
    cell = "import sys\ndef gram(x):\n    print(sys._getframe(1).f_code)\n    return x @ x.T / 3"
    verdict, run = grade(sandbox, cell)
    assert verdict.points == 10.0
    assert run.cells[0].output == ""


def test_nothing_of_one_submission_is_left_for_the_next(sandbox):
    leave = (
        "import os, torch, builtins\nopen('/tmp/x', 'w'); open('/dev/shm/x', 'w'); open('x', 'w')\n"
        "builtins.left = 1; torch.left = 1; os.environ['LEFT'] = '1'; get_ipython().left = 1\n"
    )
    look = (
        "import os, torch, builtins\n"
        "print('FOUND', [f for d in ('/tmp', '/dev/shm', '.') for f in os.listdir(d)],\n"
        "      hasattr(builtins, 'left'), hasattr(torch, 'left'), 'LEFT' in os.environ,\n"
        "      hasattr(get_ipython(), 'left'))"
    )
    grade(sandbox, leave)
    _, run = grade(sandbox, look)
    assert run.cells[0].output == "FOUND [] False False False False\n"


def test_secrets_of_this_machine_are_out_of_sight(sandbox, tmp_path, monkeypatch):
    secret = tmp_path / "gradebook.db"
    secret.write_text("nobody may read this")
    paths = [str(secret), str(Path(__file__)), "/etc/shadow", os.path.expanduser("~/.bashrc")]
    cell = f"for p in {paths}:\n    try: print('READ', open(p).read())\n    except OSError: pass"
    _, run = grade(sandbox, cell)
    assert "READ" not in run.cells[0].output


def test_inputs_differ_between_students_and_not_between_runs():
    one, again, other = (case_requests(CHECK, seed)[1].inputs["x"] for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
