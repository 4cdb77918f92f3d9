// Optional: the report is readable without this script. Names become text only, never keys of objects.
const $ = (query, from = document) => from.querySelector(query), $$ = (query, from = document) => [...from.querySelectorAll(query)];
const each = (query, act, from) => $$(query, from).forEach(act), dialog = $("#viewer");
const on = (element, type, act) => element.addEventListener(type, act);
const listen = (query, type, act) => each(query, one => on(one, type, () => act(one)));
const {systems, images, words, truth: {labels, asked: objectCounts}, packed: {scale, layout}} = JSON.parse($("#verite").textContent);
const write = (element, text) => element?.replaceChildren(text), say = text => write($("#said"), text);
const fixed = (value, digits) => isFinite(value) ? value.toFixed(digits) : "–", whole = value => value.toLocaleString("en");
const writeAll = (query, texts, from) => each(query, (cell, k) => write(cell, texts[k]), from);
const read = cell => parseFloat(cell?.textContent.replaceAll(",", "").replace("−", "-"));
const numbers = text => text.split(" ").map(Number), sum = values => values.reduce((a, b) => a + b, 0);
const percent = (part, all, unit = "\u00a0%") => all ? fixed(100 * part / all, 0) + unit : "–";
const NAMELESS = "(no name)", mark = c => c < " " ? String.fromCharCode(0x2400 + c.charCodeAt()) : "\ufffd";
const shown = name => String(name).trim().slice(0, 120).replace(/[\0-\x1f\x7f-\x9f]/g, mark) || NAMELESS;
const nameOf = label => shown(labels[label]), imageName = image => shown(images.names[image]);

function fill(made, about, ...children) {
	for (const key in about) made.setAttribute(key, about[key]);
	made.append(...children);
	return made;
}
const make = (name, about, ...children) => fill(document.createElement(name), about, ...children);
const draw = (name, about, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), about, ...children);
function press(text, act, about) {
	const made = make("button", {type: "button", ...about}, text);
	on(made, "click", act);
	return made;
}

async function unpack(id, layout) {
	if (!window.DecompressionStream) return;
	const text = $(id).textContent, bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), c => c.charCodeAt());
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	const raw = await new Response(stream).arrayBuffer(), found = {};
	let at = 0;
	for (const [name, type, length] of layout) found[name] = new window[type](raw.slice(at, at += length));
	return found;
}
const truths = await unpack("#objects", layout), loaded = [], load = i => loaded[i] ??= unpack(`#objects-${i}`, systems[i].packed.layout);

// Confidence threshold: a step, or after the steps one of the per-class choices; the first is the default
const steps = systems[0].steps.steps.length, state = {system: 0, at: systems.map(() => steps)};
const nearest = (list, far) => list.reduce((best, one) => far(one) < far(best) ? one : best);
const stepOf = (i, value) => nearest([...Array(steps).keys()], k => Math.abs(valueAt(i, k) - value));
const valueAt = (i, at) => systems[i].steps.steps[at] ?? systems[i].best.confidence;
const thresholdText = (i, at = state.at[i]) => systems[i].choices[at - steps] || fixed(valueAt(i, at), 2);
const atThreshold = (i, at = state.at[i]) => `At ${at > steps ? thresholdText(i, at) + " of each class" : "confidence ≥ " + thresholdText(i, at)}`;
async function count(i) {
	const data = await load(i), {choices, types, steps: {truths: all, images: many}} = systems[i], at = state.at[i], my = part => `[data-${part}="${i}"]`;
	const from = (name, k) => at < steps ? sum(data[name].subarray(k * steps + at, k * steps + steps)) : data[name + "+"][k * choices.length + at - steps];
	const of = labels.map((_, l) => types.map((_, t) => from("labels", l * types.length + t)));
	const totals = types.map((_, t) => sum(of.map(kinds => kinds[t]))), [right, ...kinds] = totals, wrong = sum(kinds), predictions = right + wrong;
	const shares = [right / predictions, right / all, 2 * right / (predictions + all)], counts = [right, wrong, all - right].map(whole);
	writeAll(my("read") + " dd", [thresholdText(i), ...shares.map(one => fixed(one, 3)), ...counts, fixed(wrong / many, 2)]);
	if (at !== steps) {
		const missed = all - sum(labels.map((_, l) => from("reached", l)));
		each(`[data-count^="${i}."] button`, cell => write(cell, whole(totals[types.indexOf(cell.value)] ?? missed)));
		write($(my("counted")), atThreshold(i));
	}
	each(`#classes-${i} tbody tr`, line => {
		const [right, ...wrong] = of[line.dataset.label] ?? [0];
		writeAll(".at", [right, sum(wrong)].map(whole), line);
	});
	each(`#images-${i} tbody tr`, line => {
		const {row, truths} = line.dataset, right = from("right", row);
		writeAll(".n", [right, from("wrong", row), truths - right].map(whole), line);
	});
	const value = stepOf(i, valueAt(i, at)), x = 36 + 390 * value / (steps - 1), ariaValueText = `${atThreshold(i)}: ${counts[0]} TP, ${counts[1]} FP, ${counts[2]} missed (FN)`;
	each(".slider" + my("system"), slider => Object.assign(slider, {value, ariaValueText}));
	each(my("cut"), cut => fill(cut, {x1: x, x2: x}));
	if (predictions) each(my("dot"), dot => fill(dot, {cx: 36 + 390 * shares[1], cy: 256 - 230 * shares[0]}));
	each(my("floor"), note => write(note, atThreshold(i)));
	if (data.m_at) fillMatrix(i, data, of);
	return ariaValueText;
}
async function set(i, at) {
	state.at[i] = at;
	remember();
	say(await count(i));
}
listen(".slider", "input", slider => set(slider.dataset.system, +slider.value));
listen(".choice", "click", button => set(button.dataset.system, steps + +button.value));
const radios = $$("[name=pred]");
radios.forEach((radio, i) => on(radio, "change", () => { state.system = i; remember(); count(i); }));

