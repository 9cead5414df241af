"""Files that appear whole or not at all."""

import pytest

from course_pkg.common.files import replacing, write_atomically


def test_the_old_file_stays_when_the_new_one_is_interrupted(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    write_atomically(path, "1")

    def power_cut(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", power_cut)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "2")
    assert path.read_text() == "1"
    assert [p.name for p in tmp_path.iterdir()] == ["file.json"]


def test_the_new_file_has_its_name_and_every_reader_only_when_it_is_complete(tmp_path):
    path = tmp_path / "new.txt"
    with replacing(path) as scratch:
        scratch.write_text("half")
        assert not path.exists()
    assert path.read_text() == "half"
    assert path.stat().st_mode & 0o777 == 0o644
