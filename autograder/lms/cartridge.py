"""A course as Common Cartridge: weeks with links to the book, syllabus, assignments with dates.

Canvas and others read version 1.3. Its assignments have points and, in the extension that Canvas
writes itself, dates. Moodle reads up to version 1.1, which has no assignments: there each is a
page that says when the set is due. (Common Cartridge 1.3, 1EdTech 2014, with its assignment
resource 1.0; 1.1, 2011.)
"""

import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal
from xml.etree import ElementTree as ET

from autograder.authoring.syllabus import Row, Syllabus
from autograder.reports.documents import fragment, page
from autograder.reports.syllabus_page import syllabus_markdown

Version = Literal["1.3", "1.1"]

_ASSIGNMENT = "http://www.imsglobal.org/xsd/imscc_extensions/assignment"
_CANVAS = "http://canvas.instructure.com/xsd/cccv1p0"
_EXTENSION = "http://www.imsglobal.org/xsd/imsccv1p3/imscp_extensionv1p2"
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # of all files: equal courses make equal archives


@dataclass(frozen=True)
class HandedOut:
    """A problem set, as students and graders read of it.

    Attributes:
        text: what students read, as Markdown.
        rubric: what only graders read, as Markdown; empty if there is none.
        released: not shown before, where the platform can do that.
    """

    name: str
    title: str
    points: float
    text: str
    rubric: str = ""
    released: datetime | None = None
    due: datetime | None = None


def cartridge(syllabus: Syllabus, sets: Sequence[HandedOut], version: Version) -> bytes:
    """Return a course as an archive that a learning platform imports.

    Identifiers come from names, so that a set has the same one in each archive: platforms tell by
    it what they have imported before.

    Args:
        sets: those that the calendar hands out; others are left out.
    """
    writer = _Writer(version.replace(".", "p"))
    title = syllabus.words.get("title", "Syllabus")
    opening = [writer.page("syllabus", "Syllabus", syllabus_markdown(syllabus), "syllabus")]
    opening += [writer.link("book", "The book", syllabus.book)] if syllabus.book else []
    modules = [_module("start", "Start here", opening)]
    by_name = {one.name: one for one in sets}
    for number, row in enumerate(syllabus.rows, 1):
        items = []
        for chapter, name, heading in row.chapters if syllabus.book else ():
            address = f"{syllabus.book}chapters/{name}.html"
            items.append(writer.link(f"chapter-{name}", f"{chapter}. {heading}", address))
        items += [writer.assignment(by_name[name]) for name in handed_out(row) if name in by_name]
        if items:
            when = f"{row.when} ({row.day:%a %d %b %Y})" if row.day else row.when
            modules.append(_module(f"row-{number}", when, items))
    return writer.archive(title, modules)


def handed_out(row: Row) -> Iterator[str]:
    """Names of the sets that a row of the calendar hands out."""
    for event in row.events:
        words = event.split()
        if words[1:2] == ["out"]:
            yield words[0]


def _module(name: str, title: str, items: Sequence[ET.Element]) -> ET.Element:
    module = ET.Element("item", identifier=f"module-{name}")
    _text(module, "title", title)
    module.extend(items)
    return module


