"""How fast a published model writes in a page, what it takes, and what its rounding costs.

    COURSE_DATA=DIR python -m benchmarks.speed.page_published [--record FILE]

The figure itself, in a real browser, from file://: the file is chosen as a reader chooses it. Each
round presses the button, greedily, and takes the tokens per second that the figure shows. Bits a
byte of the first tokens of WikiText-2's test text (in DIR) are measured in the page, too, and
beside them with the same weights in float32. Memory is what all processes of the browser hold alone
beyond the page before the file was opened. Needs `make published`, chromium, chromedriver, psutil.
"""

import math
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.papers.published import Figure, command_line, report
from benchmarks.speed.page_engine import one_round
from benchmarks.weights.published_speed import bits, scored_text
from course_pkg import widgets
from course_pkg.weights.published import load_published, published_path
from tests.book.conftest import open_chromium, open_figure, write_site

NAME, PROMPT = "smollm2-135m", "One day, the king"
N_ROUNDS = 7
AIM = 30.0
SCRIPTS = ("lm-kernel.js", "lm-gguf.js", "lm-gpt.js", "lm-published.js")
_OPENED = (
    "const done = arguments[0], figure = document.querySelector('lm-published');"
    "const look = () => figure.opened ? done() : setTimeout(look, 20); look();"
)
_NATS = (
    "const [ids, done] = arguments, model = document.querySelector('lm-published').opened;"
    "(async () => { let nats = 0;"
    " for (let n = 1; n < ids.length; n += 1) {"
    "  const logits = await model.ask('nextLogits', ids.slice(0, n));"
    "  const most = logits.reduce((a, b) => Math.max(a, b));"
    "  const sum = logits.reduce((sum, x) => sum + Math.exp(x - most), 0);"
    "  nats += most + Math.log(sum) - logits[ids[n]]; }"
    " return nats; })().then(done);"
)
_GREEDY = (
    "const slider = document.querySelector('lm-published input[type=range]');"
    "slider.value = 0; slider.dispatchEvent(new Event('input'));"
)


def held_megabytes(driver: Any) -> float:
    """Return what all processes of the browser hold and share with no other."""
    chromium = psutil.Process(driver.service.process.pid).children(recursive=True)
    return sum(process.memory_full_info().uss for process in chromium) / 1e6


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures and, on request, record them."""
    options = command_line(__doc__, __file__).parse_args(arguments)
    try:
        path = published_path(NAME)
    except ModuleNotFoundError as error:
        raise SystemExit(f"Not run: {error}") from error
    loaded = load_published(NAME)
    text = scored_text(loaded.tokenizer)
    widget = widgets.published_completer(NAME, prompt=PROMPT, alt="A continuation.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        site = write_site(Path(folder) / "site", [])
        driver = open_chromium(Path(folder) / "profile")
        if driver is None:
            raise SystemExit("Not run: chromium and chromedriver are not installed")
        try:
            open_figure(driver, site, widget.to_html(), *SCRIPTS)
            driver.set_script_timeout(600)
            before = held_megabytes(driver)
            choice = driver.find_element("css selector", f"{widget.element} input[value^=SmolLM2]")
            driver.execute_script("arguments[0].click()", choice)
            driver.execute_script(_GREEDY)
            started = time.perf_counter()
            driver.find_element("css selector", "input[type=file]").send_keys(str(path))
            driver.execute_async_script(_OPENED)
            opened = time.perf_counter() - started
            _, *rounds = [one_round(driver, widget.element) for _ in range(1 + N_ROUNDS)]
            memory = held_megabytes(driver) - before
            nats = None if text is None else driver.execute_async_script(_NATS, text[0].tolist())
            version = driver.capabilities["browserVersion"]
        finally:
            driver.quit()
    speeds = [one["per_second"] for one in rounds]
    by_cpu = [one["tokens"] / one["cpu_seconds"] for one in rounds]
    figures = [
        Figure("tokens per second, median of the rounds", statistics.median(speeds), aim=AIM),
        Figure("tokens per second, best round", max(speeds)),
        Figure("tokens per second of CPU time, whole browser", statistics.median(by_cpu)),
        Figure("seconds from the choice of the file to a model that is ready", opened),
        Figure("megabytes that the browser then holds more", memory),
    ]
    if text is not None and nats is not None:
        ids, n_bytes = text
        in_page, exact = nats / math.log(2) / n_bytes, bits(loaded.model, ids, n_bytes)
        figures += [
            Figure("bits a byte in the page", in_page),
            Figure("bits a byte that rounding costs, against float32", in_page - exact),
        ]
    report(
        figures,
        f"SmolLM2-135M in Chromium {version}, from blocks of four bits: {rounds[0]['tokens']:.0f} "
        f"tokens after “{PROMPT}”, {N_ROUNDS} rounds after a first one, on {os.cpu_count()} "
        f"logical CPUs under a load of {os.getloadavg()[0]:.0f}; bits a byte of the first tokens "
        "of WikiText-2's test text.",
        is_higher_better=True,
        module="benchmarks.speed.page_published",
        options=options,
        arguments=arguments,
        details={"rounds": rounds},
    )


if __name__ == "__main__":
    main()
