"""Figures that compute with a shipped model in the page: at rest, asked, and asked for nonsense."""

import json
import re
from pathlib import Path

import pytest
import torch

from course_pkg import generate, load_pretrained, widgets
from course_pkg.decoding.samplers import next_token_probs
from course_pkg.layers.blocks import Trace
from tests.book.conftest import open_figure

ROOT = Path(__file__).parents[2]
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
TEXT = "One day, Tom saw a big dog."
RIGHT = "\ue014"  # the arrow key


def explorer(**changes) -> widgets.Widget:
    arguments = {"text": TEXT, "layer": 2, "head": 3, "selected": 2, "alt": "Heads."} | changes
    return widgets.attention_explorer(("gpt-small", "bert-small"), **arguments)


def weights(name: str, text: str, *, is_causal: bool) -> tuple[list[str], torch.Tensor]:
    """Return tokens and the weights of each layer and head, as the package computes them."""
    trained = load_pretrained(name)
    ids = trained.tokenizer.encode(text)
    if name == "bert-small":
        special = trained.tokenizer.special_ids
        ids = [special["[CLS]"], *ids, special["[SEP]"]]
    trained.model.stack.is_causal = is_causal
    trace = Trace()
    with torch.no_grad():
        trained.model.encode(torch.tensor([ids]), trace=trace)
    tokens = [widgets.show_whitespace(trained.tokenizer.tokens[i]) for i in ids]
    return tokens, torch.cat(trace.attention)


def test_explorer_gives_every_head_of_each_model_under_both_masks():
    data = json.loads(json.dumps(dict(explorer().data)))
    assert [(view["model"], view["mask"]) for view in data["views"]] == [
        ("gpt-small", "causal"), ("gpt-small", "full"),
        ("bert-small", "causal"), ("bert-small", "full"),
    ]  # fmt: skip
    assert data["masks"] == {"gpt-small": "causal", "bert-small": "full"}
    for view in data["views"]:
        tokens, expected = weights(view["model"], TEXT, is_causal=view["mask"] == "causal")
        assert [widgets.show_whitespace(token) for token in view["tokens"]] == tokens
        found = torch.tensor(view["weights"]) / 100
        torch.testing.assert_close(found, expected, rtol=0, atol=0.0051)  # shown to two digits


def test_explorer_writes_the_chosen_head_as_a_table():
    tokens, expected = weights("gpt-small", TEXT, is_causal=True)
    rows = explorer().rows
    assert [row[0] for row in rows] == tokens
    best = expected[1, 2, 5].argmax()
    assert rows[5] == (tokens[5], tokens[best], f"{expected[1, 2, 5, best]:.2f}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer": 5}, "layer is 5; it must lie between 1 and 4"),
        ({"head": 0}, "head is 0; it must lie between 1 and 4"),
        ({"selected": 9}, "selected is 9; it must lie between 0 and 8"),
        ({"text": "dog " * 63}, "text has 65 tokens; it must have 1 to 62"),
    ],
)
def test_explorer_rejects_what_it_cannot_show(changes, message):
    with pytest.raises(ValueError, match=message):
        explorer(**changes)


class Figure:
    """A figure on a page of its own, as a reader handles it."""

    def __init__(self, browser, site, widget: widgets.Widget) -> None:
        self.browser, self.element = browser, widget.element
        open_figure(browser, site, widget.to_html(), f"{widget.element}.js")

    def find(self, selector: str) -> list:
        return self.browser.find_elements("css selector", f"{self.element} {selector}")

    def text(self, selector: str) -> str:
        return self.find(selector)[0].get_property("textContent")

    def press(self, selector: str, n: int = 0) -> None:
        self.browser.execute_script("arguments[0].click()", self.find(selector)[n])

    def type(self, text: str) -> None:
        """Put a text into the field as if it had been typed."""
        self.browser.execute_script(
            "const [field, text] = arguments; field.value = text;"
            "field.dispatchEvent(new Event('input'))",
            self.find(".lm-field :is(input, textarea)")[0], text,
        )  # fmt: skip

    def wait(self, condition: str) -> None:
        """Wait until a condition on the figure `f` holds, or show what it says instead."""
        held = self.browser.execute_async_script(
            "const [selector, condition, done] = arguments, f = document.querySelector(selector);"
            "const holds = new Function('f', `return ${condition}`), start = Date.now();"
            "const look = () => holds(f) ? done('') : Date.now() - start > 60000"
            " ? done(f.status.textContent || 'silent') : setTimeout(look, 20); look();",
            self.element, condition,
        )  # fmt: skip
        assert not held, f"{condition} did not come true: {held}"

    def complaints(self) -> list:
        return [entry for entry in self.browser.get_log("browser") if entry["level"] != "INFO"]

    def violations(self) -> list[str]:
        self.browser.execute_script(f"if (!window.axe) {{ {AXE} }}")
        return self.browser.execute_async_script(
            "const done = arguments[1];"
            "axe.run(arguments[0], { preload: false })"
            ".then((result) => done(result.violations.map((v) => v.id)));",
            self.element,
        )


