"""The companion package of *Language Models by Hand*.

    >>> import course_pkg as lm
    >>> stories = lm.StoryGrammar().sample(2, seed=1)
    >>> tokenizer = lm.WordTokenizer.train(story.text for story in stories)
    >>> model = lm.GPT(lm.gpt_tiny(tokenizer.vocab_size))

Read it in the order in which text flows through it:

    text -> ids          `course_pkg.text`         corpora, tokenizers, stories, batches
    ids -> loss          `course_pkg.layers`       parts that several models share
                         `course_pkg.models`       from n-grams to GPT, BERT and fine-tuning
    loss -> checkpoint   `course_pkg.training`     objectives, optimizers, the one training loop
                         `course_pkg.weights`      folders of trained models, published ones
    model -> numbers     `course_pkg.evaluation`   perplexity, accuracy, F1, BLEU, probes
                         `course_pkg.results`      the running table "The story so far"
    model -> text        `course_pkg.decoding`     greedy, sampled, beam search
    numbers -> pictures  `course_pkg.plots`        figures and drawings in one style
                         `course_pkg.widgets`      figures that the reader can touch

The names below can be taken from the package itself. Each is imported when it is first used, so
that `import course_pkg` alone is fast and loads neither torch nor matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a new name stands here and in the table below
    from course_pkg import plots, widgets
    from course_pkg.common.devices import choose_device
    from course_pkg.decoding.beam_search import beam_search, greedy_search
    from course_pkg.decoding.generation import generate
    from course_pkg.evaluation.likelihood import (
        bits_per_byte,
        bytes_per_token,
        count_bytes,
        evaluate,
        paired_bootstrap,
        perplexity,
        token_log_probs,
    )
    from course_pkg.evaluation.probing import heads_that_follow, layer_vectors, probe, trace_of
    from course_pkg.evaluation.scoring import answer_log_probs, prefers_first, pseudo_perplexity
    from course_pkg.layers.blocks import Trace
    from course_pkg.layers.cost import layer_cost
    from course_pkg.layers.recurrent import ElmanCell, GRUCell, LSTMCell
    from course_pkg.models import IGNORE, LanguageModel
    from course_pkg.models.attention import AttentionLM
    from course_pkg.models.bert import BERT
    from course_pkg.models.gpt import GPT, gpt2_small, gpt_tiny
    from course_pkg.models.ngram import KneserNey, ModifiedKneserNey, NGram
    from course_pkg.models.recurrent import RecurrentLM
    from course_pkg.models.seq2seq import Seq2Seq
    from course_pkg.models.transformer import EncoderDecoder, count_parameters
    from course_pkg.models.transformer_config import TransformerConfig
    from course_pkg.models.window import FixedWindowLM
    from course_pkg.plots.diagrams import Diagram
    from course_pkg.results import (
        RECORDED,
        Result,
        benchmark,
        chapter_results,
        check_results,
        story_so_far,
    )
    from course_pkg.results.published import published_table
    from course_pkg.text.batches import (
        batching,
        example_batches,
        next_token_rows,
        pack_documents,
        stream_batches,
        window_batches,
    )
    from course_pkg.text.corpora import list_corpora, list_tasks, load_corpus, load_task
    from course_pkg.text.stories.grammar import StoryGrammar
    from course_pkg.text.stories.oracle import StoryOracle
    from course_pkg.text.tokenizers import (
        BytePairTokenizer,
        ByteTokenizer,
        CharTokenizer,
        WordPieceTokenizer,
        WordTokenizer,
        load_tokenizer,
    )
    from course_pkg.text.tokenizers.unknown_word_cost import UnknownWordCost
    from course_pkg.training.trainer import Trainer, TrainerConfig
    from course_pkg.weights.model_folders import load_model, save_model
    from course_pkg.weights.pretrained import load_pretrained
    from course_pkg.weights.published import load_published

__version__ = "0.7.0"


_NAMES = {
    "course_pkg": "plots widgets",
    "course_pkg.decoding.beam_search": "beam_search greedy_search",
    "course_pkg.decoding.generation": "generate",
    "course_pkg.common.devices": "choose_device",
    "course_pkg.evaluation.likelihood": (
        "bits_per_byte bytes_per_token count_bytes evaluate paired_bootstrap perplexity "
        "token_log_probs"
    ),
    "course_pkg.layers.blocks": "Trace",
    "course_pkg.layers.cost": "layer_cost",
    "course_pkg.layers.recurrent": "ElmanCell GRUCell LSTMCell",
    "course_pkg.weights.model_folders": "load_model save_model",
    "course_pkg.models": "IGNORE LanguageModel",
    "course_pkg.models.attention": "AttentionLM",
    "course_pkg.models.bert": "BERT",
    "course_pkg.models.gpt": "GPT gpt2_small gpt_tiny",
    "course_pkg.models.ngram": "KneserNey ModifiedKneserNey NGram",
    "course_pkg.models.recurrent": "RecurrentLM",
    "course_pkg.models.seq2seq": "Seq2Seq",
    "course_pkg.models.transformer": "EncoderDecoder count_parameters",
    "course_pkg.models.transformer_config": "TransformerConfig",
    "course_pkg.models.window": "FixedWindowLM",
    "course_pkg.plots.diagrams": "Diagram",
    "course_pkg.weights.pretrained": "load_pretrained",
    "course_pkg.evaluation.probing": "heads_that_follow layer_vectors probe trace_of",
    "course_pkg.weights.published": "load_published",
    "course_pkg.results": "RECORDED Result benchmark chapter_results check_results story_so_far",
    "course_pkg.results.published": "published_table",
    "course_pkg.evaluation.scoring": "answer_log_probs prefers_first pseudo_perplexity",
    "course_pkg.text.batches": (
        "batching example_batches next_token_rows pack_documents stream_batches window_batches"
    ),
    "course_pkg.text.corpora": "list_corpora list_tasks load_corpus load_task",
    "course_pkg.text.stories.grammar": "StoryGrammar",
    "course_pkg.text.stories.oracle": "StoryOracle",
    "course_pkg.text.tokenizers": (
        "BytePairTokenizer ByteTokenizer CharTokenizer WordPieceTokenizer WordTokenizer "
        "load_tokenizer"
    ),
    "course_pkg.text.tokenizers.unknown_word_cost": "UnknownWordCost",
    "course_pkg.training.trainer": "Trainer TrainerConfig",
}
"""Where each public name is defined; the imports above say the same to type checkers."""

_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'course_pkg' has no attribute {name!r}")
    home = _MODULE_OF[name]
    is_module = home == "course_pkg"
    try:
        module = import_module(f"course_pkg.{name}" if is_module else home)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("course_pkg"):
            raise
        needed = f"{name} needs {error.name}: pip install 'language-models-by-hand[course]'"
        raise ModuleNotFoundError(needed, name=error.name) from error
    return module if is_module else getattr(module, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
