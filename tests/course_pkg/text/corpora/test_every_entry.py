"""What holds for every corpus and every labelled data set that the catalogues know."""

import pytest

from course_pkg.text.corpora import catalogue, load_corpus, load_task
from course_pkg.text.corpora.labelled_data import TASKS
from course_pkg.text.corpora.running_text import CORPORA
from course_pkg.text.corpora.sources import SourceUnavailableError

ENTRIES = [
    pytest.param(name, entry, load, id=name)
    for table, load in ((CORPORA, load_corpus), (TASKS, load_task))
    for name, entry in table.entries.items()
]


@pytest.mark.parametrize(("name", "entry", "load"), ENTRIES)
class TestEveryEntry:
    def test_entry_states_its_terms_and_where_it_comes_from(self, name, entry, load):
        assert entry.licence and entry.size and entry.description
        assert entry.loaders and set(entry.loaders) <= set(catalogue.SOURCES)
        assert set(entry.origin) >= set(entry.loaders)

    def test_a_source_that_it_does_not_come_from_is_refused_by_name(self, name, entry, load):
        for source in set(catalogue.SOURCES) - set(entry.loaders):
            with pytest.raises(ValueError, match=f"source is '{source}', but '{name}' comes from"):
                load(name, source=source)

    def test_a_folder_without_its_files_is_told_which_are_missing(
        self, name, entry, load, tmp_path
    ):
        if "local" in entry.loaders:
            with pytest.raises(SourceUnavailableError, match=rf"'{name}' is not available.*\w\.\w"):
                load(name, source="local", folder=tmp_path)
