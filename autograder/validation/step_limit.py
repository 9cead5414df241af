"""Stop code that never ends after a number of steps, so that no verdict depends on a clock.

A step is one pass of a loop or a comprehension, or one call of a function. They are counted by a
call that is written into each of them; what the code calls elsewhere is not counted.
"""

import ast
from types import CodeType

NAME = "__count_step__"
"""Under which the namespace of the code must hold the counter."""


class EndlessError(BaseException):
    """Raised at the step after the last; no `except Exception` of the code catches it."""


class StepCounter:
    """Counts steps and stops the code at the limit, again and again if need be."""

    def __init__(self) -> None:
        self.start(0)

    def start(self, limit: int) -> None:
        """Count from 0 again, up to a new limit."""
        self.limit, self.steps = limit, 0

    @property
    def is_over(self) -> bool:
        """Whether the code wanted more steps than it may have."""
        return self.steps > self.limit

    def __call__(self) -> bool:
        """Count one step; true, so that it may stand as a condition of a comprehension."""
        self.steps += 1
        if self.is_over:
            raise EndlessError(f"more than {self.limit} steps")
        return True


def compile_counted(source: str) -> CodeType:
    """Compile a source text with its steps counted."""
    tree = _Counting().visit(ast.parse(source))
    return compile(ast.fix_missing_locations(tree), "<counted>", "exec")


class _Counting(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.For | ast.While | ast.FunctionDef):
            node.body.insert(0, ast.Expr(_step()))
        elif isinstance(node, ast.comprehension):
            node.ifs.insert(0, _step())
        return node


def _step() -> ast.Call:
    return ast.Call(func=ast.Name(id=NAME, ctx=ast.Load()), args=[], keywords=[])
