"""Text beside the libraries: byte-pair encoding and Kneser-Ney n-grams."""

import importlib.util
import math
import os
import random
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch

from benchmarks.speed import kenlm_programs
from benchmarks.speed.side_by_side import Ratio, compare
from course_pkg.models.ngram import NGram
from course_pkg.text.corpora import Corpus, load_corpus
from course_pkg.text.corpora.sources import SourceUnavailableError
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.text.tokenizers.byte_pair import GPT2_PATTERN, BytePairTokenizer


def _largest(local: str) -> Corpus:
    """Return a corpus of COURSE_DATA, or else the one that every installation has."""
    try:
        return load_corpus(local, source="local")
    except SourceUnavailableError:
        return load_corpus("wikipedia")


def tokenization(device: torch.device, n_rounds: int) -> Iterator[Ratio]:
    """Byte-pair encoding on real text, the largest at hand; one thread for both."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import tokenizers

    corpus = _largest("wikitext2")
    texts = corpus.train
    n_mb = sum(len(text.encode()) for text in texts) / 1e6
    V = 8000

    def theirs() -> tokenizers.Tokenizer:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=V, initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
        return tokenizer

    yield compare(
        f"BPE training, {n_mb:.1f} MB, {V:,} tokens",
        "tokenizers",
        lambda: BytePairTokenizer.train(texts, vocab_size=V),
        theirs,
        aim=1.2,
        n_rounds=n_rounds,
    )
    own = BytePairTokenizer.train(texts, vocab_size=V)
    fast = own.to_fast()
    whole = "\n".join(corpus.test)[:1_000_000]
    own.encode(whole)  # fill the cache of words: a tokenizer lives longer than one text
    rivals = [("tokenizers", fast.encode, 1.0)]
    if importlib.util.find_spec("tiktoken") is None:
        print("BPE encoding beside tiktoken: left out, it is not installed", file=sys.stderr)
    else:
        rivals.append(("tiktoken", _tiktoken(own).encode_ordinary, 2.5))
    for peer, encode, aim in rivals:
        if list(encode(whole)) != own.encode(whole):
            raise RuntimeError(f"{peer} splits the text into other tokens: an unfair race")
        yield compare(
            f"BPE encoding, {len(whole.encode()) / 1e6:.1f} MB, words cached",
            peer,
            lambda: own.encode(whole),
            partial(encode, whole),
            aim=aim,
            n_rounds=n_rounds,
        )


def _tiktoken(own: BytePairTokenizer) -> Any:
    """Return tiktoken's encoder with our ranks: it fetches its own from the net."""
    import tiktoken

    ranks = {token: i for i, token in enumerate(own.vocabulary) if isinstance(token, bytes)}
    return tiktoken.Encoding(
        "ours", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={own.eos: own.eos_id}
    )


def kenlm(device: torch.device, n_rounds: int) -> Iterator[Ratio]:
    """From sentences to the perplexity of others: 5-grams beside KenLM's three programs."""
    if not kenlm_programs.is_installed():
        print(f"kenlm: left out, {kenlm_programs.PROGRAMS} are not on the PATH", file=sys.stderr)
        return
    order, corpus = 5, _largest("ptb")
    train, test = (sentences(texts) for texts in (corpus.train, corpus.test))
    ours, theirs = (f(train, test, order) for f in (perplexity, kenlm_programs.perplexity))
    if not math.isclose(ours, theirs, rel_tol=1e-4):
        raise RuntimeError(f"KenLM's perplexity is {theirs}, ours {ours}: an unfair race")
    yield compare(
        f"Kneser–Ney {order}-grams, {corpus.name}: perplexity {ours:.2f} from text",
        f"KenLM's programs (perplexity {theirs:.2f})",
        lambda: perplexity(train, test, order),
        lambda: kenlm_programs.perplexity(train, test, order),
        aim=0.5,
        n_rounds=min(n_rounds, 7),
    )


def sentences(texts: Sequence[str]) -> list[str]:
    """Return every line that has words: what KenLM takes for one sentence."""
    return [line for text in texts for line in text.splitlines() if line.strip()]


def perplexity(train: Sequence[str], test: Sequence[str], order: int) -> float:
    """Return what `kenlm_programs.perplexity` does, by its conventions."""
    words = [line.split() for line in train]
    ids = {word: i for i, word in enumerate(dict.fromkeys(w for line in words for w in line), 1)}
    unknown = len(ids) + 1  # 0 is the end; KenLM reserves a share of the unigrams, too
    documents = [[ids[word] for word in line] for line in words]
    model = NGram.fit(documents, order, vocab_size=unknown + 1, eos_id=0)
    stream = [0]
    for line in test:
        stream += [ids.get(word, unknown) for word in line.split()]
        stream.append(0)
    told = torch.tensor([stream])
    return math.exp(-float(model.target_log_probs(told[:, :-1], told[:, 1:]).mean()))


def ngrams(device: torch.device, n_rounds: int) -> Iterator[Ratio]:
    """Kneser-Ney trigrams: training, and scoring word by word, beside NLTK's."""
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    corpus = load_corpus("wikipedia")
    lines = [line for text in corpus.train for line in text.split(". ")][:2000]
    tokenizer = WordTokenizer.train(lines)
    ids = [tokenizer.encode(line) for line in lines]
    words = [tokenizer.words(line) for line in lines]

    def ours() -> NGram:
        return NGram.fit(ids, 3, tokenizer.vocab_size, tokenizer.eos_id)

    def theirs() -> KneserNeyInterpolated:
        model = KneserNeyInterpolated(3)
        model.fit(*padded_everygram_pipeline(3, words))
        return model

    yield compare(
        f"Kneser–Ney trigrams, training on {sum(map(len, words)):,} words",
        "nltk.lm",
        ours,
        theirs,
        n_rounds=min(n_rounds, 5),
    )
    model, library = ours(), theirs()
    rng = random.Random(0)
    drawn = [rng.choice([i for i in range(len(ids)) if len(ids[i]) > 3]) for _ in range(3)]
    places = [(ids[i][:2], ids[i][2], words[i][:2], words[i][2]) for i in drawn]

    def score_ours() -> None:
        for context, target, _, _ in places:
            history = torch.tensor([[tokenizer.eos_id, *context]])
            float(model.next_log_probs(history)[0, target])

    def score_theirs() -> None:
        for _, _, context, target in places:
            library.logscore(target, tuple(context))

    yield compare(
        f"Kneser–Ney trigrams, scoring {len(places)} words one by one",
        "nltk.lm",
        score_ours,
        score_theirs,
        n_rounds=min(n_rounds, 5),
    )
