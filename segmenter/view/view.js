// One document: its gaps, and the chunks that a threshold makes of them.

const LONGEST_RUN = 60; // Sentences that the browser lays out at once; a longer paragraph is shown as several.
const COLUMNS = 600; // Points of the curve; of more gaps the likeliest of each column is drawn.

const n = data.sentences.length;
const nGaps = Math.max(0, n - 1);
const chance = new Float32Array(nGaps); // As Python has them, so that ties fall alike.
const isCandidate = new Uint8Array(nGaps);
const isForced = new Uint8Array(nGaps);
const isTrue = new Uint8Array(nGaps);
const isCut = new Uint8Array(nGaps);
const startsRun = new Uint8Array(nGaps); // Whether a paragraph or a line starts behind the gap.
const nodes = new Array(nGaps);
const windowOf = new Map(); // Number of its window by gap.
const candidates = data.gaps ?? Array.from({ length: nGaps }, (_, gap) => gap);
candidates.forEach((gap, i) => {
  chance[gap] = data.chances[i];
  isCandidate[gap] = 1;
  windowOf.set(gap, i);
});
for (const gap of data.forced) isForced[gap] = 1;
for (const number of data.labels?.boundaries ?? []) isTrue[number - 1] = 1;

// Tokens before each sentence.
const before = new Float64Array(n + 1);
data.tokens.forEach((count, number) => { before[number + 1] = before[number] + count; });
const total = Math.max(1, before[n]);
const place = (gap) => before[gap + 1] / total;

const article = at("text");
let threshold = data.threshold;
let current = -1;

// ---- The text

const heads = new WeakMap(); // What stands above each chunk: kept, since reading it from the page takes longer.

function makeChunk() {
  const chunk = make("section", "chunk");
  const head = make("header", "head");
  const parts = [make("span", "number"), make("span", "size")];
  head.append(...parts);
  chunk.append(head);
  heads.set(chunk, { parts, number: -1, size: -1 });
  return chunk;
}

function makeGap(gap) {
  const node = make("button", "gap");
  node.type = "button";
  node.tabIndex = -1;
  node.dataset.gap = gap;
  node.textContent = isCandidate[gap] ? shortly(chance[gap]) : isForced[gap] ? "§" : "–";
  node.style.setProperty("--chance", isCandidate[gap] ? chance[gap].toFixed(3) : "0");
  if (!isCandidate[gap]) node.classList.add("unscored");
  nodes[gap] = node;
  return node;
}

function build() {
  const paragraphs = new Set(data.paragraphs);
  const titles = new Map();
  if (data.labels?.titles) [0, ...data.labels.boundaries].forEach((number, i) => titles.set(number, data.labels.titles[i]));
  const chunk = makeChunk();
  let run = null;
  let length = 0;
  let line = false;
  data.sentences.forEach((text, number) => {
    const gap = number - 1;
    const opens = paragraphs.has(number) || titles.get(number);
    if (!run || opens || line || length === LONGEST_RUN) {
      run = make("p", opens || !line ? "run" : "run tight");
      chunk.append(run);
      length = 0;
      if (number) startsRun[gap] = 1;
    }
    if (number && (isCandidate[gap] || isForced[gap] || isTrue[gap])) run.append(makeGap(gap));
    if (titles.get(number)) run.append(make("span", "title", titles.get(number)));
    const sentence = make("span", isAligned.test(text) ? "sentence aligned" : "sentence");
    fillSentence(sentence, text);
    run.append(sentence);
    if (data.glue) run.append(data.glue);
    line = /[\r\n]\s*$/.test(text);
    length++;
  });
  if (n) article.append(chunk);
}

/** Move a node, and all that stand behind it, to the end of another parent. */
function moveFrom(node, parent) {
  while (node) {
    const following = node.nextSibling;
    parent.append(node);
    node = following;
  }
}

function split(gap) {
  const node = nodes[gap];
  let run = node.parentNode;
  const chunk = run.parentNode;
  const next = makeChunk();
  if (!startsRun[gap]) {
    const rest = make("p", "run");
    moveFrom(node, rest);
    run.after(rest);
    run = rest;
  }
  moveFrom(run, next);
  chunk.after(next);
}

function join(gap) {
  const run = nodes[gap].parentNode;
  const chunk = run.parentNode;
  const previous = chunk.previousElementSibling;
  let first = run;
  if (!startsRun[gap]) {
    first = run.nextSibling;
    moveFrom(run.firstChild, previous.lastElementChild);
    run.remove();
  }
  moveFrom(first, previous);
  chunk.remove();
}

