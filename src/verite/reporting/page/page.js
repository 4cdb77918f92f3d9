// A convenience: the page can be read without it. Names become text only, and never keys of objects.
const $ = (query, from = document) => from.querySelector(query);
const $$ = (query, from = document) => [...from.querySelectorAll(query)];
const on = (element, type, act) => element?.addEventListener(type, act);
const byId = id => document.getElementById(id);
const doc = JSON.parse(byId("verite").textContent), {systems, truth: {labels}} = doc;
const dialog = byId("viewer");
const write = (element, text) => element?.replaceChildren(text), say = text => write(byId("said"), text);
const fixed = (value, digits) => isFinite(value) ? value.toFixed(digits) : "–";
const whole = value => value.toLocaleString("en");
const numbers = text => text.split(" ").map(Number);
const sum = values => values.reduce((a, b) => a + b, 0);
const percent = (part, all, unit = "\u00a0%") => all ? fixed(100 * part / all, 0) + unit : "–";
const sign = c => c < " " ? String.fromCharCode(0x2400 + c.charCodeAt()) : "\ufffd";
const shown = name => String(name).trim().slice(0, 120).replace(/[\0-\x1f\x7f-\x9f]/g, sign) || "(no name)";
const imageName = image => shown(doc.images.names[image]);

function fill(made, about, children = []) {
  for (const [key, value] of Object.entries(about)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const make = (name, about = {}, ...children) => fill(document.createElement(name), about, children);
const draw = (name, about, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), about, children);
function press(text, act, about = {class: "btn"}) {
  const made = make("button", {type: "button", ...about}, text);
  on(made, "click", act);
  return made;
}

// Packed columns

const ARRAYS = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i2: Int16Array, i4: Int32Array};
async function unpack(id, layout) {
  if (!("DecompressionStream" in window)) return;
  const text = byId(id).textContent, bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), c => c.charCodeAt());
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = await new Response(stream).arrayBuffer(), found = {};
  let at = 0;
  for (const [name, type, length] of layout) {
    const end = at + length * type[1];
    found[name] = new ARRAYS[type](raw.slice(at, end));
    at = end;
  }
  return found;
}
const truths = await unpack("objects", doc.packed.layout), loaded = [];
const load = i => loaded[i] ??= unpack(`objects-${i}`, systems[i].packed.layout);

// Which system, and from which confidence on: a step, or behind the steps a choice of floors; the first is the page's

const steps = systems[0].steps.steps.length;
const state = {system: 0, at: systems.map(() => steps), label: "", cell: ""};
const nearest = (list, read, value) => list.reduce((best, one) => Math.abs(read(one) - value) < Math.abs(read(best) - value) ? one : best);
const stepOf = (i, value) => nearest([...systems[i].steps.steps.keys()], k => systems[i].steps.steps[k], value);
const valueAt = i => state.at[i] < steps ? systems[i].steps.steps[state.at[i]] : systems[i].best.confidence;
const spell = i => systems[i].choices[state.at[i] - steps] || fixed(valueAt(i), 2);
const tellFloor = i => state.at[i] > steps ? `From ${spell(i)} of each class on` : `From confidence ${spell(i)} on`;
function counter(i, data) {
  const at = state.at[i], many = systems[i].choices.length;
  return (name, k) => at < steps ? sum(data[name].subarray(k * steps + at, k * steps + steps)) : data[name + "+"][k * many + at - steps];
}
async function count(i) {
  const data = await load(i), one = systems[i];
  const read = counter(i, data), types = one.types.length, asked = one.steps.truths;
  const of = labels.map((_, l) => one.types.map((_, t) => read("labels", l * types + t)));
  const totals = one.types.map((_, t) => sum(of.map(kinds => kinds[t])));
  const right = totals[0], wrong = sum(totals) - right, precision = right / (right + wrong), found = right / asked;
  const said = [
    spell(i), fixed(precision, 3), fixed(found, 3), fixed(2 * right / (right + wrong + asked), 3), whole(right), whole(wrong),
    whole(asked - right), fixed(wrong / one.steps.images, 2),
  ];
  $$(`[data-read="${i}"] dd`).forEach((cell, k) => write(cell, said[k]));
  if (state.at[i] !== steps) {
    const missed = asked - sum(labels.map((_, l) => read("reached", l)));
    for (const cell of $$(`[data-count^="${i}."] button`)) write(cell, whole(totals[one.types.indexOf(cell.value)] ?? missed));
    write(byId("counted"), tellFloor(i));
  }
  for (const line of $$(`#classes-${i} tbody tr`)) {
    const kinds = of[line.dataset.label] ?? [0];
    $$(".at", line).forEach((cell, k) => write(cell, whole(k ? sum(kinds) - kinds[0] : kinds[0])));
  }
  for (const line of $$(`#images-${i} tbody tr`)) {
    const {row: k, truths: all} = line.dataset, hits = read("right", k);
    [hits, read("wrong", k), all - hits].forEach((many, j) => write($$(".n", line)[j], whole(many)));
  }
  const share = stepOf(i, valueAt(i)) / (steps - 1), words = `${tellFloor(i)}: ${said[4]} right, ${said[5]} wrong, ${said[6]} missed`;
  for (const slider of $$(`.slider[data-system="${i}"]`)) {
    slider.value = share * (steps - 1);
    slider.ariaValueText = words;
  }
  for (const cut of $$(`[data-cut="${i}"]`)) fill(cut, {x1: 36 + 390 * share, x2: 36 + 390 * share});
  if (precision >= 0) for (const dot of $$(`[data-dot="${i}"]`)) fill(dot, {cx: 36 + 390 * found, cy: 256 - 230 * precision});
  for (const note of $$(`[data-floor="${i}"]`)) write(note, tellFloor(i));
  if (data.m_at) fillMatrix(i, data, of);
  return words;
}
async function set(i, at) {
  state.at[i] = at;
  remember();
  say(await count(i));
}
for (const slider of $$(".slider")) {
  const i = +slider.dataset.system;
  on(slider, "input", () => set(i, +slider.value));
  slider.after(...systems[i].choices.map((word, k) => word && press(word, () => set(i, steps + k))));
}
const radios = $$("input[name=pred]");
radios.forEach((radio, i) => on(radio, "change", () => { state.system = i; remember(); count(i); }));

