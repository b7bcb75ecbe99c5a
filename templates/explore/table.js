/* The table of all candidates, sortable, and the files to download. */
const EXTRA = new Set(["claim", "error", "worst_instructions", "energy_nj", "file_bytes", "verdict"]); /* not on paper */
const text_of = (one) => (one.tables ? one.precision + ", " + one.tables : one.precision);
const COLUMNS = [
  { key: "number", name: "no.", value: (one) => one.number, text: (one) => String(one.number) },
  ...(record.models.length > 1 ? [{ key: "model", name: "model", value: (one) => one.model }] : []),
  { key: "title", name: "candidate", value: (one) => one.title },
  { key: "claim", name: "claim", value: (one) => one.claim.toLowerCase().replace("_", " ") },
  { key: "precision", name: "numbers", value: text_of },
  ...(new Set(candidates.map((one) => one.target)).size > 1 ? [{ key: "target", name: "target", value: (one) => one.target }] : []),
  { key: "agreement", name: outcomes() + " kept (bounds)", value: (one) => (one.proven ? 2 : one.agreement ? one.agreement.report.share : null), text: agreement_text, number: true },
  ...(candidates.some((one) => one.accuracy) ? [{ key: "accuracy", name: "accuracy", value: (one) => one.accuracy && one.accuracy.share, text: (one) => percent(one.accuracy ? one.accuracy.share : null), number: true }] : []),
  ...(candidates.some((one) => is_set(one.max_decision_error)) ? [{ key: "error", name: "worst error", value: (one) => one.max_decision_error, text: (one) => digits(one.max_decision_error), number: true }] : []),
  ...FIGURES.map((figure) => ({ key: figure.key, name: figure.name, value: (one) => one.figures[figure.key], text: (one) => (one.figures.predicted && is_set(one.figures[figure.key]) ? "\u2248" + GAP : "") + figure.format(one.figures[figure.key]), number: true })),
  { key: "verdict", name: "verdict", value: verdict, wide: true },
];

function sorted_candidates() {
  const column = COLUMNS.find((one) => one.key === state.sort.key), sign = state.sort.down ? -1 : 1;
  const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  return visible().sort((a, b) => {
    const one = column.value(a), other = column.value(b);
    if (!is_set(one) || !is_set(other)) return is_set(other) - is_set(one); /* what is not known comes last */
    return sign * compare(one, other) || a.number - b.number;
  });
}

function draw_table() {
  const head = make("tr", {}, ...COLUMNS.map((column) => {
    const active = state.sort.key === column.key;
    return make("th", { scope: "col", class: class_of(column), "aria-sort": active ? (state.sort.down ? "descending" : "ascending") : "none" },
      make("button", { type: "button", "data-sort": column.key, text: column.name, onclick: () => sort_by(column.key) }));
  }));
  const printed = new Set([...state.front].slice(0, 10));
  const focus = document.activeElement && document.activeElement.dataset.sort;
  at("table").replaceChildren(make("thead", {}, head), make("tbody", {}, ...sorted_candidates().map((one) => table_row(one, printed.has(one.number)))));
  if (focus) at("table").querySelector(`[data-sort="${focus}"]`).focus();
}
const class_of = (column) => [column.number && "number", column.wide && "wide", EXTRA.has(column.key) && "extra"].filter(Boolean).join(" ");
function table_row(one, printed) {
  const grey = one.state !== "measured" || (state.choice.unmet.get(one.number) || []).length || state.choice.failed.has(one.number);
  const marks = [grey && "grey", state.choice.winner === one && "winner", state.pinned === one.number && "pinned", printed && "printed"];
  const cell = (column) => {
    const text = column.text ? column.text(one) : String(column.value(one));
    if (column.key !== "title") return make("td", { class: class_of(column), text });
    return make("td", { class: "title" }, make("button", { type: "button", "aria-pressed": String(state.pinned === one.number), onclick: (event) => { event.stopPropagation(); pin(one.number); } },
      small_glyph(one.method, one.precision), make("bdi", { text })));
  };
  return make("tr", { class: marks.filter(Boolean).join(" "), "data-row": one.number, onclick: () => pin(one.number) }, ...COLUMNS.map(cell));
}
function sort_by(key) {
  state.sort = { key, down: state.sort.key === key && !state.sort.down };
  draw_table();
  announce("Sorted by " + COLUMNS.find((column) => column.key === key).name + (state.sort.down ? ", descending" : ", ascending"));
}

/* One line per candidate, every figure in full. A text that a spreadsheet would compute gets an apostrophe. */
function csv_text() {
  const report = (one) => (one.agreement ? one.agreement.report : {}), accuracy = (one) => one.accuracy || {};
  const columns = [
    ...["number", "model", "title", "method", "precision", "tables", "target", "profile", "claim", "proven", "state", "dominated"].map((key) => [key, (one) => one[key]]),
    ["rows", (one) => report(one).rows], ["same", (one) => report(one).same], ["agreement", (one) => report(one).share],
    ["agreement_low", (one) => (report(one).low || [])[0]], ["agreement_high", (one) => report(one).high],
    ["accuracy", (one) => accuracy(one).share], ["accuracy_low", (one) => accuracy(one).low], ["accuracy_high", (one) => accuracy(one).high],
    ["max_decision_error", (one) => one.max_decision_error], ...FIGURES.map((figure) => [figure.key, (one) => one.figures[figure.key]]),
    ["predicted", (one) => Boolean(one.figures.predicted)], ["seconds", (one) => one.seconds], ["reason", (one) => one.reason], ["command", (one) => one.command],
  ];
  const cell = (value) => {
    if (!is_set(value)) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? "'" + value : String(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const lines = candidates.map((one) => columns.map(([, value]) => cell(value(one))).join(","));
  return [columns.map(([name]) => name).join(","), ...lines, ""].join("\r\n");
}

