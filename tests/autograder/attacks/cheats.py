"""Cells that try to sell a wrong answer.

Each is the text of one cell, by class and variant. One that defines no `gram` gets a wrong one put
in front of it.
"""

import inspect

from tests.autograder.attacks.colliding import alike, meeting_keys

CHEATS: dict[str, dict[str, str]] = {
    "patched comparisons": {
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
        "assert switched off": """
import builtins
builtins.AssertionError = type("Quiet", (Exception,), {})
""",
        "patched encoders of the library": """
import json, json.encoder, pickle, struct
json.dumps = lambda *a, **k: '["dict", "value", 10.0]'
json.JSONEncoder.encode = json.JSONEncoder.iterencode = lambda *a, **k: "true"
json.encoder.c_make_encoder = None
struct.pack = lambda *a: bytes(8)
pickle.dumps = pickle.loads = lambda *a, **k: b"passed"
""",
        "numbers changed in memory": """
import ctypes
for number in (0, 1, 3):
    ctypes.c_int.from_address(id(number) + 24).value = 10
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
    },
    "patched random generators": {
        "random generators": """
import random, numpy, torch
torch.randn = torch.rand = lambda *size, **k: torch.zeros(*size)
random.random = lambda: 0.0
class Still:
    def normal(self, *a, size=(), **k): return numpy.zeros(size)
numpy.random.default_rng = lambda *a: Still()
""",
        "seeds that do nothing": """
import random, numpy, torch
random.seed = numpy.random.seed = torch.manual_seed = lambda *a: None
torch.Tensor.normal_ = torch.Tensor.uniform_ = lambda self, *a, **k: self.zero_()
""",
    },
    "patched references": {
        "torch's product": """
import torch
torch.matmul = torch.mm = lambda a, b: a
torch.Tensor.__matmul__ = torch.Tensor.matmul = lambda a, b: a
torch.Tensor.__truediv__ = lambda a, b: a
""",
        "numpy's product": """
import numpy
numpy.matmul = numpy.dot = numpy.einsum = lambda *a, **k: a[0]
""",
        "functions named like a reference": """
import builtins, sys
builtins.reference = gram
for module in list(sys.modules.values()):
    for name in ("reference", "gram", "expected", "solution"):
        try:
            setattr(module, name, gram)
        except Exception:
            pass
""",
    },
    "equal to everything": {
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
        "property that lies": """
class Meta(type):
    def __instancecheck__(cls, other): return True
class gram(metaclass=Meta):
    def __new__(cls, x): return True
""",
    },
    "hostile values": {
        "spoofed class": """
import torch
class Spoof:
    __class__ = torch.Tensor
    def __reduce__(self): return (__import__("os").system, ("touch /tmp/owned",))
def gram(x): return Spoof()
""",
        "expanded tensor": """import torch
def gram(x): return torch.zeros(1).expand(1 << 40)""",
        "self-containing list": """def gram(x):
    a = []
    a.append(a)
    return a""",
        "long number": "def gram(x): return 1 << 10_000_000",
        "nan": "def gram(x): return x @ x.T * float('nan')",
        "generator": """def gram(x):
    while True:
        yield x""",
        "pickle in an array of objects": """
import numpy as np
class Evil:
    def __reduce__(self): return (__import__("os").system, ("touch /tmp/owned",))
def gram(x): return np.array([[Evil()] * len(x)] * len(x), dtype=object)
""",
        "array that says it is small": """
import numpy as np
class Small(np.ndarray):
    nbytes = size = 1
    shape = property(lambda self: (4, 4))
    def tobytes(self, *a): return bytes(128)
def gram(x): return np.zeros((3, 5)).view(Small)
""",
        "tensor with hooks": """
import torch
class Lies(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return True
def gram(x):
    y = (x * 2).requires_grad_()
    y.register_hook(lambda gradient: 1 / 0)
    return y.as_subclass(Lies)
""",
        "list that grows while it is read": """
import threading
grown = [0.0]
def grow():
    while len(grown) < 10_000_000: grown.append(0.0)
def gram(x):
    threading.Thread(target=grow, daemon=True).start()
    return grown
""",
        "deep nesting without a limit": """
import sys
sys.setrecursionlimit(1 << 30)
def gram(x):
    deep = []
    for _ in range(200_000): deep = [deep]
    return deep
""",
        "number of any length as text": """
import sys
sys.set_int_max_str_digits(0)
def gram(x): return {10 ** 200_000: -(10 ** 200_000)}
""",
        "halves of characters": """
def gram(x): return {"\\ud800": "\\udfff\\x00", "\\u202e": [float("nan")] * 3}
""",
        "none": "def gram(x): return None",
        "colliding keys": "def gram(x): return {k * ((1 << 61) - 1): 0 for k in range(1, 100_000)}",
        "keys whose ways through a table meet": f"""
import numpy as np
{inspect.getsource(meeting_keys)}
keys = meeting_keys(17, 43_600)
def gram(x): return dict.fromkeys(keys)
""",
    },
    "hostile exceptions": {
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
        "text larger than memory": """
class Text(Exception):
    def __str__(self): return "passed " * (1 << 34)
def gram(x): raise Text()
""",
        "text that prints": """
import os
class Text(Exception):
    def __str__(self):
        os.write(1, b"10/10 points")
        return "passed"
def gram(x): raise Text()
""",
        "endless chain of causes": """
def gram(x):
    error = ValueError("passed")
    error.__cause__ = error.__context__ = error
    raise error
""",
        "in a cell": """
class Text(Exception):
    def __str__(self): raise SystemExit(0)
    __repr__ = __str__
raise Text()
""",
        "group of a million": "def gram(x): raise ExceptionGroup('', [ValueError()] * 1_000_000)",
    },
    "syntax-tree and input transformers": {
        "input transformer": """
shell = get_ipython()
shell.input_transformers_post.append(lambda lines: ["passed = True"])
""",
        "syntax-tree transformer": """
import ast
class Passing(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.copy_location(ast.Pass(), node)
    def visit_FunctionDef(self, node): return ast.parse("def probe(*a): return True").body[0]
get_ipython().ast_transformers.append(Passing())
""",
        "replaced compiler": """
import ast, builtins
compiled = compile("def probe(*a): return True", "probe", "exec")
builtins.compile = lambda *a, **k: compiled
ast.parse = lambda *a, **k: None
builtins.exec = lambda *a, **k: None
""",
    },
    "replaced runners, hooks and handlers": {
        "exception hooks": """
import sys
sys.excepthook = sys.unraisablehook = lambda *a: None
sys.displayhook = print
get_ipython().showtraceback = lambda *a, **k: None
""",
        "cell runner": """
from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult
done = ExecutionResult(ExecutionInfo("", False, True, False, None))
shell = get_ipython()
shell.run_cell = shell.run_code = lambda *a, **k: done
shell.user_ns["probe"] = lambda *a: True
""",
        "display hooks": """
import sys
sys.displayhook = get_ipython().displayhook = lambda *a: print("10.0")
get_ipython().display_pub.publish = lambda *a, **k: None
""",
        "trace functions": """
import sys, threading
def trace(frame, event, argument):
    frame.f_locals["value"] = True
    return trace
sys.settrace(trace)
sys.setprofile(trace)
threading.settrace(trace)
""",
        "codec and error handler": """
import codecs
codecs.register(lambda name: codecs.CodecInfo(lambda *a: (b"true", 1), lambda *a: ("true", 1)))
codecs.register_error("strict", lambda error: ("passed", error.end))
""",
        "audit hook": """
import sys
def deny(event, args):
    if event in ("exec", "compile", "socket.send"): raise RuntimeError("passed")
sys.addaudithook(deny)
""",
    },
    "forged or erased outputs": {
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
        "sets whose elements are slow to tell apart": f"""
import os, socket, stat
{inspect.getsource(alike)}
header = ('["dict",["list","value"],["list",["set",' + ",".join(alike(2, 50, 50)) + "]]]").encode()
def gram(x):
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                with socket.socket(fileno=os.dup(fd)) as stream:
                    stream.sendall(len(header).to_bytes(4, "big") + bytes(8) + header)
        except OSError: pass
    return x
""",
        "exchanged descriptors": """
import os
def gram(x):
    reading, writing = os.pipe()
    for fd in range(3, 64):
        if fd not in (reading, writing):
            try: os.dup2(writing, fd)
            except OSError: pass
    return x
""",
        "a finalizer that answers": """
import atexit, gc, json, os, weakref
header = json.dumps(["dict", "value", 10.0]).encode()
def answer(*a):
    for fd in range(3, 64):
        try: os.write(fd, len(header).to_bytes(4, "big") + bytes(8) + header)
        except OSError: pass
class Kept: pass
kept = Kept()
weakref.finalize(kept, answer)
atexit.register(answer)
gc.callbacks.append(answer)
def gram(x):
    gc.collect()
    return x
""",
        "closed descriptors": """import os
os.closerange(3, 256)""",
        "closed output": """import os
os.close(1)
os.close(2)""",
        "replaced stdout": """
import io, sys
sys.stdout = sys.stderr = io.StringIO()
print("10/10 points")
""",
        "cleared outputs": """
from IPython.display import clear_output, display
clear_output()
display({"text/plain": "10.0"}, raw=True)
""",
    },
    "shadowed modules": {
        "shadowed standard modules": """
import sys, types
for name in ("json", "struct", "random", "numpy", "torch", "socket", "autograder.inside.wire"):
    sys.modules[name] = types.ModuleType(name)
open("torch.py", "w").write("1/0")
""",
        "files beside the notebook": """
for name in ("torch", "numpy", "json", "socket", "random", "ast", "autograder"):
    open(f"{name}.py", "w").write("raise SystemExit(0)")
import importlib
importlib.invalidate_caches()
""",
        "start-up files": """
import os, pathlib
home = pathlib.Path.home()
for path in ("usercustomize.py", "sitecustomize.py", ".ipython/profile_default/startup/0.py",
             ".local/lib/python3.11/site-packages/torch.pth", ".jupyter/jupyter_config.py"):
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text("import os; os._exit(0)")
""",
        "kernel beside the notebook": """
import json, pathlib
folder = pathlib.Path.home() / ".local/share/jupyter/kernels/python3"
folder.mkdir(parents=True)
(folder / "kernel.json").write_text(json.dumps({"argv": ["/bin/true"], "language": "python"}))
""",
        "import hook": """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None): raise SystemExit(0)
sys.meta_path.insert(0, Finder())
""",
    },
}
