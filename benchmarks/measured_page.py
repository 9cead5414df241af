"""Write the book's page of recorded measurements from the records themselves.

    python -m benchmarks.measured_page

Reads the records in `course_pkg/results/benchmarks` and writes `book/back/measured.md`; a test
compares them, so the page cannot say what was not recorded. What a chapter alone shows is left out.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "course_pkg" / "results" / "benchmarks"
PAGE, CHAPTERS = ROOT / "book" / "back" / "measured.md", ROOT / "book" / "chapters"

PUBLISHED = {
    "shakespeare_cpu": "Shakespeare, letter by letter",
    "shakespeare_gpu": "Shakespeare, letter by letter, by the larger recipe",
    "names": "First names, letter by letter",
    "surnames": "Surnames, letter by letter",
    "ladder": "Stories of known entropy",
    "ptb_lstm_small": "The small LSTM of Zaremba et al. on the Penn Treebank",
    "ptb_lstm_medium": "The medium LSTM of Zaremba et al. on the Penn Treebank",
    "pronunciation": "From spelling to pronunciation",
    "pronunciation_gpu": "From spelling to pronunciation, by the larger recipe",
    "multi30k_quick": "German captions into English, by small networks",
    "multi30k_gpu": "German captions into English",
    "pretraining": "Our GPT, and counting the same text",
    "pretraining_bert": "Our BERT, before and after it read more",
    "movie_reviews": "Is a film liked?",
    "adaptation": "Tagging, inference and choice",
    "span_filling": "Filling spans",
    "written_text": "Descriptions, summaries, replies",
    "assistant": "Imitation, then preference",
    "word_vectors": "One vector for each word",
    "preferences": "Grammar and bias by pairs of sentences",
    "decoding": "What decoding rules draw from",
    "published_weights": "Published weights in our classes",
    "parameter_counts": "Sizes of known models",
    "page_engine": "Our GPT in the page",
    "page_published": "A published model in the page",
}
"""Each record of figures, in the order of the page; a record that is not there is left out."""
_REMARKS = {
    "shakespeare_cpu": "By chance alone two such estimates of one model differ by 0.02, so the GPT "
    "is not told apart from the published one. Seven letters of counting are far ahead of both: "
    "this GPT learned for three minutes.",
    "ladder": "Each network had 700 updates at one setting. How near the floor such models come "
    "in their chapters is on the [ladder](ladder.md).",
    "names": "Here, too, counting wins, among models that learned for a few minutes.",
    "multi30k_quick": "Each network has four million parameters and learned for four passes; the "
    "published ones are larger and learned for ten. What can be compared is their order. The two "
    "GRUs differ in attention alone.",
    "written_text": "Five beams lose to greedy search here: more probable is not better, as in the "
    "chapter on sequence to sequence. Draws use several times as many different words, and share "
    "fewer of them with any reference. The first turns of a dialogue share about half as much with "
    "a summary as another person's summary does.",
    "preferences": "Both models make the verb agree with the word before it. Put another noun "
    "there, and they follow that one: below chance means that they look at the wrong word, not "
    "that they guess. Of pronouns, the BERT prefers *she* in two pairs of three after professions "
    "that text gives to women, and in one of five after the others. The GPT seems to make little "
    "difference, but these scores leave out the pronoun itself, and by them not even *woman* and "
    "*man* differ: the chapter on [what pretraining "
    "teaches](../chapters/what_pretraining_teaches.md) calls them measure B, and its measure A "
    "finds the difference in both models.",
    "assistant": "One run, in which imitation and preference have the same rate, 0.0003. That is "
    "the one which preference liked best in the chapter on "
    "[assistants](../chapters/assistants.md), while imitation was best at 0.01; there, with three "
    "seeds, each at its own rate and judged by two more demands than the happy end, imitation is "
    "ahead.",
    "movie_reviews": "Naive Bayes, which counts words, is ahead of every small network here. The "
    "published networks above it had more to learn from: pretraining on hundreds of times as much "
    "text, or all phrases of SST-2 in place of 8,000, or both.",
}
"""What a reader should not miss in a table."""
_OTHERS = {
    "peers",
    "peers_gpu",
    "published_speed",
    "training_faults",
    "grading_throughput",
    "grading_plain",
    "grading_faults",
}
_OTHERS |= {"grading_soak", "grading_soak_small", "pasted_answers"}  # the guide has the last

_HEAD = """\
(measured)=
# Measured

