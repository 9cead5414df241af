# needs: encode_word

import re


def encode(text, vocabulary, merges, pattern):
    ids = []
    for match in re.finditer(pattern, text):
        ids.extend(encode_word(match.group().encode("utf-8"), vocabulary, merges))
    return ids
