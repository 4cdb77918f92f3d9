// The address holds the state: detectors, threshold, what is open, the sheet, the order of tables
const linked = labels.map(name => name || NAMELESS);
function remember(how = "replaceState") {
	const {a, b, label, cell, image, object, kind} = state, at = state.at[a] === steps ? "" : thresholdText(a), chosen = sheet.save();
	const isOther = a !== 0 || b !== 1, isSaid = isOther || at || label || cell || image || kind || Object.values(chosen).some(Boolean);
	const said = {at, label, cell, kind, image, object, ...chosen, ...(hasPair && isSaid ? {a: systems[a].name} : {}), ...(hasPair && isOther ? {b: systems[b].name} : {}), sort: state.sort};
	const text = new URLSearchParams(Object.entries(said).filter(one => one[1])).toString().replaceAll("%2C", ",");
	if (`#${text}` !== (location.hash || "#")) history[how](null, "", text ? `#${text}` : location.pathname);
}
async function recall() {
	const found = Object.fromEntries(new URLSearchParams(location.hash.slice(1))), {at, label, cell = "", image, object, kind, sort} = found, known = ["", ...linked];
	const find = name => systems.findIndex(one => one.name === name), [a, b] = [found.a ?? found.pred, found.b].map(find), rest = one => cell.slice(one.length + 1);
	if (a >= 0 || b >= 0) await choose(a >= 0 ? a : state.a, b >= 0 ? b : a === 1 ? 0 : 1);
	else if (hasPair) await choose(state.a, state.b);
	const i = state.a, choice = systems[i].choices.indexOf(at);
	if (at) state.at[i] = choice > 0 ? steps + choice : stepOf(i, parseFloat(at));
	await count(i);
	if (sort && sort !== state.sort) {
		const [id, column, way] = sort.split(" "), head = $("#" + CSS.escape(id))?.tHead?.rows[0]?.cells[column];
		for (let k = 0; k < 2 && head && head.ariaSort !== way; k++) $("button", head)?.click();
	}
	if (["type", "agree", "size", "conf", "class", "of", "order"].some(key => key in found)) sheet.restore(found);
	const truth = known.find(one => cell.startsWith(one + ",") && known.includes(rest(one))), place = one => linked.indexOf(one);
	const shownImage = image && Object.keys(images.names).map(Number).find(one => images.names[one] === image);
	if (image && shownImage !== undefined) {
		const chosen = object && objectsOf(i, await load(i), shownImage).find(one => (one.isTruth ? "t" : "p") + one.j === object);
		await openImage(i, shownImage, [shownImage], chosen || null);
	} else if (truth !== undefined && cell) openCell(i, place(truth), place(rest(truth)));
	else if (label) $(`#classes-${i} [data-label="${place(label)}"] button`)?.click();
	else if (kind) $(`[data-count="${i}.${CSS.escape(kind)}"] button`)?.click();
	else if (dialog.open) dialog.close();
	else if (found.section) $("#" + CSS.escape(found.section))?.scrollIntoView();
}
function openCell(i, a, b) {
	const map = $(`svg[data-matrix="${i}"]`), known = map && numbers(map.dataset.labels), at = k => k < 0 ? known.length : known.indexOf(k);
	if (!map) return $(`[data-matrix="${i}"] [value="${a},${b}"]`)?.click();
	map.choose(at(a), at(b));
	map.open();
}

