"""Cut text into tokens and number them: words, characters, bytes, and learned pieces.

Words are few per text and many in kind; characters and bytes are the reverse; byte-pair encoding
and WordPiece lie between and are learned from a corpus. All of them turn a text into a list of ids
and back, so that a model never sees a string and an evaluation in bits per byte can compare them.
Chapter: tokenization.
"""

import json
from pathlib import Path
from typing import Any

from course_pkg.common.files import path_of
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer, FastBytePairTokenizer
from course_pkg.text.tokenizers.vocabulary import EOS, UNK, Tokenizer
from course_pkg.text.tokenizers.word_piece import WordPieceTokenizer
from course_pkg.text.tokenizers.words_characters_bytes import (
    WHITESPACE_PATTERN,
    WORD_PATTERN,
    ByteTokenizer,
    CharTokenizer,
    WordTokenizer,
)

_KINDS: dict[str, Any] = {
    "word": WordTokenizer,
    "char": CharTokenizer,
    "byte": ByteTokenizer,
    "byte pair": BytePairTokenizer,
    "word piece": WordPieceTokenizer,
}


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Load a saved tokenizer of whatever kind.

    Raises:
        ValueError: the file does not hold a tokenizer of the course.
    """
    if path_of(path).is_dir():
        raise ValueError(f"{path} is a folder; name a file, such as a model's tokenizer.json in it")
    try:
        kind = json.loads(path_of(path).read_text(encoding="utf-8"))["kind"]
    except KeyError:
        raise ValueError(
            f"{path} does not hold a saved tokenizer: it has no 'kind', as those of other packages "
            "have none; BytePairTokenizer.from_gpt2_files and "
            "WordPieceTokenizer.from_vocabulary_file read some of them"
        ) from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} does not hold a saved tokenizer: {error}") from error
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"{path} holds a tokenizer of unknown kind {kind!r}")
    tokenizer: Tokenizer = _KINDS[kind].load(path)
    return tokenizer
