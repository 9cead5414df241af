# wrong: feeds an incremental decoder and never tells it that the text is over, so half a character at the END vanishes; breaks "Bytes that are no UTF-8 become U+FFFD"
# shows: decode([195], vocabulary) is "" in place of "\ufffd"
import codecs


def decode(ids, vocabulary):
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = ""
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(f"{i} is no id")
        if isinstance(vocabulary[i], bytes):
            text += decoder.decode(vocabulary[i])
    return text
