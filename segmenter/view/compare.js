// One text, cut in two ways. A piece of the text lies between two cuts that are next to each other, whoever
// made them, and is a row; so the same words stand side by side.

const nPieces = data.pieces.length;
const lengths = data.pieces.map((piece) => piece.length);
const before = [0];
for (const length of lengths) before.push(before.at(-1) + length);
const total = Math.max(1, before[nPieces]);
const letters = ["A", "B"];
const article = at("text");

/** The chunk of each piece, and whether the piece opens or closes it. */
function layOut(cut) {
  const found = [];
  cut.chunks.forEach((chunk, number) => {
    const end = cut.chunks[number + 1]?.piece ?? nPieces;
    for (let piece = chunk.piece; piece < end; piece++) {
      found.push({ chunk, number, opens: piece === chunk.piece, closes: piece === end - 1 });
    }
  });
  return found;
}

function makeCell(cut, which, { chunk, number, opens, closes }, text) {
  const cell = make("div", `cell ${number % 2 ? "odd" : "even"}`);
  cell.dataset.cut = which;
  cell.classList.toggle("opens", opens);
  cell.classList.toggle("closes", closes);
  if (opens) {
    cell.dataset.chunk = number;
    const head = make("header", "head");
    const size = counted(chunk.tokens, "token", "tokens");
    head.append(make("span", "number", String(number + 1)), make("span", "size", size));
    if (chunk.repeated) head.append(make("span", "repeated", `${grouped(chunk.repeated)} of them repeated`));
    if (chunk.chance !== null) head.append(make("span", "chance", `p ${shortly(chunk.chance)}`));
    cell.append(head);
  } else {
    // As high as the head beside it, so that the same words stay at the same height.
    const head = make("header", `head ghost s${1 - which}`);
    head.append(make("span", "", `${letters[1 - which]} cuts here`));
    cell.append(head);
  }
  const body = make("p", "run");
  const sentence = make("span", isAligned.test(text) ? "sentence aligned" : "sentence");
  fillSentence(sentence, text);
  body.append(sentence);
  cell.append(body);
  return cell;
}

function build() {
  const names = make("div", "row names");
  data.cuts.forEach((cut, which) => {
    const name = make("div", "cell-name", `${letters[which]} ${cut.name}`);
    name.dataset.cut = which;
    names.append(name);
  });
  article.append(names);
  const laidOut = data.cuts.map(layOut);
  let shared = 0;
  data.pieces.forEach((text, piece) => {
    const row = make("div", "row");
    const cells = laidOut.map((found) => found[piece]);
    if (piece && cells.every((cell) => cell.opens)) {
      row.classList.add("shared");
      shared++;
    }
    cells.forEach((cell, which) => row.append(makeCell(data.cuts[which], which, cell, text)));
    if (piece) row.tabIndex = -1;
    article.append(row);
  });
  return shared;
}

function showFigures(shared) {
  const sizes = data.cuts.map((cut) => cut.chunks.map((chunk) => chunk.tokens));
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const repeated = data.cuts.map((cut, i) => sum(cut.chunks.map((chunk) => chunk.repeated)) / Math.max(1, sum(sizes[i])));
  const rows = [
    ["", ...data.cuts.map((cut, i) => `${letters[i]} ${cut.name}`)],
    ["chunks", ...sizes.map((own) => grouped(own.length))],
    ["median tokens", ...sizes.map((own) => grouped(median(own)))],
    ["shortest", ...sizes.map((own) => grouped(own.length ? Math.min(...own) : 0))],
    ["longest", ...sizes.map((own) => grouped(own.length ? Math.max(...own) : 0))],
    ["repeated", ...repeated.map((share) => `${Math.round(100 * share)} %`)],
  ];
  rows.forEach((cells, i) => {
    const row = make("tr");
    cells.forEach((text, j) => {
      const cell = make(i && j ? "td" : "th", j ? `s${j - 1}` : "", text);
      if (!(i && j)) cell.scope = i ? "row" : "col";
      row.append(cell);
    });
    at("figures").append(row);
  });
  const cuts = sizes.map((own) => Math.max(0, own.length - 1));
  write(at("shared"), `${counted(shared, "cut", "cuts")} in the same place: ${shared} of ${cuts[0]} of A, ${shared} of ${cuts[1]} of B.`);
  const largest = Math.max(1, ...sizes.flat());
  new Histogram(at("bars"), largest, 2).show(sizes);
}

function drawStrips() {
  for (const [which, cut] of data.cuts.entries()) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", `strip s${which}`);
    svg.setAttribute("viewBox", "0 0 1000 1");
    svg.setAttribute("preserveAspectRatio", "none");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", stripPath(cut.chunks.map((chunk) => before[chunk.piece] / total)));
    svg.append(path);
    at("strips").append(svg);
  }
}

function listen() {
  data.cuts.forEach((cut, which) => {
    const button = make("button", `s${which}`, `${letters[which]} ${cut.name}`);
    button.type = "button";
    button.addEventListener("click", () => {
      document.body.dataset.shown = which;
      [...at("switch").children].forEach((other, i) => other.setAttribute("aria-pressed", String(i === which)));
    });
    at("switch").append(button);
  });
  at("switch").firstElementChild.click();
  const rows = [...article.children].slice(2);
  document.addEventListener("keydown", (event) => {
    if (isTyping(event) || !["n", "p"].includes(event.key) || !rows.length) return;
    const now = rows.indexOf(document.activeElement);
    const next = event.key === "n" ? now + 1 : now < 0 ? rows.length - 1 : now - 1;
    const row = rows[Math.min(rows.length - 1, Math.max(0, next))];
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
    event.preventDefault();
  });
}

write(at("name"), data.name);
write(at("about"), `${counted(data.tokens, "token", "tokens")}, cut in two ways`);
showFigures(build());
drawStrips();
listen();
