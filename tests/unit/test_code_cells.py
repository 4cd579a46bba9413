"""Code on a page: names lead to their documentation, and nothing else about the code changes."""

import re
from html import unescape

import code_cells

ADDRESSES = {
    "shallow.train.univariate.train": "trainers.html#train",
    "shallow.train.univariate": "trainers.html#module",
}
HIDDEN = "from shallow.train import univariate\nfrom shallow import stats"


def shown(source: str, *others: str) -> str:
    known = code_cells.meanings([HIDDEN, *others, source])
    return code_cells.highlighted(source, "ipython3", code_cells.links(source, known, ADDRESSES))


def links(html: str) -> list[tuple[str, str]]:
    found = re.findall(r'<a class="code-link" href="([^"]*)" title="[^"]*">(.*?)</a>', html)
    return [(address, re.sub("<[^>]*>", "", inner)) for address, inner in found]


def test_the_longest_documented_chain_is_a_link():
    html = shown('é = "ü"; run = univariate.train(univariate.step, stats.mean).loss')
    assert links(html) == [("trainers.html#train", "univariate.train"), ("trainers.html#module", "univariate")]


def test_a_chain_of_several_lines_is_no_link_and_no_name_that_is_bound_otherwise():
    assert links(shown("run = (univariate\n    .train)()")) == [("trainers.html#module", "univariate")]
    assert links(shown("univariate.train", "def f(univariate):\n    pass")) == []


def test_the_text_stays_and_plain_marks_go():
    source = 'from a.b import c\n\nif c(1 < 2):  # "x" & y\n    univariate.train("a", """b\nc""")\n'
    html = shown(source)
    assert unescape(re.sub("<[^>]*>", "", html)).rstrip("\n") == source.rstrip("\n")
    assert html.startswith('<div class="highlight-ipython3 notranslate"><div class="highlight"><pre><span class="kn">')
    assert not re.search('class="(n|nn|p|w)"', html) and html.count("<span") == html.count("</span>")
    assert '<span class="s2">"a"</span>, <span class="s2">"""b\nc"""</span>' in html
