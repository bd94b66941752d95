"""Pages as their readers meet them: in a browser, with pointer and keyboard."""

import contextlib
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By

from segmenter import ChunkConfig, Segmentation, Segmenter
from segmenter.chunkers import FixedSizeChunker, ParagraphChunker
from segmenter.labelled import LabelledDocument, gap_flags
from segmenter.metrics import precision_recall_f1
from segmenter.profiling import Profile
from segmenter.structure import from_markdown
from segmenter.tokenizing import replace_surrogates
from segmenter.view import compare_page, labelled_page, page

from .browser import chromium, requests, run, settle, show
from .cutting import HARD, segmentation
from .test_view import HOSTILE, vocabulary_of

pytestmark = pytest.mark.browser

CHUNKS = """return [...document.querySelectorAll("#text > .chunk")].map((chunk) => [
    [...chunk.querySelectorAll(".sentence")].map((sentence) => sentence.textContent).join(""),
    chunk.querySelector(".number").textContent,
    chunk.querySelector(".size").textContent]);"""

BOX = """const box = (node) => [node.getBoundingClientRect().top, node.getBoundingClientRect().bottom];"""
ALL = """const all = (chosen, take) => [...document.querySelectorAll(chosen)].map(take);
const text = (node) => node.textContent;"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """One browser for all tests of this file, with a profile that was empty."""
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def opened(browser: Chrome, tmp_path: Path) -> Iterator[Callable[..., Chrome]]:
    """Opens a page, and checks at the end that it asked for nothing and had nothing to complain of."""
    asked: list[str] = []

    def open_page(html: str, **how: Any) -> Chrome:
        path = tmp_path / f"page{len(asked)}.html"
        path.write_text(html, encoding="utf-8")
        asked.append(path.as_uri())
        show(browser, path, **how)
        settle(browser)
        return browser

    yield open_page
    settle(browser)
    assert requests(browser) == asked[-1:]
    assert browser.get_log("browser") == []


def chunks_of(browser: Chrome) -> list[tuple[str, str, str]]:
    return [tuple(row) for row in run(browser, CHUNKS)]


def expected(result: Segmentation) -> list[tuple[str, str, str]]:
    return [
        (
            replace_surrogates(chunk.text),
            str(chunk.index + 1),
            f"{chunk.token_count:,} token{'' if chunk.token_count == 1 else 's'}",
        )
        for chunk in result.chunks
    ]


def threshold_of(browser: Chrome) -> float:
    return float(run(browser, "return document.getElementById('line').getAttribute('aria-valuenow');"))


def press(browser: Chrome, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()
    settle(browser)


def drag(browser: Chrome, *moves: int) -> None:
    """Take the line, move it by so many pixels, down being positive, one after another, and let go."""
    line = browser.find_element(By.ID, "line")
    chain = ActionChains(browser, duration=20).click_and_hold(line)
    for move in moves:
        chain.move_by_offset(0, move)
    chain.release().perform()
    settle(browser)


def assert_like(browser: Chrome, result: Segmentation) -> None:
    threshold = threshold_of(browser)
    again = result.rechunk(ChunkConfig(threshold=threshold))
    assert chunks_of(browser) == expected(again)
    shown = run(browser, "return document.getElementById('chunks').textContent;")
    assert shown == f"{len(again.chunks):,}"
    bars = run(browser, f"{ALL}return all('.count', text);")
    assert sum(int(count.replace(",", "")) for count in bars if count) == len(again.chunks)


Opened = Callable[..., Chrome]


def test_the_chunks_are_those_of_the_result(
    opened: Opened, tiny: Segmenter, examples: dict[str, str]
) -> None:
    for text in (*examples.values(), "", " ", "One.", "One. Two."):
        result = tiny.segment(text)
        browser = opened(page(result, segmenter=tiny))
        boxes = run(browser, f"{ALL}{BOX}return all('.head, .run', box);")
        for (_, above), (below, _) in pairwise(boxes):
            assert above <= below + 0.5, "nothing lies on top of something else"
        assert threshold_of(browser) == result.threshold
        assert chunks_of(browser) == expected(result)


def test_dragging_the_threshold_cuts_as_rechunk_does(
    opened: Opened, tiny: Segmenter, examples: dict[str, str]
) -> None:
    result = tiny.segment(" ".join(examples["harbour.txt"].split()))
    browser = opened(page(result, segmenter=tiny))
    seen = set()
    for moves in ([-3, -30], [60, 25, -5], [-120, -120], [150, 100], [-9] * 12):
        before = threshold_of(browser)
        drag(browser, *moves)
        after = threshold_of(browser)
        assert (after < before) == (sum(moves) > 0), "down is lower"
        assert_like(browser, result)
        seen.add(len(chunks_of(browser)))
    assert {1, len(result.sentences)} < seen, "from one chunk to a chunk a sentence"
    browser.find_element(By.ID, "reset").click()
    settle(browser)
    assert chunks_of(browser) == expected(result)


def test_the_keyboard_moves_the_threshold(opened: Opened) -> None:
    # In float32 some of these are above what the same number is in float64.
    chances = [0.0, 0.3, 0.30000001, 0.7, 0.1, 0.2, 0.5, 0.50001, 1.0, 0.29]
    text = "".join(f"Sentence number {number} is here. " for number in range(len(chances) + 1))
    result = segmentation(text, chances)
    browser = opened(page(result))
    press(browser, "t")
    seen = []
    for key in (
        Keys.HOME, *[Keys.ARROW_UP] * 10, Keys.PAGE_UP, *[Keys.ARROW_RIGHT] * 10, Keys.PAGE_UP, Keys.PAGE_UP,
        Keys.PAGE_DOWN, Keys.ARROW_DOWN, Keys.ARROW_LEFT, Keys.END, Keys.ARROW_UP, "r",
    ):  # fmt: skip
        press(browser, key)
        assert_like(browser, result)
        seen.append(threshold_of(browser))
    assert (min(seen), max(seen), seen[-1]) == (0, 1, result.threshold)
    assert {0.1, 0.2, 0.3, 0.5} < set(seen), "where gaps lie just at the threshold"


def test_the_keyboard_goes_from_boundary_to_boundary(
    opened: Opened, tiny: Segmenter, examples: dict[str, str]
) -> None:
    result = tiny.segment(examples["career.txt"])
    browser = opened(page(result, segmenter=tiny))
    focused = "return Number(document.activeElement.dataset.gap);"

    def walk(key: str, times: int) -> list[int]:
        found = []
        for _ in range(times):
            press(browser, key)
            found.append(run(browser, focused) + 1)
        return found

    boundaries = list(result.boundaries)
    assert len(boundaries) > 2
    assert walk("n", len(boundaries)) == boundaries
    assert walk("n", 1) == boundaries[-1:], "there is no next one"
    assert walk("p", len(boundaries) - 1) == boundaries[-2::-1]
    gaps = (np.flatnonzero(result.scored) + 1).tolist()
    here = gaps.index(boundaries[0])
    assert walk(Keys.ARROW_RIGHT, 2) == gaps[here + 1 : here + 3]
    assert walk(Keys.ARROW_LEFT, 1) == gaps[here + 1 : here + 2]
    top, bottom = run(browser, f"{BOX}return box(document.activeElement);")
    assert 0 < top < bottom < 900
    assert browser.find_element(By.ID, "pair").is_displayed()
    press(browser, Keys.ESCAPE)
    assert not browser.find_element(By.ID, "pair").is_displayed()


def test_gaps_that_were_not_scored_are_never_cut(
    opened: Opened, tiny: Segmenter, examples: dict[str, str]
) -> None:
    result = tiny.segment(examples["harbour.txt"])
    assert not result.scored.all()
    browser = opened(page(result, segmenter=tiny))
    press(browser, "t", Keys.HOME)
    assert threshold_of(browser) == 0
    assert len(chunks_of(browser)) == np.count_nonzero(result.scored) + 1
    assert_like(browser, result)


def test_headings_stay_cut(opened: Opened, tiny: Segmenter, examples: dict[str, str]) -> None:
    result = tiny.segment(from_markdown(examples["espresso.md"]))
    browser = opened(page(result, segmenter=tiny))
    assert chunks_of(browser) == expected(result)
    press(browser, "t")
    for key in (Keys.HOME, Keys.END, Keys.PAGE_DOWN):
        press(browser, key)
        assert_like(browser, result)


@pytest.mark.parametrize("name", ["emoji", "surrogates and controls", "hostile"])
def test_whatever_a_text_holds_stays_text(opened: Opened, name: str) -> None:
    text = HOSTILE if name == "hostile" else f"First. {HARD[name][:800]} Second. Third."
    result = segmentation(text)
    browser = opened(page(result, title="</title><script>alert(2)</script>"))
    assert chunks_of(browser) == expected(result)
    assert run(browser, "return document.title;") == "</title><script>alert(2)</script>"
    assert run(browser, "return document.querySelectorAll('script, b, img, i:not(.key i)').length;") == 2
    cuts = {"<b>a</b>": FixedSizeChunker(7, 2, "characters").chunk(text), "b": result.chunks}
    browser = opened(compare_page(cuts, title="<i>"))
    assert run(browser, COLUMNS) == [
        [replace_surrogates(chunk.text) for chunk in chunks] for chunks in cuts.values()
    ]
    assert run(browser, "return document.querySelectorAll('script, b, img, i').length;") == 2


def test_the_scores_are_those_of_metrics(opened: Opened, tiny: Segmenter, examples: dict[str, str]) -> None:
    sentences = [sentence.text for sentence in tiny.segment(examples["career.txt"]).sentences]
    document = LabelledDocument("doc", sentences, [3, 4, 8, 12, 19], None, ["", "A", "B", "C", "D", "E"])
    browser = opened(labelled_page(document, tiny))
    chances = tiny.predict(sentences)
    values = f"{ALL}return all('.triple dd', (value) => Number(value.dataset.value));"
    counts = f"{ALL}return all('.key output', (count) => Number(count.textContent));"
    seen = set()
    for moves in ([-1], [-40], [30], [50], [200], [-180]):
        drag(browser, *moves)
        found = chances > threshold_of(browser)
        scores = precision_recall_f1(document.reference, found)
        assert run(browser, values) == pytest.approx(scores, abs=1e-12)
        hits = int((found & document.reference).sum())
        assert run(browser, counts) == [hits, 5 - hits, int(found.sum()) - hits]
        seen.add(scores)
        for name, flags in (
            ("hit", found & document.reference),
            ("miss", ~found & document.reference),
            ("false", found & ~document.reference),
        ):
            gaps = f"{ALL}return all('.gap.{name}', (gap) => Number(gap.dataset.gap));"
            assert run(browser, gaps) == np.flatnonzero(flags).tolist()
    assert len(seen) > 3
    assert run(browser, f"{ALL}return all('.title', text);") == ["A", "B", "C", "D", "E"]


def test_a_missed_boundary_inside_a_paragraph_counts(opened: Opened, tiny: Segmenter) -> None:
    document = LabelledDocument("doc", ["One is.", "Two is.", "Three is.", "Four is."], [1, 2], [2])
    browser = opened(labelled_page(document, tiny))
    press(browser, "t", Keys.HOME)
    scores = precision_recall_f1(document.reference, gap_flags([2], 4))
    assert (
        run(browser, "return Number(document.getElementById('recall').dataset.value);")
        == scores.recall
        == 0.5
    )


def test_a_gap_shows_what_the_model_saw(opened: Opened, tiny: Segmenter, examples: dict[str, str]) -> None:
    result = tiny.segment(examples["harbour.txt"])
    browser = opened(page(result, segmenter=tiny))
    windows = tiny.preparer.prepare(result.document, Profile()).windows
    tokens = {number: token for token, number in vocabulary_of(tiny).items()}
    sides = "return ['left', 'right'].map((name) => document.getElementById(name).textContent);"
    for index in (0, 3, len(windows) - 1):
        gap = int(windows.gaps[index])
        node = browser.find_element(By.CSS_SELECTOR, f".gap[data-gap='{gap}']")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'});", node)
        ActionChains(browser).move_to_element(node).perform()
        shown = run(browser, sides)
        assert [_letters(side) for side in shown] == [
            _letters("".join(tokens[number] for number in ids.tolist())) for ids in windows.sides(index)
        ]
        # The mark of a paragraph at the gap ends the left side.
        assert shown[0].endswith("¶")
        verdict = run(browser, "return document.getElementById('verdict').textContent;")
        assert verdict.startswith(f"P(boundary) {result.probabilities[gap]:.3f}")


def _letters(text: str) -> str:
    return re.sub(r"\W|unused1", "", text).lower()


def test_five_thousand_sentences_do_not_lag(opened: Opened) -> None:
    words = "The harbour is old and the fog is thick in the autumn months. "
    text = "".join(words if number % 7 else words.strip() + "\n\n" for number in range(5000))
    result = segmentation(text, tokenizer=len)
    assert len(result.sentences) == 5000
    # Most gaps of a document are no boundaries: of these a tenth are cut to begin with, a quarter at the end.
    result = replace(result, probabilities=result.probabilities**6)
    browser = opened(page(result))
    # From the beginning of the work for a frame to the end of it, drawing included.
    browser.execute_script("""
        window.times = [];
        document.getElementById("line").addEventListener("pointermove", () => {
            requestAnimationFrame(() => {
                const start = performance.now();
                const { port1, port2 } = new MessageChannel();
                port1.onmessage = () => window.times.push(performance.now() - start);
                port2.postMessage(0);
            });
        }, { capture: true });
    """)
    drag(browser, *[-3] * 10, *[3] * 30, *[-2] * 10)
    times = run(browser, "return window.times;")
    print(f"{len(times)} moves, median {median(times):.0f} ms, longest {max(times):.0f} ms")
    assert len(times) > 30
    assert median(times) < 100
    assert_like(browser, result)


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_window_has_nothing_beside_it(
    opened: Opened, tiny: Segmenter, examples: dict[str, str], width: int
) -> None:
    result = tiny.segment(examples["harbour.txt"] + "\n\n" + "longword" * 40)
    cuts = {"topic": result.chunks, "a:" + "long" * 20: FixedSizeChunker(30).chunk(result.text)}
    wide = "return [document.documentElement.scrollWidth, innerWidth];"
    for html in (page(result, segmenter=tiny), compare_page(cuts, title="long" * 40)):
        browser = opened(html, size=(width, 700))
        scrolled, inner = run(browser, wide)
        assert scrolled <= inner == width
    browser = opened(page(result, segmenter=tiny), size=(width, 700))
    drag(browser, -10)
    assert_like(browser, result)
    run(browser, "scrollTo(0, document.body.scrollHeight);")
    top, bottom = run(browser, f"{BOX}return box(document.getElementById('line'));")
    assert -20 < top < bottom < 700, "the threshold stays in view"


COLUMNS = """return ["0", "1"].map((cut) => {
    const found = [];
    for (const cell of document.querySelectorAll(`.cell[data-cut="${cut}"]`)) {
        if (cell.classList.contains("opens")) found.push("");
        found[found.length - 1] += cell.querySelector(".sentence").textContent;
    }
    return found;
});"""


def test_two_cuts_stand_side_by_side(opened: Opened, examples: dict[str, str]) -> None:
    text = examples["harbour.txt"]
    cuts = {"words": FixedSizeChunker(60).chunk(text), "paragraphs": ParagraphChunker().chunk(text)}
    browser = opened(compare_page(cuts, title="harbour"), size=(1400, 900))
    assert run(browser, COLUMNS) == [[chunk.text for chunk in chunks] for chunks in cuts.values()]
    heights = f"""{BOX}return [...document.querySelectorAll(".row:not(.names)")].map((row) =>
        [...row.children].map((cell) => box(cell.querySelector(".run"))[0]));"""
    for left, right in run(browser, heights):
        assert abs(left - right) < 3, "the same words stand beside each other"
    starts = [{chunk.start for chunk in chunks} for chunks in cuts.values()]
    shared = len(starts[0] & starts[1]) - 1
    assert run(browser, "return document.querySelectorAll('.row.shared').length;") == shared
    assert run(browser, "return document.getElementById('shared').textContent;").startswith(f"{shared} cut")
    figures = run(browser, f"{ALL}return all('#figures td', text);")
    assert figures[:2] == [str(len(chunks)) for chunks in cuts.values()]
    press(browser, "n", "n", "p")
    assert run(browser, "return document.activeElement.classList.contains('row');")
    browser = opened(compare_page(cuts), size=(390, 800))
    shown = (
        "return ['0', '1'].map((cut) => document.querySelector(`.cell[data-cut='${cut}']`).offsetHeight > 0);"
    )
    assert run(browser, shown) == [True, False]
    browser.find_elements(By.CSS_SELECTOR, "#switch button")[1].click()
    assert run(browser, shown) == [False, True]


CONTRAST = """const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map((value) => value / 255)
        .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
