# wrong: joins all texts and encodes once: tokens may cross the border, and a stateful or counting tokenizer sees one text.
# shows: ["ab", "cd"] with a tokenizer that cuts at spaces: 2 tokens, here 1.

def bytes_per_token(tokenizer, texts):
    text = "".join(texts)
    n = len(tokenizer.encode(text))
    if n == 0:
        raise ValueError("no tokens")
    return len(text.encode()) / n
