def align(weights, threshold):
    def look(numbered):
        t, row = numbered
        weight, place = min((-w, s) for s, w in enumerate(row))
        return (t, place) if -weight >= threshold else None

    return list(filter(None, map(look, enumerate(weights.tolist()))))
