"""What humans had against a plan or a task, as far as rules can heed it: what to leave out, and what to add."""

import re
from dataclasses import replace

from nodes.llm.offline.requests import Request, understood
from nodes.llm.offline.words import keywords

_DENIED = re.compile(r"did not allow (?P<what>[\w-]+).*?That was task \S+: (?P<task>.+)$", re.DOTALL)
_SAID = re.compile(r"^The plan was rejected:\s*(?P<said>.+)$", re.DOTALL)
_WITHOUT = re.compile(
    r"\b(?:without|leave out|drop|remove|skip|omit|cancel|no|do not|don't)\s+(?P<what>[^.;,\n]+)", re.IGNORECASE
)
_ALSO = re.compile(r"\b(?:also|add|include|plus)\s+(?P<what>[^.;\n]+)", re.IGNORECASE)
_ACTS = re.compile(
    r"\b(?:publish\w*|send\w*|email\w*|post\w*|shar(?:e|ing)|releas\w+|delet\w+|pay\w*)\b", re.IGNORECASE
)


def heeded(request: Request, objections: list[str]) -> Request:
    """The request without what was objected to and with what was asked for besides; a human has to edit the rest."""
    for text in objections:
        if denied := _DENIED.search(text):
            request = _without(request, denied["what"])
            request = _without(request, denied["task"])
        elif said := _SAID.match(text):
            for wish in _WITHOUT.finditer(said["said"]):
                request = _without(request, wish["what"])
            for wish in _ALSO.finditer(_WITHOUT.sub("", said["said"])):
                request = _with(request, wish["what"])
    return request


def _without(request: Request, what: str) -> Request:
    """Leave out the action it names, and the aspects that are about nothing else."""
    if _ACTS.search(what):
        return replace(request, action="")
    subject = keywords(what).keys()
    if not subject:
        return request
    kept = [aspect for aspect in request.aspects if not (subject <= keywords(aspect).keys())]
    return replace(request, aspects=kept or request.aspects)


def _with(request: Request, what: str) -> Request:
    more = understood(what)
    new = [aspect for aspect in more.aspects if aspect not in request.aspects]
    return replace(request, aspects=[*request.aspects, *new], action=request.action or more.action)
