"""The engine in the page against the package: same ids, same logits, same weights, same text."""

import pytest
import torch

from course_pkg import generate, load_pretrained
from course_pkg.decoding.samplers import next_token_probs
from course_pkg.layers.blocks import Trace
from course_pkg.text.tokenizers import BytePairTokenizer
from course_pkg.weights.model_folders import build_model, save_model
from course_pkg.weights.web_export import export_web
from tests.book.conftest import open_figure

pytestmark = pytest.mark.browser

PROMPTS = (
    "One day, a little girl", "Once upon a time", "The prince looked at", "The city was founded in",
    "Tom and Anna went to the park.", "In 1865 the army", "She said", "The film", "He was born in",
    "A dog and a cat",
)  # fmt: skip
TEXTS = (
    *PROMPTS,
    "don't I'LL we've  two  spaces \t\r\n\n tab and lines ",
    "naïve café — “quoted” ½ 日本語 مرحبا 🙂👩‍👩‍👧",
    "\x85 next line, \ufeff mark, \x1c separator, \u2003 em space, e\u0301",
    "<eos> is text here, and so is [MASK]",
    "",
)
LOGITS_TOLERANCE = 1e-2  # the promise; sums in another order differ by about 1e-5
WEIGHTS_TOLERANCE = 1e-5  # numbers below one, after four layers of such sums


@pytest.fixture(scope="module")
def engine(browser, shipped_site):
    """A page with the engine; `run(script, *arguments)` returns what the script's promise gives."""

    def run(script: str, *arguments: object):
        answer = browser.execute_async_script(
            "const given = [...arguments], done = given.pop();"
            f"(async () => {{ {script} }})()"
            ".then((value) => done({ value }), (error) => done({ error: String(error) }));",
            *arguments,
        )
        assert "error" not in answer, answer
        return answer["value"]

    open_figure(browser, shipped_site)
    yield run
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"] == []


@pytest.mark.parametrize("name", ["gpt-small", "bert-small"])
def test_tokenizer_matches_the_package(engine, name):
    tokenizer = load_pretrained(name).tokenizer
    ids = engine(
        "const { tokenizer } = await lm.model(given[0]);"
        "return given[1].map((text) => tokenizer.encode(text))",
        name, TEXTS,
    )  # fmt: skip
    assert ids == [tokenizer.encode(text) for text in TEXTS]
    decoded, shown = engine(
        "const { tokenizer } = await lm.model(given[0]);"
        "const shown = tokenizer.vocabulary.map((_, id) => tokenizer.show(id));"
        "return [given[1].map((ids) => tokenizer.decode(ids)), shown]",
        name, ids,
    )  # fmt: skip
    assert decoded == list(TEXTS)
    assert shown == tokenizer.tokens


def test_tokenizer_reads_half_a_surrogate_pair_as_a_question_mark(engine):
    ids = engine("return (await lm.model('gpt-small')).tokenizer.encode('a\\ud800b')")
    assert ids == load_pretrained("gpt-small").tokenizer.encode("a?b")


def test_gpt_logits_match_the_package(engine):
    gpt = load_pretrained("gpt-small")
    for prompt in PROMPTS:
        ids = gpt.tokenizer.encode(prompt)
        found = engine(
            "const model = await lm.model('gpt-small');"
            "return Array.from(await model.ask('nextLogits', given[0]))", ids,
        )  # fmt: skip
        with torch.no_grad():
            expected = gpt.model(torch.tensor([ids]))[0][0, -1]
        torch.testing.assert_close(torch.tensor(found), expected, rtol=0, atol=LOGITS_TOLERANCE)


def test_bert_logits_match_the_package(engine):
    bert = load_pretrained("bert-small")
    special = bert.tokenizer.special_ids
    middle = [special["[MASK]"], *bert.tokenizer.encode(" was very")]
    ids = [special["[CLS]"], *bert.tokenizer.encode("The girl"), *middle, special["[SEP]"]]
    places = [0, ids.index(special["[MASK]"]), len(ids) - 1]
    found = engine(
        "const model = await lm.model('bert-small');"
        "return (await model.ask('logits', given[0], given[1])).map((row) => Array.from(row))",
        ids, places,
    )  # fmt: skip
    with torch.no_grad():
        expected = bert.model(torch.tensor([ids])).logits[0, places]
    torch.testing.assert_close(torch.tensor(found), expected, rtol=0, atol=LOGITS_TOLERANCE)


@pytest.mark.parametrize("name", ["gpt-small", "bert-small"])
@pytest.mark.parametrize("is_causal", [True, False])
def test_attention_weights_match_the_package(engine, name, is_causal):
    trained = load_pretrained(name)
    ids = trained.tokenizer.encode("The dog was happy.")
    trained.model.stack.is_causal = is_causal
    trace = Trace()
    with torch.no_grad():
        trained.model.encode(torch.tensor([ids]), trace=trace)
    found = engine(
        "const model = await lm.model(given[0]);"
        "const layers = await model.ask('attentionWeights', given[1], given[2]);"
        "return layers.map((heads) => heads.map((rows) => rows.map((row) => Array.from(row))))",
        name, ids, is_causal,
    )  # fmt: skip
    for layer, weights in zip(found, trace.attention, strict=True):
        torch.testing.assert_close(torch.tensor(layer), weights[0], rtol=0, atol=WEIGHTS_TOLERANCE)


