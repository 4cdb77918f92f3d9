"""What may be changed in a module? Operators, numbers, `not`, true and false, and min, max, any, all: one at a time.

Files stay as they are: a change is made in the parsed text and compiled.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
WORDS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, order=True)
class Place:
    """One change of one file, the lines of its statement, and whether it is run when the module is imported."""

    path: Path
    index: int
    line: int
    change: str
    lines: tuple[int, ...]
    is_imported: bool

    text: str


def places_of(path: Path) -> list[Place]:
    mutator, source = Mutator(), path.read_text()
    mutator.visit(ast.parse(source))
    lines = [line.strip() for line in source.splitlines()]
    return [Place(path, index, *found, lines[found[0] - 1]) for index, found in enumerate(mutator.found)]


def mutate(path: Path, index: int) -> CodeType:
    """A module's code with one place changed; with none for -1."""
    tree = Mutator(index).visit(ast.parse(path.read_text()))
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


def lines_of(statement: ast.stmt) -> tuple[int, ...]:
    """Of a statement with a body, the lines of its head."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    first = body[0].lineno if body and isinstance(body[0], ast.stmt) else statement.lineno + 1
    last = max(first - 1, statement.lineno) if body else statement.end_lineno or statement.lineno
    return tuple(range(statement.lineno, last + 1))


class Mutator(ast.NodeTransformer):
    """Finds the places that could be changed, and changes the one that is asked for."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.depth = wanted, 0
        self.lines: tuple[int, ...] = ()
        self.found = list[tuple[int, str, tuple[int, ...], bool]]()

    def visit(self, node: ast.AST) -> Any:
        outer = self.lines
        if isinstance(node, ast.stmt):
            self.lines = lines_of(node)
        changed = super().visit(node)
        self.lines = outer
        return changed

    def is_wanted(self, node: Any, what: str) -> bool:
        lines = tuple(sorted({*self.lines, node.lineno}))
        self.found.append((node.lineno, what, lines, self.depth == 0))
        return len(self.found) - 1 == self.wanted

    def swap(self, node: Any, operator: ast.AST) -> ast.AST:
        other = SWAPS.get(type(operator))
        if other and self.is_wanted(node, f"{type(operator).__name__} → {other.__name__}"):
            return other()
        return operator

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        node.ops = [self.swap(node, operator) for operator in node.ops]  # type: ignore[misc]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        node.op = self.swap(node, node.op)  # type: ignore[assignment]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        node.op = self.swap(node, node.op)  # type: ignore[assignment]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Not, ast.Invert)) and self.is_wanted(node, f"no {type(node.op).__name__}"):
            return node.operand
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            if self.is_wanted(node, f"{node.value} → {not node.value}"):
                return ast.copy_location(ast.Constant(not node.value), node)
        elif isinstance(node.value, (int, float)):
            other = node.value + 1 if isinstance(node.value, int) else node.value * 1.1 + (node.value == 0)
            if self.is_wanted(node, f"{node.value} → {other:g}"):
                return ast.copy_location(ast.Constant(other), node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in WORDS and self.is_wanted(node, f"{node.id} → {WORDS[node.id]}"):
            return ast.copy_location(ast.Name(WORDS[node.id], node.ctx), node)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        # That two sequences are equally long is an assertion of those who write programs.
        return node if node.arg == "strict" else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        # What is there for the type checker alone is never run.
        return node if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        # What decorators are told, as that records are frozen, is for those who write programs.
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # Types of parameters and answers are no program.
        self.depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.depth -= 1
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        node.args.kw_defaults = [value and self.visit(value) for value in node.args.kw_defaults]
        return node
