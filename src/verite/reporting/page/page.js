// A convenience: the page can be read without it. Names become text only, and never keys of objects.
const $ = (query, from = document) => from.querySelector(query), byId = id => document.getElementById(id);
const $$ = (query, from = document) => [...from.querySelectorAll(query)], each = (query, act, from) => $$(query, from).forEach(act);
const on = (element, type, act) => element?.addEventListener(type, act), click = (element, act) => on(element, "click", act);
const doc = JSON.parse(byId("verite").textContent), {systems, images, truth: {labels, asked}, packed: {scale, layout}} = doc, dialog = byId("viewer");
const write = (element, text) => element?.replaceChildren(text), say = text => write(byId("said"), text);
const fixed = (value, digits) => isFinite(value) ? value.toFixed(digits) : "–";
const whole = value => value.toLocaleString("en"), writeAll = (query, texts, from) => each(query, (cell, k) => write(cell, texts[k]), from);
const read = cell => parseFloat(cell.textContent.replaceAll(",", "").replace("−", "-"));
const numbers = text => text.split(" ").map(Number);
const sum = values => values.reduce((a, b) => a + b, 0);
const percent = (part, all, unit = "\u00a0%") => all ? fixed(100 * part / all, 0) + unit : "–";
const mark = c => c < " " ? String.fromCharCode(0x2400 + c.charCodeAt()) : "\ufffd";
const shown = name => String(name).trim().slice(0, 120).replace(/[\0-\x1f\x7f-\x9f]/g, mark) || "(no name)";
const nameOf = label => shown(labels[label]), imageName = image => shown(images.names[image]);

function fill(made, about, ...children) {
  for (const key in about) made.setAttribute(key, about[key]);
  made.append(...children);
  return made;
}
const make = (name, about, ...children) => fill(document.createElement(name), about, ...children);
const draw = (name, about, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), about, ...children);
function press(text, act, about = {}) {
  const made = make("button", {type: "button", ...about}, text);
  click(made, act);
  return made;
}

// Packed columns

const ARRAYS = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i2: Int16Array, i4: Int32Array};
async function unpack(id, layout) {
  if (!window.DecompressionStream) return;
  const text = byId(id).textContent, bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), c => c.charCodeAt());
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = await new Response(stream).arrayBuffer(), found = {};
  let at = 0;
  for (const [name, type, length] of layout) found[name] = new ARRAYS[type](raw.slice(at, at += length * type[1]));
  return found;
}
const truths = await unpack("objects", layout), loaded = [];
const load = i => loaded[i] ??= unpack(`objects-${i}`, systems[i].packed.layout);

// Which system, and from which confidence on: a step, or behind the steps a choice of floors; the first is the page's

const steps = systems[0].steps.steps.length;
const state = {system: 0, at: systems.map(() => steps), label: "", cell: ""};
const nearest = (list, far) => list.reduce((best, one) => far(one) < far(best) ? one : best);
const stepOf = (i, value) => nearest([...Array(steps).keys()], k => Math.abs(valueAt(i, k) - value));
const valueAt = (i, at = state.at[i]) => at < steps ? systems[i].steps.steps[at] : systems[i].best.confidence;
const spell = (i, at = state.at[i]) => systems[i].choices[at - steps] || fixed(valueAt(i, at), 2);
const since = (i, at = state.at[i]) => `From ${at > steps ? "" : "confidence "}${spell(i, at)}${at > steps ? " of each class" : ""} on`;
async function count(i) {
  const data = await load(i), {choices, types, steps: {truths: all, images: many}, name} = systems[i], at = state.at[i], my = part => `[data-${part}="${i}"]`;
  const from = (name, k) => at < steps ? sum(data[name].subarray(k * steps + at, k * steps + steps)) : data[name + "+"][k * choices.length + at - steps];
  const of = labels.map((_, l) => types.map((_, t) => from("labels", l * types.length + t)));
  const totals = types.map((_, t) => sum(of.map(kinds => kinds[t]))), right = totals[0], claims = sum(totals), precision = right / claims;
  const said = [
    spell(i), fixed(precision, 3), fixed(right / all, 3), fixed(2 * right / (claims + all), 3), whole(right), whole(claims - right),
    whole(all - right), fixed((claims - right) / many, 2),
  ];
  writeAll(my("read") + " dd", said);
  if (at !== steps) {
    const missed = all - sum(labels.map((_, l) => from("reached", l))), who = systems[1] ? shown(name) + ": " : "";
    each(`[data-count^="${i}."] button`, cell => write(cell, whole(totals[types.indexOf(cell.value)] ?? missed)));
    write($(my("counted")), who + since(i) + ". ");
  }
  each(`#classes-${i} tbody tr`, line => {
    const kinds = of[line.dataset.label] ?? [0];
    writeAll(".at", [kinds[0], sum(kinds) - kinds[0]].map(whole), line);
  });
  each(`#images-${i} tbody tr`, line => {
    const {row, truths} = line.dataset, hits = from("right", row);
    writeAll(".n", [hits, from("wrong", row), truths - hits].map(whole), line);
  });
  const share = stepOf(i, valueAt(i)) / (steps - 1), words = `${since(i)}: ${said[4]} right, ${said[5]} wrong, ${said[6]} missed`, x = 36 + 390 * share;
  each(".slider" + my("system"), slider => Object.assign(slider, {value: share * (steps - 1), ariaValueText: words}));
  each(my("cut"), cut => fill(cut, {x1: x, x2: x}));
  if (claims) each(my("dot"), dot => fill(dot, {cx: 36 + 390 * right / all, cy: 256 - 230 * precision}));
  each(my("floor"), note => write(note, since(i)));
  if (data.m_at) fillMatrix(i, data, of);
  return words;
}
async function set(i, at) {
  state.at[i] = at;
  remember();
  say(await count(i));
}
each(".slider", slider => {
  const i = +slider.dataset.system;
  on(slider, "input", () => set(i, +slider.value));
  slider.after(...systems[i].choices.map((word, k) => word && press(word, () => set(i, steps + k), {class: "btn"})));
});
const radios = $$("input[name=pred]");
radios.forEach((radio, i) => on(radio, "change", () => { state.system = i; remember(); count(i); }));

