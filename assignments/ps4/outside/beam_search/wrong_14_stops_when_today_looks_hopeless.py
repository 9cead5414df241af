# wrong: stops as soon as no live beginning, scored at its length of today, beats the worst of n_beams complete texts, though a longer text is divided by more; breaks "do not stop ...: a better one may still come" / "until no beginning is live"
# shows: two beams, eos 0, max_length 3, alpha 3; p after () is (0.5, 0.5), after (1,) (0.5, 0.45), after (1, 1) (1, 0): the best text, (1, 1, 0), is never reached
import math


def beam_search(next_log_probs, n_beams, eos_id, max_length, alpha):
    def score(total, n):
        return total / ((5 + n) / 6) ** alpha

    live, done = [(0.0, ())], []
    while live:
        found = []
        for total, ids in live:
            for i, lp in enumerate(next_log_probs(ids).tolist()):
                if lp > -math.inf:
                    found.append((total + lp, (*ids, i)))
        found = sorted(found, key=lambda pair: (-pair[0], pair[1]))[:n_beams]
        live = []
        for total, ids in found:
            if ids[-1] == eos_id or len(ids) == max_length:
                done.append((score(total, len(ids)), ids))
            else:
                live.append((total, ids))
        done = sorted(done, key=lambda pair: (-pair[0], pair[1]))[:n_beams]
        if live and len(done) == n_beams and score(live[0][0], len(live[0][1])) < done[-1][0]:
            break
    return done
