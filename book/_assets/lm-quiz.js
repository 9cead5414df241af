/* A self-test question: choosing an option shows why it is right or wrong. */
customElements.define(
  "lm-quiz",
  class extends lm.Element {
    build() {
      for (const option of this.querySelectorAll(".lm-option")) {
        const why = option.querySelector(".lm-why");
        why.hidden = true;
        option.querySelector("input").addEventListener("change", () => {
          option.setAttribute("data-chosen", "");
          why.hidden = false;
          this.say(why.textContent.trim());
        });
      }
    }
  },
);
