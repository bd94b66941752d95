// The curve of probabilities, and the threshold on it.

const COLUMNS = 600; // Points of the curve; of more gaps the likeliest of each column is drawn.

function drawCurve() {
  let points = candidates.map((gap) => [place(gap), chance[gap]]);
  if (points.length > COLUMNS) {
    const best = new Map();
    for (const point of points) {
      const column = Math.min(COLUMNS - 1, Math.floor(point[0] * COLUMNS));
      if (!(best.get(column)?.[1] >= point[1])) best.set(column, point);
    }
    points = [...best.values()];
  }
  const steps = points.map(([x, y]) => `L${(1000 * x).toFixed(1)} ${(100 * (1 - y)).toFixed(2)}`);
  const path = `M0 100${steps.join("")}L1000 100`;
  at("curve").setAttribute("d", path);
  at("peaks").setAttribute("d", path);
}

const hundredths = (value) => Math.round(1000 * value) / 1000;

function showThreshold() {
  const line = at("line");
  line.style.setProperty("top", `${100 * (1 - threshold)}%`);
  line.setAttribute("aria-valuenow", String(threshold));
  line.setAttribute("aria-valuetext", `${hundredths(threshold)}, ${at("chunks").textContent} chunks`);
  at("clip").setAttribute("height", String(100 * (1 - threshold)));
  write(at("knob"), threshold.toFixed(2));
  write(at("value"), threshold.toFixed(3));
  at("reset").hidden = threshold === data.threshold;
}

/** The sentence at the top of the window, which is to stay where it is. */
function anchor() {
  if (window.scrollY < 1) return null;
  const box = article.getBoundingClientRect();
  for (const y of [0.3, 0.4, 0.5, 0.6]) {
    const found = document.elementFromPoint(box.left + box.width / 2, y * innerHeight)?.closest(".sentence");
    if (found) return [found, found.getBoundingClientRect().top];
  }
  return null;
}

let pending = 0;

function moveTo(value) {
  threshold = Math.min(1, Math.max(0, value));
  if (!pending) pending = requestAnimationFrame(apply);
}

function apply() {
  pending = 0;
  const held = anchor();
  if (recut()) {
    showFigures();
    if (held) scrollBy({ top: held[0].getBoundingClientRect().top - held[1], behavior: "instant" });
    if (current >= 0) showSides(current);
  }
  showThreshold();
}

function listenToLine() {
  const line = at("line");
  const plot = at("plot");
  let grip = null;
  line.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const box = plot.getBoundingClientRect();
    grip = event.clientY - box.top - (1 - threshold) * box.height;
    line.setPointerCapture(event.pointerId);
    line.focus({ preventScroll: true });
    event.preventDefault();
  });
  line.addEventListener("pointermove", (event) => {
    if (grip === null) return;
    const box = plot.getBoundingClientRect();
    moveTo(hundredths(1 - (event.clientY - grip - box.top) / box.height));
  });
  for (const end of ["pointerup", "pointercancel"]) line.addEventListener(end, () => { grip = null; });
  line.addEventListener("dblclick", () => moveTo(data.threshold));
  const steps = { ArrowUp: 0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowLeft: -0.01, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 };
  line.addEventListener("keydown", (event) => {
    if (isTyping(event) || !(event.key in steps)) return;
    moveTo(hundredths(threshold + steps[event.key]));
    event.preventDefault();
    event.stopPropagation();
  });
  at("reset").addEventListener("click", () => {
    moveTo(data.threshold);
    line.focus({ preventScroll: true });
  });
  plot.addEventListener("click", (event) => {
    if (event.target.closest(".line") || !candidates.length) return;
    const box = plot.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width;
    const far = (gap) => Math.abs(place(gap) - x);
    go(candidates.reduce((best, gap) => (far(gap) < far(best) ? gap : best)));
  });
}
