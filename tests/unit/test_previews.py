"""Previews: what is taken from a built page, and what is left out of it."""

import previews

PAGE = """<article>
<section id="a"><span id="sec-a"></span><h2>A <em>title</em><a class="headerlink" href="#a">#</a></h2>
<p class="claim-back">Cited in.</p>
<figure id="fig-a"><img src="../_images/a.png" alt="A curve"/>
<figcaption>
<p><span class="caption-number">Fig. 1 </span>A curve.</p></figcaption></figure>
<table><tr><td><p>a cell</p></td></tr></table>
<p>The <a class="reference internal" href="other.html#equation-x">first</a> paragraph.</p>
<div class="proof" id="thm-a"><div>inner</div> outer</div>
</section>
<section id="b"><h2>Empty</h2>
</section>
</article>"""


def test_a_section_is_its_heading_and_its_first_paragraph():
    expected = '<p class="preview-title">A <em>title</em></p><p>The first paragraph.</p>'
    assert previews.preview(PAGE, "sec-a") == previews.preview(PAGE, "a") == expected
    assert not previews.preview(PAGE, "b")


def test_an_element_is_taken_whole():
    assert previews.preview(PAGE, "thm-a") == '<div class="proof"><div>inner</div> outer</div>'
    assert previews.preview(PAGE, "fig-a").count("</p>") == 1
    assert previews.preview(PAGE, "unknown") is None


def test_a_page_has_one_of_each_and_none_twice(tmp_path):
    (tmp_path / "deep").mkdir()
    page, target = tmp_path / "deep" / "page.html", tmp_path / "other.html"
    link = '<a class="reference internal" href="{}">x</a>'
    text = "<article>" + link.format("../other.html#fig-a") * 2 + link.format("../none.html#a") + "</article>"
    target.write_text(PAGE)
    shown = previews.templates(page, text, lambda file: file.read_text())
    assert shown.count("<template") == 1 and 'src="../../_images/a.png"' in shown
    assert previews.PREVIEWS.sub("", text + shown) == text
