"""The last answer in another shape: shorter, as a table, as a list; asked for in any of several languages.

A request that asks for a shape and names nothing else wants the answer before in it. What is put together keeps its
labels, and its quotations are as they were quoted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nodes.llm.offline.conversation import Conversation, Reply, with_confidence
from state.citation import LABEL

ShapeName = Literal["whole", "shorter", "table", "list"]
SHAPES: dict[ShapeName, str] = {
    "table": """
        table tabular tabelle tabellenform tabellarisch tableau tabla tabella tabela tabel tabell taulukko tablo
        таблица таблицу таблице таблицы таблицей جدول तालिका
        """,
    "list": """
        list bullet bullets points bulleted liste aufzählung stichpunkte stichpunkten stichworte puces lista elenco
        список списком пунктам قائمة सूची
        """,
    "shorter": """
        shorter short brief briefly briefer concise summarise summarize summary tldr tl dr condense condensed gist
        sentence sentences nutshell
        kürzer kurz knapper knapp zusammenfassung zusammenfassen zusammen satz sätze sätzen
        court bref brève brièvement résume résumé résumer phrase phrases
        corto breve resume resumen resumir frase frases conciso riassumi riassunto sintesi curto resuma resumo
        korter kort samenvatting samenvatten zin zinnen kortare kortere
        короче кратко вкратце резюме krócej krótko أقصر باختصار ملخص छोटा संक्षेप
        """,
}
"""Words that ask for a shape."""
_UNSPACED: dict[ShapeName, str] = {
    "table": "表格|表で|表に|用表|テーブル|표로|표 ",
    "list": "列表|列出要点|箇条書き|リスト|목록",
    "shorter": "简短|简洁|更短|缩短|短一点|短一些|总结|概括|短く|要約|簡潔|짧게|요약",
}
_AROUND = """
    a an as in into to it its that this them these those your the answer answers result results report text reply
    please make put give me us show write of with and just now only can could would you i we want need like form format
    version more much again but for everything all by rather even bit little have let instead turn last above previous
    one two three four five 1 2 3 4 5
    als eine einer einem ein der die das den dem es bitte mach mache gib mir zeig zeige stelle stell dar fass fasse
    deine antwort ergebnis bericht und nur noch etwas viel zwei drei vier fünf mal kannst du
    en un une sous forme de du le la les ça cela moi s il te vous plaît plait plus fais mets donne réponse rapport et
    deux trois
    una como el lo eso esto por favor más mas haz hazlo ponlo dame respuesta informe y dos tres
    di per favore più fai fammi metti mettilo risposta e due tre uma um mais faz faça põe resposta
    een het dat dit kan je maak alsjeblieft graag antwoord som
    в виде покажи сделай это пожалуйста по и ответ одним двумя предложением
    w formie من فضلك في شكل
    """
"""Words that may stand around one of those, and name nothing."""
_COUNTS = ("one 1 einem eine", "two 2 zwei deux dos due", "three 3 drei trois tres tre", "four 4 vier", "five 5 fünf")
_WORDS = {name: frozenset(words.split()) for name, words in SHAPES.items()}
_KNOWN = frozenset(_AROUND.split()).union(*_WORDS.values())
LONGEST = 14
"""Words of such a request."""
LONGEST_UNSPACED = 20
"""Characters of one in writing without spaces."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the last answer is wanted."""

    name: ShapeName
    points: int = 0
    """How many points it may have at most; 0: as it seems right."""


_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def shape_of(request: str) -> Shape | None:
    """The shape in which a request wants the last answer, where it asks for nothing else."""
    said = [word for word in re.split(r"[^\w-]+", request.casefold()) if word]
    if _CJK.search(request):
        found = next((name for name, words in _UNSPACED.items() if re.search(words, request)), None)
        return Shape(found) if found and len(request) <= LONGEST_UNSPACED else None
    if len(said) > LONGEST or not set(said) <= _KNOWN:
        return None
    named = next((name for name, words in _WORDS.items() if words & set(said)), None)
    points = next((n for n, words in enumerate(_COUNTS, start=1) if set(words.split()) & set(said)), 0)
    return Shape(named, 0 if named == "table" else points) if named else None


