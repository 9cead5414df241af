from dataclasses import dataclass


@dataclass(frozen=True)
class Beam:
    total: float = 0.0
    ids: tuple = ()

    def grow(self, log_probs):
        for i, lp in enumerate(log_probs):
            if lp != float("-inf"):
                yield Beam(self.total + lp, (*self.ids, i))

    def score(self, alpha):
        return self.total / ((5 + len(self.ids)) / 6) ** alpha


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    live, done = [Beam()], []
    while live:
        grown = [g for beam in live for g in beam.grow(next_log_probs(beam.ids).detach().tolist())]
        grown.sort(key=lambda b: (-b.total, b.ids))
        kept = grown[:n_beams]
        done.extend(b for b in kept if b.ids[-1] == eos_id or len(b.ids) >= max_length)
        live = [b for b in kept if b.ids[-1] != eos_id and len(b.ids) < max_length]
    result = [(float(b.score(alpha)), b.ids) for b in done]
    result.sort(key=lambda r: (-r[0], r[1]))
    return result[:n_beams]
