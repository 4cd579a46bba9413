/* The plots of the laboratories.
 *
 * A panel is { title, main, x: { name, label, range, ticks, splits, write }, y: { label, range(view), ticks, splits },
 * data(view), series, under, draw, rest, shows, bare, height, key, tells }.  Series are { label, colour, dash, width,
 * fill, dots, digits, write, ghost }, colours names of custom properties; `under(paint, view)` and `draw(paint, view)`
 * add marks below and above the curves.  Name, label and range of x may be functions of the view, which `ticks` and
 * `write` get after the number; `splits(view, low, high)` are the places of ticks, where round numbers will not do.
 * `rest(view)` is the index whose values the legend has without a pointer, `shows(view)` whether there is anything
 * to plot; a panel that is `bare` has no axes and no pointer.  Where x is named after the laboratory's unit the moment
 * is marked to which the reader went back; series with `ghost` are drawn for the reader's last run as well.
 * `handles(view)`, [{ id, x, y }], can be taken and drawn sideways: `moved(view, id, x)` are the settings then, which
 * `change(settings, over)` is given, `over` once the handle is let go.
 * `key(view)` lists what else is drawn, [{ label, colour, mark }], and `tells(view)` says what the plot shows.
 */
globalThis.ShallowLab ??= { models: {} };