@pytest.fixture
def attention(browser, shipped_site):
    figure = Figure(browser, shipped_site, explorer())
    yield figure
    assert figure.complaints() == []


def shown(figure: Figure) -> list[str]:
    return [button.get_property("textContent") for button in figure.find(".lm-token")]


def expected(name: str, text: str, head: tuple[int, int], token: int, *, is_causal: bool) -> list:
    tokens, all_weights = weights(name, text, is_causal=is_causal)
    row = all_weights[head[0] - 1, head[1] - 1, token]
    return [
        word + ("hidden" if is_causal and s > token else f"{row[s]:.2f}")
        for s, word in enumerate(tokens)
    ]


def rounded_alike(found: list[str], wanted: list[str]) -> bool:
    """The resting state has whole hundredths; a computed one may round the other way."""
    return all(
        f == w or (f[:-4] == w[:-4] and abs(float(f[-4:]) - float(w[-4:])) < 0.0101)
        for f, w in zip(found, wanted, strict=True)
    )


@pytest.mark.browser
def test_explorer_rests_on_weights_computed_when_the_page_was_made(attention):
    wanted = expected("gpt-small", TEXT, (2, 3), 2, is_causal=True)
    assert rounded_alike(shown(attention), wanted)
    assert attention.text("[role=status]").startswith("Layer 2, head 3: “,” attends most to")
    attention.press("input[value^=full]")
    assert rounded_alike(shown(attention), expected("gpt-small", TEXT, (2, 3), 2, is_causal=False))
    assert "learned with the other mask" in attention.text(".lm-note")
    attention.press("input[value='bert-small']")
    assert attention.find("input[value^=full]")[0].is_selected()
    last = len(shown(attention)) - 1
    wanted = expected("bert-small", TEXT, (2, 3), last, is_causal=False)
    assert rounded_alike(shown(attention), wanted)
    assert not attention.browser.execute_script(
        "return document.querySelector('script[src*=models]')"
    )


@pytest.mark.browser
def test_explorer_reads_the_readers_sentence_in_the_page(attention):
    text = "The queen saw a “naïve” 🙂."
    attention.type(text)
    attention.press(".lm-ask button")
    attention.wait("f.text === f.field.value")
    last = len(shown(attention)) - 1
    assert rounded_alike(
        shown(attention), expected("gpt-small", text, (2, 3), last, is_causal=True)
    )
    assert "byte by byte" in attention.text(".lm-note")
    attention.press(".lm-heads input", 13)
    assert rounded_alike(
        shown(attention), expected("gpt-small", text, (4, 2), last, is_causal=True)
    )
    # From here on, what is typed is read without being asked.
    attention.type("The cat")
    attention.wait("f.text === 'The cat'")
    assert rounded_alike(
        shown(attention), expected("gpt-small", "The cat", (4, 2), 1, is_causal=True)
    )


@pytest.mark.browser
def test_explorer_follows_arrow_keys_and_the_pointer(attention):
    token = attention.find(".lm-token")[2]
    token.send_keys(RIGHT)
    assert attention.find(".lm-token")[3].get_attribute("aria-pressed") == "true"
    assert attention.browser.switch_to.active_element == attention.find(".lm-token")[3]
    heads = attention.find(".lm-heads input")
    heads[6].send_keys(RIGHT)
    assert attention.text("[role=status]").startswith("Layer 2, head 4: “␣Tom”")
    assert attention.browser.switch_to.active_element == attention.find(".lm-heads input")[7]
    attention.browser.execute_script(
        "const map = arguments[0], { top } = map.getBoundingClientRect();"
        "map.dispatchEvent(new PointerEvent('pointermove', { clientY: top + 1 }))",
        attention.find(".lm-map")[0],
    )
    assert attention.text("[role=status]").startswith(
        "Layer 2, head 4: “One” attends most to “One”"
    )


@pytest.mark.browser
def test_explorer_cuts_a_long_text_and_refuses_an_empty_one(attention):
    attention.type("   ")
    attention.press(".lm-ask button")
    assert "empty" in attention.text("[role=status]")
    attention.press("input[value='bert-small']")
    attention.type("dog " * 70)
    attention.press(".lm-ask button")
    attention.wait("f.text === f.field.value")
    assert len(shown(attention)) == 64
    assert "the first 62 are read" in attention.text(".lm-note")


@pytest.mark.browser
def test_explorer_keeps_its_example_where_the_browser_lacks_workers(attention):
    before = shown(attention)
    attention.browser.execute_script("delete window.Worker")
    attention.type("A cat sat.")
    attention.press(".lm-ask button")
    attention.wait("f.status.textContent.includes('no Worker')")
    assert shown(attention) == before


