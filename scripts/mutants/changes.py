"""Every small fault that can be put into a piece of source, by ``ast``."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["Mutant", "apply", "mutants_of"]

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_UNWRAPPED = ("sorted", "set", "frozenset", "reversed", "round", "bool", "tuple", "list", "dict")
_SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_SKIPPED_FIELDS = ("annotation", "returns", "decorator_list", "bases", "type_params")
_SKIPPED_NAMES = ("__all__", "__slots__")

Function = tuple[str, int] | None
"""Qualified name and first line of its code."""


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is and what it changes."""

    key: str
    place: int
    variant: int
    first: int
    """The first line of its statement; the tests that run it are those that run a line of it."""
    last: int
    function: Function
    """The outermost function around it; None for what runs at import time."""
    told: str


@dataclass(frozen=True)
class _Place:
    """A node, and the field of its parent in which it stands."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST
    statement: ast.stmt
    function: Function

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants_of(source: str) -> list[Mutant]:
    """All faults that can be put into a module; the same source gives the same ones."""
    found = []
    seen: dict[str, int] = {}
    for number, place in enumerate(_places(ast.parse(source))):
        before = _text(place.node)
        for variant, node in enumerate(_variants(place)):
            told = f"{before} -> {_text(node)}"
            scope = place.function[0] if place.function else ""
            seen[f"{scope}: {told}"] = count = seen.get(f"{scope}: {told}", 0) + 1
            key = f"{scope}: {told} #{count}"
            first, last = _lines(place.statement)
            found.append(Mutant(key, number, variant, first, last, place.function, told))
    return found


def apply(source: str, mutant: Mutant) -> ast.Module:
    """The module with the fault in it."""
    tree = ast.parse(source)
    place = list(_places(tree))[mutant.place]
    node = list(_variants(place))[mutant.variant]
    place.put(ast.copy_location(node, place.node))
    return ast.fix_missing_locations(tree)


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:150]


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """Of a block only its head."""
    body = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    return statement.lineno, max(statement.lineno, body[0].lineno - 1) if body else last


@dataclass(frozen=True)
class _Around:
    """What stands around a node."""

    statement: ast.stmt | None = None
    function: Function = None
    scope: str = ""
    """The classes."""


def _places(tree: ast.Module) -> Iterator[_Place]:
    for index, statement in enumerate(tree.body):
        yield from _below(tree, "body", index, statement, _Around())


def _below(parent: ast.AST, field: str, index: int | None, node: ast.AST, around: _Around) -> Iterator[_Place]:
    if isinstance(node, ast.stmt):
        around = replace(around, statement=node)
    if around.statement is None or _is_skipped(node):
        return
    yield _Place(parent, field, index, node, around.statement, around.function)
    body = around
    if isinstance(node, ast.ClassDef):
        body = replace(around, scope=f"{around.scope}{node.name}.")
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and around.function is None:
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        body = replace(around, function=(f"{around.scope}{node.name}", first))
    for name, value in ast.iter_fields(node):
        if name in _SKIPPED_FIELDS:
            continue
        for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                yield from _below(node, name, at, child, body if name == "body" else around)


def _is_skipped(node: ast.AST) -> bool:
    """Docstrings, imports, what only type checkers read, and the wording of messages."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in _SKIPPED_NAMES:
        return True
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "TypeVar":
        return True
    return isinstance(node, ast.Import | ast.ImportFrom | ast.FormattedValue | ast.JoinedStr | ast.expr_context)


def _variants(place: _Place) -> Iterator[ast.AST]:
    node = place.node
    if isinstance(node, ast.stmt):
        yield from _statements(node, within=place.function is not None)
    elif isinstance(node, ast.Constant):
        yield from _constants(node.value)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    else:
        yield from _expressions(node)


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for at, sign in enumerate(node.ops):
            ops = [*node.ops[:at], _COMPARED[type(sign)](), *node.ops[at + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for at in range(len(node.values)):
            rest = [*node.values[:at], *node.values[at + 1 :]]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        yield ast.BinOp(node.left, _COMPUTED[type(node.op)](), node.right)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.comprehension):
        for at in range(len(node.ifs)):
            yield ast.comprehension(node.target, node.iter, [*node.ifs[:at], *node.ifs[at + 1 :]], node.is_async)


def _statements(node: ast.stmt, *, within: bool) -> Iterator[ast.AST]:
    if isinstance(node, ast.If | ast.While):
        if not (isinstance(node.test, ast.UnaryOp) or _is_flipped(node.test)):
            negated = ast.UnaryOp(ast.Not(), node.test)
            yield (
                ast.If(negated, node.body, node.orelse)
                if isinstance(node, ast.If)
                else ast.While(negated, node.body, node.orelse)
            )
    elif isinstance(node, ast.Return):
        if node.value is not None and not isinstance(node.value, ast.Constant):
            yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Expr | ast.Raise | ast.Delete | ast.Break | ast.Continue) or (
        within and isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None
    ):
        yield ast.Pass()
    if isinstance(node, ast.AugAssign) and type(node.op) in _COMPUTED:
        yield ast.AugAssign(node.target, _COMPUTED[type(node.op)](), node.value)


def _is_flipped(test: ast.expr) -> bool:
    """Whether its comparison turned round is its negation already."""
    boundary = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and not isinstance(test.ops[0], boundary)


def _constants(value: object) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1)
    elif isinstance(value, str) and " " not in value:
        yield ast.Constant("" if value else "x")
    elif isinstance(value, bytes):
        yield ast.Constant(b"" if value else b"x")


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in _SWAPPED:
        yield ast.Call(ast.Name(_SWAPPED[name], ast.Load()), node.args, node.keywords)
    if name in _UNWRAPPED and node.args:
        yield node.args[0]
    for at in range(len(node.keywords)):
        yield ast.Call(node.func, node.args, [*node.keywords[:at], *node.keywords[at + 1 :]])