(() => {
  "use strict";

  const PHONE = 520;  // pixels under which plots are less high
  const HIGH = 216, LESS = 50;
  // Marks of a key, in a box of 20 x 12.
  const MARKS = {
    line: "M0 6H20", dash: "M0 6H7M12 6H19", dot: "M6 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
    ring: "M6 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", up: "M10 1L15 11H5Z", down: "M10 11L15 1H5Z", square: "M5 1H15V11H5Z",
    band: "M0 0H20V12H0Z",
  };
  const STROKED = ["line", "dash", "ring"];

  const { element, valueOf } = ShallowLab;

  function mark({ label, colour, mark: kind }) {
    const [svg, path] = ["svg", "path"].map((name) => document.createElementNS("http://www.w3.org/2000/svg", name));
    const drawn = `var(--lab-${colour})`, stroked = STROKED.includes(kind);
    svg.setAttribute("viewBox", "0 0 20 12");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", MARKS[kind]);
    path.style.cssText = stroked ? `fill: none; stroke: ${drawn}; stroke-width: 2` : `fill: ${drawn}`;
    svg.append(path);
    return element("span", {}, svg, label);
  }

  function plot(panel, el, view, unit, change) {
    const colour = (name) => getComputedStyle(el).getPropertyValue(`--lab-${name}`).trim();
    const box = element("div", { className: "lab-plot" });
    const key = element("div", { className: "lab-key", hidden: !panel.key });
    const legend = element("div", { className: "lab-legend" });  // outside the box, which is one image
    const figure = element("figure", {}, element("figcaption", { textContent: panel.title }), key, box, legend);
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", panel.title);
    const named = panel.series.length > 1;
    const timed = () => valueOf(panel.x.name, view) === unit;
    // The reader's last run as this panel would have shown it.
    const past = () => ({ ...view, ...view.ghost, live: false, book: null });
    const haunted = () => view.ghost !== null && panel.series.some((one) => one.ghost);

    const axis = ({ label, ticks, splits }, size) => ({
      show: !panel.bare, label: valueOf(label, view), size, labelSize: 20, gap: 4, labelGap: 0, font: "12px sans-serif",
      labelFont: "13px sans-serif", stroke: () => colour("text"), ticks: { show: false },
      grid: { stroke: () => colour("grid"), width: 1 },
      values: (u, all) => all.map((at) => (ticks ?? String)(at, view)), space: 45,
      ...(splits && { splits: (u, which, low, high) => splits(view, low, high) }),
    });
    const series = ({ label, colour: name, dash, width = 2, fill, dots = false, digits = 3, write }) => ({
      label, dash, width, stroke: () => colour(name), fill: fill && (() => colour(fill)),
      points: { show: dots, size: 7, fill: () => colour(name) },
      value: (u, value) => (value == null ? "" : write?.(value) ?? value.toFixed(digits)),
    });
    const range = () => {
      const now = panel.y.range(view), then = haunted() ? panel.y.range(past()) : now;
      return [Math.min(now[0], then[0]), Math.max(now[1], then[1])];
    };
    const paint = (u) => ({
      context: u.ctx, colour, scale: devicePixelRatio, box: u.bbox,
      x: (value) => u.valToPos(value, "x", true), y: (value) => u.valToPos(value, "y", true),
    });
    function ghost({ context, scale, box: { left, top, width, height }, x, y }) {
      if (!haunted()) return;
      const [at, ...curves] = panel.data(past());
      context.save();
      context.beginPath();
      context.rect(left, top, width, height);
      context.clip();
      context.globalAlpha = 0.35;
      context.lineWidth = 4 * scale;
      context.setLineDash([]);
      panel.series.forEach((one, k) => {
        if (!one.ghost) return;
        context.strokeStyle = colour(one.colour);
        context.beginPath();
        at.forEach((value, i) => { if (curves[k][i] != null) context.lineTo(x(value), y(curves[k][i])); });
        context.stroke();
      });
      context.restore();
    }
    function moment(u) {
      if (!view.back || !timed()) return;
      const { context, scale, box: { top, height }, x } = paint(u), at = x(u.data[0][view.at]);
      context.save();
      context.strokeStyle = colour("text");
      context.lineWidth = scale;
      context.setLineDash([]);
      context.beginPath();
      context.moveTo(at, top);
      context.lineTo(at, top + height);
      context.stroke();
      context.restore();
    }
    const size = () => {
      const { height = HIGH } = panel;
      return { width: Math.max(200, box.clientWidth), height: el.clientWidth < PHONE ? height - LESS : height };
    };
    // Without a pointer over the plot the legend has the values of the moment that is shown.
    const newest = (u) => {
      const last = view.back && timed() ? view.at
        : panel.rest?.(view) ?? u.data[1].findLastIndex((value) => value !== null);
      if (named) u.setLegend({ idx: Math.max(0, last) }, false);
    };
    function handle(u) {
      const over = u.over, near = ({ offsetX, offsetY, pointerType }) => {
        const reach = pointerType === "touch" ? 24 : 10;
        const far = ({ x, y }) => Math.hypot(u.valToPos(x, "x") - offsetX, u.valToPos(y, "y") - offsetY);
        const [best] = panel.handles(view).map((one) => [far(one), one.id]).sort((a, b) => a[0] - b[0]);
        return best?.[0] <= reach ? best[1] : null;
      };
      let held = null;
      const settings = ({ offsetX }) => panel.moved(view, held, u.posToVal(offsetX, "x"));
      over.style.touchAction = "pan-y";
      over.addEventListener("pointerdown", (event) => {
        held = near(event);
        if (held !== null) over.setPointerCapture(event.pointerId);
      });
      over.addEventListener("pointermove", (event) => {
        if (held === null) over.style.cursor = near(event) === null ? "" : "grab";
        else change(settings(event), false);
      });
      over.addEventListener("pointerup", (event) => {
        if (held !== null) change(settings(event), true);
        held = null;
      });
      over.addEventListener("pointercancel", () => { held = null; });
    }
    const options = () => ({
      ...size(), padding: panel.bare ? [0, 0, 0, 0] : [8, 24, 0, 0],
      legend: { show: named, markers: { fill: () => "none" }, mount: (u, table) => legend.replaceChildren(table) },
      scales: { x: { time: false, range: () => valueOf(panel.x.range, view) }, y: { range } },
      axes: [axis(panel.x, 22), axis(panel.y, 40)],
      series: [
        { label: valueOf(panel.x.name, view), value: (u, value) => (value == null ? "" : panel.x.write(value, view)) },
        ...panel.series.map(series),
      ],
      cursor: { show: !panel.bare, y: false, drag: { x: false, y: false } },
      hooks: {
        drawClear: [(u) => { ghost(paint(u)); panel.under?.(paint(u), view); }],
        draw: [(u) => { moment(u); panel.draw?.(paint(u), view); }],
        ready: [newest, ...panel.handles ? [handle] : []], setLegend: [(u) => { if (u.legend.idx == null) newest(u); }],
      },
    });

    let drawn = null, label = null, words = null;
    function build() {
      drawn?.destroy();
      label = valueOf(panel.x.label, view);
      drawn = new uPlot(options(), panel.data(view), box);
    }
    function explain() {
      const items = panel.key?.(view) ?? [], told = JSON.stringify(items);
      if (told !== words) key.replaceChildren(...items.map(mark));
      words = told;
    }
    function update() {
      figure.hidden = !(panel.shows?.(view) ?? true);
      if (figure.hidden || figure.closest("details:not([open])")) return;  // nobody sees it
      explain();
      if (drawn === null || label !== valueOf(panel.x.label, view)) build();
      else drawn.setData(panel.data(view));
      if (drawn.cursor.idx == null) newest(drawn);
    }
    new ResizeObserver(() => { if (box.clientWidth > 0) drawn?.setSize(size()); }).observe(box);
    return {
      figure, update, main: panel.main ?? false,
      recolour: () => { if (drawn) build(); },
      name: (story, shown) => box.setAttribute("aria-label",
        `${panel.title}. ${panel.tells && shown && !figure.hidden ? panel.tells(shown) : story}`),
    };
  }

  ShallowLab.plot = plot;
})();
