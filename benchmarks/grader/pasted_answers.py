"""Who pastes a function of the package under other names: does `autograder similarity` report it?

    python -m benchmarks.grader.pasted_answers [--record FILE]

For each item of the eight sets the function of the package that comes nearest to what is asked is
changed as somebody would who does not want to be found: other names, and without its docstring,
annotations, refused arguments and `self`. Then a class hands it in, beside all right answers that
were written independently: none of those may be reported. How often a right answer would be that
nobody has seen is told by leaving each out in turn.
"""

import argparse
import ast
import builtins
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.authoring.course import Course
from autograder.authoring.release import ReleasedSet
from autograder.reports.similarity import Material, like_package
from autograder.reports.similarity_report import independent_answers, reference_functions
from benchmarks.records import add_record_option, write_record

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "course_pkg" / "results" / "benchmarks" / "pasted_answers.json"

_NGRAM = "course_pkg.models.ngram.probabilities"
_BYTE_PAIR = "course_pkg.text.tokenizers.byte_pair.BytePairTokenizer"
_ATTENTION = "course_pkg.layers.attention"
_BLOCKS = "course_pkg.layers.blocks"
_POSITIONS = "course_pkg.layers.positions"
_MASKING = "course_pkg.text.batches.masking"
_OPTIM = "course_pkg.training.optim"
_OBJECTIVES = "course_pkg.training.objectives"
_SAMPLERS = "course_pkg.decoding.samplers"
_ADAPTATION = "course_pkg.models.adaptation"
NEAREST: Mapping[str, tuple[str, ...]] = {
    "ps1_count_ngrams": (f"{_NGRAM}.count_ngrams",),
    "ps1_mle_prob": (f"{_NGRAM}.mle_prob",),
    "ps1_context_of": (f"{_NGRAM}.context_of",),
    "ps1_sample": (f"{_SAMPLERS}.Sampling.choose",),
    "ps1_perplexity": ("course_pkg.evaluation.likelihood.perplexity",),
    "ps1_add_k_prob": (f"{_NGRAM}.add_k_prob",),
    "ps1_interpolated_prob": (f"{_NGRAM}.interpolated_prob",),
    "ps1_continuation_counts": (f"{_NGRAM}.continuation_counts",),
    "ps1_kneser_ney_prob": (f"{_NGRAM}.absolute_discounting_prob",),
    "ps2_count_pairs": ("course_pkg.text.tokenizers.merges.count_pairs",),
    "ps2_merge_pair": ("course_pkg.text.tokenizers.merges.merge_pair",),
    "ps2_learn_merges": ("course_pkg.text.tokenizers.merges.learn_merges",),
    "ps2_encode_word": (f"{_BYTE_PAIR}._replay",),
    "ps2_encode": (f"{_BYTE_PAIR}.encode",),
    "ps2_decode": (f"{_BYTE_PAIR}.decode",),
    "ps2_bytes_per_token": ("course_pkg.evaluation.likelihood.bytes_per_token",),
    "ps3_stream_pieces": ("course_pkg.text.batches.batching.stream_batches",),
    "ps3_window_logits": ("course_pkg.models.window.FixedWindowLM.forward",),
    "ps3_cross_entropy": ("course_pkg.models.loss.log_prob_of_targets",),
    "ps3_cross_entropy_gradient": (),
    "ps3_elman_step": ("course_pkg.layers.recurrent.ElmanCell.step",),
    "ps3_lstm_step": ("course_pkg.layers.recurrent.LSTMCell.step",),
    "ps3_truncated_bptt": ("course_pkg.models.recurrent.TruncatedBPTT.forward",),
    "ps3_clip_global_norm": (f"{_OPTIM}.clip_global_norm",),
    "ps4_dot_attention": (f"{_ATTENTION}.masked_softmax",),
    "ps4_align": ("course_pkg.models.seq2seq.Seq2Seq.align",),
    "ps4_beam_search": ("course_pkg.decoding.beam_search.beam_search",),
    "ps4_attend": (f"{_ATTENTION}.attention_weights", f"{_ATTENTION}.attend"),
    "ps4_causal_mask": (f"{_ATTENTION}.causal_mask",),
    "ps4_decoder_mask": (f"{_ATTENTION}.causal_mask",),
    "ps4_split_heads": (f"{_ATTENTION}.MultiHeadAttention._split",),
    "ps4_merge_heads": (),
    "ps4_multi_head_attention": ("course_pkg.layers.plain_attention.PlainAttention.forward",),
    "ps5_sinusoidal_positions": (
        f"{_POSITIONS}.SinusoidalPositions.waves",
        f"{_POSITIONS}._angles",
    ),
    "ps5_rotate": (f"{_POSITIONS}.RotaryPositions.rotate",),
    "ps5_layer_norm": (f"{_BLOCKS}.LayerNorm.forward",),
    "ps5_rms_norm": (f"{_BLOCKS}.RMSNorm.forward",),
    "ps5_feed_forward": (f"{_BLOCKS}.FeedForward.forward",),
    "ps5_pre_norm_block": (f"{_BLOCKS}.PreNormBlock.forward",),
    "ps5_cross_attention": (f"{_ATTENTION}.MultiHeadAttention.forward",),
    "ps5_count_parameters": (),
    "ps6_adamw_step": (f"{_OPTIM}.AdamW._update",),
    "ps6_learning_rate": ("course_pkg.training.schedules.cosine_schedule",),
    "ps6_window_batch": ("course_pkg.text.batches.batching.random_windows",),
    "ps6_causal_loss": (f"{_OBJECTIVES}.cross_entropy",),
    "ps6_keep_top_k": (f"{_SAMPLERS}.top_k_mask",),
    "ps6_keep_top_p": (f"{_SAMPLERS}.top_p_mask",),
    "ps6_sample": (f"{_SAMPLERS}.Sampling.choose",),
    "ps6_generate": ("course_pkg.decoding.generation.generate",),
    "ps7_choose_positions": (f"{_MASKING}.choose_tokens",),
    "ps7_corrupt": (f"{_MASKING}.mask_tokens",),
    "ps7_mask_batch": (f"{_MASKING}.mask_tokens",),
    "ps7_next_sentence_pairs": (f"{_MASKING}.next_sentence_pairs",),
    "ps7_join_pair": (f"{_MASKING}.join_pair",),
    "ps7_embed": ("course_pkg.models.bert.BERT.embed",),
    "ps7_masked_lm_loss": ("course_pkg.models.bert.MaskedLMLoss.forward",),
    "ps7_hide_spans": (f"{_MASKING}.spans_to_sentinels",),
    "ps7_fill_spans": (f"{_MASKING}.fill_sentinels",),
    "ps8_frame_pairs": ("course_pkg.text.batches.formatting.shorten",),
    "ps8_class_scores": (f"{_ADAPTATION}.TextClassifier.forward",),
    "ps8_freeze": (f"{_ADAPTATION}.add_lora",),
    "ps8_lora_layer": (f"{_ADAPTATION}.LoRALinear.__init__", f"{_ADAPTATION}.LoRALinear.forward"),
    "ps8_merge_lora": (f"{_ADAPTATION}.LoRALinear.merged",),
    "ps8_reply_targets": (f"{_OBJECTIVES}.reply_targets",),
    "ps8_score_replies": (f"{_OBJECTIVES}.target_log_prob",),
    "ps8_dpo_loss": (f"{_OBJECTIVES}.preference_loss",),
}
"""The package's functions that come nearest to each item; empty where none does."""