// What is taken for what: changes from step to step, summed

const SHADES = [.12, .3, .55, .8];
function fillMatrix(i, data, of) {
  const table = $(`[data-matrix="${i}"]`), at = state.at[i];
  const known = table.dataset.labels.split(","), n = known.length + (table.dataset.rest > 0), {rows} = table.tBodies[0];
  const places = new Map(known.map((label, k) => [+label, k])), group = label => places.get(label) ?? n - 1;
  const cells = Array.from({length: n + 1}, () => Array(n + 1).fill(0));
  labels.forEach((_, l) => { cells[group(l)][n] += doc.truth.asked[l]; cells[n][group(l)] += sum(of[l]); });
  data.m_at.forEach((step, j) => {
    if (at < steps ? step < at || step >= steps : step !== at) return;
    const a = group(data.m_truth[j]), b = group(data.m_pred[j]), many = data.m_many[j];
    cells[a][b] += many;
    cells[a][n] -= many;
    cells[n][b] -= many;
  });
  const across = cells.map(sum), down = cells.map((_, b) => sum(cells.map(line => line[b])));
  const share = $(`[name="share-${i}"]:checked`).value, nameOf = k => labels[known[k]];
  cells.forEach((line, a) => line.forEach((many, b) => {
    if (a === n && b === n) return;
    const cell = rows[a].cells[b + 1 + (b === n)], level = SHADES.filter(limit => Math.sqrt(many / across[a]) >= limit).length + 1;
    const text = share ? percent(many, share === "row" ? across[a] : down[b], "") : whole(many);
    const opens = [a, b].every(k => k === n || k < known.length);
    cell.className = many ? a === b ? `h${level}` : `o${Math.min(level, 4)}` : "";
    cell.title = "";
    cell.replaceChildren(many ? opens ? press(text, () => listCell(i, nameOf(a), nameOf(b)), {}) : text : "");
  }));
  for (let k = 0; k < n; k++) {
    rows[k].cells[n + 3].textContent = percent(cells[k][k], across[k]);
    rows[n + 1].cells[k + 1].textContent = percent(cells[k][k], down[k]);
  }
}
for (const choice of $$(".shares input")) on(choice, "change", () => count(+choice.name.slice(6)));

// A link shows the same view

function remember() {
  const i = state.system, {label, cell} = state, at = state.at[i] === steps ? "" : spell(i);
  const pred = radios.length && (i || at || label || cell) ? systems[i].name : "", said = Object.entries({at, label, cell, pred}).filter(([, text]) => text);
  const hash = said.map(([key, text]) => `${key}=${encodeURIComponent(text).replaceAll("%2C", ",")}`).join("&");
  history.replaceState(null, "", "#" + hash);
}
async function recall() {
  const given = new URLSearchParams(location.hash.slice(1)), chosen = systems.findIndex(one => one.name === given.get("pred"));
  if (radios[chosen]) { radios[chosen].checked = true; state.system = chosen; }
  const i = state.system, at = given.get("at"), choice = at ? systems[i].choices.indexOf(at) : -1;
  if (choice > 0) state.at[i] = steps + choice;
  else if (at > "") state.at[i] = stepOf(i, parseFloat(at));
  await count(i);
  const cell = given.get("cell") ?? "", known = ["", ...labels], truth = known.find(one => cell.startsWith(one + ",") && known.includes(cell.slice(one.length + 1)));
  if (truth >= "") listCell(i, truth, cell.slice(truth.length + 1));
  else if (given.get("label")) listLabel(i, given.get("label"));
}

