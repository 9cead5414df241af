"""Wrong versions of a right answer, made by machine: one small change each.

A check that lets such a change through would let the same slip of a student through. The changes
are those of mutation testing (DeMillo, Lipton and Sayward 1978): another comparison, another
arithmetic sign, a constant off by one, a negated condition, a slice that starts or ends one place
away, a statement left out, two arguments swapped, nothing returned.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
}
_REMOVABLE = (
    *(ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign),
    *(ast.If, ast.For, ast.While, ast.Break, ast.Continue),
)
_SYMMETRIC = {"max", "min"}  # their arguments may come in any order


@dataclass(frozen=True)
class Mutant:
    """One changed version of a source text.

    Attributes:
        change: the statement before and after, "before  →  after"; unique within its source.
    """

    change: str
    source: str


def mutants(source: str) -> list[Mutant]:
    """Make every version of `source` that differs from it by one operator.

    Docstrings, annotations and messages in strings are left alone: they do not compute.
    """
    tree = ast.parse(source)
    made: list[Mutant] = []
    seen: Counter[str] = Counter()
    for old, new in changes(tree):
        changed = _replaced(tree, old, new)
        text = ast.unparse(ast.fix_missing_locations(changed))
        change = _describe(tree, changed)
        seen[change] += 1
        if seen[change] > 1:
            change = f"{change}  (place {seen[change]})"
        made.append(Mutant(change, text))
    return made


def changes(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each node that may change, with what may stand in its place, change by change.

    What the two have in common they share: a field that differs is another object.
    """
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.stmt):
            continue
        for node in _own_nodes(statement):
            for new in _replacements(node):
                yield node, new
        if _may_be_removed(statement):
            yield statement, ast.Pass()


def _replaced(tree: ast.Module, old: ast.AST, new: ast.AST) -> ast.Module:
    """Copy the tree with one node exchanged."""
    # deepcopy's memo decides what stands for `old` in the copy.
    return copy.deepcopy(tree, {id(old): copy.deepcopy(new)})


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Nodes of a statement without those of the statements inside it, nor annotations."""
    yield statement
    waiting = list(_computing_children(statement))
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting.extend(_computing_children(node))


def _computing_children(node: ast.AST) -> Iterator[ast.AST]:
    skipped = {"annotation", "returns", "decorator_list", "type_comment", "ctx"}
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    for name, value in ast.iter_fields(node):
        if name in skipped:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.stmt):
                yield child


def _may_be_removed(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    return isinstance(statement, _REMOVABLE)


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node."""
    if isinstance(node, ast.Compare):
        yield from _other_comparisons(node)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
        yield _with(node, op=_ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node)
    elif isinstance(node, ast.Slice):
        yield from _other_slices(node)
    elif isinstance(node, ast.Call):
        yield from _swapped_arguments(node)
    elif isinstance(node, ast.Return) and not _is_none(node.value):
        yield ast.Return(value=ast.Constant(value=None))
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare):
        yield _with(node, test=_negated(node.test))
    if isinstance(node, ast.comprehension):
        for place in range(len(node.ifs)):
            yield _with(node, ifs=node.ifs[:place] + node.ifs[place + 1 :])


def _other_comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for place, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            yield _with(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])


def _other_constants(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(value=not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(value=node.value + 1)
        yield ast.Constant(value=node.value - 1)


def _other_slices(node: ast.Slice) -> Iterator[ast.AST]:
    for bound in ("lower", "upper"):
        value = getattr(node, bound)
        if value is None:
            continue
        yield _with(node, **{bound: None})
        if not isinstance(value, ast.Constant):  # a constant bound moves as a constant
            for sign in (ast.Add(), ast.Sub()):
                yield _with(
                    node, **{bound: ast.BinOp(left=value, op=sign, right=ast.Constant(value=1))}
                )


def _swapped_arguments(node: ast.Call) -> Iterator[ast.AST]:
    if isinstance(node.func, ast.Name) and node.func.id in _SYMMETRIC:
        return
    for place in range(len(node.args) - 1):
        args = list(node.args)
        args[place], args[place + 1] = args[place + 1], args[place]
        if ast.dump(args[place]) != ast.dump(args[place + 1]):
            yield _with(node, args=args)


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.Not(), operand=test)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """Copy a node with some fields changed; children are shared."""
    values = dict(ast.iter_fields(node))
    values.update(fields)
    return type(node)(**values)


def _describe(before: ast.Module, after: ast.Module) -> str:
    """Say what changed, by the first lines of the statement before and after."""
    old = ast.unparse(before).splitlines()
    new = ast.unparse(ast.fix_missing_locations(after)).splitlines()
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    return f"{old[first].strip()}  →  {new[first].strip()}"