function mark(gap) {
  const list = nodes[gap].classList;
  list.toggle("cut", Boolean(isCut[gap]));
  if (!data.labels) return;
  list.toggle("hit", Boolean(isTrue[gap] && isCut[gap]));
  list.toggle("miss", Boolean(isTrue[gap] && !isCut[gap]));
  list.toggle("false", Boolean(!isTrue[gap] && isCut[gap]));
}

/** Cut anew; only gaps that change are touched. */
function recut() {
  const limit = Math.fround(threshold);
  const opened = [];
  const closed = [];
  for (let gap = 0; gap < nGaps; gap++) {
    const now = isForced[gap] || (isCandidate[gap] && chance[gap] > limit) ? 1 : 0;
    if (now === isCut[gap]) continue;
    (now ? opened : closed).push(gap);
    isCut[gap] = now;
  }
  // From the end, so that each moves no more than its own chunk; joining from the start, for the same reason.
  for (let i = opened.length - 1; i >= 0; i--) split(opened[i]);
  closed.forEach(join);
  opened.forEach(mark);
  closed.forEach(mark);
  return opened.length + closed.length > 0;
}

function sizesNow() {
  const sizes = [];
  let start = 0;
  for (let gap = 0; gap < nGaps; gap++) {
    if (!isCut[gap]) continue;
    sizes.push(before[gap + 1] - before[start]);
    start = gap + 1;
  }
  if (n) sizes.push(before[n] - before[start]);
  return sizes;
}

function showFigures() {
  const sizes = sizesNow();
  let chunk = article.firstElementChild;
  sizes.forEach((size, i) => {
    const shown = heads.get(chunk);
    if (shown.number !== i) shown.parts[0].textContent = i + 1;
    if (shown.size !== size) shown.parts[1].textContent = counted(size, "token", "tokens");
    shown.number = i;
    shown.size = size;
    chunk = chunk.nextElementSibling;
  });
  write(at("chunks"), grouped(sizes.length));
  write(at("chunks-unit"), sizes.length === 1 ? "chunk" : "chunks");
  const largest = sizes.reduce((a, b) => Math.max(a, b), 0);
  write(at("sizes-note"), n ? `median ${grouped(median(sizes))}, longest ${counted(largest, "token", "tokens")}` : "");
  histogram.show([sizes]);
  at("found").setAttribute("d", stripPath([0, ...cutPlaces(isCut)]));
  if (data.labels) showScores();
}

function cutPlaces(flags) {
  const places = [];
  for (let gap = 0; gap < nGaps; gap++) if (flags[gap]) places.push(place(gap));
  return places;
}

function showScores() {
  let hits = 0, found = 0, labelled = 0;
  for (let gap = 0; gap < nGaps; gap++) {
    hits += isCut[gap] & isTrue[gap];
    found += isCut[gap];
    labelled += isTrue[gap];
  }
  const share = (a, b) => (b ? a / b : 0);
  const values = { precision: share(hits, found), recall: share(hits, labelled), f1: share(2 * hits, found + labelled) };
  for (const [name, value] of Object.entries(values)) {
    at(name).value = value;
    at(name).dataset.value = value;
    write(at(name), value.toFixed(2));
  }
  write(at("hits"), grouped(hits));
  write(at("misses"), grouped(labelled - hits));
  write(at("wrong"), grouped(found - hits));
}

// ---- The curve and its threshold

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

// ---- What the model saw

/** The text of the sentences from one to another, without the characters that fell outside of the window. */
function slice(first, skip, last, drop) {
  let text = "";
  for (let number = first; number <= last; number++) {
    // Characters as Python counts them.
    const whole = Array.from(data.sentences[number]);
    const start = number === first ? skip : 0;
    const end = whole.length - (number === last ? drop : 0);
    if (number > first && data.marks && paragraphStarts.has(number)) text += " ¶ ";
    text += whole.slice(start, end).join("") + data.glue;
  }
  return text.trim();
}

const paragraphStarts = new Set(data.paragraphs);

function showSides(gap) {
  const i = windowOf.get(gap);
  const sees = Boolean(data.sides) && i !== undefined;
  const [back, skip, ahead, drop] = sees ? ["back", "skip", "ahead", "drop"].map((name) => data.sides[name][i]) : [0, 0, 0, 0];
  const opens = sees && data.marks && paragraphStarts.has(gap + 1);
  write(at("sides-name"), sees ? "What the model saw" : "The two sentences");
  write(at("left"), slice(gap - back, skip, gap, 0) + (opens ? " ¶" : ""));
  write(at("right"), slice(gap + 1, 0, gap + 1 + ahead, drop));
  write(at("verdict"), verdict(gap));
  at("left").classList.toggle("trimmed", skip > 0 || gap - back > 0);
  at("right").classList.toggle("trimmed", drop > 0 || gap + 1 + ahead < n - 1);
  write(at("sides-note"), opens ? "¶ is the mark that tells it of a new paragraph." : "");
  at("hint").hidden = true;
  at("pair").hidden = false;
  at("sides").classList.add("open");
  at("left").scrollTop = at("left").scrollHeight; // What is nearest to the gap.
  at("at").hidden = false;
  at("at").style.setProperty("left", `${100 * place(gap)}%`);
}

