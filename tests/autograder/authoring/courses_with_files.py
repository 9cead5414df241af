# ruff: noqa: E501 - a solution stands on one line
"""Two courses in the style of public ones, of our own making, with files beside their notebooks.

Of each: its files, its notebooks' cells, and of each test cell that `adopt` leaves, words of why.
"""

import struct
import zlib

from tests.autograder.nbgrader_course import ANSWER, LOCKED, tests


def _stub(head, solved, before=""):
    body = "\n".join(f"    {line}" for line in solved.split("\n"))
    return f"{before}{head}\n    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION"


def _picture(rows):
    """A PNG of grey pixels."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    parts = chunk(b"IHDR", head), chunk(b"IDAT", pixels), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


STATIONS = [
    ("", {}, "# Stations\n\n![Where they stand](map.png)"),
    (
        "imports",
        LOCKED,
        "%matplotlib inline\nimport csv\nfrom pathlib import Path\nimport matplotlib.pyplot as plt\n"
        "import numpy as np\nfrom helpers import to_fahrenheit",
    ),
    (
        "load",
        LOCKED,
        "with open('readings.csv', newline='') as file:\n    rows = list(csv.DictReader(file))\n"
        "celsius = []\nfor row in rows:\n    celsius.append(float(row['celsius']))\n"
        "picture = plt.imread('map.png')\nplt.imshow(picture)",
    ),
    (
        "column_answer",
        ANSWER,
        _stub(
            "def column(path, name):",
            "with open(path, newline='') as file:\n    return [row[name] for row in csv.DictReader(file)]",
        ),
    ),
    (
        "column",
        tests(1),
        "names = column('readings.csv', 'station')\nassert names[:2] == ['north', 'south']\n"
        "assert len(names) == len(rows)\n### BEGIN HIDDEN TESTS\n"
        "assert column('data/winter.csv', 'station') == ['north']\n### END HIDDEN TESTS",
    ),
    (
        "mean_answer",
        ANSWER,
        _stub(
            "def mean_of(rows, station):",
            "values = [float(row['celsius']) for row in rows if row['station'] == station]\n"
            "return sum(values) / len(values)",
        ),
    ),
    (
        "mean",
        tests(2),
        "assert abs(mean_of(rows, 'north') - 3.0) < 1e-9\nassert mean_of(rows[:1], 'north') == 2.5",
    ),
    (
        "warm_answer",
        ANSWER,
        _stub("def warm(values):", "return [to_fahrenheit(v) for v in values]"),
    ),
    (
        "warm",
        tests(4),
        "assert warm(celsius) == [to_fahrenheit(one) for one in celsius]\nassert warm([]) == []",
    ),
    ("hottest_answer", ANSWER, "### BEGIN SOLUTION\nhottest = max(celsius)\n### END SOLUTION"),
    ("hottest", tests(8), "assert hottest == max(float(row['celsius']) for row in rows)"),
    ("bright_answer", ANSWER, _stub("def bright(picture):", "return float(picture.mean())")),
    (
        "bright",
        tests(16),
        "assert np.isclose(bright(picture), 0.5, atol=0.01)\nassert bright(np.ones((2, 2))) == 1",
    ),
    ("draw_answer", ANSWER, _stub("def draw(ax, ys):", "ax.plot(ys)\nreturn ax")),
    (
        "draw",
        tests(32),
        "figure, ax = plt.subplots()\nassert len(draw(ax, celsius).lines) == 1\nplt.close(figure)",
    ),
    (
        "save_answer",
        ANSWER,
        _stub(
            "def save(rows, path):",
            "with open(path, 'w') as file:\n    file.writelines(row['station'] + '\\n' for row in rows)",
        ),
    ),
    (
        "save",
        tests(64),
        "save(rows, 'out.csv')\nassert Path('out.csv').read_text().split() == [row['station'] for row in rows]",
    ),
]

WINTER = [
    (
        "imports",
        LOCKED,
        "import json\nimport numpy as np\nfrom tools import PLACES\nfrom tools.clean import tidy\n"
        "settings = json.load(open('data/settings.json'))\n"
        "table = np.loadtxt('levels.csv', delimiter=',', skiprows=1)",
    ),
    ("tidied_answer", ANSWER, _stub("def tidied(names):", "return [tidy(name) for name in names]")),
    (
        "tidied",
        tests(1),
        "assert tidied([' North', 'SOUTH ']) == ['north', 'south']\n"
        "assert tidied(PLACES) == [tidy(one) for one in PLACES]",
    ),
    (
        "level_answer",
        ANSWER,
        _stub("def level(table, year):", "return table[table[:, 0] == year, 1].mean()"),
    ),
    (
        "level",
        tests(2),
        "np.testing.assert_allclose(level(table, 2001), 1.5, rtol=1e-6)\nassert level(table[:1], 2000) == 1.0",
    ),
    (
        "above_answer",
        ANSWER,
        _stub("def above(values):", "return [v for v in values if v > settings['limit']]"),
    ),
    ("above", tests(4), "assert above([1, 2, 3]) == [3]\nassert above(table[:, 1].tolist()) == []"),
    (
        "sample_answer",
        ANSWER,
        _stub("def sample(values, n):", "return np.random.choice(values, n)"),
    ),
    (
        "sample",
        tests(8),
        "np.random.seed(3)\nfound = sample(table[:, 1], 4)\nnp.random.seed(3)\n"
        "assert np.array_equal(found, np.random.choice(table[:, 1], 4))",
    ),
    (
        "gauge_answer",
        ANSWER,
        _stub(
            "class Gauge:\n    def __init__(self, path):", "    self.rows = open(path).readlines()"
        ),
    ),
    ("gauge", tests(16), "assert len(Gauge('levels.csv').rows) == 4"),
]

TOKENS = [
    ("", {}, '<img src="tree.png" alt="a tree">'),
    (
        "imports",
        LOCKED,
        "import re\nfrom pathlib import Path\nimport wordtools as wt\n"
        "text = Path('corpus.txt').read_text()\nSTOP = set(Path('stop.txt').read_text().split())",
    ),
    (
        "words_answer",
        ANSWER,
        _stub("def words(text):", "return re.findall(r'[a-z]+', wt.plain(text))"),
    ),
    (
        "words",
        tests(1),
        "assert words('A cat, a Hat!') == ['a', 'cat', 'a', 'hat']\nassert len(words(text)) == 8",
    ),
    (
        "rest_answer",
        ANSWER,
        _stub("def rest(found):", "return [w for w in found if w not in STOP]"),
    ),
    ("rest", tests(2), "assert rest(['a', 'cat']) == ['cat']\nassert rest(sorted(STOP)) == []"),
    (
        "lines_answer",
        ANSWER,
        _stub(
            "def lines(path):",
            "if not Path(path).exists():\n    raise FileNotFoundError(path)\nreturn Path(path).read_text().splitlines()",
        ),
    ),
    (
        "lines",
        tests(4),
        "assert len(lines('corpus.txt')) == 2\ntry:\n    lines('nowhere.txt')\nexcept FileNotFoundError:\n"
        "    pass\nelse:\n    raise AssertionError('there is no such file')",
    ),
    ("both_answer", ANSWER, _stub("def both(text):", "return rest(words(text))")),
    ("both", tests(8), "assert both(text) == wt.EXPECTED"),
    ("share", tests(16), "16 * (words('b') == ['b'])"),
]

COUNTS = [
    (
        "imports",
        LOCKED,
        "import json\nfrom collections import Counter\nimport wordtools\n"
        "with open('corpus.txt') as file:\n    text = file.read()\n"
        "with open('vocab.json') as file:\n    vocab = json.load(file)",
    ),
    (
        "ids_answer",
        ANSWER,
        _stub("def ids(text):", "return [vocab[w] for w in wordtools.plain(text).split()]"),
    ),
    ("ids", tests(1), "assert ids('a cat') == [0, 1]\nassert ids('') == []"),
    (
        "count_answer",
        ANSWER,
        _stub("def count(path):", "return dict(Counter(open(path).read().lower().split()))"),
    ),
    (
        "count",
        tests(2),
        "counts = count('corpus.txt')\nassert counts['a'] == 3\nassert sum(counts.values()) == len(text.split())",
    ),
    ("top_answer", ANSWER, _stub("def top(counts):", "return max(counts, key=counts.get)")),
    (
        "top",
        tests(4),
        "assert top({'a': 1, 'b': 2}) == 'b'\nassert top(dict(Counter(text.lower().split()))) == 'a'",
    ),
    ("say_answer", ANSWER, _stub("def say(path):", "print(open(path).readline().strip())")),
    (
        "say",
        tests(8),
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n    say('corpus.txt')\n"
        "assert out.getvalue() == text.splitlines()[0] + '\\n'",
    ),
]

SEES_MORE = "its assertions see more than what calls give"
COURSES = {
    "weather": (
        {
            "readings.csv": b"station,celsius\nnorth,2.5\nsouth,7\nnorth,3.5\n",
            "data/winter.csv": b"station,celsius\nnorth,-4\n",
            "data/settings.json": b'{"limit": 2}',
            "levels.csv": b"year,level\n2000,1\n2001,1\n2001,2\n",
            "helpers.py": b"def to_fahrenheit(celsius):\n    return celsius * 9 / 5 + 32\n",
            "tools/__init__.py": b"PLACES = [' North', 'south']\n",
            "tools/clean.py": b"def tidy(name):\n    return name.strip().lower()\n",
            "map.png": _picture([[0, 255], [255, 0]]),
        },
        {"stations": STATIONS, "winter": WINTER},
        {"draw": "it calls draw with what cannot", "save": SEES_MORE, "gauge": "Gauge is a class"},
    ),
    "words": (
        {
            "corpus.txt": b"A cat sat on a mat.\nA hat.\n",
            "stop.txt": b"a on the\n",
            "vocab.json": b'{"a": 0, "cat": 1, "mat": 2}',
            "wordtools.py": b"EXPECTED = ['cat', 'sat', 'mat', 'hat']\n\ndef plain(text):\n    return text.lower()\n",
            "tree.png": _picture([[9, 9]]),
        },
        {"tokens": TOKENS, "counts": COUNTS},
        {"share": "it ends with", "say": SEES_MORE},
    ),
}
