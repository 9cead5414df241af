"""The checks of problem set 2, tokenization: what is asked and demanded of each answer.

What a student gets wrong most often has a part of its own: overlaps, ties, borders, broken bytes.
So one slip costs one part, and the rest of a right answer still counts. In every part something
depends on real values, so that no answer earns points by merely not failing.
"""

from importlib import import_module
from typing import Any

from assignments.checks import ps2_draws as draws
from assignments.checks import ps2_learning_draws as learning_draws
from assignments.checks import ps2_probes as probes
from assignments.checks import ps2_references as references
from assignments.checks.judges import changes_nothing_else
from autograder.authoring.checks import Check, Part, ProblemSet


def _leaves_alone(says: str, draw: Any, probe: Any) -> Part:
    return Part("nothing else changes", says, draw, probe, judge=changes_nothing_else())


def _check(item: str, points: float, *parts: Part) -> Check:
    answers = import_module(f"assignments.answers.ps2.{item}")
    return Check(
        item=f"ps2_{item}",
        points=points,
        target=item,
        reference=getattr(references, item),
        parts=parts,
        mistakes=answers.MISTAKES,
        alternatives=answers.ALTERNATIVES,
        seconds=5.0,
    )


PROBLEM_SET = ProblemSet(
    name="ps2",
    title="tokenization",
    checks=(
        _check(
            "count_pairs",
            10,
            Part(
                "values",
                "Each pair of neighbours is counted as often as it occurs in the corpus.",
                draws.draw_words,
                probes.count_once,
                weight=6,
            ),
            Part(
                "runs",
                "Pairs may overlap, and words of no or one id have none.",
                draws.draw_runs,
                probes.count_once,
                weight=3,
            ),
            _leaves_alone(
                "The arguments stay as they were, and a second call leaves the first answer alone.",
                draws.draw_words,
                probes.count_twice,
            ),
        ),
        _check(
            "merge_pair",
            12,
            Part(
                "values",
                "Every occurrence of the pair becomes one token, and all others stay.",
                draws.draw_merges,
                probes.merge_all,
                weight=6,
            ),
            Part(
                "runs",
                "In a run of equal ids the merges go from left to right and never overlap.",
                draws.draw_merge_runs,
                probes.merge_all,
                weight=1.5,
            ),
            Part(
                "edges",
                "The first and the last id are treated like all others, and short lists work.",
                draws.draw_merge_edges,
                probes.merge_all,
                weight=1.5,
            ),
            _leaves_alone(
                "The list that was given stays as it was, even when the result changes later.",
                draws.draw_merge_edges,
                probes.merge_and_change,
            ),
        ),
        _check(
            "learn_merges",
            24,
            Part(
                "values",
                "In each step the most frequent pair is merged and becomes the next token.",
                learning_draws.draw_corpora,
                probes.learn,
                weight=6,
            ),
            Part(
                "ties",
                "Of equally frequent pairs, the one with the smaller first, then second id wins.",
                learning_draws.draw_ties,
                probes.learn,
                weight=1.5,
            ),
            Part(
                "stopping",
                "Learning stops at n_tokens, below min_count, and when no pair is left.",
                learning_draws.draw_stops,
                probes.learn,
                weight=1.5,
            ),
            _leaves_alone(
                "The words stay as they were, and a second call leaves the first answer alone.",
                learning_draws.draw_corpora,
                probes.learn_twice,
            ),
        ),
        _check(
            "encode_word",
            16,
            Part(
                "values",
                "A word is cut by the learned merges, and its tokens become ids.",
                draws.draw_encodings,
                probes.encode_words,
                weight=6,
            ),
            Part(
                "ranks",
                "Of the pairs in a word, the one that was learned first is merged first.",
                draws.draw_ranks,
                probes.encode_words,
                weight=2,
            ),
            Part(
                "short and strange words",
                "Empty words, single bytes, repeats and characters of several bytes have ids too.",
                draws.draw_word_edges,
                probes.encode_words,
            ),
            _leaves_alone(
                "The vocabulary and the merges stay as they were.",
                draws.draw_encodings,
                probes.encode_words_and_keep,
            ),
        ),
        _check(
            "encode",
            12,
            Part(
                "values",
                "Texts with one space between words get the right ids.",
                draws.draw_texts,
                probes.encode_texts,
                weight=4,
            ),
            Part(
                "borders",
                "The pattern alone decides where a text is cut, and no merge crosses a cut.",
                draws.draw_borders,
                probes.encode_texts,
                weight=2,
            ),
            Part(
                "spaces",
                "Spaces at the start, at the end, in a row, and of other kinds survive.",
                draws.draw_spaces,
                probes.encode_texts,
                weight=1.5,
            ),
            Part(
                "any text",
                "Every text has ids: empty, in any script, or spelling a special token.",
                draws.draw_any_text,
                probes.encode_texts,
                weight=1.5,
            ),
            _leaves_alone(
                "The vocabulary and the merges stay as they were.",
                draws.draw_texts,
                probes.encode_texts_and_keep,
            ),
        ),
        _check(
            "decode",
            10,
            Part(
                "values",
                "The tokens' bytes, joined, are the text.",
                draws.draw_ids,
                probes.decode_all,
                weight=4,
            ),
            Part(
                "characters",
                "A character whose bytes lie in several tokens comes back whole.",
                draws.draw_characters,
                probes.decode_all,
                weight=2,
            ),
            Part(
                "broken bytes",
                "Bytes that are no UTF-8 become U+FFFD, and the rest of the text survives.",
                draws.draw_broken,
                probes.decode_all,
                weight=1.5,
            ),
            Part(
                "other ids",
                "Special tokens are left out, and ids that no token has raise a ValueError.",
                draws.draw_other_ids,
                probes.decode_or_refuse,
                weight=1.5,
            ),
            _leaves_alone(
                "The ids and the vocabulary stay as they were.",
                draws.draw_ids,
                probes.decode_and_keep,
            ),
        ),
        _check(
            "bytes_per_token",
            8,
            Part(
                "values",
                "All bytes of the texts are divided by all their tokens.",
                draws.draw_measured,
                probes.measure,
                weight=6,
            ),
            Part(
                "characters",
                "Characters that take several bytes count as several.",
                draws.draw_measured_characters,
                probes.measure,
                weight=2,
            ),
            Part(
                "nothing to divide by",
                "Texts that give no token raise a ValueError.",
                draws.draw_nothing_to_measure,
                probes.measure_or_refuse,
            ),
            _leaves_alone(
                "The texts, and the ids that the tokenizer returns, stay as they were.",
                draws.draw_measured,
                probes.measure_and_keep,
            ),
        ),
    ),
)

EQUIVALENT_MUTANTS = {
    "ps2_count_pairs": {
        "for ids, n in zip(words, counts, strict=True):  →  "
        "for ids, n in zip(words, counts, strict=False):": "The two lists are equally long.",
    },
}