::::{div} lm-lead
Some numbers take longer than a lesson, or need another program beside ours. This page lists them. \
Each was recorded once, on a machine with two shared cores and no GPU unless a line names one. The \
command below each table makes it again.
::::

A published figure is only worth quoting with the data and the protocol it was measured on. Where \
ours differ, the line says so. Our models are small: read these tables as checks of the code, and \
not as records.

## Beside what was published

The five-gram of the Penn Treebank, the oldest of these checks, is in the chapter on \
[n-grams](../chapters/ngrams.md).
"""


def page() -> str:
    """Return the whole page.

    Raises:
        ValueError: a record has no place on it, nor in a chapter.
    """
    records = {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}
    chapters = "".join(path.read_text("utf-8") for path in sorted(CHAPTERS.glob("*.md")))
    unknown = {
        name
        for name in records.keys() - PUBLISHED.keys() - _OTHERS
        if f'benchmark("{name}"' not in chapters
    }
    if unknown:
        raise ValueError(f"records that neither this page nor a chapter shows: {sorted(unknown)}")
    parts = [_HEAD]
    for name, title in PUBLISHED.items():
        if name in records:
            label = f"(measured-{name.replace('_', '-')})=\n"
            figures = "\n\n".join(_figures(name, records[name]))
            parts.append(f"{label}### {title}\n\n{figures}\n")
    parts.append("## Beside the tools that people use\n\n" + _peers(records["peers"]) + "\n")
    if "peers_gpu" in records:
        parts.append("### On a GPU\n\n" + _peers(records["peers_gpu"]) + "\n")
    if "published_speed" in records:
        text = "\n\n".join(_published_speed(records["published_speed"]))
        parts.append(f"(measured-published-speed)=\n### A published model that writes\n\n{text}\n")
    parts.append("## Grading\n\n" + "\n\n".join(_grading(records)) + "\n")
    parts.append("## Killed at random\n\n" + "\n\n".join(_faults(records)) + "\n")
    return "\n".join(parts)


def _figures(name: str, record: dict[str, Any]) -> Iterator[str]:
    figures = record.get("figures") or _OWN_FORM[name](record)
    what = re.sub(r"<\w+>", r"`\g<0>`", record["what"].rstrip("."))  # <eos> is no HTML
    yield f"{what[0].upper()}{what[1:]}."
    has_published = any(figure["published"] is not None for figure in figures)
    columns = ["what", "ours", "published"] if has_published else ["what", "ours"]
    rows = [
        [figure["subject"], _number(figure["ours"]), _number(figure["published"])][: len(columns)]
        for figure in figures
    ]
    yield _table(columns, rows)
    if "nats_per_reply_token" in record:
        yield "Nats per token of the replies to 100 instructions that it has not learned from."
        yield _table(
            ["a GPT that has learned 1,000 instructions", "ours"],
            [[way, _number(nats)] for way, nats in record["nats_per_reply_token"].items()],
        )
    if name in _REMARKS:
        yield _REMARKS[name]
    sources: dict[str, list[str]] = {}
    for figure in figures:
        if figure["published"] is not None and figure["source"]:
            sources.setdefault(figure["source"], []).append(figure["subject"])
    if sources:
        lines = "\n".join(f"- {source} ({', '.join(rows)})" for source, rows in sources.items())
        yield f":::{{dropdown}} Where the published figures come from\n{lines}\n:::"
    yield _provenance(record)


def _shakespeare(record: dict[str, Any]) -> list[dict[str, Any]]:
    draws = record["gpt_by_draws"]
    n_batches, layers = (
        ("200", "6 layers of 384") if record["recipe"] == "gpu" else ("20", "4 layers of 128")
    )
    drawn = (
        f"the same, as nanoGPT estimates it from {n_batches} random batches: mean of "
        f"{draws['n_draws']} such estimates, {draws['least']:.3f} to {draws['most']:.3f}"
    )
    rows = [
        (f"{order}-gram, modified Kneser–Ney", nats, None)
        for order, nats in record["ngrams"].items()
    ]
    rows.append((f"GPT, {layers}, on the whole text", record["gpt"], None))
    rows.append((drawn, draws["mean"], record["published"]))
    return [
        {"subject": subject, "ours": ours, "published": published, "source": "nanoGPT, README"}
        for subject, ours, published in rows
    ]


def _ladder(record: dict[str, Any]) -> list[dict[str, Any]]:
    rows = {**record["perplexity"], "the language itself": record["floor"]}
    return [{"subject": s, "ours": v, "published": None, "source": ""} for s, v in rows.items()]


def _pretraining(record: dict[str, Any]) -> list[dict[str, Any]]:
    models = {"gpt": "GPT", "ngram": f"{record['ngram']['order']}-gram", "before": "GPT before"}
    rows = [
        (f"{text}: {title}, bits per byte", record[model]["test"][text])
        for text in record["gpt"]["test"]
        for model, title in models.items()
        if record[model]
    ]
    shares = {
        title: record[model] and record[model]["sentences"] for model, title in models.items()
    }
    shares["held-out stories themselves"] = record["held-out stories"]
    rows += [
        (f"well-formed sentences: {title}, percent", share["percent_well_formed"])
        for title, share in shares.items()
        if share
    ]
    return [{"subject": s, "ours": v, "published": None, "source": ""} for s, v in rows]


def _pretraining_bert(record: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [
        (f"{text}: {title}, {what}", record[model][text][key])
        for text in record["bert"]
        for model, title in (("bert", "after"), ("before", "before"))
        for key, what in (("nats", "nats"), ("percent_right", "percent guessed"))
    ]
    return [{"subject": s, "ours": v, "published": None, "source": ""} for s, v in rows]


_OWN_FORM = {
    "pretraining": _pretraining,
    "pretraining_bert": _pretraining_bert,
    "shakespeare_cpu": _shakespeare,
    "shakespeare_gpu": _shakespeare,
    "ladder": _ladder,
}


def _missed(ratios: Sequence[dict[str, Any]]) -> str:
    """Say how many aims were missed; a spread that reaches an aim leaves the question open."""
    aimed = [one for one in ratios if one["aim"] is not None]
    over = [one for one in aimed if one["ratio"] > one["aim"]]
    n_open = sum(one["low"] <= one["aim"] for one in over)
    return (
        f"The aims were set beforehand: {len(aimed) - len(over)} of {len(aimed)} are met, "
        f"{n_open} open (the median lies above the aim, a quarter of the rounds or more below it), "
        f"{len(over) - n_open} missed."
    )


def _peers(record: dict[str, Any]) -> str:
    rows = [
        [
            one["subject"],
            one["peer"],
            f"{one['ratio']:.2f}",
            f"{one['low']:.2f} to {one['high']:.2f}",
            "" if one["aim"] is None else f"≤\N{NO-BREAK SPACE}{one['aim']:g}",
        ]
        for one in record["ratios"]
    ]
    columns = ["what", "beside", "ours / theirs", "half of the rounds", "aim"]
    return (
        "Time of ours divided by time of the other, taken one right after the other in several "
        "rounds; memory, where a line says so. Below 1, ours takes less. "
        f"{_missed(record['ratios'])}\n\n"
        f"{_table(columns, rows)}\n\n{_provenance(record)}"
    )


def _published_speed(record: dict[str, Any]) -> Iterator[str]:
    chat = record["chat_beyond_import_torch"]["megabytes"]
    guessed = record["tokens_a_pass_by_prompt_lookup"]
    yield (
        "SmolLM2-135M in this course's `GPT`, its weights in four precisions, of which *blocks* is "
        "the file's own four bits. A chat in blocks holds "
        f"{chat} MB beyond what `import torch` takes, and on a list that repeats, prompt lookup "
        f"gives {guessed:.1f} tokens a pass. {_peers(record)}"
    )
    if "bits_a_byte" not in record:
        return
    by_weights = {f"weights: {name}": b for name, b in record["bits_a_byte"].items()}
    by_activations = {
        f"activations in 8 bits, one scale a {name}": b
        for name, b in record["bits_a_byte_with_activations_in_8_bits_by"].items()
    }
    rows = [[name, f"{b:.4f}"] for name, b in (by_weights | by_activations).items()]
    table = _table(["what", "bits a byte"], rows)
    yield f"What rounding costs, on the {record['scored']}:\n\n{table}"


def _grading(records: dict[str, dict[str, Any]]) -> Iterator[str]:
    record = records["grading_throughput"]
    small = record["attention"]
    own = sum(ms for stage, ms in small["cpu_ms_each"].items() if not stage.startswith("of it "))
    rows = [["this grader", f"{small['submissions_per_minute']:.0f}", f"{own:.0f} ms", ""]]
    for peer, one in small["peers"].items():
        speed, cost = one["submissions_per_minute"], one["cpu_ms_each"]
        rows.append([peer, f"{speed:.1f}", f"{cost:.0f} ms", f"{one['ratio_of_cpu']:.0f} times"])
    yield (
        "The same notebooks with two small functions on tensors, the same tests, one run: "
        f"{small['submissions']} for this grader, its start and end included, and the first "
        "ten for the others, which grade one after another. CPU time compares them: other work "
        f"lengthens the rest; the machine: {record['machine']}."
    )
    yield _table(["grader", "submissions a minute", "CPU each", "CPU beside ours"], rows)
    yield _provenance(record)
    if plain := records.get("grading_plain"):
        yield (
            "The same set as a course for nbgrader alone, without checks: its assertions run in "
            f"the sandbox, {plain['submissions_per_minute']:.0f} submissions a minute beside "
            f"nbgrader's {plain['submissions_per_minute of nbgrader']:.1f} in the same run, "
            f"{plain['ratio']:.0f} times as many; the machine: {plain['machine']}. "
            f"{_provenance(plain)}"
        )
    for name, what in (
        ("grading_soak_small", "the same small set"),
        ("grading_soak", "the first problem set"),
    ):
        run = records[name]
        broken = run.get("broken or hostile")
        more = {
            kind: " and ".join(f"{slope:.0f}" for slope in sorted(each))
            for kind, each in run["kilobytes_more_per_submission"].items()
        }
        most_of_server = max(run["kilobytes_more_per_submission"]["server in the sandbox"])
        yield (
            f"A class of {run['submissions']:,} on {what}"
            + (f", {broken} broken or hostile" if broken else "")
            + f": {run['cpu_seconds']:.0f} seconds of CPU time, {run['wall_seconds']:.0f} by the "
            f"clock; the machine: {run['machine']}. In its second half, memory grew for each "
            f"submission by {more['main process']} KB in the main process, {more['worker']} KB in "
            f"the {run['processes']} processes that grade, and {most_of_server:.0f} KB in the "
            f"servers in the sandbox. {_provenance(run)}"
        )


def _faults(records: dict[str, dict[str, Any]]) -> Iterator[str]:
    training = records["training_faults"]
    yield (
        f"A training was killed {training['kills']} times. Damaged checkpoints: "
        f"{training['damaged_checkpoints']}; losses that differ from an undisturbed run's: "
        f"{training['losses_that_differ']}. {_provenance(training)}"
    )
    tests = records["grading_faults"]["tests"]
    grader = tests["test_killed_grader_loses_nothing_and_grades_nothing_twice"]
    workers = tests["test_killed_workers_and_sandboxes_change_no_grade"]
    n_workers = sum(n for what, n in workers.items() if what.startswith("kills of"))
    yield (
        f"The grader was killed {grader['kills of the grader']} times over classes of 50, its "
        f"workers and sandboxes {n_workers} times. All "
        f"{grader['submissions, each recorded once with the undisturbed grade']:,} submissions "
        "were recorded once, with the grade of an undisturbed run. "
        + _provenance(records["grading_faults"])
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = ["---", *["--:"] * (len(columns) - 1)]
    lines = [columns, marks, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _provenance(record: dict[str, Any]) -> str:
    machine = record.get("machine", "")
    # Every other record is of the machine that the head of the page describes.
    on = f" on one {machine.split(',')[0]}" if "NVIDIA" in machine else ""
    return f"*Recorded {record['date']}{on}:* `{record['command']}`"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
