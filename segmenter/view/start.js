// All is defined by now: draw, and listen.

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
