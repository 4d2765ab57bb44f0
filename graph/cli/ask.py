"""Questions to a human at the terminal. They go to stderr: stdout is for results.

What was typed before a question is shown is no answer to it: it is thrown away. Reading a line holds up nothing else,
and a question that stands there when the rest of the run comes to its end stays, with what was typed of its answer.
"""

import asyncio
import io
import json
import os
import shlex
import sys
import termios
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

import yaml
from pydantic import JsonValue
from rich.text import Text

from graph.cli.console import err
from graph.cli.screen import moment, one_line, print_err, without_controls
from nodes.policy.answers import WORDS, checked_edit
from nodes.policy.plan_text import FIELD as PLAN
from nodes.policy.shown import args_of, read_args
from nodes.policy.wording import asked
from nodes.runtime.clock import SystemClock
from state.approval import Answer, Approval
from state.text import unmarked

_WORDS: dict[str, Answer] = {**WORDS, "a": "approve", "r": "reject", "e": "edit"}
PROMPT = "approve, reject or edit? (with a message, or new arguments as JSON; empty leaves it open) "


def can_ask() -> bool:
    """Whether somebody sits there."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class Asker:
    """Asks each question once: one that was left open is not asked again, and after the end of input none is."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        self._said: dict[str, JsonValue] = {}
        """What was answered, by question, and not taken yet: whoever asked may have been cancelled since."""
        self._is_over = False
        self._standing = ""
        """The question that is on the screen, and is not answered."""
        self._stays = False

    def new(self, questions: Sequence[Approval]) -> list[Approval]:
        """Those of the questions that have not been asked yet, or whose answer was not taken."""
        return [one for one in questions if one.id in self._said or not (self._is_over or one.id in self._asked)]

    def took(self, answers: Iterable[str]) -> None:
        """The answers to these questions were passed on: they are not given again."""
        for question in answers:
            self._said.pop(question, None)

    async def ask(self, questions: Sequence[Approval]) -> dict[str, JsonValue]:
        """The first answer that is given, by question, so that it counts at once; empty where all were left open.

        It is given again, unasked, until it is taken (`took`). A question at which this is cancelled counts as not
        asked.
        """
        for question in questions:
            if question.id in self._said:
                return {question.id: self._said[question.id]}
        new = sorted(self.new(questions), key=lambda question: question.id != self._standing)
        for number, question in enumerate(new, 1):
            if self._is_over:
                break
            stands = question.id == self._standing
            if not stands:
                self.end()
                _show(question, f"  ({number} of {len(new)})" if len(new) > 1 else "")
                _forget_typed()
            answer = await self._answer(question, "" if stands else PROMPT)
            self._asked.add(question.id)
            if answer is not None:
                self._said[question.id] = answer
                return {question.id: answer}
        return {}

    @property
    def is_asking(self) -> bool:
        """Whether a question is on the screen."""
        return bool(self._standing)

    def keep(self, questions: Sequence[Approval]) -> None:
        """Let what is on the screen stay there when asking is cancelled, if it is one of these."""
        self._stays = any(question.id == self._standing for question in questions)

    def end(self) -> None:
        """Leave the line of the question on the screen, if there is one: it is not to be answered any more."""
        if self._standing:
            print_err("")
        self._standing, self._stays = "", False

    async def _answer(self, question: Approval, prompt: str) -> JsonValue:
        self._standing, self._stays = question.id, False
        try:
            made = await _answer(question, prompt)
        except EOFError:
            self._is_over, made = True, None
            print_err("")
        except asyncio.CancelledError:
            if not self._stays:
                self.end()
            raise
        self._standing = ""
        return made


def _show(question: Approval, counted: str) -> None:
    """What is asked, why, how risky that is, until when there is time, and all that is needed to decide."""
    console = err()
    console.print()
    console.print(Text(without_controls(one_line(question.title)) + counted, style="bold"))
    until = f" Until {moment(question.expires_at, SystemClock().now())}." if question.expires_at else ""
    console.print(Text(f"Why: {one_line(question.reason).rstrip('.')}. Risk: {question.risk}.{until}"))
    about = without_controls(unmarked(question.description))
    if about:
        console.print(Text(about))
    if args := {} if question.subject == "plan" else _unsaid(question.args, about):
        console.print(Text(without_controls(_readable(args))))


def _unsaid(args: dict[str, JsonValue], about: str) -> dict[str, JsonValue]:
    """The arguments without those that what was said already has to the letter."""
    return {name: value for name, value in args.items() if not (isinstance(value, str) and value.strip() in about)}


def _readable(args: dict[str, JsonValue]) -> str:
    """Every argument in full: whoever approves has seen what is done."""
    return "With:\n" + indent("\n".join(_argument(name, value) for name, value in args.items()), "  ")


def _argument(name: str, value: JsonValue) -> str:
    """Text as it stands, of several lines below its name; anything else as YAML, which tells it from text."""
    if not isinstance(value, str) or value != value.strip() or not value:
        text: str = yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True, width=10_000)
        return text.rstrip()
    return f"{name}:\n{indent(value, '  ')}" if "\n" in value else f"{name}: {value}"


async def _answer(question: Approval, prompt: str) -> JsonValue:
    """What was said, asked for again until it can be read; None when it was nothing.

    `prompt`: empty where it is on the screen already.
    """
    while line := await _line(prompt):
        prompt = PROMPT
        word, _, rest = line.partition(" ")
        kind = _WORDS.get(word.lower().rstrip(":,."))
        if kind is None:
            print_err(f"{one_line(word, 40)!r} is not an answer; say approve, reject or edit")
            continue
        if kind != "edit":
            return {"type": kind, "message": rest.strip()}
        args = await _edited(question) if editor() and not rest.strip() else None
        if args is None:
            typed = rest.strip() or await _line("new arguments as JSON (or set EDITOR, and edit them as text): ")
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
    shown = args_of(question)
    is_plan = isinstance(lines := shown.get(PLAN), str) and question.subject == "plan"
    text = f"{lines}\n" if is_plan else yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=10_000)
    what = "the lines, a task each" if is_plan else "the arguments"
    with TemporaryDirectory() as folder:
        file = Path(folder, "plan.txt" if is_plan else "arguments.yaml")
        await asyncio.to_thread(file.write_text, f"{about}# Change {what}, save, and leave.\n{text}", "utf-8")
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
            typed = await asyncio.to_thread(file.read_text, "utf-8")
            kept = "\n".join(line for line in typed.splitlines() if not line.startswith("#"))
            args = {PLAN: kept} if is_plan else yaml.safe_load(typed)
            args = read_args(args, question) if isinstance(args, dict) else None
        except (ValueError, yaml.YAMLError) as error:
            print_err(f"this cannot be read: {one_line(str(error))}")
            return None
    if args is None:
        print_err("arguments are `name: value`, a line each")
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
    await _typed()
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