// What is taken for what: changes from step to step, summed

const SHADES = [.12, .3, .55, .8];
function fillMatrix(i, data, of) {
  const table = $(`[data-matrix="${i}"]`), at = state.at[i];
  const known = table.dataset.labels.split(","), n = known.length + (table.dataset.rest > 0), {rows} = table.tBodies[0];
  const places = new Map(known.map((label, k) => [+label, k])), group = label => places.get(label) ?? n - 1;
  const cells = Array.from({length: n + 1}, () => Array(n + 1).fill(0));
  labels.forEach((_, l) => { cells[group(l)][n] += asked[l]; cells[n][group(l)] += sum(of[l]); });
  data.m_at.forEach((step, j) => {
    if (at < steps ? step < at || step >= steps : step !== at) return;
    const a = group(data.m_truth[j]), b = group(data.m_pred[j]), many = data.m_many[j];
    cells[a][b] += many;
    cells[a][n] -= many;
    cells[n][b] -= many;
  });
  const across = cells.map(sum), down = cells.map((_, b) => sum(cells.map(line => line[b]))), share = $(`[name="share-${i}"]:checked`).value;
  data.cell = (a, b) => cells[a < 0 ? n : places.get(a)]?.[b < 0 ? n : places.get(b)];
  cells.forEach((line, a) => line.forEach((many, b) => {
    if (a === n && b === n) return;
    const cell = rows[a].cells[b + 1 + (b === n)], level = SHADES.filter(limit => Math.sqrt(many / across[a]) >= limit).length + 1;
    const text = share ? percent(many, share === "row" ? across[a] : down[b], "") : whole(many);
    const isRest = known.length < n && [a, b].includes(n - 1), labels = [a, b].map(k => +(known[k] ?? -1));
    Object.assign(cell, {className: many && (a === b ? `h${level}` : `o${Math.min(level, 4)}`) || "", title: ""});
    write(cell, !many ? "" : isRest ? text : press(text, () => listCell(i, ...labels)));
  }));
  for (let k = 0; k < n; k++) {
    write(rows[k].cells[n + 3], percent(cells[k][k], across[k]));
    write(rows[n + 1].cells[k + 1], percent(cells[k][k], down[k]));
  }
}
each(".shares input", choice => on(choice, "change", () => count(+choice.name.slice(6))));

// A link shows the same view

function remember() {
  const i = state.system, {label, cell} = state, at = state.at[i] === steps ? "" : spell(i);
  const pred = (i || at || label || cell) && radios[i] && systems[i].name, said = Object.entries({at, label, cell, pred}).filter(([, text]) => text);
  history.replaceState(null, "", "#" + String(new URLSearchParams(said)).replaceAll("%2C", ","));
}
async function recall() {
  const {at, label, cell = "", pred} = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const chosen = systems.findIndex(one => one.name === pred), known = ["", ...labels];
  if (radios[chosen]) radios[state.system = chosen].checked = true;
  const i = state.system, choice = at ? systems[i].choices.indexOf(at) : 0;
  if (at) state.at[i] = choice > 0 ? steps + choice : stepOf(i, parseFloat(at));
  await count(i);
  const truth = known.find(one => cell.startsWith(one + ",") && known.includes(cell.slice(one.length + 1)));
  if (truth >= "") listCell(i, labels.indexOf(truth || 0), labels.indexOf(cell.slice(truth.length + 1) || 0));
  else if (label) listLabel(i, label);
}