@dataclass(frozen=True)
class Found:
    """What was reported of one item.

    Attributes:
        pasted: whether the pasted function was; None if the package has none.
        n_honest: independent right answers that were handed in beside it.
        reported: how many of them were reported.
        reported_unseen: how many are reported if the grader does not know them.
    """

    item: str
    pasted: bool | None
    n_honest: int
    reported: int
    reported_unseen: int


class _Disguise(ast.NodeTransformer):
    """Change a function as somebody would who pastes it into an answer."""

    def __init__(self, kept: frozenset[str]) -> None:
        self._kept, self._names = kept, dict[str, str]()

    def _new(self, name: str) -> str:
        return name if name in self._kept else self._names.setdefault(name, f"x{len(self._names)}")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list, node.returns = [], None
        node.body = node.body[ast.get_docstring(node) is not None :]
        node.args.args = [arg for arg in node.args.args if arg.arg not in ("self", "cls")]
        node.name = self._new(node.name)
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self._new(node.arg))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        return None if node.value is None else ast.Assign([node.target], node.value)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.body[0], ast.Raise) and not node.orelse:
            return None
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.Name(self._new(node.attr), node.ctx)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._new(node.id), node.ctx)


def disguised(function: str) -> str:
    """Return a function, or a method as it stands in its class, under other names."""
    first, _, rest = function.partition("\n")
    try:
        tree = ast.parse(function)
    except SyntaxError:  # a method: all lines but the first are indented too far
        tree = ast.parse(f"{first}\n" + "\n".join(line[4:] for line in rest.split("\n")))
    kept = frozenset([*dir(builtins), "torch", "math", "F", "np"])
    return ast.unparse(ast.fix_missing_locations(_Disguise(kept).visit(tree)))


def measure(released: ReleasedSet) -> Iterator[Found]:
    """Yield what is reported of each item of a set."""
    cells = released.notebooks.student.cells
    shown = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    functions = reference_functions(released)

    def reported(item: str, answers: Mapping[str, str], known: Sequence[str]) -> set[str]:
        materials = [Material(item, answers, alternatives=known)]
        return {found.left for found in like_package(materials, shown, functions)}

    # The package has no test that judges implementations.
    judging = {check.item for check in released.problem_set.checks if check.chance}
    for item, known in independent_answers(released).items():
        if item in judging:
            continue
        answers = {f"honest {i}": code for i, code in enumerate(known)}
        nearest = NEAREST[item]
        pasted = "\n\n".join(disguised(functions[name]) for name in nearest)
        names = reported(item, answers | {"pasted": pasted}, known)
        unseen = sum(
            bool(reported(item, {"honest": code}, [*known[:i], *known[i + 1 :]]))
            for i, code in enumerate(known)
        )
        found = "pasted" in names if nearest else None
        yield Found(item, found, len(known), len(names - {"pasted"}), unseen)


def summary(found: Sequence[Found]) -> dict[str, object]:
    """Return the rates, and the items where a pasted function is not reported."""
    possible = [one for one in found if one.pasted is not None]
    return {
        "items with a function to paste": len(possible),
        "pasted and reported": sum(bool(one.pasted) for one in possible),
        "pasted and not reported": [one.item for one in possible if not one.pasted],
        "no function to paste": [one.item for one in found if one.pasted is None],
        "independent right answers": sum(one.n_honest for one in found),
        "of these reported": sum(one.reported for one in found),
        "of these reported if unseen": sum(one.reported_unseen for one in found),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was found and, on request, record it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_record_option(parser, __file__)
    options = parser.parse_args(arguments)
    course = Course(ROOT / "assignments")
    found = [one for name in course.sets() for one in measure(ReleasedSet(course, name))]
    command = "python -m benchmarks.grader.pasted_answers"
    record = {"command": command, "date": datetime.now(UTC).date().isoformat(), **summary(found)}
    print(json.dumps(record, indent=1))
    if options.record:
        write_record(options.record, record, indent=1)


if __name__ == "__main__":
    main()
