"""Put each set's notebook into work/, and bring those that are there up to date.

    python work.py

Nothing that you wrote is ever written over or deleted. When a newer edition has another notebook,
your answers and cells go over into it, and the notebook as it was stays beside it under its date.
"""

import os
from pathlib import Path

from autograder.authoring import workspace

os.chdir(Path(__file__).resolve().parent)
workspace.main(["problem_sets", workspace.WORK])
