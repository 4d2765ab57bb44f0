"""The `calculate` tool: arithmetic by simpleeval, narrowed to numbers and to sizes that end at once."""

import ast
import math
import operator
import statistics
from collections.abc import Callable
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from simpleeval import InvalidExpression, SimpleEval

from state.errors import ToolRefused

CHARS = 1000
BITS = 4096
"""No whole number may be longer."""
FACTORIAL = 500
DIGITS = 1500
"""More than the longest number has; rounding to more digits changes nothing, rounding away more leaves nothing."""
Number = int | float
ALLOWED = (ast.Expr, ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp, ast.Call)
HINT = "use numbers, + - * / // % **, parentheses and functions such as round, min, max, sum, mean, sqrt, log"


def make_calculate() -> BaseTool:
    """The tool; it needs nothing."""

    async def calculate(expression: str) -> str:
        """Calculate an arithmetic expression such as (1200 - 950) / 950 * 100 or round(mean(3, 4, 8), 2)."""
        return f"{expression.strip()} = {evaluate(expression)}"

    return StructuredTool.from_function(coroutine=calculate, name="calculate")


def evaluate(expression: str) -> str:
    """The value as text: whole numbers in full, others with up to 12 significant digits.

    Raises:
        ToolRefused: it is anything else than arithmetic on real numbers, or too large.
    """
    if len(expression) > CHARS:
        raise ToolRefused(f"the expression has {len(expression)} characters, more than {CHARS}; do it in steps")
    try:
        parsed = ast.parse(expression.strip(), mode="eval").body
        return _shown(_evaluator().eval(expression, previously_parsed=parsed))
    except ZeroDivisionError:
        raise ToolRefused(f"{expression.strip()!r} divides by zero") from None
    except ToolRefused:
        raise
    except (InvalidExpression, SyntaxError, ArithmeticError, ValueError, TypeError, AttributeError) as error:
        raise ToolRefused(f"cannot calculate {expression.strip()!r} ({_first_line(error)}); {HINT}") from None
    except (RecursionError, MemoryError):
        raise ToolRefused("the expression is nested too deeply; do it in steps") from None


def _evaluator() -> SimpleEval:
    """An evaluator that knows numbers, names of constants, the operators below and the functions below."""
    evaluator = SimpleEval(operators=OPERATORS, functions=FUNCTIONS, names={"pi": math.pi, "e": math.e})
    evaluator.nodes = {kind: run for kind, run in evaluator.nodes.items() if kind in ALLOWED}
    return evaluator


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > BITS:
        raise ToolRefused(f"{base}**{exponent} is too large; use logarithms or floating-point numbers")
    return _real(_real(base) ** _real(exponent))


def _times(left: Number, right: Number) -> Number:
    both_whole = isinstance(left, int) and isinstance(right, int)
    if both_whole and int(left).bit_length() + int(right).bit_length() > BITS:
        raise ToolRefused("a product is too large; use floating-point numbers")
    return _real(left) * _real(right)


def _factorial(number: Number) -> int:
    if number > FACTORIAL:
        raise ToolRefused(f"factorial({number}) is too large; {FACTORIAL} is the most")
    if number != int(number):
        raise ToolRefused(f"factorial({number}) is not defined; give a whole number")
    return math.factorial(int(number))


def _round(number: Number, digits: Number = 0) -> Number:
    if abs(digits) > DIGITS:  # Python works out 10**digits for it
        return number if digits > 0 else 0
    return round(number, int(digits)) if digits else round(number)


def _on_reals(function: Callable[..., Number]) -> Callable[..., Number]:
    def checked(*values: Number) -> Number:
        return function(*(_real(value) for value in values))

    return checked


def _real(value: Any) -> Number:
    """`value` if it is a real number.

    Raises:
        ToolRefused: it is text, a complex number, infinite, or longer than `BITS`.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ToolRefused(f"{str(value)[:60]!r} is not a real number; {HINT}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ToolRefused("the result is not a finite number; check the expression")
    if isinstance(value, int) and value.bit_length() > BITS:
        raise ToolRefused("a number is too large; use floating-point numbers")
    return value


def _shown(value: object) -> str:
    number = _real(value)
    return str(number) if isinstance(number, int) else f"{number:.12g}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


OPERATORS: dict[type[ast.AST], Callable[..., Number]] = {
    ast.Add: _on_reals(operator.add),
    ast.Sub: _on_reals(operator.sub),
    ast.Mult: _times,
    ast.Div: _on_reals(operator.truediv),
    ast.FloorDiv: _on_reals(operator.floordiv),
    ast.Mod: _on_reals(operator.mod),
    ast.Pow: _power,
    ast.USub: _on_reals(operator.neg),
    ast.UAdd: _on_reals(operator.pos),
}
PLAIN: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "pow": _power,
    "factorial": _factorial,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "sum": lambda *values: sum(values),
    "mean": lambda *values: statistics.fmean(values),
    "median": lambda *values: statistics.median(values),
    "stdev": lambda *values: statistics.stdev(values),
}
FUNCTIONS = {name: _on_reals(function) for name, function in PLAIN.items()}