// Tables: sorted by any column, filtered by name

each("table:not(.mx)", table => {
  const heads = $$("thead tr:last-child th", table);
  heads.forEach((head, column) => {
    if (head.classList.contains("nosort")) return;
    const words = [...head.childNodes], made = press("", () => {
      const falls = head.ariaSort ? head.ariaSort === "ascending" : column > 0, sign = falls ? -1 : 1;
      for (const other of heads) other.ariaSort = null;
      head.ariaSort = falls ? "descending" : "ascending";
      const lines = $$("tbody tr", table).map(line => [line, read(line.cells[column]), line.cells[column].textContent.trim()]);
      lines.sort(([, a, aText], [, b, bText]) => isNaN(a) - isNaN(b) || sign * (a - b || aText.localeCompare(bText)));
      table.classList.add("sorted");
      table.tBodies[0].append(...lines.map(([line]) => line));
    });
    head.append(made);
    made.append(...words);
  });
});
each(".filter", input => on(input, "input", () => {
  const wanted = input.value.toLowerCase(), lines = $$("tbody tr", byId(input.dataset.table));
  for (const line of lines) line.hidden = !line.cells[0].textContent.toLowerCase().includes(wanted);
  say(`${lines.filter(line => !line.hidden).length} left`);
}));

// Objects of an image; where more than boxes is compared, the outlines of some objects.
function trace(columns, prefix) {
  const [lines = [], points, across, down] = ["lines", "points", "across", "down"].map(name => columns[prefix + name]);
  let ring = 0, point = 0;
  return Array.from(lines, many => {
    let path = "";
    for (; many--; path += "Z") {
      let x = 0, y = 0, sign = "M";
      for (let left = points[ring++]; left--; point++, sign = "L") path += `${sign}${(x += across[point]) * scale} ${(y += down[point]) * scale}`;
    }
    return path;
  });
}
function objectsOf(i, data, image, at = state.at[i]) {
  const found = [], one = systems[i], bit = 1 << at - steps, low = valueAt(i, 0), high = valueAt(i, steps - 1);
  const meets = (name, j) => at < steps ? data[name][j] > at : data[name + "+"][j] & bit;
  const isFirst = one.confusion?.matching === "same-first", claims = data.p_claims ?? [];
  let next = 0;
  data.first ??= Uint32Array.from(claims, many => (next += many) - many);
  for (let j = truths.start[image]; j < truths.start[image + 1]; j++) {
    const hit = meets("found", j), label = truths.label[j], isAsked = truths.asked[j];
    const fate = hit ? "found" : isAsked ? "missed" : "not asked for", other = hit && isFirst ? label : isAsked - 2, isError = fate === "missed";
    found.push({image, j, label, fate, other, isError, isAsked, isTruth: true, isNear: meets("near", j), sure: 2, columns: truths, prefix: ""});
  }
  for (let j = data.p_start[image]; j < data.p_start[image + 1]; j++) {
    const level = data.p_sure[j], type = data.p_type[j] & 15, label = data.p_label[j];
    if (at < steps ? level < at * 100 : !(data.p_type[j] >> 4 & bit)) continue;
    // As the matrix pairs: the first truth that is free, of those it overlaps enough.
    const mine = found[data.p_to?.subarray(data.first[j], data.first[j] + claims[j]).find(k => found[k].other === -1)];
    if (mine) mine.other = label;
    const sure = low + (high - low) * level / 100 / (steps - 1), other = mine?.label ?? (type || !isFirst ? -1 : label);
    found.push({image, j, label, fate: one.types[type], other, isError: type > 0, sure, iou: data.p_iou?.[j] / 255, columns: data, prefix: "p_"});
  }
  return found;
}
function shapeOf({columns, prefix, j}) {
  const [x, y, w, h] = [..."xywh"].map(side => columns[prefix + side][j] * scale), paths = columns.paths ??= trace(columns, prefix);
  return {x, y, right: x + w, below: y + h, d: paths[j] || `M${x} ${y}h${w}v${h}h${-w}Z`};
}
const worse = (a, b) => b.isError - a.isError;
function tell({isTruth, isError, fate, label, sure, iou}) {
  if (isTruth) return `${isError ? "○" : fate === "found" ? "●" : "◌"} ${fate} ${nameOf(label)}`;
  return `${isError ? "✗" : "✓"} ${nameOf(label)} ${fixed(sure, 2)}${isError ? ` (${fate})` : ""}${iou > 0 ? `, overlap ${fixed(iou, 2)}` : ""}`;
}

