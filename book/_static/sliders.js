/* Sliders of a built page: a slider for each axis, and Play for the first, choose which of the frames is shown.
 * Without this script a page has the frame at the start, and no controls. */
(() => {
  "use strict";

  const NEAR = "800px";  // so far from the window the frames are fetched

  const start = (box) => {
    const frames = [...box.querySelectorAll(".shallow-frame")];
    const sliders = [...box.querySelectorAll("input")], [first] = sliders;
    const play = box.querySelector("button");
    let timer = null;

    const show = () => {
      const chosen = sliders.reduce((k, slider) => k * (Number(slider.max) + 1) + Number(slider.value), 0);
      frames.forEach((frame, k) => { frame.hidden = k !== chosen; });
      for (const slider of sliders) {
        const text = JSON.parse(slider.dataset.texts)[slider.value];
        slider.setAttribute("aria-valuetext", text);
        slider.nextElementSibling.textContent = text;
      }
    };
    const pause = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
    };
    const step = () => {
      first.value = Number(first.value) + 1;
      show();
      if (first.value === first.max) pause();
    };

    box.addEventListener("input", () => {
      pause();
      show();
    });
    play.addEventListener("click", () => {
      if (timer !== null) return pause();
      if (first.value === first.max) first.value = 0;
      show();
      timer = setInterval(step, Number(box.dataset.interval));
      play.textContent = "Pause";
    });
    new IntersectionObserver((seen, observer) => {
      if (!seen.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      for (const frame of frames) frame.querySelector("img").loading = "eager";
    }, { rootMargin: NEAR }).observe(box);
    show();
    box.querySelector(".sliders-bar").hidden = false;
  };

  document.querySelectorAll("div.shallow-sliders").forEach(start);
})();
