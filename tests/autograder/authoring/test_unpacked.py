"""What a student reads where the zip file of a newer edition is not what it should be."""

import io
import random
import re
import zipfile

import pytest

from autograder.authoring.unpacked import lists, unpack
from autograder.records import GraderError

# The byte that says so, in the list of contents and before each member.
_ENCRYPTED = re.compile(rb"(PK\x01\x02.{4}|PK\x03\x04..).", re.DOTALL)


def edition(text: bytes) -> bytes:
    """Return the zip file of an edition that has one file."""
    files = {"README.md": text}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, **lists(files)}.items():
            archive.writestr(f"course/{name}", data)
    return packed.getvalue()


def test_missing_file_is_named_and_nobody_is_told_to_try_again(tmp_path):
    with pytest.raises(GraderError, match=r"there is no file .*newer\.zip; name the zip file"):
        unpack(tmp_path / "newer.zip", tmp_path / "course")


@pytest.mark.parametrize("damage", ["no zip", "cut", "flipped", "marked as encrypted"])
def test_damaged_file_is_to_be_downloaded_again_and_a_whole_one_comes_in(tmp_path, damage):
    text = random.Random(0).randbytes(3_000).hex().encode()
    whole = edition(text)
    broken = {
        "no zip": b"<html>Log in</html>",
        "cut": whole[: len(whole) // 2],
        "flipped": whole[:300] + bytes(byte ^ 0xFF for byte in whole[300:400]) + whole[400:],
        "marked as encrypted": _ENCRYPTED.sub(lambda match: match[1] + b"\1", whole),
    }
    archive, folder = tmp_path / "newer.zip", tmp_path / "course"
    folder.mkdir()
    archive.write_bytes(broken[damage])
    with pytest.raises(GraderError, match=r"is damaged, or no zip file: .*; download it again"):
        unpack(archive, folder)
    assert not (folder / "README.md").exists()
    archive.write_bytes(whole)
    assert unpack(archive, folder) == [] and (folder / "README.md").read_bytes() == text
