"""A downloaded notebook has in words what only the book resolves; its code stays."""

from types import SimpleNamespace

import downloads
import nbformat
import pytest

LABELS = {"sec-there": ("book/other/page", "sec-there", "A section")}
NUMBERS = {
    "book/other/page": {"figure": {"fig-there": (3, 1)}, "lemma": {"lemma-there": (3, 2)}},
    "book/here/page": {"figure": {"fig-here": (2, 4)}, "displaymath": {"equation-eq-here": (2, 7)}},
}
TITLES = {"book/here/theory": "Proofs", "book/other/page": "Another page"}


@pytest.fixture
def env():
    """What is read of Sphinx's environment."""
    titles = {page: SimpleNamespace(astext=lambda title=title: title) for page, title in TITLES.items()}
    domain = SimpleNamespace(labels=LABELS)
    return SimpleNamespace(toc_fignumbers=NUMBERS, titles=titles, get_domain=lambda name: domain)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("See {numref}`fig-there` and {numref}`fig-here`.", "See Fig. 3.1 and Fig. 2.4."),
        ("{prf:ref}`lemma-there`, {eq}`eq-here`", "Lemma 3.2, (2.7)"),
        ("{doc}`theory`, {doc}`../other/page`, {doc}`there <../other/page>`", "*Proofs*, *Another page*, there"),
        ("{ref}`sec-there`, {ref}`that\nsection <sec-there>`", "*A section*, that\nsection"),
        ("{term}`Bulk`, {term}`bulks <Bulk>`", "Bulk, bulks"),
        ("{cite:t}`boursier2024simplicity` say", "Boursier and Flammarion [2024] say"),
        ("as known {cite}`boursier2024simplicity, atanasov2021silent`", "as known [Boursier and Flammarion, 2024; "),
        ("(sec-here)=\n(sec-too)=\n## A heading", "## A heading"),
        ("```{math}\n:label: eq-here\nx = 1\n```\nwhere", "$$\nx = 1 \\tag{2.7}\n$$\nwhere"),
        (
            "{numref}`fig-nowhere`, {doc}`nowhere`, {claim}`XX-99`",
            "{numref}`fig-nowhere`, {doc}`nowhere`, {claim}`XX-99`",
        ),
        ("`{numref}` and $x_{1}$", "`{numref}` and $x_{1}$"),
    ],
)
def test_what_only_the_book_resolves_is_written_out(env, source, said):
    text = downloads.Words(env, "book/here/page").text(source)
    assert text.startswith(said) if said.endswith("; ") else text == said


def test_a_claim_has_its_verdict(env):
    words = downloads.Words(env, "book/here/page")
    row = words.rows["CL-14"]
    assert words.text("so {claim}`CL-14`.").endswith(f" {row.verdict}).")


def test_a_caption_stands_behind_its_figure(env):
    figure = nbformat.v4.new_code_cell(
        "draw()", metadata={"mystnb": {"figure": {"name": "fig-here", "caption": "By {eq}`eq-here`."}}}
    )
    nameless = nbformat.v4.new_code_cell("draw()", metadata={"mystnb": {"figure": {"caption": "Another."}}})
    notebook = nbformat.v4.new_notebook(cells=[figure, nameless, nbformat.v4.new_code_cell("{numref}`fig-here`")])
    notebook = downloads.readable(notebook, downloads.Words(env, "book/here/page"))
    nbformat.validate(notebook)
    assert [cell.source for cell in notebook.cells] == [
        "draw()",
        "**Fig. 2.4** By (2.7).",
        "draw()",
        "Another.",
        "{numref}`fig-here`",
    ]
