"""The last answer in another shape: shorter, as a table, as a list; asked for in any of several languages.

A request that asks for a shape and names nothing else wants the answer before in it. What is put together keeps its
labels, and its quotations are as they were quoted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nodes.llm.offline.conversation import Conversation, Reply, concluded
from nodes.llm.offline.words import ERRANDS
from nodes.policy.synthesis import blocks
from nodes.tools.words import STOP_WORDS
from state.citation import LABEL

ShapeName = Literal["whole", "shorter", "table", "list"]
SHAPES: dict[ShapeName, str] = {
    "table": """
        table tabular tabelle tabellenform tabellarisch tableau tabla tabella tabela tabel tabell taulukko tablo таблица
        таблицу таблице таблицы таблицей جدول तालिका 表格 表で 表に 用表 テーブル 표로
        """,
    "list": """
        list bullet bullets points bulleted liste aufzählung stichpunkte stichpunkten stichworte puces lista elenco
        список списком пунктам قائمة सूची 列表 列出要点 箇条書き リスト 목록
        """,
    "shorter": """
        shorter short brief briefly briefer concise summarise summarize summary tldr tl condense condensed gist sentence
        sentences nutshell kürzer kurz knapper knapp zusammenfassung zusammenfassen zusammen satz sätze sätzen court
        bref brève brièvement résume résumé résumer phrase phrases corto breve resume resumen resumir frase frases
        conciso riassumi riassunto sintesi curto resuma resumo korter kort samenvatting samenvatten zin zinnen kortare
        kortere короче кратко вкратце резюме krócej krótko أقصر باختصار ملخص छोटा संक्षेप 简短 简洁 更短 缩短 短一点
        短一些 总结 概括 短く 要約 簡潔 짧게 요약
        """,
}
"""Words that ask for a shape."""
_AROUND = """
    dr answers reports text reply put show write form format version bit little instead turn last previous everything
    now want rather even two three four five 1 2 3 4 5 can could rest
    als eine einer einem ein der die das den dem es bitte mach mache gib mir zeig zeige stelle stell dar fass fasse
    deine antwort ergebnis bericht und nur noch etwas viel zwei drei vier fünf mal kannst du
    en un une sous forme de le la les ça cela moi il te vous plaît plait plus fais mets donne réponse rapport et deux
    trois una como el lo eso esto por favor más mas haz hazlo ponlo dame respuesta informe y dos tres
    di per favore più fai fammi metti mettilo risposta e due tre uma um mais faz faça põe resposta
    een het dat dit kan je maak alsjeblieft graag antwoord som в виде покажи сделай это пожалуйста по и ответ одним
    двумя предложением w formie من فضلك في شكل
    """
"""Words that may stand around one of those, and name nothing, besides those that never do."""
_COUNTS = ("one 1 einem eine", "two 2 zwei deux dos due", "three 3 drei trois tres tre", "four 4 vier", "five 5 fünf")
_WORDS = {name: frozenset(words.split()) for name, words in SHAPES.items()}
_KNOWN = STOP_WORDS.union(ERRANDS, _AROUND.split(), *_WORDS.values())
_QUESTIONS = frozenset(("what", "which", "who", "how", "when", "where", "why"))
LONGEST = 14
"""Words of such a request."""
LONGEST_UNSPACED = 20
"""Characters of one in writing without spaces."""
SHORT = 320
"""Characters of a point in a shorter answer, or in a cell of a table."""

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_SAID_OF_ITSELF = re.compile(r"\n*^(?:Confidence:|… \(the beginning of )[^\n]*$", re.IGNORECASE | re.MULTILINE)
_BEFORE = "The answer before"
_TITLES: dict[ShapeName, str] = {"whole": "", "shorter": ", shorter", "table": ", as a table", "list": ", as a list"}
_ABOUT, _SAID, _WHERE = "About", "What is said", "Where"
_TITLE = re.compile(r"\A\*\*(?P<title>[^*\n]+)\*\*[^\n]*\n")
_ROW = re.compile(r"(?:[^:;]{1,60}: [^;]*)(?:; [^:;]{1,60}: [^;]*)+")


@dataclass(frozen=True, slots=True)
class Shape:
    """How the last answer is wanted."""

    name: ShapeName
    points: int = 0
    """How many points it may have at most; 0: as it seems right."""


def shape_of(request: str) -> Shape | None:
    """The shape in which a request wants the last answer, where it asks for nothing else."""
    if _CJK.search(request):
        found = [name for name, words in _WORDS.items() if any(_CJK.match(w) and w in request for w in words)]
        return Shape(found[0]) if found and len(request) <= LONGEST_UNSPACED else None
    said = {word for word in re.split(r"[^\w-]+", request.casefold()) if word}
    if len(request.split()) > LONGEST or not said <= _KNOWN or said & _QUESTIONS:
        return None
    named = next((name for name, words in _WORDS.items() if words & said), None)
    points = next((n for n, words in enumerate(_COUNTS, start=1) if set(words.split()) & said), 0)
    return Shape(named, 0 if named == "table" else points) if named else None


def described(shape: Shape) -> str:
    """The task of putting the last answer into a shape, in words."""
    return f"{_BEFORE}{_TITLES[shape.name]}" + (f": {shape.points} points" if shape.points else "")


def shape_in(task: str) -> Shape | None:
    """The shape that such a task says; None for any other task."""
    title, _, points = task.partition(": ")
    name = next((name for name, words in _TITLES.items() if title == _BEFORE + words), None)
    return Shape(name, int(points.split()[0]) if points else 0) if name else None


def reshape(talk: Conversation, shape: Shape) -> Reply:
    """The last answer in that shape, with its labels."""
    turns = [turn for turn in talk.all("earlier") if turn.body.strip()]
    if not turns:
        return concluded(talk, "There is no answer on this thread yet that could be put in another way.", 0.3)
    answer = turns[-1].body
    points = _points(answer)
    match shape.name:
        case "table":
            text = _as_table(answer, points)
        case "whole":
            text = answer
        case "list":
            text = "\n".join(f"- {_in_a_line(point)}" for point in points[: shape.points or len(points)])
        case _:
            text = "\n\n".join(_shortened(point) for point in points[: shape.points or max(1, len(points) // 3)])
    return concluded(talk, text, 0.8)


def _points(answer: str) -> list[str]:
    """What an answer says, without headings: paragraphs, list items, and passages with the title above them."""
    found = [block.strip() for _, block in blocks(_SAID_OF_ITSELF.sub("", answer).strip())]
    return [block for block in found if block and not block.startswith("#")] or [answer.strip()]


def _shortened(point: str) -> str:
    """The first sentences or lines of a point, and its label; quoted text stays as it is quoted."""
    label, text = LABEL.search(point), LABEL.sub("", point).strip()
    if len(point) <= SHORT:
        return point
    ends = [match.start() for match in re.finditer(rf"{_SENTENCE.pattern}|\n", text)] or [len(text)]
    kept = text[: max([end for end in ends if end <= SHORT], default=ends[0])].rstrip("> \n")
    return f"{kept}{chr(10) if text.startswith(('>', '**')) else ' '}{label.group()}" if label else kept


def _in_a_line(point: str) -> str:
    return " ".join(re.sub(r"(?m)^\s*(?:>|[-*•]\s|\d+[.)]\s)\s?", "", point).split())


def _as_table(answer: str, points: Sequence[str]) -> str:
    """A row a point: what it is about, what it says, where; a table that is there already stays as it is."""
    rows = [line.lstrip("> ") for line in answer.splitlines() if line.lstrip("> ").startswith("|")]
    if len(rows) > 2:
        return "\n".join(rows)
    cells = [_cells(point) for point in points]
    heads = list(dict.fromkeys(head for row in cells for head in row if head != _WHERE))
    titles = [head if head != _SAID or len(heads) > 1 else "What was found" for head in heads]
    lines = [[row.get(head, "") for head in (*heads, _WHERE)] for row in cells if row]
    ruled = [[*titles, _WHERE], ["---"] * (len(heads) + 1), *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in ruled)


def _cells(point: str) -> dict[str, str]:
    """What goes into the row of a point, by column: of a row of a table its own columns."""
    where = " ".join(dict.fromkeys(match.group() for match in LABEL.finditer(point)))
    title = _TITLE.match(point)
    said = _in_a_line(LABEL.sub("", point[title.end() :] if title else point)).strip()
    if not said:
        return {}
    if _ROW.fullmatch(said):
        return {**dict(cell.split(": ", 1) for cell in said.split("; ")), _WHERE: where}
    short = said if len(said) <= SHORT else _SENTENCE.split(said)[0][:SHORT]
    return {**({_ABOUT: title["title"]} if title else {}), _SAID: short, _WHERE: where}
