"""A published model in the page, beside the shipped one: the reader opens its file.

Chapter: models that come with the course.
"""

from course_pkg.weights.published import PUBLISHED
from course_pkg.widgets.gpt import gpt_completer
from course_pkg.widgets.widget import Widget

MEGABYTES_BESIDE_THE_FILE = 160
"""What a page takes beyond the size of the file: keys and values of 1,024 tokens, the vocabulary,
and what the bars of 100 tokens are drawn from. Measured by benchmarks/speed/page_published.py."""


def published_completer(
    name: str = "smollm2-135m", *, prompt: str, alt: str, own: str = "gpt-small"
) -> Widget:
    """Let the reader open a published model, which goes on with a text or answers in a chat.

    The model runs in the page, in the file's own blocks of four bits. Its file is fetched from the
    book's own folder, where `make published` puts it, or chosen by the reader from a disk; it is
    checked by its SHA-256. Until then the figure is `gpt_completer` with the shipped model.

    Args:
        name: a key of `PUBLISHED`.
        prompt: the beginning in the resting state.
        own: the GPT that ships, with which the figure begins.

    Raises:
        ValueError: if there is no such model, or the prompt is empty or leaves no room.
    """
    if name not in PUBLISHED:
        raise ValueError(f"name is {name!r}; it must be one of {', '.join(PUBLISHED)}")
    published = PUBLISHED[name]
    figure = gpt_completer(own, prompt=prompt, alt=alt)
    title, licence = published.card.split(": ", 1)[0], published.card.split("## Licence")[1]
    return Widget(
        "lm-published",
        {
            **figure.data,
            "published": {
                "name": name,
                "title": title.lstrip("# "),
                "file": published.file,
                "size": published.size,
                "sha256": published.sha256,
                "megabytes": round(published.size / 1e6),
                "memory": round(published.size / 1e6) + MEGABYTES_BESIDE_THE_FILE,
                "licence": " ".join(licence.replace("`", "").split()).rstrip("."),
            },
        },
        alt,
        figure.header,
        figure.rows,
        models=[own, name],
    )
