"""Questions to a human at the terminal. They go to stderr: stdout is for results.

What was typed before a question is shown is no answer to it: it is thrown away. Reading a line holds up nothing else.
"""

import asyncio
import io
import json
import os
import shlex
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

import yaml
from pydantic import JsonValue
from rich.text import Text

from graph.cli.console import err
from graph.cli.screen import one_line, print_err, without_controls
from nodes.policy.answers import WORDS, checked_edit
from nodes.policy.wording import asked
from state.approval import Answer, Approval

_WORDS: dict[str, Answer] = {**WORDS, "a": "approve", "r": "reject", "e": "edit"}
PROMPT = "approve, reject or edit? (with a message, or new arguments as JSON; empty leaves it open) "


def can_ask() -> bool:
    """Whether somebody sits there."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class Asker:
    """Asks each question once: one that was left open is not asked again, and after the end of input none is."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        self._is_over = False

    def new(self, questions: Sequence[Approval]) -> list[Approval]:
        """Those of the questions that have not been asked yet."""
        return [] if self._is_over else [question for question in questions if question.id not in self._asked]

    async def ask(self, questions: Sequence[Approval]) -> dict[str, JsonValue]:
        """The answers that were given, by question; what was left open is not in it.

        A question at which this is cancelled counts as not asked.
        """
        new = self.new(questions)
        answers: dict[str, JsonValue] = {}
        for number, question in enumerate(new, 1):
            if self._is_over:
                break
            _show(question, f"Question {number} of {len(new)}")
            _forget_typed()
            answer = await self._answer(question)
            self._asked.add(question.id)
            if answer is not None:
                answers[question.id] = answer
        return answers

    async def _answer(self, question: Approval) -> JsonValue:
        try:
            return await _answer(question)
        except EOFError:
            self._is_over = True
            print_err("")
            return None


def _show(question: Approval, title: str) -> None:
    console = err()
    who = f"{question.agent}, task {question.task_id}" if question.task_id else question.agent
    console.print()
    console.print(Text(f"{title}: {one_line(question.action)} ({who})", style="bold"))
    console.print(Text(f"Risk: {question.risk}. Why you are asked: {one_line(question.reason)}"))
    if question.description:
        console.print(Text(without_controls(question.description)))
    if question.args:
        console.print(Text(without_controls(_readable(question.args))))


def _readable(args: dict[str, JsonValue]) -> str:
    """Every argument in full: whoever approves has seen what is done."""
    return "With:\n" + indent("\n".join(_argument(name, value) for name, value in args.items()), "  ")


def _argument(name: str, value: JsonValue) -> str:
    """Text as it stands, of several lines below its name; anything else as YAML, which tells it from text."""
    if not isinstance(value, str) or value != value.strip() or not value:
        text: str = yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True, width=10_000)
        return text.rstrip()
    return f"{name}:\n{indent(value, '  ')}" if "\n" in value else f"{name}: {value}"


async def _answer(question: Approval) -> JsonValue:
    """What was said, asked for again until it can be read; None when it was nothing."""
    while line := await _line(PROMPT):
        word, _, rest = line.partition(" ")
        kind = _WORDS.get(word.lower().rstrip(":,."))
        if kind is None:
            print_err(f"{one_line(word, 40)!r} is not an answer; say approve, reject or edit")
            continue
        if kind != "edit":
            return {"type": kind, "message": rest.strip()}
        args = await _edited(question) if editor() and not rest.strip() else None
        if args is None:
            typed = rest.strip() or await _line(f"new arguments for {one_line(question.action)} as JSON: ")
            args = _arguments(typed)
        if args is None:
            continue
        args, problem = checked_edit(args, question)
        if not problem:
            return {"type": "edit", "args": args}
        print_err(f"these arguments cannot be used: {one_line(problem)}")
    return None


def editor() -> list[str]:
    """The command of the editor that somebody has chosen (VISUAL, EDITOR); empty without."""
    try:
        return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    except ValueError:  # a quote that is never closed
        return []


async def _edited(question: Approval) -> dict[str, JsonValue] | None:
    """The arguments as somebody has left them in the editor; None where they are no arguments, or it did not start."""
    about = "".join(f"# {line}\n" for line in asked(question).splitlines())
    text = yaml.safe_dump(question.args, sort_keys=False, allow_unicode=True)
    with TemporaryDirectory() as folder:
        file = Path(folder, "arguments.yaml")
        await asyncio.to_thread(file.write_text, f"{about}# Change the arguments, save, and leave.\n{text}", "utf-8")
        try:
            process = await asyncio.create_subprocess_exec(*editor(), str(file))
            code = await process.wait()
        except OSError as error:
            print_err(f"the editor {editor()[0]!r} does not start: {error.strerror or error}")
            return None
        if code:
            print_err(f"the editor ended with code {code}; nothing was taken from it")
            return None
        try:
            args = yaml.safe_load(await asyncio.to_thread(file.read_text, "utf-8"))
        except (ValueError, yaml.YAMLError) as error:
            print_err(f"this cannot be read: {one_line(str(error))}")
            return None
    if not isinstance(args, dict):
        print_err("arguments are `name: value`, a line each")
        return None
    return args


def _arguments(text: str) -> dict[str, JsonValue] | None:
    try:
        args = json.loads(text)
    except ValueError as error:
        print_err(f"this is not JSON: {error}")
        return None
    if not isinstance(args, dict):
        print_err('arguments are a JSON object, such as {"name": "report.md"}')
        return None
    return args


async def _line(prompt: str) -> str:
    """A line from the terminal; EOFError when there is no more."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    try:
        await _typed()
    except asyncio.CancelledError:
        print_err("")
        raise
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()


async def _typed() -> None:
    """Wait for a line; a terminal has something to read when a whole one was typed."""
    try:
        there = sys.stdin.fileno()
    except io.UnsupportedOperation:  # text in memory
        return
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(there, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(there)


def _forget_typed() -> None:
    """Throw away what was typed so far."""
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
