"""Zip files that were made to hurt: each member is read, or refused with a reason."""

import io
import os
import shutil
import struct
import warnings
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.intake import archives
from autograder.intake.archives import contents
from autograder.intake.collection import collect, read_notebook
from autograder.intake.layouts import Layout
from autograder.records import GraderError, SubmissionRefused

NOTEBOOK = b'{"cells": []}'
CANVAS = "lovelaceada_12345_67890_ps1.ipynb"


@pytest.fixture
def pack(tmp_path):
    """Write a zip file of (name or ZipInfo, bytes) pairs and return its path."""

    def write(*members, name="downloads.zip", method=zipfile.ZIP_DEFLATED):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", method) as archive:
            for member, data in members:
                archive.writestr(member, data)
        return path

    return write


def _patched(path, old, new, n_times=None):
    """Change bytes of a finished archive, as its maker would have lied."""
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new) if n_times is None else data.replace(old, new, n_times))
    return path


def _outcomes(path, layout=None):
    """What becomes of every student: the notebook's bytes, or the reason."""
    found = {}
    for one in collect(path, "ps1", layout):
        assert one.student not in found
        try:
            found[one.student] = read_notebook(one)
        except SubmissionRefused as refusal:
            found[one.student] = str(refusal)
    return found


def test_zip_member_is_read_as_it_was_written(pack):
    (found,) = contents(pack((CANVAS, NOTEBOOK)))
    assert (found.parts, found.refusal, found.is_folder) == ((CANVAS,), "", False)
    assert found.read(100) == NOTEBOOK
    assert found.path.name == CANVAS


@pytest.mark.parametrize(
    "name",
    [
        "../lovelaceada_12345_67890_ps1.ipynb",
        "../../../../tmp/lovelaceada_12345_67890_ps1.ipynb",
        "/lovelaceada_12345_67890_ps1.ipynb",
        "\\lovelaceada_12345_67890_ps1.ipynb",
        "..\\lovelaceada_12345_67890_ps1.ipynb",
        "C:lovelaceada_12345_67890_ps1.ipynb",
    ],
)
def test_zip_rejects_a_path_that_leads_out(pack, tmp_path, name):
    before = sorted(tmp_path.rglob("*"))
    path = pack((name, NOTEBOOK), ("turingalan_77_88_ps1.ipynb", NOTEBOOK))
    found = _outcomes(path)
    assert len(found) == 2 and found.pop("turingalan_77") == NOTEBOOK
    (reason,) = found.values()
    assert "leads out of the zip file" in reason
    assert sorted(tmp_path.rglob("*")) == sorted([*before, path])  # nothing was unpacked


def _link(name, mode):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize(
    ("mode", "reason"),
    [(0o120777, "symbolic link"), (0o010644, "not a plain file"), (0o020644, "not a plain file")],
)
def test_zip_rejects_what_is_no_plain_file(pack, mode, reason):
    assert reason in _outcomes(pack((_link(CANVAS, mode), b"/etc/passwd")))["lovelaceada_12345"]


def test_folder_that_becomes_a_link_after_it_was_listed_leads_nowhere(tmp_path):
    """As a student could swap it who owns a folder in a shared place."""
    secret, folder = tmp_path / "solution", tmp_path / "submitted"
    for place, text in ((secret, "SECRET"), (folder / "eve", "{}"), (folder / "eve/ps1", "{}")):
        place.mkdir(parents=True)
        (place / "ps1.ipynb").write_text(text)
    listed = {found.parts: found for found in contents(folder)}
    own = listed["eve", "ps1.ipynb"]
    assert own.read(100) == b"{}"
    shutil.move(folder / "eve", tmp_path / "moved")
    (folder / "eve").symlink_to(secret)
    with pytest.raises(GraderError, match="a symbolic link, which is not followed"):
        own.read(100)
    shutil.move(tmp_path / "moved", folder / "bo")
    (folder / "bo" / "ps1" / "ps1.ipynb").unlink()
    (folder / "bo" / "ps1").rmdir()
    (folder / "bo" / "ps1").symlink_to(secret)
    assert not any(
        b"SECRET" in found.read(100)
        for found in contents(folder)
        if not found.refusal and not found.is_folder
    )


