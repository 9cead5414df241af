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
                         `course_pkg.pretrained`   published weights in our models
                         `course_pkg.published`    a published model to talk with
    model -> numbers     `course_pkg.evaluation`   perplexity, bits per byte
                         `course_pkg.metrics`      accuracy, F1, correlations, BLEU, error rates
                         `course_pkg.results`      the running table "The story so far"
    model -> text        `course_pkg.decoding`     greedy, sampled, beam search
    numbers -> pictures  `course_pkg.plots`        figures and drawings in one style
                         `course_pkg.widgets`      figures that the reader can touch

The names below can be taken from the package itself. Each is imported when it is first used, so
that `import course_pkg` alone is fast and loads neither torch nor matplotlib.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # add a name here, and it is public
    from course_pkg import plots, widgets
    from course_pkg.decoding.beam_search import beam_search, greedy_search
    from course_pkg.decoding.generation import generate
    from course_pkg.devices import choose_device
    from course_pkg.evaluation import (
        bits_per_byte,
        bytes_per_token,
        count_bytes,
        evaluate,
        paired_bootstrap,
        perplexity,
        token_log_probs,
    )
    from course_pkg.layers.blocks import Trace
    from course_pkg.layers.cost import layer_cost
    from course_pkg.layers.recurrent import ElmanCell, GRUCell, LSTMCell
    from course_pkg.model_folders import load_model, save_model
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
    from course_pkg.pretrained import load_pretrained
    from course_pkg.probing import heads_that_follow, layer_vectors, probe, trace_of
    from course_pkg.published import load_published
    from course_pkg.results import (
        RECORDED,
        Result,
        benchmark,
        chapter_results,
        check_results,
        story_so_far,
    )
    from course_pkg.results.published import published_table
    from course_pkg.scoring import answer_log_probs, prefers_first, pseudo_perplexity
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

__version__ = "0.7.0"


def _modules_of_names() -> dict[str, str]:
    """Read from this file's own imports for type checkers where each public name is defined."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = (node for node in block.body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_MODULE_OF = _modules_of_names()

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