// A row opens by its name, and wherever else it is clicked.
function opens(line, act) {
	const name = $("bdi", line), made = press("", act, {class: "open"});
	name.replaceWith(made);
	made.append(name);
	on(line, "click", event => event.target.closest("button") ?? act());
}
function sortable(head) {
	const table = head.closest("table"), column = head.cellIndex, made = press("", () => {
		const falls = head.ariaSort ? head.ariaSort === "ascending" : column > 0, sign = falls ? -1 : 1;
		each("th[aria-sort]", other => other.ariaSort = null, table);
		head.ariaSort = falls ? "descending" : "ascending";
		const lines = $$("tbody tr", table).map(line => [read(line.cells[column]), line.cells[column].textContent.trim(), line]);
		lines.sort(([a, text], [b, other]) => isNaN(a) - isNaN(b) || sign * (a - b || text.localeCompare(other)));
		table.classList.add("sorted");
		table.tBodies[0].append(...lines.map(one => one[2]));
		if (report && table.id) {
			state.sort = `${table.id} ${column} ${head.ariaSort}`;
			remember();
		}
	});
	made.append(...head.childNodes);
	head.append(made);
}
function pointable(chart) {
	const [x0, perX, y0, perY, isLog] = numbers(chart.dataset.axes), readout = draw("text", {x: 426, y: 12, class: "hover"});
	const points = $$("[data-name]", chart).flatMap(line => line.getAttribute("d").slice(1).split("L").map(point => [...numbers(point), line.dataset.name]));
	chart.append(readout);
	if (points.length) on(chart, "pointermove", event => {
		const at = DOMPoint.fromPoint(event).matrixTransform(chart.getScreenCTM().inverse());
		const [x, y, name] = nearest(points, one => Math.hypot(one[0] - at.x, one[1] - at.y)), along = x0 + perX * x;
		write(readout, `${chart.dataset.x} ${fixed(isLog ? 2 ** along : along, 2)}: ${name} ${fixed(y0 + perY * y, 3)}`);
	});
	on(chart, "pointerleave", () => write(readout, ""));
}

// Copy a finding, save a table or a chart
function save(name, type, text) {
	const link = make("a", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
	link.click();
	URL.revokeObjectURL(link.href);
	say(`${name} saved`);
}
function copy(text) {
	const area = make("textarea", {}, text), from = document.activeElement;
	(dialog.open ? dialog : document.body).append(area);
	area.select();
	say(document.execCommand("copy") ? "Copied" : "Not copied");
	area.remove();
	from?.focus();
}
const cellText = cell => ((cell.dataset.value ?? cell.textContent.trim().replace(/\s+/g, " ")).replaceAll("−", "-"));
const quoted = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
const toCsv = table => $$("tr", table).map(line => [...line.cells].map(cell => quoted(cellText(cell))).join()).join("\n") + "\n";
const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "font-family", "text-anchor"];
function toSvg(chart) {
	const made = chart.cloneNode(true), from = $$("*", chart), to = $$("*", made);
	from.forEach((one, k) => { for (const key of STYLED) to[k].setAttribute(key, getComputedStyle(one)[key]); });
	return new XMLSerializer().serializeToString(fill(made, {xmlns: "http://www.w3.org/2000/svg"}));
}
function exports(root) {
	const name = one => `${one.closest("section")?.id ?? "detectors"}-${systems[state.a] ? systemName(state.a).replace(/[^\w.-]+/g, "_").slice(0, 40) : "report"}`;
	each(".scroll", box => {
		const table = $("table:not(.mx)", box);
		if (table) box.after(make("p", {class: "out"}, press("CSV", () => save(`${name(table)}.csv`, "text/csv", toCsv(table)), {"aria-label": `Save as CSV: ${box.ariaLabel}`})));
	}, root);
	each("svg.chart", chart => chart.after(make("p", {class: "out"}, press("SVG", () => save(`${name(chart)}.svg`, "image/svg+xml", toSvg(chart)), {"aria-label": `Save as SVG: ${chart.ariaLabel}`}))), root);
	each(".finding, h1.verdict", text => {
		const said = text.textContent, id = text.closest("section")?.id;
		text.append(press("Copy", () => {
			const hash = new URLSearchParams(location.hash.slice(1));
			if (id) hash.set("section", id);
			copy([said, `${location.href.split("#")[0]}#${hash}`, report.command ?? ""].join("\n"));
		}, {class: "share", "aria-label": `Copy: ${said.slice(0, 60)}`}));
	}, root);
}

