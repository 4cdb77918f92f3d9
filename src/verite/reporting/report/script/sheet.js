// Contact sheet: crops of all objects, chosen by chips whose counts follow
const SIZES = [["small", 0, 32 ** 2], ["medium", 32 ** 2, 96 ** 2], ["large", 96 ** 2, Infinity]], BINS = [0, .3, .5, .7, .9, 1];
const OUTCOMES = ["missed", "localization", "class", "background", "duplicate", "both", "wrong", "detected"];
const AGREE = {both: "detected by both", a: "only A", b: "only B", neither: "by neither"}, PAGE = 48;
const sheet = {
	box: $("#sheet"), chosen: {}, limit: PAGE, isShown: false, order: "confidence",
	dimensions: ["type", "agree", "size", "conf", "class"],
	// Of an object: its value in every dimension
	values(one, other) {
		const {columns, j, isTruth, outcome, confidence} = one, area = columns.w[j] * columns.h[j] * scale ** 2, found = {type: outcome, class: one.label};
		found.size = SIZES.findIndex(([, low, high]) => area >= low && area < high);
		found.conf = isFinite(confidence) ? Math.max(0, BINS.findLastIndex((low, k) => confidence >= low && k < BINS.length - 1)) : -1;
		found.agree = !isTruth || !other ? "" : this.agreement(outcome === "detected", other.has(j));
		return found;
	},
	agreement: (mine, theirs) => mine ? theirs ? "both" : state.of === "b" ? "b" : "a" : theirs ? state.of === "b" ? "a" : "b" : "neither",
	async refresh() {
		if (!this.box || !this.isShown) return;
		const i = state.of === "b" ? state.b : state.a, other = hasPair ? (i === state.a ? state.b : state.a) : null, data = await load(i);
		let theirs = null;
		if (other !== null) {
			const all = allObjects(other, await load(other));
			theirs = new Set(all.filter(one => one.isTruth && one.outcome === "detected").map(one => one.j));
		}
		const listed = allObjects(i, data).filter(one => one.isTruth ? one.isCounted : one.isError), counts = {}, found = [];
		for (const key of this.dimensions) counts[key] = new Map();
		for (const one of listed) {
			const values = this.values(one, theirs), fails = this.dimensions.filter(key => this.chosen[key]?.size && !this.chosen[key].has(String(values[key])));
			if (!fails.length) found.push(one);
			// A chip counts what it would show with the choices of all other dimensions.
			for (const key of fails.length ? fails.length === 1 ? fails : [] : this.dimensions) counts[key].set(values[key], (counts[key].get(values[key]) ?? 0) + 1);
		}
		const area = one => one.columns.w[one.j] * one.columns.h[one.j];
		const by = {confidence: (a, b) => (b.confidence || 0) - (a.confidence || 0) || area(b) - area(a), size: (a, b) => area(b) - area(a), image: (a, b) => a.image - b.image || area(b) - area(a)};
		found.sort(by[this.order]);
		this.draw(i, counts, found);
	},
	chips(key, word, values, text, counts) {
		const row = make("div", {class: "chips", role: "group", "aria-label": word}, make("span", {}, word));
		for (const value of values) {
			const many = counts.get(value) ?? 0, isOn = this.chosen[key]?.has(String(value));
			if (!many && !isOn) continue;
			row.append(press("", () => this.toggle(key, value), {class: "chip", "aria-pressed": !!isOn, value: `${key}:${value}`}));
			row.lastChild.append(text(value), " ", make("i", {}, whole(many)));
		}
		return row.children.length > 1 ? row : "";
	},
	draw(i, counts, found) {
		const focus = document.activeElement?.closest("#sheet") && document.activeElement.value, order = [...new Set(found.map(one => one.image))];
		const chips = $(".all-chips", this.box), grid = $(".tiles", this.box), more = $(".more", this.box);
		const detectors = hasPair ? make("div", {class: "chips", role: "group", "aria-label": "Detector"}, make("span", {}, "Detector"), ...["a", "b"].map(of => press(`${of.toUpperCase()}: ${systemName(state[of])}`, () => { state.of = of; this.change(); }, {class: "chip", "aria-pressed": (state.of ?? "a") === of, value: `of:${of}`}))) : "";
		const select = make("select", {"aria-label": "Class"}, make("option", {value: ""}, "all classes")), wanted = [...this.chosen.class ?? []][0];
		labels.map((_, l) => l).filter(l => counts.class.get(l) || String(l) === wanted).sort((a, b) => (counts.class.get(b) ?? 0) - (counts.class.get(a) ?? 0)).forEach(l => select.append(make("option", {value: l}, `${nameOf(l)} (${whole(counts.class.get(l) ?? 0)})`)));
		select.value = wanted ?? "";
		on(select, "change", () => { this.chosen.class = new Set(select.value ? [select.value] : []); this.change(); });
		const sort = make("select", {"aria-label": "Order"}, ...Object.entries({confidence: "highest confidence first", size: "largest first", image: "by image"}).map(([value, text]) => make("option", {value}, text)));
		sort.value = this.order;
		on(sort, "change", () => { this.order = sort.value; this.change(); });
		const isChosen = this.dimensions.some(key => this.chosen[key]?.size), objects = found.filter(one => one.isTruth).length;
		chips.replaceChildren(detectors,
			this.chips("type", "Outcome", OUTCOMES, value => value === "missed" ? "missed (FN)" : typeName(value), counts.type),
			hasPair ? this.chips("agree", "Objects", Object.keys(AGREE), value => AGREE[value], counts.agree) : "",
			this.chips("size", "Size", [0, 1, 2], value => SIZES[value][0], counts.size),
			this.chips("conf", "Confidence", BINS.slice(1).map((_, k) => k), value => `${BINS[value]}–${BINS[value + 1]}`, counts.conf),
			make("div", {class: "chips"}, make("span", {}, "Class"), select, sort, ...(isChosen ? [press("Clear all", () => { this.chosen = {}; this.change(); }, {class: "btn", value: "clear"})] : [])));
		write($(".said", this.box), `${whole(objects)} objects and ${whole(found.length - objects)} false positives of ${systemName(i)}. ${atThreshold(i)}.${missingNote(i)}`);
		grid.replaceChildren(...found.slice(0, this.limit).map(one => make("li", {}, tile(i, one, order))));
		rove(grid, "button");
		more.hidden = found.length <= this.limit;
		write(more, `Show ${whole(Math.min(PAGE, found.length - this.limit))} more`);
		if (focus) $$("button", this.box).find(one => one.value === focus)?.focus();
	},
	toggle(key, value) {
		const mine = this.chosen[key] ??= new Set();
		mine.delete(String(value)) || mine.add(String(value));
		this.change();
	},
	change() {
		this.limit = PAGE;
		remember();
		this.refresh();
	},
	// Show these objects and nothing else.
	show(chosen, of = "a") {
		state.of = of;
		this.chosen = Object.fromEntries(Object.entries(chosen).map(([key, value]) => [key, new Set([String(value)])]));
		this.isShown = true;
		this.change();
		$("#objects-sheet").scrollIntoView();
	},
	save() {
		const said = Object.fromEntries(this.dimensions.filter(key => this.chosen[key]?.size).map(key => [key, [...this.chosen[key]].map(value => key === "class" ? linked[value] : key === "size" ? SIZES[value][0] : key === "conf" ? BINS[value] : value).join()]));
		return {...said, of: state.of === "b" ? "b" : "", order: this.order === "confidence" ? "" : this.order};
	},
	restore(found) {
		this.chosen = {};
		for (const key of this.dimensions) {
			if (!(key in found)) continue;
			const parse = {class: text => [linked.indexOf(text)], size: text => text.split(",").map(one => SIZES.findIndex(size => size[0] === one)), conf: text => text.split(",").map(one => BINS.indexOf(Number(one)))}[key] ?? (text => text.split(","));
			this.chosen[key] = new Set(parse(found[key]).filter(value => value !== -1).map(String));
		}
		state.of = found.of === "b" && hasPair ? "b" : "a";
		this.order = ["size", "image"].includes(found.order) ? found.order : "confidence";
		this.refresh();
	},
	start() {
		if (!this.box) return;
		on($(".more", this.box), "click", () => { this.limit += PAGE; this.refresh(); });
		// Nothing is computed before the sheet comes into view.
		new IntersectionObserver((entries, watch) => entries.some(one => one.isIntersecting) && (watch.disconnect(), this.isShown = true, this.refresh()), {rootMargin: "400px"}).observe(this.box);
	},
};
