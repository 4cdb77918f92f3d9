// Confidence threshold: a step, or after the steps one of the per-class choices; the first is the default
const steps = systems[0]?.steps.steps.length, state = {a: 0, b: 1, at: systems.map(() => steps)};
const stepOf = (i, value) => nearest([...Array(steps).keys()], k => Math.abs(valueAt(i, k) - value));
const valueAt = (i, at) => systems[i].steps.steps[at] ?? systems[i].best.confidence;
const thresholdText = (i, at = state.at[i]) => systems[i].choices[at - steps] || fixed(valueAt(i, at), 2);
const isFlat = ({right, wrong}) => right[0] + wrong[0] === right.at(-1) + wrong.at(-1);
const atThreshold = (i, at = state.at[i]) => isFlat(systems[i].steps) ? "All predictions" : `At ${at > steps ? thresholdText(i, at) + " of each class" : "confidence ≥ " + thresholdText(i, at)}`;
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
	each(my("cut"), cut => fill(cut, {x1: x, x2: x}));
	if (predictions) each(my("dot"), dot => fill(dot, {cx: 36 + 390 * shares[1], cy: 256 - 230 * shares[0]}));
	each(my("floor"), note => write(note, atThreshold(i)));
	if (data.m_at) fillMatrix(i, data, of);
	each(".slider" + my("system"), slider => Object.assign(slider, {value, ariaValueText}));
	return ariaValueText;
}
async function set(i, at) {
	state.at[i] = at;
	remember();
	say(await count(i));
	sheet.refresh();
}