def test_zip_rejects_both_of_two_files_of_one_name(pack):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = pack((CANVAS, NOTEBOOK), (CANVAS, b"{}"), ("turingalan_77_88_ps1.ipynb", NOTEBOOK))
    found = _outcomes(path)
    assert found["turingalan_77"] == NOTEBOOK
    assert found["lovelaceada_12345"] == f"the zip file holds 2 files named {CANVAS}"


def test_zip_rejects_an_encrypted_member(pack):
    path = pack((CANVAS, NOTEBOOK), ("turingalan_77_88_ps1.ipynb", NOTEBOOK))
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(signature) + offset
        data[place] |= 1
    path.write_bytes(data)
    found = _outcomes(path)
    assert found["turingalan_77"] == NOTEBOOK
    assert found["lovelaceada_12345"] == f"{CANVAS} is encrypted"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_rejects_methods_whose_memory_the_archive_chooses(pack, method):
    found = _outcomes(pack((CANVAS, NOTEBOOK), method=method))
    assert "a method other than stored or deflated" in found["lovelaceada_12345"]


def test_zip_rejects_a_bomb_without_unpacking_it(pack, monkeypatch):
    path = pack((CANVAS, bytes(50 << 20)), ("turingalan_77_88_ps1.ipynb", NOTEBOOK))
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(zlib, "decompressobj", lambda *_: pytest.fail("it was unpacked"))
    collected = {one.student: one for one in collect(path, "ps1")}
    with pytest.raises(SubmissionRefused, match="swells to 52428800 bytes from"):
        read_notebook(collected["lovelaceada_12345"])


def test_zip_reads_what_honest_plots_and_logs_compress_to(pack):
    log = b'{"text": "step 100 loss 2.301"},\n' * 40_000  # 1.3 MB, repeats itself
    assert _outcomes(pack((CANVAS, log)))["lovelaceada_12345"] == log


def test_zip_rejects_a_member_larger_than_a_notebook(pack, monkeypatch):
    monkeypatch.setattr("autograder.intake.collection.MAX_NOTEBOOK_BYTES", 100)
    found = _outcomes(pack((CANVAS, os.urandom(101))))
    assert "has 101 bytes; at most 100 are read" in found["lovelaceada_12345"]


def test_zip_bounds_what_all_members_together_may_cost(pack, monkeypatch):
    monkeypatch.setattr(archives, "MAX_TOTAL_BYTES", 2 * len(NOTEBOOK))
    names = [f"s{number}_{number}_{number}9_ps1.ipynb" for number in (11, 22, 33)]
    found = list(_outcomes(pack(*((name, NOTEBOOK) for name in names))).values())
    assert found[:2] == [NOTEBOOK, NOTEBOOK]
    assert "is not read: of one zip file at most" in found[2]


def test_zip_member_that_lies_about_its_size_is_damaged(pack):
    """The list of contents promises 13 bytes, of which it has a thousand."""
    path = pack((CANVAS, bytes(1000)), method=zipfile.ZIP_STORED)
    _patched(path, struct.pack("<II", 1000, 1000), struct.pack("<II", 1000, 13))
    assert "is damaged in the zip file" in _outcomes(path)["lovelaceada_12345"]


def test_zip_rejects_an_endless_list_of_contents(pack, monkeypatch):
    monkeypatch.setattr(archives, "_MAX_DIRECTORY_BYTES", 10_000)
    names = [f"student{number}_{number}_1_ps1.ipynb" for number in range(200)]
    with pytest.raises(GraderError, match="list of contents exceeds 10000 bytes"):
        contents(pack(*((name, b"") for name in names)))


