"""Answers written as a Python function of arithmetic: read as a syntax tree, worked out node by node, never executed.

The text comes from a model and is not trusted. Only what arithmetic needs is understood; attributes, imports, strings,
calls of anything but a few named functions, and every other construct are refused with a reason. Steps, digits, list
lengths and depth are bounded, so that no answer can hang or fill the machine.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

LONGEST_PROGRAM = 4000
"""Characters of a function that is read at all."""
MOST_STEPS = 20_000
MOST_BITS = 512
MOST_ITEMS = 1000
DEEPEST = 60


class ProgramError(ValueError):
    """A program that is no plain arithmetic, goes wrong or takes too long; the message says which in one sentence."""


def answer_of(text: str) -> float:
    """The number that the first function in `text` returns; raises ProgramError, and nothing else, where there is none.

    The function takes no arguments it does not have defaults for; text before and after it does not count.
    """
    function = _function(_source(text))
    scope = _Scope()
    for argument, default in zip(
        reversed(function.args.args), reversed(function.args.defaults), strict=False
    ):
        scope.names[argument.arg] = _value(default, scope)
    try:
        _run(function.body, scope)
    except _Returned as returned:
        return _number(returned.value)
    except (_Break, _Continue):
        raise ProgramError("it leaves a loop outside of one") from None
    raise ProgramError("the function returns nothing")


def _source(text: str) -> str:
    """The lines of the first top-level function: its `def`, and what is indented or blank below it."""
    lines = text.replace("\r\n", "\n").split("\n")
    first = next((i for i, line in enumerate(lines) if line.startswith("def ")), None)
    if first is None:
        raise ProgramError("there is no function")
    last = first + 1
    while last < len(lines) and (not lines[last].strip() or lines[last][0] in " \t"):
        last += 1
    source = "\n".join(lines[first:last])
    if len(source) > LONGEST_PROGRAM:
        raise ProgramError(f"the function is longer than {LONGEST_PROGRAM} characters")
    return source


def _function(source: str) -> ast.FunctionDef:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ProgramError(f"it is no Python: {type(error).__name__}") from None
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef) or len(tree.body) != 1 or function.decorator_list:
        raise ProgramError("it is no plain function")
    arguments = function.args
    others = (arguments.posonlyargs, arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    if any(others) or len(arguments.defaults) < len(arguments.args):
        raise ProgramError("the function needs arguments")
    return function


class _Returned(Exception):  # control flow, as break and continue are
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


@dataclass
class _Scope:
    """The names of one run, what is left of its steps, and how deep it stands."""

    names: dict[str, Any] = field(default_factory=dict)
    steps: int = MOST_STEPS
    depth: int = 0

    def step(self, count: int = 1) -> None:
        self.steps -= count
        if self.steps < 0:
            raise ProgramError(f"it takes more than {MOST_STEPS} steps")


def _run(body: Sequence[ast.stmt], scope: _Scope) -> None:
    scope.depth += 1
    if scope.depth > DEEPEST:
        raise ProgramError("it is nested too deeply")
    for statement in body:
        scope.step()
        _statement(statement, scope)
    scope.depth -= 1


def _statement(node: ast.stmt, scope: _Scope) -> None:
    match node:
        case ast.Return(value=value):
            raise _Returned(None if value is None else _value(value, scope))
        case ast.Assign(targets=targets, value=value):
            result = _value(value, scope)
            for target in targets:
                _assign(target, result, scope)
        case ast.AnnAssign(target=target, value=value) if value is not None:
            _assign(target, _value(value, scope), scope)
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
            scope.names[name] = _binary(op, _read(name, scope), _value(value, scope))
        case ast.If(test=test, body=body, orelse=other):
            _run(body if _value(test, scope) else other, scope)
        case ast.For(target=target, iter=values, body=body, orelse=[]):
            _loop(((target, item) for item in _items(_value(values, scope))), body, scope)
        case ast.While(test=test, body=body, orelse=[]):
            _loop(_while(test, scope), body, scope)
        case ast.Break():
            raise _Break
        case ast.Continue():
            raise _Continue
        case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
            pass
        case _:
            raise _refused(node)


def _while(test: ast.expr, scope: _Scope) -> Iterable[tuple[None, None]]:
    while _value(test, scope):
        yield None, None


def _loop(rounds: Iterable[tuple[ast.expr | None, Any]], body: Sequence[ast.stmt], scope: _Scope) -> None:
    depth = scope.depth
    for target, item in rounds:
        scope.step()
        if target is not None:
            _assign(target, item, scope)
        try:
            _run(body, scope)
        except _Continue:
            pass
        except _Break:
            break
        finally:
            scope.depth = depth


def _assign(target: ast.expr, value: Any, scope: _Scope) -> None:
    match target:
        case ast.Name(id=name):
            scope.names[name] = value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            values = _items(value)
            if len(values) != len(parts):
                raise ProgramError("it unpacks another number of values than there are")
            for part, item in zip(parts, values, strict=True):
                _assign(part, item, scope)
        case _:
            raise _refused(target)


def _value(node: ast.expr, scope: _Scope) -> Any:
    scope.step()
    scope.depth += 1
    if scope.depth > DEEPEST:
        raise ProgramError("it is nested too deeply")
    try:
        return _bounded(_evaluate(node, scope))
    except (ArithmeticError, ValueError, TypeError, IndexError) as error:
        if isinstance(error, ProgramError):
            raise
        raise ProgramError(f"it goes wrong: {type(error).__name__}") from None
    finally:
        scope.depth -= 1


def _evaluate(node: ast.expr, scope: _Scope) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name):
            return _read(name, scope)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _value(left, scope), _value(right, scope))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand, scope))
        case ast.BoolOp(op=op, values=values):
            wanted = isinstance(op, ast.Or)
            result: Any = None
            for part in values:
                result = _value(part, scope)
                if bool(result) is wanted:
                    break
            return result
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compare(_value(left, scope), ops, others, scope)
        case ast.IfExp(test=test, body=body, orelse=other):
            return _value(body if _value(test, scope) else other, scope)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, scope) for part in parts]
        case ast.Subscript(value=value, slice=index):
            return _items(_value(value, scope))[operator.index(_value(index, scope))]
        case ast.Call(func=function, args=arguments, keywords=[]):
            return _call(_name_of(function), [_value(argument, scope) for argument in arguments], scope)
        case _:
            raise _refused(node)


def _read(name: str, scope: _Scope) -> Any:
    if name not in scope.names:
        raise ProgramError("it reads a name that has no value")
    return scope.names[name]


def _binary(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list) and isinstance(op, ast.Add):
        return _bounded(left + right)
    if type(op) not in _BINARY:
        raise _refused(op)
    a, b = _number(left), _number(right)
    if isinstance(op, ast.Pow) and isinstance(a, int) and isinstance(b, int) and b > 0:
        if max(1, a.bit_length()) * b > MOST_BITS:
            raise ProgramError("a number grows too large")
    elif isinstance(op, ast.Pow) and a < 0 and not float(b).is_integer():
        raise ProgramError("a number is not real")
    try:
        return _bounded(_BINARY[type(op)](a, b))
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, ProgramError):
            raise
        raise ProgramError(f"it goes wrong: {type(error).__name__}") from None


def _compare(left: Any, ops: Sequence[ast.cmpop], others: Sequence[ast.expr], scope: _Scope) -> bool:
    for op, other in zip(ops, others, strict=True):
        if type(op) not in _COMPARE:
            raise _refused(op)
        right = _value(other, scope)
        if not _COMPARE[type(op)](_number(left), _number(right)):
            return False
        left = right
    return True


def _name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) if name in _FUNCTIONS:
            return name
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if f"math.{name}" in _FUNCTIONS:
            return f"math.{name}"
    raise ProgramError("it calls something that is no arithmetic")


def _call(name: str, arguments: list[Any], scope: _Scope) -> Any:
    scope.step(sum(len(argument) for argument in arguments if isinstance(argument, list)))
    return _FUNCTIONS[name](*arguments)


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ProgramError("it takes a number for a list")
    return value


def _bounded(value: Any) -> Any:
    """The value, once it is known to be a number or a list of bounded size; exact numbers stay exact."""
    if isinstance(value, list):
        if len(value) > MOST_ITEMS:
            raise ProgramError(f"a list has more than {MOST_ITEMS} items")
        return value
    if value is None:
        return None
    number = _number(value)
    if isinstance(number, int) and number.bit_length() > MOST_BITS:
        raise ProgramError("a number grows too large")
    return value


def _number(value: Any) -> Any:
    if not isinstance(value, (int, float)):
        raise ProgramError("it returns or computes with something that is no number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ProgramError("a number is not finite")
    return value


def _range(*bounds: Any) -> list[int]:
    numbers = range(*(operator.index(bound) for bound in bounds))
    if len(numbers) > MOST_ITEMS:
        raise ProgramError(f"a range has more than {MOST_ITEMS} items")
    return list(numbers)


def _round(value: Any, digits: Any = None) -> Any:
    if digits is None:
        return round(_number(value))
    if not -20 <= operator.index(digits) <= 20:
        raise ProgramError("it rounds to more than 20 digits")
    return round(_number(value), digits)


def _over(function: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    """min, max and sum over the arguments, or over the one list given."""

    def call(*arguments: Any) -> Any:
        values = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else list(arguments)
        return function([_number(value) for value in values])

    return call


def _refused(node: ast.AST) -> ProgramError:
    return ProgramError(f"it uses {type(node).__name__}, which is no arithmetic")


_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: lambda a: +_number(a),
    ast.USub: lambda a: -_number(a),
    ast.Not: operator.not_,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": lambda a: abs(_number(a)),
    "float": lambda a: float(_number(a)),
    "int": lambda a: int(_number(a)),
    "len": lambda a: len(_items(a)),
    "max": _over(max),
    "min": _over(min),
    "range": _range,
    "round": _round,
    "sum": _over(sum),
    "math.ceil": lambda a: math.ceil(_number(a)),
    "math.floor": lambda a: math.floor(_number(a)),
    "math.sqrt": lambda a: math.sqrt(_number(a)),
}