// Tables: sorted by any column, filtered by name

for (const table of $$("table:not(.mx)")) {
  const heads = $$("thead tr:last-child th", table);
  heads.forEach((head, column) => {
    if (head.classList.contains("nosort")) return;
    const words = [...head.childNodes];
    head.append(press("", () => {
      const falls = head.ariaSort ? head.ariaSort === "ascending" : column > 0, sign = falls ? -1 : 1;
      for (const other of heads) other.ariaSort = null;
      head.ariaSort = falls ? "descending" : "ascending";
      const text = line => line.cells[column].textContent.trim(), value = line => parseFloat(text(line).replaceAll(",", "").replace("−", "-"));
      const order = (a, b) => isNaN(value(a)) - isNaN(value(b)) || sign * (value(a) - value(b) || text(a).localeCompare(text(b)));
      table.classList.add("sorted");
      table.tBodies[0].append(...$$("tbody tr", table).sort(order));
    }, {}));
    head.lastChild.append(...words);
  });
}
for (const input of $$(".filter")) on(input, "input", () => {
  const wanted = input.value.toLowerCase(), lines = $$("tbody tr", byId(input.dataset.table));
  for (const line of lines) line.hidden = !line.cells[0].textContent.toLowerCase().includes(wanted);
  say(`${lines.filter(line => !line.hidden).length} left`);
});

// Objects of an image; where more than boxes is compared, the outlines of some objects.
function trace(columns, prefix) {
  const [lines, points, across, down] = ["lines", "points", "across", "down"].map(name => columns[prefix + name] ?? []), {scale} = doc.packed;
  let ring = 0, point = 0;
  return Array.from(lines, many => {
    let path = "";
    for (const end = ring + many; ring < end; ring++) {
      let x = 0, y = 0, sign = "M";
      for (const last = point + points[ring]; point < last; point++, sign = "L") path += `${sign}${(x += across[point]) * scale} ${(y += down[point]) * scale}`;
      path += "Z";
    }
    return path;
  });
}
function objectsOf(i, data, image) {
  const found = [], one = systems[i], at = state.at[i], bit = 1 << at - steps, [low, high] = [one.steps.steps[0], one.steps.steps.at(-1)];
  const add = (columns, prefix, j, about) => {
    const [x, y, w, h] = ["x", "y", "w", "h"].map(side => columns[prefix + side][j] * doc.packed.scale);
    const paths = columns.paths ??= trace(columns, prefix);
    found.push({image, j, label: columns[prefix + "label"][j], x, y, right: x + w, below: y + h, path: paths[j] || `M${x} ${y}h${w}v${h}h${-w}Z`, ...about});
  };
  const reaches = (name, j) => at < steps ? data[name][j] > at : data[name + "+"][j] & bit;
  for (let j = truths.start[image]; j < truths.start[image + 1]; j++) {
    const hit = reaches("found", j);
    add(truths, "", j, {fate: hit ? "found" : truths.asked[j] ? "missed" : "not asked for", isTruth: true, isNear: reaches("near", j)});
  }
  for (let j = data.p_start[image]; j < data.p_start[image + 1]; j++) {
    const level = data.p_sure[j], type = data.p_type[j] & 15;
    if (at < steps ? level < at * 100 : !(data.p_type[j] >> 4 & bit)) continue;
    const sure = low + (high - low) * level / 100 / (steps - 1);
    add(data, "p_", j, {fate: one.types[type], sure, iou: data.p_iou?.[j] / 255, other: (data.p_other?.[j] ?? 0) - 1});
  }
  return found;
}
const isError = one => one.fate === "missed" || !one.isTruth && one.fate !== "right";
function tell(one) {
  if (one.isTruth) return `${{found: "●", missed: "○"}[one.fate] ?? "◌"} ${one.fate} ${shown(labels[one.label])}`;
  const [sign, more] = isError(one) ? ["✗", ` (${one.fate})`] : ["✓", ""];
  return `${sign} ${shown(labels[one.label])} ${fixed(one.sure, 2)}${more}${one.iou > 0 ? `, overlap ${fixed(one.iou, 2)}` : ""}`;
}