function verdict(gap) {
  const cut = isCut[gap] ? "cut" : "no cut";
  const match = !data.labels ? "" : isTrue[gap] ? (isCut[gap] ? " · right" : " · missed") : isCut[gap] ? " · wrong" : "";
  if (isCandidate[gap]) return `P(boundary) ${chance[gap].toFixed(3)} · ${cut}${match}`;
  return (isForced[gap] ? "a heading: always cut" : "not scored: never cut") + match;
}

function choose(gap) {
  if (current >= 0 && nodes[current]) nodes[current].tabIndex = -1;
  current = gap;
  const node = nodes[gap];
  node.tabIndex = 0;
  if (!node.hasAttribute("aria-label")) node.setAttribute("aria-label", `Gap ${gap + 1} of ${nGaps}`);
  node.setAttribute("aria-description", verdict(gap));
  showSides(gap);
}

/** Go to a gap: in view, and with the focus. */
function go(gap) {
  nodes[gap].scrollIntoView({ block: "center" });
  nodes[gap].focus({ preventScroll: true });
  choose(gap);
}

function step(direction, wanted) {
  for (let gap = from(direction); gap >= 0 && gap < nGaps; gap += direction) {
    if (nodes[gap] && wanted(gap)) return go(gap);
  }
}

/** Where to look on from: the gap that has the focus, or the top of the window. */
function from(direction) {
  if (current >= 0) return current + direction;
  return direction > 0 ? 0 : nGaps - 1;
}

function closeSides() {
  at("sides").classList.remove("open");
  at("pair").hidden = true;
  at("hint").hidden = false;
  at("at").hidden = true;
  current = -1;
}

function listen() {
  const gapAt = (event) => event.target.closest?.(".gap")?.dataset.gap;
  for (const kind of ["pointerover", "focusin", "click"]) {
    article.addEventListener(kind, (event) => {
      const gap = gapAt(event);
      if (gap !== undefined && Number(gap) !== current) choose(Number(gap));
    });
  }
  at("close").addEventListener("click", closeSides);
  document.addEventListener("keydown", (event) => {
    if (isTyping(event)) return;
    const inText = document.activeElement?.classList.contains("gap");
    if (event.key === "n" || event.key === "p") step(event.key === "n" ? 1 : -1, (gap) => isCut[gap]);
    else if (inText && event.key === "ArrowRight") step(1, () => true);
    else if (inText && event.key === "ArrowLeft") step(-1, () => true);
    else if (event.key === "t") at("line").focus();
    else if (event.key === "r") moveTo(data.threshold);
    else if (event.key === "Escape") closeSides();
    else return;
    event.preventDefault();
  });
  let queued = 0;
  const follow = () => {
    queued = 0;
    const box = article.getBoundingClientRect();
    const share = (y) => Math.min(1, Math.max(0, (y - box.top) / Math.max(1, box.height)));
    at("here").style.setProperty("left", `${100 * share(0)}%`);
    at("here").style.setProperty("right", `${100 * (1 - share(innerHeight))}%`);
  };
  for (const kind of ["scroll", "resize"]) {
    addEventListener(kind, () => { queued ||= requestAnimationFrame(follow); }, { passive: true });
  }
  queued = requestAnimationFrame(follow);
}

const histogram = new Histogram(at("bars"), before[n], 1);
write(at("name"), data.name);
write(at("about"), [counted(n, "sentence", "sentences"), counted(before[n], "token", "tokens"), `${grouped(candidates.length)} of ${counted(nGaps, "gap", "gaps")} may be cut`].join(" · "));
write(at("hint"), candidates.length ? "Point at a number between two sentences." : "The model has nothing to say about this text.");
write(at("strip-names"), data.labels ? "chunks above, sections of the file below" : "chunks");
if (data.labels) {
  at("scores").hidden = false;
  at("labels-strip").removeAttribute("hidden");
  at("labels").setAttribute("d", stripPath([0, ...cutPlaces(isTrue)]));
}
build();
for (let gap = 0; gap < nGaps; gap++) if (nodes[gap] && isTrue[gap]) mark(gap);
drawCurve();
recut();
showFigures();
showThreshold();
listenToLine();
listen();