// Confusion matrix, summed over the steps of confidence: a table of few classes, a heat map of many
const SHADES = [.12, .3, .55, .8], OTHERS = -2;
function fillMatrix(i, data, of) {
	const table = $(`[data-matrix="${i}"]`), at = state.at[i], known = numbers(table.dataset.labels), n = known.length;
	const places = new Map(known.map((label, k) => [label, k])), cells = Array.from({length: n + 1}, () => Array(n + 1).fill(0));
	const group = label => places.get(label) ?? n - 1;
	labels.forEach((_, l) => { cells[group(l)][n] += objectCounts[l]; cells[n][group(l)] += sum(of[l]); });
	data.m_at.forEach((step, j) => {
		if (at < steps ? step < at || step >= steps : step !== at) return;
		const a = group(data.m_truth[j]), b = group(data.m_pred[j]), many = data.m_many[j];
		cells[a][b] += many;
		cells[a][n] -= many;
		cells[n][b] -= many;
	});
	const across = cells.map(sum), shade = (a, b, many) => SHADES.filter(limit => Math.sqrt(many / across[a]) >= limit).length + 1;
	const kind = (a, b, many) => many && (a === b ? `h${shade(a, b, many)}` : `o${Math.min(shade(a, b, many), 4)}`) || "";
	(table.matches("svg") ? fillHeat : fillTable)(i, table, known, cells, across, kind);
	rank(i, known, cells);
}
function fillTable(i, table, known, cells, across, kind) {
	const n = known.length, {rows} = table.tBodies[0], down = cells.map((_, b) => sum(cells.map(line => line[b]))), share = $(`[name="share-${i}"]:checked`).value;
	cells.forEach((line, a) => line.forEach((many, b) => {
		if (a === n && b === n) return;
		const cell = rows[a].cells[b + 1 + (b === n)], pair = [a, b].map(k => known[k] ?? -1);
		const text = share ? percent(many, share === "row" ? across[a] : down[b], "") : whole(many);
		Object.assign(cell, {className: kind(a, b, many), title: ""});
		if (a === b) {
			write(rows[a].cells[n + 3], percent(many, across[a]));
			write(rows[n + 1].cells[a + 1], percent(many, down[a]));
		}
		write(cell, !many ? "" : pair.includes(OTHERS) ? text : press(text, () => listCell(i, ...pair, many), {value: pair}));
	}));
	rove(table, "td button");
}
// The map is one button: arrow keys and the pointer choose a cell, Enter and a click open it.
const cellName = (a, b) => a < 0 ? `${nameOf(b)} on background` : b < 0 ? `${nameOf(a)} missed` : a === b ? `${nameOf(a)} detected` : `${nameOf(a)} confused with ${nameOf(b)}`;
function fillHeat(i, map, known, cells, across, kind) {
	const n = known.length, layer = $(".cells", map), readout = $(`[data-heat="${i}"]`), place = k => k + (k === n ? 1 : 0), made = [], filled = [];
	cells.forEach((line, a) => line.forEach((many, b) => {
		if (!many || a === n && b === n) return;
		made.push(draw("rect", {x: place(b), y: place(a), width: 1, height: 1, class: kind(a, b, many)}));
		filled.push([a, b]);
	}));
	layer.replaceChildren(...made);
	const at = map.chosen ??= [0, 0], frame = $(".at", map), pair = () => at.map(k => known[k] ?? -1);
	map.show = () => {
		const [a, b] = at, many = cells[a][b], text = a === n && b === n ? "" : `${cellName(...pair())}: ${whole(many)}, ${percent(many, across[a])} of the row`;
		fill(frame, {x: place(b), y: place(a)});
		readout.replaceChildren(text, ...(many && isFine() ? [" ", press("Open", map.open, {class: "btn"})] : []));
		map.ariaLabel = text;
	};
	map.open = () => cells[at[0]][at[1]] && listCell(i, ...pair(), cells[at[0]][at[1]]);
	// Cells too small for a finger: the nearest one that is not empty
	const isFine = map.isFine = () => layer.getScreenCTM().a < 6;
	map.near = (x, y) => nearest(filled, ([a, b]) => Math.hypot(place(b) + .5 - x, place(a) + .5 - y));
	map.choose = (a, b) => { at[0] = Math.min(n, Math.max(0, a)); at[1] = Math.min(n, Math.max(0, b)); map.show(); };
	if (map.isWired) return frame.checkVisibility() && readout.textContent && map.show();
	map.isWired = true;
	const pointed = event => {
		const {x, y} = DOMPoint.fromPoint(event).matrixTransform(layer.getScreenCTM().inverse()), whole = v => v > n ? n : Math.floor(v);
		if (x >= 0 && y >= 0) map.choose(...(map.isFine() ? map.near(x, y) : [whole(y), whole(x)]));
	};
	on(map, "pointermove", pointed);
	on(map, "click", event => {
		const before = at.join();
		pointed(event);
		if (!map.isFine() || before === at.join()) map.open();
	});
	on(map, "keydown", event => {
		const way = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
		if (way) map.choose(at[0] + way[0], at[1] + way[1]);
		else if (event.key === "Enter" || event.key === " ") map.open();
		else return;
		event.preventDefault();
	});
	Object.assign(map, {tabIndex: 0, role: "button"});
	map.show();
	write(readout, `${isFine() ? "Tap" : "Point at"} a cell, or use the arrow keys.`);
}
// Most frequent confusions at this threshold, each with crops of its objects
const MOST_RANKED = 12;
async function rank(i, known, cells) {
	const list = $(`[data-ranked="${i}"]`), found = [];
	if (!list || state.at[i] === list.at) return;
	list.at = state.at[i];
	write(list.previousElementSibling, `${atThreshold(i)}; the crops are predictions of the second class.`);
	known.forEach((a, k) => known.forEach((b, l) => k !== l && a >= 0 && b >= 0 && cells[k][l] && found.push([a, b, cells[k][l], sum(cells[k])])));
	found.sort((one, two) => two[2] - one[2]);
	const data = await load(i), top = found.slice(0, MOST_RANKED), crops = new Map(top.map(([a, b]) => [a + "," + b, []]));
	for (const one of allObjects(i, data)) if (!one.isTruth) crops.get(one.other + "," + one.label)?.push(one);
	list.replaceChildren(...top.map(([a, b, many, all]) => {
		const mine = crops.get(a + "," + b).sort((one, two) => two.confidence - one.confidence).slice(0, 5);
		const open = press("", () => listCell(i, a, b, many), {class: "open"});
		open.append(make("b", {}, whole(many)), ` of ${whole(all)} `, make("bdi", {}, nameOf(a)), " confused with ", make("bdi", {}, nameOf(b)));
		return make("li", {}, open, make("span", {class: "strip"}, ...mine.map(one => cropOf(i, one))));
	}));
	if (!top.length) list.append(make("li", {}, "No class is confused with another."));
	rove(list, "button.open");
}
