"""How fast the shipped GPT writes in a page: the figure itself, in a real browser, from file://.

    python -m benchmarks.speed.page_engine [--record FILE]

Each round presses the button of the figure as a reader does, greedily from one prompt, and takes
the tokens per second that it shows. Every token is drawn, shown, and its ten candidates with it.
Whatever else the machine does slows the figure down, so the speed per second of CPU time, of the
whole browser, is recorded too, which that changes less. Needs chromium, chromedriver and psutil.
"""

import os
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.papers.published import Figure, command_line, report
from course_pkg import widgets
from tests.book.conftest import open_chromium, open_figure, write_site

NAME, PROMPT = "gpt-small", "One day, the king"
"""After it the likeliest tokens go on for as long as asked; after others the text soon ends."""
N_ROUNDS = 7
AIM = 50.0
DONE = (
    "const [element, done] = arguments, figure = document.querySelector(element);"
    "const look = () => figure.state === 'idle' ? done() : setTimeout(look, 20); look();"
)


def cpu_seconds(driver: Any) -> float:
    """Return the CPU time of all processes of the browser so far."""
    chromium = psutil.Process(driver.service.process.pid).children(recursive=True)
    return sum(sum(process.cpu_times()[:2]) for process in chromium)


def one_round(driver: Any, element: str = "lm-gpt") -> dict[str, float]:
    """Let the figure write once, and return what it showed and what it cost."""
    button = driver.find_element("css selector", f"{element} .lm-ask button")
    cpu, started = cpu_seconds(driver), time.perf_counter()
    driver.execute_script("arguments[0].click()", button)
    driver.execute_async_script(DONE, element)
    seconds, cpu = time.perf_counter() - started, cpu_seconds(driver) - cpu
    shown = driver.find_element("css selector", f"{element} .lm-speed").text
    n_tokens, speed = map(float, re.findall(r"[\d.]+", shown))
    return {"tokens": n_tokens, "per_second": speed, "seconds": seconds, "cpu_seconds": cpu}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures and, on request, record them."""
    options = command_line(__doc__, __file__).parse_args(arguments)
    widget = widgets.gpt_completer(NAME, prompt=PROMPT, n_tokens=1, top_k=1, alt="A continuation.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        site = write_site(Path(folder) / "site", [NAME])
        driver = open_chromium(Path(folder) / "profile")
        if driver is None:
            raise SystemExit("Not run: chromium and chromedriver are not installed")
        try:
            open_figure(driver, site, widget.to_html(), f"{widget.element}.js")
            first, *rounds = [one_round(driver) for _ in range(1 + N_ROUNDS)]
            version = driver.capabilities["browserVersion"]
        finally:
            driver.quit()
        megabytes = (site / "models" / f"{NAME}.js").stat().st_size / 1e6
    speeds = [one["per_second"] for one in rounds]
    by_cpu = [one["tokens"] / one["cpu_seconds"] for one in rounds]
    waited = first["seconds"] - first["tokens"] / first["per_second"]
    report(
        [
            Figure("tokens per second, median of the rounds", statistics.median(speeds), aim=AIM),
            Figure("tokens per second, best round", max(speeds)),
            Figure("tokens per second of CPU time, whole browser", statistics.median(by_cpu)),
            Figure("seconds from the click to a model that is ready", waited),
            Figure("megabytes fetched", megabytes),
        ],
        f"The shipped GPT in Chromium {version}: {rounds[0]['tokens']:.0f} tokens after "
        f"“{PROMPT}”, {N_ROUNDS} rounds after the one that fetches the model, on "
        f"{os.cpu_count()} logical CPUs under a load of {os.getloadavg()[0]:.0f}.",
        is_higher_better=True,
        module="benchmarks.speed.page_engine",
        options=options,
        arguments=arguments,
        details={"rounds": rounds},
    )


if __name__ == "__main__":
    main()
