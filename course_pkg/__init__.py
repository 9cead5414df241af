"""The companion package of *Language Models by Hand*.

Read it in the order in which text flows through it:

    text -> ids          `course_pkg.text`        corpora, tokenization, batches
    ids -> loss          `course_pkg.layers`      parts that several models share
                         `course_pkg.models`      n-gram, window, recurrent, seq2seq, transformer, GPT, BERT
    loss -> checkpoint   `course_pkg.training`    objectives, optimizers, the one training loop
    model -> numbers     `course_pkg.evaluation`  perplexity, bits per byte, accuracy, BLEU
    model -> text        `course_pkg.generation`, `beam_search`  greedy, sampling, beam search
"""

__version__ = "0.1.0"
