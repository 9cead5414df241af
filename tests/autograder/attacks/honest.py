"""Cells that do odd things for good reasons, and must not suffer."""

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
    "widgets": "from ipywidgets import interact\ninteract(lambda n: n, n=(0, 9));",
    "widget library that is not there": "import nowhere_widgets",
    "extra cell that redefines": "def helper(x):\n    return x\nhelper(1)",
    "reordered imports": "import torch as T, numpy as N, random, collections, math",
    "unfinished plot": "import matplotlib.pyplot as plt\nfor _ in range(30): plt.figure()",
    "logging": "import logging\nlogging.basicConfig(level=10)\nlogging.error('seen')",
    "output without end of line": "import sys\nsys.stdout.write('...')\nsys.stdout.flush()",
    "subprocess": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', '1'], check=True)",
    "recursion limit": "import sys\nsys.setrecursionlimit(10_000)",
    "colours": "print('\\x1b[31mred\\x1b[0m \\r progress')",
}

NEEDS_NAMESPACES = {HONEST["data loader"]}
"""What works only where student code has a network of its own."""