@dataclass
class _Writer:
    """Collects files and the manifest's list of them; `p` is the version as namespaces have it."""

    p: str
    files: dict[str, str] = field(default_factory=dict)
    resources: ET.Element = field(default_factory=lambda: ET.Element("resources"))

    def link(self, name: str, title: str, address: str) -> ET.Element:
        xmlns = f"http://www.imsglobal.org/xsd/imsccv{self.p}/imswl_v{self.p}"
        root = ET.Element("webLink", xmlns=xmlns)
        _text(root, "title", title)
        ET.SubElement(root, "url", href=address, target="_blank")
        self._resource(name, f"imswl_xmlv{self.p}", f"links/{name}.xml", _xml(root))
        return _item(name, title)

    def page(self, name: str, title: str, markdown: str, use: str = "") -> ET.Element:
        path = f"pages/{name}.html"
        resource = self._resource(name, "webcontent", path, page(title, markdown))
        resource.attrib |= {"href": path} | ({"intendeduse": use} if use else {})
        return _item(name, title)

    def assignment(self, one: HandedOut) -> ET.Element:
        if self.p == "1p1":
            return self.page(one.name, one.title, f"# {one.title}\n\n{one.text}")
        # A platform that knows no assignments takes the page; the others what it is a variant of.
        item = self.page(one.name, one.title, f"# {one.title}\n\n{one.text}", "assignment")
        preferred, path = f"{one.name}-assignment", f"assignments/{one.name}.xml"
        better = {"identifier": f"{one.name}-variant", "identifierref": preferred}
        ET.SubElement(ET.SubElement(self.resources[-1], "cpx:variant", better), "cpx:metadata")
        resource = self._resource(preferred, "assignment_xmlv1p0", path, _xml(_assignment(one)))
        resource.set("href", path)
        return item

    def archive(self, title: str, modules: Sequence[ET.Element]) -> bytes:
        manifest = ET.Element("manifest", self._namespaces(), identifier="course")
        metadata = ET.SubElement(manifest, "metadata")
        _text(metadata, "schema", "IMS Common Cartridge")
        _text(metadata, "schemaversion", f"{self.p.replace('p', '.')}.0")
        general = ET.SubElement(ET.SubElement(metadata, "lomimscc:lom"), "lomimscc:general")
        _text(ET.SubElement(general, "lomimscc:title"), "lomimscc:string", title)
        organizations = ET.SubElement(manifest, "organizations")
        shape = {"identifier": "organization", "structure": "rooted-hierarchy"}
        organization = ET.SubElement(organizations, "organization", shape)
        ET.SubElement(organization, "item", identifier="root").extend(modules)
        manifest.append(self.resources)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, text in {"imsmanifest.xml": _xml(manifest), **self.files}.items():
                info = zipfile.ZipInfo(path, _BEGINNING)
                archive.writestr(info, text, zipfile.ZIP_DEFLATED)
        return stream.getvalue()

    def _namespaces(self) -> dict[str, str]:
        # Moodle looks for the first of these in the first 500 characters, and nowhere else.
        namespaces = {"xmlns": f"http://www.imsglobal.org/xsd/imsccv{self.p}/imscp_v1p1"}
        namespaces["xmlns:lomimscc"] = f"http://ltsc.ieee.org/xsd/imsccv{self.p}/LOM/manifest"
        return namespaces | ({"xmlns:cpx": _EXTENSION} if self.p == "1p3" else {})

    def _resource(self, name: str, kind: str, path: str, text: str) -> ET.Element:
        self.files[path] = text
        resource = ET.SubElement(self.resources, "resource", identifier=name, type=kind)
        ET.SubElement(resource, "file", href=path)
        return resource


def _item(name: str, title: str) -> ET.Element:
    item = ET.Element("item", identifier=f"item-{name}", identifierref=name)
    _text(item, "title", title)
    return item


def _assignment(one: HandedOut) -> ET.Element:
    root = ET.Element("assignment", xmlns=_ASSIGNMENT, identifier=f"assignment-{one.name}")
    _text(root, "title", one.title)
    _text(root, "text", fragment(one.text), texttype="text/html")
    if one.rubric:
        _text(root, "instructor_text", fragment(one.rubric), texttype="text/html")
    _text(root, "gradable", "true", points_possible=f"{one.points:g}")
    ET.SubElement(ET.SubElement(root, "submission_formats"), "format", type="file")
    extensions = ET.SubElement(root, "extensions", platform="canvas.instructure.com")
    canvas = ET.SubElement(extensions, "assignment", xmlns=_CANVAS, identifier=f"canvas-{one.name}")
    values = {"title": one.title, "due_at": _utc(one.due), "unlock_at": _utc(one.released)}
    values |= {"workflow_state": "unpublished", "points_possible": f"{one.points:g}"}
    values |= {"grading_type": "points", "submission_types": "online_upload"}
    for tag, value in (values | {"allowed_extensions": "ipynb"}).items():
        if value:
            _text(canvas, tag, value)
    return root


def _utc(moment: datetime | None) -> str:
    """Return a moment as Canvas exports one: in UTC, whatever the course's zone."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}" if moment else ""


def _text(parent: ET.Element, tag: str, text: str, **attributes: str) -> None:
    ET.SubElement(parent, tag, attributes).text = text


def _xml(root: ET.Element) -> str:
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