// Confusion matrix, summed over the steps of confidence
const SHADES = [.12, .3, .55, .8], OTHERS = -2;
function fillMatrix(i, data, of) {
	const table = $(`[data-matrix="${i}"]`), at = state.at[i], {rows} = table.tBodies[0];
	const known = numbers(table.dataset.labels), n = known.length, places = new Map(known.map((label, k) => [label, k]));
	const group = label => places.get(label) ?? n - 1, cells = Array.from({length: n + 1}, () => Array(n + 1).fill(0));
	labels.forEach((_, l) => { cells[group(l)][n] += objectCounts[l]; cells[n][group(l)] += sum(of[l]); });
	data.m_at.forEach((step, j) => {
		if (at < steps ? step < at || step >= steps : step !== at) return;
		const a = group(data.m_truth[j]), b = group(data.m_pred[j]), many = data.m_many[j];
		cells[a][b] += many;
		cells[a][n] -= many;
		cells[n][b] -= many;
	});
	const across = cells.map(sum), down = cells.map((_, b) => sum(cells.map(line => line[b]))), share = $(`[name="share-${i}"]:checked`).value;
	cells.forEach((line, a) => line.forEach((many, b) => {
		if (a === n && b === n) return;
		const cell = rows[a].cells[b + 1 + (b === n)], level = SHADES.filter(limit => Math.sqrt(many / across[a]) >= limit).length + 1;
		const text = share ? percent(many, share === "row" ? across[a] : down[b], "") : whole(many), pair = [a, b].map(k => known[k] ?? -1);
		Object.assign(cell, {className: many && (a === b ? `h${level}` : `o${Math.min(level, 4)}`) || "", title: ""});
		if (a === b) {
			write(rows[a].cells[n + 3], percent(many, across[a]));
			write(rows[n + 1].cells[a + 1], percent(many, down[a]));
		}
		write(cell, !many ? "" : pair.includes(OTHERS) ? text : press(text, () => listCell(i, ...pair, many), {value: pair}));
	}));
}
listen(".shares input", "change", choice => count(choice.name.slice(6)));

