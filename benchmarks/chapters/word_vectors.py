"""Static word vectors from generated stories: does a word's nearest neighbour do the same work?

    python -m benchmarks.chapters.word_vectors [--n-stories 4000] [--n-epochs 3] [--record FILE]

The grammar of the stories picks names, places, things, colours and so on from lists. Vectors learn
nothing but which words stand near each other; reported is the share of listed words, in percent,
whose nearest neighbour by cosine, among all listed words, is from the same list. Ours (skip-gram
with negative sampling) stands beside gensim's with the same window, width, negatives, passes and
thinning, and beside vectors drawn at random.
"""

import math
from collections.abc import Sequence

import torch
from gensim.models import Word2Vec
from torch import Tensor
from torch.nn import functional as F

from benchmarks.papers.published import Clock, Figure, command_line, report
from course_pkg.models.skip_gram import SkipGram, keep_probabilities, skip_gram_pairs
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.stories.lexicon import GLAD, LEXICON, SAD
from course_pkg.text.tokenizers import WordTokenizer

D_EMBEDDING, WINDOW, N_NEGATIVE, THRESHOLD = 32, 4, 5, 1e-2
BATCH_SIZE, LR = 1024, 1e-2

LISTS = {**LEXICON, "feeling": (*GLAD, *SAD)}


def learn(documents: list[list[int]], vocab_size: int, n_epochs: int, *, seed: int = 0) -> Tensor:
    """Train by Adam, the rate falling to zero in a line; return a vector for each id."""
    drawing = torch.Generator().manual_seed(seed)
    ids = torch.tensor([i for document in documents for i in document])
    counts = torch.bincount(ids, minlength=vocab_size)
    model = SkipGram(counts, D_EMBEDDING, n_negative=N_NEGATIVE, generator=drawing)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    for epoch in range(n_epochs):
        keep = keep_probabilities(counts, THRESHOLD)
        pairs = skip_gram_pairs(documents, WINDOW, keep=keep, generator=drawing)
        batches = pairs[torch.randperm(len(pairs), generator=drawing)].split(BATCH_SIZE)
        for number, batch in enumerate(batches):
            left = 1 - (epoch + number / len(batches)) / n_epochs
            optimizer.param_groups[0]["lr"] = LR * left
            _, loss = model(batch[:, 0], batch[:, 1], model.draw(len(batch), drawing))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.embedding.weight.detach()


def neighbours_of_a_kind(vectors: Tensor, words: Sequence[tuple[int, str]]) -> float:
    """Return the share, in percent, of words whose nearest other word has the same kind.

    Args:
        vectors: one for each id.
        words: id and kind of those that are compared.
    """
    chosen = F.normalize(vectors[[i for i, _ in words]], dim=1)
    alike = (chosen @ chosen.T).fill_diagonal_(-math.inf).argmax(dim=1).tolist()
    kinds = [kind for _, kind in words]
    return 100 * sum(kinds[i] == kinds[j] for i, j in enumerate(alike)) / len(kinds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the shares and, on request, record them."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--n-stories", type=int, default=4000, help="to learn from [4000]")
    parser.add_argument("--n-epochs", type=int, default=3, help="passes over them [3]")
    options = parser.parse_args(arguments)
    texts = [story.text for story in StoryGrammar().sample(options.n_stories, seed=0)]
    tokenizer = WordTokenizer.train(texts)
    documents = [tokenizer.encode(text) for text in texts]
    known = {token: i for i, token in enumerate(tokenizer.tokens)}
    words = [(known[w], kind) for kind, some in LISTS.items() for w in some if w in known]
    clock = Clock("cpu")
    ours = learn(documents, tokenizer.vocab_size, options.n_epochs)
    seconds = clock.seconds()
    peer = Word2Vec(
        [[str(i) for i in document] for document in documents], vector_size=D_EMBEDDING,
        window=WINDOW, negative=N_NEGATIVE, sg=1, min_count=1, sample=THRESHOLD, seed=1,
        workers=1, epochs=options.n_epochs,
    )  # fmt: skip
    theirs = torch.zeros(tokenizer.vocab_size, D_EMBEDDING)
    for i, _ in words:
        theirs[i] = torch.from_numpy(peer.wv[str(i)].copy())
    drawn = torch.randn(ours.shape, generator=torch.Generator().manual_seed(0))
    report(
        [
            Figure("skip-gram, ours", neighbours_of_a_kind(ours, words)),
            Figure("skip-gram, gensim", neighbours_of_a_kind(theirs, words)),
            Figure("vectors drawn at random", neighbours_of_a_kind(drawn, words)),
        ],
        "Share of words, in percent, whose nearest neighbour is of the same kind, on stories.",
        is_higher_better=True,
        module="benchmarks.chapters.word_vectors",
        options=options,
        arguments=arguments,
        details={
            "n_words": len(words),
            "n_stories": options.n_stories,
            "n_epochs": options.n_epochs,
            clock.unit: round(seconds),
        },
        n_digits=1,
    )


if __name__ == "__main__":
    main()