@pytest.mark.parametrize("text", ["müller", "李雷", "Łukasz"])
def test_zip_name_in_utf8_without_the_mark_is_read(pack, text):
    name = f"{text}_12345_67890_ps1.ipynb"
    path = pack((name.encode().decode("latin-1"), NOTEBOOK))
    # Python marks names that are not ASCII; Canvas does not, and writes UTF-8 all the same.
    raw = name.encode().decode("latin-1").encode()
    data = path.read_bytes().replace(raw, name.encode().ljust(len(raw), b"_"))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(signature) + offset
        data = data[:place] + struct.pack("<H", 0) + data[place + 2 :]
    path.write_bytes(data)
    (student,) = _outcomes(path)
    assert student.startswith(text)


def test_zip_name_that_is_no_utf8_is_still_a_student(pack):
    path = pack(("jXrg_12345_67890_ps1.ipynb", NOTEBOOK))
    assert list(_outcomes(_patched(path, b"jXrg", b"j\xf6rg"))) == ["j÷rg_12345"]


def test_zip_whose_marked_name_is_no_utf8_is_refused_in_words(pack):
    path = pack(("jör_12345_67890_ps1.ipynb", NOTEBOOK))
    _patched(path, "jör".encode(), b"j\xff\xffr")
    with pytest.raises(GraderError, match=r"downloads\.zip is neither a folder nor a readable zip"):
        contents(path)


def test_zip_rejects_a_name_with_a_zero_byte(pack):
    path = pack(("lovelaceada_12345_67890_ps1.ipynbX.exe", NOTEBOOK))
    (found,) = contents(_patched(path, b"ipynbX.exe", b"ipynb\0.exe"))
    with pytest.raises(GraderError, match="a zero byte"):
        found.read(100)


def test_zip_name_of_a_zero_byte_alone_is_survived(pack):
    path = pack(("ada.ipynb", NOTEBOOK), ("X", NOTEBOOK))
    assert _outcomes(_patched(path, b"X", b"\0")) == {"ada": NOTEBOOK}


def test_nested_archive_is_not_opened_and_its_student_is_told(pack):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("ps1.ipynb", NOTEBOOK)
    path = pack(
        ("lovelaceada_12345_67890_homework.zip", inner.getvalue()),
        ("turingalan_77_88_ps1.ipynb", NOTEBOOK),
    )
    found = _outcomes(path)
    assert found["turingalan_77"] == NOTEBOOK
    assert "an archive was handed in, which is not opened" in found["lovelaceada_12345"]
    assert "homework.zip" in found["lovelaceada_12345"]


@pytest.mark.parametrize("name", [".ada/ps1.ipynb", ".ada/ps1/ps1.ipynb", ".ada.ipynb"])
def test_student_whose_name_begins_with_a_dot_is_refused_by_name(pack, tmp_path, name):
    others = ["bo/ps1/ps1.ipynb", "cy/ps1/ps1.ipynb"]
    for other in (name, *others):
        path = tmp_path / "class" / other
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(NOTEBOOK)
    for place in (tmp_path / "class", pack(*((other, NOTEBOOK) for other in (name, *others)))):
        outcomes = _outcomes(place)
        (ada,) = outcomes.keys() - {"bo", "cy"}
        assert ada.startswith(".ada")
        assert "begins with a dot; rename it" in outcomes[ada]


def test_hidden_members_are_nobody(pack):
    path = pack(
        ("ada.ipynb", NOTEBOOK),
        ("__MACOSX/._ada.ipynb", b"resources"),
        (".DS_Store", b""),
        ("bo/.ipynb_checkpoints/ps1-checkpoint.ipynb", NOTEBOOK),
        ("bo/ps1.ipynb", NOTEBOOK),
    )
    assert set(_outcomes(path)) == {"ada", "bo"}


@pytest.mark.parametrize("data", [b"", b"PK", b"no zip file at all", b"PK\x05\x06" + bytes(18)])
def test_file_that_is_no_zip_or_empty_is_one_clear_error(tmp_path, data):
    path = tmp_path / "class.zip"
    path.write_bytes(data)
    with pytest.raises(GraderError, match=r"class\.zip"):
        collect(path, "ps1")


