"""Tables and interactive figures: what a cell has computed, in a form to read and to touch.

Each figure has a file named like its script in book/_assets. Most take arrays
and dictionaries; those that compute with a shipped model take its name.
"""

from course_pkg.widgets.alignment import Alignment, alignment_explorer
from course_pkg.widgets.answers import answer_chooser
from course_pkg.widgets.attention import attention_explorer
from course_pkg.widgets.bpe_stepper import bpe_stepper
from course_pkg.widgets.corruption import corruption_chooser
from course_pkg.widgets.embedding_map import embedding_map
from course_pkg.widgets.gaps import gap_filler
from course_pkg.widgets.gpt import gpt_completer
from course_pkg.widgets.gradient import gradient_through_time
from course_pkg.widgets.guess_letter import guess_letter
from course_pkg.widgets.head_trainer import head_trainer
from course_pkg.widgets.masking import masking_rule
from course_pkg.widgets.ngram_sampler import ngram_sampler
from course_pkg.widgets.published import published_completer
from course_pkg.widgets.random_attention import random_attention
from course_pkg.widgets.restorer import vowel_restorer
from course_pkg.widgets.rotation import rotation_explorer
from course_pkg.widgets.schedule import rate_schedule
from course_pkg.widgets.tables import Markup, table
from course_pkg.widgets.transformer import transformer_sizes
from course_pkg.widgets.truncation import truncation
from course_pkg.widgets.valley import optimizer_valley
from course_pkg.widgets.widget import Widget, show_whitespace