// The viewer

const view = {};
function open(title, buttons, ...content) {
  if (!dialog.open) dialog.showModal();
  dialog.replaceChildren(make("div", {class: "top"}, make("h2", {}, title), ...buttons, press("Close", () => dialog.close())), ...content);
  $("button", dialog).focus();
}
on(dialog, "close", () => { state.label = state.cell = ""; remember(); });
const listOf = (objects, text, act) => make("ul", {class: "objects"}, ...objects.map(one => make("li", {}, press(text(one), () => act(one), {}))));
async function openImage(i, image, images, chosen) {
  const objects = objectsOf(i, await load(i), image), stage = make("div", {class: "stage", tabindex: "0", role: "region", "aria-label": "Photo"});
  Object.assign(view, {i, images, at: Math.max(0, images.indexOf(image)), zoom: 1});
  const list = listOf([...objects].sort((a, b) => isError(b) - isError(a)), tell, one => paint(stage, image, objects, one));
  const about = `${shown(systems[i].name)}. ${tellFloor(i)}. Truth solid, predictions dashed.`;
  const buttons = Object.entries(ACTS).map(([sign, [act, by, name]]) => press(sign, () => act(by), {class: "btn", "aria-label": name}));
  open(imageName(image), buttons, stage, make("div", {}, make("p", {class: "note"}, about), list));
  paint(stage, image, objects, chosen);
}
function paint(stage, image, objects, chosen) {
  const [width, height] = doc.images.sizes[image] ?? ["right", "below"].map(side => Math.max(1, ...objects.map(one => one[side])) * 1.02);
  const href = doc.images.links[image], made = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${objects.length} objects`});
  if (href) made.append(draw("image", {href, width, height, preserveAspectRatio: "none"}));
  else if (byId(`photo-${image}`)) made.append(draw("use", {href: `#photo-${image}`}));
  for (const one of objects) {
    const {x, y, path: d, isTruth} = one, isChosen = chosen?.j === one.j && chosen.isTruth === isTruth;
    const kind = isTruth ? one.fate === "missed" ? "tru gone" : "tru" : one.fate === "right" ? "prd fine" : "prd";
    made.append(draw("path", {d, class: isTruth ? "halo" : "halo prdh"}), draw("path", {d, class: isChosen ? kind + " hit" : kind}, draw("title", {}, tell(one))));
    if (isChosen) made.append(draw("text", {x, y: Math.max(y - height * .012, height * .03), "font-size": height * .032}, tell(one)));
  }
  stage.replaceChildren(made);
  zoom(1);
}
function move(by) {
  const {i, images, at} = view;
  if ($(".stage", dialog)) openImage(i, images.at((at + by) % images.length), images);
}
function zoom(by) {
  const made = $(".stage svg", dialog);
  view.zoom = by ? Math.min(8, Math.max(1, view.zoom * by)) : 1;
  if (made) Object.assign(made.style, {width: `${100 * view.zoom}%`, maxHeight: view.zoom > 1 ? "none" : ""});
}
const ACTS = {"‹": [move, -1, "Previous"], "›": [move, 1, "Next"], "−": [zoom, 2 / 3, "Less"], "+": [zoom, 1.5, "More"], "↔": [zoom, 0, "Fit"]};
const KEYS = {j: "›", ArrowRight: "›", k: "‹", ArrowLeft: "‹", "+": "+", "=": "+", "-": "−", 0: "↔"};
on(dialog, "keydown", event => {
  const [act, by] = ACTS[KEYS[event.key]] ?? [];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act(by);
});

// Objects of a class, a cell, a kind of error or a slice

