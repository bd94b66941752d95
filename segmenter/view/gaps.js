// Going from gap to gap, and what the model saw at each.

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
