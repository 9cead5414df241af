# ruff: noqa: E501 - a solution stands on one line
"""Four small courses in the style of public ones, of our own making, with their solutions.

Each test cell says beside it whether `adopt` makes a check of it: "" if so, else why not.
"""

from tests.autograder.nbgrader_course import ANSWER, LOCKED, tests


def _stub(head: str, solved: str, before: str = "") -> str:
    body = "\n".join(f"    {line}" for line in solved.split("\n"))
    return f"{before}{head}\n    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION"


NUMERICAL = [
    ("imports", LOCKED, "%matplotlib inline\nimport numpy as np\nimport matplotlib.pyplot as plt"),
    (
        "softmax-answer",
        ANSWER,
        _stub(
            "def softmax(x):",
            "z = np.exp(x - x.max(-1, keepdims=True))\nreturn z / z.sum(-1, keepdims=True)",
        ),
    ),
    (
        "softmax-shape",
        tests(1),
        "x = np.random.RandomState(0).randn(4, 3)\nout = softmax(x)\n"
        "assert isinstance(out, np.ndarray)\nassert out.shape == (4, 3), 'keep the shape'",
    ),
    (
        "softmax-values",
        tests(2),
        "np.testing.assert_allclose(softmax(np.array([1.0, 2.0])), [0.268941, 0.731059], rtol=1e-5)\n"
        "expected = np.exp(x) / np.exp(x).sum(1, keepdims=True)\n"
        "np.testing.assert_allclose(softmax(x), expected)\n"
        "### BEGIN HIDDEN TESTS\nbig = softmax(np.array([1000.0, 1000.0]))\n"
        "np.testing.assert_array_almost_equal(big, [0.5, 0.5], decimal=6)\n### END HIDDEN TESTS",
    ),
    (
        "noisy-answer",
        ANSWER,
        _stub("def noisy(x, scale):", "return x + scale * np.random.randn(*x.shape)"),
    ),
    (
        "noisy-tests",
        tests(2),
        "np.random.seed(3)\nfound = noisy(np.zeros(5), 2.0)\nnp.random.seed(3)\n"
        "assert np.allclose(found, 2 * np.random.randn(5))",
    ),
    (
        "fit-answer",
        ANSWER,
        _stub("def fit(xs, ys):", "return np.polyfit(xs, ys, 1)"),
    ),
    (
        "fit-tests",
        tests(3),
        "def line(a, b, tol=1e-6):\n    xs = np.linspace(0, 1, 20)\n    slope, start = fit(xs, a * xs + b)\n"
        "    assert abs(slope - a) < tol and abs(start - b) < tol\n\n"
        "for a in (1.0, -2.5):\n    for b in [0.0, 3.0]:\n        line(a, b)\nplt.plot([1, 2])",
    ),
    ("plot-answer", ANSWER, _stub("def draw(ax):", "ax.plot([1, 2])\nreturn ax")),
    (
        "plot-tests",
        tests(1),
        "figure, ax = plt.subplots()\nassert len(draw(ax).lines) == 1\nplt.close(figure)",
    ),
]

FIRST_COURSE = [
    ("even-answer", ANSWER, _stub("def is_even(n):", "return n % 2 == 0", '"""Words."""\n')),
    ("even-tests", tests(1), "assert is_even(2)\nassert not is_even(3)\nassert is_even(0) is True"),
    (
        "root-answer",
        ANSWER,
        _stub("def root(x):", "if x < 0:\n    raise ValueError('negative')\nreturn x ** 0.5"),
    ),
    (
        "root-tests",
        tests(2),
        "import math\nassert math.isclose(root(2), 1.41421356, rel_tol=1e-6)\nprint(root(4))",
    ),
    (
        "root-raises",
        tests(2),
        "try:\n    root(-1)\nexcept ValueError:\n    pass\nelse:\n"
        "    raise AssertionError('a negative number has no root here')",
    ),
    (
        "words-answer",
        ANSWER,
        _stub(
            "def count_words(text):",
            "counts = {}\nfor w in text.split():\n    counts[w] = counts.get(w, 0) + 1\nreturn counts",
        ),
    ),
    (
        "words-tests",
        tests(2),
        "for text, right in [('a b a', {'a': 2, 'b': 1}), ('', {})]:\n"
        "    assert count_words(text) == right, f'for {text!r}'\n"
        "counts = count_words('x y')\nassert sorted(counts) == ['x', 'y']\nassert counts['x'] == 1",
    ),
    ("sort-answer", ANSWER, _stub("def sort_in_place(xs):", "xs.sort()")),
    ("sort-tests", tests(1), "xs = [3, 1]\nsort_in_place(xs)\nassert xs == [1, 3]"),
    (
        "stack-answer",
        ANSWER,
        _stub(
            "class Stack:\n    def __init__(self):\n        self.items = []\n    def push(self, x):",
            "    self.items.append(x)",
        ),
    ),
    ("stack-tests", tests(2), "stack = Stack()\nstack.push(3)\nassert stack.items == [3]"),
    ("area-answer", ANSWER, "### BEGIN SOLUTION\narea = 3 * 4\n### END SOLUTION"),
    ("area-tests", tests(1), "assert area == 12"),
    (
        "pi-answer",
        ANSWER,
        "almost_pi = None  # yours\n### BEGIN SOLUTION\nalmost_pi = 22 / 7\n### END SOLUTION",
    ),
    ("pi-tests", tests(1), "assert abs(almost_pi - 3.14159) < 0.01"),
    ("share-tests", tests(4), "sum(is_even(n) for n in (2, 4))"),
]

