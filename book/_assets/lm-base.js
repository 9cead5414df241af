/* The base of the book's interactive figures: a custom element that reads its data from a JSON
   script inside itself, draws into a stage, and says in a live region what has changed.

   A figure extends lm.Element and implements build(). It works from file://, needs no other
   script, and leaves the <details> table inside it alone, for readers who prefer numbers. */
(() => {
  "use strict";

  /** Make an element: h("p", {class: "note"}, "text", child). Functions become listeners. */
  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  class Element extends HTMLElement {
    connectedCallback() {
      if (this.status) return; // moved within the page
      const source = this.querySelector(':scope > script[type="application/json"]');
      if (source) {
        this.data = JSON.parse(source.textContent);
        this.stage = h("div", { class: "lm-stage" });
        this.prepend(this.stage);
        this.status = h("p", { class: "lm-status", role: "status" });
        this.stage.after(this.status);
      } else {
        this.status = this.querySelector('[role="status"]');
      }
      this.build();
      this.setAttribute("data-ready", "");
    }

    /** Tell everyone: the live region is on the screen and read aloud. */
    say(text) {
      this.status.textContent = text;
    }

    /** A row of buttons is one stop for the tab key; in it the arrow keys choose the button before or after. */
    step(event, buttons, chosen, choose) {
      const button = buttons[chosen + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? NaN)];
      if (!button) return;
      event.preventDefault();
      button.focus();
      choose([...buttons].indexOf(button));
    }

    /** Whether the reader has asked for less motion. */
    get calm() {
      return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    }
  }

  let n_groups = 0;

  /** A row of exclusive choices, as radio buttons: arrow keys and screen readers know them. */
  function choices(legend, options, chosen, onchange) {
    const name = `lm-choice-${(n_groups += 1)}`;
    return h(
      "fieldset",
      { class: "lm-choices" },
      h("legend", {}, legend),
      ...options.map((option) =>
        h(
          "label",
          {},
          h("input", {
            type: "radio",
            name,
            value: option,
            checked: option === chosen,
            change: () => onchange(option),
          }),
          h("span", {}, String(option)),
        ),
      ),
    );
  }

  /** A probability with as many digits as it takes to show that it is not zero. */
  function probability(p) {
    if (p === 0 || p >= 0.0005) return p.toFixed(p === 0 ? 0 : 3);
    return p.toLocaleString("en-US", { maximumSignificantDigits: 1, maximumFractionDigits: 20 });
  }

  /** Horizontal bars of probability; a row is {label, value, mark}. */
  function bars(rows) {
    const most = Math.max(...rows.map((row) => row.value), 1e-9);
    return h(
      "ul",
      { class: "lm-bars" },
      ...rows.map((row) =>
        h(
          "li",
          row.mark ? { "data-mark": true } : {},
          h("span", { class: "lm-bar-label" }, row.label),
          h("span", { class: "lm-bar", style: `--share: ${row.value / most}`, "aria-hidden": "true" }),
          h("span", { class: "lm-bar-value" }, probability(row.value) + (row.mark ? ` ${row.mark}` : "")),
        ),
      ),
    );
  }

  /** An element of a drawing: svg("circle", {r: 3}). */
  function svg(tag, attributes, text = "") {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  }

  /** A number as a reader says it, never "0.0": 0.0012, 45, or 3 × 10⁻⁹. */
  function spoken(value) {
    if (value === 0) return "0";
    if (value >= 0.001 && value < 10000) return Number(value.toPrecision(2)).toString();
    const [digits, power] = value.toExponential(0).split("e");
    return `${digits} × 10${[...String(Number(power))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;
  }

  /** A symbol that can be seen: ␣ for a space, ⏎ for a line break, \xNN for another control character. */
  const showWhitespace = (symbol) =>
    symbol
      .replaceAll(" ", "␣")
      .replaceAll("\n", "⏎")
      .replace(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`);

  /** Whatever scrolls sideways must be reachable without a mouse; nothing else needs a tab stop. */
  const scrollers = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  const watch = (selector) => document.querySelectorAll(selector).forEach((part) => scrollers.observe(part));
  window.addEventListener("load", () => {
    watch("pre, .cell_output .output, .pst-scrollable-table-container");
    window.MathJax?.startup?.promise?.then(() => watch("div.math, mjx-container[display]"));
  });

  window.lm = { Element, h, svg, choices, bars, spoken, probability, showWhitespace };
})();