@pytest.mark.browser
def test_explorer_is_accessible_in_both_themes(attention):
    assert attention.violations() == []
    attention.browser.execute_script("document.documentElement.dataset.theme = 'dark'")
    assert attention.violations() == []


# ---- the GPT

PROMPT = "One day, a little girl"


def completer(**changes) -> widgets.Widget:
    arguments = {"prompt": PROMPT, "n_tokens": 5, "alt": "A continuation."} | changes
    return widgets.gpt_completer("gpt-small", **arguments)


def test_completer_draws_from_the_models_own_distribution_at_each_step():
    gpt, data = load_pretrained("gpt-small"), completer(top_p=0.9).data
    ids = [gpt.tokenizer.eos_id, *gpt.tokenizer.encode(PROMPT)]
    assert len(data["tokens"]) == 5
    for token, candidates in zip(data["tokens"], data["candidates"], strict=True):
        log_probs = gpt.model.next_log_probs(torch.tensor([ids]))
        probs = next_token_probs(log_probs, temperature=0.8, top_k=40, top_p=0.9)[0]
        # The tenth gives way where another was drawn; what top-p cuts off is left out.
        n = min(9, int((probs > 0).sum()))
        best = probs.topk(n)
        assert [t for t, _ in candidates[:n]] == [gpt.tokenizer.tokens[i] for i in best.indices]
        found = torch.tensor([p for _, p in candidates[:n]])
        torch.testing.assert_close(found, best.values, rtol=0, atol=1e-4)
        assert token in dict(candidates)
        ids.append(gpt.tokenizer.tokens.index(token))


