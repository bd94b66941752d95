// The text in its chunks, and the figures beside it.

const LONGEST_RUN = 60; // Sentences that the browser lays out at once; a longer paragraph is shown as several.

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
  const titles = new Map();
  if (data.labels?.titles) [0, ...data.labels.boundaries].forEach((number, i) => titles.set(number, data.labels.titles[i]));
  const chunk = makeChunk();
  let run = null;
  let length = 0;
  let line = false;
  data.sentences.forEach((text, number) => {
    const gap = number - 1;
    const opens = paragraphStarts.has(number) || titles.get(number);
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
