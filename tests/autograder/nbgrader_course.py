"""A small course as an instructor writes it for nbgrader alone, of a notebook or of two."""

from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring.course import NbgraderCourse
from autograder.authoring.release import ReleasedSet

LOCKED, ANSWER = {"locked": True}, {"solution": True}
SQUARES = "def squares(n):\n    return [i * i for i in range(n)]"


def tests(points: float) -> dict[str, object]:
    return {"grade": True, "locked": True, "points": points}


# Each cell: its grade id ("" for an ordinary cell), its role, its source.
CELLS = [
    ("", {}, "# Homework 1"),
    ("imports", LOCKED, "import math"),
    (
        "squares_answer",
        ANSWER,
        "def squares(n):\n    ### BEGIN SOLUTION\n    return [i * i for i in range(n)]\n"
        "    ### END SOLUTION",
    ),
    (
        "squares",
        tests(4),
        "from math import isclose\n"
        'assert squares(3) == [0, 1, 4], "squares(3) is [0, 1, 4]."\n'
        "### BEGIN HIDDEN TESTS\n"
        'assert squares(17)[-1] == 256, "the seventeenth is 256"\n'
        "assert squares(0) == []\n"
        "### END HIDDEN TESTS",
    ),
    (
        "mean-answer",
        ANSWER,
        "def mean(numbers):\n    ### BEGIN SOLUTION\n    return sum(numbers) / len(numbers)\n"
        "    ### END SOLUTION",
    ),
    # It reads what the cell before it has imported: in a kernel they share all names.
    ("mean-tests", tests(2), "assert isclose(mean([1, 2]), 1.5)"),
    ("share", tests(4), "correct = sum(squares(n) == [0, 1][:n] for n in range(2))\n2 * correct"),
    (
        "why",
        {"grade": True, "solution": True, "points": 5},
        "Say why.\n\n### BEGIN SOLUTION\nBecause.\n### END SOLUTION",
    ),
]  # fmt: skip


def _stub(source: str, solved: str) -> str:
    return f"{source}\n    ### BEGIN SOLUTION\n    {solved}\n    ### END SOLUTION"


def solution(source: str) -> str:
    """An answer as a student writes it who has found the solution."""
    return "\n".join(line for line in source.split("\n") if "###" not in line)


