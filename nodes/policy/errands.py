"""The words by which requests ask for work, in several languages: what is to be done, with what sort of thing.

Each line of a table begins with what its words come to. Whole words count, in their forms; never a part of a word. To
have another word understood, add it to its line.
"""

import re

ACTS = """
analyze: analyze analyse evaluate assess examine investigate study research explore dissect analysiere analysieren
  analysiert untersuche untersuchen bewerte bewerten analyser analysez étudie étudier examine évalue analiza
  analizar analice analizza analizzare analise analisar evalúa examina 分析 調査 调查 調べて 研究
summarize: summarize summarise condense zusammenfassen résume résumer resume resumir resuma riassumi riassumere 总结
  要約 概括
compare: compare contrast vergleiche vergleichen vergleich comparer comparez compara comparar confronta 比较 比較
write: write draft compose author pen schreibe schreiben verfasse verfassen écris écrire rédige rédiger escribe
  escribir redacta scrivi scrivere escreva 写 撰写 書いて 書く
translate: translate übersetze übersetzen traduis traduire traduce traducir traduci traduza 翻译 翻訳
delete: delete remove erase wipe drop purge discard trash lösche löschen lösch löscht entferne entfernen supprime
  supprimer supprimez efface effacer borra borrar elimina eliminar cancella exclua apague 删除 削除 消して
send: send mail forward sende senden sendet schick schicke schicken verschicke verschicken versende versenden
  envoie envoyer envía envíe envíes envíen enviar invia 发送 送信 送って
publish: publish post share release announce veröffentliche veröffentlichen publie publier publica publique publiques
  publicar pubblica 发布 公開
pay: pay buy purchase order kaufe kaufen bezahle achète acheter compra comprar 购买 買って
sell: sell verkaufe vends vender
list: list enumerate name itemize liste auflisten nenne énumère lister enumera lista listar elenca 列出 挙げて
explain: explain describe clarify illustrate erkläre erklären beschreibe explique expliquer décris explica explicar
  describe spiega 解释 説明
calculate: calculate compute work-out berechne berechnen calcule calculer calcula calcular calcola 计算 計算
count: count tally zähle compte cuenta
plan: plan organise organize arrange plane planen planifie planifier planifica planificar organiza pianifica 计划 計画
recommend: recommend suggest advise propose empfiehl empfehle recommande recommander recomienda recomendar consiglia
  推荐 推薦
forecast: forecast predict project prognostiziere prévois predice pronostica 预测 予測
estimate: estimate guess schätze estime estima 估计
build: build implement develop code program create make generate baue bauen entwickle erstelle erstellen construis
  crée construye crea desarrolla 构建 作って 作成
fix: fix repair debug mend repariere behebe répare corrige arregla ripara 修复 修理 修正
review: review proofread check audit critique prüfe überprüfe vérifie vérifier revisa revisar controlla 审查 確認
find: find search locate identify discover finde suche trouve cherche encuentra busca trova cerca 查找 探して
rank: rank prioritize prioritise rate
sort: sort group classify categorize categorise
extract: extract pull
convert: convert transform export import
test: test validate verify benchmark teste
refactor: refactor restructure
improve: improve optimize optimise enhance verbessere améliore mejora
draw: visualize visualise plot chart draw graph sketch zeichne dessine dibuja
book: book reserve buche réserve reserva
cancel: cancel revoke abort storniere annule cancela
edit: edit modify rename change rewrite update revise ändere aktualisiere modifie modifica actualiza
move: move copy archive
print: print
read: read show display open zeige montre muestra
install: install deploy configure set-up installiere installe instala
brainstorm: brainstorm
monitor: monitor track watch
outline: outline
schedule: schedule
ignore: ignore disregard
cook: cook bake
define: define
quote: quote
sign: sign
design: design
simulate: simulate
interview: interview
teach: teach
"""
"""What is to be done, by its verbs."""

