"""The companion package of *Language Models by Hand*.

Read it in the order in which text flows through it:

    text -> ids          `course_pkg.text`         corpora, tokenization, batches
    ids -> loss          `course_pkg.layers`       parts that several models share
                         `course_pkg.models`       from n-grams to GPT, BERT and fine-tuning
    loss -> checkpoint   `course_pkg.training`     objectives, optimizers, the one training loop
                         `course_pkg.pretrained`   published weights in our models
    model -> numbers     `course_pkg.evaluation`   perplexity, bits per byte
                         `course_pkg.metrics`      accuracy, F1, correlations, BLEU, error rates
                         `course_pkg.results`      the running table "The story so far"
    model -> text        `course_pkg.decoding`     greedy, sampled, beam search
    numbers -> pictures  `course_pkg.plots`        figures in one style
                         `course_pkg.widgets`      figures that the reader can touch
"""

__version__ = "0.2.0"
