import io


def decode(ids, vocabulary):
    out = io.BytesIO()
    for i in ids:
        match (vocabulary[i] if 0 <= i < len(vocabulary) else None):
            case bytes():
                out.write(vocabulary[i])
            case str():
                pass
            case _:
                raise ValueError(f"no token has the id {i}")
    return out.getvalue().decode("utf-8", "replace")