NOUNS = """
analyze: analysis analyses evaluation assessment examination investigation study studies research analyse analysen
  untersuchung bewertung análisis analisi análise étude
summarize: summary summaries zusammenfassung résumé resumen riassunto
compare: comparison comparisons vergleich comparaison comparación confronto
translate: translation translations übersetzung traduction traducción
list: list lists liste
explain: explanation description erklärung explication explicación
calculate: calculation computation berechnung
recommend: recommendation recommendations suggestion suggestions advice empfehlung
forecast: forecast forecasts prediction predictions projection prognose
estimate: estimate estimates
review: review reviews audit
rank: ranking
overview: overview overviews überblick aperçu
delete: deletion removal löschung suppression
outline: outline
draw: drawing visualization
test: test tests
"""
"""The same by nouns: `an analysis of X` asks what `analyze X` does. Beside a verb they are what it is done with."""

LIGHT = frozenset(
    """
    do make create conduct perform prepare produce provide give deliver get run carry need want like generate have
    mach mache erstelle brauche möchte gib fais donne réalise prépare haz dame necesito quiero realiza fai dammi
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""Verbs that say nothing before such a noun."""

KINDS = """
market: market markets marketplace industry industries sector markt märkte marktes branche marché marchés secteur
  mercado mercados mercato settore 市场 市場 业界 行业 業界
report: report reports bericht rapport informe rapporto relatório 报告 報告書
analysis: findings
essay: essay essays article articles paper papers artikel aufsatz artículo 文章 記事
memo: memo memos brief briefing
letter: letter letters brief lettre carta lettera
email: email emails e-mail mail mails reply correo 邮件 メール
poem: poem poems gedicht poème poema poesia 诗 詩
haiku: haiku haikus
story: story stories tale novel geschichte histoire historia
song: song songs lyrics
joke: joke jokes
speech: speech speeches
post: blog tweet tweets newsletter
presentation: presentation presentations slides deck
table: table tables spreadsheet tabelle tableau tabla
code: code codebase script scripts function functions program programs repository repo module class app website api
software: software
bug: bug bugs error errors crash issue issues fehler
database: database databases
query: query queries
contract: contract contracts agreement lease leases vertrag contrat contrato contratto 合同 契約
invoice: invoice invoices receipt receipts bill bills rechnung facture factura
policy: policy policies regulation regulations law laws
license: license licence
data: data dataset datasets figures statistics survey surveys log logs daten données datos
competitor: competitor competitors competition rivals rival konkurrent konkurrenten concurrent concurrents
  competidores
customer: customer customers client clients
feedback: feedback complaints
menu: menu menus
recipe: recipe recipes
trip: trip trips journey itinerary vacation holiday travel reise voyage viaje
party: party wedding event
meeting: meeting meetings sitzung sitzungen besprechung réunion réunions reunión reuniones riunione
agenda: agenda minutes
note: notes notizen notas
budget: budget budgets
strategy: strategy strategies roadmap
plan: plan plans schedule
resume: cv
book: book books chapter film movie movies
company: company companies firm firms vendor vendors supplier suppliers startup startups unternehmen entreprises
  empresas
product: product products
price: price prices pricing cost costs preis preise prix precio precios
risk: risk risks
trend: trend trends
size: size volume
share: share shares
revenue: revenue revenues sales turnover profit profits
swot: swot
history: history
future: future outlook
effect: impact effect effects consequences
cause: cause causes reason reasons
benefit: benefits advantages
drawback: drawbacks disadvantages
difference: difference differences
meaning: definition meaning
team: team teams people employees staff
stock: stock stocks portfolio bond bonds
weather: weather
image: image images photo photos picture pictures logo
video: video videos
audio: audio podcast
file: file files folder folders
password: password passwords
account: account accounts
ticket: ticket tickets
tax: tax taxes
text: text sentence sentences paragraph paragraphs document documents bullet bullets
question: question questions faq
patient: patient patients symptoms
exam: exam quiz
lesson: lesson course curriculum
workout: workout diet
capital: capital
population: population
square: square stall
wine: wine wines
"""
"""What sort of thing it is done with."""

DOCUMENTS = frozenset(
    {"report", "essay", "memo", "letter", "email", "poem", "haiku", "story", "song", "post", "speech"}
)
"""What is written where somebody is to make it."""

ASKS = """
what: what was quoi que qué cosa 什么 何 что
which: which welche welcher welches quelle quel quelles quels cuál cuáles quale какой какая какое какие
who: who whom wer qui quién chi 谁 誰 кто
how: how wie wieviel wieviele comment combien cómo cuánto cuánta cuántos cuántas come quanto quanta quanti quante 如何
  怎么 как сколько
why: why warum pourquoi perché 为什么 なぜ почему
when: when wann quand cuándo quando 何时 いつ когда
where: where wo où dónde dove 哪里 どこ где куда откуда
whether: whether ob ли
"""
"""Words that ask."""

DENIALS = frozenset(
    """
    not never no don't dont cannot without stop avoid refrain nicht kein keine keinen nie niemals ohne ne pas jamais
    sans nunca jamás sin non mai senza não nem 不要 别 請勿 请勿 不用 しない ないで やめて 無し except
    excluding außer sauf excepto eccetto exceto 以外
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""Words that say what is not to be done."""

SMALL = frozenset(
    """
    a an the this that these those it its their theirs his her hers
    them they he she i me my we us our you your to of for on in at by with
    from into onto about over under between among as than then and or but so if is are was were be been being am do
    does did has have had will would could should can may might must shall please kindly thanks thank hi hello dear
    let lets help just also now again first next finally there here some any all each every both more most very much
    many such s d ll re ve m up out per via regarding concerning der die das den dem des ein eine einen einem einer
    eines und oder für von vom zu zum zur im auf über mit aus bei bitte mir mich uns wir ich du sie es ist sind war
    le la les l un une de et ou à au aux en sur pour avec dans est sont s'il vous plaît moi nous je el los las lo
    una uno unos y o del al con para por sobre son favor il gli e di da su che os dos em na 的 了
    吧 请 一下 を の に は が で と へ も ください して お願いします する します
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""Words that say nothing of either."""

MANNER = frozenset(
    """
    comprehensive detailed thorough full complete quick short brief concise deep good new current latest recent
    overall general professional simple clear careful whole entire important main key in-depth well nice great
    proper ausführliche ausführlich kurze kurz aktuelle gründliche complète complet courte détaillée completa
    completo breve corta detallado
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""How well it is to be done: always well."""

BE = frozenset(
    """
    is are was were be been do does did can could should would will has have had may must ist sind est sont es
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""Verbs that follow a word that asks."""

ABOUT = frozenset(
    """
    about on for to from in with at über für an zu mit sur pour à sobre para por su per con
    """.split()  # noqa: SIM905 - a list of words reads as words
)
"""Words before what something is about."""

PHRASES = {
    r"\bsum(?:s|ming)? up\b": "summarize",
    r"\btl;?dr\b": "summarize",
    r"\b(?:(?:take|have) a )?(?:close |quick )?look(?:ing)? (?:into|at)\b": "investigate",
    r"\bfind out\b": "find",
    r"\bwrite up\b": "write",
    r"\bdraw(?:ing)? up\b": "write",
    r"\bput(?:ting)? (.{1,40}?\b)?together\b": r"write \1",
    r"\b(?:work(?:ing)? (it |this |that |them )?out|add(?:ing)? (?:it |this |that |them )?up)\b": "calculate",
    r"\bset(?:ting)? up\b": "install",
    r"\bpress releases?\b": "article",
    r"\bget rid of\b": "delete",
    r"\bfigure out\b": "find",
    r"\bmarket (?:research|study)\b": "market analysis",
    r"\bpros and cons\b": "benefits and drawbacks",
    r"\bfasse?\b(.*)\bzusammen\b": r"zusammenfassen \1",
    r"n['’]t\b": " not",
    r"\bmarktanalyse\b": "markt analyse",
}
"""What several words come to."""


def meanings(table: str) -> dict[str, str]:
    """What each word of one of these tables comes to."""
    found: dict[str, str] = {}
    for line in re.split(r"\n(?=\S)", table.strip()):
        meant, _, words = line.partition(":")
        for word in words.split():
            found.setdefault(word.casefold(), meant)
    return found
