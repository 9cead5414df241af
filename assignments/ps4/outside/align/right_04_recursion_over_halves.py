import torch


def align(weights: torch.Tensor, threshold: float) -> list[tuple[int, int]]:
    def of(rows, start):
        if not rows:
            return []
        if len(rows) == 1:
            top = max(rows[0])
            return [(start, rows[0].index(top))] if top >= threshold else []
        middle = len(rows) // 2
        return of(rows[:middle], start) + of(rows[middle:], start + middle)

    return of(weights.tolist(), 0)
