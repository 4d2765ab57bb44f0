"""Whether a request asks for nothing but the last answer in another shape (shorter, as a table), in many languages."""

import re
from dataclasses import dataclass
from typing import Literal

from nodes.language.subjects import ERRANDS
from nodes.language.words import CJK, STOP_WORDS

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
        sentence sentences paragraph nutshell kürzer kurz knapper knapp zusammenfassung zusammenfassen zusammen satz
        sätze sätzen absatz court bref brève brièvement résume résumé résumer phrase phrases corto breve resume
        resumen resumir frase frases conciso riassumi riassunto sintesi curto resuma resumo korter kort samenvatting
        samenvatten zin zinnen kortare kortere короче кратко вкратце резюме krócej krótko أقصر باختصار ملخص छोटा
        संक्षेप 简短 简洁 更短 缩短 短一点 短一些 总结 概括 短く 要約 簡潔 짧게 요약
        """,
}
"""Words that ask for a shape."""
_AROUND = """
    dr answers reports text reply put show write form format version bit little instead turn last previous everything
    now want rather even two three four five 1 2 3 4 5 can could rest line lines each per
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
_BOTH = frozenset(("both", "beide", "beides", "beiden", "ambos", "ambas", "entrambi", "entrambe", "обе", "оба"))
_KNOWN = STOP_WORDS.union(ERRANDS, _AROUND.split(), _BOTH, *_WORDS.values())
_QUESTIONS = frozenset(("what", "which", "who", "how", "when", "where", "why"))
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


def shape_of(request: str) -> Shape | None:
    """The shape in which a request wants the last answer, or both last, where it asks for nothing else."""
    if CJK.search(request):
        found = [name for name, words in _WORDS.items() if any(CJK.match(w) and w in request for w in words)]
        return Shape(found[0]) if found and len(request) <= LONGEST_UNSPACED else None
    said = {word for word in re.split(r"[^\w-]+", request.casefold()) if word}
    if len(request.split()) > LONGEST or not said <= _KNOWN or said & _QUESTIONS:
        return None
    named = next((name for name, words in _WORDS.items() if words & said), None)
    points = next((n for n, words in enumerate(_COUNTS, start=1) if set(words.split()) & said), 0)
    return Shape(named, 0 if named == "table" else points, 1 + bool(said & _BOTH)) if named else None
