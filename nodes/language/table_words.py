"""Words that questions ask tables with: what they compute, and what else columns and cells may be called."""

import re
from collections.abc import Sequence
from itertools import combinations

from nodes.language.words import stem

AGGREGATES = {
    "avg": r"average|mean|on average|typical|typically",
    "sum": r"total|sum|altogether|together|added up|(?:over|across) all|in all(?! \w)|overall|combined",
    "median": r"median",
    "share": r"share|(?<!\d )percent|percentage|proportion|fraction",
    "max": r"highest|most|largest|biggest|greatest|maximum|max|top|peak(?:ed)?|longest|tallest|oldest|heaviest|fastest|"
    r"richest|latest|newest|hottest|warmest|best|most expensive|dearest|strongest|busiest|furthest|farthest|"
    r"northernmost|southernmost|deepest|widest|"
    r"(?:higher|larger|bigger|greater|longer|heavier|older|faster|taller|better|more)(?! than)",
    "min": r"lowest|least|smallest|fewest|minimum|min|shortest|youngest|lightest|slowest|poorest|earliest|coldest|"
    r"worst|cheapest|bottom|nearest|closest|quietest|"
    r"(?:lower|smaller|shorter|less|fewer|cheaper|lighter|younger|slower|worse)(?! than)",
    "rank": r"rank(?:ed|ing)?|sort(?:ed)?|order(?:ed)? by",
    "count": r"how many|number of|count",
    "summary": r"analy[sz]e|figures?(?= (?:for|of|on|about)\b)|statistics|range|overview",
}
"""Words that ask for an aggregate, by its name in SQL."""
SENSES = {
    "mass weight wt": "heavy heavier heaviest light lighter lightest weigh weighs",
    "length duration": "long longer longest short shorter shortest last lasts lasted",
    "height elevation altitude": "tall taller tallest high higher highest",
    "date": "day",
    "age": "old older oldest young younger youngest aged",
    "width": "wide wider widest",
    "depth": "deep deeper deepest",
    "price cost bill fee charge": "expensive cheap cheaper cheapest dear dearer dearest price cost costs charge "
    "charges charged pay pays paid spend spends spent",
    "total amount net revenue takings": "cost costs spend spends spent pay paid invoice invoiced bill billed take "
    "took worth owe owes owed raised turnover revenue takings",
    "salary wage income earnings pay": "earn earns earned paid pay wage wages salary salaries payroll rich richest "
    "poor poorest",
    "sales quantity": "sell sells sold selling",
    "speed": "fast faster fastest slow slower slowest",
    "gdp": "rich richest poor poorest",
    "population": "populous inhabitants people",
    "temperature temp": "hot hotter hottest warm warmer warmest cold colder coldest",
    "tmax": "hot hotter hottest warm warmer warmest",
    "tmin": "cold colder coldest",
    "size area": "large larger largest big bigger biggest small smaller smallest",
    "latitude lat": "north northern northernmost",
    "distance": "far farther farthest furthest near nearer nearest close closest",
    "enrolled registered": "signed enrolled registered joined",
    "place rank position": "finish finished finishing placed placing",
    "insured insurance": "insured insurance",
    "item product object article": "thing things item items product products",
    "client customer": "client clients customer customers",
    "birth": "born",
    "death": "died",
    "female": "women woman ladies lady girls girl",
    "wife": "wives",
    "usa us": "american america usa us",
    "film": "movie movies",
    "movie": "film films",
    "child": "children",
    "male": "men man gentlemen boys boy",
}
"""What a column, or a cell, may be called that is asked for by another word."""
OPPOSITES = {
    "profit": "loss losses",
    "latitude lat": "south southern southernmost",
    "place rank position placing": "best worst",
    "survived alive": "died dead drowned killed",
    "passed": "failed",
    "won": "lost",
}
"""The same for words that ask for the least of it, or for those of which it is not so."""
ROWS = "people persons entries records rows cases items times differ compare often common frequent used".split()  # noqa: SIM905
"""Words for what the rows are, or for looking at them, that no table has to account for."""
STOP_CELLS = frozenset("a an the in on at of is are no yes all other none what which how many much year".split())  # noqa: SIM905
"""Cells that a question has for other reasons."""
MEASURED_IN = frozenset(
    "hour minute second day year dollar euro pound kilogram gram metre meter mile kilometre".split()  # noqa: SIM905 - words read as words
)
"""Words for units, which no column has to be called by."""
_SPELT = """
    zero:0 one:1 two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10
    first:1st second:2nd third:3rd fourth:4th fifth:5th sixth:6th
    """