# Small courses as they are published: cells, files beside the notebook, and what each student earns
# who has solved all, or all but one task.
KINDS = {
    "shared": (
        [
            ("total-answer", ANSWER, _stub("def total(xs):", "return sum(xs)")),
            ("total", tests(1), "numbers = [1, 2]\nresult = total(numbers)\nassert result == 3"),
            ("mean-answer", ANSWER, _stub("def mean(xs):", "return sum(xs) / len(xs)")),
            ("mean", tests(2), "result = mean(numbers)\nassert result == 1.5"),
            ("most-answer", ANSWER, _stub("def most(xs):", "return max(xs)")),
            (
                "most",
                tests(4),
                "for result in [[1, 2], [3]]:\n    assert most(result) == result[-1]",
            ),
        ],
        {},
        {"all": 7, "not total-answer": 6, "not mean-answer": 5, "not most-answer": 3},
    ),
    "imports and files": (
        [
            ("words-answer", ANSWER, _stub("def words(text):", "return text.split()")),
            (
                "words",
                tests(1),
                "from helper import read\nimport collections as c\ntext = read('text.txt')\n"
                "counted = c.Counter(words(text))\nassert counted['a'] == 2",
            ),
            ("first-answer", ANSWER, _stub("def first(text):", "return text[0]")),
            ("first", tests(2), "assert first(read('text.txt')) == 'a'\nassert c.deque([text])"),
            ("count-answer", ANSWER, _stub("def count(xs):", "return len(xs)")),
            ("count", tests(4), "counted = c.Counter('aab')\nassert count(counted) == 2"),
        ],
        {
            "helper.py": "def read(path):\n    return open(path).read()\n",
            "text.txt": "a b a",
        },
        {"all": 7, "not words-answer": 6, "not first-answer": 5, "not count-answer": 3},
    ),
    "seeds and plots": (
        [
            ("imports", LOCKED, "%matplotlib inline\nimport random\nimport numpy as np"),
            (
                "draw-answer",
                ANSWER,
                _stub("def draw(n):", "return [random.random() for _ in range(n)]"),
            ),
            (
                "draw",
                tests(1),
                "random.seed(0)\nexpected = [random.random() for _ in range(3)]\nrandom.seed(0)\n"
                "found = draw(3)\nassert found == expected",
            ),
            ("noise-answer", ANSWER, _stub("def noise(rng):", "return rng.normal(size=3)")),
            (
                "noise",
                tests(2),
                "%matplotlib inline\nrng = np.random.default_rng(0)\nfound = noise(rng)\n"
                "expected = np.random.default_rng(0).normal(size=3)\n"
                "np.testing.assert_allclose(found, expected)",
            ),
            ("scale-answer", ANSWER, _stub("def scale(x):", "return x / np.max(x)")),
            (
                "scale",
                tests(4),
                "np.random.seed(1)\nx = np.random.rand(4)\nexpected = x / x.max()\nshare = 0\n"
                "share += 4 * bool(np.allclose(scale(x), expected))\nshare",
            ),
        ],
        {},
        {"all": 7, "not draw-answer": 6, "not noise-answer": 5, "not scale-answer": 3},
    ),
    "magics, prints and figures": (
        [
            ("imports", LOCKED, "%matplotlib inline\nimport matplotlib.pyplot as plt\nxs = [3, 1]"),
            ("power-answer", ANSWER, _stub("def power(a, b):", "return a ** b")),
            ("power", tests(1), "%%time\nfound = power(2, 5)\nassert found == 32"),
            ("greet-answer", ANSWER, _stub("def greet(name):", "print('hello', name)")),
            (
                "greet",
                tests(2),
                "import contextlib, io\nfrom unittest import mock\n%timeit -n1 -r1 power(2, 2)\n"
                "with contextlib.redirect_stdout(io.StringIO()) as out:\n    greet('you')\n"
                "assert out.getvalue() == 'hello you\\n'\n"
                "with mock.patch('builtins.print') as printed:\n    greet('me')\n"
                "printed.assert_called_once_with('hello', 'me')",
            ),
            ("draw-answer", ANSWER, _stub("def draw(ys):", "plt.plot(ys)")),
            (
                "draw",
                tests(4),
                "words = !echo 3\nplt.figure()\ndraw(xs)\nline, = plt.gca().lines\n"
                "assert list(line.get_ydata()) == xs\nplt.close()\nassert words == ['3']",
            ),
            ("order-answer", ANSWER, _stub("def order(ys):", "return sorted(ys)")),
            (
                "order",
                tests(8),
                "try:\n    order(3)\nexcept TypeError:\n    pass\nelse:\n    assert False\n"
                "ys = list(xs)\nassert order(ys) == [1, 3] and ys == xs, f'{ys} was changed'",
            ),
        ],
        {},
        {
            "all": 15,
            "not power-answer": 12,
            "not greet-answer": 13,
            "not draw-answer": 11,
            "not order-answer": 7,
        },
    ),
    "state, files and coroutines": (
        [
            ("imports", LOCKED, "from math import *\nimport pickle, warnings\nmade, seen = {}, []"),
            ("push-answer", ANSWER, _stub("def push(x):", "seen.append(x)\n    return len(seen)")),
            (
                "push",
                tests(1),
                "before = len(seen)\nassert push(3) == before + 1 and seen[-1] == 3",
            ),
            (
                "load-answer",
                ANSWER,
                _stub("def load(path):", "return pickle.load(open(path, 'rb'))"),
            ),
            (
                "load",
                tests(2),
                "with open('x.pkl', 'wb') as file:\n    pickle.dump({'a': 1}, file)\n"
                "with open('x.pkl', 'rb') as file:\n    expected = pickle.load(file)\n"
                "assert load('x.pkl') == expected",
            ),
            ("keep-answer", ANSWER, _stub("def keep(f):", "made[f.__name__] = f\n    return f")),
            (
                "keep",
                tests(4),
                "@keep\ndef hello():\n    return 'hi'\n\n"
                "assert made['hello'] is hello and hello() == 'hi'",
            ),
            ("warn-answer", ANSWER, _stub("def warn():", "warnings.warn('careful')")),
            (
                "warn",
                tests(8),
                "with warnings.catch_warnings(record=True) as caught:\n"
                "    warnings.simplefilter('always')\n    warn()\nassert len(caught) == 1",
            ),
            ("later-answer", ANSWER, _stub("async def later(x):", "return x + 1")),
            ("later", tests(16), "value = await later(2)\nassert value == 3"),
        ],
        {},
        {
            "all": 31,
            "not push-answer": 30,
            "not load-answer": 29,
            "not keep-answer": 27,
            "not warn-answer": 23,
            "not later-answer": 15,
        },
    ),
    "introspection and unittest": (
        [
            (
                "imports",
                LOCKED,
                "%load_ext autoreload\n%autoreload 2\nimport ast, inspect, io, unittest",
            ),
            (
                "fact-answer",
                ANSWER,
                _stub("def fact(n):", "return 1 if n == 0 else n * fact(n - 1)"),
            ),
            (
                "fact",
                tests(1),
                "tree = ast.parse(inspect.getsource(fact))\n"
                "called = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call)]\n"
                "assert 'fact' in called, 'call yourself'\n"
                "assert fact(5) == 120 and callable(fact)",
            ),
            (
                "half-answer",
                ANSWER,
                _stub(
                    'def half(n):\n    """Halve an even number.\n\n    >>> half(4)\n    2\n    """',
                    "return n // 2",
                ),
            ),
            (
                "half",
                tests(2),
                "import doctest\nfinder = doctest.DocTestFinder()\n"
                "runner = doctest.DocTestRunner(verbose=False)\n"
                "for one in finder.find(half, 'half', globs=globals()):\n    runner.run(one)\n"
                "assert runner.summarize(verbose=False) == (0, 1)",
            ),
            ("swap-answer", ANSWER, _stub("def swap(pair):", "return pair[::-1]")),
            (
                "swap",
                tests(4),
                "class TestSwap(unittest.TestCase):\n    def test_pair(self):\n"
                "        self.assertEqual(swap((1, 2)), (2, 1))\n\n"
                "said = io.StringIO()  # nbgrader gives 0 for what is said on stderr\n"
                "runner = unittest.TextTestRunner(stream=said)\n"
                "options = {'defaultTest': 'TestSwap', 'testRunner': runner, 'exit': False}\n"
                "done = unittest.main(argv=[''], **options)\n"
                "assert done.result.wasSuccessful() and done.result.testsRun == 1",
            ),
            ("age-answer", ANSWER, "### BEGIN SOLUTION\nage = 41 + 1\n### END SOLUTION"),
            (
                "age",
                tests(8),
                "assert 'age' in globals() and 'age' in dir(), 'name it age'\n"
                "assert get_ipython().user_ns['age'] == 42\ntry:\n    never\n"
                "except NameError:\n    pass",
            ),
            (
                "ask-answer",
                ANSWER,
                _stub("def ask():", "print('Hello', input('name? '))"),
            ),
            (
                "ask",
                tests(16),
                "%%capture --no-stderr shown\nimport builtins\nkept = builtins.input\n"
                "builtins.input = lambda prompt='': 'Ada'\ntry:\n    ask()\nfinally:\n"
                "    builtins.input = kept",
            ),
            ("ask-said", tests(32), "assert shown.stdout.strip() == 'Hello Ada'"),
        ],
        {},
        {
            "all": 63,
            "not fact-answer": 62,
            "not half-answer": 61,
            "not swap-answer": 59,
            "not age-answer": 55,
            "not ask-answer": 15,
        },
    ),
    "two notebooks": (
        {
            "hw1": [
                ("imports", LOCKED, "import numpy as np\nfrom helper import Shape\nrng = 3"),
                (
                    "square-answer",
                    ANSWER,
                    _stub("class Square(Shape):", "area = lambda self: self.side ** 2"),
                ),
                ("square", tests(1), "shape = Square(3)\nassert shape.area() == 9"),
                (
                    "cube-answer",
                    ANSWER,
                    _stub("class Cube(Square):", "volume = lambda self: self.side * self.area()")
                    + "\n    sides = 6",
                ),
                (
                    "cube",
                    tests(2),
                    "shape = Cube(2)\nassert (shape.volume(), shape.sides) == (8, 6)\n"
                    "assert isinstance(shape, Shape)",
                ),
            ],
            "extra": [
                ("imports", LOCKED, "import numpy as np\nnp.random.seed(7)\nstart = [1.0]"),
                (
                    "walk-answer",
                    ANSWER,
                    _stub("def walk(n):", "return np.random.randn(n).cumsum()"),
                ),
                (
                    "walk",
                    tests(4),
                    "np.random.seed(1)\nsteps = walk(5)\nnp.random.seed(1)\n"
                    "expected = np.cumsum(np.random.randn(5))\n"
                    "np.testing.assert_allclose(steps, expected)\nstart += [steps[-1]]",
                ),
                ("last-answer", ANSWER, _stub("def last(xs):", "return xs[-1]")),
                (
                    "last",
                    tests(8),
                    "steps = np.arange(3)\ncredit = 0\ncredit += 3 * (last(steps) == 2)\n"
                    "credit += 5 * (last(start) == start[-1])\ncredit",
                ),
            ],
        },
        {"helper.py": "class Shape:\n    def __init__(self, side):\n        self.side = side\n"},
        {
            "all": 15,
            "not square-answer": 12,
            "not cube-answer": 13,
            "not walk-answer": 11,
            "not last-answer": 7,
        },
    ),
}