const linked = labels.map(name => name || NAMELESS);
function remember() {
	const i = state.system, {label, cell} = state, at = state.at[i] === steps ? "" : thresholdText(i);
	const pred = (i || at || label || cell) && radios[i] && systems[i].name, said = Object.entries({at, label, cell, pred}).filter(one => one[1]);
	history.replaceState(null, "", `#${new URLSearchParams(said)}`.replaceAll("%2C", ","));
}
async function recall() {
	const {at, label, cell = "", pred} = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
	const chosen = systems.findIndex(one => one.name === pred), known = ["", ...linked], rest = one => cell.slice(one.length + 1);
	if (radios[chosen]) radios[state.system = chosen].checked = true;
	const i = state.system, choice = systems[i].choices.indexOf(at);
	if (at) state.at[i] = choice > 0 ? steps + choice : stepOf(i, parseFloat(at));
	await count(i);
	const truth = known.find(one => cell.startsWith(one + ",") && known.includes(rest(one)));
	const place = one => linked.indexOf(one), row = `#classes-${i} [data-label="${place(label)}"] button`;
	$(truth == null ? row : `[data-matrix="${i}"] [value="${place(truth)},${place(rest(truth))}"]`)?.click();
}

each("table:not(.mx) thead tr:last-child th:not(.nosort)", head => {
	const table = head.closest("table"), column = head.cellIndex, made = press("", () => {
		const falls = head.ariaSort ? head.ariaSort === "ascending" : column > 0, sign = falls ? -1 : 1;
		each("th[aria-sort]", other => other.ariaSort = null, table);
		head.ariaSort = falls ? "descending" : "ascending";
		const lines = $$("tbody tr", table).map(line => [read(line.cells[column]), line.cells[column].textContent.trim(), line]);
		lines.sort(([a, text], [b, other]) => isNaN(a) - isNaN(b) || sign * (a - b || text.localeCompare(other)));
		table.classList.add("sorted");
		table.tBodies[0].append(...lines.map(one => one[2]));
	});
	made.append(...head.childNodes);
	head.append(made);
});
listen(".filter", "input", input => {
	const wanted = input.value.toLowerCase(), lines = $$(input.dataset.rows);
	for (const line of lines) line.hidden = !line.cells[0].textContent.toLowerCase().includes(wanted);
	say(`${lines.filter(line => !line.hidden).length} left`);
});

// Outlines, where more than boxes is compared
function trace({lines = [], points, across, down}) {
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
	const found = [], {types, confusion} = systems[i], bit = 1 << at - steps, low = valueAt(i, 0), high = valueAt(i, steps - 1);
	const {start, label: classes, type: bits, sure: levels, iou, to, claims: candidates = []} = data, isFirst = confusion?.matching === "same-first";
	const reaches = (name, j) => at < steps ? data[name][j] > at : data[name + "+"][j] & bit;
	let next = 0;
	data.first ??= Uint32Array.from(candidates, many => (next += many) - many);
	for (let j = truths.start[image]; j < truths.start[image + 1]; j++) {
		const matched = reaches("found", j), label = truths.label[j], isCounted = truths.asked[j], isError = !matched && isCounted > 0;
		const outcome = matched ? "detected" : isError ? "missed" : "ignored", other = matched && isFirst ? label : isCounted - 2;
		found.push({image, j, label, outcome, other, isError, isCounted, isTruth: true, isAttributed: reaches("near", j), confidence: 2, columns: truths});
	}
	for (let j = start[image]; j < start[image + 1]; j++) {
		const level = levels[j], type = bits[j] & 15, label = classes[j];
		if (at < steps ? level < at * 100 : !(bits[j] >> 4 & bit)) continue;
		// As the matrix matches: the first unmatched ground truth with sufficient IoU.
		const mine = found[to?.subarray(data.first[j], data.first[j] + candidates[j]).find(k => found[k].other === -1)];
		if (mine) mine.other = label;
		const confidence = low + (high - low) * level / 100 / (steps - 1), other = mine?.label ?? (type || !isFirst ? -1 : label);
		found.push({image, j, label, outcome: types[type], other, isError: type > 0, isTruth: false, confidence, iou: iou?.[j] / 255, columns: data});
	}
	return found;
}
function shapeOf({columns, j}) {
	const [x, y, w, h] = [..."xywh"].map(side => columns[side][j] * scale), paths = columns.paths ??= trace(columns);
	return {x, y, right: x + w, below: y + h, d: paths[j] || `M${x} ${y}h${w}v${h}h${-w}Z`};
}
const errorsFirst = (a, b) => b.isError - a.isError;
const typeName = type => ({class: "classification", wrong: "false positive"})[type] ?? type;
function describe({isTruth, isError, outcome, label, confidence, iou}) {
	if (isTruth) return `${isError ? "○" : outcome === "detected" ? "●" : "◌"} ${outcome} ${nameOf(label)}`;
	return `${isError ? "✗" : "✓"} ${nameOf(label)} ${fixed(confidence, 2)}${isError ? ` (${typeName(outcome)})` : ""}${iou > 0 ? `, ${words.overlap} ${fixed(iou, 2)}` : ""}`;
}

