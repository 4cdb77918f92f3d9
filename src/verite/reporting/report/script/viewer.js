// Dialog: an image with outlines, or crops of objects
const [title, stage, note, shelf] = $$("h2, .stage, .said, ul", dialog), hasPair = systems.length > 1;
let view = {};
function open(name, isImage, said, entries) {
	if (!dialog.open) {
		dialog.opener = document.activeElement;
		dialog.showModal();
	}
	write(title, name);
	write(note, said);
	each(".stage, .acts", element => element.hidden = !isImage);
	shelf.className = isImage ? "objects" : "objects tiles";
	shelf.replaceChildren(...entries.map(one => make("li", {}, one)));
	rove(shelf, "button");
	title.focus();
}
// Back closes the dialog, and so do Escape and its button.
function remembers(link) {
	Object.assign(state, {label: "", cell: "", image: "", object: "", kind: "", ...link});
	remember(dialog.open ? "replaceState" : "pushState");
}
on(dialog, "close", () => {
	dialog.opener?.isConnected && dialog.opener.focus();
	if (![state.label, state.cell, state.image, state.kind].some(Boolean)) return;
	Object.assign(state, {label: "", cell: "", image: "", object: "", kind: ""});
	remember();
});
const missingNote = i => systems[i].packed.left_out ? ` ${whole(systems[i].packed.left_out)} predictions are not in this report: create it with a larger --budget.` : "";
async function openImage(i, image, order, chosen, threshold = state.at[i]) {
	const other = i === state.a ? state.b : state.a;
	await load(i);
	if (hasPair) await load(other);
	const objects = objectsOf(i, ready[i], image, threshold), isSplit = hasPair && view.isSplit;
	remembers({image: images.names[image], object: chosen ? (chosen.isTruth ? "t" : "p") + chosen.j : "", label: state.label, cell: state.cell, kind: state.kind});
	view = {...view, i, order, threshold, image, chosen, at: order.indexOf(image)};
	const sides = isSplit ? [[i, objects], [other, objectsOf(other, ready[other], image)]] : [[i, objects]];
	const said = sides.map(([k]) => `${systemName(k)}: ${atThreshold(k, k === i ? threshold : undefined).toLowerCase()}.`).join(" ");
	open(imageName(image), true, said + missingNote(i), [...objects].sort(errorsFirst).map(one => press(describe(one), () => openImage(i, image, order, one, threshold))));
	stage.replaceChildren(...sides.map(([k, listed]) => {
		const figure = make("figure", {}, paint(image, listed, k === i ? chosen : null));
		if (isSplit) figure.prepend(make("figcaption", {}, systemName(k)));
		return figure;
	}));
	stage.classList.toggle("split", isSplit);
	zoom(0);
}
function paint(image, objects, chosen) {
	const shapes = objects.map(shapeOf), [width, height] = sizeOf(image, shapes), photo = backdrop(image, width, height);
	const made = draw("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${objects.length} objects`, class: photo ? "" : "blank"});
	if (photo) made.append(photo);
	fill($("#hatch"), {patternTransform: `scale(${width / 640})`});
	objects.forEach((one, k) => {
		const {x, y, right, d} = shapes[k], {isTruth, j} = one, isRight = x > width * .55, isChosen = chosen?.j === j && chosen.isTruth === isTruth, kind = kindOf(one) + (isChosen ? " hit" : "");
		made.append(draw("path", {d, class: isTruth ? "halo" : "halo prdh"}), draw("path", {d, class: kind}, draw("title", {}, describe(one))));
		if (isChosen) made.append(draw("text", {x: isRight ? right : x, y: Math.max(y - height * .012, height * .04), "text-anchor": isRight ? "end" : "start"}, describe(one)));
	});
	return made;
}
const move = by => openImage(view.i, view.order.at((view.at + by) % view.order.length), view.order, null, view.threshold);
function zoom(by) {
	view.zoom = by ? Math.min(8, Math.max(1, view.zoom * by)) : 1;
	const boxes = $$("figure", stage), box = boxes.find(one => $("path.hit", one)) ?? boxes[0], frame = box.getBoundingClientRect();
	const whole = $("svg", box).getBoundingClientRect(), hit = $("path.hit", box)?.getBoundingClientRect();
	// The chosen object stays in the middle as long as it is in view, else what is there; both detectors show the same.
	const isSeen = hit && hit.right > frame.left && hit.left < frame.right && hit.bottom > frame.top && hit.top < frame.bottom;
	const at = isSeen ? hit : frame, x = (at.x + at.width / 2 - whole.x) / whole.width, y = (at.y + at.height / 2 - whole.y) / whole.height;
	for (const one of boxes) {
		const svg = $("svg", one);
		Object.assign(svg.style, {width: `${100 * view.zoom}%`, maxHeight: view.zoom > 1 ? "none" : ""});
		one.scrollTo(x * svg.getBoundingClientRect().width - one.clientWidth / 2, y * svg.getBoundingClientRect().height - one.clientHeight / 2);
		each("text", text => text.style.fontSize = `${13 / (svg.getScreenCTM()?.a || 1)}px`, svg);
	}
}
const split = () => { view.isSplit = !view.isSplit; openImage(view.i, view.image, view.order, view.chosen, view.threshold); };
const ACTS = {k: () => move(-1), j: () => move(1), "-": () => zoom(2 / 3), "+": () => zoom(1.5), 0: () => zoom(0), s: () => hasPair && split(), "": () => dialog.close()};
const KEYS = {...ACTS, ArrowLeft: ACTS.k, ArrowRight: ACTS.j, "=": ACTS["+"]};
listen(".top button", "click", button => ACTS[button.value]());
on(dialog, "keydown", e => stage.hidden || e.ctrlKey || e.metaKey || e.altKey || KEYS[e.key]?.(e.preventDefault()));

// Objects of a class, a cell, a type of error or a slice, as crops
const MOST = 200;
function tile(i, one, order, at) {
	const made = press("", () => openImage(i, one.image, order, one, at), {class: "tile"});
	made.append(cropOf(i, one), make("span", {}, describe(one)), make("small", {}, imageName(one.image)));
	return made;
}
async function list(i, name, wanted, many, link = {}, at = state.at[i], most = MOST) {
	remembers(link);
	const data = await load(i), found = [];
	for (let image = 0; image < truths.start.length - 1; image++) found.push(...objectsOf(i, data, image, at).filter(wanted));
	found.sort((a, b) => errorsFirst(a, b) || (b.confidence || 2) - (a.confidence || 2));
	const order = [...new Set(found.map(one => one.image))], n = found.length, more = n > most ? `, the first ${whole(most)} listed` : "";
	const less = many > n ? ` of ${whole(many)} objects stored, the others are only counted` : " objects";
	const over = many < n ? `, ${whole(many)} count: predictions on the others are not stored` : "";
	open(name, false, `${atThreshold(i, at)}: ${whole(n)}${less}${over}${more}${n === many ? "" : "." + missingNote(i)}`, found.slice(0, most).map(one => tile(i, one, order, at)));
	if (n > most) shelf.append(make("li", {class: "all"}, press(`Show ${whole(Math.min(MOST, n - most))} more`, () => list(i, name, wanted, many, link, at, most + MOST), {class: "btn"})));
	if (most > MOST) $$("button", shelf)[most - MOST]?.focus();
}
function listLabel(i, label) {
	const [right, wrong] = $$(`#classes-${i} [data-label="${label}"] .at`).map(read);
	list(i, `Errors of ${nameOf(label)}`, one => one.label === label && one.isError, objectCounts[label] - right + wrong, {label: linked[label]});
}
function listCell(i, a, b, many) {
	const wanted = String(b < 0 ? [true, a, b] : [false, b, a]);
	list(i, cellName(a, b), one => String([one.isTruth, one.label, one.other]) === wanted, many, {cell: [linked[a], linked[b]].join()});
}
// At first the counts are those of all predictions.
function listKind(i, kind) {
	const many = read($(`span[data-count="${i}.${kind}"]`)), at = state.at[i] === steps ? 0 : state.at[i];
	list(i, typeName(kind), one => one.outcome === kind && !one.isAttributed, many, {kind}, at);
}
