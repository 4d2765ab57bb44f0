"""Every error Baton raises on purpose.

    BatonError
    +-- BadInput (ValueError)             what was given cannot be used; exit code 2
    |   +-- PlanInvalid                   a plan that is not a bounded DAG of unique tasks
    |   +-- TeamInvalid                   a team file or list that cannot be a team
    |   +-- PolicyInvalid                 a policy with unknown or out-of-range values
    |   +-- SourcesInvalid                sources that are missing, empty or unreadable
    |   +-- SchemaInvalid                 a schema that no answer can be asked to fit
    |   +-- ThreadUnknown                 no run of that name in this database
    |   +-- ThreadBusy                    another process runs that thread, or work is in flight on it
    |   +-- AgentsMissing                 this process lacks agents that the thread's run needs
    |   +-- EditRefused                   an edit of a run's state that would change what is settled, or makes none
    |   +-- DatabaseUnusable              not a database, read-only, locked or full
    |   +-- FilesUnreachable (OSError)    files at an address (`s3://…`) that cannot be read or written
    |   +-- ThreadDamaged                 what the database has of a thread cannot be read; the others can
    |   +-- SettingsInvalid               an environment variable that cannot be understood
    |   +-- ExtraMissing                  what was asked for needs an extra that is not installed
    +-- ModelFailed (RuntimeError)        the chat model could not be used; exit code 1
    |   +-- ModelUnavailable              transient: busy, 5xx, connection; worth another try
    |   +-- ServerUnusable                its server is too slow, or asks for a longer wait than there is time
    |   |   +-- StillAnswering            its reply was still arriving when the time of the call was up
    |   +-- ModelRejected                 permanent: wrong key, unknown model, bad request
    |   +-- BudgetUsedUp                  a limit of the run leaves no room for the call
    |   +-- ReplyUnusable                 it answered, but not with what was asked for, also after re-asking
    +-- LeaseLost (RuntimeError)          another process took the run over while this one stood still; exit code 1
    +-- ToolRefused (ValueError)          a tool will not do that; the message is for the agent
    +-- AgentFailed (RuntimeError)        an agent did not deliver; carries the class of the failure

Each one subclasses the builtin it means: LangGraph's server keeps the message of builtin errors only.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

FailureClass = Literal[
    "transient", "permanent", "rejected", "declared", "timeout", "limit", "invalid", "denied", "server"
]
"""Why an agent failed: something that may pass, a defect, the model's provider refusing, the agent's own word, too
slow, a limit used up, an answer that is none, a human's no, or a server that cannot be used for now."""


class BatonError(Exception):
    """Anything Baton refuses or gives up on. The message is one line: what was wrong, and what to do."""

    exit_code = 1


class BadInput(BatonError, ValueError):
    """What was given cannot be used."""

    exit_code = 2


class PlanInvalid(BadInput):
    """A plan that is not a bounded DAG of unique tasks with known dependencies."""


class TeamInvalid(BadInput):
    """A team file or list that cannot be a team. `problems`: (line, what is wrong) each, where it came from a file."""

    def __init__(self, message: str, problems: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class PolicyInvalid(BadInput):
    """A policy with unknown or out-of-range values."""


class SourcesInvalid(BadInput):
    """Sources that are missing, empty or unreadable."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason or text
        """What is wrong with the first of them, without where it lies."""


class SchemaInvalid(BadInput):
    """A schema that no answer can be asked to fit."""


class ThreadUnknown(BadInput):
    """No run of that name in this database."""


class ThreadBusy(BadInput):
    """Another process runs that thread, or work is in flight on it."""


class AgentsMissing(BadInput):
    """This process lacks agents that the thread's run needs."""


class EditRefused(BadInput):
    """An edit of a run's state that would change what is settled, or after which it would be none."""


class DatabaseUnusable(BadInput):
    """Not a database, read-only, locked or full; or one on a server that is gone or refuses."""

    def __init__(self, problem: str, afterwards: str = "") -> None:
        super().__init__(f"{problem}; {afterwards}" if afterwards else problem)
        self.problem = problem
        """Without how a human goes on afterwards: workers do so by themselves."""


class FilesUnreachable(BadInput, OSError):
    """Files at an address that cannot be read or written: refused, unknown, or their server is gone."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.strerror = why


class ThreadDamaged(BadInput):
    """What the database has of a thread cannot be read. Other threads are served as ever."""

    def __init__(self, thread_id: str, why: str) -> None:
        told = " ".join(why.split())[:200]
        super().__init__(
            f"thread {thread_id!r} cannot be read ({told}): it is damaged, or of another version; "
            "`baton doctor` says what can be saved"
        )
        self.thread_id = thread_id


class SettingsInvalid(BadInput):
    """An environment variable that cannot be understood."""


class ExtraMissing(BadInput):
    """What was asked for needs an extra that is not installed; `what` is a plural: "messages to people"."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} need the extra `{extra}`: pip install 'baton[{extra}]'")


class ModelFailed(BatonError, RuntimeError):
    """The chat model could not be used."""


class ModelUnavailable(ModelFailed):
    """Transient: busy, 5xx, connection. Worth another try, after the wait that the server asks for in `headers`."""

    def __init__(self, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.headers = headers or {}
        """Of the response, names in lower case; empty where there was none."""


class ServerUnusable(ModelFailed):
    """Its server is too slow, or asks for a longer wait than there is time: any call of it would fare the same now."""


class StillAnswering(ServerUnusable):
    """Its reply was still arriving when the time of the call was up: a shorter one may be in time."""


class ModelRejected(ModelFailed):
    """Permanent: wrong key, unknown model, bad request. Another try changes nothing."""


class BudgetUsedUp(ModelFailed):
    """A limit of the run leaves no room for another call."""


class ReplyUnusable(ModelFailed):
    """The model answered, but not with what was asked for, also after re-asking."""


class LeaseLost(BatonError, RuntimeError):
    """Another process took the run over while this one stood still: nothing that this one writes is kept any more."""


class ToolRefused(BatonError, ValueError):
    """A tool will not do that. The message goes back to the agent that called it."""


class AgentFailed(BatonError, RuntimeError):
    """An agent did not deliver. `failure` is the class that decides whether it is tried again."""

    def __init__(self, message: str, failure: FailureClass = "transient") -> None:
        super().__init__(message)
        self.failure: FailureClass = failure
