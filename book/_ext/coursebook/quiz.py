r"""The `{quiz}` directive: a question whose every option is explained.

    ```{quiz}
    question: A uniform model over 27 symbols has which perplexity?
    options:
      - text: 27
        correct: true
        why: Perplexity is the size of the die that would be as hard to predict.
      - text: 4.75
        why: That is its entropy in bits, $\log_2 27$; perplexity undoes the logarithm.
    ```

Question, options and explanations are MyST: math, code and links work. On the page it is a
fieldset of radio buttons with a live region; without scripts, in print and in LaTeX it is a list.
"""

from typing import Any

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class quiz(nodes.container):  # noqa: N801 (docutils finds visitors by the class's name)
    """One question and its options."""


class quiz_question(nodes.paragraph):  # noqa: N801
    """The question, which names the group."""


class quiz_options(nodes.bullet_list):  # noqa: N801
    """The options; a plain list for every writer but HTML's."""


class quiz_option(nodes.list_item):  # noqa: N801
    """One option: what is chosen, then why it is right or wrong."""


class quiz_choice(nodes.paragraph):  # noqa: N801
    """The text of an option, which labels its radio button."""


def check(entry: object) -> list[dict[str, Any]]:
    """Return the options of a quiz, or say which rule its YAML breaks.

    Raises:
        ValueError: a part is missing, an option is unexplained, or not exactly one is correct.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("question"), str):
        raise ValueError("a quiz needs the keys `question` and `options`")
    options = entry.get("options")
    if not isinstance(options, list) or len(options) < 2:
        raise ValueError(f"the quiz {entry['question']!r} needs a list of at least two options")
    for option in options:
        if not isinstance(option, dict) or "text" not in option or not option.get("why"):
            raise ValueError(f"the option {option!r} needs `text` and `why`: explain every option")
    n_correct = sum(bool(option.get("correct")) for option in options)
    if n_correct != 1:
        raise ValueError(f"{n_correct} options are marked `correct: true`; it must be exactly one")
    return options


class QuizDirective(SphinxDirective):
    """Turn the YAML into nodes."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return one `quiz` node."""
        try:
            entry = yaml.safe_load("\n".join(self.content))
            options = check(entry)
        except (yaml.YAMLError, ValueError) as error:
            raise self.error(f"quiz: {error}") from error
        node = quiz(name=f"quiz-{self.env.new_serialno('quiz') + 1}")
        node += quiz_question("", "", *self.parse_inline(entry["question"]))
        node += quiz_options("", *(self.option(node["name"], option) for option in options))
        return [node]

    def option(self, name: str, option: dict[str, Any]) -> quiz_option:
        """Return the node of one option."""
        correct = bool(option.get("correct"))
        verdict = "Right." if correct else "Not this one."
        item = quiz_option(correct=correct)
        item += quiz_choice("", "", *self.parse_inline(str(option["text"])), name=name)
        item += nodes.container(
            "", *self.parse_blocks(f"**{verdict}** {option['why']}"), classes=["lm-why"]
        )
        return item

    def parse_blocks(self, text: str) -> list[nodes.Node]:
        """Parse MyST text into paragraphs and other blocks."""
        holder = nodes.container()
        lines = StringList(text.splitlines(), source=self.env.docname)
        self.state.nested_parse(lines, self.content_offset, holder)
        return list(holder.children)

    def parse_inline(self, text: str) -> list[nodes.Node]:
        """Parse one paragraph and return what stands in it."""
        blocks = self.parse_blocks(text)
        if len(blocks) != 1 or not isinstance(blocks[0], nodes.paragraph):
            raise self.error(f"quiz: {text!r} must be a single paragraph")
        return list(blocks[0].children)


def visit_quiz(self: Any, node: quiz) -> None:
    """Open the custom element and the group."""
    self.body.append(f'<lm-quiz id="{node["name"]}"><fieldset>')


def depart_quiz(self: Any, node: quiz) -> None:
    """Close the group and leave room for the announced verdict."""
    self.body.append('</fieldset><p class="lm-status" role="status"></p></lm-quiz>\n')


def visit_question(self: Any, node: quiz_question) -> None:
    """Open the group's name."""
    self.body.append("<legend>")


def depart_question(self: Any, node: quiz_question) -> None:
    """Close the group's name."""
    self.body.append("</legend>")


def visit_options(self: Any, node: quiz_options) -> None:
    """Open the list of options."""
    self.body.append('<div class="lm-options">')


def visit_option(self: Any, node: quiz_option) -> None:
    """Open an option; the script learns from the attribute which one is right."""
    self.body.append(f'<div class="lm-option" data-correct="{str(node["correct"]).lower()}">')


def close_div(self: Any, node: nodes.Node) -> None:
    """Close an option or the list of them."""
    self.body.append("</div>\n")


def visit_choice(self: Any, node: quiz_choice) -> None:
    """Open the label with its radio button inside, so that the whole line can be pressed.

    A label that is nothing but a formula names nothing until scripts have run; its source does.
    """
    is_formula = all(isinstance(child, nodes.math) for child in node.children)
    name = f' aria-label="{self.attval(node.astext())}"' if is_formula else ""
    self.body.append(f'<label><input type="radio" name="{node["name"]}"{name}> <span>')


def depart_choice(self: Any, node: quiz_choice) -> None:
    """Close the label."""
    self.body.append("</span></label>\n")


def setup(app: Sphinx) -> None:
    """Register the directive and HTML's visitors; other writers use those of the parent nodes."""
    app.add_directive("quiz", QuizDirective)
    app.add_node(quiz, html=(visit_quiz, depart_quiz))
    app.add_node(quiz_question, html=(visit_question, depart_question))
    app.add_node(quiz_options, html=(visit_options, close_div))
    app.add_node(quiz_option, html=(visit_option, close_div))
    app.add_node(quiz_choice, html=(visit_choice, depart_choice))