const [title, stage, note, shelf] = $$("h2, .stage, .said, ul", dialog);
let view = {};
function open(name, isImage, said, objects, text, act) {
	if (!dialog.open) dialog.showModal();
	write(title, name);
	write(note, said);
	each(".stage, .acts", element => element.hidden = !isImage);
	shelf.replaceChildren(...objects.map(one => make("li", {}, press(text(one), () => act(one)))));
	title.focus();
}
on(dialog, "close", () => { state.label = state.cell = ""; remember(); });
async function openImage(i, image, order, chosen, threshold = state.at[i]) {
	const objects = objectsOf(i, await load(i), image, threshold), said = `${shown(systems[i].name)}. ${atThreshold(i, threshold)}.`;
	view = {i, order, threshold, at: order.indexOf(image)};
	open(imageName(image), true, said, [...objects].sort(errorsFirst), describe, one => paint(image, objects, one));
	paint(image, objects, chosen);
}
function paint(image, objects, chosen) {
	const shapes = objects.map(shapeOf), [width, height] = images.sizes[image] ?? ["right", "below"].map(side => Math.max(1, ...shapes.map(one => one[side])) * 1.02);
	const href = images.links[image], made = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${objects.length} objects`});
	if (href) made.append(draw(href[0] === "#" ? "use" : "image", {href, width, height, preserveAspectRatio: "none"}));
	fill($("#hatch"), {patternTransform: `scale(${width / 640})`});
	objects.forEach((one, k) => {
		const {x, y, d} = shapes[k], {isTruth, isError, j} = one, isChosen = chosen?.j === j && chosen.isTruth === isTruth;
		const kind = (isTruth ? "tru" : "prd") + (isError ? " bad" : "") + (isChosen ? " hit" : "");
		made.append(draw("path", {d, class: isTruth ? "halo" : "halo prdh"}), draw("path", {d, class: kind}, draw("title", {}, describe(one))));
		if (isChosen) made.append(draw("text", {x, y: Math.max(y - height * .012, height * .03), "font-size": height * .032}, describe(one)));
	});
	write(stage, made);
	zoom(0);
}
const move = by => openImage(view.i, view.order.at((view.at + by) % view.order.length), view.order, null, view.threshold);
function zoom(by) {
	view.zoom = by ? Math.min(8, Math.max(1, view.zoom * by)) : 1;
	Object.assign($("svg", stage).style, {width: `${100 * view.zoom}%`, maxHeight: view.zoom > 1 ? "none" : ""});
}
const ACTS = {k: () => move(-1), j: () => move(1), "-": () => zoom(2 / 3), "+": () => zoom(1.5), 0: () => zoom(0), "": () => dialog.close()};
const KEYS = {...ACTS, ArrowLeft: ACTS.k, ArrowRight: ACTS.j, "=": ACTS["+"]};
listen(".top button", "click", button => ACTS[button.value]());
on(dialog, "keydown", e => stage.hidden || e.ctrlKey || e.metaKey || e.altKey || KEYS[e.key]?.(e.preventDefault()));

// Objects of a class, a cell, a kind of error or a slice
const MOST = 200;
async function list(i, name, wanted, many, link, at = state.at[i]) {
	Object.assign(state, link);
	remember();
	const data = await load(i), found = [];
	for (let image = 0; image < truths.start.length - 1; image++) found.push(...objectsOf(i, data, image, at).filter(wanted));
	found.sort((a, b) => errorsFirst(a, b) || b.confidence - a.confidence);
	const order = [...new Set(found.map(one => one.image))], n = found.length, more = n > MOST ? `, the first ${MOST} listed` : "";
	const less = many > n ? ` of ${whole(many)} objects stored, the others are only counted` : " objects";
	const over = many < n ? `, ${whole(many)} count: predictions on the others are not stored` : "";
	open(name, false, `${atThreshold(i, at)}: ${whole(n)}${less}${over}${more}`, found.slice(0, MOST), one => describe(one) + ", " + imageName(one.image), one => openImage(i, one.image, order, one, at));
}
function listLabel(i, label) {
	const [right, wrong] = $$(`#classes-${i} [data-label="${label}"] .at`).map(read);
	list(i, `Errors of ${nameOf(label)}`, one => one.label === label && one.isError, objectCounts[label] - right + wrong, {label: linked[label]});
}
function listCell(i, a, b, many) {
	const truth = nameOf(a), pred = nameOf(b), wanted = String(b < 0 ? [true, a, b] : [false, b, a]);
	const name = a < 0 ? `${pred} on background` : b < 0 ? `${truth} missed` : a === b ? `${truth} detected` : `${truth} confused with ${pred}`;
	list(i, name, one => String([one.isTruth, one.label, one.other]) === wanted, many, {cell: [linked[a], linked[b]].join()});
}
// At first the counts are those of all predictions.
function listKind(i, kind) {
	const many = read($(`td[data-count="${i}.${kind}"]`)), at = state.at[i] === steps ? 0 : state.at[i];
	list(i, typeName(kind), one => one.outcome === kind && !one.isAttributed, many, {}, at);
}
// A row opens by its name, and wherever else it is clicked.
function opens(line, act) {
	const name = $("bdi", line.cells[0]), made = press("", act, {class: "open"});
	name.replaceWith(made);
	made.append(name);
	on(line, "click", event => event.target.closest("button") ?? act());
}
function connect() {
	each("[data-open]", line => {
		const [i, image] = numbers(line.dataset.open);
		opens(line, () => openImage(i, image, $$("[data-open]", line.parentElement).map(other => numbers(other.dataset.open)[1])));
	});
	systems.forEach((_, i) => each(`#classes-${i} tbody tr`, line => opens(line, () => listLabel(i, +line.dataset.label))));
	each("[data-slice]", line => {
		const [i, k, bin] = numbers(line.dataset.slice);
		opens(line, () => list(i, line.cells[0].textContent, one => one.isCounted && truths["s" + k]?.[one.j] === bin + 1, read(line.cells[1])));
	});
	each("[data-count]", shape => {
		const [i, value] = shape.dataset.count.split("."), act = () => listKind(i, value), name = shape.textContent;
		if (shape.matches("td")) return write(shape, press(name, act, {class: "open", value}));
		on(shape, "click", act);
		// Too narrow for a finger: its count in the table opens the same.
		if (shape.getBoundingClientRect().width < 24) return;
		on(shape, "keypress", event => event.key === "Enter" && act());
		shape.closest("svg").role = "group";
		Object.assign(shape, {tabIndex: 0, role: "button", ariaLabel: name});
	});
	listen(".find", "change", input => {
		const found = Object.keys(images.names).map(Number).filter(image => imageName(image).includes(input.value));
		if (input.value && found.length) openImage(input.dataset.system, found[0], found);
	});
	each(".js", element => element.hidden = false);
}