// The viewer

const [title, stage, note, shelf] = ["h2", ".stage", ".note", "ul"].map(query => $(query, dialog));
let view = {};
function open(name, isImage, said, objects, text, act) {
  if (!dialog.open) dialog.showModal();
  write(title, name);
  write(note, said);
  each(".stage, .acts", element => element.hidden = !isImage, dialog);
  shelf.replaceChildren(...objects.map(one => make("li", {}, press(text(one), () => act(one)))));
  title.focus();
}
on(dialog, "close", () => { state.label = state.cell = ""; remember(); });
async function openImage(i, image, order, chosen, floor = state.at[i]) {
  const objects = objectsOf(i, await load(i), image, floor), said = `${shown(systems[i].name)}. ${since(i, floor)}. Truth solid, predictions dashed.`;
  view = {i, order, floor, at: order.indexOf(image)};
  open(imageName(image), true, said, [...objects].sort(worse), tell, one => paint(image, objects, one));
  paint(image, objects, chosen);
}
function paint(image, objects, chosen) {
  const shapes = objects.map(shapeOf), [width, height] = images.sizes[image] ?? ["right", "below"].map(side => Math.max(1, ...shapes.map(one => one[side])) * 1.02);
  const href = images.links[image], made = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${objects.length} objects`});
  if (href) made.append(draw("image", {href, width, height, preserveAspectRatio: "none"}));
  else if (byId(`photo-${image}`)) made.append(draw("use", {href: `#photo-${image}`}));
  objects.forEach((one, k) => {
    const {x, y, d} = shapes[k], {isTruth, isError, j} = one, isChosen = chosen?.j === j && chosen.isTruth === isTruth;
    const kind = (isTruth ? isError ? "tru gone" : "tru" : isError ? "prd" : "prd fine") + (isChosen ? " hit" : "");
    made.append(draw("path", {d, class: isTruth ? "halo" : "halo prdh"}), draw("path", {d, class: kind}, draw("title", {}, tell(one))));
    if (isChosen) made.append(draw("text", {x, y: Math.max(y - height * .012, height * .03), "font-size": height * .032}, tell(one)));
  });
  write(stage, made);
  zoom(0);
}
function move(by) {
  const {i, order, at, floor} = view;
  openImage(i, order.at((at + by) % order.length), order, null, floor);
}
function zoom(by) {
  view.zoom = by ? Math.min(8, Math.max(1, view.zoom * by)) : 1;
  Object.assign($("svg", stage).style, {width: `${100 * view.zoom}%`, maxHeight: view.zoom > 1 ? "none" : ""});
}
const ACTS = {k: [move, -1], j: [move, 1], "-": [zoom, 2 / 3], "+": [zoom, 1.5], 0: [zoom, 0]}, ALIKE = {ArrowLeft: "k", ArrowRight: "j", "=": "+"};
function act(key) {
  const [run, by] = ACTS[ALIKE[key] ?? key] ?? [];
  run?.(by);
  return run;
}
each(".top button", button => click(button, () => act(button.value) ?? dialog.close()), dialog);
on(dialog, "keydown", event => {
  if (!(stage.hidden || event.ctrlKey || event.metaKey || event.altKey) && act(event.key)) event.preventDefault();
});

// Objects of a class, a cell, a kind of error or a slice

