"""What the search looks through: the words of sections, terms, functions and claims, and nothing of frames and code."""

import search_index

ARTICLE = """
<nav>Binder Repository</nav><h1>of the frame</h1>
<article class="bd-article"><section id="page"><h1>A page<a class="headerlink" href="#page">#</a></h1>
<p>Its <em>be</em>ginning, \\(\\mathbf{w}_i \\le 1\\).</p><p>On.<br>And on.</p>
<section id="one"><span id="cl-14"></span><h2>One</h2>
<div class="cell_input"><div><pre>code</pre></div><p>more</p></div>
<p>After <button class="lab-try">code</button>.</p><script>var x;</script><template><p>card</p></template></section>
<dl><dt id="term-Bump">Bump</dt><dd>A climb.</dd>
<dt class="sig sig-object py" id="shallow.nets.default">default(<i>rng</i>)</dt><dd>A network.</dd></dl>
<table id="ledger"><tr><td>CL-14</td></tr></table></section></article>
<footer>of the frame</footer>"""
PARTS = [
    ["", "A page", "Its beginning, w_i le 1. On. And on."],
    ["one", "One", "After code."],
    ["term-Bump", "Bump", "A climb."],
    ["shallow.nets.default", "shallow.nets.default", "default(rng) A network."],
]


def test_the_parts_of_a_page_have_what_a_reader_sees():
    assert search_index.Sections(ARTICLE).parts == PARTS
