// The slides of a lecture: light or dark as the system is, or as the key D says; formulas; reveal.js.
"use strict";

const root = document.documentElement;
const HEIGHT = 720; // of a slide
const isPrinted = /print-pdf/.test(location.search);
const asked = new URLSearchParams(location.search).get("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");
function followSystem() {
  root.dataset.theme = asked ?? (dark.matches && !isPrinted ? "dark" : "light");
}
followSystem();
dark.addEventListener("change", followSystem);

window.MathJax = {
  options: { enableMenu: false, enableAssistiveMml: true },
  startup: { typeset: false },
};

// A figure that can be used has a page's width and any height: show it as large as the slide lets it be.
function fit(slide) {
  for (const box of slide.querySelectorAll(".lm-shown-live")) {
    const fits = () => {
      const all = slide.getBoundingClientRect(), scale = all.width / slide.offsetWidth;
      const below = box.getBoundingClientRect().bottom - all.top > HEIGHT * scale + 1; // when printed
      return !below && box.scrollHeight <= box.clientHeight + 1 && box.scrollWidth <= box.clientWidth + 1;
    };
    for (let percent = 150; percent >= 50; percent -= 5) {
      box.style.zoom = `${percent}%`;
      if (fits()) break;
    }
  }
}

addEventListener("DOMContentLoaded", async () => {
  const settings = {
    plugins: [RevealNotes],
    width: 1280,
    height: HEIGHT,
    margin: 0.05,
    center: false,
    display: "flex",
    hash: true,
    slideNumber: "c/t",
    defaultTiming: 60, // seconds; each slide has its own, and the speaker's view says how far one is off
    transition: "none",
    pdfSeparateFragments: false,
    pdfMaxPagesPerSlide: 1,
    keyboard: {
      68: () => {
        dark.removeEventListener("change", followSystem); // whoever has chosen is not overruled
        root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      },
    },
  };
  const printed = isPrinted && new Promise((done) => Reveal.on("pdf-ready", done));
  await MathJax.startup.promise;
  await MathJax.typesetPromise();
  await Reveal.initialize(settings);
  Reveal.on("slidechanged", ({ currentSlide }) => fit(currentSlide));
  await printed;
  (isPrinted ? Reveal.getSlides() : [Reveal.getCurrentSlide()]).forEach(fit);
  root.dataset.ready = "";
});
