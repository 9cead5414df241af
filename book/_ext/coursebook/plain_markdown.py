"""Reduce MyST to the Markdown that every notebook viewer shows.

Directives lose their fences and keep their words; roles keep their text; labels vanish.
"""

import re
from collections.abc import Iterator
from urllib.parse import urljoin

import yaml

FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,}|~{3,})\{(?P<name>[^}]+)\}[ \t]*(?P<title>.*)$")
OPTION = re.compile(r"^:[\w-]+:")
ROLE = re.compile(r"\{(?P<name>[\w:.-]+)\}`(?P<body>[^`]+)`")
TARGET = re.compile(r"^(?P<text>.*?)\s*<(?P<target>[^<>]+)>$", re.DOTALL)
LOCAL_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>(?!https?:)[^)\s]+)\)")
LABEL_OR_COMMENT = re.compile(r"^(\([\w:.-]+\)=|%.*|\+\+\+.*)$")
DROPPED = {"bibliography", "toctree", "contents", "tableofcontents", "solution-end", "exercise-end"}
BARE = {"eval-rst", "div", "glossary", "list-table", "table", "grid", "grid-item", "tab-set"}


def split_directive(lines: list[str], start: int, fence: str) -> tuple[list[str], int]:
    """Return the body of a directive without its options, and the index after its closing fence."""
    closing = re.compile(rf"^{re.escape(fence)}\s*$")
    end = next((i for i in range(start + 1, len(lines)) if closing.match(lines[i])), len(lines))
    body = lines[start + 1 : end]
    if body and body[0].strip() == "---":
        body = body[body.index("---", 1) + 1 :]
    while body and OPTION.match(body[0]):
        body = body[1:]
    return body, end + 1


def quiz_to_markdown(body: str) -> list[str]:
    """Turn a quiz into a question, its options, and the answers in a fold."""
    entry = yaml.safe_load(body)
    lines = [f"**Check yourself.** {entry['question']}", ""]
    lines += [f"{i}. {option['text']}" for i, option in enumerate(entry["options"], 1)]
    lines += ["", "<details><summary>Answers</summary>", ""]
    for i, option in enumerate(entry["options"], 1):
        lines.append(f"{i}. {'**Right.** ' if option.get('correct') else ''}{option['why']}")
    return [*lines, "", "</details>", ""]


def directive_to_markdown(name: str, title: str, body: list[str], page: str) -> list[str]:
    """Keep the words of one directive."""
    if name in DROPPED:
        return []
    if name == "quiz":
        return quiz_to_markdown("\n".join(body))
    if name == "math":
        return ["$$", *body, "$$", ""]
    if name in ("figure", "image", "glue:figure", "glue"):
        return [*(f"*{line}*" for line in [" ".join(body).strip()] if line), ""]
    if name.startswith("code"):
        return [f"```{title}", *body, "```", ""]
    inner = "\n".join(reduced_lines(body, page)).strip("\n").splitlines()
    if name == "solution-start":  # its body follows, up to solution-end
        return ["**Solution.**", ""]
    if name.startswith("solution"):
        return ["<details><summary>Solution</summary>", "", *inner, "", "</details>", ""]
    if name in BARE:
        return [*inner, ""]
    if name.startswith("exercise"):
        return [f"**Exercise.** {title}".rstrip(), "", *inner, ""]
    if name == "margin":
        heading = title
    elif name in ("admonition", "dropdown", "prf:theorem", "prf:definition", "card"):
        heading = title or name.rpartition(":")[2].capitalize()
    else:
        heading = f"{name.rpartition(':')[2].capitalize()}. {title}".strip()
    quoted = [f"**{heading}**", "", *inner] if heading else inner
    return [*(f"> {line}".rstrip() for line in quoted), ""]


def role_to_text(match: re.Match[str]) -> str:
    """Keep the text of one role."""
    name, body = match["name"], match["body"]
    target = TARGET.match(body)
    if name == "math":
        return f"${body}$"
    if name == "problem-set":
        return f"**Problem set {body.removeprefix('ps')}** (the notebook `{body}.ipynb`)"
    if name.startswith("cite"):
        return f"[{body}]"
    if name == "eq":
        return f"({body})"
    if name.startswith(("py:", "code")):
        return f"`{(target['text'] if target else body).rpartition('~')[2]}`"
    return target["text"] if target else body


def link_to_text(link: re.Match[str], page: str) -> str:
    """Keep the text of a link within the book, and the link where the page's address is known."""
    text, target = link["text"] or link["target"].lstrip("#"), link["target"]
    path, _, place = target.partition("#")
    if not page or not path.endswith(".md"):
        return text
    return (
        f"[{text}]({urljoin(page, path.removesuffix('.md') + '.html')}{'#' * bool(place)}{place})"
    )


def reduced_lines(lines: list[str], page: str = "") -> Iterator[str]:
    """Yield plain Markdown for MyST lines."""
    i, in_code = 0, ""
    while i < len(lines):
        line = lines[i]
        if in_code or (line.startswith("```") and not FENCE.match(line)):
            in_code = "" if in_code and line.startswith("```") else "```"
            yield line
            i += 1
        elif match := FENCE.match(line):
            body, i = split_directive(lines, i, match["fence"])
            yield from directive_to_markdown(match["name"], match["title"].strip(), body, page)
        else:
            i += 1
            if not LABEL_OR_COMMENT.match(line.strip()):
                yield LOCAL_LINK.sub(
                    lambda link: link_to_text(link, page), ROLE.sub(role_to_text, line)
                )


def reduce_to_markdown(text: str, page: str = "") -> str:
    """Return MyST text as plain Markdown.

    Args:
        page: its address on the web, from which links to other pages of the book lead on; without
            one they keep their words alone, as no page lies beside a notebook.

    Example:
        >>> reduce_to_markdown("A {term}`token` of {math}`V` {cite:p}`shannon1951`.")
        'A token of $V$ [shannon1951].'
    """
    return re.sub(r"\n{3,}", "\n\n", "\n".join(reduced_lines(text.splitlines(), page))).strip()