TENSORS = [
    ("imports", LOCKED, "import torch\nimport torch.nn.functional as F"),
    (
        "norm-answer",
        ANSWER,
        _stub(
            "def layer_norm(x, eps=1e-5):",
            "m = x.mean(-1, keepdim=True)\nv = x.var(-1, keepdim=True, unbiased=False)\nreturn (x - m) / (v + eps).sqrt()",
        ),
    ),
    (
        "norm-tests",
        tests(3),
        "torch.manual_seed(0)\nx = torch.randn(2, 5)\n"
        "torch.testing.assert_close(layer_norm(x), F.layer_norm(x, (5,)), rtol=1e-4, atol=1e-5)\n"
        "assert layer_norm(x).dtype == torch.float32",
    ),
    (
        "mask-answer",
        ANSWER,
        _stub("def causal_mask(n):", "return torch.tril(torch.ones(n, n)).bool()"),
    ),
    (
        "mask-tests",
        tests(2),
        "mask = causal_mask(3)\nassert torch.equal(mask, torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool())\n"
        "assert causal_mask(4).sum() == 10",
    ),
    ("loss-answer", ANSWER, _stub("def loss(model, x):", "return model(x).sum()")),
    ("loss-tests", tests(2), "assert loss(lambda x: 2 * x, torch.ones(3)) == 6"),
]

TEXT = [
    (
        "helper",
        LOCKED,
        "def roundtrip(text):\n    return decode(encode(text))\n\nALPHABET = 'abcdefghijklmnopqrstuvwxyz'",
    ),
    (
        "encode-answer",
        ANSWER,
        _stub("def encode(text):", "return [ALPHABET.index(c) for c in text]"),
    ),
    ("encode-tests", tests(1), "assert encode('abc') == [0, 1, 2]\nassert encode('') == []"),
    (
        "decode-answer",
        ANSWER,
        _stub("def decode(ids):", "return ''.join(ALPHABET[i] for i in ids)"),
    ),
    (
        "decode-tests",
        tests(2),
        "for word in 'hello world'.split():\n    assert roundtrip(word) == word",
    ),
    (
        "bigrams-answer",
        ANSWER,
        _stub("def bigrams(text):", "return list(zip(text, text[1:]))")
        + "\n\n"
        + _stub(
            "def most_common(text):", "found = bigrams(text)\nreturn max(found, key=found.count)"
        ),
    ),
    (
        "bigrams-tests",
        tests(2),
        "import pytest\nassert bigrams('aba') == [('a', 'b'), ('b', 'a')]\n"
        "assert most_common('ababc') == ('a', 'b')\nassert len(bigrams('abcd')) == 3\n"
        "share = len(bigrams('abc')) / 3\nassert share == pytest.approx(0.667, abs=1e-3)",
    ),
]

# Of each course: its cells, and of each test cell that is not adopted, words of the reason.
COURSES = {
    "numerical": (NUMERICAL, {"plot-tests": "it calls draw with what cannot leave or enter"}),
    "first course": (
        FIRST_COURSE,
        {
            "stack-tests": "Stack is a class",
            "share-tests": "it ends with",
        },
    ),
    "tensors": (TENSORS, {"loss-tests": "it calls loss with what cannot leave or enter"}),
    "text": (TEXT, {}),
}
