"""What figures share that compute with a shipped model: the weights' size, and BERT's frame."""

from course_pkg.models.transformer import count_parameters
from course_pkg.weights.model_folders import TrainedModel


def megabytes(trained: TrainedModel) -> float:
    """Return how much a page fetches: two bytes for each weight."""
    return round(2 * count_parameters(trained.model) / 1e6, 1)


def framed(trained: TrainedModel, ids: list[int]) -> list[int]:
    """Return the ids of one text as a BERT reads them: [CLS], the text, [SEP].

    Raises:
        ValueError: if the text has no token, or more than the context has room for.
    """
    special = trained.tokenizer.special_ids  # type: ignore[attr-defined]
    room = int(trained.model.context_length) - 2  # type: ignore[arg-type]
    if not 0 < len(ids) <= room:
        raise ValueError(f"text has {len(ids)} tokens; it must have 1 to {room}")
    return [special["[CLS]"], *ids, special["[SEP]"]]