const MOST = 200;
async function list(i, name, wanted, many, at = state.at[i]) {
  const data = await load(i), found = [];
  for (let image = 0; image < doc.truth.images; image++) found.push(...objectsOf(i, data, image, at).filter(wanted));
  found.sort((a, b) => worse(a, b) || b.sure - a.sure);
  const order = [...new Set(found.map(one => one.image))], n = found.length, more = n > MOST ? `, the first ${MOST} listed` : "";
  const off = many > n ? ` of ${whole(many)} objects kept, the others are only counted` : ` objects${many < n ? `, ${whole(many)} count: claims on the others are not kept` : ""}`;
  open(name, false, `${since(i, at)}: ${whole(n)}${off}${more}`, found.slice(0, MOST), one => tell(one) + ", " + imageName(one.image), one => openImage(i, one.image, order, one, at));
}
function listLabel(i, name) {
  const label = labels.indexOf(name), [right, wrong] = $$(`#classes-${i} [data-label="${label}"] .at`).map(read);
  state.label = name;
  remember();
  list(i, `Errors of ${shown(name)}`, one => one.label === label && one.isError, asked[label] - right + wrong);
}
async function listCell(i, a, b) {
  const [truth, pred] = [a, b].map(nameOf), {cell} = await load(i);
  state.cell = [labels[a], labels[b]].join();
  remember();
  const name = a < 0 ? `${pred} where nothing is` : b < 0 ? `${truth} missed` : a === b ? `${truth} found` : `${truth} taken for ${pred}`;
  list(i, name, one => b < 0 ? one.isTruth && one.label === a && one.other === -1 : !one.isTruth && one.label === b && one.other === a, cell?.(a, b));
}
// At first the counts are those of all predictions.
function listKind(i, kind) {
  const many = read($(`[data-count="${i}.${kind}"]`)), at = state.at[i] === steps ? 0 : state.at[i];
  list(i, kind, one => one.fate === kind && !one.isNear, many, at);
}
// A row opens by its name, and wherever else it is clicked.
function opens(line, act) {
  const name = $("bdi", line.cells[0]), made = press("", act, {class: "open"});
  if (!name) return;
  name.replaceWith(made);
  made.append(name);
  click(line, event => event.target.closest("button") ?? act());
}
function connect() {
  each("[data-open]", line => {
    const [i, image] = numbers(line.dataset.open);
    opens(line, () => openImage(i, image, $$("[data-open]", line.parentElement).map(other => numbers(other.dataset.open)[1])));
  });
  systems.forEach((_, i) => each(`#classes-${i} tbody tr`, line => opens(line, () => listLabel(i, labels[line.dataset.label]))));
  each("[data-slice]", line => {
    const [i, k, bin] = numbers(line.dataset.slice);
    opens(line, () => list(i, line.cells[0].textContent, one => one.isAsked && truths["s" + k]?.[one.j] === bin + 1, read(line.cells[1])));
  });
  each("[data-count]", cell => {
    const [i, value] = cell.dataset.count.split(".");
    write(cell, press(cell.textContent, () => listKind(+i, value), {class: "open", value}));
  });
  each("li[data-system] [data-kind]", bar => {
    const act = () => listKind(+bar.closest("li").dataset.system, bar.dataset.kind);
    click(bar, act);
    // Too narrow for a finger: its count in the table opens the same.
    if (bar.getBoundingClientRect().width < 24) return;
    on(bar, "keypress", event => event.key === "Enter" && act());
    bar.closest("svg").role = "group";
    Object.assign(bar, {tabIndex: 0, role: "button", ariaLabel: bar.textContent});
  });
  each(".find", input => on(input, "change", () => {
    const found = Object.keys(images.names).map(Number).filter(image => imageName(image).includes(input.value));
    if (input.value && found.length) openImage(+input.dataset.system, found[0], found);
  }));
  each(".js", element => element.hidden = false);
}

// Numbers of a chart under the pointer, marks of suspicious truths, commands

each(".chart", chart => {
  const {axes, x: word} = chart.dataset, [x0, x1, y0, y1, log] = numbers(axes), readout = draw("text", {x: 426, y: 12, class: "hover"});
  const points = $$("[data-name]", chart).flatMap(line => line.getAttribute("d").slice(1).split("L").map(point => [...numbers(point), line.dataset.name]));
  chart.append(readout);
  if (points.length) on(chart, "pointermove", event => {
    const at = new DOMPoint(event.x, event.y).matrixTransform(chart.getScreenCTM().inverse());
    const [x, y, name] = nearest(points, one => Math.hypot(one[0] - at.x, one[1] - at.y)), share = (x - 36) / 390;
    write(readout, `${word} ${fixed(log ? x0 * (x1 / x0) ** share : x0 + share * (x1 - x0), 2)}: ${name} ${fixed(y0 + (256 - y) / 230 * (y1 - y0), 3)}`);
  });
  on(chart, "pointerleave", () => write(readout, ""));
});
click(byId("copy-marks"), () => {
  const marks = byId("marks"), lines = $$("li[data-row] input:checked").map(input => input.closest("li").dataset.row + input.value);
  marks.parentElement.hidden = false;
  marks.value = [marks.dataset.head, ...lines, ""].join("\n");
  marks.focus();
  marks.select();
});
each(".copy", copy => click(copy, () => {
  getSelection().selectAllChildren($("code", copy.parentElement));
  say(document.execCommand("copy") ? "Copied" : "Selected");
}));
if (truths) {
  connect();
  on(window, "hashchange", recall);
  await recall();
} else byId("old").hidden = false;
dialog.dataset.ready = performance.now();