def test_folder_with_too_many_entries_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_MAX_ENTRIES", 5)
    for number in range(6):
        (tmp_path / f"s{number}.ipynb").touch()
    with pytest.raises(GraderError, match="more than 5 files"):
        contents(tmp_path)


@pytest.mark.parametrize("wrapper", ["", "submitted", "inbound"])
@pytest.mark.parametrize("place", ["bob", "bob/deep"])
def test_student_who_fills_the_folder_is_one_student_with_a_reason(
    tmp_path, monkeypatch, wrapper, place
):
    monkeypatch.setattr(archives, "_MAX_ENTRIES_OF_ONE", 5)
    for student in ("ada", "bob", *(f"other{n}" for n in range(6))):
        (tmp_path / wrapper / student).mkdir(parents=True)
        (tmp_path / wrapper / student / "ps1.ipynb").write_bytes(NOTEBOOK)
    (tmp_path / wrapper / place).mkdir(parents=True, exist_ok=True)
    for number in range(9):
        (tmp_path / wrapper / place / f"{number}").touch()
    (bob,) = [found for found in contents(tmp_path) if found.refusal]
    assert (bob.name, bob.is_folder) == ("bob", True)
    assert bob.refusal == "bob holds more than 5 files and folders; hand in the notebook alone"
    delivered = collect(tmp_path, "ps1")
    assert len(delivered.submissions) == 8
    assert all(found.path for found in delivered if found.student != "bob")


def test_folder_that_cannot_be_listed_is_a_student_with_a_reason(tmp_path, monkeypatch):
    (tmp_path / "ada").mkdir()
    (tmp_path / "bo.ipynb").write_bytes(NOTEBOOK)
    real_open = os.open

    def denied(path, flags, mode=0o777, *, dir_fd=None):
        if path == refused:
            raise PermissionError(13, "Permission denied")
        return real_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", denied)
    refused = "ada"
    assert _outcomes(tmp_path) == {
        "ada": "ada cannot be listed: Permission denied",
        "bo": NOTEBOOK,
    }
    refused = tmp_path
    with pytest.raises(GraderError, match="cannot be listed: Permission denied"):
        contents(tmp_path)


_hostile_names = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=30),
        st.text(alphabet="a1_+/\\.: \0", min_size=1, max_size=12),
        st.sampled_from(
            [
                "../x_1_2_a.ipynb",
                "/etc/passwd",
                "a_1_2_b.ipynb",
                "a_LATE_1_3_b.ipynb",
                "A B_9_assignsubmission_file_/x.ipynb",
                "ada+ps1+2026-02-03 16:00:00 UTC/ps1.ipynb",
                "ada+ps1+2026-99-99 16:00:00 UTC/ps1.ipynb",
                "ada/ps1/ps1.ipynb",
                "ada.ipynb",
                "..",
                "./.",
                "con.ipynb",
                "a" * 300 + ".ipynb",
                "x/" * 40 + "y.ipynb",
            ]
        ),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60)
@given(names=_hostile_names, layout=st.sampled_from([None, *Layout]))
def test_any_names_give_each_student_one_outcome(tmp_path_factory, names, layout):
    path = tmp_path_factory.mktemp("zip") / "class.zip"
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), NOTEBOOK)
    try:
        found = _outcomes(path, layout)
    except GraderError as error:
        assert str(error)
        return
    for student, outcome in found.items():
        assert outcome  # bytes, or a reason in words
        assert student not in ("", ".", "..") and "/" not in student and "\0" not in student
        assert len(student.encode()) <= 255


@settings(max_examples=150)
@given(data=st.data())
def test_any_damage_to_an_archive_is_survived(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("zip") / "class.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(CANVAS, NOTEBOOK * 20)
        archive.writestr("turingalan_77_88_ps1.ipynb", NOTEBOOK)
    damaged = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged[: data.draw(st.integers(1, len(damaged)))])
    try:
        found = _outcomes(path)
    except GraderError as error:
        assert "class.zip" in str(error)
    else:
        assert all(found.values())
