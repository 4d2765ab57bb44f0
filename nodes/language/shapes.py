"""The shape in which an answer is wanted: shorter, as a list, as a table.

A request may ask for nothing but the last answer in another shape, in many languages; or say with what it asks for in
which shape it is wanted: “Which rooms have a projector? As a table, please”, “Explain in three sentences how …”.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nodes.language.subjects import ERRANDS, VERB, keywords
from nodes.language.words import CJK, STOP_WORDS
from nodes.policy.orders import POLITE

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
        shorter short brief briefly briefer concise summarise summarize summary tldr tl condense condensed gist
        sentence sentences paragraph paragraphs nutshell kürzer kurz knapper knapp zusammenfassung zusammenfassen
        zusammen satz sätze sätzen absatz court bref brève brièvement résume résumé résumer phrase phrases corto breve
        resume resumen resumir frase frases conciso riassumi riassunto sintesi curto resuma resumo korter kort
        samenvatting samenvatten zin zinnen kortare kortere короче кратко вкратце резюме krócej krótko أقصر باختصار
        ملخص छोटा
        संक्षेप 简短 简洁 更短 缩短 短一点 短一些 总结 概括 短く 要約 簡潔 짧게 요약
        """,
}
"""Words that ask for a shape."""
_AROUND = """
    dr answers reports text reply put show write form format version bit little instead turn last previous everything
    now want rather even two three four five can could rest line lines each per
    simple small neat few at most more than no up markdown present draw use keep formatted nice
    als eine einer einem ein der die das den dem es bitte mach mache gib mir zeig zeige stelle stell dar fass fasse
    deine antwort ergebnis bericht und nur noch etwas viel zwei drei vier fünf mal kannst du
    en un une sous forme de le la les ça cela moi il te vous plaît plait plus fais mets donne réponse rapport et deux
    trois una como el lo eso esto por favor más mas haz hazlo ponlo dame respuesta informe y dos tres
    di per favore più fai fammi metti mettilo risposta e due tre uma um mais faz faça põe resposta
    een het dat dit kan je maak alsjeblieft graag antwoord som в виде покажи сделай это пожалуйста по и ответ одним
    двумя предложением w formie من فضلك في شكل
    """
"""Words that may stand around one of those, and name nothing, besides those that never do."""
_COUNTS = ("one einem eine", "two zwei deux dos due", "three drei trois tres tre", "four vier", "five fünf")
_SENTENCES = frozenset("sentence sentences satz sätze sätzen phrase phrases frase frases zin zinnen".split())  # noqa: SIM905
_WORDS = {name: frozenset(words.split()) for name, words in SHAPES.items()}
_BOTH = frozenset(("both", "beide", "beides", "beiden", "ambos", "ambas", "entrambi", "entrambe", "обе", "оба"))
_KNOWN = STOP_WORDS.union(ERRANDS, _AROUND.split(), _BOTH, *_WORDS.values())
_QUESTIONS = frozenset(("what", "which", "who", "how", "when", "where", "why"))
PREVIOUS = ("The previous answer", "Both previous answers")
"""How tasks name the last answer, and the last two."""
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
    answers: int = 1
    """How many answers are to be in it: the last, or the last two."""
    unit: Literal["points", "sentences"] = "points"
    """What is counted."""

    def asked_of(self, what: str) -> str:
        """What is asked for with its shape, in words that `parted` reads."""
        unit = "bullet points" if self.name == "list" else "sentences" if self.unit == "sentences" else "paragraphs"
        counted = f"In {self.points} {unit if self.points > 1 else unit[:-1]}." if self.points else ""
        named = {"table": "As a table.", "list": "As bullet points.", "shorter": "Briefly."}
        return f"{what.rstrip('. ')}{'' if what.endswith('?') else '.'} {counted or named.get(self.name, '')}".strip()


def shape_of(request: str) -> Shape | None:
    """The shape in which a request wants the last answer, or both last, where it asks for nothing else."""
    if CJK.search(request):
        found = [name for name, words in _WORDS.items() if any(CJK.match(w) and w in request for w in words)]
        return Shape(found[0]) if found and len(request) <= LONGEST_UNSPACED else None
    said = {word for word in re.split(r"[^\w-]+", request.casefold()) if word}
    digits = {word for word in said if word.isdecimal()}
    if len(request.split()) > LONGEST or not said - digits <= _KNOWN or said & _QUESTIONS:
        return None
    named = next((name for name, words in _WORDS.items() if words & said), None)
    points = next((n for n, words in enumerate(_COUNTS, start=1) if set(words.split()) & said), 0)
    count = 0 if named == "table" else int(min(digits, default=points))
    unit: Literal["points", "sentences"] = "sentences" if _SENTENCES & said else "points"
    return Shape(named, count, 1 + bool(said & _BOTH), unit) if named else None


