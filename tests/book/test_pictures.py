"""The pictures that README opens with."""

import re
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
MOST_BYTES = 400_000


def test_readme_opens_with_three_pictures_that_are_small_and_described():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    opening = readme[: readme.index("\n## ")]
    shown = re.findall(r'<img src="(book/pictures/[\w-]+\.webp)"[^>]* alt="([^"]+)"', opening)
    assert [Path(path).stem for path, _ in shown] == ["chapter", "feedback", "class"]
    assert all(len(alt) > 40 for _, alt in shown)
    files = [ROOT / path for path, _ in shown]
    assert sum(file.stat().st_size for file in files) < MOST_BYTES
    assert set(files) == set((ROOT / "book" / "pictures").iterdir()), "a picture that nobody sees"
    for file in files:
        with Image.open(file) as picture:
            assert picture.width >= 1000, "text in it must be legible"
            darkest, lightest = picture.convert("L").getextrema()
            assert lightest - darkest > 150, "it shows an empty page"