def test_greedy_text_equals_the_package_on_ten_prompts(engine):
    gpt = load_pretrained("gpt-small")
    found = engine(
        """
        const model = await lm.model("gpt-small"), texts = [];
        for (const prompt of given[0]) {
          const ids = model.tokenizer.encode(prompt);
          for (let n = 0; n < 24; n += 1) {
            const probs = lm.distribution(await model.ask("nextLogits", ids), { temperature: 0 });
            ids.push(lm.draw(probs));
          }
          texts.push(model.tokenizer.decode(ids));
        }
        return texts;
        """,
        PROMPTS,
    )
    for prompt, text in zip(PROMPTS, found, strict=True):
        ids = torch.tensor([gpt.tokenizer.encode(prompt)])
        written = generate(gpt.model, ids, 24, temperature=0)
        assert text == gpt.tokenizer.decode(written[0].tolist())


def test_cache_changes_nothing_whatever_was_read_before(engine):
    """Longer, shorter, the same again, and a text that parts from the last one in its middle."""
    ids = load_pretrained("gpt-small").tokenizer.encode("One day, Tom saw a big dog. The dog")
    texts = [ids[:4], ids, ids, ids[:6], [*ids[:5], 7, *ids[6:]]]
    differences = engine(
        """
        const model = await lm.model("gpt-small"), differences = [];
        for (const ids of given[0]) {
          const cached = await model.ask("nextLogits", ids);
          const [plain] = await model.ask("logits", ids, [ids.length - 1]);
          differences.push(Math.max(...cached.map((x, i) => Math.abs(x - plain[i]))));
        }
        return differences;
        """,
        texts,
    )
    assert max(differences) == 0.0  # the same sums in the same order


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.7},
        {"temperature": 1.3, "top_k": 7},
        {"top_p": 0.6},
        {"temperature": 0.8, "top_k": 40, "top_p": 0.9},
        {"top_k": 20_000, "top_p": 1},
        {"temperature": 1.5, "top_p": 0.95, "min_p": 0.02},
        {"min_p": 1},
    ],
)
def test_distribution_matches_the_package(engine, settings):
    logits = 3 * torch.randn(8192, generator=torch.Generator().manual_seed(1))
    found = engine("return Array.from(lm.distribution(...given))", logits.tolist(), settings)
    expected = next_token_probs(logits[None], **settings)[0]
    # Probabilities in float64 here, float32 there; a sure one comes as the integer 1.
    torch.testing.assert_close(torch.tensor(found).float(), expected, rtol=1e-4, atol=1e-7)


def test_draws_follow_the_distribution_and_the_likeliest_come_first(engine):
    drawn, likeliest = engine(
        "const probs = [0, 0.5, 0.2, 0, 0.3];"
        "const drawn = [0, 0.49, 0.5, 0.69, 0.71, 0.999999, 1].map((u) => lm.draw(probs, u));"
        "return [drawn, lm.mostProbable(probs, 4)]"
    )
    assert drawn == [1, 1, 2, 2, 4, 4, 4]
    assert likeliest == [1, 4, 2, 0]


OTHER_STRUCTURES = {
    "llama-like": ("gpt", {"positions": "rotary", "norm": "rms", "activation": "swiglu",
                           "n_kv_heads": 2, "has_bias": False, "is_tied": False}),
    "no-positions": ("gpt", {"positions": "none", "activation": "relu"}),
    "learned-bert": ("bert", {"positions": "learned", "activation": "silu", "is_tied": False}),
    "swiglu-bert": ("bert", {"positions": "rotary", "activation": "swiglu", "norm": "rms"}),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_STRUCTURES)
def test_other_structures_match_the_package(engine, shipped_site, tmp_path, name):
    """Each option of the engine, on a model drawn at random; the next that ships may need it."""
    kind, changes = OTHER_STRUCTURES[name]
    tokenizer = BytePairTokenizer.train(["slow lower lowest"], vocab_size=262)
    sizes = {"vocab_size": tokenizer.vocab_size, "context_length": 9, "d_model": 24}
    structure = sizes | {"n_heads": 4, "n_layers": 2, "d_ff": 20, "block": "pre_norm"} | changes
    model = build_model(kind, structure, generator=torch.Generator().manual_seed(5)).half().float()
    with torch.no_grad():  # of a size at which a wrong step shows
        for weight in model.parameters():
            weight.mul_(10 if weight.ndim == 2 else 1)
        model.half().float()
    save_model(tmp_path / name, model, tokenizer, kind=kind, structure=structure, card="# A card\n")
    export_web(tmp_path / name, shipped_site / "models")
    ids = [3, 141, 59, 26, 53]
    found = engine(
        "const model = await lm.model(given[0]), ids = given[1];"
        "const rows = await model.ask('logits', ids, ids.map((_, i) => i));"
        "return rows.map((row) => Array.from(row))", name, ids,
    )  # fmt: skip
    with torch.no_grad():
        expected = model.eval()(torch.tensor([ids]))[0][0]
    assert expected.std() > 0.1
    torch.testing.assert_close(torch.tensor(found), expected, rtol=0, atol=1e-3)


def test_engine_says_what_is_wrong(browser, engine):
    asked = "return (await lm.model('gpt-small')).ask(...given).then(() => '', (e) => e.message)"
    message = engine(asked, "logits", [1] * 257, [0])
    assert message == "the text has 257 tokens; the context ends at 256"
    missing = engine("return lm.model('gpt-huge').then(() => '', (error) => error.message)")
    assert missing == "gpt-huge.js, the file with the weights, is not there"
    (complaint,) = browser.get_log("browser")  # the browser's own, which no page can prevent
    assert "gpt-huge.js" in complaint["message"]