_NAMES = re.compile(r"\b[A-Z]\w+(?: [A-Z]\w+){1,3}")
_ONE_OF_TWO = re.compile(r"\b([A-Z]\w+) (or|and) (?:the )?([A-Z]\w+) ([A-Z]\w+)")
NUMBERS = dict(pair.split(":") for pair in _SPELT.split())
"""Numbers by the words for them."""
CODED = tuple(map(stem, ("female", "male", "left", "right")))
"""Stems of what a cell of one letter may stand for."""
SHORT = 0.6
"""How surely a word is meant by its consonants."""
SAID_BY_FORM = {stem(w) for p in (*ROWS, *MEASURED_IN, *AGGREGATES.values()) for w in re.findall(r"[a-z]{3,}", p)}


def _by_stem(said_of: dict[str, str]) -> dict[str, list[str]]:
    """What a word may mean, stems of both: of each the words of all entries that have it."""
    found: dict[str, list[str]] = {}
    for wanted, said in said_of.items():
        for word in said.split():
            found.setdefault(stem(word), []).extend(map(stem, wanted.split()))
    return found


OPPOSITE = _by_stem(OPPOSITES)
SENSE = _by_stem({**SENSES, **OPPOSITES})


def likeness(part: str, word: str) -> float:
    """How surely a part of a name and a word mean the same, 0 to 1.

    One stem, one short for the other (`pop`, `exp`), the end of it (`state`, `outstate`), its consonants (`mfr`).
    """
    one, two = stem(part), stem(word)
    if one == two:
        return 1.0
    short, long = sorted((one, two), key=len)
    if long.startswith(short) and (len(short) >= 4 or (len(short) == 3 and short == part)):
        return 0.8
    if part.endswith(word) and (len(word) >= 4 or 3 <= len(part) - 2 <= len(word)):  # gdp in `pcgdp`
        return 0.7
    is_short_form = len(part) >= 2 and len(word) >= 5 and not set(part[len(part) > 2 :]) & set("aeiou")
    is_short_form &= len(part) > 2 or two.rstrip("aeiou").endswith(part[1:])  # `wt` of weight, but no `sh` of schools
    return SHORT * bool(is_short_form and re.match(".*".join(map(re.escape, part)), word))


def alike(part: str, word: str) -> bool:
    """Whether a part of a name and a word mean the same."""
    return likeness(part, word) > 0


def is_flag(cell: str) -> bool:
    """Whether a cell says that what its column is called is so."""
    return cell.lower() in ("yes", "y", "true", "1")


def is_answer(cell: str) -> bool:
    """Whether a cell says yes or no."""
    return is_flag(cell) or cell.lower() in ("no", "n", "false", "0")


def is_made_of(part: str, words: Sequence[str]) -> bool:
    """Whether a name is made of the beginnings of these words: `hr` of home runs, `famlabor` of family labor."""
    if not words:
        return not part
    starts = (n for n in range(1, len(part) + 1) if words[0].startswith(part[:n]))
    return any(is_made_of(part[n:], words[1:]) for n in starts)


def initials_in(question: str) -> dict[str, set[str]]:
    """What names of several words may be short for, with the words: `NP` and `SP` in `the North or the South Pole`."""
    names = [name.split() for name in _NAMES.findall(_ONE_OF_TWO.sub(r"\1 \4 \2 \3 \4", question))]
    runs = [name[i:j] for name in names for i, j in combinations(range(len(name) + 1), 2) if j - i > 1]
    return {"".join(word[0] for word in run): {word.lower() for word in run} for run in runs}


def forms_of(word: str) -> set[str]:
    """How a cell may be written that a word means: `women` and `female` or `f`, `third` and `3rd`, `3`."""
    senses, number = SENSE.get(stem(word), []), NUMBERS.get(word, "")
    codes = {sense[0] for sense in [stem(word), *senses] if sense in CODED}
    return {word, stem(word), word.removesuffix("s"), number, number.rstrip("dhnrst"), *senses, *codes} - {""}


def meets(token: str, word: str) -> float:
    """How surely a word means a part of a cell, 0 to 1."""
    if token == word or stem(token) == stem(word):
        return 1.0
    if {token, stem(token)} & forms_of(word):
        return 0.9
    root = stem(word)
    is_short_for = len(token) >= 3 and (root.startswith(token) or likeness(token, word) == SHORT)
    return 0.7 * (is_short_for or (len(root) >= 4 and token.startswith(root)))