_LEADS = "as|in|into|als|en|sous|como|come|em|w"
_GIVES = "give|show|put|make|present|format|write|draw|use|return|keep|answer|reply|list|gib|mach|zeig|donne|fais"
_APART = re.compile(
    rf"(?P<before>^\s*|[,;:.!?]\s+|\n|\s[–—-]\s|,?\s+(?:and|then|und|et|y)\s+)"
    rf"(?:(?:then|please|bitte)\s+)*(?P<said>(?:{_LEADS}|{_GIVES})\s[^,;:.!?\n]*?|briefly|"
    r"(?:an? )?(?:short|brief) (?:answer|reply|version))"
    rf"(?=(?P<after>(?:,\s*please)?\s*[,;:.!?\n]+|\s*$|(?=,?\s+(?:and|then)\s)))",
    re.IGNORECASE,
)
"""What stands apart from the rest of a request, and may say nothing but a shape: `…, as a table`."""
_WITHIN = re.compile(rf"\s*\b(?P<said>(?:{_LEADS})(?:\s+[\w-]+){{1,7}})", re.IGNORECASE)
_SHOWN = re.compile(rf"{VERB}|(?:i|we)(?:['’]d| would)? (?:want|need|like)\b", re.IGNORECASE)
_NO_ORDER = re.compile(r"\bhow (?:to|do|does|can|should)\b|^(?:find|search|look|check)\b|\?$", re.IGNORECASE)
_MADE_OF = re.compile(
    r"^(?:give|make|show|draw|create|write|prepare|build|produce|provide|compile)(?: me| us)? (?:an? |the )?"
    r"(?P<shape>(?:[a-z]+ )?(?:table|bullet points|bulleted list|bullet list)) "
    r"(?:of|with|showing|listing|(?P<with>comparing)) "
    r"(?!contents\b)(?!.*\b(?:csv|file|spreadsheet|excel|json)\b)",
    re.IGNORECASE,
)


def parted(request: str) -> tuple[str, Shape | None]:
    """What a request asks for, without what it says of the shape of the answer, and that shape."""
    text = "\n".join(" ".join(line.split()) for line in request.splitlines() if line.strip())
    for start, end, between, shape in _said_of_shape(text):
        rest = f"{text[:start]}{between}{text[end:]}".strip()
        if keywords(rest):
            return rest, shape
    return request, None


def _said_of_shape(request: str) -> Iterator[tuple[int, int, str, Shape]]:
    """Where a request says a shape, and nothing else: from, to, what is to stand there."""
    began = POLITE.match(request)
    start = began.end() if began else 0
    if (made := _MADE_OF.match(request[start:])) and (shape := shape_of(made["shape"])):
        yield 0, start + made.end(), "Compare " if made["with"] else "List ", shape
    for found in _APART.finditer(request):
        if shape := shape_of(found["said"]):
            before, after = found["before"].strip(), found["after"][-1:].strip()
            between = f"{before} " if before[:1] in (".", "!", "?") else after if before or found.start() else ""
            yield found.start(), found.end("after"), between, shape
    for found in _WITHIN.finditer(request):
        words = list(re.finditer(r"[\w-]+", found["said"]))
        for last in reversed(words[1:]):
            end = found.start("said") + last.end()
            shape = shape_of(found["said"][: last.end()])
            if shape and (shape.points or last.group() == "nutshell" or _is_order(request, found.start(), end)):
                yield found.start(), end, "", shape


def _is_order(request: str, start: int, end: int) -> bool:
    """Whether what stands there ends a clause that orders something to be shown."""
    clause = POLITE.sub("", re.split(r"[.!?\n]\s*", request[:start])[-1])
    is_shown = _SHOWN.match(clause) and not _NO_ORDER.search(clause)
    is_end = re.match(r"\s*(?:[.!?,;\n]|$|(?:and|then)\b)", request[end:])
    return bool(is_shown and is_end and not re.search(r"\b(?:the|this|that|our)\s+\S+$", request[start:end]))