function connect(root) {
	each("table:not(.mx) thead tr:last-child th:not(.nosort)", sortable, root);
	each(".chart[data-axes]", pointable, root);
	exports(root);
	if (!truths) return;
	listen(".slider", "input", slider => set(+slider.dataset.system, +slider.value), root);
	listen(".choice", "click", button => set(+button.dataset.system, steps + +button.value), root);
	listen(".shares input", "change", choice => count(choice.name.slice(6)), root);
	listen(".filter", "input", input => {
		const wanted = input.value.toLowerCase(), lines = $$(input.dataset.rows);
		for (const line of lines) line.hidden = !line.cells[0].textContent.toLowerCase().includes(wanted);
		say(`${lines.filter(line => !line.hidden).length} left`);
	}, root);
	each("[data-open]", line => {
		const [i, image] = numbers(line.dataset.open);
		opens(line, () => openImage(i, image, $$("[data-open]", line.parentElement).map(other => numbers(other.dataset.open)[1])));
	}, root);
	each("[data-label]", line => opens(line, () => listLabel(state.a, +line.dataset.label)), root);
	each("tr[data-differs]", line => opens(line, () => sheet.show({class: line.dataset.differs})), root);
	each("[data-slice]", line => {
		const [i, k, bin] = numbers(line.dataset.slice);
		opens(line, () => list(i, line.cells[0].textContent, one => one.isCounted && truths["s" + k]?.[one.j] === bin + 1, read(line.cells[1])));
	}, root);
	each("[data-count]", shape => {
		const [i, value] = shape.dataset.count.split("."), act = () => listKind(+i, value), name = shape.textContent;
		if (shape.matches("span")) return write(shape, press(name, act, {class: "open", value}));
		on(shape, "click", act);
		// Too narrow for a finger: its count in the table opens the same.
		if (shape.getBoundingClientRect().width < 24) return;
		on(shape, "keypress", event => event.key === "Enter" && act());
		shape.closest("svg").role = "group";
		Object.assign(shape, {tabIndex: 0, role: "button", ariaLabel: name});
	}, root);
	listen(".enlarge", "click", button => fill(button, {"aria-pressed": button.nextElementSibling.classList.toggle("large")}), root);
	listen(".find", "change", input => {
		const found = Object.keys(images.names).map(Number).filter(image => imageName(image).includes(input.value));
		if (input.value && found.length) openImage(+input.dataset.system, found[0], found);
	}, root);
	each("tbody, .stack, .mini", box => rove(box, "button.open, rect[role=button]"), root);
	each(".js", element => element.hidden = false, root);
}
listen("#copy-marks", "click", () => {
	const marks = $("#marks"), lines = $$(".sus input:checked").map(input => input.closest("li").dataset.row + input.value + "\n");
	marks.parentElement.hidden = false;
	marks.value = marks.dataset.head + "\n" + lines.join("");
	marks.focus();
	marks.select();
});
listen(".copy", "click", button => copy($("code", button.parentElement).textContent));
if (truths) {
	each("[data-part]", box => box.dataset.key = box.dataset.pair ?? 0);
	PAIRED = $$("[data-part][data-pair]").map(box => box.dataset.part);
	connect(document);
	const compare = async (a, b) => {
		await choose(a, b);
		await set(a, state.at[a]);
		whatif.show();
	};
	listen("#a", "change", one => compare(+one.value, state.b));
	listen("#b", "change", one => compare(+one.value === state.a ? state.b : state.a, +one.value));
	listen("#swap", "click", () => compare(state.b, state.a));
	on(window, "popstate", recall);
	sheet.start();
	whatif.start();
	await recall();
} else {
	connect(document);
	$("#old").hidden = false;
}
dialog.dataset.ready = performance.now();