return [".sentence", ".number", ".size", ".gap.cut", "#value", "#about"].map((name) => {
    let node = document.querySelector(name);
    const front = light(getComputedStyle(node).color);
    while (getComputedStyle(node).backgroundColor === "rgba(0, 0, 0, 0)") node = node.parentElement;
    const back = light(getComputedStyle(node).backgroundColor);
    return [(Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05), back];
});"""


def test_light_and_dark_can_be_read(opened: Opened, tiny: Segmenter, examples: dict[str, str]) -> None:
    html = page(tiny.segment(examples["harbour.txt"]), segmenter=tiny)
    for scheme in ("light", "dark"):
        found = run(opened(html, scheme=scheme), CONTRAST)
        assert min(contrast for contrast, _ in found) > 4.5, scheme
        assert all((back > 0.5) == (scheme == "light") for _, back in found)


def test_it_prints_all_of_the_text(opened: Opened, tiny: Segmenter, examples: dict[str, str]) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    text = examples["harbour.txt"] * 4
    browser = opened(page(tiny.segment(text), segmenter=tiny))
    with contextlib.closing(pdfium.PdfDocument(b64decode(browser.print_page()))) as printed:
        pages = [printed[number].get_textpage().get_text_range() for number in range(len(printed))]
    words = " ".join("".join(pages).split())
    assert words.count("cast in 1887 and has never been replaced.") == 4
    assert words.count("there is dancing on the quay.") == 4
    assert len(pages) > 1
    assert "What the model saw" not in words