each(".chart", chart => {
	const [x0, perX, y0, perY, isLog] = numbers(chart.dataset.axes), readout = draw("text", {x: 426, y: 12, class: "hover"});
	const points = $$("[data-name]", chart).flatMap(line => line.getAttribute("d").slice(1).split("L").map(point => [...numbers(point), line.dataset.name]));
	chart.append(readout);
	if (points.length) on(chart, "pointermove", event => {
		const at = DOMPoint.fromPoint(event).matrixTransform(chart.getScreenCTM().inverse());
		const [x, y, name] = nearest(points, one => Math.hypot(one[0] - at.x, one[1] - at.y)), along = x0 + perX * x;
		write(readout, `${chart.dataset.x} ${fixed(isLog ? 2 ** along : along, 2)}: ${name} ${fixed(y0 + perY * y, 3)}`);
	});
	on(chart, "pointerleave", () => write(readout, ""));
});
listen("#copy-marks", "click", () => {
	const marks = $("#marks"), lines = $$(".sus input:checked").map(input => input.closest("li").dataset.row + input.value + "\n");
	marks.parentElement.hidden = false;
	marks.value = marks.dataset.head + "\n" + lines.join("");
	marks.focus();
	marks.select();
});
listen(".copy", "click", copy => {
	getSelection().selectAllChildren($("code", copy.parentElement));
	say(document.execCommand("copy") ? "Copied" : "Selected");
});
if (truths) {
	connect();
	on(window, "hashchange", recall);
	await recall();
} else $("#old").hidden = false;
dialog.dataset.ready = performance.now();