def test_completer_draws_the_same_again_by_the_same_seed():
    assert completer(seed=3) == completer(seed=3) != completer(seed=4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: completer(prompt=""), "prompt has 0 tokens; it must have 1 to 250"),
        (lambda: completer(temperature=-1.0), "temperature is -1.0"),
        (
            lambda: widgets.gpt_completer("bert-small", prompt="A", alt="x"),
            "name is 'bert-small', a bert; a gpt goes on from a prompt",
        ),
        (
            lambda: widgets.gap_filler("gpt-small", text="A [MASK]", alt="x"),
            "name is 'gpt-small', a gpt; a bert fills gaps",
        ),
        (
            lambda: widgets.gap_filler("bert-small", text="No gap.", alt="x"),
            "text is 'No gap.'; it must have a .MASK.",
        ),
    ],
)
def test_figures_reject_what_their_model_cannot_do(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.fixture
def gpt(browser, shipped_site):
    figure = Figure(browser, shipped_site, completer())
    yield figure
    assert figure.complaints() == []


IDLE = "f.state === 'idle'"


def turn(figure: Figure, knob: int, value: float) -> None:
    """Move one of the sliders: temperature, top-k, top-p."""
    figure.browser.execute_script(
        "const [slider, value] = arguments; slider.value = value;"
        "slider.dispatchEvent(new Event('input'))",
        figure.find(".lm-knob input")[knob],
        value,
    )


@pytest.mark.browser
def test_completer_rests_on_what_was_drawn_when_the_page_was_made(gpt):
    data = completer().data
    tokens = [widgets.show_whitespace(token) for token in data["tokens"]]
    assert shown(gpt) == tokens
    gpt.find(".lm-token")[4].send_keys("\ue012")  # the arrow to the left
    labels = [label.text for label in gpt.find(".lm-bar-label")]
    assert labels == [widgets.show_whitespace(token) for token, _ in data["candidates"][3]]
    assert "drawn" in gpt.text(".lm-bars [data-mark]")
    assert gpt.violations() == []


@pytest.mark.browser
def test_completer_continues_the_readers_prompt_and_knobs_act_at_once(gpt):
    prompt = "The prince looked at"
    gpt.type(prompt)
    turn(gpt, 0, 0)  # greedy
    gpt.press(".lm-ask button")
    gpt.wait("f.steps.length >= 12 && f.steps[0].logits")
    assert gpt.text(".lm-ask button") == "Stop"
    gpt.press(".lm-ask button")
    gpt.wait(IDLE)
    n = len(shown(gpt))
    assert 12 <= n < 100, "stopped before it had enough"
    assert "Stopped." in gpt.text("[role=status]")
    assert "tokens per second" in gpt.text(".lm-speed")
    trained = load_pretrained("gpt-small")
    ids = torch.tensor([[trained.tokenizer.eos_id, *trained.tokenizer.encode(prompt)]])
    written = generate(trained.model, ids, n, temperature=0)[0, ids.shape[1] :].tolist()
    assert shown(gpt) == [widgets.show_whitespace(trained.tokenizer.tokens[i]) for i in written]
    # The first step again, by the distribution at temperature 1 and by its three likeliest.
    turn(gpt, 0, 1)
    turn(gpt, 1, 8)  # all
    gpt.press(".lm-token", 0)
    probs = trained.model.next_log_probs(ids).exp()[0].topk(10).values
    found = [float(bar.text.split()[0]) for bar in gpt.find(".lm-bar-value")]
    torch.testing.assert_close(torch.tensor(found), probs, rtol=0, atol=6e-4)  # three digits
    turn(gpt, 1, 1)  # top-k of two
    found = [float(bar.text.split()[0]) for bar in gpt.find(".lm-bar-value")]
    assert found[2:] == [0.0] * 8
    assert sum(found) == pytest.approx(1, abs=2e-3)


@pytest.mark.browser
def test_completer_answers_bad_prompts_with_a_message(gpt):
    before = shown(gpt)
    gpt.type(" \n ")
    gpt.press(".lm-ask button")
    assert "empty" in gpt.text("[role=status]")
    assert shown(gpt) == before
    gpt.type("dog " * 300)
    gpt.press(".lm-ask button")
    gpt.wait("f.steps[0]?.logits")
    gpt.press(".lm-ask button")
    gpt.wait(IDLE)
    assert "the last 155 are read" in gpt.text(".lm-note")
    gpt.type("日本 🙂")
    gpt.press(".lm-ask button")
    gpt.wait("f.steps[0]?.logits && f.prompt.startsWith('日')")
    gpt.press(".lm-ask button")
    gpt.wait(IDLE)
    assert "byte by byte" in gpt.text(".lm-note")


# ---- BERT's gaps

SENTENCE = "The little girl was very [MASK] and smiled."


def guesses(before: str, after: str) -> list[str]:
    """Return what the package's BERT guesses for a gap between two pieces of text."""
    bert = load_pretrained("bert-small")
    special = bert.tokenizer.special_ids
    head = [special["[CLS]"], *bert.tokenizer.encode(before)]
    ids = torch.tensor(
        [[*head, special["[MASK]"], *bert.tokenizer.encode(after), special["[SEP]"]]]
    )
    with torch.no_grad():
        probs = bert.model(ids).logits[0, len(head)].softmax(dim=-1).topk(10)
    return [
        f"{widgets.show_whitespace(bert.tokenizer.tokens[i])} {p:.3f}"
        for i, p in zip(probs.indices.tolist(), probs.values.tolist(), strict=True)
    ]


@pytest.fixture
def gaps(browser, shipped_site):
    widget = widgets.gap_filler("bert-small", text=SENTENCE, alt="Guesses.")
    figure = Figure(browser, shipped_site, widget)
    yield figure
    assert figure.complaints() == []


def filled(figure: Figure) -> list[str]:
    labels = [label.get_property("textContent") for label in figure.find(".lm-bar-label")]
    values = [value.get_property("textContent") for value in figure.find(".lm-bar-value")]
    return [f"{label} {value}" for label, value in zip(labels, values, strict=True)]


@pytest.mark.browser
def test_gaps_rest_on_guesses_made_with_the_page_and_follow_the_readers_sentence(gaps):
    assert filled(gaps) == guesses("The little girl was very", " and smiled.")
    assert gaps.violations() == []
    gaps.type("She looked ___ the window.")
    gaps.press(".lm-ask button")
    gaps.wait("f.status.textContent.includes('window')")
    assert filled(gaps) == guesses("She looked", " the window.")
    gaps.type("He [mask] to the ____ with a [MASK].")
    gaps.press(".lm-ask button")
    gaps.wait("f.panels.children.length === 3")
    assert len(filled(gaps)) == 30
    assert "[MASK]" not in gaps.text("[role=status]")


@pytest.mark.browser
def test_gaps_answer_bad_sentences_with_a_message(gaps):
    for text, message in (
        ("", "empty"),
        ("No gap here.", "no gap"),
        ("dog " * 70 + "[MASK]", "first gap lies behind the 62 tokens"),
    ):
        gaps.type(text)
        gaps.press(".lm-ask button")
        gaps.wait(f"f.status.textContent.includes('{message}')")
        assert filled(gaps) == guesses("The little girl was very", " and smiled.")


def test_each_live_figure_stands_in_the_same_panel():
    assets = ROOT / "book" / "_assets"
    named = {
        name
        for script in assets.glob("lm-*.js")
        for name in re.findall(
            r'customElements\.define\(\s*"(lm-[a-z-]+)"', script.read_text(encoding="utf-8")
        )
    }
    style = (assets / "coursebook.css").read_text(encoding="utf-8")
    (panel,) = re.findall(r":is\((lm-[^)]*)\) \{\s+display: block;", style)
    assert len(named) > 15 and set(re.split(r",\s*", panel)) == named
