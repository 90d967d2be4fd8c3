"""One file, for itself, in which names are text and every number is one of audit.json."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from PIL import Image

from helpers.outputs import Outputs
from known_unknowns.auditing import Inputs, audit, read_outputs
from known_unknowns.auditing.page import document, page

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.]*\w)")


@pytest.fixture(scope="module")
def audits():
    """Return what an audit is called, and a function that makes its page and what it says."""

    def made(found):
        said = json.loads(json.dumps(found.as_dict()))
        return page(found, said), said

    return made


def scripts_of(html):
    """Return what would run: all scripts but those of data."""
    return re.findall(r"<script>(.*?)</script>", html, flags=re.S)


def text_of(html):
    """Return what is to be read, with one space for each tag; ticks of axes are not."""
    body = html.partition("<body>")[2]
    body = re.sub(r"<(script|style|text)\b.*?</\1>", " ", body, flags=re.S)
    return unescape(re.sub(r"<[^>]*>", " ", body))


def values(said):
    """Yield the numbers and texts of JSON."""
    if isinstance(said, dict):
        said = list(said.values())
    if isinstance(said, list):
        for one in said:
            yield from values(one)
    else:
        yield said


def test_every_number_of_the_page_is_in_the_json(inputs, audits):
    found = audit(inputs, risk=0.2, replicates=20, require=["accuracy>=0.5", "auroc>=0.99"])
    html, said = audits(found)
    known = list(values(said))
    told = {token for one in known if isinstance(one, str) for token in NUMBER.findall(one)}
    numbers = np.array([one for one in known if isinstance(one, int | float)], float)
    numbers = np.concatenate([numbers, 100 * numbers])
    tokens = set(NUMBER.findall(text_of(html)))
    assert len(tokens) > 50
    for token in tokens - told - {"100"}:  # "of 100 images"
        places = len(token.partition(".")[2])
        assert (np.abs(np.round(numbers, places) - float(token)) < 1e-9).any(), token


def test_of_many_classes_the_worst_are_shown_and_the_others_folded(audits):
    """The one that is always taken for another comes first."""
    labels = np.arange(300) % 20
    logits = 3 * np.eye(20)[labels] + np.random.default_rng(0).normal(size=(300, 20))
    logits[labels == 7, 8] += 20
    inputs = Inputs(
        "a toy", Outputs(logits, np.empty((300, 0)), labels), tuple("abcdefghijklmnopqrst")
    )
    html, _ = audits(audit(inputs, risk=0.3, replicates=5))
    shown, _, folded = html.partition("right least often</h3>")[2].partition("the other classes")
    names = [
        re.findall(r"<tr><td[^>]*>(\w)<", part.partition("</table>")[0]) for part in (shown, folded)
    ]
    assert names[0][0] == "h" and [len(one) for one in names] == [12, 8]


def test_the_page_says_the_five_sentences_and_each_advice(inputs, audits):
    html, said = audits(audit(inputs, risk=0.2, replicates=5))
    text = " ".join(text_of(html).replace("\xa0", " ").split())
    for sentence in (*said["summary"], *(one["advice"] for one in said["findings"])):
        shown = re.sub(r"`([^`]*)`", r" \1 ", sentence)
        assert re.sub(r"\s", "", shown) in re.sub(r"\s", "", text)
    assert html.index("class=bars") < html.index("<details")  # the picture is not folded


def test_the_page_needs_nothing_beside_it(inputs, audits):
    """No address, one script, and a policy that forbids every other one."""
    html, _ = audits(audit(inputs, risk=0.2, replicates=5))
    (script,) = scripts_of(html)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src " in html
    assert html.count("script-src") == 1 and f"script-src 'sha256-{digest}'\">" in html
    assert "script-src 'none'" in document("A title", "") and "fetch" not in script
    assert all(
        one.startswith("data:image/png;base64,") for one in re.findall(r'src="([^"]*)', html)
    )
    assert not re.findall(r"https?:|@import|url\(|<link|href", html)


def test_names_are_text(arrays, write, audits):
    """Those of classes, sets, files and requirements, also in what is only said aloud."""
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>`"
    arrays = {name: one for name, one in arrays.items() if not name.startswith("ood_")}
    arrays["class_names"] = np.array([f"{evil}{i}" for i in range(4)])
    arrays["files"] = np.array([f"{evil}{i}.png" for i in range(300)])
    inputs = read_outputs(write(arrays))
    unknown = Outputs(inputs.production.logits, inputs.production.features, np.full(170, -1))
    inputs = replace(inputs, ood={evil: unknown}, source=evil, note=evil)
    html, _ = audits(audit(inputs, risk=0.2, replicates=5, require=[]))
    assert html.count("&lt;script&gt;alert(1)") > 10
    assert len(scripts_of(html)) == 1 and len(re.findall("<script", html)) == 2  # and its data
    assert "<img src=x" not in html
    tags = re.findall(r"<[a-z]\w*(?:\s[^<>]*)?>", html)
    assert not [tag for tag in tags if "onerror" in re.sub(r'"[^"]*"', "", tag)]


def test_of_many_sets_the_worst_are_in_the_picture(inputs, audits):
    """And it says that there are others, which a table has."""
    one = inputs.production
    sets = {f"set {i}": one.subset(slice(i, i + 40)) for i in range(10)}
    html, said = audits(audit(replace(inputs, ood=sets), risk=0.2, replicates=5))
    drawn = re.findall(r"class=name>unknown: (set \d)<", html)
    accepted = said["thresholds"]["risk"]["ood_accepted"]
    assert len(drawn) == 8 and "Of the other sets fewer are accepted" in html
    left = [accepted[name] for name in sets if name not in drawn]
    assert max(left) <= min(accepted[name] for name in drawn)
    assert all(html.count(f"<td>{name}</td>") >= 1 for name in sets)


def test_pictures_of_the_surest_errors_are_shown(arrays, write, audits, tmp_path):
    path = tmp_path / "red.png"
    Image.new("RGB", (20, 10), "red").save(path)
    inputs = read_outputs(write(arrays | {"files": np.array([str(path)] * 300)}))
    assert 'alt="The surest errors"' in audits(audit(inputs, risk=0.2, replicates=5))[0]


def test_whatever_was_found_has_a_page(inputs, arrays, write, audits):
    """No threshold; no error; a single score that can be computed."""
    html, _ = audits(audit(inputs, risk=0.001, replicates=5))
    assert "No rejector is written" in html and "left to a person</span>" not in html
    logits = 9.0 * np.eye(4)[arrays["labels"]] + arrays["logits"] / 100
    few = read_outputs(write({"logits": logits, "labels": arrays["labels"]}))
    html, _ = audits(audit(few, replicates=5))
    assert "The surest errors" not in html and "100.0&nbsp;% of 300 images" in html


def test_no_figure_is_left_open(inputs, audits):
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_fignums(), dict(plt.rcParams)
    audits(audit(inputs, risk=0.2, replicates=5))
    assert (plt.get_fignums(), dict(plt.rcParams)) == before