def notebook(cells=CELLS, **metadata) -> NotebookNode:
    """Put a notebook together."""
    made = []
    for grade_id, role, source in cells:
        is_code = bool(grade_id) and grade_id != "why"
        cell = (nbformat.v4.new_code_cell if is_code else nbformat.v4.new_markdown_cell)(source)
        if grade_id:
            flags = dict.fromkeys(("grade", "solution", "locked", "task"), False)
            cell.metadata["nbgrader"] = flags | role | {"grade_id": grade_id, "schema_version": 3}
        made.append(cell)
    return nbformat.v4.new_notebook(cells=made, metadata=metadata)


def write(path: Path, made: NotebookNode) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(made, path)
    return path


def make_course(folder: Path, name: str = "hw1", **source) -> Path:
    write(folder / "source" / name / f"{name}.ipynb", notebook(**source))
    return folder


def hand_in(course: Path, student: str, name: str = "hw1", **answers: str) -> Path:
    """Hand in what was released, with some cells' text replaced; a cell without text is gone."""
    known = {"squares_answer": SQUARES}
    known |= {grade_id.replace("__", "-"): text for grade_id, text in answers.items()}
    one = "hw1" if name == "hw1" else f"hw1+{name}"
    made = ReleasedSet(NbgraderCourse(course), one).notebooks.student
    for cell in made.cells:
        cell.source = known.get(cell.id, cell.source)
    made.cells = [cell for cell in made.cells if cell.source]
    return write(course / "submitted" / student / "hw1" / f"{name}.ipynb", made)
