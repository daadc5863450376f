"""Mutants of code: a module with one operator, number, condition or statement changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: An operator, and the operator that a mutant has in its place.
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
#: Functions that mutants exchange, called by their names or as attributes of NumPy.
EXCHANGED = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all",
    "all": "any", "argmin": "argmax", "argmax": "argmin", "floor": "ceil", "ceil": "floor",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A module, named by its path in the package, with the text of one node exchanged."""

    module: str
    function: str  #: qualified name of the function around the node; "" outside of functions
    line: int
    before: str  #: the lines of the node
    after: str
    source: bytes  #: all of the mutated module

    @property
    def key(self) -> str:
        """Name of the mutant that lasts while lines above it come and go."""
        return f"{self.module} {self.function or '(module)'}: {self.before} => {self.after}"


def mutants_of(path: Path, package: Path) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its text."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function, node, text in _changes(ast.parse(source), ""):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        first, last = source[starts[node.lineno - 1] : begin], source[end : starts[node.end_lineno]]
        yield Mutant(
            path.relative_to(package).as_posix(),
            function,
            node.lineno,
            _one_line(first + source[begin:end] + last),
            _one_line(first + text.encode() + last),
            source[:begin] + text.encode() + source[end:],
        )


def _one_line(text: bytes) -> str:
    return " ".join(text.decode().split())


Change = tuple[str, ast.expr | ast.stmt, str]


def _changes(node: ast.AST, scope: str, function: str = "") -> Iterator[Change]:
    """Nodes below a node with the text that replaces them; annotations and texts are left alone."""
    if isinstance(node, ast.JoinedStr):  # Python 3.11 has no places of the nodes within
        return
    if isinstance(node, ast.expr | ast.stmt):
        for text in _replacements(node):
            yield function, node, text
    if isinstance(node, ast.ClassDef):
        scope += f"{node.name}."
    elif isinstance(node, ast.FunctionDef):
        function = f"{scope}{node.name}"
        scope = f"{function}.<locals>."
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _changes(child, scope, function)


def _replacements(node: ast.expr | ast.stmt) -> Iterator[str]:
    """Texts of what a node may become."""
    changed = copy(node)
    match node, changed:
        case ast.Compare(ops=operators), ast.Compare():
            for i, operator in enumerate(operators):
                changed.ops = [*operators[:i], _exchanged(operator), *operators[i + 1 :]]
                yield f"({ast.unparse(changed)})"
        case ast.BinOp() as binary, ast.BinOp():
            if type(binary.op) in OPERATORS and not _is_text(binary):
                changed.op = _exchanged(binary.op)
                yield f"({ast.unparse(changed)})"
        case ast.BoolOp() as logical, ast.BoolOp():
            changed.op = _exchanged(logical.op)
            yield f"({ast.unparse(changed)})"
        case ast.AugAssign() as assigned, ast.AugAssign():
            if type(assigned.op) in OPERATORS:
                changed.op = _exchanged(assigned.op)
                yield ast.unparse(changed)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand), _:
            yield f"({ast.unparse(operand)})"
        case ast.Constant(value=bool() as truth), _:
            yield str(not truth)
        case ast.Constant(value=int() | float() as number), _:
            yield repr(number + 1)
        case ast.Call(func=ast.Name(id=name)), ast.Call() if name in EXCHANGED:
            changed.func = ast.Name(EXCHANGED[name])
            yield ast.unparse(changed)
        case ast.Call(func=ast.Attribute(attr=name, value=owner)), ast.Call() if name in EXCHANGED:
            changed.func = ast.Attribute(owner, EXCHANGED[name])
            yield ast.unparse(changed)
        case ast.Slice(lower=lower, upper=upper), ast.Slice():
            for side in ("lower", "upper"):
                bound = lower if side == "lower" else upper
                if isinstance(bound, ast.Name):
                    moved = copy(changed)
                    setattr(moved, side, ast.BinOp(bound, ast.Add(), ast.Constant(1)))
                    yield ast.unparse(moved)
        case ast.Expr(value=ast.Call()), _:
            yield "pass"
        case ast.Assign(targets=[ast.Name(id=name)], value=value), _:
            if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(value)):
                yield "pass"
        case (ast.Continue(), _):
            yield "break"


def _exchanged(operator: ast.AST) -> Any:  # noqa: ANN401 - of the kind of the operator
    return OPERATORS.get(type(operator), type(operator))()


def _is_text(node: ast.BinOp | ast.BoolOp) -> bool:
    """Whether a sum has a text as a side: it would fail as a difference."""
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    texts = (str, bytes)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, texts))
        for side in sides
    )
