// One document: its gaps, and the chunks that a threshold makes of them. chunks.js, dial.js and gaps.js follow.

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

const paragraphStarts = new Set(data.paragraphs);
const article = at("text");
let threshold = data.threshold;
let current = -1;