async function list(i, title, wanted) {
  const data = await load(i), found = [];
  for (let image = 0; image < doc.truth.images && found.length < 1000; image++) found.push(...objectsOf(i, data, image).filter(wanted));
  found.sort((a, b) => isError(b) - isError(a) || (b.sure ?? 2) - (a.sure ?? 2));
  const images = [...new Set(found.map(one => one.image))], more = found.length > 200 ? ", the first 200" : "";
  open(title, [], make("div", {}, make("p", {class: "note"}, `${tellFloor(i)}: ${whole(found.length)} objects${more}`),
    listOf(found.slice(0, 200), one => tell(one) + ", " + imageName(one.image), one => openImage(i, one.image, images, one))));
}
function listLabel(i, name) {
  state.label = name;
  remember();
  list(i, `Errors of ${shown(name)}`, one => labels[one.label] === name && isError(one));
}
function listCell(i, a, b) {
  const claims = fit => one => !one.isTruth && labels[one.label] === b && fit(one);
  state.cell = [a, b].join();
  remember();
  if (!labels.includes(a)) list(i, `${shown(b)} where nothing is`, claims(one => isError(one) && one.fate !== "class"));
  else if (!labels.includes(b)) list(i, `${shown(a)} missed`, one => one.fate === "missed" && labels[one.label] === a);
  else if (a === b) list(i, `${shown(a)} found`, claims(one => !isError(one)));
  else list(i, `${shown(a)} taken for ${shown(b)}`, claims(one => labels[one.other] === a));
}
const listKind = (i, kind) => list(i, kind, one => one.fate === kind && !one.isNear);
// A row opens by its name, and wherever else it is clicked.
function opens(line, act) {
  const name = $("bdi", line.cells[0]), made = press("", act, {class: "open"});
  if (!name) return;
  name.replaceWith(made);
  made.append(name);
  on(line, "click", event => event.target.closest("button") ?? act());
}
function connect() {
  for (const line of $$("[data-open]")) {
    const [i, image] = numbers(line.dataset.open);
    opens(line, () => openImage(i, image, $$("[data-open]", line.parentElement).map(other => numbers(other.dataset.open)[1])));
  }
  systems.forEach((_, i) => $$(`#classes-${i} tbody tr`).forEach(line => opens(line, () => listLabel(i, labels[line.dataset.label]))));
  for (const line of $$("[data-slice]")) {
    const [i, k, bin] = numbers(line.dataset.slice);
    opens(line, () => list(i, line.cells[0].textContent, one => one.isTruth && truths["s" + k]?.[one.j] === bin + 1 && truths.asked[one.j]));
  }
  for (const cell of $$("[data-count]")) {
    const [i, value] = cell.dataset.count.split(".");
    cell.replaceChildren(press(cell.textContent, () => listKind(+i, value), {class: "open", value}));
  }
  for (const bar of $$("li[data-system] [data-kind]")) {
    const act = () => listKind(+bar.closest("li").dataset.system, bar.dataset.kind);
    on(bar, "click", act);
    // Too narrow for a finger: its count in the table opens the same.
    if (bar.getBoundingClientRect().width < 24) continue;
    on(bar, "keypress", event => event.key === "Enter" && act());
    bar.closest("svg").role = "group";
    fill(bar, {tabindex: 0, role: "button", "aria-label": bar.textContent});
  }
  for (const input of $$(".find")) on(input, "change", () => {
    const images = Object.keys(doc.images.names).map(Number).filter(image => imageName(image).includes(input.value));
    if (input.value && images.length) openImage(+input.dataset.system, images[0], images);
  });
  for (const element of $$(".js")) element.hidden = false;
}

// Numbers of a chart under the pointer, marks of suspicious truths, commands

for (const chart of $$(".chart")) {
  const {axes, x: word} = chart.dataset, [x0, x1, y0, y1, log] = numbers(axes), readout = draw("text", {x: 426, y: 12, class: "hover"});
  const points = $$("[data-name]", chart).flatMap(line => line.getAttribute("d").slice(1).split("L").map(point => [...numbers(point), line.dataset.name]));
  chart.append(readout);
  if (points.length) on(chart, "pointermove", event => {
    const at = new DOMPoint(event.x, event.y).matrixTransform(chart.getScreenCTM().inverse());
    const [x, y, name] = nearest(points, one => Math.hypot(one[0] - at.x, one[1] - at.y), 0), share = (x - 36) / 390;
    write(readout, `${word} ${fixed(log ? x0 * (x1 / x0) ** share : x0 + share * (x1 - x0), 2)}: ${name} ${fixed(y0 + (256 - y) / 230 * (y1 - y0), 3)}`);
  });
  on(chart, "pointerleave", () => write(readout, ""));
}
on(byId("copy-marks"), "click", () => {
  const marks = byId("marks"), lines = $$("li[data-row]").map(item => [item.dataset.row, $("input:checked", item)?.value]);
  marks.parentElement.hidden = false;
  marks.value = [marks.dataset.head, ...lines.filter(([, verdict]) => verdict).map(([line, verdict]) => line + verdict), ""].join("\n");
  marks.focus();
  marks.select();
});
for (const copy of $$(".copy")) on(copy, "click", () => {
  getSelection().selectAllChildren($("code", copy.parentElement));
  say(document.execCommand("copy") ? "Copied" : "Selected");
});
if (truths) {
  connect();
  on(window, "hashchange", recall);
  await recall();
} else byId("old").hidden = false;
dialog.dataset.ready = performance.now();
