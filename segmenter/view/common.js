// What both pages share. Text of the document reaches the page by textContent alone.

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);

function make(tag, name, text) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const grouped = new Intl.NumberFormat("en").format;
const counted = (number, one, many) => `${grouped(number)} ${number === 1 ? one : many}`;

/** ".07", or a dot where there is next to nothing to show. */
function shortly(chance) {
  return chance < 0.005 ? "·" : chance.toFixed(2).replace(/^0/, "");
}

/** Tables and code, whose columns mean something. */
const isAligned = /^\s*(\||```|~~~)|^( {4}|\t)/;

/** Text, and the white space with line ends behind it, which blocks stand for on the page. */
function fillSentence(node, text) {
  const ink = text.trimEnd();
  const tail = text.slice(ink.length);
  if (!ink || !/[\r\n]/.test(tail)) {
    node.textContent = text;
    return;
  }
  node.append(ink, make("span", "tail", tail));
}

/** Every other stretch between rising places from 0 to 1, as one path. */
function stripPath(places) {
  let path = "";
  for (let i = 0; i < places.length; i += 2) {
    const start = 1000 * places[i];
    const end = 1000 * (i + 1 < places.length ? places[i + 1] : 1);
    path += `M${start.toFixed(2)} 0H${end.toFixed(2)}V1H${start.toFixed(2)}z`;
  }
  return path;
}

const SMALLEST = 8;

/** Sizes fall into bins that double, so that the axis stays when the chunks change. */
function binOf(size) {
  return size < SMALLEST ? 0 : 1 + Math.floor(Math.log2(size / SMALLEST));
}

function edgeOf(bin) {
  const size = bin ? SMALLEST * 2 ** (bin - 1) : 0;
  return size < 1024 ? String(size) : `${size / 1024}k`;
}

/** Bars by bin, one for each of the series. */
class Histogram {
  constructor(node, largest, series) {
    this.bars = [];
    for (let bin = 0; bin <= binOf(largest); bin++) {
      const column = make("div", "column");
      const stack = make("div", "stack");
      const own = [];
      for (let s = 0; s < series; s++) {
        const bar = make("div", `bar s${s}`);
        bar.append(make("span", "count"));
        stack.append(bar);
        own.push(bar);
      }
      column.append(stack, make("span", "tick", edgeOf(bin)));
      node.append(column);
      this.bars.push(own);
    }
  }

  show(all) {
    const counts = all.map((sizes) => {
      const found = new Uint32Array(this.bars.length);
      for (const size of sizes) found[Math.min(binOf(size), found.length - 1)]++;
      return found;
    });
    const most = Math.max(1, ...counts.map((found) => Math.max(...found)));
    this.bars.forEach((own, bin) => own.forEach((bar, s) => {
      bar.style.setProperty("--height", counts[s][bin] / most);
      write(bar.firstChild, counts[s][bin] ? grouped(counts[s][bin]) : "");
    }));
  }
}

function median(sizes) {
  if (!sizes.length) return 0;
  const sorted = Float64Array.from(sizes).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const isTyping = (event) => event.ctrlKey || event.metaKey || event.altKey;
