"""What is trained on what: five kinds of model in a few sizes, each over the one `Trainer`.

A `Recipe` names a kind, a corpus and the settings; `prepare` turns it into a model, batches and an
evaluation. Nothing here depends on the machine, so the same recipe trains on one CPU and on many
GPUs. `python -m course_pkg.train` is the command. Chapters: GPT, BERT, encoder-decoders.
"""

from course_pkg.recipes.prepared import Prepared, prepare
from course_pkg.recipes.settings import KINDS, SIZES, TOKENIZERS, Recipe, fields_of
