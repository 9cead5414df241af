"""Where an adopter's book, its source and its notebooks are on the web: `assignments/course.toml`.

Everything that leads there follows from this one file: canonical links, the repository's buttons,
"Open in Colab" and "Open in JupyterHub", the addresses in the PDF and the EPUB. What is not stated
leaves no trace in the book.
"""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from sphinx.application import Sphinx
from sphinx.config import Config

from .assets import ROOT

SETTINGS = ROOT / "assignments" / "course.toml"
GITHUB = "https://github.com/"
PROVIDERS = ("github", "gitlab", "bitbucket")
UNKNOWN_REPOSITORY = "<the repository>"
"""What a page writes where an adopter's repository belongs."""


@dataclass(frozen=True)
class WebSettings:
    """What `course.toml` states under [book]; each is empty if it is not stated.

    Attributes:
        address: of the built book, ending in a slash.
        repository: of its source, without a slash at the end.
        notebooks_branch: branch of the repository that holds the built book, and so its notebooks.
        jupyterhub: a JupyterHub with nbgitpuller, without a slash at the end.
    """

    address: str = ""
    repository: str = ""
    notebooks_branch: str = ""
    jupyterhub: str = ""

    def __post_init__(self) -> None:
        """Refuse what would become a broken link."""
        for name in ("address", "repository", "jupyterhub"):
            value = getattr(self, name)
            parts = urlsplit(value)
            if value and not (parts.scheme in ("http", "https") and parts.netloc):
                raise ValueError(
                    f"book.{name} is {value!r}; it must begin with https://, or be empty"
                )
        if (self.notebooks_branch or self.jupyterhub) and not self.repository:
            raise ValueError(
                "book.repository is empty; book.notebooks_branch and book.jupyterhub need it"
            )
        if self.jupyterhub and not self.notebooks_branch:
            raise ValueError("book.notebooks_branch is empty; book.jupyterhub needs it")

    def notebook_links(self, name: str, folder: str = "notebooks") -> dict[str, str]:
        """Return the label and the address of each service that opens a notebook of the book.

        Args:
            name: of the notebook, without its ending.
            folder: where it lies in the built book.
        """
        links = {}
        place = f"{folder}/{name}.ipynb"
        if self.notebooks_branch and self.repository.startswith(GITHUB):
            path = f"{self.repository.removeprefix(GITHUB)}/blob/{quote(self.notebooks_branch)}"
            links["Open in Colab"] = f"https://colab.research.google.com/github/{path}/{place}"
        if self.jupyterhub:
            clone = self.repository.rpartition("/")[2].removesuffix(".git")
            query = {
                "repo": self.repository,
                "branch": self.notebooks_branch,
                "urlpath": f"lab/tree/{clone}/{place}",
            }
            pull = f"{self.jupyterhub}/hub/user-redirect/git-pull?{urlencode(query)}"
            links["Open in JupyterHub"] = pull
        return links


def read_settings(settings: Path = SETTINGS) -> WebSettings:
    """Read what the course states about the book.

    Raises:
        ValueError: a key is not known, or a value is no address; the message names both.
    """
    text = settings.read_text(encoding="utf-8") if settings.is_file() else ""
    table = tomllib.loads(text).get("book", {})
    known = [field.name for field in fields(WebSettings)]
    for name, value in table.items():
        if name not in known:
            raise ValueError(f"{settings}: book.{name} is not known; known: {', '.join(known)}")
        if not isinstance(value, str):
            raise ValueError(f"{settings}: book.{name} is {value!r}; it must be a text")
    stripped = {name: str(value).strip().rstrip("/") for name, value in table.items()}
    if stripped.get("address"):
        stripped["address"] += "/"
    try:
        return WebSettings(**stripped)
    except ValueError as error:
        raise ValueError(f"{settings}: {error}") from None


def apply_settings(app: Sphinx, config: Config) -> None:
    """Tell Sphinx and the theme where the book and its source are."""
    web = WebSettings(**config.coursebook_web)
    if web.address:
        config["html_baseurl"] = web.address
        prefix = urlsplit(web.address).path
        config["notfound_urls_prefix"] = prefix
        # The page is shown at any address that does not exist, so its links begin at the root.
        page = config["notfound_context"]
        home = page["body"].replace('href="/index.html"', f'href="{prefix}index.html"')
        config["notfound_context"] = page | {"body": home}
    if any(provider in web.repository for provider in PROVIDERS):
        config["html_theme_options"] |= {
            "repository_url": web.repository,
            "use_repository_button": True,
            "use_issues_button": "bitbucket" not in web.repository,
        }


def name_repository(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write the repository's address where a page speaks of it."""
    repository = app.config.coursebook_web["repository"]
    if repository:
        source[0] = source[0].replace(UNKNOWN_REPOSITORY, repository)


def setup(app: Sphinx) -> None:
    """Read the settings as one value of the configuration, so that a change builds anew."""
    web = read_settings()
    app.add_config_value("coursebook_web", vars(web), "env")
    app.connect("config-inited", apply_settings)
    app.connect("source-read", name_repository)
