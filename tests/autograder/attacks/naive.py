"""Graders as notebooks usually have them: in the process, and with the rights, of what they judge.

Each is the text of a cell that fails where the answer is wrong, to its author's mind.
"""

_SETTING = """
import numpy as np
import torch
def reference(x):
    return x @ x.T / x.shape[1]
"""

NAIVE = {
    name: _SETTING + test
    for name, test in {
        "allclose": """
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
assert torch.allclose(gram(x), reference(x)), "wrong"
""",
        "assert_close": """
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
torch.testing.assert_close(gram(x), reference(x))
""",
        "numpy": """
x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
np.testing.assert_allclose(gram(x), reference(x))
""",
        "product of numpy": """
x = np.array([[3.0, 6.0, 9.0], [12.0, 0.0, 3.0], [0.0, 0.0, 3.0]])
assert np.array_equal(gram(x), np.matmul(x, x.T / 3)), "wrong"
""",
        "equality": """
x = torch.ones(1, 3)
assert gram(x) == 1, "wrong"
""",
        "difference": """
assert abs(gram(torch.ones(1, 3) * 2) - 4.0) < 1e-6, "wrong"
""",
        "type and builtins": """
x = torch.tensor([[1.0, 2.0, 3.0]] * 3)
assert isinstance(gram(x), torch.Tensor), "wrong"
assert all(abs(a - b) < 1e-6 for a, b in zip(gram(x).flatten(), reference(x).flatten())), "wrong"
""",
        "random inputs": """
torch.manual_seed(0)
x = torch.randn(3, 3)
assert np.allclose(gram(x).tolist(), reference(x).tolist()), "wrong"
""",
        "random inputs of numpy": """
x = np.random.default_rng(0).normal(size=(3, 3))
assert np.abs(gram(x) - reference(x)).max() < 1e-6, "wrong"
""",
        "caught": """
try:
    assert torch.equal(gram(torch.ones(2, 3)), reference(torch.ones(2, 3)))
except AssertionError as error:
    raise ValueError("wrong") from error
except Exception:
    pass
""",
    }.items()
}