_BLOCK = re.compile(r"\n{2,}|\n(?=\s*(?:[-*•]|\d+[.)])\s)")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_SAID_OF_ITSELF = re.compile(r"\n*^(?:Confidence:|… \(the beginning of )[^\n]*$", re.IGNORECASE | re.MULTILINE)
SHORT = 320
"""Characters of a point in a shorter answer, or in a cell of a table."""


_BEFORE = "The answer before"
_TITLES: dict[ShapeName, str] = {"whole": "", "shorter": ", shorter", "table": ", as a table", "list": ", as a list"}


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
        return with_confidence("There is no answer on this thread yet that could be put in another way.", 0.3)
    points = _points(turns[-1].body)
    match shape.name:
        case "table":
            text = _as_table(turns[-1].body, points)
        case "whole":
            text = turns[-1].body
        case "list":
            text = "\n".join(f"- {_in_a_line(point)}" for point in points[: shape.points or len(points)])
        case _:
            text = "\n\n".join(_shortened(point) for point in points[: shape.points or max(1, len(points) // 3)])
    return with_confidence(text, 0.8)


def _points(answer: str) -> list[str]:
    """What an answer says, without headings: paragraphs, list items, and passages with the title above them."""
    found: list[str] = []
    for block in _BLOCK.split(_SAID_OF_ITSELF.sub("", answer).strip()):
        if block.lstrip().startswith("#"):
            continue
        if found and found[-1].startswith("**") and "\n" not in found[-1] and block.startswith(">"):
            found[-1] += f"\n\n{block}"
        elif block.strip():
            found.append(block.strip())
    return found or [answer.strip()]


def _shortened(point: str) -> str:
    """The first sentences of a point, and its label; quoted text stays as it is quoted."""
    if len(point) <= SHORT:
        return point
    labels = LABEL.search(point)
    kept, size = list[str](), 0
    for line in (LABEL.sub("", point)).strip().splitlines():
        for number, sentence in enumerate(_SENTENCE.split(line)):
            if kept and size + len(sentence) > SHORT:
                break
            kept.append(sentence if number == 0 else f"\0{sentence}")
            size += len(sentence)
        else:
            continue
        break
    text = "\n".join(kept).replace("\n\0", " ").rstrip("> \n")
    return (
        f"{text}\n{labels.group()}"
        if labels and text.lstrip().startswith((">", "**"))
        else (f"{text} {labels.group()}" if labels else text)
    )


def _in_a_line(point: str) -> str:
    return " ".join(re.sub(r"(?m)^\s*(?:>|[-*•]\s|\d+[.)]\s)\s?", "", point).split())


def _as_table(answer: str, points: Sequence[str]) -> str:
    """A row a point: what it is about, what it says, where; a table that is there already stays as it is."""
    rows = [line.lstrip("> ") for line in answer.splitlines() if line.lstrip("> ").startswith("|")]
    if len(rows) > 2:
        return "\n".join(rows)
    cells = [_cells(point) for point in points]
    heads = list(dict.fromkeys(head for row in cells for head in row if head != _WHERE))
    lines = [[row.get(head, "") for head in (*heads, _WHERE)] for row in cells if row]
    titles = [head if head != _SAID or len(heads) > 1 else "What was found" for head in heads]
    ruled = [[*titles, _WHERE], ["---"] * (len(heads) + 1), *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in ruled)


_ABOUT, _SAID, _WHERE = "About", "What is said", "Where"
_TITLE = re.compile(r"\A\*\*(?P<title>[^*\n]+)\*\*[^\n]*\n")
_ROW = re.compile(r"(?:[^:;]{1,60}: [^;]*)(?:; [^:;]{1,60}: [^;]*)+")


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
